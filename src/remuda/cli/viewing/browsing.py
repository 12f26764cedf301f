"""What ``remuda top`` shows of a list on a terminal, and what each key changes of that.

Nothing is read and nothing is written here: keys, rows and a screen come in, lines go out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from remuda.base.texts import shown
from remuda.cli.viewing import amounts
from remuda.cli.viewing.columns import Form, Kind, Row
from remuda.cli.viewing.keyboard import ENDED, ESCAPE
from remuda.cli.viewing.ranking import MOST, ranked
from remuda.cli.viewing.selecting import Wanted, in_order
from remuda.cli.viewing.tables import Screen, Table
from remuda.cli.viewing.text import cut

# The order that a list has at first, by the largest share of the cluster.
SHARE: Final = "share"

# Letters of a text that is looked for.
_SOUGHT_LIMIT: Final = 200

_TEXTS: Final = (Form.TEXT, Form.STATE)

# The line about the partition, the one about the list, and the titles of its columns.
_ABOVE: Final = 3

_NUMBERS: Final = ("1", "2", "3", "4")

# Keys that do not look at the rows, so these need not be read before the next of them.
BLIND: Final = frozenset({*_NUMBERS, "tab", "back tab", "s", "S", "r", "q", "Q", ENDED})

# More lines than there can be.
_FAR: Final = 1_000_000

_MARK, _NO_MARK = "> ", "  "

_KEYS: Final = (
    "up, down, page up, page down   select another row; so do j and k",
    "home, end                      select the first row, the last one",
    "tab, 1, 2, 3, 4                queues, nodes, applications, users",
    "s, S                           sort by the next column, by the one before",
    "r                              turn the order round",
    "/                              show only rows with a text, which enter ends",
    "enter                          show everything about the selected row",
    "escape                         back to the list; in the list, all rows again",
    "space                          read nothing until space is pressed again",
    "q                              end",
)


class Act(Enum):
    """What a key calls for."""

    DRAW = "draw"
    READ = "read"
    LEAVE = "leave"


@dataclass(frozen=True)
class Listing:
    """Which rows of a kind are shown, and in which order.

    ``sort_by``: ``SHARE``, or the key of a column as in ``--sort-by``. ``turned``: the order is
    turned round; else the highest number and the first text come first. ``sought``: only rows with
    this text in one of their cells, in capital or small letters.
    """

    kind: Kind
    sort_by: str = SHARE
    turned: bool = False
    sought: str = ""

    def columns(self, capacity: Mapping[str, int]) -> list[str]:
        """Return what the rows can be sorted by; ``capacity`` has the types of resources."""
        found = [SHARE]
        for column in self.kind.shown_columns(wide=False):
            if column.form is not Form.AMOUNTS:
                found.append(column.key)
            elif column.key == "used":
                found += [f"used.{name}" for name in amounts.in_order(capacity)]
        return found

    def after(self, step: int, capacity: Mapping[str, int]) -> Listing:
        """Return the listing sorted by a column so many columns further."""
        keys = self.columns(capacity)
        at = keys.index(self.sort_by) if self.sort_by in keys else 0
        return replace(self, sort_by=keys[(at + step) % len(keys)], turned=False)

    def of(self, rows: Iterable[Row], capacity: Mapping[str, int]) -> list[Row]:
        """Return the first of the rows that are shown, in order; at most ``MOST``."""
        sought = filter(self._is_sought, rows)
        if self.sort_by == SHARE:
            return ranked(sought, capacity, turned=self.turned)
        sort_by = f"-{self.sort_by}" if self._highest_first() else self.sort_by
        pairs = ((row, row) for row in sought)
        return list(in_order(pairs, self.kind, Wanted(sort_by=sort_by, limit=MOST)))

    def __str__(self) -> str:
        order = "highest" if self._highest_first() else "lowest"
        text = f"{self.kind.name} by {self.sort_by}, {order} first"
        return shown(f"{text}; with '{self.sought}'" if self.sought else text)

    def _highest_first(self) -> bool:
        forms = {column.key: column.form for column in self.kind.columns}
        return (forms.get(self.sort_by) in _TEXTS) is self.turned

    def _is_sought(self, row: Row) -> bool:
        sought = self.sought.casefold()
        return not sought or any(
            sought in column.cell(row, 0).casefold()
            for column in self.kind.columns
            if column.form in _TEXTS
        )


@dataclass
class Browsing:
    """A list on a screen: what it lists, the selected row, or a page that is shown instead.

    ``kinds``: those between which keys change. ``capacity``: the amounts of all nodes. ``rows``: as
    ``listing`` orders them. ``typed``: the text that is being typed, None if none is. ``paused``:
    nothing is to be read. ``page``: the lines shown instead of the list, None for the list.
    ``opened``: the name of what the page is about, "" if it is about the keys.
    """

    kinds: Sequence[Kind]
    listing: Listing
    capacity: Mapping[str, int] = field(default_factory=dict)
    rows: Sequence[Row] = ()
    typed: str | None = None
    paused: bool = False
    page: Sequence[str] | None = None
    opened: str = ""
    # The number of the selected row, that of the first line shown, and how many lines there are.
    _at: int = 0
    _top: int = 0
    _room: int = 1

    def press(self, key: str) -> Act:
        """Do what a key says; unknown keys do nothing. Implements: EXT-74."""
        if key == ENDED:
            return Act.LEAVE
        if self.typed is not None:
            return self._type(self.typed, key)
        if key in _NUMBERS[: len(self.kinds)]:
            return self._turn_to(self.kinds[_NUMBERS.index(key)])
        act = _COMMANDS.get(key)
        return Act.DRAW if act is None else act(self)

    def name(self) -> str:
        """Return the name of the selected row, "" if there is none."""
        kind = self.listing.kind
        return kind.name_of(self.rows[self._at]) if self._at < len(self.rows) else ""

    def take(self, rows: Iterable[Row], capacity: Mapping[str, int]) -> None:
        """Show rows that were read; the mark stays at its place in the order."""
        self.capacity = capacity
        self.rows = self.listing.of(rows, capacity)
        self._at = max(min(self._at, len(self.rows) - 1), 0)

    def open(self) -> Act:
        """Show a page about the selected row, which has to be read."""
        if self.page is None and self.name():
            self.opened, self.page, self._top = self.name(), ("reading ...",), 0
            return Act.READ
        return Act.DRAW

    def lines(self, screen: Screen, now_ns: int) -> list[str]:
        """Return what fits a screen below the line about the partition."""
        self._room = max(screen.lines - _ABOVE, 1)
        if self.page is not None:
            self._top = max(min(self._top, len(self.page) - self._room), 0)
            part = self.page[self._top : self._top + self._room]
            about = f"{len(self.page):,} lines; escape leads back to the list"
            return [cut(line, screen.room) for line in (about, *part)]
        self._top = min(max(self._top, self._at - self._room + 1), self._at)
        part_of = self.rows[self._top : self._top + self._room]
        # In one or two columns the mark stands for the row.
        narrow = screen.room <= len(_MARK)
        room = screen.room - (0 if narrow else len(_MARK))
        table = Table(
            self.listing.kind.shown_columns(wide=False),
            Screen(room, screen.lines, screen.colours),
            now_ns,
        )
        found = table.lines([table.cells(row) for row in part_of])
        titles, *lines = found if narrow else [_NO_MARK + line for line in found]
        if lines:
            at = self._at - self._top
            lines[at] = _MARK.rstrip() if narrow else _MARK + found[at + 1]
        return [cut(self._about(), screen.room), titles, *lines]

    def _about(self) -> str:
        if self.typed is not None:
            return f"only rows with: {shown(self.typed)}_"
        last = min(self._top + self._room, len(self.rows))
        here = f"{self._top + 1:,} to {last:,} of {len(self.rows):,}" if self.rows else "none"
        paused = ("paused",) if self.paused else ()
        return "; ".join((str(self.listing), here, *paused, "? shows the keys"))

    def _type(self, typed: str, key: str) -> Act:
        """Take a key while a text is typed."""
        if key in ("enter", ESCAPE):
            self.typed = None
            return self.start(replace(self.listing, sought=typed if key == "enter" else ""))
        if key == "backspace":
            self.typed = typed[:-1]
        elif len(key) == 1 and key.isprintable() and len(typed) < _SOUGHT_LIMIT:
            self.typed = typed + key
        return Act.DRAW

    def start(self, listing: Listing) -> Act:
        """Show a list from its first row."""
        self.listing, self.page = listing, None
        self._at = self._top = 0
        return Act.READ

    def _turn_to(self, kind: Kind) -> Act:
        if kind.name != self.listing.kind.name:
            self.rows = ()
            return self.start(Listing(kind))
        self.page = None
        return Act.READ

    def next_kind(self, step: int) -> Act:
        """List the kind so many kinds further."""
        names = [kind.name for kind in self.kinds]
        at = names.index(self.listing.kind.name) + step
        return self._turn_to(self.kinds[at % len(self.kinds)])

    def move(self, lines: int, pages: int = 0) -> Act:
        """Select a row further down, or show a page from a line further down."""
        lines += pages * self._room
        if self.page is None:
            self._at = max(min(self._at + lines, len(self.rows) - 1), 0)
        else:
            self._top = max(self._top + lines, 0)
        return Act.DRAW

    def back(self) -> Act:
        """Leave the page; in the list, show all rows again."""
        if self.page is None:
            return self.start(replace(self.listing, sought=""))
        self.page, self._top = None, 0
        return Act.DRAW

    def pause(self) -> Act:
        """Read nothing more, or go on reading."""
        self.paused = not self.paused
        return Act.DRAW if self.paused else Act.READ

    def seek(self) -> Act:
        """Begin to type a text that the rows must have."""
        self.typed, self.page = self.listing.sought, None
        return Act.DRAW

    def help(self) -> Act:
        """Show the keys."""
        self.opened, self.page, self._top = "", _KEYS, 0
        return Act.DRAW


def _sort(step: int) -> Callable[[Browsing], Act]:
    return lambda it: it.start(it.listing.after(step, it.capacity))


# What keys do beside those for the kinds, by their names in ``keyboard``.
_COMMANDS: Final[Mapping[str, Callable[[Browsing], Act]]] = {
    **dict.fromkeys("qQ", lambda it: Act.LEAVE),
    **dict.fromkeys("?h", Browsing.help),
    **dict.fromkeys(("up", "k"), lambda it: it.move(-1)),
    **dict.fromkeys(("down", "j"), lambda it: it.move(1)),
    "page up": lambda it: it.move(0, -1),
    "page down": lambda it: it.move(0, 1),
    "home": lambda it: it.move(-_FAR),
    "end": lambda it: it.move(_FAR),
    "tab": lambda it: it.next_kind(1),
    "back tab": lambda it: it.next_kind(-1),
    "s": _sort(1),
    "S": _sort(-1),
    "r": lambda it: it.start(replace(it.listing, turned=not it.listing.turned)),
    "/": Browsing.seek,
    " ": Browsing.pause,
    ESCAPE: Browsing.back,
    "enter": Browsing.open,
}
