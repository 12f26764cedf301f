"""The RMs that registered over gRPC, and the streams they have open.

A session begins with a registration and ends with the next one of the same RM. It owns the
outbound queue, so what was queued for the old life is dropped with it (RM-9), and it knows the
stream of each kind, so that a newer one can take over (SI-102).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import grpc

from remuda.core.messages.effects import Effect
from remuda.edges.grpc.outbound import Kind, Outbound
from remuda.edges.grpc.refusals import RefusalError
from remuda.edges.grpc.settings import GrpcSettings
from remuda.runtime.delivery import EdgeHandover
from remuda.si.codec_in import RequestReader


class Session:
    """One registered RM on this edge. Rules: RM-9, SI-102, SI-103."""

    def __init__(self, rm_id: str, settings: GrpcSettings) -> None:
        self.rm_id = rm_id
        self.reader = RequestReader(rm_id)
        self.outbound = Outbound(settings)
        self.sink = EdgeHandover(asyncio.get_running_loop(), self._take, self._lose)
        self._streams: dict[Kind, asyncio.Future[RefusalError]] = {}
        self._ended: RefusalError | None = None

    def attach(self, kind: Kind) -> asyncio.Future[RefusalError]:
        """Make the caller the stream of ``kind``; the result completes when it has to end.

        Rules: SI-102.
        """
        self._dismiss(
            kind,
            RefusalError(
                grpc.StatusCode.ABORTED, f"a newer {kind.value} stream of this RM took over"
            ),
        )
        end: asyncio.Future[RefusalError] = asyncio.get_running_loop().create_future()
        self._streams[kind] = end
        self.outbound.open(kind)
        return end

    def detach(self, kind: Kind, end: asyncio.Future[RefusalError]) -> None:
        """The stream that got ``end`` is over; nothing happens if another took over before."""
        if self._streams.get(kind) is end:
            del self._streams[kind]
            self.outbound.close(kind)

    def finish(self) -> None:
        """End all streams because the RM registered again or left (RM-9)."""
        self._ended = RefusalError(
            grpc.StatusCode.ABORTED, "the registration of this stream has ended"
        )
        for kind in Kind:
            self._dismiss(kind, self._ended)

    def check_alive(self) -> None:
        """Raise RefusalError if the registration has ended; a stream may learn of it late."""
        if self._ended is not None:
            raise self._ended

    def _take(self, effects: Sequence[Effect]) -> None:
        self.outbound.add(effects)
        if self.outbound.overflowed:
            self._lose()

    def _lose(self) -> None:
        """Too much waits for the RM: end its streams and open none again (RM-16)."""
        self.outbound.overflow()
        for kind in Kind:
            self._dismiss(kind, lost(self.rm_id))

    def _dismiss(self, kind: Kind, refusal: RefusalError) -> None:
        end = self._streams.pop(kind, None)
        if end is not None:
            self.outbound.close(kind)
            if not end.done():
                end.set_result(refusal)


def lost(rm_id: str) -> RefusalError:
    """Say that an RM left too many responses untaken (RM-16)."""
    return RefusalError(
        grpc.StatusCode.FAILED_PRECONDITION,
        f"too many responses waited for resource manager {rm_id!r}; register again",
    )
