"""Sends event records to a receiver by callback, off the core thread.

The records in the store of an RM are sent every two seconds with one call, on a separate thread, so
a slow receiver delays only itself (SI-83, EVT-92).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from remuda.core.messages.effects import EventRecord
from remuda.runtime.event_store import INTERVAL_SECONDS, EventFeeds

_log = logging.getLogger("remuda.runtime")


class EventFeed:
    """Empties the store of one RM regularly and sends the records, if there are any.

    Args:
        feeds: makes the store.
        send: the receiver; an error of it is logged (SI-8).
        interval_seconds: the pause between two calls, and before the first.

    ``store``: the store that the records are put into. Implements: SI-83. Rules: EVT-92.
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
        """Send the stored records at once; an error of the receiver is logged (SI-8)."""
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
        """Send the remaining records and end the thread."""
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
