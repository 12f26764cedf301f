"""What the doctor says of pods that no API server of the tests has."""

from __future__ import annotations

import msgspec
import pytest

from remuda_kubernetes.api.discovery import Served
from remuda_kubernetes.doctor import pods
from remuda_kubernetes.doctor.findings import Severity
from remuda_kubernetes.doctor.sight import Sight
from remuda_kubernetes.objects.pods import Pod
from tests.kubernetes.end_to_end.manifests import pod_manifest


@pytest.mark.remuda_rule("EXT-155")
@pytest.mark.parametrize("node, count", [("", 1), ("n1", 0)])
def test_scheduling_gates_are_a_note_while_a_pod_has_no_node(node: str, count: int) -> None:
    content = pod_manifest("p", queue="", app="a")
    content["metadata"] |= {"namespace": "default", "uid": "u"}
    content["spec"] |= {"schedulingGates": [{"name": "example.com/quota"}], "nodeName": node}
    sight = Sight("yunikorn", 0, Served("v1.30.0", {}), pods=[msgspec.convert(content, Pod)])
    found = list(pods.findings(sight))
    assert [(each.severity, each.where) for each in found] == [
        (Severity.NOTE, "Pod default/p")
    ] * count
    assert all(each.problem.endswith("gates are removed: example.com/quota") for each in found)
