"""The service that says why an ask waits, what would help, what would happen, and when.

It reads requests and names the statuses. The package `questions` has the answers, which are those
of the HTTP API: a copy of the process works one out and makes the message, too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Final, Protocol, TypeVar

import grpc
from google.protobuf.message import Message

from remuda.base.duration import SECOND
from remuda.base.errors import ProtocolError
from remuda.core.messages.queries import PartitionsQuery, PartitionView
from remuda.core.messages.rows import rows
from remuda.edges.grpc.access import Caller, caller
from remuda.edges.grpc.metrics import peer_host
from remuda.edges.grpc.refusals import Context, RefusalError, abort, refusing
from remuda.edges.grpc.shaped import filled, mapping, packed
from remuda.edges.grpc.usage import PAGE_LIMIT, chosen
from remuda.edges.questions.copies import Reader
from remuda.edges.questions.insight import Insight
from remuda.edges.questions.questions import IMPACT_SECONDS
from remuda.edges.questions.reach import Reach, beyond
from remuda.edges.questions.refusals import Cause, UnansweredError, invalid
from remuda.edges.questions.shares import share_of, shares_after
from remuda.edges.questions.submission import SUBMISSION_LIMIT, WITHIN_LIMIT, submission
from remuda.insight.forecast import HORIZON_LIMIT_NS, HORIZON_NS, ForecastQuestion
from remuda.runtime.forks.limits import ForkFaultError
from remuda.runtime.loop import SchedulerLoop
from remuda.si import limits
from remuda.si.pb import extension_pb2 as ext
from remuda.telemetry.audit.records import AUTHORIZE, REFUSED

_log = logging.getLogger("remuda.rpc")

SERVICE: Final = "remuda.v1.Insight"

Q = TypeVar("Q", bound=Message)

# Bytes of a request with a configuration: the text, and what stands around it.
_CONFIGURATION_BYTES: Final = 4 * 1024 * 1024 + 4_096

_STATUSES: Final[Mapping[Cause, grpc.StatusCode]] = {
    Cause.WRONG: grpc.StatusCode.INVALID_ARGUMENT,
    Cause.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    Cause.BUSY: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Cause.IMPOSSIBLE: grpc.StatusCode.UNIMPLEMENTED,
}


class _Placed(Protocol):
    """A request about something in a partition."""

    rm_id: str
    partition: str


class _OfAsk(Protocol):
    """A request about an ask."""

    application_id: str
    allocation_key: str


class InsightService:
    """Serves ``remuda.v1.Insight``. Event loop of the server.

    Args:
        core: the running loop.
        insight: what answers, for the HTTP API as well.
        bytes_limit: of one message, so that any client takes it.

    Rules: EXT-157, EXT-158, EXT-159, EXT-160.
    """

    def __init__(self, core: SchedulerLoop, insight: Insight, bytes_limit: int) -> None:
        self._core = core
        self._questions = insight.questions
        self._shares = insight.shares
        self._bytes_limit = bytes_limit

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the handlers of the service."""
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "Explain": self._method(ext.ExplainRequest, self._explain),
                "WaysOut": self._method(ext.WaysOutRequest, self._ways_out),
                "DryRun": self._method(ext.DryRunRequest, self._dry_run),
                "ConfigImpact": self._method(
                    ext.ConfigImpactRequest, self._impact, _CONFIGURATION_BYTES
                ),
                "Forecast": self._method(ext.ForecastRequest, self._forecast),
                "ListFairShares": self._method(ext.ListFairSharesRequest, self._fair_shares),
                "GetFairShare": self._method(ext.GetFairShareRequest, self._fair_share),
            },
        )

    async def _explain(self, request: ext.ExplainRequest, peer: str) -> bytes:
        """Why an ask waits, or that it does not. Rules: EXT-62."""
        reader = await self._reader(request, peer, Reach.APPLICATION)
        ask = _ask(request)
        return await self._questions.explain(reader, *ask, partial(packed, ext.AskExplanation))

    async def _ways_out(self, request: ext.WaysOutRequest, peer: str) -> bytes:
        """Changes that would place an ask, each tried. Rules: EXT-63."""
        reader = await self._reader(request, peer, Reach.APPLICATION)
        ask = _ask(request)
        within_ns = _within_ns(request.within)
        pack = partial(packed, ext.WaysOutAnswer)
        return await self._questions.ways_out(reader, *ask, within_ns, pack)

    async def _dry_run(self, request: ext.DryRunRequest, peer: str) -> bytes:
        """What would happen if a submission came now; its queues are those of the caller.

        Implements: EXT-158. Rules: EXT-33, EXT-64.
        """
        reader = await self._reader(request, peer, Reach.APPLICATION)
        found = mapping(request)
        for name in ("rmId", "partition"):
            found.pop(name, None)
        scope = caller().places if reader.scope is None else reader.scope
        wanted = await asyncio.to_thread(submission, found, reader.partition, reader.rm_id, scope)
        return await self._questions.dry_run(reader, wanted, partial(packed, ext.DryRunAnswer))

    async def _impact(self, request: ext.ConfigImpactRequest, peer: str) -> bytes:
        """What would differ under a configuration. Rules: EXT-70."""
        seconds = request.within if request.HasField("within") else IMPACT_SECONDS
        within_ns = _within_ns(seconds)
        who = _asker(request.rm_id)
        rm_id = await self._questions.manager(request.rm_id, who.may_ask)
        config = request.config.encode()
        pack = partial(packed, ext.ConfigImpactAnswer)
        return await self._questions.impact(_name(peer), rm_id, config, within_ns, pack)

    async def _forecast(self, request: ext.ForecastRequest, peer: str) -> bytes:
        """When an application starts, or all that wait in a queue. Rules: EXT-124."""
        if not (request.application_id or request.queue):
            raise ProtocolError("application_id or queue is needed, and both are empty")
        horizon = HORIZON_NS / SECOND
        seconds = request.within if request.HasField("within") else horizon
        within_ns = _within_ns(seconds, HORIZON_LIMIT_NS // SECOND)
        reach = Reach.QUEUE if request.queue else Reach.APPLICATION
        reader = await self._reader(request, peer, reach, request.queue)
        wanted = ForecastQuestion(
            reader.partition,
            request.application_id,
            request.queue,
            within_ns=within_ns,
            arrivals=not request.without_arrivals,
        )
        return await self._questions.forecast(reader, wanted, partial(packed, ext.ForecastAnswer))

    async def _fair_shares(self, request: ext.ListFairSharesRequest, peer: str) -> bytes:
        """The queues of a partition by path, with what each is owed. Rules: EXT-60."""
        reader = await self._reader(request, peer, Reach.PARTITION)
        limit = min(request.page_size or PAGE_LIMIT, PAGE_LIMIT)
        answer = ext.ListFairSharesResponse()
        last = request.page_token
        size = 0
        while some := await shares_after(
            self._shares, self._core.query, reader.partition, reader.rm_id, last
        ):
            for each in some:
                if len(answer.queues) == limit or 2 * size > self._bytes_limit:
                    answer.next_page_token = last
                    return answer.SerializeToString()
                found = filled(ext.FairShare, each)
                size += found.ByteSize()
                answer.queues.append(found)
                last = each.queue_name
        return answer.SerializeToString()

    async def _fair_share(self, request: ext.GetFairShareRequest, peer: str) -> bytes:
        """One queue, with its samples of the last hour. Rules: EXT-61."""
        if not request.queue:
            raise ProtocolError("queue is needed, and it is empty")
        reader = await self._reader(request, peer, Reach.QUEUE, request.queue)
        found = await share_of(
            self._shares, self._core.query, reader.partition, reader.rm_id, request.queue
        )
        return packed(ext.FairShareHistory, found)

    async def _reader(self, request: _Placed, peer: str, reach: Reach, queue: str = "") -> Reader:
        """Return who asks about which partition. Raises: RefusalError. Implements: EXT-159.

        What is beyond the scope is refused before it is known whether it exists.
        """
        who = _asker(request.rm_id)
        scope = who.read_scope
        if request.partition:
            _require(beyond(reach, scope, request.rm_id, request.partition, queue))
        views = await asyncio.wrap_future(self._core.query(PartitionsQuery()))
        found = [
            view
            for view in rows(PartitionView, views)
            if request.rm_id in ("", view.rm_id)
            and who.may_ask(view.rm_id)
            and (scope is None or scope.has_partition(view.rm_id, view.name))
        ]
        home = chosen(found, request.partition)
        _require(beyond(reach, scope, home.rm_id, home.name, queue))
        return Reader(home.name, home.rm_id, scope, _name(peer))

    def _method(
        self,
        kind: type[Q],
        serve: Callable[[Q, str], Awaitable[bytes]],
        bytes_limit: int = SUBMISSION_LIMIT,
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        """Return a handler of requests of bounded length; ``serve`` gets the caller's address."""

        async def call(data: bytes, context: Context) -> bytes:
            try:
                with refusing(), _answering():
                    limits.refuse_long(data, bytes_limit)
                    return self._short(await serve(kind.FromString(data), peer_host(context)))
            except RefusalError as refusal:
                await abort(context, refusal)

        return grpc.unary_unary_rpc_method_handler(call)

    def _short(self, answer: bytes) -> bytes:
        """Return an answer. Raises: RefusalError for one that clients would not take. EXT-160."""
        if len(answer) > self._bytes_limit:
            text = f"the answer has {len(answer)} bytes; a message has at most {self._bytes_limit}"
            raise RefusalError(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{text}: ask over HTTP")
        return answer


@contextmanager
def _answering() -> Iterator[None]:
    """Turn what keeps a question from an answer into a status. Implements: EXT-160."""
    try:
        yield
    except UnansweredError as error:
        raise RefusalError(_STATUSES[error.cause], error.text) from None
    except ForkFaultError:
        _log.exception("a question failed")
        raise RefusalError(grpc.StatusCode.INTERNAL, "Internal server error") from None


def _asker(rm_id: str) -> Caller:
    """Return the caller, who may ask about an RM; "": about whichever there is.

    Raises: RefusalError. Rules: EXT-159.
    """
    who = caller()
    if rm_id and not who.may_ask(rm_id):
        who.require_rm(rm_id)
    return who


def _ask(request: _OfAsk) -> tuple[str, str]:
    """Return the ask that is meant. Raises: ProtocolError. Rules: EXT-158."""
    if not (request.application_id and request.allocation_key):
        raise ProtocolError("application_id and allocation_key are needed, and one is empty")
    return request.application_id, request.allocation_key


def _require(fault: str) -> None:
    """Raise RefusalError, which is audited, if something is beyond the scope. Rules: EXT-26."""
    if fault:
        caller().record(AUTHORIZE, REFUSED, reason=fault)
        raise RefusalError(grpc.StatusCode.PERMISSION_DENIED, fault)


def _name(peer: str) -> str:
    """Return the name by which a caller has its turn, the one it has over HTTP. Rules: EXT-66."""
    identity = caller().identity
    return peer if identity is None else identity.name


def _within_ns(seconds: float, most_seconds: int = WITHIN_LIMIT) -> int:
    """Return a number of seconds as nanoseconds. Raises: UnansweredError."""
    if not 0 <= seconds <= most_seconds:
        raise invalid(str(seconds).removesuffix(".0"), "within")
    return round(seconds * SECOND)
