"""Messages of the edges to the scheduler about connections of resource managers.

It is separate from the loop because it is about connections, not about scheduling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial

from remuda.runtime.driver import Driver
from remuda.runtime.errand import Errand, Send
from remuda.runtime.ports import Clock, EffectSink
from remuda.runtime.roster import Roster


class Connections:
    """Reports of connections that break, come back, or take no messages now. Any thread.

    Each call names the registration of the connection by its ``sink``, so that the end of an old
    connection does not pause a new registration; None: the present one. The result completes with
    whether that registration is still in force. Repeating is harmless.

    Args:
        driver: pauses and resumes on the core thread.
        send: brings an errand there.
        roster: knows the states of the RMs.
        clock: gives the time of a change.
    """

    def __init__(self, driver: Driver, send: Send, roster: Roster, clock: Clock) -> None:
        self._driver = driver
        self._send = send
        self._roster = roster
        self._clock = clock

    @contextmanager
    def arriving(self, rm_id: str, transport: str) -> Iterator[None]:
        """A registration is being checked: the RM is in INIT, its requests are refused.

        Rules: RM-2.
        """
        self._roster.announce(rm_id, transport, self._clock.wall_ns())
        try:
            yield
        finally:
            self._roster.settle(rm_id)

    def lost(
        self, rm_id: str, cause: str = "connection lost", sink: EffectSink | None = None
    ) -> Future[bool]:
        """Note that the connection broke; the RM is PAUSED until it is back or stopped.

        Rules: RM-14, RM-15, RM-18.
        """
        return self._do(rm_id, partial(self._driver.connection_lost, rm_id, cause, sink))

    def back(self, rm_id: str, sink: EffectSink | None = None) -> Future[bool]:
        """The connection is there again: the RM is RUNNING. Rules: RM-15."""
        return self._do(rm_id, partial(self._driver.connection_back, rm_id, sink))

    def hold(self, rm_id: str, sink: EffectSink | None = None) -> Future[bool]:
        """Stop deciding for an RM that takes no messages; its timers go on. Rules: EXT-6."""
        return self._do(rm_id, partial(self._driver.hold, rm_id, sink, on=True))

    def release(self, rm_id: str, sink: EffectSink | None = None) -> Future[bool]:
        """Go on deciding for an RM that was held. Rules: EXT-6."""
        return self._do(rm_id, partial(self._driver.hold, rm_id, sink, on=False))

    def _do(self, rm_id: str, work: Callable[[], bool]) -> Future[bool]:
        return self._send(Errand(work, rm_id, touches_core=True))
