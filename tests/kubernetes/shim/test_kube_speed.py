"""The shim decides so many pods a second that a cluster does not wait for it.

Processor time counts, since other programs of a busy machine take none of it. The bounds are some
five times what a pod was measured to need (docs/benchmarks.md).
"""

from __future__ import annotations

import pytest

from tools.kube.scale.alone import measure
from tools.kube.scale.objects import Size

# In microseconds of processor time for each pod, with all predicates.
LIMIT = 1_000
APART_LIMIT = 2_000


@pytest.mark.timed
def test_a_thousand_pods_a_second_are_decided_and_bound() -> None:
    found = measure(Size(nodes=1_000, pods=2_000))
    assert found.shim < LIMIT
    # Equal pods are asked about together: not once a pod.
    assert found.questions < found.pods / 4


@pytest.mark.timed
def test_five_hundred_pods_a_second_that_keep_apart_are_decided_and_bound() -> None:
    found = measure(Size(nodes=1_000, pods=1_000, apart=True))
    assert found.shim < APART_LIMIT
