"""Placement rules ready for use: names are sets, expressions are compiled."""

from __future__ import annotations

from typing import Any, Final, final

from remuda.config.patterns import PatternError, compiled
from remuda.config.schema import FilterConfig, NameFilter, PlacementRuleConfig

# Names whose outcome a filter remembers: most applications come from few users.
_REMEMBERED: Final = 1_024


@final
class NameMatch:
    """The user or the group part of a filter (PLC-47, PLC-48)."""

    __slots__ = ("_known", "_names", "_pattern")

    def __init__(self, config: NameFilter) -> None:
        self._names = frozenset(config.names)
        self._pattern: Any = _expression(config.pattern) if config.pattern else None
        self._known: dict[str, bool] = {}

    def hits(self, name: str) -> bool:
        """Whether a name is listed or contains a match.

        Implements: PLC-47, PLC-48. Rules: PLC-51.
        """
        if self._pattern is None:
            return name in self._names
        found = self._known.get(name)
        if found is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            # A lone surrogate cannot be encoded; its replacement matches like any other character.
            found = self._pattern.search(name.encode("utf-8", "replace")) is not None
            self._known[name] = found
        return found


def _expression(pattern: str) -> Any:
    """Compile an expression; return None for an invalid one, which loaders refuse anyway."""
    try:
        return compiled(pattern)
    except PatternError:
        return None


@final
class Filter:
    """Decides which users a rule applies to (PLC-44, PLC-45, PLC-46)."""

    __slots__ = ("deny", "groups", "users")

    def __init__(self, config: FilterConfig) -> None:
        self.deny: bool = config.deny
        self.users = NameMatch(config.users) if config.users is not None else None
        self.groups = NameMatch(config.groups) if config.groups is not None else None


@final
class PlacementRule:
    """One rule with its parent rules, which give the parent queue (PLC-23). Implements: PLC-15."""

    __slots__ = ("create", "filter", "name", "parent", "value")

    def __init__(self, config: PlacementRuleConfig) -> None:
        self.name = config.name
        self.create: bool = config.create
        self.value = config.value
        self.filter = Filter(config.filter) if config.filter is not None else None
        self.parent = PlacementRule(config.parent) if config.parent is not None else None
