"""Stores of both kinds for tests, and records to put into them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from remuda.core.messages.effects import EventRecord
from remuda.telemetry.events.durable.backend import Backend, Bounds, Numbered
from remuda.telemetry.events.durable.ndjson import NdjsonBackend
from remuda.telemetry.events.durable.sqlite import SqliteBackend

MIB: Final = 1024 * 1024
ROOMY: Final = Bounds(0, 1024 * MIB)
KINDS: Final = ("ndjson", "sqlite")


def backend(kind: str, directory: Path, bounds: Bounds = ROOMY) -> Backend:
    path = directory / f"events.{kind}"
    return NdjsonBackend(path, bounds) if kind == "ndjson" else SqliteBackend(path, bounds)


def record(number: int, time_ns: int = 1, text: str = "") -> EventRecord:
    amounts = {"memory": number, "vcore": 0} if number % 2 else None
    return EventRecord(
        "rm", "default", 2, f"app-{number}", "k\n\u00e4", 2, 201, time_ns, amounts, text
    )


def numbered(first_id: int, records: Sequence[EventRecord]) -> list[Numbered]:
    return list(enumerate(records, first_id))


def fill(store: Backend, count: int, time_ns: int = 1, text: str = "") -> None:
    """Append so many records, 100 at a time."""
    first_id = store.next_id
    for begin in range(first_id, first_id + count, 100):
        end = min(begin + 100, first_id + count)
        records = [record(number, time_ns, text) for number in range(begin, end)]
        store.append(numbered(begin, records))


def all_of(store: Backend) -> list[Numbered]:
    return store.read(0, store.next_id, store.next_id + 1)


def size_of(directory: Path) -> int:
    return sum(each.stat().st_size for each in directory.iterdir())
