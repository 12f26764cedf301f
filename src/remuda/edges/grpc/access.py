"""Who may call what over gRPC (EXT-23).

Authentication is that of the transport: the certificate of a client, or a token in the metadata of
a call. Either stands for an identity, which may act for some resource managers, and may be an
administrator. Without identities, which is the default, everybody may do everything.

Calls of all services pass through here, so that none can be forgotten. Checks that depend on the
resource manager of a request are made where the request is read.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any, Final

import grpc

from remuda.base.message import message
from remuda.edges.grpc.refusals import Context, RefusalError, abort
from remuda.edges.identities import ANY_RM, Identity

# Where the metadata of a call have a token, and what stands before it.
_HEADER: Final = "authorization"
_SCHEME: Final = "Bearer "

# Of the client's certificate: the names that it is for.
_CERTIFICATE_NAMES: Final = ("x509_subject_alternative_name", "x509_common_name")

# Probes ask without saying who they are; operators' calls need their role.
_OPEN: Final = ("/grpc.health.v1.Health/",)
_FOR_ADMINS: Final = ("/remuda.v1.Admin/", "/remuda.v1.SchedulerExtension/GetStateDump")


@message
class Caller:
    """The caller of the present call; without an identity callers are not checked."""

    identity: Identity | None = None

    @property
    def name(self) -> str:
        """The name of the caller in logs."""
        return "an operator" if self.identity is None else repr(self.identity.name)

    def require_rm(self, rm_id: str) -> None:
        """Raise RefusalError unless the caller may act for an RM. Rules: EXT-23."""
        known = self.identity
        if known is not None and rm_id not in known.rm_ids and ANY_RM not in known.rm_ids:
            text = f"{known.name!r} may not act for resource manager {rm_id[:300]!r}"
            raise RefusalError(grpc.StatusCode.PERMISSION_DENIED, text)

    def sees(self, rm_id: str) -> bool:
        """Whether the caller may look at what belongs to an RM. Rules: EXT-23."""
        known = self.identity
        return known is None or known.admin or rm_id in known.rm_ids or ANY_RM in known.rm_ids

    def require_sight(self, rm_id: str) -> None:
        """Raise RefusalError unless the caller may look at an RM. Rules: EXT-23."""
        if not self.sees(rm_id):
            self.require_rm(rm_id)

    def require_admin(self) -> None:
        """Raise RefusalError unless the caller is an administrator. Implements: EXT-23."""
        if self.identity is not None and not self.identity.admin:
            text = f"{self.identity.name!r} is no administrator"
            raise RefusalError(grpc.StatusCode.PERMISSION_DENIED, text)


_ANYBODY: Final = Caller()
_caller: ContextVar[Caller] = ContextVar("caller", default=_ANYBODY)


def caller() -> Caller:
    """Return the caller of the call that this task serves."""
    return _caller.get()


class Access(grpc.aio.ServerInterceptor):
    """Lets calls of known identities through. Rules: EXT-23."""

    def __init__(self, identities: Sequence[Identity]) -> None:
        self._by_certificate = {name: each for each in identities for name in each.certificates}
        self._by_token = {digest: each for each in identities for digest in each.token_digests}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Return the handler of a method, which looks at its caller first."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method.startswith(_OPEN):
            return handler
        return self._guarded(handler, for_admins=method.startswith(_FOR_ADMINS))

    def _guarded(self, handler: Any, *, for_admins: bool) -> Any:
        for kind in ("unary_unary", "unary_stream", "stream_unary", "stream_stream"):
            inner = getattr(handler, kind)
            if inner is not None:
                make = getattr(grpc, f"{kind}_rpc_method_handler")
                return make(
                    self._checked(inner, for_admins=for_admins),
                    request_deserializer=handler.request_deserializer,
                    response_serializer=handler.response_serializer,
                )
        return handler

    def _checked(self, inner: Any, *, for_admins: bool) -> Any:
        async def enter(context: Context) -> None:
            try:
                found = self._identify(context)
                if for_admins:
                    found.require_admin()
            except RefusalError as refusal:
                await abort(context, refusal)
            _caller.set(found)

        async def answer(request: object, context: Context) -> object:
            await enter(context)
            return await inner(request, context)

        async def stream(request: object, context: Context) -> AsyncIterator[object]:
            await enter(context)
            async for response in inner(request, context):
                yield response

        return stream if inspect.isasyncgenfunction(inner) else answer

    def _identify(self, context: Context) -> Caller:
        """Return the caller, found by certificate, else by token. Raises: RefusalError."""
        certificate = context.auth_context()
        for kind in _CERTIFICATE_NAMES:
            for name in certificate.get(kind, ()):
                found = self._by_certificate.get(bytes(name).decode(errors="replace"))
                if found is not None:
                    return Caller(found)
        for key, value in context.invocation_metadata() or ():
            if key == _HEADER and str(value).startswith(_SCHEME):
                digest = hashlib.sha256(str(value)[len(_SCHEME) :].encode()).digest()
                found = self._by_token.get(digest)
                if found is not None:
                    return Caller(found)
        raise RefusalError(
            grpc.StatusCode.UNAUTHENTICATED,
            "nobody known calls: a client certificate or a token of an identity is needed",
        )
