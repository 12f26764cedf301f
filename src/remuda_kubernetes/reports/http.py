"""Health, metrics and state of the shim over HTTP; read only."""

from __future__ import annotations

from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from remuda_kubernetes.reports.sources import Sources

_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Reports:
    """What there is to report at the moment.

    ``standing_by``: another replica leads; this one is ready when it knows all objects.
    """

    def __init__(self) -> None:
        self.standing_by = False
        self._sources: Sources | None = None

    def show(self, sources: Sources) -> None:
        """Report about a shim."""
        self._sources = sources

    def hide(self) -> None:
        """The shim ends."""
        self._sources = None

    def problems(self) -> dict[str, str]:
        """Return what keeps the shim from scheduling, by part; empty if it is ready."""
        if self._sources is None:
            return {"shim": "is starting"}
        return self._sources.unsynced() if self.standing_by else self._sources.problems()

    @property
    def sources(self) -> Sources | None:
        """The running shim, None if there is none."""
        return self._sources


def build_app(reports: Reports) -> Starlette:
    """Return the HTTP application."""

    async def live(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_request: Request) -> Response:
        problems = reports.problems()
        if not problems:
            return PlainTextResponse("standing by\n" if reports.standing_by else "ok\n")
        lines = [f"{part}: {problem}\n" for part, problem in sorted(problems.items())]
        return PlainTextResponse("".join(lines), status_code=503)

    async def metrics(_request: Request) -> Response:
        sources = reports.sources
        text = "" if sources is None else sources.metrics()
        return Response(text, media_type=_METRICS_TYPE)

    async def state(_request: Request) -> Response:
        sources = reports.sources
        return JSONResponse({} if sources is None else sources.state())

    return Starlette(
        routes=[
            Route("/livez", live),
            Route("/readyz", ready),
            Route("/metrics", metrics),
            Route("/state", state),
        ]
    )
