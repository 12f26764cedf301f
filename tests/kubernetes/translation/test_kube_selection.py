"""Whose a pod is. Source: design notes of the shim's duties ("Which pods"), issue 22."""

from __future__ import annotations

import pytest

from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import convert
from remuda_kubernetes.translation.selection import Side, side_of

GATED = [{"name": "example.com/quota"}]


@pytest.mark.parametrize(
    "spec, phase, expected",
    [
        ({"schedulerName": "yunikorn"}, "Pending", Side.OURS),
        ({"schedulerName": "yunikorn"}, "", Side.OURS),
        ({"schedulerName": "yunikorn", "nodeName": "n1"}, "Running", Side.OURS),
        ({"schedulerName": "yunikorn", "nodeName": "n1"}, "Succeeded", Side.NOTHING),
        ({"schedulerName": "yunikorn"}, "Failed", Side.NOTHING),
        ({"schedulerName": "yunikorn", "schedulingGates": GATED}, "Pending", Side.NOTHING),
        ({"schedulerName": "yunikorn", "schedulingGates": []}, "Pending", Side.OURS),
        ({"schedulerName": "batch"}, "Pending", Side.OURS),
        ({"schedulerName": "default-scheduler"}, "Pending", Side.NOTHING),
        ({"schedulerName": "default-scheduler", "nodeName": "n1"}, "Running", Side.FOREIGN),
        ({"schedulerName": "default-scheduler", "nodeName": "n1"}, "Pending", Side.FOREIGN),
        ({"schedulerName": "default-scheduler", "nodeName": "n1"}, "Unknown", Side.FOREIGN),
        ({"schedulerName": "default-scheduler", "nodeName": "n1"}, "Failed", Side.NOTHING),
        ({"nodeName": "n1"}, "Running", Side.FOREIGN),
        ({}, "Pending", Side.NOTHING),
    ],
)
def test_the_name_of_the_scheduler_node_and_phase_decide_whose_a_pod_is(
    spec: dict[str, object], phase: str, expected: Side
) -> None:
    pod = convert(Pod, {"spec": spec, "status": {"phase": phase}})
    assert side_of(pod, ("yunikorn", "batch")) is expected


@pytest.mark.parametrize("node, expected", [("", Side.NOTHING), ("n1", Side.OURS)])
def test_a_pod_that_is_being_deleted_gets_no_node_but_keeps_its_room(
    node: str, expected: Side
) -> None:
    metadata = {"deletionTimestamp": "2026-11-25T20:15:58Z", "finalizers": ["example.com/x"]}
    spec = {"schedulerName": "yunikorn", "nodeName": node}
    assert side_of(convert(Pod, {"metadata": metadata, "spec": spec}), ("yunikorn",)) is expected
