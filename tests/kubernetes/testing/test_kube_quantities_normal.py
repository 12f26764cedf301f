"""Normal forms of quantities and quality classes, by Kubernetes' documentation."""

from __future__ import annotations

from typing import Any

import pytest

from remuda_kubernetes.testing.amounts import normal, quality_class
from remuda_kubernetes.testing.statuses import Refusal


@pytest.mark.parametrize(
    "given, expected",
    [
        ("7.5Gi", "7680Mi"),
        ("1024Mi", "1Gi"),
        ("1.5", "1500m"),
        ("0.1", "100m"),
        ("1000m", "1"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("100", "100"),
        (4, "4"),
        ("0", "0"),
        ("2000k", "2M"),
        ("1e3", "1e3"),
        ("512", "512"),
        ("0.5Ki", "512"),
    ],
)
def test_a_quantity_is_written_in_its_normal_form(given: Any, expected: str) -> None:
    assert normal(given) == expected


@pytest.mark.parametrize("given", ["abc", "", "1Zi", "1.2.3", None, True, [], "1 Gi"])
def test_what_is_no_quantity_is_refused(given: Any) -> None:
    with pytest.raises(Refusal, match="quantities must match"):
        normal(given)


def container(requests: dict[str, str], limits: dict[str, str]) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests, "limits": limits}}


FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    "containers, expected",
    [
        ([container(FULL, FULL)], "Guaranteed"),
        ([container({}, FULL)], "Guaranteed"),
        ([container({"cpu": "1000m", "memory": "1024Mi"}, FULL)], "Guaranteed"),
        ([container(FULL, {})], "Burstable"),
        ([container(FULL, FULL), container({}, {})], "Burstable"),
        ([container({}, {"cpu": "1"})], "Burstable"),
        ([container({}, {})], "BestEffort"),
        ([container({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "1"})], "BestEffort"),
        ([container({"cpu": "0"}, {})], "BestEffort"),
    ],
)
def test_the_quality_class_follows_from_requests_and_limits(
    containers: list[dict[str, Any]], expected: str
) -> None:
    assert quality_class({"containers": containers}) == expected
