"""What the doctor says of releases, and of kinds that an API server does not have."""

from __future__ import annotations

import pytest

from remuda_kubernetes.api.discovery import Served
from remuda_kubernetes.doctor import versions
from remuda_kubernetes.doctor.findings import Severity
from remuda_kubernetes.doctor.sight import Sight
from remuda_kubernetes.objects.kinds import NODE, POD, RESOURCE_CLAIM


def told(served: Served) -> list[tuple[Severity, str, str]]:
    """Severity, place and problem of each finding."""
    found = versions.findings(Sight("yunikorn", 0, served))
    return [(each.severity, each.where, each.problem) for each in found]


@pytest.mark.remuda_rule("EXT-150")
@pytest.mark.parametrize(
    "version, severity, word",
    [
        ("v1.19.16", Severity.ERROR, "older than 1.20"),
        ("v1.7.0", Severity.ERROR, "older than 1.20"),
        ("v1.21.0", Severity.NOTE, "expected to work"),
        ("v1.34.1+k3s1", Severity.NOTE, "expected to work"),
        ("v1.29.4-gke.100", Severity.NOTE, "expected to work"),
        ("v1.35.0", Severity.WARNING, "newer than 1.34"),
        ("v1.99999.0", Severity.NOTE, "does not say"),
        ("v2.0.0", Severity.NOTE, "does not say"),
        ("", Severity.NOTE, "does not say"),
        ("v1.x", Severity.NOTE, "does not say"),
    ],
)
def test_a_release_is_judged_by_its_number(version: str, severity: Severity, word: str) -> None:
    ((found, where, problem),) = told(Served(version, {}, eviction="v1"))
    assert (found, where) == (severity, f"API server {version}")
    assert word in problem


@pytest.mark.remuda_rule("EXT-150")
def test_nothing_is_said_of_the_release_that_is_tested() -> None:
    assert told(Served("v1.20.2", {}, eviction="v1")) == []


@pytest.mark.remuda_rule("EXT-150")
def test_kinds_that_are_missing_are_errors_if_nothing_works_without_them() -> None:
    found = told(Served("v1.20.2", {NODE: "v1"}, absent=(POD, RESOURCE_CLAIM), eviction="v1"))
    assert [(severity, where.split()[0]) for severity, where, _ in found] == [
        (Severity.ERROR, "Pod"),
        (Severity.NOTE, "ResourceClaim"),
    ]


@pytest.mark.remuda_rule("EXT-150")
def test_a_server_without_evictions_is_a_warning() -> None:
    ((severity, where, problem),) = told(Served("v1.20.2", {}))
    assert (severity, where) == (Severity.WARNING, "pods/eviction")
    assert "deleted against their budgets" in problem
