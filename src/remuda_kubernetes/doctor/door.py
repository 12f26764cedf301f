"""The only way by which the doctor reaches the API server: it reads, and asks about rights.

Any other request is a fault of ours and is never sent. Time and size of each answer are bounded,
so that a server that is slow or hostile cannot hold the command or fill the memory.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Final

from remuda_kubernetes.api.connection import JSON, Answer, Requests
from remuda_kubernetes.api.errors import ApiError
from remuda_kubernetes.doctor.objects import AUTHORIZATION

REVIEWS: Final = (
    f"{AUTHORIZATION}/selfsubjectaccessreviews",
    f"{AUTHORIZATION}/subjectaccessreviews",
)
# Seconds for an answer, and its bytes.
SECONDS: Final = 10.0
BYTES: Final = 64 << 20
# Bytes of all answers together.
TOTAL_BYTES: Final = 1 << 30
# Objects in an answer, whatever they are: a page of 500 pods has some 50,000. Small ones take many
# times their bytes in memory, and so much time that no limit of time can end it.
OBJECTS: Final = 2_000_000


class ReadOnly:
    """A connection by which nothing can be changed.

    A review is a POST, but the API server keeps nothing of it. Implements: EXT-151.
    """

    def __init__(
        self,
        inner: Requests,
        *,
        seconds: float = SECONDS,
        limit: int = BYTES,
        total: int = TOTAL_BYTES,
    ) -> None:
        self._inner = inner
        self._seconds = seconds
        self._limit = limit
        self._left = total

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = SECONDS,  # noqa: ASYNC109 - passed on
        paced: bool = True,
        limit: int = BYTES,
    ) -> Answer:
        """Return the answer to a request that changes nothing. Raises: ApiError."""
        reads = method == "GET" and body is None and "watch" not in (query or {})
        assert reads or (method == "POST" and path in REVIEWS), f"{method} {path} may change things"
        answer = await self._inner.request(
            method,
            path,
            query=query,
            body=body,
            content_type=content_type,
            timeout=min(timeout, self._seconds),
            paced=paced,
            limit=min(limit, self._limit),
        )
        self._left -= len(answer.body)
        if self._left < 0:
            raise ApiError(f"{method} {path}: the server has sent too much in all", status=413)
        if answer.body.count(b"{") > OBJECTS:
            raise ApiError(f"{method} {path}: an answer with too many objects", status=413)
        return answer

    def stream(
        self, path: str, query: Mapping[str, str], *, idle: float = 300.0
    ) -> AsyncGenerator[list[bytes]]:
        """Refuse: nothing is watched."""
        raise AssertionError(f"{path} is not to be watched: {query}, {idle}")
