"""The three streams over gRPC (chapter 70 section 11)."""

from __future__ import annotations

import itertools
from typing import Final

import grpc

from remuda.conformance.elements import Kind
from remuda.conformance.expectations import accepted, node_accepted, placed, updated
from remuda.conformance.registry import Level, Subject
from remuda.conformance.requests import application, ask, node, vcores
from remuda.conformance.stage import Stage
from remuda.conformance.stream import Stream
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("streams", "Streams")


@SUBJECT.check("any-order", "the streams may be opened in any order", "SI-101")
def _any_order(stage: Stage) -> None:
    for order in itertools.permutations(Kind):
        rm = stage.unregistered()
        rm.register()
        rm.open(*order)
        rm.start({"n": vcores(1)}, ["app"])
        rm.place("app", "k", vcores(1), "n")


@SUBJECT.check("first-message", "the first message may be one with content", "SI-101")
def _first_message(stage: Stage) -> None:
    rm = stage.unregistered()
    rm.register()
    rm.open_with(si.NodeRequest(nodes=[node("n", vcores(1))]))
    rm.open_with(si.ApplicationRequest(new=[application("app")]))
    rm.expect(node_accepted("n"), accepted("app"))
    rm.open_with(si.AllocationRequest(asks=[ask("app", "k", vcores(1))]))
    rm.expect(
        updated("app", "Accepted"), updated("app", "Starting"), placed("app", "k", vcores(1), "n")
    )


@SUBJECT.check(
    "metadata",
    "the metadata remuda-rm-id opens a stream without any message",
    "SI-101",
    level=Level.REMUDA,
)
def _metadata(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.close(Kind.APPLICATION)
    rm.asks(ask("app", "k", vcores(1)))
    rm.expect(placed("app", "k", vcores(1), "n"))
    rm.open_with(None, Kind.APPLICATION)
    rm.expect(updated("app", "Accepted"), updated("app", "Starting"))
    rm.send(si.ApplicationRequest(new=[application("app2")]), as_is=True)
    rm.expect(accepted("app2"))


@SUBJECT.check("nobody", "a stream that names no resource manager is refused", "SI-101")
def _nobody(stage: Stage) -> None:
    rm = stage.rm()
    for kind in Kind:
        rm.hang_up()
        rm.open_anonymously(kind)
        rm.expect_end(kind, grpc.StatusCode.INVALID_ARGUMENT, rule="SI-101")


@SUBJECT.check("unknown", "a stream of an unknown resource manager is refused", "SI-101")
def _unknown(stage: Stage) -> None:
    stage.rm()
    rm = stage.unregistered()
    rm.open()
    for kind in Kind:
        rm.expect_end(kind, grpc.StatusCode.FAILED_PRECONDITION, rule="SI-101")


@SUBJECT.check("another", "another rmID on a stream ends it, and its request is not done", "SI-101")
def _another(stage: Stage) -> None:
    rm, other = stage.rm(), stage.rm()
    rm.send(si.NodeRequest(rmID=other.rm_id, nodes=[node("n", vcores(1))]), as_is=True)
    rm.expect_end(Kind.NODE, grpc.StatusCode.INVALID_ARGUMENT, rule="SI-101")
    other.start({"n": vcores(1)})
    rm.open(Kind.NODE)
    rm.start({"n": vcores(1)})


@SUBJECT.check("no-id", "later messages of a stream need no rmID", "SI-101", level=Level.REMUDA)
def _no_id(stage: Stage) -> None:
    rm = stage.rm()
    rm.send(si.NodeRequest(nodes=[node("n", vcores(1))]), as_is=True)
    rm.expect(node_accepted("n"))


@SUBJECT.check("takeover", "a newer stream takes over, the older ends with ABORTED", "SI-102")
def _takeover(stage: Stage) -> None:
    rm = stage.rm()
    rm.quiet()
    for kind in Kind:
        older: Stream = rm.stream(kind)
        rm.open(kind)
        rm.expect_takeover(older)
    rm.start({"n": vcores(1)}, ["app"])
    rm.place("app", "k", vcores(1), "n")


@SUBJECT.check(
    "kept", "responses wait while their stream is closed, in their order", "SI-103", "SI-7"
)
def _kept(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(3)}, ["app"])
    rm.close(Kind.APPLICATION)
    rm.asks(ask("app", "k", vcores(1), 3))
    rm.expect(*(placed("app", "k", vcores(1), "n", number=n) for n in range(3)))
    rm.open(Kind.APPLICATION)
    rm.expect(*(updated("app", state) for state in ("Accepted", "Starting", "Running")))


@SUBJECT.check(
    "half-close",
    "a stream that its client ends is answered to the end and ends well",
    "SI-101",
    level=Level.REMUDA,
)
def _half_close(stage: Stage) -> None:
    rm = stage.rm()
    rm.applications(*(application(f"app{number}") for number in range(20)))
    stream = rm.stream(Kind.APPLICATION)
    stream.half_close()
    rm.expect(*(accepted(f"app{number}") for number in range(20)), any_order=True)
    rm.expect_end(Kind.APPLICATION, grpc.StatusCode.OK, rule="SI-101")
    rm.open(Kind.APPLICATION)
