"""The metrics of the event system (rules: MET-38, MET-39, MET-40)."""

from __future__ import annotations

from typing import Protocol

from remuda.base.message import message
from remuda.telemetry.metrics.families import Families


class PipelineCounts(Protocol):
    """The counts of event records on the way to their readers (MET-39), and of the streams."""

    @property
    def created(self) -> int:
        """Records that were built."""
        ...

    @property
    def channeled(self) -> int:
        """Records that entered the queue."""
        ...

    @property
    def not_channeled(self) -> int:
        """Records that the queue refused."""
        ...

    @property
    def processed(self) -> int:
        """Records that the consumer handled."""
        ...

    @property
    def streams(self) -> int:
        """Event streams that are open."""
        ...

    @property
    def streams_dropped(self) -> int:
        """Event streams that were ended because their client was too slow."""
        ...


class StoreCounts(Protocol):
    """The counts of event records on the way to resource managers (MET-39)."""

    @property
    def stored(self) -> int:
        """Records that were stored."""
        ...

    @property
    def not_stored(self) -> int:
        """Records for which there was no room."""
        ...

    @property
    def collected(self) -> int:
        """Records that were taken to be sent."""
        ...


@message
class NoPipeline:
    """The counts where events have no reader."""

    created: int = 0
    channeled: int = 0
    not_channeled: int = 0
    processed: int = 0
    streams: int = 0
    streams_dropped: int = 0


@message
class NoStores:
    """The counts where no resource manager gets events."""

    stored: int = 0
    not_stored: int = 0
    collected: int = 0


def add_events(families: Families, counts: PipelineCounts, stores: StoreCounts) -> None:
    """Add all seven counters and the streams. Implements: MET-38, MET-39, MET-40."""
    # Read in this order, so that ``collected`` never exceeds ``stored``.
    collected, stored, not_stored = stores.collected, stores.stored, stores.not_stored
    for name, text, count in (
        ("created", "Event records that were built.", counts.created),
        ("channeled", "Event records that entered the queue.", counts.channeled),
        ("not_channeled", "Event records that the queue refused.", counts.not_channeled),
        ("processed", "Event records that were handled.", counts.processed),
        ("stored", "Event records stored for resource managers.", stored),
        ("not_stored", "Event records that were not stored: no room.", not_stored),
        ("collected", "Event records taken to be sent.", collected),
    ):
        families.plain_counter(f"event_total_{name}", text).add(count)
    families.gauge("event_streams", "Event streams that are open.").add(counts.streams)
    families.counter(
        "event_streams_dropped_total", "Event streams ended because their client was too slow."
    ).add(counts.streams_dropped)
