"""Typed reading of nodes: which keys a mapping may have, what a word or number means.

Decoding is strict: whatever is not understood is a problem at its line, never skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from remuda.config.findings import Findings, cut
from remuda.config.keys import KEYS
from remuda.config.tree import ListNode, MapNode, Node, ScalarNode, is_null

Entry: TypeAlias = tuple[ScalarNode, Node]

_MERGE: Final = "<<"

# Words that mean a boolean only when they are not quoted, and words that always do (CFG-15).
_PLAIN_BOOLEANS: Final = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_BOOLEANS: Final = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
}

_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL_FLOATS: Final = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), "nan"),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), "inf"),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), "-inf"),
}
_DIGITS_LIMIT: Final = 400

# Sign, then the digits of base 16, 8 (two notations), 2 or 10.
_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]([0-7]+)|0([0-7]+)|0[bB]([01]+)|(0|[1-9][0-9]*))"
)
_UNSIGNED_MAX: Final = 2**64 - 1
_SIGNED_MIN: Final = -(2**63)


class FieldReader:
    """Reads fields of nodes and notes what is wrong with them."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    def refuse(self, node: Node, path: str, rule: str, text: str, hint: str) -> None:
        """Note a problem with the value at a path."""
        self._findings.add_unread(node, path, rule, text, hint)

    def section(self, node: Node, path: str, name: str) -> dict[str, Node]:
        """Return the values of a section's known keys without those that are null.

        Implements: CFG-13. Rules: CFG-14, CFG-18.
        """
        known = KEYS[name]
        found: dict[str, Node] = {}
        for word, (key, value) in self.mapping(node, path, name).items():
            if word in known:
                if not is_null(value):
                    found[word] = value
            else:
                hint = f"the keys are {', '.join(sorted(known))}"
                if word.lower() in known:
                    hint = f"keys are lower case: {word.lower()}"
                text = f"field {cut(word)} not found in type {name}"
                self.refuse(key, path, "CFG-13", text, hint)
        return found

    def mapping(self, node: Node, path: str, what: str) -> dict[str, Entry]:
        """Return a mapping's entries by key, merge keys resolved; {} for null or a wrong type.

        A merged key gives way to one that is written out. Implements: CFG-14. Rules: CFG-11,
        CFG-13.
        """
        if is_null(node):
            return {}
        if not isinstance(node, MapNode):
            rule = "CFG-13" if path else "CFG-12"
            text = f"cannot unmarshal: {what} must be a mapping"
            self.refuse(node, path, rule, text, _MAPPING_HINT if path else _DOCUMENT_HINT)
            return {}
        return self._entries(node, path)

    def _entries(self, node: MapNode, path: str) -> dict[str, Entry]:
        own: dict[str, Entry] = {}
        merged: list[Node] = []
        for key, value in node.entries:
            if not isinstance(key, ScalarNode):
                text = "cannot unmarshal: a key must be a text"
                self.refuse(key, path, "CFG-13", text, "write one word, or a text in quotes")
            elif key.plain and key.text == _MERGE:
                merged.append(value)
            elif key.text in own:
                first = own[key.text][0].line
                text = f"key {cut(key.text)} already defined at line {first}"
                self.refuse(key, path, "CFG-14", text, "remove one of them")
            else:
                own[key.text] = (key, value)
        for target in self._merge_targets(merged, path):
            for name, entry in self._entries(target, path).items():
                own.setdefault(name, entry)
        return own

    def _merge_targets(self, merged: list[Node], path: str) -> Iterator[MapNode]:
        for again in merged[1:]:
            self.refuse(again, path, "CFG-14", "key << already defined", "merge a list instead")
        for value in merged[:1]:
            for target in value.items if isinstance(value, ListNode) else [value]:
                if isinstance(target, MapNode):
                    yield target
                else:
                    hint = "write << with * and the anchor of a mapping, or a list of those"
                    self.refuse(target, path, "CFG-11", "<< merges mappings only", hint)

    def items(self, node: Node | None, path: str, what: str) -> list[Node]:
        """Return a list's items; [] for null, an absent node or a wrong type.

        Implements: CFG-18.
        """
        if node is None or is_null(node):
            return []
        if not isinstance(node, ListNode):
            text = f"cannot unmarshal: {what} must be a list"
            self.refuse(node, path, "CFG-13", text, _list_hint(node))
            return []
        return node.items

    def sections(
        self, node: Node | None, path: str, what: str, name: str
    ) -> list[tuple[str, Node]]:
        """Return the sections of a list, nulls among them, each with its path.

        An item of another kind is noted and left out. Rules: CFG-13, CFG-18.
        """
        if node is None:
            return []
        found = []
        for index, item in enumerate(self.items(node, path, what)):
            where = f"{path}[{index}]"
            if isinstance(item, MapNode) or is_null(item):
                found.append((where, item))
            else:
                text = f"cannot unmarshal: {name} must be a mapping"
                hint = f"write keys and values; the keys are {', '.join(sorted(KEYS[name]))}"
                self.refuse(item, where, "CFG-13", text, hint)
        return found

    def text(self, node: Node | None, path: str) -> str:
        """Return a scalar's source text, "" for null or an absent node. Implements: CFG-17."""
        if node is None or is_null(node):
            return ""
        if not isinstance(node, ScalarNode):
            text = f"cannot unmarshal {_shown(node)}: a text is expected here"
            hint = "write a single text, in quotes if it has characters such as [ or {"
            self.refuse(node, path, "CFG-13", text, hint)
            return ""
        return node.text

    def names(self, node: Node | None, path: str, what: str) -> list[tuple[str, Node]]:
        """Return a list of texts, each with its node; a null among them is "". Rules: CFG-18."""
        found = []
        for index, item in enumerate(self.items(node, path, what)):
            text = item.text if isinstance(item, ScalarNode) else None
            if text is None or is_null(item):
                text = self.text(item, f"{path}[{index}]")
            found.append((text, item))
        return found

    def boolean(self, node: Node | None, path: str) -> bool:
        """Return a boolean, false for null or an absent node. Implements: CFG-15."""
        if node is None or is_null(node):
            return False
        if isinstance(node, ScalarNode):
            if node.plain and node.text in _PLAIN_BOOLEANS:
                return _PLAIN_BOOLEANS[node.text]
            if node.text in _BOOLEANS:
                return _BOOLEANS[node.text]
        self.refuse(
            node,
            path,
            "CFG-15",
            f"cannot unmarshal {_shown(node)} into a boolean",
            "write true or false, without quotes",
        )
        return False

    def unsigned(self, node: Node | None, path: str) -> int:
        """Return a whole number from 0 to 2^64 - 1, 0 for null or an absent node.

        Only integers are accepted, in any of YAML's notations. Implements: CFG-16 (D-C1).
        """
        if node is None or is_null(node):
            return 0
        value = _integer(node.text) if isinstance(node, ScalarNode) and node.plain else None
        if value is None or not 0 <= value <= _UNSIGNED_MAX:
            text = f"cannot unmarshal {_shown(node)} into a whole number"
            self.refuse(node, path, "CFG-16", text, "write a whole number of 0 or more, no quotes")
            return 0
        return value

    def number(self, node: Node, path: str) -> float:
        """Return a number, 0 for null; infinite and not-a-number are read too.

        Rules: CFG-16, CFG-91.
        """
        if is_null(node):
            return 0.0
        value = _number(node.text) if isinstance(node, ScalarNode) and node.plain else None
        if value is None:
            text = f"cannot unmarshal {_shown(node)} into a number"
            self.refuse(node, path, "CFG-91", text, "write a number, without quotes")
            return 0.0
        return value


_DOCUMENT_HINT: Final = "begin with partitions: and a list of partitions below it"
_MAPPING_HINT: Final = "write keys and values, such as {key: value}"


def _list_hint(node: Node) -> str:
    if isinstance(node, ScalarNode):
        return f"write [{cut(node.text)}], or a line that begins with - for each entry"
    return "write - before each entry"


def _shown(node: Node) -> str:
    if isinstance(node, ScalarNode):
        return cut(node.text) if node.plain else f'"{cut(node.text)}"'
    return "a list" if isinstance(node, ListNode) else "a mapping"


def _integer(text: str) -> int | None:
    """Read an integer as YAML 1.1 does: 0x, 0o, 0b, and a leading 0 for octal. Rules: CFG-16."""
    found = _INTEGER.fullmatch(text.replace("_", "")) if len(text) <= _DIGITS_LIMIT else None
    if found is None or text.startswith("_"):
        return None
    for base, digits in zip((16, 8, 8, 2, 10), found.groups()[1:], strict=True):
        if digits is not None:
            value = int(digits, base)
            return -value if found[1] == "-" else value
    return None


def _number(text: str) -> float | None:
    """Read an integer of 64 bits as such, else a decimal number, as the reference's reader does."""
    if text in _SPECIAL_FLOATS:
        return float(_SPECIAL_FLOATS[text])
    whole = _integer(text)
    if whole is not None and _SIGNED_MIN <= whole <= _UNSIGNED_MAX:
        return float(whole)
    if text.startswith("_"):
        return None
    digits = text.replace("_", "")
    if len(digits) <= _DIGITS_LIMIT and _FLOAT.fullmatch(digits):
        return float(digits)
    return None
