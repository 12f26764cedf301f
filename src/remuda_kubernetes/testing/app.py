"""The HTTP of the server: paths and methods become verbs on kinds, answers become JSON.

Every refusal is a Status object, as a real server sends it. An object whose fields have types that
no check expected is refused with 400 and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from remuda_kubernetes.testing.cluster import Cluster
from remuda_kubernetes.testing.discovery import (
    OPENAPI_V2_PROTOBUF,
    Discovery,
)
from remuda_kubernetes.testing.faults import Call, Failure, Faults
from remuda_kubernetes.testing.forms import Answer
from remuda_kubernetes.testing.paths import METHODS, Target, UnknownGroup, call_of, target, verb_of
from remuda_kubernetes.testing.reads import Reads
from remuda_kubernetes.testing.resources import subresource_verbs
from remuda_kubernetes.testing.statuses import (
    Json,
    Refusal,
    bad_request,
    failure,
    qualified,
    wrong_method,
)
from remuda_kubernetes.testing.verbs import Ask, Verbs

_BODY_LIMIT: Final = 8 * 2**20
_encode: Final = msgspec.json.Encoder().encode


class Front:
    """Answers requests."""

    def __init__(self, cluster: Cluster, faults: Faults) -> None:
        self._cluster = cluster
        self._faults = faults
        self._discovery = Discovery(cluster.settings)
        self._reads = Reads(cluster, faults)
        self._verbs = Verbs(cluster)

    def application(self) -> Starlette:
        """Return the ASGI application."""
        return Starlette(routes=[Route("/{path:path}", self.answer, methods=list(METHODS))])

    async def answer(self, request: Request) -> Response:
        """Answer one request."""
        try:
            return await self._answered(request)
        except UnknownGroup:
            return Response(b"404 page not found\n", 404, media_type="text/plain")
        except Refusal as refusal:
            return _json(refusal.status, refusal.code, _retry(refusal.status))
        except _BrokenConnection:
            raise
        except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
            text = f"the object cannot be handled: {type(error).__name__}: {error}"
            return _json(bad_request(text).status, 400)

    async def _answered(self, request: Request) -> Response:
        path = request.url.path
        self._authenticate(request, path)
        discovered = self._discovered(request, path)
        if discovered is not None:
            fault = await self._faults.before(Call("", path))
            return discovered if fault is None else _failed(fault)
        wanted = target(path, self._discovery)
        verb = verb_of(request.method, request.query_params, wanted)
        body = await _body(request)
        fault = await self._faults.before(call_of(path, verb, wanted, body))
        if fault is not None and not fault.performed:
            return _failed(fault)
        answer = await self._performed(request, verb, wanted, body)
        return answer if fault is None else _failed(fault)

    def _authenticate(self, request: Request, path: str) -> None:
        token = self._cluster.settings.token
        if token is None or path in {"/livez", "/readyz", "/healthz", "/version"}:
            return
        given = request.headers.get("authorization")
        if given == f"Bearer {token}":
            return
        if given is not None:
            raise Refusal(401, "Unauthorized")
        raise _anonymous(request, target(path, self._discovery))

    def _discovered(self, request: Request, path: str) -> Response | None:
        """Return the answer to questions about the server itself."""
        if request.method != "GET":
            return None
        if path in {"/livez", "/readyz", "/healthz"}:
            return Response(b"ok", media_type="text/plain")
        if path == "/openapi/v2" and "protobuf" in request.headers.get("accept", ""):
            # It is asked for with "@", which kubectl refuses in the type of an answer.
            kind = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
            return Response(OPENAPI_V2_PROTOBUF, media_type=kind)
        parts = path.strip("/").split("/")
        found = self._discovery.answer(parts, request.headers.get("host", ""))
        return None if found is None else _json(found)

    async def _performed(
        self, request: Request, verb: str, wanted: Target, body: bytes
    ) -> Response:
        form = wanted.form
        if form is None:
            return _json(self._review(wanted.name, _object(body)), 201)
        allowed = (
            subresource_verbs(wanted.subresource) if wanted.subresource else form.resource.verbs
        )
        if verb not in allowed:
            raise wrong_method()
        query = request.query_params
        accept = request.headers.get("accept", "")
        if verb == "watch":
            if request.headers.get("upgrade", "").lower() == "websocket":
                # A client that asks for one (fabric8's, of Spark) watches by HTTP on this answer.
                raise Refusal(503, "this server has no web sockets: watch without upgrade")
            lines = self._reads.watch(form, wanted.namespace, query, accept)
            return StreamingResponse(lines, media_type="application/json")
        if verb == "list":
            await self._reads.wait_for(form, query.get("resourceVersion", ""))
            return _raw(self._reads.list(form, wanted.namespace, query, accept))
        if verb == "get":
            return _raw(self._reads.get(form, wanted.namespace, wanted.name, accept))
        ask = Ask(
            verb=verb,
            form=form,
            namespace=wanted.namespace,
            name=wanted.name,
            subresource=wanted.subresource,
            body=body,
            query=query,
            content_type=request.headers.get("content-type", "").partition(";")[0].strip(),
            manager=query.get("fieldManager") or _manager(request.headers.get("user-agent", "")),
            user=request.headers.get("impersonate-user", ""),
            groups=tuple(request.headers.getlist("impersonate-group")),
        )
        return _raw(self._verbs.answer(ask))

    def _review(self, plural: str, body: Json) -> Json:
        """Answer what somebody asks about rights; all is allowed that no fault denies."""
        own = plural.startswith("self")
        kind = "SelfSubjectAccessReview" if own else "SubjectAccessReview"
        spec = body.get("spec") or {}
        denied = self._faults.denied
        allowed = denied is None or not denied(spec)
        about = {"kind": kind, "apiVersion": "authorization.k8s.io/v1"}
        metadata = {"creationTimestamp": None}
        return {**about, "metadata": metadata, "spec": spec, "status": {"allowed": allowed}}


class _BrokenConnection(Exception):  # noqa: N818 - what a test asked for
    """Ends a request without an answer."""


class _Broken(Response):
    """An answer that breaks off before it has begun to say anything."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Begin an answer that is longer than what follows, and end the connection."""
        head = {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-length", b"9")],
        }
        await send(head)
        raise _BrokenConnection


async def _body(request: Request) -> bytes:
    if request.method == "GET":
        return b""
    body = await request.body()
    if len(body) > _BODY_LIMIT:
        raise Refusal(
            413, f"the body has more than {_BODY_LIMIT} bytes", reason="RequestEntityTooLarge"
        )
    return body


def _object(body: bytes) -> Json:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise bad_request(f"the body is no JSON object: {error}") from None


def _anonymous(request: Request, wanted: Target) -> Refusal:
    """Refuse somebody who does not say who they are."""
    verb = verb_of(request.method, request.query_params, wanted)
    form = wanted.form
    plural = form.resource.plural if form else wanted.name
    group = form.resource.group if form else "authorization.k8s.io"
    where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    name = f' "{wanted.name}"' if wanted.name and form else ""
    details = (("name", wanted.name if form else ""), ("group", group), ("kind", plural))
    return Refusal(
        403,
        f"{qualified(plural, group)}{name} is forbidden: "
        f'User "system:anonymous" cannot {verb} resource "{plural}" in API group "{group}" {where}',
        details={key: value for key, value in details if value},
    )


def _manager(agent: str) -> str:
    return agent.partition("/")[0][:128] or "unknown"


def _failed(fault: Failure) -> Response:
    """Return what a test wants to be answered. Raises: _BrokenConnection from its answer."""
    if fault.status == 0:
        return _Broken()
    details = {"retryAfterSeconds": fault.retry_after} if fault.retry_after else None
    status = failure(fault.status, fault.message, reason=fault.reason, details=details)
    return _json(status, fault.status, _retry(status))


def _retry(status: Json) -> Mapping[str, str] | None:
    seconds = (status.get("details") or {}).get("retryAfterSeconds")
    return {"retry-after": str(seconds)} if seconds else None


def _json(value: object, code: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(_encode(value), code, headers, media_type="application/json")


def _raw(answer: Answer) -> Response:
    return Response(answer.body, answer.code, media_type="application/json")
