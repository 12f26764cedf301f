"""Limits through the levels of a queue tree: a lower limit must not exceed a higher one.

On the way down, a table has what the levels above allow each user and each group; at the end of a
queue, its changes are undone. Users and groups never mix (chapter 10 section 6.6).
"""

from __future__ import annotations

from typing import Final, Generic, TypeAlias, TypeVar

from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.config.amounts import shown
from remuda.config.candidate import QueueCandidate
from remuda.config.drafts import LimitDraft, NamesDraft
from remuda.config.findings import Findings, cut
from remuda.config.schema import WILDCARD, LimitConfig
from remuda.config.tree import Node

V = TypeVar("V")

# The amount of a limit, and the amount allowed above, for types where the latter is less.
_Excess: TypeAlias = tuple[str, str] | None

# Amounts as a limit gives them, shared by all whom it names, and before them those that levels
# below have lowered or added: copying hundreds of types for each name would take too long.
_Allowed: TypeAlias = tuple[Resource, Resource]

# Types of the first kind before both are put together.
_LOWERED_LIMIT: Final = 16

# Amounts that all comparisons of a partition may go through, each counting as so many more. Names
# that have the same limits on their way count once.
COMPARED_LIMIT: Final = 500_000
_COMPARING: Final = 5


@message
class _Place:
    """The user or group whose limit is compared, and its place in the file."""

    queue: QueueCandidate
    node: Node
    kind: str
    names: NamesDraft


def check_limit_levels(root: QueueCandidate, findings: Findings) -> None:
    """Check the limits of a whole tree, first resources, then applications.

    Implements: CFG-99, CFG-100. Rules: CFG-95, CFG-96, CFG-97, CFG-98.
    """
    _ResourceLevels(findings).walk(root)
    _ApplicationLevels(findings).walk(root)


class _Levels(Generic[V]):
    """One walk over the tree; subclasses say what is compared, and how."""

    what = ""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._users: dict[str, V] = {}
        self._groups: dict[str, V] = {}
        # For the limit that is looked at, per amount above: the excess, and what is left. Many
        # names share both amounts, which may have hundreds of types.
        self._known: dict[int, tuple[_Excess, V]] = {}
        self.compared = 0

    def value(self, limit: LimitConfig) -> V:
        """Return what is compared."""
        raise NotImplementedError

    def node(self, draft: LimitDraft) -> Node:
        """Return the node of the compared value."""
        raise NotImplementedError

    def compare(self, value: V, above: V) -> tuple[_Excess, V]:
        """Return both as texts if the value is more than is allowed above, and the least."""
        raise NotImplementedError

    def walk(self, queue: QueueCandidate) -> None:
        """Check a queue and all below it; the tables are as before when it is done."""
        found: list[tuple[dict[str, V], str, V]] = []
        for draft, limit in zip(queue.limit_drafts, queue.limits, strict=True):
            if self._findings.unread(draft.path, "maxresources", "maxapplications"):
                continue
            value = self.value(limit)
            node = self.node(draft)
            self._known.clear()
            for table, place in (
                (self._users, _Place(queue, node, "user", draft.users)),
                (self._groups, _Place(queue, node, "group", draft.groups)),
            ):
                for index, (name, _) in enumerate(place.names.names):
                    found.append((table, name, self._allowed(name, value, table, place, index)))
        before = []
        for table, name, allowed in found:
            before.append((table, name, table.get(name)))
            table[name] = allowed
        for child in queue.children:
            if child.limit_drafts or child.children:
                self.walk(child)
        for table, name, earlier in reversed(before):
            if earlier is None:
                del table[name]
            else:
                table[name] = earlier

    def _allowed(self, name: str, value: V, table: dict[str, V], place: _Place, index: int) -> V:
        """Check one name and return what it is allowed from here on down.

        A name that no level above has is compared with the wildcard. Levels below see only what it
        gets here. Implements: CFG-96.
        """
        above = table.get(name)
        wild = above is None
        if above is None:
            above = table.get(WILDCARD)
        if above is None or self.compared > COMPARED_LIMIT:
            return value
        if id(above) not in self._known:
            self._known[id(above)] = self.compare(value, above)
            if self.compared > COMPARED_LIMIT:
                text = f"more than {COMPARED_LIMIT} amounts of limits to compare through the levels"
                hint = "name groups instead of users, or limit fewer resources"
                self._findings.add(place.node, place.names.path, "CFG-5", text, hint)
        over, merged = self._known[id(above)]
        if over is not None:
            self._note(name, over, place, index, wild=wild)
        return value if wild else merged

    def _note(
        self, name: str, over: tuple[str, str], place: _Place, index: int, *, wild: bool
    ) -> None:
        whose = "wildcard" if wild else "immediate or ancestor parent"
        text = (
            f"{place.kind} {cut(name)!r} {self.what} {over[0]} of queue {place.queue.path}"
            f" is greater than {whose} {self.what} {over[1]}"
        )
        rule = "CFG-99" if place.kind == "group" else self.rule(name, wild)
        path = f"{place.names.path}[{index}]"
        self._findings.add(place.node, path, rule, text, "lower it, or raise the limit above")

    def rule(self, name: str, wild: bool) -> str:
        """Return the rule that a user's limit breaks."""
        raise NotImplementedError


class _ResourceLevels(_Levels[_Allowed]):
    """The maximum resources of limits, on each level. Implements: CFG-95, CFG-97. Rules: CFG-96."""

    what = "maximum resource"

    def value(self, limit: LimitConfig) -> _Allowed:
        return {}, limit.maximum or {}

    def node(self, draft: LimitDraft) -> Node:
        return draft.maximum.node if draft.maximum is not None else draft.node

    def compare(self, value: _Allowed, above: _Allowed) -> tuple[_Excess, _Allowed]:
        _, amounts = value
        lowered, shared = above
        least = dict(lowered)
        over = []
        for name, amount in amounts.items():
            allowed = lowered.get(name)
            if allowed is None:
                allowed = shared.get(name)
            if allowed is not None and amount > allowed:
                over.append(name)
                least[name] = allowed
            else:
                least[name] = amount
        self.compared += _COMPARING + len(amounts)
        told = None
        if over:
            over.sort()
            told = shown(amounts, over), shown({**shared, **lowered}, over)
        if len(least) <= _LOWERED_LIMIT:
            return told, (least, shared)
        self.compared += len(shared)
        return told, ({}, {**shared, **least})

    def rule(self, name: str, wild: bool) -> str:
        if wild:
            return "CFG-96"
        return "CFG-97" if name == WILDCARD else "CFG-95"


class _ApplicationLevels(_Levels[int]):
    """The maximum numbers of applications of limits, on each level.

    Not limited (0) below a limit is more than the limit. Implements: CFG-98.
    """

    what = "max applications"

    def value(self, limit: LimitConfig) -> int:
        return limit.max_applications

    def node(self, draft: LimitDraft) -> Node:
        return draft.applications_node

    def compare(self, value: int, above: int) -> tuple[_Excess, int]:
        least = min(value, above)
        if not above or 0 < value <= above:
            return None, least
        return (str(value) if value else "0 (not limited)", str(above)), least

    def rule(self, name: str, wild: bool) -> str:
        return "CFG-98"
