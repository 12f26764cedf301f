"""A placement rule ready for use: names as sets, expressions compiled once per configuration."""

from __future__ import annotations

from typing import Any, final

from remuda.config.patterns import PatternError, compiled
from remuda.config.schema import FilterConfig, NameFilter, PlacementRuleConfig


@final
class NameMatch:
    """The user or the group part of a filter (PLC-47, PLC-48)."""

    __slots__ = ("_names", "_pattern")

    def __init__(self, config: NameFilter) -> None:
        self._names = frozenset(config.names)
        self._pattern: Any = _expression(config.pattern) if config.pattern else None

    def hits(self, name: str) -> bool:
        """Whether a name is listed, or holds the expression. Rules: PLC-47, PLC-48, PLC-51."""
        if self._pattern is None:
            return name in self._names
        # A lone surrogate is no text; what stands for it matches like any other odd letter.
        return self._pattern.search(name.encode("utf-8", "replace")) is not None


def _expression(pattern: str) -> Any:
    """Compile an expression; one that is none, which no loader lets pass, matches nobody."""
    try:
        return compiled(pattern)
    except PatternError:
        return None


@final
class Filter:
    """Whom a rule is for (PLC-44 to PLC-46)."""

    __slots__ = ("deny", "groups", "users")

    def __init__(self, config: FilterConfig) -> None:
        self.deny: bool = config.deny
        self.users = NameMatch(config.users) if config.users is not None else None
        self.groups = NameMatch(config.groups) if config.groups is not None else None


@final
class PlacementRule:
    """One rule with the rules that give the queue above (PLC-15, PLC-23)."""

    __slots__ = ("create", "filter", "name", "parent", "value")

    def __init__(self, config: PlacementRuleConfig) -> None:
        self.name = config.name
        self.create: bool = config.create
        self.value = config.value
        self.filter = Filter(config.filter) if config.filter is not None else None
        self.parent = PlacementRule(config.parent) if config.parent is not None else None
