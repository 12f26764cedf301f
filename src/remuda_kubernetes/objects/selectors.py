"""Which labels a selector matches.

Source: the documentation of Kubernetes, "Labels and Selectors". A selector with an operator that
does not exist, or with values where none belong, matches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from remuda_kubernetes.objects.metadata import LabelSelector, LabelSelectorRequirement


def matches(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether labels match a selector. None matches nothing, an empty selector everything."""
    if selector is None:
        return False
    for key, value in (selector.match_labels or {}).items():
        if labels.get(key) != value:
            return False
    for each in selector.match_expressions or ():
        if not expression_matches(each, labels):
            return False
    return True


def expression_matches(expression: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    """Whether labels match one expression of a label selector."""
    values = expression.values or ()
    found = labels.get(expression.key)
    if expression.operator == "In":
        return bool(values) and found is not None and found in values
    if expression.operator == "NotIn":
        return bool(values) and (found is None or found not in values)
    if expression.operator == "Exists":
        return not values and found is not None
    if expression.operator == "DoesNotExist":
        return not values and found is None
    return False
