"""The ASGI application: routing, headers, errors and compression around the route table.

Starlette does the routing, on the undecoded path (REST-9); this module supplies what chapter 95
asks for beyond it: redirects to the right spelling and the texts of unknown paths (REST-7),
OPTIONS with CORS headers (REST-8), error bodies (REST-12), gzip (REST-6), the body limit.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from time import perf_counter_ns
from typing import Final, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from remuda.edges.addresses import source
from remuda.edges.callers import KnownCallers
from remuda.edges.rest.requests.asking import Asked, Views
from remuda.edges.rest.requests.endpoint import Body, Endpoint, Routes, Shown, Stream
from remuda.edges.rest.requests.errors import (
    BODY_TOO_LARGE,
    NOT_RUNNING,
    SCARCE_MEMORY,
    UNEXPECTED,
    ApiError,
)
from remuda.edges.rest.requests.reach import require_scope
from remuda.edges.rest.routes.description import DESCRIPTION_ROUTES
from remuda.edges.rest.routes.interface import INTERFACE_ROUTES
from remuda.edges.rest.routes.table import ROUTES
from remuda.edges.rest.shapes import dao
from remuda.edges.rest.transport.access import (
    Guard,
    caller_of,
    is_for_admins,
    origin_of,
    record_request,
)
from remuda.edges.rest.transport.bodies import BODY_LIMIT, Room, drop_body, read_body
from remuda.edges.rest.transport.hosts import KnownHosts
from remuda.edges.rest.transport.paths import corrected, decode
from remuda.edges.rest.transport.streaming import PieceByPiece
from remuda.edges.rest.transport.tracing import TracedRoute
from remuda.runtime.errors import LoopStoppedError
from remuda.telemetry.audit.records import AUTHORIZE, Audit, no_audit
from remuda.telemetry.tracing import Tracing

_log = logging.getLogger("remuda.rest")

_ALLOW: Final = "GET, OPTIONS"
_ALLOW_POST: Final = "OPTIONS, POST"
_CORS: Final[Mapping[str, str]] = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "X-Requested-With,Content-Type,Accept,Origin",
    "Access-Control-Expose-Headers": "ETag, X-Total-Count",
}
_METHODS_HEADER: Final = "Access-Control-Allow-Methods"

# What web pages of other origins may read: the lists that a front end shows (chapter 98 section 2).
_SHARED: Final = frozenset(
    {
        "/ws/v1/clusters",
        "/ws/v1/history/apps",
        "/ws/v1/history/containers",
        "/ws/v1/partitions",
        "/ws/v1/partition/{partition}/nodes",
        "/ws/v1/partition/{partition}/queue/{queue}/applications",
        "/ws/v1/partition/{partition}/queues",
        "/ws/v1/scheduler/healthcheck",
        "/ws/v1/scheduler/node-utilization",
        "/ws/v1/scheduler/node-utilizations",
    }
)

# Bodies from this size on are compressed for clients that accept it (REST-6).
_GZIP_FROM: Final = 1_400

# Speed over size: 5 MB of JSON shrink 10 times within 50 ms.
_GZIP_LEVEL: Final = 3

# Large bodies of a route that are held at a time; others wait.
_BODIES: Final = 4

# What stands before the path if a client sends the whole address, as clients of proxies do.
_AUTHORITY: Final = re.compile(r"\Ahttps?://[^/]*", re.IGNORECASE)

# Headers that say who calls, from which page, and what the body is.
_WHO: Final = ("authorization", "content-type", "origin")

_NO_PAGE: Final = "404 page not found\n"

# Methods that a path had in releases before 1.5. Implements: REST-53.
_REMOVED: Final[Mapping[str, tuple[str, ...]]] = {"/ws/v1/config": ("POST", "PUT")}

# When a client may ask again for a large answer that was refused for want of memory.
_RETRY: Final[Mapping[str, str]] = {"Retry-After": "10"}

# Answers after which a connection is of no more use: something is left in it.
_CLOSING: Final = (408, 413)


# Told of each answer of a route: path of the route, method, status, nanoseconds (MET-42).
Observer: TypeAlias = Callable[[str, str, int, int], None]


def nobody(route: str, method: str, status: int, took_ns: int) -> None:
    """Ignore an answer: the default observer."""


def never() -> bool:
    """Return that memory is not scarce: the default."""
    return False


def build_app(
    views: Views,
    *,
    more: Routes | None = None,
    cors: bool = True,
    trust_forwarded: bool = False,
    observer: Observer = nobody,
    callers: KnownCallers | None = None,
    debug: bool = True,
    tracing: Tracing | None = None,
    hosts: Collection[str] | None = None,
    audit: Audit = no_audit,
    scarce: Callable[[], bool] = never,
) -> ASGIApp:
    """Return the REST application over ``views``; ``cors`` off leaves its headers out.

    Only what front ends list has those headers; all else is for pages of its own origin.

    ``more``: routes over something else than questions to the core. ``trust_forwarded``: the first
    address in X-Forwarded-For is the client's, if there is any (EVT-118). ``observer``: is told of
    each answer of a route, in the event loop. ``callers``: who may read, None: everybody;
    with a token CORS is off. ``debug`` off: no dumps and profiles (REST-55). ``tracing``: what
    makes spans of requests; None: there are none. ``hosts``: the names by which clients may call
    this server; None: any. With a token the name does not matter. ``audit``: takes records of what
    matters for security (EXT-26). ``scarce``: whether the process runs short of memory (EXT-39).
    Implements: REST-4, REST-8.
    """
    callers = callers or KnownCallers()
    hosts = hosts if callers.everybody else None
    cors = cors and callers.everybody
    table = {**ROUTES, **DESCRIPTION_ROUTES, **INTERFACE_ROUTES, **(more or {})}
    table = {path: each for path, each in table.items() if debug or not is_for_admins(path)}
    routes = [
        Route(
            path,
            _traced(
                tracing,
                path,
                _Answerer(
                    views,
                    endpoint,
                    cors=cors and path in _SHARED,
                    trust_forwarded=trust_forwarded,
                    observed=partial(observer, path),
                    audit=audit,
                    scarce=scarce,
                ),
            ),
            methods=["POST" if endpoint.body_limit else "GET", "OPTIONS"],
        )
        for path, endpoint in table.items()
    ]
    limits = {path: each.body_limit for path, each in table.items() if each.body_limit}
    plain = frozenset(path for path, each in table.items() if each.plain)
    app = Starlette(
        routes=routes,
        exception_handlers={404: _Corrector(table), 405: _wrong_method},
        middleware=[
            Middleware(_Undecoded),
            Middleware(KnownHosts, hosts=hosts),
            Middleware(Guard, callers=callers, audit=audit),
            Middleware(_SmallBodies, limits=limits),
            Middleware(_Compressed, plain=plain),
        ],
    )
    app.router.redirect_slashes = False
    return app


def _traced(tracing: Tracing | None, path: str, answerer: _Answerer) -> ASGIApp:
    return answerer if tracing is None else TracedRoute(tracing, path, answerer)


class _Answerer:
    """Answers one route; never lets a failure through. Implements: REST-17."""

    def __init__(
        self,
        views: Views,
        endpoint: Endpoint,
        *,
        cors: bool,
        trust_forwarded: bool,
        observed: Callable[[str, int, int], None],
        audit: Audit,
        scarce: Callable[[], bool],
    ) -> None:
        self._audit = audit
        self._views = views
        self._trust_forwarded = trust_forwarded
        self._observed = observed
        self._scarce = scarce
        self._endpoint = endpoint
        self._allow = _ALLOW_POST if endpoint.body_limit else _ALLOW
        self._headers = _cors(self._allow) if cors else {}
        self._room = Room(_BODIES)
        self._checked = asyncio.Semaphore(endpoint.at_once)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = perf_counter_ns()
        request = Request(scope, receive)
        answer = await self._answer(request)
        self._observed(request.method, answer.status_code, perf_counter_ns() - began)
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(headers={**self._headers, "Allow": self._allow})
        try:
            found = await self._found(request)
            self._admit(large=isinstance(found, Stream) and found.large)
            return _response(found, self._headers)
        except ApiError as error:
            return _refusal(error, self._headers)
        except ClientDisconnect:
            return Response(status_code=400)
        except LoopStoppedError:
            return _refusal(ApiError(500, NOT_RUNNING), self._headers)
        except Exception:  # noqa: BLE001 - the last resort of REST-17; it is logged
            _log.exception("%s %s failed", request.method, request.scope["path"])
            return _refusal(ApiError(500, UNEXPECTED), self._headers)

    async def _found(self, request: Request) -> object:
        """Return what the handler answers. Raises: ApiError, ClientDisconnect, LoopStoppedError."""
        asked = _asked(request, trust_forwarded=self._trust_forwarded)
        self._require_right(request, asked)
        self._admit(large=self._endpoint.large)
        limit = self._endpoint.body_limit
        if not limit:
            return await self._endpoint.handler(self._views, asked)
        origin = "" if request.client is None else source(request.client.host)
        with self._room.share(origin) as share:
            asked = replace(asked, body=await read_body(request, limit, share))
            async with self._checked:
                return await self._endpoint.handler(self._views, asked)

    def _require_right(self, request: Request, asked: Asked) -> None:
        """Go on only if the caller may have the answer. Raises: ApiError.

        Rules: EXT-26, EXT-32, EXT-111.
        """
        try:
            require_scope(self._endpoint.reach, asked)
            if self._endpoint.admit is not None:
                self._endpoint.admit(asked)
        except ApiError as error:
            record_request(self._audit, AUTHORIZE, request, caller_of(request), error.text)
            raise

    def _admit(self, *, large: bool) -> None:
        """Let an answer be given, unless it is large and memory is scarce. Rules: EXT-39.

        Raises: ApiError 503.
        """
        if large and self._scarce():
            raise ApiError(503, SCARCE_MEMORY, headers=_RETRY)


def _cors(allow: str) -> dict[str, str]:
    """Return the headers that let web pages read an answer; a route allows some methods."""
    return {**_CORS, _METHODS_HEADER: allow}


def _asked(request: Request, *, trust_forwarded: bool) -> Asked:
    """Return what a request asks for, without its body."""
    options: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        options.setdefault(name, value)
    path = {name: decode(value) for name, value in request.path_params.items()}
    accept = ",".join(request.headers.getlist("accept"))
    known = ",".join(request.headers.getlist("if-none-match"))
    peer = _peer(request, trust_forwarded=trust_forwarded)
    caller = caller_of(request)
    return Asked(
        path=path,
        options=options,
        accept=accept,
        known=known,
        peer=peer,
        origin=origin_of(request),
        caller=peer if caller is None else caller.name,
        scope=None if caller is None else caller.reads,
        identity=caller,
        headers={name: request.headers[name] for name in _WHO if name in request.headers},
    )


def _peer(request: Request, *, trust_forwarded: bool) -> str:
    """Return the address of a client. Implements: EVT-118."""
    if trust_forwarded:
        first = request.headers.get("x-forwarded-for", "").partition(",")[0].strip()
        if first:
            return first
    return "" if request.client is None else request.client.host


def _response(found: object, headers: Mapping[str, str]) -> Response:
    if isinstance(found, Stream):
        return PieceByPiece(found, headers if found.cors else {})
    if isinstance(found, Shown):
        return _json(found.shape, 200, {**headers, **found.headers})
    if not isinstance(found, Body):
        return _json(found, 200, headers)
    more = {**found.headers, "Content-Type": found.media_type}
    if found.by_accept:
        more["Vary"] = "Accept"
    shared = headers if found.cors else {}
    return Response(found.content, found.status, headers={**shared, **more})


def _json(shape: object, status: int, headers: Mapping[str, str]) -> Response:
    return Response(dao.encode(shape), status, headers={**headers, "Content-Type": dao.JSON_TYPE})


def _refusal(error: ApiError, headers: Mapping[str, str]) -> Response:
    headers = {**headers, **error.headers}
    if error.status in _CLOSING:
        headers["Connection"] = "close"
    return _json(error.body(), error.status, headers)


class _Corrector:
    """Sends the client to the right spelling of a path, or says 404 (REST-7)."""

    def __init__(self, table: Routes) -> None:
        self._table = table

    async def __call__(self, request: Request, _: Exception) -> Response:
        right = corrected(request.scope["path"], self._table)
        if right is None:
            return PlainTextResponse(_NO_PAGE, 404)
        if request.url.query:
            right += "?" + request.url.query
        return RedirectResponse(right, 301 if request.method in ("GET", "HEAD") else 307)


async def _wrong_method(request: Request, refused: Exception) -> Response:
    """Say 405 and which methods the route has (REST-7), or 404 for one it once had (REST-53)."""
    if request.method in _REMOVED.get(request.scope["path"], ()):
        return PlainTextResponse(_NO_PAGE, 404)
    assert isinstance(refused, HTTPException)
    allowed = (refused.headers or {}).get("Allow", "")
    allow = _ALLOW_POST if "POST" in allowed else _ALLOW
    return PlainTextResponse("Method Not Allowed\n", 405, headers={"Allow": allow})


class _Undecoded:
    """Lets the routing see the path as it was sent (REST-9)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw = scope["raw_path"].decode("ascii", "replace").partition("?")[0]
            if not raw.startswith("/"):
                raw = _AUTHORITY.sub("", raw) or "/"
            scope = {**scope, "path": raw}
        await self._app(scope, receive, send)


class _SmallBodies:
    """Refuses requests that announce a larger body than their path takes."""

    def __init__(self, app: ASGIApp, limits: Mapping[str, int]) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            sent = Request(scope).headers
            length = sent.get("content-length", "0")
            limit = self._limits.get(scope["path"], BODY_LIMIT)
            if not length.isdecimal() or int(length) > limit:
                if "expect" not in sent:
                    await drop_body(receive)
                answer = _refusal(ApiError(413, BODY_TOO_LARGE), {})
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


class _Compressed:
    """Compresses large answers for clients that accept gzip with a weight above 0.

    ``plain``: the paths whose answers stay as they are.
    Implements: REST-6.
    """

    def __init__(self, app: ASGIApp, plain: Collection[str]) -> None:
        self._plain_paths = plain
        self._plain = app
        self._gzip = GZipMiddleware(app, minimum_size=_GZIP_FROM, compresslevel=_GZIP_LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wanted = (
            scope["type"] == "http"
            and scope["path"] not in self._plain_paths
            and _accepts_gzip(Request(scope).headers.get("accept-encoding", ""))
        )
        await (self._gzip if wanted else self._plain)(scope, receive, send)


def _accepts_gzip(header: str) -> bool:
    for offer in header.lower().split(","):
        coding, _, weight = offer.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
