from __future__ import annotations

import pytest

from remuda_kubernetes.shim.findings import for_people


@pytest.mark.parametrize(
    "text,expected",
    [
        (
            (
                "Request 'k' does not fit in queue 'root.team' (requested map[memory:1073741824 "
                "pods:1 vcore:2000], available map[memory:5368709120 pods:327 vcore:1000])"
            ),
            "queue root.team lacks cpu: 2 wanted, 1 left",
        ),
        (
            (
                "Request 'k' does not fit in queue 'root.ml' (requested map[memory:1610612736 "
                "nvidia.com/gpu:4 vcore:500], available map[memory:1073741824 nvidia.com/gpu:1])"
            ),
            "queue root.ml lacks memory: 1.5Gi wanted, 1Gi left, nvidia.com/gpu: 4 wanted, 1 left",
        ),
        (
            (
                "Request 'k' exceeds the available user quota (requested map[vcore:1500], "
                "available map[vcore:-500])"
            ),
            "the quota of its user lacks cpu: 1500m wanted, -500m left",
        ),
        ("Request 'k' has become schedulable in queue 'root.a'", ""),
        ("Request 'k' fits in the available user quota", ""),
        ("Predicate failed for request 'k' with message: 'no'", None),
        ("something new", "something new"),
        (
            "Request 'k' does not fit in queue 'root.a' (requested map[], available map[])",
            "queue root.a lacks room",
        ),
    ],
)
def test_findings_are_told_in_the_words_of_people(text: str, expected: str | None) -> None:
    assert for_people(text) == expected
