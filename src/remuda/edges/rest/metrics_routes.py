"""The route of the metrics (rules: REST-46, REST-5)."""

from __future__ import annotations

import asyncio

from remuda.edges.rest.asking import Asked, Views
from remuda.edges.rest.endpoint import Body, Endpoint, Routes
from remuda.telemetry.metrics.exposition import Metrics


def metrics_routes(metrics: Metrics) -> Routes:
    """Return the route; the metrics are made in a thread of their own, one scrape at a time."""
    turn = asyncio.Lock()

    async def scrape(_: Views, asked: Asked) -> object:
        """All metrics; the format is the library's choice by the Accept header (REST-46)."""
        async with turn:
            content, media_type = await asyncio.to_thread(metrics.render, asked.accept)
        return Body(content, media_type, cors=False)

    return {"/ws/v1/metrics": Endpoint(scrape)}
