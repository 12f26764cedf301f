"""What the service for measurements reads: samples, the health of the scheduler, its events.

This module has ports only. The parts that count, check and keep events do not know gRPC; the
composition root connects both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Protocol, TypeAlias

from remuda.base.message import message
from remuda.core.messages.effects import EventRecord

# An event with its number, which the store of events gave it (EVT-95).
NumberedEvent: TypeAlias = tuple[int, EventRecord]


@message
class Sample:
    """One number at one moment; ``name`` and ``labels`` are those of the exposition (MET-1)."""

    name: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


@message
class Check:
    """One health check (chapter 97 section 6). ``message`` says what was found, if it failed."""

    name: str
    succeeded: bool
    description: str
    message: str


@message
class Health:
    """The result of one run of all checks (HLT-1)."""

    healthy: bool
    checks: tuple[Check, ...]


class SampleSource(Protocol):
    """The source of metrics."""

    def samples(self) -> Iterable[Sample]:
        """Return all samples of this moment. Called on a thread of its own; may wait."""
        ...


class HealthSource(Protocol):
    """The source of results of health checks."""

    def health(self) -> Health | None:
        """Return the last stored result, None before the first run (REST-93). Any thread."""
        ...


class EventStream(Protocol):
    """One open stream of events."""

    async def read(self) -> Sequence[NumberedEvent] | None:
        """Wait for the next events, at least one, in the order of their numbers.

        None: the producer gave the stream up, because it was read too slowly (EVT-119).
        """
        ...

    def close(self) -> None:
        """Free the slot and the buffer (EVT-120); it may be repeated."""
        ...


class EventSource(Protocol):
    """The source of events."""

    def open(self, host: str, history: int) -> EventStream:
        """Open a stream that begins with the last ``history`` events there are (EVT-115).

        It takes one of the slots of the stream endpoint of REST, where ``host`` is the peer
        (EVT-117, EVT-118). Event loop of the server.

        Raises: RefusalError if tracking is disabled, or there are too many streams.
        """
        ...


@message
class Measurements:
    """All that is measured; None: that is not offered here."""

    samples: SampleSource | None = None
    health: HealthSource | None = None
    events: EventSource | None = None
