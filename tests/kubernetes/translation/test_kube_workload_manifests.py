"""Workloads that other people wrote: the gangs that follow from their objects.

The sizes are written out here after reading the files, which are not part of the project; see
test_kube_manifests.py.
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import convert
from remuda_kubernetes.translation.workload_groups import groups_of
from remuda_kubernetes.translation.workloads import RULES, Workload
from tests.kubernetes.translation.test_kube_manifests import MANIFESTS, documents

pytestmark = pytest.mark.skipif(not MANIFESTS.is_dir(), reason=f"no manifests in {MANIFESTS}")

KUEUE = "kueue/site__static__examples__jobs__"
SHIM = "yk-k8shim/deployments__examples__"


def workload(content: dict[str, Any]) -> Workload:
    group, _, version = content["apiVersion"].partition("/")
    (rule,) = [each for each in RULES if (each.group, each.kind) == (group, content["kind"])]
    name = content["metadata"].get("name", "made")
    return Workload(rule=rule, namespace="team", name=name, version=version)


def cluster_of(content: dict[str, Any]) -> dict[str, Any]:
    """What the operator of Ray makes of a RayJob."""
    if content["kind"] != "RayJob":
        return content
    return {**content, "kind": "RayCluster", "spec": content["spec"]["rayClusterSpec"]}


@pytest.mark.remuda_rule("EXT-139")
@pytest.mark.parametrize(
    "name,expected",
    [
        (f"{KUEUE}sample-job.yaml", {"members": (3, 1000)}),
        (f"{KUEUE}sample-job-partial-admission.yaml", {"members": (5, 1000)}),
        (f"{KUEUE}sample-jobset.yaml", {"workers": (1, 1000), "driver": (1, 2000)}),
        (f"{KUEUE}sample-pytorchjob.yaml", {"master": (1, 1000), "worker": (1, 1000)}),
        (f"{KUEUE}sample-tfjob.yaml", {"ps": (1, 1000), "worker": (2, 1000)}),
        (f"{KUEUE}sample-mpijob.yaml", {"launcher": (1, 1000), "worker": (2, 1000)}),
        (f"{KUEUE}ray-cluster-sample.yaml", {"headgroup": (1, 1000), "small-group": (1, 1000)}),
        (
            f"{KUEUE}ray-job-autoscaling-sample.yaml",
            {"headgroup": (1, 1000), "small-group": (1, 1000)},
        ),
        (f"{KUEUE}sample-sparkapplication.yaml", {"driver": (1, 1000), "executor": (2, 1000)}),
        # The amount is that of an older version, in fractions.
        (
            "volcano/example__kubecon-2019-china__spark-sample__spark-pi.yaml",
            {"driver": (1, 100), "executor": (15, 1000)},
        ),
        (f"{SHIM}mpioperator__Pi__pi.yaml", {"launcher": (1, None), "worker": (2, None)}),
        (f"{SHIM}tfjob__tf-job-mnist.yaml", {"ps": (2, None), "worker": (4, None)}),
    ],
)
def test_the_gang_is_what_the_author_wrote(
    name: str, expected: dict[str, tuple[int, int | None]]
) -> None:
    (content,) = [
        each for each in documents(name) if each["kind"].endswith(("Job", "Set", "Cluster", "tion"))
    ]
    content = cluster_of(content)
    stranger = convert(Pod, {"metadata": {"name": "p", "namespace": "team", "uid": "u"}})
    groups, text = groups_of(workload(content), content, stranger)
    assert {each.name: each.min_member for each in groups} == {
        name: count for name, (count, _) in expected.items()
    }
    for each in groups:
        cpu = expected[each.name][1]
        assert cpu is None or each.amounts()["vcore"] == cpu
    assert text


def test_every_workload_of_every_author_makes_sense() -> None:
    seen = set()
    for path in sorted(MANIFESTS.rglob("*.y*ml")):
        try:
            found = documents(str(path.relative_to(MANIFESTS)))
        except yaml.YAMLError:
            continue  # A template of a program, no YAML.
        for each in found:
            if not isinstance(each, dict) or "apiVersion" not in each:
                continue
            content = cluster_of(each)
            group = content["apiVersion"].partition("/")[0]
            if not any((rule.group, rule.kind) == (group, content["kind"]) for rule in RULES):
                continue
            stranger = convert(Pod, {"metadata": {"name": "p", "namespace": "t", "uid": "u"}})
            groups_of(workload(content), content, stranger)
            seen.add(content["kind"])
    assert seen >= {"Job", "JobSet", "RayCluster", "PyTorchJob", "TFJob", "MPIJob", "XGBoostJob"}
