"""Quotas of namespaces: annotations to tags (chapter 20 section 9, RES-10)."""

from __future__ import annotations

import json

import pytest

from remuda_kubernetes.objects.cluster import Namespace
from remuda_kubernetes.objects.values import convert
from remuda_kubernetes.translation.namespaces import NamespaceLimits, namespace_limits

DOMAIN = "yunikorn.apache.org/"


def limits(**annotations: str) -> NamespaceLimits:
    given = {DOMAIN + name.replace("_", "."): text for name, text in annotations.items()}
    return namespace_limits(convert(Namespace, {"metadata": {"name": "dev", "annotations": given}}))


def test_quantities_of_kubernetes_become_amounts_of_the_scheduler() -> None:
    found = limits(
        namespace_quota='{"cpu": "1500m", "memory": "2Gi", "nvidia.com/gpu": 4}',
        namespace_guaranteed='{"cpu": "1"}',
        namespace_maxApps="20",
        namespace_parentqueue="root.teams",
    )
    assert found.findings == ()
    tags = found.tags()
    assert json.loads(tags.pop("namespace.resourcequota")) == {
        "resources": {
            "vcore": {"value": 1500},
            "memory": {"value": 2 * 1024**3},
            "nvidia.com/gpu": {"value": 4},
        }
    }
    assert json.loads(tags.pop("namespace.resourceguaranteed")) == {
        "resources": {"vcore": {"value": 1000}}
    }
    assert tags == {"namespace.resourcemaxapps": "20", "namespace.parentqueue": "root.teams"}


def test_the_older_parent_annotation_is_read() -> None:
    assert limits(parentqueue="root.old").parent_queue == "root.old"
    assert limits(parentqueue="root.old", namespace_parentqueue="root.new").parent_queue == (
        "root.new"
    )


def test_the_older_quota_annotations_count_alone() -> None:
    found = limits(namespace_max_cpu="2", namespace_max_memory="1G")
    assert found.quota == {"vcore": 2000, "memory": 10**9}
    assert found.findings == ()


def test_beside_the_newer_quota_the_older_ones_do_not_count_and_are_told() -> None:
    found = limits(namespace_quota='{"cpu": "8"}', namespace_max_memory="1G")
    assert found.quota == {"vcore": 8000}
    (finding,) = found.findings
    assert "namespace.max.memory" in str(finding)
    assert "remove it" in str(finding)


def test_a_namespace_without_annotations_limits_nothing() -> None:
    assert limits().tags() == {}
    assert limits(namespace_quota="").tags() == {}


@pytest.mark.parametrize(
    "annotations, in_text",
    [
        ({"namespace_quota": "8"}, "namespace.quota"),
        ({"namespace_quota": "{}"}, "limits nothing"),
        ({"namespace_quota": '{"cpu": "lots"}'}, "cpu: 'lots' is no quantity"),
        ({"namespace_quota": '{"cpu": "-1"}'}, "negative"),
        ({"namespace_quota": '{"cpu": ["1"]}'}, "namespace.quota"),
        ({"namespace_quota": '{"cpu": "1",'}, "namespace.quota"),
        ({"namespace_quota": '{"a":' * 50_000}, "namespace.quota"),
        ({"namespace_guaranteed": '{"memory": "1Qi"}'}, "namespace.guaranteed"),
        ({"namespace_max_cpu": "many"}, "namespace.max.cpu"),
        ({"namespace_maxApps": "0"}, "write a whole number above 0"),
        ({"namespace_maxApps": "-1"}, "namespace.maxApps"),
        ({"namespace_maxApps": "1.5"}, "namespace.maxApps"),
        ({"namespace_maxApps": "9" * 5_000}, "namespace.maxApps"),
        ({"namespace_parentqueue": "root\nteams"}, "write a path such as root.teams"),
    ],
)
def test_a_wrong_value_is_told_and_nothing_else_suffers(
    annotations: dict[str, str], in_text: str
) -> None:
    right = {
        "namespace_quota": '{"cpu": "8"}',
        "namespace_guaranteed": '{"cpu": "4"}',
        "namespace_maxApps": "5",
        "namespace_parentqueue": "root.p",
    }
    if "namespace_max_cpu" in annotations:
        del right["namespace_quota"]
    found = limits(**{**right, **annotations})
    (finding,) = found.findings
    assert in_text in str(finding)
    assert len(str(finding)) < 500
    wrong = next(iter(annotations))
    kept = {
        "namespace_quota": found.quota == {"vcore": 8000},
        "namespace_guaranteed": found.guaranteed == {"vcore": 4000},
        "namespace_maxApps": found.max_applications == 5,
        "namespace_parentqueue": found.parent_queue == "root.p",
    }
    for name in right:
        assert kept[name] is (name != wrong), name
