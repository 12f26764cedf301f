"""The RMs that registered over gRPC, and their open streams.

A registration ends when the same RM registers again. Each registration has its own outbound queue,
so effects that waited for the ended registration are dropped with it (RM-9). It knows its stream of
each kind: a newer stream replaces the older one (SI-102), and when the last stream ends, the
connection is lost (RM-14).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import grpc

from remuda.core.messages.effects import Effect
from remuda.edges.grpc.outbound import Kind, Outbound
from remuda.edges.grpc.refusals import RefusalError, not_registered
from remuda.edges.grpc.settings import GrpcSettings
from remuda.runtime.answers import QUESTIONS, Question
from remuda.runtime.delivery import EdgeHandover
from remuda.runtime.errors import NotRegisteredError
from remuda.runtime.loop import SchedulerLoop
from remuda.si.codec_in import RequestReader


class Guest(Protocol):
    """A second receiver of the effects and questions for an RM, beside its streams (EXT-12)."""

    @property
    def carried(self) -> bool:
        """Whether the RM is connected through the guest."""
        ...

    def take(self, items: Sequence[Effect | Question]) -> list[Effect]:
        """Take effects and questions; return the effects for the streams."""
        ...

    def lose(self) -> None:
        """Note that effects for the RM were dropped. Rules: RM-16."""
        ...

    def finish(self) -> None:
        """End the connection, because the registration has ended."""
        ...


class Registration:
    """One registered RM of this edge. Event loop of the server, unless a method says otherwise.

    An RM that has not opened a stream yet is away only after a while. ``pause_ns``: how long it may
    be away (RM-18). ``guest``: the second receiver, None without. ``events``: the event records for
    a guest.

    Rules: RM-9, RM-14, RM-15, SI-102, SI-103.
    """

    def __init__(
        self, rm_id: str, settings: GrpcSettings, core: SchedulerLoop, level: str = ""
    ) -> None:
        self.rm_id = rm_id
        self.reader = RequestReader(rm_id, level)
        self.outbound = Outbound(settings, self.reader.generation)
        self.pause_ns = 0
        loop = asyncio.get_running_loop()
        self.sink: EdgeHandover[Effect | Question] = EdgeHandover(loop, self._take, self.lose)
        self._core = core
        self.guest: Guest | None = None
        self.events = core.feeds.store(read=False)
        self._streams: dict[Kind, asyncio.Future[RefusalError]] = {}
        self._over = False
        self._opening = loop.call_later(
            settings.opening_seconds, self._note_unopened, settings.opening_seconds
        )

    def attach(self, kind: Kind) -> asyncio.Future[RefusalError]:
        """Make the caller the stream of ``kind``; the result completes when the stream has to end.

        The first stream brings back an RM that was away. Implements: SI-102. Rules: RM-15.
        """
        self._opening.cancel()
        older = self._streams.get(kind)
        if not self._connected():
            self._core.connections.back(self.rm_id, self.sink)
        end: asyncio.Future[RefusalError] = asyncio.get_running_loop().create_future()
        self._streams[kind] = end
        self.outbound.open(kind)
        if older is not None:
            text = f"a newer {kind.value} stream of this RM took over"
            older.set_result(RefusalError(grpc.StatusCode.ABORTED, text))
        return end

    def detach(self, kind: Kind, end: asyncio.Future[RefusalError]) -> None:
        """Note that the stream that got ``end`` has ended, unless another replaced it before.

        When the last stream ends, the connection is lost, whatever its status. Rules: RM-14.
        """
        if self._streams.get(kind) is not end:
            return
        del self._streams[kind]
        self.outbound.close(kind)
        if self._connected() or self._over:
            return
        if self.outbound.overflowed:
            self._report_loss("its last stream ended, and too many responses waited")
        else:
            self._report_loss("its last stream ended")

    def _note_unopened(self, seconds: float) -> None:
        """Treat an RM that opened no stream as away; one that opens later is back. Rules: RM-14."""
        if not self._connected() and not self._over:
            self._report_loss(f"it opened no stream within {seconds:g} s of its registration")

    def hosts(self) -> bool:
        """Whether event records are wanted: only a guest gets them, the streams do not.

        Any thread. Rules: SI-106, EXT-12.
        """
        return self.guest is not None

    def guest_left(self, cause: str) -> None:
        """Note that the guest lost its connection; if it was the RM's last, so did the RM.

        RM-14.
        """
        if not self._connected() and not self._over:
            self._report_loss(cause)

    def finish(self) -> None:
        """End all streams, because the RM registered again or left (RM-9); it may be repeated."""
        self._over = True
        self._opening.cancel()
        if self.guest is not None:
            self.guest.finish()
        self._dismiss(
            RefusalError(grpc.StatusCode.ABORTED, "the registration of this stream has ended")
        )

    def forbid(self) -> None:
        """Take no more requests, because the registration has ended. Any thread."""
        self._over = True

    def check_alive(self) -> None:
        """Raise RefusalError if the registration has ended; a stream may learn of it late."""
        if self._over:
            raise RefusalError(grpc.StatusCode.ABORTED, "the registration of this stream has ended")

    def check_current(self) -> None:
        """Raise NotRegisteredError unless a request sent to this registration may still be taken.

        Any thread. Rules: RM-2, RM-9.
        """
        if self._over or not self._core.registered(self.rm_id):
            raise NotRegisteredError(self.rm_id)

    def check_usable(self) -> None:
        """Raise RefusalError if a stream cannot be opened. Rules: RM-2, RM-16, SI-101."""
        if not self._core.registered(self.rm_id):
            raise not_registered(self.rm_id, self._core.roster.find(self.rm_id))
        self.check_alive()
        if self.outbound.overflowed:
            raise lost(self.rm_id)

    def check_open(self) -> None:
        """Raise RefusalError if a stream that was opened takes no more requests.

        Rules: RM-2, RM-9, RM-16.
        """
        self.check_alive()
        self.check_usable()

    def _connected(self) -> bool:
        """Whether the RM has a connection of any kind. Rules: RM-14."""
        return bool(self._streams) or (self.guest is not None and self.guest.carried)

    def _take(self, items: Sequence[Effect | Question]) -> None:
        if self._over:
            return
        if self.guest is not None:
            effects = self.guest.take(items)
        else:
            effects = [item for item in items if not isinstance(item, QUESTIONS)]
        self.outbound.add(effects)
        if self.outbound.overflowed:
            self.lose()

    def lose(self) -> None:
        """End the streams and open none again, because too much waits for the RM (RM-16)."""
        self.outbound.overflow()
        self._dismiss(lost(self.rm_id))
        if self.guest is not None:
            self.guest.lose()
        if not self._over:
            self._report_loss("too many responses waited")

    def _report_loss(self, cause: str) -> None:
        self._core.connections.lost(self.rm_id, cause, self.sink)

    def _dismiss(self, refusal: RefusalError) -> None:
        streams, self._streams = self._streams, {}
        for kind, end in streams.items():
            self.outbound.close(kind)
            if not end.done():
                end.set_result(refusal)


def lost(rm_id: str) -> RefusalError:
    """Return the refusal for an RM that did not take its responses (RM-16)."""
    return RefusalError(
        grpc.StatusCode.FAILED_PRECONDITION,
        f"too many responses waited for resource manager {rm_id!r}; register again",
    )
