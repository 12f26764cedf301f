"""Selectors, by Kubernetes' documentation "Labels and Selectors" and "Field Selectors"."""

from __future__ import annotations

from typing import Any

import pytest

from remuda_kubernetes.testing.selectors import matcher
from remuda_kubernetes.testing.statuses import Refusal


def item(**labels: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "a", "namespace": "x", "labels": labels},
        "spec": {"nodeName": "n1"},
        "status": {"phase": "Running"},
    }


PRODUCTION = item(environment="production", tier="frontend")


@pytest.mark.parametrize(
    "selector, selected",
    [
        ("environment=production", True),
        ("environment==production", True),
        ("environment = production", True),
        ("tier!=frontend", False),
        ("tier!=backend", True),
        ("absent!=anything", True),
        ("environment in (production, qa)", True),
        ("environment in (qa)", False),
        ("tier notin (frontend, backend)", False),
        ("absent notin (frontend, backend)", True),
        ("environment", True),
        ("!environment", False),
        ("!partition", True),
        ("environment=production,tier!=frontend", False),
        ("environment in (production,qa),tier in (frontend)", True),
        ("environment=", False),
        ("", True),
    ],
)
def test_labels_are_selected_as_documented(selector: str, selected: bool) -> None:
    matches = matcher("pods", selector, "")
    assert (matches is None or matches(PRODUCTION)) is selected


@pytest.mark.parametrize("value, selected", [("3", True), ("2", False), ("x", False)])
def test_a_label_can_be_compared_as_a_number(value: str, selected: bool) -> None:
    matches = matcher("nodes", "count>2", "")
    assert matches is not None
    assert matches(item(count=value)) is selected


@pytest.mark.parametrize("selector", ["a b c", "=x", "a in x", "a=(b", "-a=b"])
def test_a_selector_that_cannot_be_read_is_refused(selector: str) -> None:
    with pytest.raises(Refusal, match="unable to parse requirement"):
        matcher("pods", selector, "")


@pytest.mark.parametrize(
    "selector, selected",
    [
        ("metadata.name=a", True),
        ("metadata.namespace!=x", False),
        ("spec.nodeName=n1,status.phase=Running", True),
        ("spec.nodeName=", False),
        ("status.phase!=Running", False),
        ("spec.schedulerName=", True),
    ],
)
def test_fields_are_selected_as_documented(selector: str, selected: bool) -> None:
    matches = matcher("pods", "", selector)
    assert matches is not None
    assert matches(PRODUCTION) is selected


def test_a_node_without_the_field_is_not_unschedulable() -> None:
    matches = matcher("nodes", "", "spec.unschedulable=false")
    assert matches is not None
    assert matches({"metadata": {}, "spec": {}})
    assert not matches({"metadata": {}, "spec": {"unschedulable": True}})


def test_a_field_of_another_kind_is_refused() -> None:
    with pytest.raises(Refusal, match="field label not supported"):
        matcher("nodes", "", "spec.nodeName=n1")
