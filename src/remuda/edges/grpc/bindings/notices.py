"""Events and container states on their way to an RM: one-way, and the first to be dropped.

They must delay nothing else, so a batch is sent only when the one before was acknowledged, and the
number of waiting ones is limited (EXT-6, SI-82, SI-83).
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final

from remuda.core.messages.effects import ContainerStateUpdated, EventRecord
from remuda.runtime.event_store import EventStore
from remuda.si.codec_out import container_state, event_message
from remuda.si.pb import extension_pb2 as ext
from remuda.si.protocol import frames
from remuda.si.protocol.conversation import Conversation

# States that may wait; what exceeds it costs the oldest.
STATES_LIMIT: Final = 100_000

# Records or states in one frame, and its bytes.
_BATCH: Final = 2_000
_BATCH_BYTES: Final = 1024 * 1024

# What an entry takes besides its content, and the numbers of a batch, at most.
_ENTRY_BYTES: Final = 5
_NUMBERS_BYTES: Final = 32


class Notices:
    """Messages to an RM for which the server does not wait. Event loop of the server.

    Args:
        conversation: what sends it.
        interval_ns: between two batches of events.
        events: where the records of the RM gather, None if it does not want them (EXT-20).
        states: whether the RM wants them.

    ``first_id`` of a batch counts the records of this session, those included that were lost, as if
    all that were since the last batch had come before this one.

    Rules: EXT-6, SI-82, SI-83, EVT-92.
    """

    def __init__(
        self,
        conversation: Conversation[ext.RMFrame],
        interval_ns: int,
        *,
        events: EventStore | None,
        states: bool,
    ) -> None:
        self._conversation = conversation
        self._interval_ns = interval_ns
        self._store = events
        self._wants_states = states
        self._events: deque[EventRecord] = deque()
        self._states: deque[ContainerStateUpdated] = deque(maxlen=STATES_LIMIT)
        self._dropped = 0
        self._first_id = 0
        self._events_due_ns: int | None = None
        self._last_events = 0
        self._last_states = 0

    def events_gather(self, now_ns: int) -> None:
        """There are records in the store: they are due after the interval. Rules: EVT-92, SI-83."""
        if self._store is not None and self._events_due_ns is None:
            self._events_due_ns = now_ns + self._interval_ns

    def offer_state(self, state: ContainerStateUpdated) -> None:
        """Keep the state of an ask for the RM, if it takes states. Rules: SI-82."""
        if self._wants_states:
            self._states.append(state)

    def flush(self, now_ns: int) -> None:
        """Queue what is due and can go. Rules: EXT-6, SI-82, SI-83."""
        acknowledged = self._conversation.outgoing.acknowledged
        if self._states and self._last_states <= acknowledged:
            self._last_states = self._send_states()
        due_ns = self._events_due_ns
        if due_ns is not None and now_ns >= due_ns and self._last_events <= acknowledged:
            if not self._events:
                self._collect()
            if self._events:
                self._last_events = self._send_events()
            if not self._events:
                self._events_due_ns = None

    def due_ns(self) -> int | None:
        """Return when ``flush`` has something to do, None if nothing waits."""
        return self._events_due_ns

    def _collect(self) -> None:
        """Take what has gathered; what did not fit there counts as lost. Rules: EVT-92, EXT-6."""
        assert self._store is not None
        taken = self._store.take()
        self._events.extend(taken.records)
        self._dropped += taken.lost
        self._first_id += taken.lost

    def _send_states(self) -> int:
        batch = ext.ContainerStateBatch()
        limit = self._batch_bytes()
        size = 0
        while self._states and len(batch.states) < _BATCH:
            message = container_state(self._states[0])
            size += message.ByteSize() + _ENTRY_BYTES
            if size > limit and batch.states:
                break
            batch.states.append(message)
            self._states.popleft()
        return self._send("container_states", batch)

    def _send_events(self) -> int:
        batch = ext.EventBatch(first_id=self._first_id, dropped=self._dropped)
        limit = self._batch_bytes()
        size = 0
        for record in islice(self._events, _BATCH):
            message = event_message(record)
            size += message.ByteSize() + _ENTRY_BYTES
            if size > limit and batch.records:
                break
            batch.records.append(message)
        for _ in batch.records:
            self._events.popleft()
        self._first_id += len(batch.records)
        self._dropped = 0
        return self._send("events", batch)

    def _batch_bytes(self) -> int:
        """Return how many bytes the entries of a batch may have. Rules: EXT-8."""
        return min(_BATCH_BYTES, self._conversation.body_bytes_limit - _NUMBERS_BYTES)

    def _send(self, name: str, batch: ext.EventBatch | ext.ContainerStateBatch) -> int:
        body = frames.body(ext.CoreFrame, name, batch)
        return self._conversation.send(body, counted=False)
