"""Event records and a system of them that no scheduler feeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from remuda.config.schema import built_in
from remuda.core.messages import events as ev
from remuda.core.messages.effects import EventRecord
from remuda.telemetry.events.pipeline import EventSystem, Sink


def record(number: int, kind: int = ev.APP, **other: object) -> EventRecord:
    """A record whose object is named by its number, as is its time."""
    fields: dict[str, object] = {
        "reference_id": "",
        "change": ev.ADD,
        "detail": ev.DETAILS_NONE,
        "timestamp_ns": number,
        **other,
    }
    return EventRecord("rm", "default", kind, f"o{number}", **fields)  # type: ignore[arg-type]


def records(first: int, count: int) -> list[EventRecord]:
    return [record(number) for number in range(first, first + count)]


def numbers(found: Sequence[EventRecord] | None) -> list[int] | None:
    """The numbers of records, to compare with; None stays None."""
    return None if found is None else [int(each.object_id[1:]) for each in found]


class Clock:
    """Seconds that pass when the test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def system(
    sink: Sink | None = None,
    *,
    queue_limit: int = 100_000,
    clock: Callable[[], float] | None = None,
    **extra: str,
) -> Iterator[EventSystem]:
    """A running system with these settings; underscores in their names are dots."""
    made = EventSystem(None, sink, queue_limit=queue_limit, clock=clock or Clock())
    try:
        configure(made, **extra)
        yield made
    finally:
        made.close()


def configure(events: EventSystem, **extra: str) -> None:
    settings = {f"event.{name}": value for name, value in extra.items()}
    events.configure("rm", built_in(), settings)


def feed(events: EventSystem, first: int, count: int) -> None:
    """Let the system observe records and handle them."""
    events.observe(records(first, count))
    events.flush()
