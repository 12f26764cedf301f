"""Whom a placement rule is for (rules: PLC-44 to PLC-52).

The loader has sorted out what a filter's texts mean: names to compare, or one expression to search
for. Expressions run in RE2, whose time is linear in the name, so that no rule can stall the core.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import re2

from remuda.config.schema import FilterConfig, NameFilter

# Compiled expressions kept: a configuration rarely has more than one for each of its rules. Each
# may use this many bytes, more than the loader lets a program have.
PATTERNS_KEPT: Final = 256
PATTERN_MEMORY: Final = 1 << 20


def lets_pass(config: FilterConfig | None, user: str, groups: Sequence[str]) -> bool:
    """Whether a rule is for this user: the user is tested first, then each group in order.

    Without names the type decides alone. Rules: PLC-21, PLC-44, PLC-45, PLC-46, PLC-49.
    """
    if config is None:
        return True
    if config.users is None and config.groups is None:
        return not config.deny
    return _hits(config, user, groups) != config.deny


def _hits(config: FilterConfig, user: str, groups: Sequence[str]) -> bool:
    if config.users is not None and _matches(config.users, user):
        return True
    if config.groups is None:
        return False
    for group in groups:
        if _matches(config.groups, group):
            return True
    return False


def _matches(names: NameFilter, name: str) -> bool:
    """Whether a name is listed, or holds the expression. Rules: PLC-47, PLC-48, PLC-51."""
    if not names.pattern:
        return name in names.names
    pattern = _compiled(names.pattern)
    if pattern is None:
        return False
    # A lone surrogate is no text; what stands for it matches like any other odd letter.
    return pattern.search(name.encode("utf-8", "replace")) is not None


@lru_cache(maxsize=PATTERNS_KEPT)
def _compiled(pattern: str) -> Any:
    """Compile an expression; one that RE2 refuses matches nobody, hence None. Rules: PLC-52."""
    options = re2.Options()
    options.max_mem = PATTERN_MEMORY
    options.log_errors = False
    options.never_capture = True
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError):
        return None
