"""Selectors of pods and nodes, worked out once so that matching them is cheap.

Sources: the documentation of Kubernetes, "Labels and Selectors" and "Assigning Pods to Nodes". An
expression that is not valid (an unknown operator, values where none belong) matches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from remuda_kubernetes.objects.metadata import LabelSelector, LabelSelectorRequirement
from remuda_kubernetes.objects.pods import (
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)

Labels = Mapping[str, str]
Pair = tuple[str, str]
# (operator, key, values in order); "never" stands for what is not valid.
Requirement = tuple[str, str, tuple[str, ...]]

_IN: Final = "In"
_NOT_IN: Final = "NotIn"
_EXISTS: Final = "Exists"
_ABSENT: Final = "DoesNotExist"
_GREATER: Final = "Gt"
_LESS: Final = "Lt"
_NEVER: Final = "never"
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_LARGEST: Final = 2**63 - 1
_NAME_FIELD: Final = "metadata.name"


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector of labels: ``equal`` pairs and all other requirements must hold.

    Equal selectors compare equal however they were written.
    """

    equal: tuple[Pair, ...] = ()
    others: tuple[Requirement, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Whether labels match."""
        for key, value in self.equal:
            if labels.get(key) != value:
                return False
        for requirement in self.others:
            if not _holds(requirement, labels):
                return False
        return True

    def alternatives(self) -> tuple[tuple[Pair, ...], ...]:
        """Return sets of labels: whatever matches has at least one label of each set."""
        single = tuple((pair,) for pair in self.equal)
        several = tuple(
            tuple((key, value) for value in values)
            for operator, key, values in self.others
            if operator == _IN
        )
        return single + several

    def keys(self) -> Iterable[str]:
        """Return the keys of labels that decide."""
        yield from (key for key, _ in self.equal)
        yield from (key for _, key, _ in self.others)


NOTHING: Final = Selector(others=((_NEVER, "", ()),))


def compile_selector(selector: LabelSelector | None, more: Iterable[Requirement] = ()) -> Selector:
    """Return a selector with further requirements added. None matches nothing, {} everything."""
    if selector is None:
        return NOTHING
    found: list[Requirement] = [
        (_IN, key, (value,)) for key, value in (selector.match_labels or {}).items()
    ]
    found += [_requirement(each) for each in selector.match_expressions or ()]
    found += more
    return _selector(found)


def equal_selector(pairs: Mapping[str, str]) -> Selector:
    """Return the selector of labels that must all be equal."""
    return Selector(equal=tuple(sorted(pairs.items())))


def both(one: Selector, other: Selector) -> Selector:
    """Return the selector of what two selectors both match."""
    return Selector(
        tuple(sorted({*one.equal, *other.equal})), tuple(sorted({*one.others, *other.others}))
    )


def _selector(requirements: Iterable[Requirement]) -> Selector:
    equal: set[Pair] = set()
    others: set[Requirement] = set()
    for operator, key, values in requirements:
        if operator == _IN and len(values) == 1:
            equal.add((key, values[0]))
        else:
            others.add((operator, key, values))
    return Selector(tuple(sorted(equal)), tuple(sorted(others)))


def key_requirements(
    keys: Iterable[str] | None, unlike: Iterable[str] | None, labels: Labels
) -> list[Requirement]:
    """Return what matchLabelKeys and mismatchLabelKeys add, given the labels of the pod."""
    more: list[Requirement] = [(_IN, key, (labels[key],)) for key in keys or () if key in labels]
    more += [(_NOT_IN, key, (labels[key],)) for key in unlike or () if key in labels]
    return more


def _requirement(
    expression: LabelSelectorRequirement | NodeSelectorRequirement,
) -> Requirement:
    operator, values = expression.operator, tuple(sorted(set(expression.values or ())))
    if operator in {_IN, _NOT_IN}:
        valid = bool(values)
    else:
        valid = operator in {_EXISTS, _ABSENT} and not values
    return (operator, expression.key, values) if valid else (_NEVER, expression.key, ())


def _holds(requirement: Requirement, labels: Labels) -> bool:
    operator, key, values = requirement
    value = labels.get(key)
    if operator == _IN:
        return value is not None and value in values
    if operator == _NOT_IN:
        return value is None or value not in values
    if operator == _EXISTS:
        return value is not None
    if operator == _ABSENT:
        return value is None
    if value is None or operator == _NEVER:
        return False
    number, bound = _integer(value), _integer(values[0])
    if number is None or bound is None:
        return False
    return number > bound if operator == _GREATER else number < bound


def _integer(text: str) -> int | None:
    """Return an integer of 64 bits; None if the text is no such."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -_LARGEST - 1 <= number <= _LARGEST else None


# ------------------------------------------------------------------------------------- nodes


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """Requirements on the labels and the name of a node that must all hold."""

    labels: tuple[Requirement, ...]
    names: tuple[Requirement, ...]

    def matches(self, labels: Labels, name: str) -> bool:
        """Whether a node matches."""
        for requirement in self.labels:
            if not _holds(requirement, labels):
                return False
        return all(_holds(requirement, {_NAME_FIELD: name}) for requirement in self.names)


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """The nodes that something may use: all pairs, and one of the terms unless there are none."""

    pairs: tuple[Pair, ...] = ()
    terms: tuple[NodeTerm, ...] | None = None

    def matches(self, labels: Labels, name: str) -> bool:
        """Whether a node is one of them."""
        for key, value in self.pairs:
            if labels.get(key) != value:
                return False
        if self.terms is None:
            return True
        return any(term.matches(labels, name) for term in self.terms)


def pod_choice(
    selector: Mapping[str, str] | None, affinity: NodeAffinity | None
) -> NodeChoice | None:
    """Return the nodes that a pod's selector and node affinity allow; None: all of them."""
    required = affinity.required if affinity is not None else None
    if not selector and required is None:
        return None
    terms = None if required is None else _terms(required)
    return NodeChoice(tuple(sorted((selector or {}).items())), terms)


def node_choice(selector: NodeSelector | None) -> NodeChoice | None:
    """Return the nodes of a node selector; None: all of them."""
    return None if selector is None else NodeChoice(terms=_terms(selector))


def _terms(selector: NodeSelector) -> tuple[NodeTerm, ...]:
    """Return the terms that can match: one without any requirement matches no node."""
    terms = selector.node_selector_terms or ()
    return tuple(_term(each) for each in terms if each.match_expressions or each.match_fields)


def _term(term: NodeSelectorTerm) -> NodeTerm:
    return NodeTerm(
        tuple(_node_requirement(each) for each in term.match_expressions or ()),
        tuple(_name_requirement(each) for each in term.match_fields or ()),
    )


def _node_requirement(expression: NodeSelectorRequirement) -> Requirement:
    if expression.operator not in {_GREATER, _LESS}:
        return _requirement(expression)
    values = expression.values or ()
    if len(values) != 1 or _integer(values[0]) is None:
        return (_NEVER, expression.key, ())
    return (expression.operator, expression.key, values)


def _name_requirement(expression: NodeSelectorRequirement) -> Requirement:
    """Return a requirement on a field: only the name, and that with exactly one value."""
    values = expression.values or ()
    if expression.key != _NAME_FIELD or len(values) != 1:
        return (_NEVER, expression.key, ())
    return _requirement(expression)
