"""Event records for a receiver that is called back, off the core thread.

What gathered in the store of an RM is sent every two seconds with one call, on a thread of its own,
so that a slow receiver holds up nobody but itself (SI-83, EVT-92).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from remuda.core.messages.effects import EventRecord
from remuda.runtime.event_store import INTERVAL_SECONDS, EventFeeds

_log = logging.getLogger("remuda.runtime")


class EventFeed:
    """Empties the store of one RM and sends what was in it, only when there is anything.

    Args:
        feeds: makes the store.
        send: the receiver; an error of it is logged (SI-8).
        interval_seconds: the pause between two calls, and before the first.

    ``store``: where the records go in. Rules: EVT-92, SI-83.
    """

    def __init__(
        self,
        feeds: EventFeeds,
        send: Callable[[Sequence[EventRecord]], None],
        *,
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        self._send = send
        self._interval = interval_seconds
        self._sending = threading.Lock()
        self._something = threading.Event()
        self._closing = threading.Event()
        self.store = feeds.store(self._something.set)
        self._thread = threading.Thread(target=self._run, name="remuda-events", daemon=True)
        self._thread.start()

    def flush(self) -> None:
        """Send at once what has gathered; an error of the receiver is logged (SI-8)."""
        with self._sending:
            self._something.clear()
            records = self.store.take().records
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
