"""What a kind of object is to the commands: where it is read, its columns, what selects it.

The table of kinds is in ``kinds``; here are the forms of its entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeAlias

from remuda.base.texts import shown
from remuda.cli.server import Server
from remuda.cli.viewing import amounts

# An object as the server sent it.
Row: TypeAlias = Mapping[str, Any]

NOTHING: Final = amounts.NOTHING


class Form(Enum):
    """How the value of a column is written."""

    TEXT = "text"
    NUMBER = "number"
    PERCENT = "percent"
    AMOUNTS = "amounts"
    AGE = "age"
    TIME = "time"
    STATE = "state"


_RIGHT: Final = (Form.NUMBER, Form.PERCENT)


@dataclass(frozen=True)
class Column:
    """One column.

    ``key`` names it for ``--sort-by``. ``value`` takes it from a row; None means that the row has
    none. ``needs``: the keys of an element that ``value`` reads, for the server to send no others.
    ``wide``: it is shown with ``-o wide`` only. ``flexible``: its cells may be cut.
    """

    title: str
    key: str
    value: Callable[[Row], Any]
    form: Form = Form.TEXT
    needs: tuple[str, ...] = ()
    wide: bool = False
    flexible: bool = True

    @property
    def right(self) -> bool:
        """Whether its cells end in the same column, as numbers do."""
        return self.form in _RIGHT

    def cell(self, row: Row, now_ns: int) -> str:
        """Return what a table shows of a row."""
        value = self.value(row)
        if self.form is Form.AMOUNTS:
            return shown(amounts.amounts(value))
        if self.form is Form.AGE:
            return amounts.age(value, now_ns)
        if self.form is Form.TIME:
            return amounts.moment(value)
        if value in (None, "", []):
            return NOTHING
        if self.form is Form.PERCENT:
            return f"{value}%"
        return shown(_text(value))

    def exact(self, row: Row) -> str:
        """Return the value for a program: base units, times in UTC, "" for none."""
        value = self.value(row)
        if self.form is Form.AMOUNTS:
            return amounts.exact(value)
        if self.form in (Form.AGE, Form.TIME):
            return amounts.moment_utc(value)
        return "" if value is None else _text(value)


@dataclass(frozen=True)
class Question:
    """What is read: ``partition``, ``rm`` ("" for the first), and what narrows it.

    ``fields``: the keys that are needed, none for all. ``states``: in small letters, none for any.
    ``last``: at most so many, where a kind is read from its end; 0 for all. ``options``: of the
    route, as the server knows them.
    """

    partition: str = "default"
    rm: str = ""
    fields: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    last: int = 0
    options: Mapping[str, str] = field(default_factory=dict)


Reader: TypeAlias = Callable[[Server, Question], Iterator[Row]]
OneReader: TypeAlias = Callable[[Server, Question, str], Iterator[Row]]


@dataclass(frozen=True)
class Kind:
    """A kind of object.

    ``name_of`` is unique among the rows. ``read`` yields all rows, page by page; ``read_one`` those
    of one name, or None: they are searched among all. ``queue_of`` and so on are what the options
    ``--queue``, ``--user``, ``--state`` and ``--selector`` compare, None where a kind has no such
    thing; ``needs``: the keys of an element that ``name_of`` and these read.
    """

    name: str
    singular: str
    aliases: tuple[str, ...]
    columns: tuple[Column, ...]
    name_of: Callable[[Row], str]
    read: Reader
    read_one: OneReader | None = None
    needs: tuple[str, ...] = ()
    queue_of: Callable[[Row], str] | None = None
    user_of: Callable[[Row], str] | None = None
    state_of: Callable[[Row], str] | None = None
    labels_of: Callable[[Row], Mapping[str, str]] | None = None
    from_end: bool = False

    def shown_columns(self, *, wide: bool) -> tuple[Column, ...]:
        """Return the columns of a table."""
        return tuple(column for column in self.columns if wide or not column.wide)


def key(name: str) -> Callable[[Row], Any]:
    """Return what takes the value of a key; dots lead into inner objects."""
    path = name.split(".")

    def value(row: Row) -> Any:
        found: Any = row
        for part in path:
            if not isinstance(found, Mapping):
                return None
            found = found.get(part)
        return found

    return value


def column(title: str, name: str, source: str, form: Form = Form.TEXT, **more: Any) -> Column:
    """Return the column of a key of the server."""
    needs = (source.partition(".")[0],)
    return Column(title, name, key(source), form, needs, **more)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(str(each) for each in value)
    return str(value)
