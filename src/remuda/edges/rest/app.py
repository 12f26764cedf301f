"""The ASGI application: routing, headers, errors and compression around the route table.

Starlette does the routing, on the undecoded path (REST-9); this module supplies what chapter 95
asks for beyond it: redirects to the right spelling and the texts of unknown paths (REST-7),
OPTIONS with CORS headers (REST-8), error bodies (REST-12), gzip (REST-6), the body limit.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from remuda.edges.rest import dao
from remuda.edges.rest.errors import BODY_TOO_LARGE, NOT_RUNNING, UNEXPECTED, ApiError
from remuda.edges.rest.paths import corrected, decode
from remuda.edges.rest.routes import ROUTES, Asked, Handler, Views
from remuda.runtime.errors import LoopStoppedError

_log = logging.getLogger("remuda.rest")

JSON_TYPE: Final = "application/json; charset=UTF-8"
ALLOW: Final = "GET, OPTIONS"
CORS: Final[Mapping[str, str]] = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": ALLOW,
    "Access-Control-Allow-Headers": "X-Requested-With,Content-Type,Accept,Origin",
}

# Bodies from this size on are compressed for clients that accept it (REST-6).
GZIP_FROM: Final = 1_400

# Speed over size: 5 MB of JSON shrink 10 times within 50 ms.
GZIP_LEVEL: Final = 3

# No route reads a body; what a client sends nevertheless stays small.
BODY_LIMIT: Final = 64 * 1024


def build_app(views: Views, *, cors: bool = True) -> ASGIApp:
    """Return the REST application over ``views``; ``cors`` off leaves its headers out (REST-4)."""
    headers = dict(CORS) if cors else {}
    routes = [
        Route(path, _Endpoint(views, handler, headers), methods=["GET", "OPTIONS"])
        for path, handler in ROUTES.items()
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={404: _not_found, 405: _wrong_method},
        middleware=[
            Middleware(_Undecoded),
            Middleware(_SmallBodies, headers=headers),
            Middleware(_Compressed),
        ],
    )
    app.router.redirect_slashes = False
    return app


class _Endpoint:
    """Answers one route; never lets a failure through (REST-17)."""

    def __init__(self, views: Views, handler: Handler, headers: Mapping[str, str]) -> None:
        self._views = views
        self._handler = handler
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._answer(Request(scope)))(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(headers={**self._headers, "Allow": ALLOW})
        try:
            shape = await self._handler(self._views, _asked(request))
            return _json(shape, 200, self._headers)
        except ApiError as error:
            return _refusal(error, self._headers)
        except LoopStoppedError:
            return _refusal(ApiError(500, NOT_RUNNING), self._headers)
        except Exception:  # noqa: BLE001 - the last resort of REST-17; it is logged
            _log.exception("%s %s failed", request.method, request.scope["path"])
            return _refusal(ApiError(500, UNEXPECTED), self._headers)


def _asked(request: Request) -> Asked:
    options: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        options.setdefault(name, value)
    path = {name: decode(value) for name, value in request.path_params.items()}
    return Asked(path, options)


def _json(shape: object, status: int, headers: Mapping[str, str]) -> Response:
    return Response(dao.encode(shape), status, headers={**headers, "Content-Type": JSON_TYPE})


def _refusal(error: ApiError, headers: Mapping[str, str]) -> Response:
    return _json(error.body(), error.status, headers)


async def _not_found(request: Request, _: Exception) -> Response:
    """Send the client to the right spelling of a path, or say 404 (REST-7)."""
    right = corrected(request.scope["path"], ROUTES)
    if right is None:
        return PlainTextResponse("404 page not found\n", 404)
    if request.url.query:
        right += "?" + request.url.query
    return RedirectResponse(right, 301 if request.method in ("GET", "HEAD") else 307)


async def _wrong_method(_request: Request, _: Exception) -> Response:
    return PlainTextResponse("Method Not Allowed\n", 405, headers={"Allow": ALLOW})


class _Undecoded:
    """Lets the routing see the path as it was sent (REST-9)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw = scope["raw_path"].decode("ascii", "replace")
            scope = {**scope, "path": raw.partition("?")[0]}
        await self._app(scope, receive, send)


class _SmallBodies:
    """Refuses requests that announce a large body."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self._app = app
        self._headers = {**headers, "Connection": "close"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            length = Request(scope).headers.get("content-length", "0")
            if not length.isdecimal() or int(length) > BODY_LIMIT:
                answer = _refusal(ApiError(413, BODY_TOO_LARGE), self._headers)
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


class _Compressed:
    """Compresses large answers for clients that accept gzip with a weight above 0 (REST-6)."""

    def __init__(self, app: ASGIApp) -> None:
        self._plain = app
        self._gzip = GZipMiddleware(app, minimum_size=GZIP_FROM, compresslevel=GZIP_LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wanted = scope["type"] == "http" and _accepts_gzip(
            Request(scope).headers.get("accept-encoding", "")
        )
        await (self._gzip if wanted else self._plain)(scope, receive, send)


def _accepts_gzip(header: str) -> bool:
    for offer in header.lower().split(","):
        coding, _, weight = offer.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
