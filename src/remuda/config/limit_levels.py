"""Limits through the levels of a queue tree: below, nobody may be given more than above.

Walking down, a table holds what the levels so far allow each user and each group; where a queue
ends, what it changed is taken back. Users and groups never mix (CFG-95 to CFG-100).
"""

from __future__ import annotations

from typing import Generic, TypeVar

from remuda.base.message import message
from remuda.base.resources import Resource, component_wise_min
from remuda.config.amounts import excess, shown
from remuda.config.candidate import QueueCandidate
from remuda.config.drafts import LimitDraft, NamesDraft
from remuda.config.findings import Findings, cut
from remuda.config.schema import WILDCARD, LimitConfig
from remuda.config.tree import Node

V = TypeVar("V")


@message
class _Place:
    """Whose limit is looked at, and where it stands."""

    queue: QueueCandidate
    node: Node
    kind: str
    names: NamesDraft


def check_limit_levels(root: QueueCandidate, findings: Findings) -> None:
    """Check the limits of a whole tree, first resources, then applications.

    Rules: CFG-95 to CFG-100.
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
        self._known: dict[int, tuple[tuple[str, str] | None, V]] = {}

    def value(self, limit: LimitConfig) -> V:
        """Return what is compared."""
        raise NotImplementedError

    def node(self, draft: LimitDraft) -> Node:
        """Return where it stands."""
        raise NotImplementedError

    def excess(self, value: V, above: V) -> tuple[str, str] | None:
        """Return both as texts if the value is more than is allowed above."""
        raise NotImplementedError

    def merged(self, value: V, above: V) -> V:
        """Return what is allowed below."""
        raise NotImplementedError

    def walk(self, queue: QueueCandidate) -> None:
        """Check a queue and all below it; the tables are as before when it is done."""
        found: list[tuple[dict[str, V], str, V]] = []
        for draft, limit in zip(queue.limit_drafts, queue.limits, strict=True):
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
            self.walk(child)
        for table, name, earlier in reversed(before):
            if earlier is None:
                del table[name]
            else:
                table[name] = earlier

    def _allowed(self, name: str, value: V, table: dict[str, V], place: _Place, index: int) -> V:
        """Check one name and return what it is allowed from here on down.

        A name that no level above has is held against the wildcard, and what it gets here is
        all that levels below see (CFG-96).
        """
        above = table.get(name)
        wild = above is None
        if above is None:
            above = table.get(WILDCARD)
        if above is None:
            return value
        if id(above) not in self._known:
            self._known[id(above)] = (self.excess(value, above), self.merged(value, above))
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


class _ResourceLevels(_Levels[Resource]):
    """Rules: CFG-95, CFG-96, CFG-97."""

    what = "maximum resource"

    def value(self, limit: LimitConfig) -> Resource:
        return limit.maximum or {}

    def node(self, draft: LimitDraft) -> Node:
        return draft.maximum.node if draft.maximum is not None else draft.node

    def excess(self, value: Resource, above: Resource) -> tuple[str, str] | None:
        over = excess(value, above)
        return (shown(value, over), shown(above, over)) if over else None

    def merged(self, value: Resource, above: Resource) -> Resource:
        return component_wise_min(value, above) or {}

    def rule(self, name: str, wild: bool) -> str:
        if wild:
            return "CFG-96"
        return "CFG-97" if name == WILDCARD else "CFG-95"


class _ApplicationLevels(_Levels[int]):
    """Rules: CFG-98. Not limited (0) below a limit is more than the limit."""

    what = "max applications"

    def value(self, limit: LimitConfig) -> int:
        return limit.max_applications

    def node(self, draft: LimitDraft) -> Node:
        return draft.applications_node

    def excess(self, value: int, above: int) -> tuple[str, str] | None:
        fits = not above or 0 < value <= above
        return None if fits else (str(value) if value else "0 (not limited)", str(above))

    def merged(self, value: int, above: int) -> int:
        return min(value, above)

    def rule(self, name: str, wild: bool) -> str:
        return "CFG-98"
