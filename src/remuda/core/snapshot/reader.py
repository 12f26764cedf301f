"""Builds a state from bytes, which may come from anywhere: it trusts no count and no reference.

First every instance and container is made, empty or blank; then the tuples, each of which may only
hold tuples before it; then everything is filled. Memory stays proportional to the number of bytes,
nothing recurses, and no class outside the table is ever touched.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable
from itertools import repeat
from typing import Any, Final, final

from remuda.base.errors import SnapshotError
from remuda.config.patterns import compiled
from remuda.core.model.cluster import Cluster
from remuda.core.model.partition import Partition
from remuda.core.snapshot.blanks import Blanks
from remuda.core.snapshot.layout import (
    ABSENT,
    ANY,
    ARRAY,
    BOOL,
    CLASSES,
    CONTAINERS,
    DEQUE,
    DICT,
    FLOAT,
    FROZENSET,
    INT,
    LIST,
    ORDERED,
    PATTERN,
    SCORE,
    STR,
    TUPLE,
)
from remuda.core.snapshot.table import (
    CLUSTER,
    FIELDS,
    KINDS,
    LAYOUTS,
    SCORES,
    VERSION,
    Field,
    constants,
    fingerprint,
)
from remuda.core.snapshot.wire import Cursor
from remuda.core.snapshot.writer import MAGIC

# How deep tuples may be in each other. The interpreter hashes them recursively.
_TUPLE_DEPTH: Final = 16

# The types of the elements of arrays.
_TYPECODES: Final = "iq"

_OTHER: Final = "the snapshot was written by another version of Remuda; read it with that version"


def read(given: bytes) -> tuple[Cluster, list[Partition], int]:
    """Return the cluster, its partitions in turn, and the number of the next one.

    The state is not checked against the invariants; ``Scheduler.check`` does that.
    Raises: SnapshotError for bytes that are no snapshot, or that of another version.
    Rules: EXT-40.
    """
    try:
        return _Reader(given).read()
    except SnapshotError:
        raise
    except Exception as fault:  # noqa: BLE001 - the bytes decide what happens here
        raise SnapshotError(f"the snapshot is damaged: {type(fault).__name__}") from None


def _damaged(what: str) -> SnapshotError:
    return SnapshotError(f"the snapshot is damaged: {what}")


@final
class _Reader:
    """One reading. ``_pools``: the values of each kind by number; None has the number 0."""

    __slots__ = ("_cursor", "_pools", "_sizes")

    def __init__(self, given: bytes) -> None:
        self._cursor = Cursor(given)
        self._pools: list[list[Any]] = [[None, *constants(kind)] for kind in range(KINDS)]
        self._pools[BOOL] = [None, False, True]
        self._sizes: array[int] = array("I")

    def read(self) -> tuple[Cluster, list[Partition], int]:
        cursor = self._cursor
        self._read_header()
        sizes = self._sizes
        self._pools[INT] += cursor.integers(sizes[INT])
        self._pools[FLOAT] += cursor.floats(sizes[FLOAT])
        self._pools[STR] += cursor.texts(sizes[STR])
        for length in cursor.counts(sizes[FROZENSET]):
            names = self._values(STR, cursor.counts(length))
            self._pools[FROZENSET].append(frozenset(names))
        self._read_arrays(sizes[ARRAY])
        self._make()
        self._read_tuples(sizes[TUPLE])
        for kind in (LIST, DEQUE, DICT, ORDERED):
            self._fill_containers(kind)
        for place, fields in enumerate(FIELDS):
            self._fill_instances(CLASSES + place, fields)
        ordered, after = cursor.integers(2)
        if cursor.left():
            raise _damaged("there is something behind its end")
        (cluster,) = self._pools[CLUSTER][1:]
        partitions = self._pools[LIST][ordered]
        if not isinstance(partitions, list) or after < 0:
            raise _damaged("it lacks the turns of the partitions")
        if not all(isinstance(each, Partition) for each in partitions):
            raise _damaged("a partition is something else")
        return cluster, partitions, after

    def _read_header(self) -> None:
        """Read what tells the format, and how many values there are of each kind."""
        cursor = self._cursor
        if cursor.take(len(MAGIC)) != MAGIC:
            raise SnapshotError("this is no snapshot of Remuda")
        if cursor.counts(1)[0] != VERSION or cursor.take(16) != fingerprint():
            raise SnapshotError(_OTHER)
        self._sizes = cursor.counts(KINDS)
        least = self._sizes[INT] * 8 + self._sizes[FLOAT] * 8
        least += sum(self._sizes[STR:CLASSES]) * 4
        for place, fields in enumerate(FIELDS):
            least += self._sizes[CLASSES + place] * sum([field.width() for field in fields])
        if least > cursor.left():
            raise _damaged("it ends too early")

    def _read_arrays(self, count: int) -> None:
        typecodes = self._cursor.take(count).decode("ascii")
        lengths = self._cursor.counts(count)
        for typecode, length in zip(typecodes, lengths, strict=True):
            if typecode not in _TYPECODES:
                raise _damaged("an array has no known type")
            self._pools[ARRAY].append(self._cursor.numbers(typecode, length))

    def _make(self) -> None:
        """Make all instances blank and all containers empty."""
        for kind, of in CONTAINERS.items():
            self._pools[kind] += [of() for _ in range(self._sizes[kind])]
        blanks = Blanks()
        for place, layout in enumerate(LAYOUTS):
            make = layout.make
            self._pools[CLASSES + place] += [
                make(blanks) for _ in range(self._sizes[CLASSES + place])
            ]

    def _read_tuples(self, count: int) -> None:
        lengths = self._cursor.counts(count)
        cells = self._cursor.counts(sum(lengths))
        tuples = self._pools[TUPLE]
        depths = [0]
        at = 0
        for length in lengths:
            mine = cells[at : at + length]
            at += length
            depth = 1
            for cell in mine:
                if cell % KINDS == TUPLE:
                    depth = max(depth, depths[cell // KINDS] + 1)
            if depth > _TUPLE_DEPTH:
                raise _damaged("its tuples are too deep")
            depths.append(depth)
            tuples.append(tuple(self._from_cells(mine)))

    def _fill_containers(self, kind: int) -> None:
        targets = self._pools[kind][1 + len(constants(kind)) :]
        lengths = self._cursor.counts(len(targets))
        count = sum(lengths)
        cells = self._from_cells(self._cursor.counts(count))
        pairs = kind in (DICT, ORDERED)
        values = self._from_cells(self._cursor.counts(count)) if pairs else cells
        at = 0
        for target, length in zip(targets, lengths, strict=True):
            end = at + length
            if not pairs:
                target.extend(cells[at:end])
            elif length:
                target.update(zip(cells[at:end], values[at:end], strict=True))
                if len(target) != length:
                    raise _damaged("a key occurs twice")
            at = end

    def _fill_instances(self, kind: int, fields: tuple[Field, ...]) -> None:
        targets = self._pools[kind][1 + len(constants(kind)) :]
        for field in fields:
            values = self._column(field, len(targets))
            # Records are frozen under tests, and no class has a way of its own to set a field.
            deque(map(object.__setattr__, targets, repeat(field.name), values), maxlen=0)

    def _column(self, field: Field, count: int) -> Iterable[Any]:
        """Return the values of a field of that many instances; it checks their kind."""
        kind = field.kind
        if kind == ABSENT:
            return repeat(None)
        if kind == BOOL:
            return map((False, True).__getitem__, self._cursor.take(count))
        numbers = self._cursor.counts(count)
        if kind == ANY:
            return self._from_cells(numbers)
        if kind == SCORE:
            return [SCORES[name] for name in self._values(STR, numbers)]
        if kind == PATTERN:
            texts = self._values(STR, numbers)
            return [None if text is None else compiled(text) for text in texts]
        if count and not field.optional and min(numbers) == 0:
            raise _damaged(f"{field.name} is missing")
        return self._values(kind, numbers)

    def _values(self, kind: int, numbers: array[int]) -> Iterable[Any]:
        return map(self._pools[kind].__getitem__, numbers)

    def _from_cells(self, cells: array[int]) -> list[Any]:
        pools = self._pools
        return [pools[cell % KINDS][cell // KINDS] for cell in cells]
