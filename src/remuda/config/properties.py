"""What is odd about the properties of a queue: told, never refused (PRP-2).

Any key is legal and any value is taken; a value that means nothing counts as the default at run
time. Both are mostly slips, so the person who wrote them should hear of it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Final

from remuda.base.duration import parse_duration
from remuda.config.findings import Findings
from remuda.config.tree import Node

_OFFSET: Final = re.compile(r"[-+]?[0-9]{1,10}")
_UNSIGNED: Final = re.compile(r"[0-9]{1,20}")

# How alike two keys must be, and how many unknown keys are compared: that takes time.
_ALIKE: Final = 0.85
_KEY_LENGTH_LIMIT: Final = 64
_COMPARED_LIMIT: Final = 500


def _one_of(*words: str) -> Callable[[str], bool]:
    return lambda text: text.lower() in words


def _offset(text: str) -> bool:
    return bool(_OFFSET.fullmatch(text)) and -(2**31) <= int(text) < 2**31


def _unsigned(text: str) -> bool:
    return bool(_UNSIGNED.fullmatch(text)) and int(text) < 2**64


def _duration(text: str) -> bool:
    nanoseconds = parse_duration(text)
    return nanoseconds is not None and nanoseconds > 0


def _duration_or_off(text: str) -> bool:
    nanoseconds = parse_duration(text)
    return nanoseconds is not None and nanoseconds >= 0


_STATEAWARE: Final = "stateaware"

# Per key: whether a value means something, and what does (PRP-1).
KNOWN: Final[dict[str, tuple[Callable[[str], bool], str]]] = {
    "application.sort.policy": (
        lambda text: text in ("fifo", "fair", _STATEAWARE, ""),
        "fifo or fair",
    ),
    "application.sort.priority": (_one_of("enabled", "disabled"), "enabled or disabled"),
    "priority.policy": (_one_of("default", "fence", ""), "default or fence"),
    "priority.offset": (_offset, "a whole number of 32 bits"),
    "preemption.policy": (
        _one_of("default", "fence", "disabled", ""),
        "default, fence or disabled",
    ),
    "preemption.delay": (_duration, "a duration above 0, such as 30s"),
    "application.unschedasks.backoff": (_unsigned, "a whole number of 0 or more"),
    "application.unschedasks.backoff.delay": (_duration, "a duration above 0, such as 30s"),
    "application.gang.admission": (_one_of("quota", "greedy"), "quota or greedy"),
    "preemption.quota.delay": (_duration_or_off, "a duration such as 30s, 0s for off"),
    "quota.preemption.delay": (_duration_or_off, "a duration such as 30s, 0s for off"),
}


class PropertyCheck:
    """Looks at the properties of all queues and templates of a document."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._alike: dict[str, str] = {}

    def check(self, name: str, text: str, node: Node, path: str) -> None:
        """Note what is odd about one property. Rules: PRP-1, PRP-2."""
        known = KNOWN.get(name)
        if known is None:
            self._compare(name, node, path)
            return
        means_something, wanted = known
        if not means_something(text):
            what = f"invalid value {text[:64]!r} of property {name}: its default is used"
            self._findings.warn(node, path, "PRP-2", what, f"write {wanted}")
        elif text == _STATEAWARE:
            what = "the sort policy stateaware is deprecated and means fifo"
            self._findings.warn(node, path, "PRP-1", what, "write fifo")

    def _compare(self, name: str, node: Node, path: str) -> None:
        """Note a key that looks like a known one; an unknown key has no effect. Rules: PRP-1."""
        if name not in self._alike:
            if len(name) > _KEY_LENGTH_LIMIT or len(self._alike) >= _COMPARED_LIMIT:
                return
            found = difflib.get_close_matches(name.lower(), KNOWN, n=1, cutoff=_ALIKE)
            self._alike[name] = found[0] if found else ""
        if self._alike[name]:
            what = f"unknown property {name} has no effect"
            hint = f"if {self._alike[name]} is meant, write that"
            self._findings.warn(node, path, "PRP-1", what, hint)
