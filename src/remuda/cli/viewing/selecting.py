"""Which rows are shown, and in which order: names, options that narrow, sorting, a limit.

What cannot be left to the server is compared here, row by row. Implements: EXT-77.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from remuda.base.errors import UsageError
from remuda.base.texts import shown
from remuda.cli.failures import NotThereError, about
from remuda.cli.server import Server
from remuda.cli.viewing.columns import Form, Kind, Question, Row

# Rows that are held to be sorted; a million of them are about a gibibyte.
SORTED_LIMIT: Final = 1_000_000

# Rows beyond the limit that are held before the last ones are dropped.
_SLACK: Final = 1_000

T = TypeVar("T")

# What rows are sorted by: the value, None for a row without one.
SortValue: TypeAlias = Callable[[Row], Any]


@dataclass(frozen=True)
class Wanted:
    """What the options of a command narrow a list to; empty means anything.

    ``queue``: that queue and those below it. ``selector``: conditions on attributes, tags or
    properties. ``sort_by``: key of a column, with ``-`` before it the highest first. ``limit``: 0
    for all.
    """

    names: tuple[str, ...] = ()
    queue: str = ""
    user: str = ""
    states: tuple[str, ...] = ()
    selector: str = ""
    sort_by: str = ""
    limit: int = 0

    def has_queue(self, kind: Kind, row: Row) -> bool:
        """Return whether a row is in the queue that is wanted, or below it."""
        if not self.queue:
            return True
        found = "" if kind.queue_of is None else kind.queue_of(row)
        return _is_below(str(found or "").lower(), self.queue.lower())


def rows_of(kind: Kind, server: Server, question: Question, wanted: Wanted) -> Iterator[Row]:
    """Yield the rows that are wanted, as they are read.

    Raises: UsageError before anything is read; NotThereError for names that are not there, after
    the others were read.
    """
    tests = _tests(kind, wanted)
    found = _named(kind, server, question, wanted) if wanted.names else kind.read(server, question)
    return (row for row in found if all(test(row) for test in tests))


def sort_value(kind: Kind, sort_by: str) -> SortValue:
    """Return what rows are sorted by. Raises: UsageError if the kind has no such column."""
    text = sort_by.removeprefix("-")
    for column in kind.columns:
        name, _, inner = text.partition(".")
        if column.key == name and (column.form is Form.AMOUNTS) is bool(inner):
            if not inner:
                return column.value
            value = column.value
            return lambda row: (value(row) or {}).get(inner)
    keys = [f"{c.key}.RESOURCE" if c.form is Form.AMOUNTS else c.key for c in kind.columns]
    raise UsageError(f"--sort-by: {kind.name} have no '{text}'; they have: {', '.join(keys)}")


def in_order(
    rows: Iterable[tuple[Row, T]], kind: Kind, wanted: Wanted, most: int = SORTED_LIMIT
) -> Iterator[T]:
    """Yield what belongs to the rows in the order that is wanted, at most as many as wanted.

    Rows of the same value are sorted by name, and then as the server had them. Rows without a value
    come last. Of a kind that is read from its end, the limit leaves the last ones.

    Raises: UsageError if there are too many to sort.
    """
    if not wanted.sort_by and wanted.limit and kind.from_end:
        yield from deque((each for _, each in rows), wanted.limit)
        return
    if not wanted.sort_by:
        for number, (_, each) in enumerate(rows, 1):
            yield each
            if number == wanted.limit:
                return
        return
    value = sort_value(kind, wanted.sort_by)
    held: list[tuple[Any, str, T]] = []
    for row, each in rows:
        held.append((value(row), kind.name_of(row), each))
        if wanted.limit and len(held) > wanted.limit + _SLACK:
            held = _sorted(held, wanted)
        if len(held) > most + _SLACK:
            raise UsageError(f"--sort-by: there are more than {most:,} rows; add --limit")
    yield from (each for _, _, each in _sorted(held, wanted))


def _sorted(held: list[tuple[Any, str, T]], wanted: Wanted) -> list[tuple[Any, str, T]]:
    held.sort(key=lambda item: item[1])
    there = [item for item in held if item[0] is not None]
    there.sort(key=lambda item: _comparable(item[0]), reverse=wanted.sort_by.startswith("-"))
    there += [item for item in held if item[0] is None]
    return there[: wanted.limit or None]


def _comparable(value: Any) -> tuple[int, Any]:
    """Return a key by which numbers come before texts, so that any two values compare."""
    if isinstance(value, int | float):
        return 0, value
    return 1, ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _named(kind: Kind, server: Server, question: Question, wanted: Wanted) -> Iterator[Row]:
    if kind.read_one is None:
        yield from _searched(kind, server, question, wanted.names)
        return
    for name in wanted.names:
        with about(kind.singular, name):
            yield from kind.read_one(server, question, name)


def _searched(
    kind: Kind, server: Server, question: Question, names: tuple[str, ...]
) -> Iterator[Row]:
    missing = dict.fromkeys(names)
    for row in kind.read(server, question):
        for name in {kind.name_of(row), str(row.get("allocationKey", ""))} & set(names):
            missing.pop(name, None)
            yield row
            break
    if missing:
        raise NotThereError(f"no {kind.singular} '{shown(next(iter(missing)))}'")


def _tests(kind: Kind, wanted: Wanted) -> list[Callable[[Row], bool]]:
    tests: list[Callable[[Row], bool]] = []
    if wanted.queue:
        _needed(kind, "--queue", kind.queue_of)
        tests.append(lambda row: wanted.has_queue(kind, row))
    if wanted.user:
        user_of = _needed(kind, "--user", kind.user_of)
        tests.append(lambda row: user_of(row) == wanted.user)
    if wanted.states:
        state_of = _needed(kind, "--state", kind.state_of)
        tests.append(lambda row: str(state_of(row)).lower() in wanted.states)
    if wanted.selector:
        labels_of = _needed(kind, "--selector", kind.labels_of)
        conditions = _conditions(wanted.selector)
        tests.append(lambda row: all(holds(labels_of(row)) for holds in conditions))
    return tests


def _needed(kind: Kind, option: str, found: Callable[[Row], T] | None) -> Callable[[Row], T]:
    if found is None:
        raise UsageError(f"{option} does not select {kind.name}; see 'remuda get --help'")
    return found


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}.")


def _conditions(selector: str) -> list[Callable[[Mapping[str, str]], bool]]:
    """Return the conditions of a selector, all of which have to hold. Raises: UsageError."""
    return [_condition(text.strip()) for text in selector.split(",")]


def _condition(text: str) -> Callable[[Mapping[str, str]], bool]:
    name, unequal, value = text.partition("!=")
    if unequal and name.strip():
        return lambda labels: labels.get(name.strip()) != value.strip()
    name, equal, value = text.partition("=")
    if equal and name.strip():
        wanted = value.removeprefix("=").strip()
        return lambda labels: labels.get(name.strip()) == wanted
    bare = text.removeprefix("!").strip()
    if equal or unequal or not bare:
        raise UsageError(f"--selector: '{text}' is none of NAME=VALUE, NAME!=VALUE, NAME, !NAME")
    there = not text.startswith("!")
    return lambda labels: (bare in labels) is there
