"""What edges tell the scheduler about the connections to resource managers.

Kept apart from the loop because it is about who is there, not about what is scheduled.
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
    """Connections that break, come back, or take nothing at the moment. Any thread.

    Each call says of which registration the connection is, by the ``sink`` that this was given, so
    that the end of an old connection does not pause a new life; None: of whichever there is. The
    result completes with whether that registration is still in force. Repeating is harmless.

    Args:
        driver: pauses and resumes on the core thread.
        send: brings an errand there.
        roster: knows the states of the RMs.
        clock: tells when they change.
    """

    def __init__(self, driver: Driver, send: Send, roster: Roster, clock: Clock) -> None:
        self._driver = driver
        self._send = send
        self._roster = roster
        self._clock = clock

    @contextmanager
    def arriving(self, rm_id: str, transport: str) -> Iterator[None]:
        """Meanwhile somebody looks at a registration: the RM is in INIT, its requests are refused.

        Rules: RM-2.
        """
        self._roster.announce(rm_id, transport, self._clock.now_ns())
        try:
            yield
        finally:
            self._roster.settle(rm_id)

    def lost(
        self, rm_id: str, cause: str = "connection lost", sink: EffectSink | None = None
    ) -> Future[bool]:
        """The connection broke: the RM is PAUSED until it is back, or given up.

        Rules: RM-14, RM-15, RM-18.
        """
        return self._do(partial(self._driver.connection_lost, rm_id, cause, sink))

    def back(self, rm_id: str, sink: EffectSink | None = None) -> Future[bool]:
        """The connection is there again: the RM is RUNNING. Rules: RM-15."""
        return self._do(partial(self._driver.connection_back, rm_id, sink))

    def hold(self, rm_id: str, sink: EffectSink | None = None) -> Future[bool]:
        """Decide nothing for an RM that takes nothing; its timers go on. Rules: EXT-6."""
        return self._do(partial(self._driver.hold, rm_id, sink, on=True))

    def release(self, rm_id: str, sink: EffectSink | None = None) -> Future[bool]:
        """Decide for an RM again that was held. Rules: EXT-6."""
        return self._do(partial(self._driver.hold, rm_id, sink, on=False))

    def _do(self, work: Callable[[], bool]) -> Future[bool]:
        return self._send(Errand(work, touches_core=True))
