"""Writes the state: every object once, in the order in which it is met, without recursion.

Numbers, texts and tuples are written by value, each once. Everything else has an identity, which
survives: two references to one object stay so, and cycles are nothing special. Instances of one
class are written column by column, which is several times quicker than one by one. The bytes depend
on the state alone, not on addresses, hashes or the build.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, Final, final

from remuda.core.model.cluster import Cluster
from remuda.core.model.partition import Partition
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
from remuda.core.snapshot.wire import counts, floats, integers, packed, texts

MAGIC: Final = b"RMDS"

_BOOLS: Final[dict[bool | None, int]] = {None: 0, False: 1, True: 2}

_KIND_OF: Final[dict[type, int]] = {
    type(None): BOOL,
    bool: BOOL,
    int: INT,
    float: FLOAT,
    str: STR,
    tuple: TUPLE,
    frozenset: FROZENSET,
    array: ARRAY,
    **{of: kind for kind, of in CONTAINERS.items()},
    **{layout.cls: CLASSES + place for place, layout in enumerate(LAYOUTS)},
}

_GETTERS: Final = tuple([tuple([attrgetter(field.name) for field in fields]) for fields in FIELDS])


@final
class Writer:
    """One writing of a state.

    ``_members``: the objects of each kind that has an identity, constants first; they live as long
    as the writer, so an address stands for one object. ``_numbers``: for each kind, the number of
    an object by its address, 0 for None. ``_done``: how many members were written.
    ``_ints``, ``_strs``, ``_floats``, ``_tuples``, ``_sets``: numbers by value, from 1 on.
    """

    __slots__ = (
        "_cells",
        "_columns",
        "_done",
        "_floats",
        "_ints",
        "_lengths",
        "_members",
        "_numbers",
        "_sets",
        "_strs",
        "_tuples",
        "_values",
    )

    def __init__(self) -> None:
        self._ints: dict[int | None, int] = {None: 0}
        self._strs: dict[str | None, int] = {None: 0}
        self._floats: dict[str, tuple[int, float]] = {}
        self._tuples: dict[tuple[int, ...], int] = {}
        self._sets: dict[tuple[int, ...], int] = {}
        self._members: list[list[Any]] = []
        self._numbers: list[dict[int, int]] = []
        for kind in range(KINDS):
            known = constants(kind)
            self._members.append(known)
            numbers = {_address(None): 0}
            for place, value in enumerate(known, 1):
                numbers[_address(value)] = place
            self._numbers.append(numbers)
        self._done: list[int] = [len(known) for known in self._members]
        self._lengths: list[array[int]] = [array("I") for _ in range(CLASSES)]
        self._cells: list[array[int]] = [array("I") for _ in range(CLASSES)]
        # The values of dictionaries; their keys are in ``_cells``.
        self._values: list[array[int]] = [array("I") for _ in range(CLASSES)]
        self._columns: list[list[array[int]]] = [
            [array("B" if field.kind == BOOL else "I") for field in fields] for fields in FIELDS
        ]

    def write(self, cluster: Cluster, partitions: list[Partition], after: int) -> bytes:
        """Return the state as bytes. Implements: EXT-40."""
        self._number(CLUSTER, cluster)
        ordered = self._number(LIST, partitions)
        self._write_all()
        known = [len(constants(kind)) for kind in range(KINDS)]
        sizes = [len(members) - known[kind] for kind, members in enumerate(self._members)]
        sizes[INT], sizes[STR] = len(self._ints) - 1, len(self._strs) - 1
        sizes[FLOAT], sizes[TUPLE] = len(self._floats), len(self._tuples)
        sizes[FROZENSET] = len(self._sets)
        parts = [
            MAGIC,
            counts((VERSION,)),
            fingerprint(),
            counts(sizes),
            integers([number for number in self._ints if number is not None]),
            floats([number for _, number in self._floats.values()]),
            texts([text for text in self._strs if text is not None]),
            counts(map(len, self._sets)),
            *[counts(members) for members in self._sets],
        ]
        parts += _arrays(self._members[ARRAY])
        for kind in (TUPLE, LIST, DEQUE, DICT, ORDERED):
            parts += [packed(self._lengths[kind]), packed(self._cells[kind])]
            parts.append(packed(self._values[kind]))
        for columns in self._columns:
            parts += [packed(column) for column in columns]
        parts.append(integers((ordered, after)))
        return b"".join(parts)

    def _write_all(self) -> None:
        """Write members, which may add members, until none is left."""
        busy = True
        while busy:
            busy = False
            for kind in range(LIST, KINDS):
                members = self._members[kind]
                done = self._done[kind]
                if done < len(members):
                    self._done[kind] = len(members)
                    self._write_members(kind, members[done:])
                    busy = True

    def _write_members(self, kind: int, members: list[Any]) -> None:
        if kind >= CLASSES:
            fields, getters = FIELDS[kind - CLASSES], _GETTERS[kind - CLASSES]
            columns = self._columns[kind - CLASSES]
            for place, field in enumerate(fields):
                if field.kind != ABSENT:
                    values = list(map(getters[place], members))
                    columns[place].extend(self._column(field, values))
            return
        self._lengths[kind].extend(map(len, members))
        for each in members:
            self._cells[kind].extend(self._cells_of(each))
            if kind in (DICT, ORDERED):
                self._values[kind].extend(self._cells_of(each.values()))

    def _column(self, field: Field, values: list[Any]) -> Iterable[int]:
        """Return the values of one field as numbers."""
        kind = field.kind
        if kind == BOOL:
            return map(int, values)
        if kind == INT:
            return self._by_value(self._ints, values)
        if kind == SCORE:
            names = {score: name for name, score in SCORES.items()}
            return self._by_value(self._strs, [names[score] for score in values])
        if kind == PATTERN:
            return self._by_value(self._strs, [_text(pattern) for pattern in values])
        if kind == STR:
            return self._by_value(self._strs, values)
        if kind == TUPLE:
            return [self._tuple(value) for value in values]
        if kind == ANY:
            return self._cells_of(values)
        numbers = self._numbers[kind]
        found: list[int] = []
        for value in values:
            number = numbers.get(_address(value))
            found.append(self._number(kind, value) if number is None else number)
        return found

    def _by_value(self, numbers: dict[Any, int], values: list[Any]) -> Iterable[int]:
        for value in dict.fromkeys(values):
            if value not in numbers:
                numbers[value] = len(numbers)
        return map(numbers.__getitem__, values)

    def _cells_of(self, values: Iterable[Any]) -> list[int]:
        """Return values of any kinds as cells."""
        found: list[int] = []
        for value in values:
            kind = _KIND_OF.get(type(value))
            if kind is None:
                raise TypeError(f"a snapshot has no room for {type(value).__name__}")
            if kind == INT:
                number = self._ints.get(value)
                if number is None:
                    number = self._ints[value] = len(self._ints)
            elif kind == STR:
                number = self._strs.get(value)
                if number is None:
                    number = self._strs[value] = len(self._strs)
            elif kind < ARRAY:
                number = self._immutable(kind, value)
            else:
                number = self._numbers[kind].get(_address(value))
                if number is None:
                    number = self._number(kind, value)
            found.append(number * KINDS + kind)
        return found

    def _immutable(self, kind: int, value: Any) -> int:
        if kind == BOOL:
            return _BOOLS[value]
        if kind == TUPLE:
            return self._tuple(value)
        if kind == FLOAT:
            # By its bits: 0.0 and -0.0 are equal.
            exact = value.hex()
            if exact not in self._floats:
                self._floats[exact] = (len(self._floats) + 1, value)
            return self._floats[exact][0]
        texts = tuple(self._by_value(self._strs, sorted(value)))
        return self._sets.setdefault(texts, len(self._sets) + 1)

    def _tuple(self, value: tuple[Any, ...]) -> int:
        """Return the number of a tuple; those in it have lower numbers."""
        cells = tuple(self._cells_of(value))
        number = self._tuples.get(cells)
        if number is None:
            number = self._tuples[cells] = len(self._tuples) + 1
            self._lengths[TUPLE].append(len(cells))
            self._cells[TUPLE].extend(cells)
        return number

    def _number(self, kind: int, value: Any) -> int:
        """Add a member, and return its number."""
        members = self._members[kind]
        if _KIND_OF.get(type(value)) == kind:
            members.append(value)
        elif kind == DICT and isinstance(value, Mapping) and not isinstance(value, dict):
            # A mapping that a caller gave; it is only read, so a dictionary does as well.
            members.append(dict(value))
        else:
            raise TypeError(f"a snapshot has no room for {type(value).__name__} here")
        self._numbers[kind][_address(value)] = len(members)
        return len(members)


def _address(value: object) -> int:
    """Return what tells objects apart; it stands in no snapshot, and decides no order."""
    return id(value)


def _text(pattern: Any) -> str | None:
    """Return the text of an expression, None for none."""
    if pattern is None:
        return None
    text = pattern.pattern
    return text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else str(text)


def _arrays(arrays: list[array[int]]) -> list[bytes]:
    codes = "".join([each.typecode for each in arrays]).encode()
    return [codes, counts(map(len, arrays)), *[packed(each) for each in arrays]]
