"""Warnings about the properties of a queue, which are never refused (PRP-2).

Any key is legal, and any value is accepted; instead of an invalid value the default counts at run
time. Both are mostly mistakes, so the user gets a warning.
"""

from __future__ import annotations

import difflib
from typing import Any, Final

from remuda.config.findings import Findings, cut
from remuda.config.queue_properties import BY_NAME, SORT_POLICY, STATEAWARE, Property
from remuda.config.tree import Node

# How alike two keys must be, and how many unknown keys are compared: that takes time.
_ALIKE: Final = 0.85
_KEY_LENGTH_LIMIT: Final = 64
_COMPARED_LIMIT: Final = 500


class PropertyCheck:
    """Looks at the properties of all queues and templates of a document."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._alike: dict[str, str] = {}

    def check(self, name: str, text: str, node: Node, path: str) -> None:
        """Note what is odd about one property. Rules: PRP-1, PRP-2."""
        known = BY_NAME.get(name)
        if known is None:
            self._compare(name, node, path)
        elif known.parse(text) is None:
            what = f"invalid value {cut(text)!r} of property {name}: its default is used"
            self._findings.warn(node, path, "PRP-2", what, _hint(known))
        elif known is SORT_POLICY and text == STATEAWARE:
            what = f"the sort policy {STATEAWARE} is deprecated; later releases read fifo"
            hint = "write fifo, unless only one application at a time shall start"
            self._findings.warn(node, path, "PRP-1", what, hint)

    def _compare(self, name: str, node: Node, path: str) -> None:
        """Note a key that looks like a known one; an unknown key has no effect. Rules: PRP-1."""
        if name not in self._alike:
            if len(name) > _KEY_LENGTH_LIMIT or len(self._alike) >= _COMPARED_LIMIT:
                return
            found = difflib.get_close_matches(name.lower(), BY_NAME, n=1, cutoff=_ALIKE)
            self._alike[name] = found[0] if found else ""
        if self._alike[name]:
            what = f"unknown property {name} has no effect"
            hint = f"if {self._alike[name]} is meant, write that"
            self._findings.warn(node, path, "PRP-1", what, hint)


def _hint(known: Property[Any]) -> str:
    if known.choices:
        return f"write {' or '.join(known.choices)}"
    return f"write {known.values}, such as {known.example}"
