"""A session with the scheduler for a program with one event loop.

The session client calls back on a thread of its own, and its calls may wait. Here both end: what
arrives is handed to the loop in its order, and what is sent goes through a thread that may wait. So
the loop is the only writer of the shim's state and never waits for the scheduler.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Final, Protocol, TypeAlias, TypeVar

from remuda.base.errors import RemudaError
from remuda.client import ClientError, Security
from remuda.session.client import SessionClient
from remuda.si.pb import si_pb2 as si
from remuda.si.predicates import NodesPredicatesItem, NodesPredicatesItemResult
from remuda.si.wire import Request, Response
from remuda_kubernetes.link.partitions import missing_partition

_log = logging.getLogger("remuda.kubernetes")

# Less than the time the scheduler gives an answer (EXT-17): a late one is of no use.
_JUDGE_SECONDS: Final = 10.0
# What the session client says first when the scheduler refused what a registration says.
_REFUSED: Final = "INVALID_ARGUMENT: "

T = TypeVar("T")

Act: TypeAlias = Callable[[], None]


class Receiver(Protocol):
    """What takes in the scheduler's messages. All are called on the loop, in their order."""

    def registered(self, fault: str = "", *, refused: bool = False) -> None:
        """The scheduler took the shim in, or not: it refused that, or it was not reached."""

    def lost(self, reason: str) -> None:
        """The session is over; the link registers again when it is told to."""

    def answered(self, responses: Sequence[Response]) -> None:
        """Responses arrived."""

    def reconfigured(self, token: object, fault: str) -> None:
        """A configuration was taken, or refused for a reason."""

    def events(self, records: Sequence[si.EventRecord]) -> None:
        """Events arrived."""

    def waits(self, update: si.UpdateContainerSchedulingStateRequest) -> None:
        """An ask waits because the cluster is too small."""

    def judge(self, items: Sequence[NodesPredicatesItem]) -> list[NodesPredicatesItemResult]:
        """Judge nodes."""

    def victims(self, args: si.PreemptionPredicatesArgs) -> si.PreemptionPredicatesResponse:
        """Judge victims."""

    def dump(self) -> str:
        """Return the state as JSON."""


class SchedulerLink:
    """A session with one scheduler, begun again whenever it is lost.

    Args:
        loop: on which the receiver is called.
        address: HOST:PORT of the scheduler's gRPC listener.
        rm_id: the name of this resource manager.
        receiver: takes in what arrives.
        policy_group, build: what the registration says of the queue file and of this program.
        security: files for TLS, and a token.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        address: str,
        rm_id: str,
        receiver: Receiver,
        *,
        policy_group: str,
        build: Mapping[str, str],
        security: Security | None = None,
    ) -> None:
        self._loop = loop
        self._address = address
        self._receiver = receiver
        self._policy_group = policy_group
        self._build = dict(build)
        self._acts: queue.SimpleQueue[Act | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        # Why the last try to register failed, so that it is logged once.
        self._told = ""
        self._callback = _Callback(loop, receiver)
        self._client = SessionClient(
            address, rm_id, self._callback, on_lost=self._on_lost, security=security
        )
        self._thread = threading.Thread(target=self._run, name="remuda-link", daemon=True)
        self._thread.start()

    def register(self, queues: str, extra: Mapping[str, str]) -> None:
        """Register once; the receiver is told whether the scheduler took the shim in."""
        self._acts.put(lambda: self._register(queues, dict(extra)))

    def send(self, request: Request) -> None:
        """Send a request after those before. It is void if the session is lost meanwhile."""
        self._acts.put(lambda: self._send(request))

    def reconfigure(self, queues: str, extra: Mapping[str, str], token: object) -> None:
        """Give the scheduler another configuration; the receiver is told under the token."""
        self._acts.put(lambda: self._reconfigure(queues, dict(extra), token))

    async def close(self) -> None:
        """End the session. What was sent is still delivered."""
        self._closing.set()
        self._callback.close()
        self._acts.put(None)
        await asyncio.to_thread(self._thread.join)
        await asyncio.to_thread(self._client.close)

    # ------------------------------------------------------------------ the thread that sends

    def _run(self) -> None:
        while (act := self._acts.get()) is not None:
            act()

    def _register(self, queues: str, extra: dict[str, str]) -> None:
        """Register, unless the queues have no place for what the shim would tell of."""
        missing = missing_partition(queues)
        if missing is not None:
            self._call(lambda: self._receiver.registered(str(missing), refused=True))
            return
        self._callback.begin()
        try:
            self._client.register(
                queues,
                policy_group=self._policy_group,
                build_info=self._build,
                extra_config=extra,
            )
        except ClientError as error:
            text = str(error)
            if text != self._told:
                _log.warning("not registered with %s, trying again: %s", self._address, text)
            self._told = text
            refused = text.startswith(_REFUSED)
            reason = text.removeprefix(_REFUSED)
            self._call(lambda: self._receiver.registered(reason, refused=refused))
        else:
            self._told = ""
            self._call(self._receiver.registered)

    def _send(self, request: Request) -> None:
        try:
            self._client.send(request)
        except ClientError as error:
            # The session is lost; all is told anew when the shim has registered again.
            _log.debug("a request was not sent: %s", error)

    def _reconfigure(self, queues: str, extra: dict[str, str], token: object) -> None:
        """Change the configuration, unless that takes all nodes away. Rules: EXT-177."""
        missing = missing_partition(queues)
        if missing is not None:
            self._call(lambda: self._receiver.reconfigured(token, str(missing)))
            return
        fault = ""
        try:
            self._client.update_configuration(queues, extra_config=extra)
        except ClientError as error:
            fault = str(error)
        self._call(lambda: self._receiver.reconfigured(token, fault))

    def _on_lost(self, error: ClientError) -> None:
        self._call(lambda: self._receiver.lost(str(error)))

    def _call(self, act: Act) -> None:
        """Have the loop do something, unless it has ended."""
        if not self._closing.is_set():
            self._loop.call_soon_threadsafe(act)


class _Callback:
    """What the session client calls, on its thread; hands everything to the loop.

    Responses that arrive while the loop is busy are handed over together.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, receiver: Receiver) -> None:
        self._loop = loop
        self._receiver = receiver
        self._lock = threading.Lock()
        self._responses: list[Response] = []
        self._closed = False

    def begin(self) -> None:
        """Forget what belongs to a session that is over."""
        with self._lock:
            self._responses = []

    def close(self) -> None:
        """Hand over nothing more."""
        self._closed = True

    def update_allocation(self, response: si.AllocationResponse) -> None:
        """Hand over a response."""
        self._put(response)

    def update_application(self, response: si.ApplicationResponse) -> None:
        """Hand over a response."""
        self._put(response)

    def update_node(self, response: si.NodeResponse) -> None:
        """Hand over a response."""
        self._put(response)

    def send_event(self, records: Sequence[si.EventRecord]) -> None:
        """Hand over events."""
        self._soon(lambda: self._receiver.events(records))

    def update_container_scheduling_state(
        self, update: si.UpdateContainerSchedulingStateRequest
    ) -> None:
        """Hand over why an ask waits."""
        self._soon(lambda: self._receiver.waits(update))

    def nodes_predicates(
        self, items: Sequence[NodesPredicatesItem]
    ) -> list[NodesPredicatesItemResult]:
        """Have the loop judge nodes, after all responses before, and wait for the verdicts."""
        return self._ask(lambda: self._receiver.judge(items))

    def preemption_predicates(
        self, args: si.PreemptionPredicatesArgs
    ) -> si.PreemptionPredicatesResponse:
        """Have the loop judge victims, and wait for the verdict."""
        return self._ask(lambda: self._receiver.victims(args))

    def get_state_dump(self) -> str:
        """Have the loop tell its state."""
        return self._ask(self._receiver.dump)

    def _put(self, response: Response) -> None:
        with self._lock:
            self._responses.append(response)
            first = len(self._responses) == 1
        if first:
            self._soon(self._flush)

    def _flush(self) -> None:
        with self._lock:
            responses, self._responses = self._responses, []
        if responses:
            self._receiver.answered(responses)

    def _ask(self, judge: Callable[[], T]) -> T:
        """Have the loop answer, and wait for it. Raises: RemudaError if the shim ends."""
        if self._closed:
            # Nobody would answer, and the end would wait for the answer.
            raise RemudaError("the shim ends")
        answer: Future[T] = Future()

        def act() -> None:
            try:
                answer.set_result(judge())
            except Exception as error:  # noqa: BLE001 - the scheduler is told, and goes on
                answer.set_exception(error)

        self._soon(act)
        return answer.result(_JUDGE_SECONDS)

    def _soon(self, act: Act) -> None:
        if not self._closed:
            self._loop.call_soon_threadsafe(act)
