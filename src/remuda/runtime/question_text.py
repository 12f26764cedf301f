"""Questions of predicates in a few words, for whoever has to find out how two of them differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from remuda.core.ports import NodesQuestion, PreemptionItem, PreemptionQuestion

AnyQuestion: TypeAlias = NodesQuestion | PreemptionQuestion

# Nodes or victims that are named.
_NAMED: Final = 8


def named(question: AnyQuestion, other: AnyQuestion | None = None) -> str:
    """Return a question in a few words.

    Of one about several nodes with victims the first is told that the ``other`` question does not
    have at its place.
    """
    if isinstance(question, NodesQuestion):
        purpose = "to run" if question.allocate else "to reserve"
        ask = f"'{question.allocation_key}' of '{question.application_id}' ('{question.rm_id}')"
        return f"{ask} {purpose} on {_listed(question.node_ids)}"
    count = len(question.items)
    place = _first_difference(question, other) if isinstance(other, PreemptionQuestion) else 0
    item = _item(question.items[place]) if place < count else "nothing"
    until = ", up to the first success" if question.first_success else ""
    return f"{item} ('{question.rm_id}', node {place + 1} of {count}{until})"


def _item(item: PreemptionItem) -> str:
    victims = _listed(item.victims) if item.victims else "nobody"
    return f"'{item.allocation_key}' on {item.node_id} without {victims} from {item.start_index} on"


def _first_difference(question: PreemptionQuestion, other: PreemptionQuestion) -> int:
    """Return at which place two questions differ first, 0 if the items are the same."""
    pairs = enumerate(zip(question.items, other.items, strict=False))
    shorter = min(len(question.items), len(other.items))
    rest = 0 if len(question.items) == len(other.items) else shorter
    return next((place for place, (one, two) in pairs if one != two), rest)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
