"""Reads maps of quantity texts, and prints amounts in problems.

Queues, limits and templates have amounts. All types that one partition names are counted together,
because each of them costs time in every later comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from remuda.base.message import message
from remuda.base.quantity import QuantityError, parse_quantity
from remuda.base.resource_text import printable
from remuda.base.resources import Resource
from remuda.config.drafts import AmountsDraft
from remuda.config.findings import Findings, cut
from remuda.config.tree import Node

# Resource types that one partition may name.
CONFIGURED_TYPES_LIMIT: Final = 256

_TYPES_SHOWN: Final = 8

_HINTS: Final = {
    "invalid quantity": "write a whole number and, if need be, a suffix such as G or Gi",
    "invalid suffix": "the suffixes are k M G T P E Ki Mi Gi Ti Pi Ei, and m for vcore only",
    "invalid quantity: overflow": "the result must be below 2^63",
}


@message
class Fault:
    """An amount that does not parse; it is reported later, in the order of section 6.8."""

    node: Node
    path: str
    text: str
    hint: str


@message
class Amounts:
    """The amounts of a map of texts, None if none was given, and the faults in it."""

    values: dict[str, int] | None
    faults: list[Fault]

    def note(self, findings: Findings, rule: str) -> None:
        """Note the faults under a rule."""
        for fault in self.faults:
            findings.add(fault.node, fault.path, rule, fault.text, fault.hint)


NOT_GIVEN: Final = Amounts(None, [])


class AmountReader:
    """Reads the amounts of one partition.

    Implements: CFG-70. Rules: CFG-57, TPL-7, QTY-1, QTY-2, QTY-3, QTY-4, QTY-5, QTY-6.
    """

    def __init__(self) -> None:
        self._types: set[str] = set()
        self._types_reported = False

    def read(self, draft: AmountsDraft | None, owner: Callable[[], str]) -> Amounts:
        """Return the amounts that parse; ``owner`` names the queue and its field in a fault.

        Implements: RES-9.
        """
        if draft is None or not draft.texts:
            return NOT_GIVEN
        values: dict[str, int] = {}
        faults: list[Fault] = []
        for name, (text, node) in draft.texts.items():
            if name not in self._types and not self._admit(name):
                faults += self._too_many(draft)
                continue
            try:
                values[name] = parse_quantity(name, text)
            except QuantityError as error:
                reason = str(error)
                what = f"{reason} {cut(text)!r} for {cut(name)} of {owner()}"
                where = f"{draft.path}.{cut(name)}"
                faults.append(Fault(node, where, what, _hint(name, reason)))
        return Amounts(values, faults)

    def _admit(self, name: str) -> bool:
        """Whether one more type may be named."""
        if len(self._types) >= CONFIGURED_TYPES_LIMIT:
            return False
        self._types.add(name)
        return True

    def _too_many(self, draft: AmountsDraft) -> list[Fault]:
        """Return the fault of the first type beyond the limit; it is reported once."""
        if self._types_reported:
            return []
        self._types_reported = True
        text = f"more than {CONFIGURED_TYPES_LIMIT} resource types in one partition"
        return [Fault(draft.node, draft.path, text, "remove some")]


def excess(amounts: Resource, limit: Resource) -> list[str]:
    """Return the types whose amount does not fit a limit, sorted. Rules: RES-30."""
    if not amounts or not limit:
        return []
    names = amounts if len(amounts) <= len(limit) else limit
    return sorted(
        name
        for name in names
        if name in amounts and name in limit and amounts[name] > max(0, limit[name])
    )


def shown(resource: Mapping[str, int], types: list[str]) -> str:
    """Print the first few of the types that are at fault."""
    return printable({name: resource[name] for name in types[:_TYPES_SHOWN]})


def _hint(name: str, error: str) -> str:
    if name == "cpu":
        return "processors are named vcore"
    return _HINTS[error]
