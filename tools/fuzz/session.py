"""Frames of a session: the first one of a stream, those behind it, and the answers in them.

An input is a row of frames, each behind two bytes with its length. The first byte of all says which
end receives them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from remuda.base.errors import ConfigError, ProtocolError
from remuda.config.load import load_configuration
from remuda.edges.grpc.bindings import verdicts, victims
from remuda.si import codec_in, limits
from remuda.si.codec_in import RequestReader
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.protocol import frames
from remuda.si.protocol.conversation import Conversation
from remuda.si.protocol.errors import SessionError
from remuda.si.protocol.handshake import hello_of, welcome_of
from remuda.si.protocol.terms import FEATURES, SessionLimits, Terms, accepted, agree
from tools.fuzz import wire
from tools.fuzz.target import Target

_LENGTH_BYTES: Final = 2
_NODES: Final = ("node-1", "node-2", "node-3")
_VICTIMS: Final = si.PreemptionPredicatesArgs(
    allocationKey="ask", nodeID="node-1", preemptAllocationKeys=["a", "b"]
)
_STEP_NS: Final = 20_000_000

# Frames that wait to be sent when the first one arrives, so that they can be acknowledged.
_WAITING: Final = 3


def take(data: bytes) -> None:
    """Receive frames until one of them ends the stream."""
    core = bool(data) and data[0] % 2 == 0
    rows = _rows(data[1:])
    try:
        terms = _begin(next(rows, b""), core=core)
        _go_on(rows, terms, core=core)
    except SessionError as error:
        if not error.reason:
            raise AssertionError("an end without a reason") from error


def _begin(first: bytes, *, core: bool) -> Terms:
    """Take the first frame, as a core or as a resource manager does."""
    if not core:
        return accepted(welcome_of(first), FEATURES)
    hello = hello_of(first)
    if hello.HasField("register"):
        try:
            codec_in.registration(hello.register, load_configuration)
        except ProtocolError as error:
            raise SessionError(str(error)) from None
        except ConfigError:
            pass
    return agree(hello, FEATURES, SessionLimits())


def _go_on(rows: Iterator[bytes], terms: Terms, *, core: bool) -> None:
    kind, countable = (ext.RMFrame, frames.RM_FRAME) if core else (ext.CoreFrame, limits.FLAT)
    end: Conversation[Any] = Conversation(kind, countable, terms.limits)
    reader = RequestReader("rm", "")
    end.begin(0)
    for _ in range(_WAITING):
        end.send(frames.body(ext.CoreFrame, "ack_only", ext.Ack()))
        end.next(0)
    for number, row in enumerate(rows):
        now_ns = number * _STEP_NS
        arrival = end.receive(row, now_ns)
        if arrival is None:
            continue
        if arrival.number == 0:
            end.end()
            return
        if core and arrival.frame is not None:
            _use(arrival.frame, reader)
        end.applied(arrival.number, now_ns)
        end.next(now_ns)
        assert end.due_ns() >= 0


def _use(frame: ext.RMFrame, reader: RequestReader) -> None:
    """Translate what a frame of a resource manager brings."""
    try:
        match frame.WhichOneof("body"):
            case "application":
                reader.applications(frame.application)
            case "allocation":
                reader.allocations(frame.allocation)
            case "node":
                reader.nodes(frame.node)
            case "classed_allocation":
                classed = frame.classed_allocation
                reader.allocations(classed.request, classed.classes)
            case "nodes_predicates":
                for result in frame.nodes_predicates.items:
                    verdicts.verdict_of(1, _NODES, result, ())
            case "preemption_predicates":
                for response in frame.preemption_predicates.items:
                    victims.verdict_of(_VICTIMS, response)
            case _:
                pass
    except ProtocolError:
        return


def _rows(data: bytes) -> Iterator[bytes]:
    while len(data) >= _LENGTH_BYTES:
        end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES])
        yield data[_LENGTH_BYTES:end]
        data = data[end:]


def _seeds() -> list[bytes]:
    return [_input(0, *_from_rm()), _input(1, *_from_core()), _input(0, *_resumed())]


def _from_rm() -> list[ext.RMFrame]:
    version = ext.ProtocolVersion(major=1)
    hello = ext.Hello(
        version=version,
        features=FEATURES,
        register=wire.registration_request(),
        limits=ext.Limits(max_calls=1, heartbeat_millis=100),
    )
    result = ext.NodesPredicatesItemResult(
        status=ext.NodesPredicatesItemResult.EVALUATED,
        fit=[1],
        evaluated=2,
        failures=[ext.PredicateFailure(reason="full", candidates=[0], count=1)],
    )
    victims_found = si.PreemptionPredicatesResponse(success=True, index=1)
    return [
        ext.RMFrame(hello=hello),
        ext.RMFrame(seq=1, ack=1, application=wire.application_request()),
        ext.RMFrame(seq=2, allocation=wire.allocation_request()),
        ext.RMFrame(seq=3, node=wire.node_request()),
        ext.RMFrame(seq=4, classed_allocation=wire.classed_request()),
        ext.RMFrame(seq=5, nodes_predicates=ext.NodesPredicatesResult(call_id=1, items=[result])),
        ext.RMFrame(
            seq=6,
            preemption_predicates=ext.PreemptionPredicatesResult(call_id=2, items=[victims_found]),
        ),
        ext.RMFrame(seq=7, state_dump=ext.StateDumpPart(call_id=3, data=b"{}", last=True)),
        ext.RMFrame(ack=3, heartbeat=ext.Heartbeat(sent_unix_nano=1)),
        ext.RMFrame(goodbye=ext.Goodbye(reason=ext.Goodbye.SHUTDOWN, message="done")),
    ]


def _resumed() -> list[ext.RMFrame]:
    resume = ext.Resume(rm_id="rm", session_id="s", last_seq=1)
    hello = ext.Hello(version=ext.ProtocolVersion(major=1), resume=resume)
    return [ext.RMFrame(hello=hello), ext.RMFrame(ack_only=ext.Ack(), ack=1)]


def _from_core() -> list[ext.CoreFrame]:
    welcome = ext.Welcome(
        version=ext.ProtocolVersion(major=1, minor=1), features=FEATURES, session_id="s"
    )
    return [
        ext.CoreFrame(welcome=welcome),
        ext.CoreFrame(seq=1, application=si.ApplicationResponse()),
        ext.CoreFrame(seq=2, cancel=ext.CancelCall(call_id=1)),
        ext.CoreFrame(seq=3, node_table=ext.NodeTable(added={1: "node-1"})),
    ]


def _input(end: int, *rows: ext.RMFrame | ext.CoreFrame) -> bytes:
    encoded = [row.SerializeToString() for row in rows]
    parts = [len(each).to_bytes(_LENGTH_BYTES) + each for each in encoded]
    return bytes((end,)) + b"".join(parts)


SESSION: Final = Target(take, _seeds, wire.WORDS)
