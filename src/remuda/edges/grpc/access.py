"""Who may call what over gRPC (EXT-23).

Authentication is that of the transport: the certificate of a client, or a token in the metadata of
a call. Either stands for an identity, which may act for some resource managers, and may be an
administrator. Without identities, which is the default, everybody may do everything.

Calls of all services pass through here, so that none can be forgotten. Checks that depend on the
resource manager of a request are made where the request is read.
"""

from __future__ import annotations

import asyncio
import inspect
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final
from urllib.parse import unquote

import grpc

from remuda.base.message import message
from remuda.base.scopes import Scope
from remuda.edges.addresses import source_of_peer
from remuda.edges.callers import Found, KnownCallers, Proof
from remuda.edges.grpc.refusals import Context, RefusalError, abort
from remuda.edges.grpc.wrapping import Wrapping
from remuda.edges.lockout import RefusedTokenError
from remuda.edges.recent_callers import RecentCallers
from remuda.edges.rights import ANY_RM, Identity
from remuda.telemetry.audit.records import (
    AUTHENTICATE,
    AUTHORIZE,
    DONE,
    REFUSED,
    Audit,
    Record,
    no_audit,
)

# Where the metadata of a call have a token, and what stands before it.
_HEADER: Final = "authorization"
_SCHEME: Final = "Bearer "

# Where a client's certificate has the names that it is for; the first that has any counts alone.
_CERTIFICATE_NAMES: Final = ("x509_subject_alternative_name", "x509_common_name")

# Probes ask without saying who they are; operators' calls need their role.
_OPEN: Final = ("/grpc.health.v1.Health/",)
_FOR_ADMINS: Final = (
    "/remuda.v1.Admin/",
    "/remuda.v1.Journal/",
    "/remuda.v1.SchedulerExtension/GetStateDump",
)
_FOR_OPERATORS: Final = (
    "/remuda.v1.Admin/ListResourceManagers",
    "/remuda.v1.Admin/ListPartitions",
    "/remuda.v1.Admin/ChangeObjectState",
    "/remuda.v1.Admin/ChangeNodeState",
)

# What a reader with a scope may call: this tells nothing about partitions or queues, or compares
# the scope with what it is asked about (EXT-159).
_FOR_SCOPED_READERS: Final = (
    "/remuda.v1.SchedulerExtension/GetCapabilities",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/remuda.v1.Insight/Explain",
    "/remuda.v1.Insight/WaysOut",
    "/remuda.v1.Insight/DryRun",
    "/remuda.v1.Insight/Forecast",
    "/remuda.v1.Insight/ListFairShares",
    "/remuda.v1.Insight/GetFairShare",
)


@message
class Caller:
    """The caller of the present call; without an identity callers are not checked.

    ``certified``: the name in its certificate. ``peer``: its connection, as gRPC writes it.
    ``method``: the full name of what it calls. ``audit``: takes records of what it does.
    """

    identity: Identity | None = None
    certified: str = ""
    peer: str = ""
    method: str = ""
    audit: Audit = no_audit

    @property
    def origin(self) -> str:
        """The address of the caller."""
        return _origin(self.peer)

    @property
    def name(self) -> str:
        """The name of the caller in logs."""
        return "an operator" if self.identity is None else repr(self.identity.name)

    @property
    def who(self) -> str:
        """The name of the caller in the audit log, "" if it is not known."""
        return self.certified if self.identity is None else self.identity.name

    @property
    def sets_process(self) -> bool:
        """Whether its extra map may change settings of the whole process. Rules: KV-6."""
        return self.identity is None or self.identity.admin

    def record(
        self,
        what: str,
        outcome: str = DONE,
        *,
        rm_id: str = "",
        target: str = "",
        reason: str = "",
        replaced: str = "",
    ) -> None:
        """Put a deed of this caller into the audit log; its target is the method by default.

        Rules: EXT-26.
        """
        target = target or self.method
        self.audit(Record(what, outcome, self.who, rm_id, self.origin, target, reason, replaced))

    def require_rm(self, rm_id: str) -> None:
        """Raise RefusalError unless the caller may act for an RM. Rules: EXT-23, EXT-26."""
        known = self.identity
        if known is not None and rm_id not in known.rm_ids and ANY_RM not in known.rm_ids:
            reason = "may not act for this resource manager"
            self.record(AUTHORIZE, REFUSED, rm_id=rm_id, reason=reason)
            text = f"{known.name!r} may not act for resource manager {rm_id[:300]!r}"
            raise RefusalError(grpc.StatusCode.PERMISSION_DENIED, text)

    def configuring_fault(self, config: str) -> str:
        """Return why the caller's RM may not have this configuration text, "" if it may.

        Without a text of its own an RM has what administrators wrote. Rules: EXT-33.
        """
        known = self.identity
        if known is None or known.places is None or not config:
            return ""
        text = f"{known.name!r} has a scope, so its resource managers may not bring configurations"
        return f"{text}; leave it empty, to have that of the policy group"

    def require_registration(self, rm_id: str, config: str) -> None:
        """Raise RefusalError unless the caller may register an RM so. Rules: EXT-23, EXT-33."""
        self.require_rm(rm_id)
        fault = self.configuring_fault(config)
        if fault:
            self.record(AUTHORIZE, REFUSED, rm_id=rm_id, reason="may not bring configurations")
            raise RefusalError(grpc.StatusCode.PERMISSION_DENIED, fault)

    @property
    def places(self) -> Scope | None:
        """The scope in which its RMs may have applications and new nodes; None: everywhere."""
        return None if self.identity is None else self.identity.places

    def sees(self, rm_id: str) -> bool:
        """Whether the caller may look at what belongs to an RM. Rules: EXT-23."""
        known = self.identity
        if known is None or known.admin or known.operates is not None:
            return True
        return rm_id in known.rm_ids or ANY_RM in known.rm_ids

    def require_sight(self, rm_id: str) -> None:
        """Raise RefusalError unless the caller may look at an RM. Rules: EXT-23."""
        if not self.sees(rm_id):
            self.require_rm(rm_id)

    def require_method(self) -> None:
        """Raise RefusalError unless the caller may call this method. Rules: EXT-23, EXT-30."""
        if self.method not in _FOR_SCOPED_READERS:
            self.require_whole_view()
        if self.method in _FOR_OPERATORS:
            self.require_operator()
        elif self.method.startswith(_FOR_ADMINS):
            self.require_admin()

    def require_operator(self) -> None:
        """Raise RefusalError unless the caller is an operator or an administrator.

        Implements: EXT-30.
        """
        if self.identity is None or self.identity.operates is None:
            self.require_admin()

    def require_scope(self, rm_id: str, partition: str, queue: str) -> None:
        """Raise RefusalError unless the caller may start and stop a queue.

        ``queue`` "": its partition, or a node. Rules: EXT-30, EXT-176.
        """
        known = self.identity
        if known is None or known.admin or known.operates is None:
            return
        if not known.operates.includes(rm_id, partition, queue):
            text = f"{known.name!r} may not start or stop that"
            raise RefusalError(grpc.StatusCode.PERMISSION_DENIED, text)

    def require_whole_view(self) -> None:
        """Raise RefusalError if what the caller may read has a scope. Rules: EXT-32."""
        known = self.identity
        if known is not None and known.reads is not None:
            self.record(AUTHORIZE, REFUSED, reason="reads within a scope")
            text = (
                f"{known.name!r} may read within its scope only: over HTTP, or by remuda.v1.Insight"
            )
            raise RefusalError(grpc.StatusCode.PERMISSION_DENIED, text)

    @property
    def read_scope(self) -> Scope | None:
        """The scope of what the caller may read; None: everything."""
        return None if self.identity is None else self.identity.reads

    def may_ask(self, rm_id: str) -> bool:
        """Whether the caller may ask about what belongs to an RM. Rules: EXT-159."""
        return (self.identity is not None and self.identity.read) or self.sees(rm_id)

    def require_admin(self) -> None:
        """Raise RefusalError unless the caller is an administrator. Implements: EXT-23."""
        if self.identity is not None and not self.identity.admin:
            self.record(AUTHORIZE, REFUSED, reason="is no administrator")
            text = f"{self.identity.name!r} is no administrator"
            raise RefusalError(grpc.StatusCode.PERMISSION_DENIED, text)


_ANYBODY: Final = Caller()
_caller: ContextVar[Caller] = ContextVar("caller", default=_ANYBODY)


def caller() -> Caller:
    """Return the caller of the call that this task serves."""
    return _caller.get()


def act_as(who: Caller) -> None:
    """Let the present task act for a caller whose call another task serves."""
    _caller.set(who)


class Access(Wrapping):
    """Lets calls of known identities through; of everybody if none was given at the start.

    Streams end when their caller loses its rights; other calls are short.

    ``audit``: takes the records of what callers do. Rules: EXT-23, EXT-26, EXT-27.
    """

    def __init__(self, callers: KnownCallers, audit: Audit = no_audit) -> None:
        super().__init__(left_alone=_OPEN)
        self._callers = callers
        self._recent = RecentCallers(callers)
        self._audit = audit

    def _around(self, inner: Any, method: str, kind: str) -> Any:
        async def enter(context: Context) -> tuple[Caller, Proof]:
            try:
                found, proof = await self._identify(context, method)
                found.require_method()
            except RefusalError as refusal:
                await abort(context, refusal)
            _caller.set(found)
            return found, proof

        async def answer(request: object, context: Context) -> object:
            await enter(context)
            return await inner(request, context)

        async def stream(request: object, context: Context) -> None:
            found, proof = await enter(context)
            if found.identity is None:
                await serve(request, context)
                return
            task = asyncio.current_task()
            assert task is not None
            with self._callers.calling(found.identity, proof, task.cancel) as call:
                try:
                    await serve(request, context)
                except asyncio.CancelledError:
                    if not call.revoked or task.uncancel():
                        raise
                    refusal = RefusalError(grpc.StatusCode.UNAUTHENTICATED, call.reason)
                    await abort(context, refusal)

        serve = _written(inner) if inspect.isasyncgenfunction(inner) else inner
        return stream if kind.endswith("_stream") else answer

    async def _identify(self, context: Context, method: str) -> tuple[Caller, Proof]:
        """Return the caller, found by certificate, else by token, and what shows who it is.

        Raises: RefusalError.
        """
        peer = context.peer()
        tokens = _tokens(context)
        # Most calls have one token that their connection has shown before.
        if len(tokens) == 1 and not self._callers.certificates:
            found = self._recent.find(peer, tokens[0])
            if found is not None:
                return Caller(found[0], "", peer, method, self._audit), found[1]
        names = _certified_names(context)
        certified = names[0] if names else ""
        nobody = Caller(None, certified, peer, method, self._audit)
        if self._callers.everybody:
            return nobody, certified
        for name in names:
            found = self._callers.certified(name)
            if found is not None:
                return replace(nobody, identity=found[0]), found[1]
        for token in tokens:
            found = await self._bearer(token, peer, nobody)
            if found is not None:
                self._recent.note(peer, token, found)
                return replace(nobody, identity=found[0]), found[1]
        nobody.record(AUTHENTICATE, REFUSED, reason="nobody known calls")
        raise RefusalError(
            grpc.StatusCode.UNAUTHENTICATED,
            "nobody known calls: a client certificate or a token of an identity is needed",
        )

    async def _bearer(self, token: bytes, peer: str, nobody: Caller) -> Found | None:
        """Return the owner of a token. Raises: RefusalError for one that is not looked at."""
        try:
            return await self._callers.bearer(token, source_of_peer(peer))
        except RefusedTokenError as error:
            nobody.record(AUTHENTICATE, REFUSED, reason=error.text)
            raise RefusalError(grpc.StatusCode.UNAUTHENTICATED, error.text) from None


def _written(inner: Any) -> Any:
    """Return a handler that writes what a generator yields.

    Such a handler can be cancelled wherever it waits; a generator only between two of its results.
    """

    async def serve(request: object, context: Context) -> None:
        async with aclosing(inner(request, context)) as responses:
            async for response in responses:
                await context.write(response)

    return serve


def _tokens(context: Context) -> list[bytes]:
    """Return the tokens in the metadata of a call."""
    return [
        str(value)[len(_SCHEME) :].encode()
        for key, value in context.invocation_metadata() or ()
        if key == _HEADER and str(value).startswith(_SCHEME)
    ]


def _certified_names(context: Context) -> list[str]:
    """Return the names in the certificate of a client: the common name only if it has no other."""
    certificate = context.auth_context()
    for kind in _CERTIFICATE_NAMES:
        names = [bytes(name).decode(errors="replace") for name in certificate.get(kind, ())]
        if names:
            return names
    return []


def _origin(peer: str) -> str:
    """Return the address of a peer, which gRPC writes as ``ipv4:10.0.0.1:4711``."""
    return unquote(peer.partition(":")[2])
