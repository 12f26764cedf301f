"""Health, metrics and the figures of a shadow over HTTP; read only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from remuda_kubernetes.shadow.following import Following

_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX: Final = "remuda_kubernetes_shadow"


class Figures(Collector):
    """Reads the figures at each scrape. Their labels are kinds of difference only."""

    def __init__(self, following: Following) -> None:
        self._following = following

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        ledger, truth = self._following.ledger, self._following.truth
        pods = CounterMetricFamily(
            f"{_PREFIX}_pods", "Pods by how the two decisions compare.", labels=["kind"]
        )
        for kind, count in ledger.counts():
            pods.add_metric([kind.value], count)
        yield pods
        yield GaugeMetricFamily(
            f"{_PREFIX}_waiting", "Pods without a node that are followed.", value=ledger.waiting
        )
        yield GaugeMetricFamily(
            f"{_PREFIX}_held",
            "Pods with a node that the shadow has a moment to decide about.",
            value=truth.held,
        )


def build_app(
    figures: Callable[[], Figures | None],
    problems: Callable[[], dict[str, str]],
    agreement: Callable[[], dict[str, Any]],
) -> Starlette:
    """Return the HTTP application. ``figures``: None while the shadow is starting."""

    async def live(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_request: Request) -> Response:
        found = problems()
        lines = [f"{part}: {problem}\n" for part, problem in sorted(found.items())]
        return PlainTextResponse("".join(lines) or "ok\n", status_code=503 if lines else 200)

    async def metrics(_request: Request) -> Response:
        registry = CollectorRegistry(auto_describe=False)
        collector = figures()
        if collector is not None:
            registry.register(collector)
        return Response(generate_latest(registry), media_type=_METRICS_TYPE)

    async def told(_request: Request) -> Response:
        return JSONResponse(agreement())

    return Starlette(
        routes=[
            Route("/livez", live),
            Route("/readyz", ready),
            Route("/metrics", metrics),
            Route("/agreement", told),
        ]
    )
