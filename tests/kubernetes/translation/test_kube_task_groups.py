"""Task groups and scheduling policy. Source: YuniKorn's user guide on gang scheduling."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.translation.task_groups import (
    GROUPS_LIMIT,
    MEMBERS_LIMIT,
    Policy,
    policy,
    task_groups,
    total_amounts,
)

GROUP: dict[str, Any] = {
    "name": "workers",
    "minMember": 3,
    "minResource": {"cpu": "500m", "memory": "1Gi"},
}


def changed(**fields: Any) -> str:
    return json.dumps([{**GROUP, **fields}])


def test_all_fields_of_a_group_are_kept_as_written() -> None:
    fields = {
        "labels": {"tier": "batch"},
        "annotations": {"note": "x"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 5}],
        "affinity": {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": {"matchFields": []}}
                ]
            }
        },
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
    }
    (group,), findings = task_groups(changed(**fields))
    assert findings == ()
    assert (group.name, group.min_member) == ("workers", 3)
    assert group.min_resource == {"cpu": "500m", "memory": "1Gi"}
    assert group.labels == fields["labels"]
    assert group.annotations == fields["annotations"]
    assert group.node_selector == fields["nodeSelector"]
    assert list(group.tolerations) == fields["tolerations"]
    assert group.affinity == fields["affinity"]
    assert list(group.topology_spread_constraints) == fields["topologySpreadConstraints"]


def test_amounts_of_members_and_of_the_whole_gang() -> None:
    text = json.dumps(
        [
            GROUP,
            {"name": "driver", "minMember": 1, "minResource": {"cpu": 2, "hugepages-2Mi": "4Mi"}},
        ]
    )
    groups, _ = task_groups(text)
    assert groups[0].amounts() == {"vcore": 500, "memory": 1024**3, "pods": 1}
    assert total_amounts(groups) == {
        "vcore": 3500,
        "memory": 3 * 1024**3,
        "hugepages-2Mi": 4 * 1024**2,
        "pods": 4,
    }


def test_names_of_fields_are_read_in_any_case_and_null_is_absent() -> None:
    text = (
        '[{"NAME": "w", "minmember": 2, "MinResource": {"cpu": "1"},'
        ' "affinity": null, "labels": null, "tolerations": null}]'
    )
    (group,), findings = task_groups(text)
    assert (group.name, group.min_member, group.affinity, findings) == ("w", 2, {}, ())


def test_a_misspelt_field_is_told_with_those_that_exist() -> None:
    _, (finding,) = task_groups(changed(nodeSelectors={"a": "b"}))
    assert "there is no field 'nodeSelectors'" in str(finding)
    assert "nodeSelector" in finding.advice
    assert not finding.error


@pytest.mark.parametrize(
    "text, where, advice",
    [
        ("", "task-groups:", "write a list"),
        ("{}", "task-groups:", "write a list"),
        ("[1]", "task-groups[0]:", "write a list"),
        ("[" * 100_000, "task-groups:", "write a list"),
        (changed(name=""), "[0].name", 'such as "workers"'),
        (changed(name=100), "[0].name", 'such as "workers"'),
        (changed(name="a\nb"), "[0].name", "printable"),
        (changed(name="a" * 257), "[0].name", "at most 256"),
        (changed(minMember=0), "[0].minMember", "above 0"),
        (changed(minMember=-2), "[0].minMember", "above 0"),
        (changed(minMember="string"), "[0].minMember", "without quotes"),
        (changed(minMember=1.5), "[0].minMember", "whole number"),
        (changed(minMember=True), "[0].minMember", "whole number"),
        (changed(minMember=None), "[0].minMember: is missing", "above 0"),
        (changed(minMember=MEMBERS_LIMIT + 1), "10001 members", "at most 10000"),
        (changed(minResource=None), "[0].minResource: is missing", "what one member needs"),
        (changed(minResource=[]), "[0].minResource", "what one member needs"),
        (changed(minResource={"cpu": "300A"}), "[0].minResource.cpu", "such as 4, 500m or 8Gi"),
        (changed(minResource={"cpu": "-1"}), "[0].minResource.cpu", "write 0 or more"),
        (changed(minResource={"cpu": True}), "[0].minResource.cpu", "such as 4, 500m or 8Gi"),
        (changed(nodeSelector={"locate": 1}), "[0].nodeSelector.locate", "in quotes"),
        (changed(nodeSelector="west"), "[0].nodeSelector", '{"key": "value"}'),
        (changed(labels={"a": None}), "[0].labels.a", "in quotes"),
        (changed(tolerations={}), "[0].tolerations", "as in a pod's spec"),
        (changed(tolerations=[{"key": 1}]), "[0].tolerations[0]", "as in a pod's spec"),
        (
            changed(tolerations=[{"key": "a", "operator": "ERR"}]),
            "[0].tolerations[0].operator",
            "write Equal or Exists",
        ),
        (
            changed(tolerations=[{"key": "a", "effect": "ERR"}]),
            "[0].tolerations[0].effect",
            "NoSchedule, PreferNoSchedule or NoExecute",
        ),
        (changed(affinity=[]), "[0].affinity", "as in a pod's spec"),
        (
            changed(
                affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": 1}}
            ),
            "[0].affinity",
            "as in a pod's spec",
        ),
        (
            changed(topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "zone"}]),
            "[0].topologySpreadConstraints[0].maxSkew",
            "1 or more",
        ),
        (
            changed(topologySpreadConstraints=[{"maxSkew": 1}]),
            "[0].topologySpreadConstraints[0].topologyKey",
            "label of nodes",
        ),
        (json.dumps([GROUP, GROUP]), "[1].name", "rename one"),
        (json.dumps([GROUP] * (GROUPS_LIMIT + 1)), "257 groups", "at most 256"),
        (json.dumps([{**GROUP, "minMember": 10**40}]), "task-groups", ""),
    ],
)
def test_a_wrong_definition_is_refused_with_the_place_and_what_to_write(
    text: str, where: str, advice: str
) -> None:
    with pytest.raises(ObjectError) as caught:
        task_groups(text)
    told = str(caught.value)
    assert where in told
    assert advice in told
    assert "annotation yunikorn.apache.org/task-groups" in told
    assert "\n" not in told
    assert len(told) < 500


@pytest.mark.parametrize(
    "text, expected, told",
    [
        ("", Policy(), 0),
        ("placeholderTimeoutInSeconds=60 gangSchedulingStyle=Hard", Policy(60, "Hard"), 0),
        ("  gangSchedulingStyle=Soft   placeholderTimeoutInSeconds=0 ", Policy(0, "Soft"), 0),
        ("gangSchedulingStyle=hard", Policy(), 1),
        ("gangSchedulingStyle", Policy(), 1),
        ("placeholderTimeoutInSeconds=soon gangSchedulingStyle=Hard", Policy(0, "Hard"), 1),
        ("placeholderTimeoutInSeconds=-5", Policy(), 1),
        ("placeholderTimeoutInSeconds=" + "9" * 4_400, Policy(), 1),
        ("timeout=60", Policy(), 1),
        ("placeholderTimeoutInSeconds=60,gangSchedulingStyle=Hard", Policy(), 1),
        ("x " * 1_000, Policy(), 10),
    ],
)
def test_words_of_the_policy_count_one_by_one(text: str, expected: Policy, told: int) -> None:
    found, findings = policy(text)
    assert found == expected
    assert len(findings) == told
    assert all("schedulingPolicyParameters" in each.where for each in findings)
    assert all("write" in each.advice for each in findings)
