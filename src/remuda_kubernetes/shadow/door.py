"""The only way by which a shadow reaches the API server: it lists and watches.

Any other request is a fault of ours and is never sent.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

from remuda_kubernetes.api.connection import BODY_LIMIT, JSON, Answer, Requests


class ReadOnly:
    """A connection by which nothing can be changed. Implements: EXT-169."""

    def __init__(self, inner: Requests) -> None:
        self._inner = inner

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = 30.0,  # noqa: ASYNC109 - passed on
        paced: bool = True,
        limit: int = BODY_LIMIT,
    ) -> Answer:
        """Return the answer to a GET. Raises: ApiError."""
        if method != "GET" or body is not None:
            raise AssertionError(f"{method} {path} may change things")
        return await self._inner.request(
            method, path, query=query, timeout=timeout, paced=paced, limit=limit
        )

    def stream(
        self, path: str, query: Mapping[str, str], *, idle: float = 300.0
    ) -> AsyncGenerator[list[bytes]]:
        """Return the lines of a watch, which is a GET. Raises: ApiError."""
        return self._inner.stream(path, query, idle=idle)
