"""A span for each request of the HTTP API, in the trace that its headers name."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remuda.telemetry.tracing import Tracing

# Headers of the W3C format, and that of the older one that the library may be set to.
_CARRIERS = ("traceparent", "tracestate", "baggage", "b3")


class TracedRoute:
    """Serves one route inside a span; its name is that of the route, without parameters."""

    def __init__(self, tracing: Tracing, path: str, app: ASGIApp) -> None:
        self._tracing = tracing
        self._path = path
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. The span ends with the last byte of the answer."""
        headers = Headers(scope=scope)
        carrier = {name: headers[name] for name in _CARRIERS if name in headers}
        method = scope["method"]
        known = {"http.request.method": method, "http.route": self._path}
        with self._tracing.serving(f"{method} {self._path}", carrier, known) as span:

            async def traced_send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status = int(message["status"])
                    span.note("http.response.status_code", status)
                    if status >= 500:
                        span.fail(str(status))
                await send(message)

            await self._app(scope, receive, traced_send)
