"""Event records for a receiver that wants them in batches, off the core thread.

A receiver of events may be slow, and nothing waits for it: records are handed to a thread of
their own, which sends what gathered every two seconds. When more gather than fit, the oldest
are lost; that is allowed for events and for nothing else (SI-83).
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from remuda.core.messages.effects import EventRecord

_log = logging.getLogger("remuda.runtime")

INTERVAL_SECONDS: Final = 2.0
_WAITING_LIMIT: Final = 100_000


class EventFeed:
    """Gathers event records of one RM and sends them in order, only when there are any."""

    def __init__(
        self,
        send: Callable[[Sequence[EventRecord]], None],
        *,
        interval_seconds: float = INTERVAL_SECONDS,
        waiting_limit: int = _WAITING_LIMIT,
    ) -> None:
        self._send = send
        self._interval = interval_seconds
        self._waiting: deque[EventRecord] = deque(maxlen=waiting_limit)
        self._sending = threading.Lock()
        self._something = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="remuda-events", daemon=True)
        self._thread.start()

    def offer(self, records: Sequence[EventRecord]) -> None:
        """Add records; never waits. Core thread."""
        if records:
            self._waiting.extend(records)
            self._something.set()

    def flush(self) -> None:
        """Send at once what has gathered; an error of the receiver is logged (SI-8)."""
        with self._sending:
            self._something.clear()
            records = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if not records:
                return
            try:
                self._send(records)
            except Exception as error:  # noqa: BLE001 - theirs, not ours (SI-8)
                _log.error("the receiver of events failed, ignored: %r", error)

    def close(self) -> None:
        """Send what is left and end the thread."""
        self._closing.set()
        self._something.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self.flush()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._something.wait()
            self._closing.wait(self._interval)
            self.flush()
