"""The admission controller and the shim agree on the application of a workload."""

from __future__ import annotations

from typing import Any

import pytest

from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import convert
from remuda_kubernetes.translation.metadata import derived_workload, task_of
from remuda_kubernetes.translation.workloads import NAMES
from tests.kubernetes.admission.asking import APP_ID, QUEUE, policy
from tests.kubernetes.admission.asking import stored as admitted

SETTING = {"service.workloads": "all"}

OWNERS = {
    "job": ("batch/v1", "Job", {}),
    "ray": ("ray.io/v1", "RayCluster", {"ray.io/group": "headgroup"}),
    "jobset": ("batch/v1", "Job", {"jobset.sigs.k8s.io/jobset-name": "set"}),
    "pytorch": ("kubeflow.org/v1", "PyTorchJob", {}),
}


def given(kind: str, **labels: str) -> dict[str, Any]:
    """A pod as its controller creates it: with a name to be generated and no uid."""
    api_version, owner, marks = OWNERS[kind]
    reference = {"apiVersion": api_version, "kind": owner, "name": "train", "uid": "u-1"}
    return {
        "metadata": {
            "generateName": "train-",
            "labels": {**marks, **labels},
            "ownerReferences": [{**reference, "controller": True}],
        },
        "spec": {"containers": [{"name": "c"}]},
    }


def stored(content: dict[str, Any]) -> Pod:
    metadata = {**content["metadata"], "name": "train-x", "namespace": "team", "uid": "pod-1"}
    return convert(Pod, {**content, "metadata": metadata})


@pytest.mark.remuda_rule("EXT-138", "EXT-140")
@pytest.mark.parametrize("kind", OWNERS)
def test_the_id_that_is_written_is_the_one_that_is_derived(kind: str) -> None:
    without = stored(given(kind))
    found = admitted(given(kind), under=policy(**SETTING))
    assert found["metadata"]["labels"][QUEUE] == "root.default"
    with_label = stored(found)
    assert with_label.labels[APP_ID] == task_of(without, {}, workloads=NAMES).application_id
    # It is no reason not to derive the gang.
    assert derived_workload(with_label, NAMES) == derived_workload(without, NAMES)
    assert task_of(with_label, {}, workloads=NAMES).findings == ()


@pytest.mark.remuda_rule("EXT-138")
def test_without_the_setting_the_id_is_that_of_the_namespace() -> None:
    found = admitted(given("job"))
    assert found["metadata"]["labels"][APP_ID] == "yunikorn-team-autogen"


def test_an_id_of_the_pod_itself_stays() -> None:
    found = admitted(given("job", **{APP_ID: "mine"}), under=policy(**SETTING))
    assert found["metadata"]["labels"][APP_ID] == "mine"
