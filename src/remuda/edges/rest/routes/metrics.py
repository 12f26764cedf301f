"""The route of the metrics (rules: REST-46, REST-5)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from remuda.edges.rest.requests.asking import Asked, Views
from remuda.edges.rest.requests.endpoint import Body, Endpoint, Routes, Stream
from remuda.telemetry.metrics.exposition import Metrics

# Bytes that are compressed and sent at a time; others have their turn in between.
_PIECE: Final = 64 * 1024


def metrics_routes(metrics: Metrics) -> Routes:
    """Return the route; the metrics are made in a thread of their own, one scrape at a time."""
    turn = asyncio.Lock()

    async def scrape(_: Views, asked: Asked) -> object:
        """All metrics; the format is the library's choice by the Accept header.

        Implements: REST-46.
        """
        async with turn:
            content, media_type = await asyncio.to_thread(metrics.render, asked.accept)
        if len(content) <= _PIECE:
            return Body(content, media_type, cors=False)
        return Stream(_pieces(content), media_type, cors=False, headers={"Vary": "Accept"})

    return {"/ws/v1/metrics": Endpoint(scrape)}


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for begin in range(0, len(content), _PIECE):
        yield content[begin : begin + _PIECE]
        await asyncio.sleep(0)
