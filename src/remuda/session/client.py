"""A client for resource managers that use one stream for everything (chapter 70, section 11).

    from remuda.session.client import SessionClient

    with SessionClient("127.0.0.1:9079", "my-cluster", callback) as client:
        client.register()
        client.update_node(si.NodeRequest(...))

``callback`` is any object with some of the methods that ``remuda.edges.inproc`` names. They are
called on one thread, in the order in which the scheduler decided, predicates among them; they may
send requests. A stream that breaks is resumed as long as the scheduler keeps the session; no
message is lost, doubled or reordered (EXT-9). If it cannot be resumed, because the scheduler was
started again or has stopped the resource manager, ``on_lost`` is called with the reason, and the
resource manager must register again (RM-16).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Self

from remuda.client import ClientError, Security
from remuda.connection.routes import Routes
from remuda.session.duties import Duties
from remuda.session.link import Link, Start
from remuda.session.work import Work, wait_for
from remuda.si.generation import is_ask
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.protocol.terms import SessionLimits
from remuda.si.wire import Request

_MESSAGE_BYTES_LIMIT = 64 * 1024 * 1024

_NAMES: Mapping[type[Request], str] = {
    si.AllocationRequest: "allocation",
    si.ApplicationRequest: "application",
    si.NodeRequest: "node",
}


class SessionClient:
    """One resource manager, connected to one scheduler; safe to use from several threads.

    Args: address: HOST:PORT of the scheduler's gRPC listener; of several, with commas between them,
        one is active, and registering finds it. rm_id: identity of the resource
        manager. callback: the object whose methods are called for all messages. on_lost: called
        once when the session is over and was not closed here, with the reason. limits: the limits
        of this resource manager; by default those the scheduler offers. timeout: seconds that calls
        which wait for an answer wait at most. security: files for TLS, and a token; by default
        neither.

    Rules: chapter 70 section 11.
    """

    def __init__(
        self,
        address: str,
        rm_id: str,
        callback: object = None,
        *,
        on_lost: Callable[[ClientError], object] | None = None,
        limits: SessionLimits | None = None,
        timeout: float = 10.0,
        security: Security | None = None,
    ) -> None:
        self.rm_id = rm_id
        self._timeout = timeout
        secure = security or Security()
        option = ("grpc.max_receive_message_length", _MESSAGE_BYTES_LIMIT)
        self._routes = Routes(address, secure, (option,))
        self._duties = Duties(callback)
        self._work = Work(self._duties)
        self._on_lost = on_lost
        self._limits = limits
        self._link: Link | None = None

    def register(
        self,
        config: str = "",
        *,
        policy_group: str = "",
        version: str = "",
        build_info: Mapping[str, str] | None = None,
        extra_config: Mapping[str, str] | None = None,
    ) -> ext.Welcome:
        """Register the resource manager, which wipes an earlier life of it, and return the terms.

        Raises: ClientError with the reason of a refusal. Rules: EXT-2, RM-9.
        """
        request = si.RegisterResourceManagerRequest(
            rmID=self.rm_id,
            version=version,
            policyGroup=policy_group,
            config=config,
            buildInfo=dict(build_info or {}),
            extraConfig=dict(extra_config or {}),
        )
        return self._begin(request.SerializeToString())

    def attach(self, *, deliver_responses: bool = False) -> ext.Welcome:
        """Add callbacks to a resource manager that registered over the plain streams.

        ``deliver_responses``: its responses come here, too, instead of over its streams.

        Raises: ClientError. Rules: EXT-2, EXT-12.
        """
        attach = ext.Attach(rm_id=self.rm_id, deliver_responses=deliver_responses)
        return self._begin(attach)

    def update_application(self, request: si.ApplicationRequest) -> None:
        """Add and remove applications. Raises: ClientError."""
        self.send(request)

    def update_allocation(
        self, request: si.AllocationRequest, *, classes: Mapping[str, str] | None = None
    ) -> None:
        """Ask, report what runs, release and confirm.

        ``classes``: the predicate classes of asks, by allocation key. Raises: ClientError.
        Rules: EXT-15.
        """
        if not classes:
            self.send(request)
            return
        named: dict[str, ext.PredicateClass] = {}
        for place, entry in enumerate(request.allocations):
            name = classes.get(entry.allocationKey, "")
            if name and is_ask(entry):
                named.setdefault(name, ext.PredicateClass(name=name)).allocations.append(place)
        for place, ask in enumerate(request.asks):
            name = classes.get(ask.allocationKey, "")
            if name:
                named.setdefault(name, ext.PredicateClass(name=name)).asks.append(place)
        content = ext.ClassedAllocationRequest(request=request, classes=named.values())
        self._current().send("classed_allocation", content, self._timeout)

    def update_node(self, request: si.NodeRequest) -> None:
        """Add, change, drain and remove nodes. Raises: ClientError."""
        self.send(request)

    def send(self, request: Request) -> None:
        """Send a request as it is; waits while the scheduler has too much unacknowledged.

        From a callback it never waits. Raises: ClientError. Rules: EXT-6.
        """
        self._current().send(_NAMES[type(request)], request, self._timeout)

    def update_configuration(
        self, config: str, *, extra_config: Mapping[str, str] | None = None
    ) -> bool:
        """Replace the configuration while everything runs; return whether queues changed.

        Not from a callback. Raises: ClientError with the reason, and nothing has changed.
        Rules: SI-85.
        """
        link = self._waiting_link("update_configuration")
        update = si.UpdateConfigurationRequest(
            rmID=self.rm_id, config=config, extraConfig=dict(extra_config or {})
        )
        number, answer = self._work.expect()
        content = ext.ConfigurationUpdate(request_id=number, update=update)
        link.send("configuration", content, self._timeout)
        result = wait_for(answer, self._timeout, self._routes.address)
        if not result.success:
            raise ClientError(f"configuration refused: {result.reason}")
        return result.changed

    def leave(self) -> str:
        """Leave for good: the scheduler removes the resource manager and returns what it had.

        Raises: ClientError. Rules: RM-19.
        """
        link = self._waiting_link("leave")
        self._link = None
        return link.leave(self._timeout)

    def close(self) -> None:
        """End the stream; what was sent is still delivered. The resource manager is away then."""
        link, self._link = self._link, None
        if link is not None:
            link.close(self._timeout)
        self._routes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _begin(self, start: bytes | ext.Attach) -> ext.Welcome:
        if self._link is not None:
            self._link.close(self._timeout)
        self._duties.begin()
        features = self._duties.features()
        begin = Start(self.rm_id, start, features, self._limits)
        self._link = None
        return self._routes.anywhere(partial(self._open, begin), self._timeout)

    def _open(self, begin: Start, seconds: float) -> ext.Welcome:
        """Open a session at the present address. Raises: ClientError."""
        self._work = Work(self._duties)
        link = Link(self._routes, begin, self._work, self._on_lost)
        welcome = link.begin(seconds)
        self._link = link
        return welcome

    def _waiting_link(self, what: str) -> Link:
        """Return the link for a call that waits for the scheduler. Raises: ClientError."""
        if self._work.on_its_thread():
            text = f"{what} waits for the scheduler and cannot be called from a callback"
            raise ClientError(text)
        return self._current()

    def _current(self) -> Link:
        if self._link is None:
            raise ClientError("there is no session; call register first")
        return self._link
