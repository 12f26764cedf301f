"""What is said of a whole partition, the order of problems, and the full example of chapter 10."""

from __future__ import annotations

import pytest

from remuda.base.errors import ERROR, WARNING, ConfigError
from remuda.config.load import Verdict, check_configuration, load_configuration
from remuda.config.schema import (
    BUILT_IN_TEXT,
    AccessList,
    Configuration,
    LimitConfig,
    PartitionConfig,
    PlacementRuleConfig,
    QueueConfig,
    TemplateConfig,
    built_in,
)
from tests.unit.config.examples import FULL
from tests.unit.config.verdicts import (
    broken,
    errors,
    odd,
    partition,
    partition_text,
    queue_text,
    root_text,
    warnings,
)

EVERYBODY = AccessList(everybody=True)


@pytest.mark.remuda_rule("SEED-183", "CFG-42", "CFG-46", "CFG-47", "PAR-2", "TPL-2")
def test_the_full_example() -> None:
    red = QueueConfig(
        name="red", maximum={"memory": 20_000_000_000}, guaranteed={"memory": 2_147_483_648}
    )
    blue = QueueConfig(name="blue", parent=True, properties={"application.sort.policy": "fair"})
    teams = QueueConfig(
        name="teams",
        parent=True,
        properties={"preemption.policy": "disabled", "priority.offset": "100"},
        queues=(red, blue),
    )
    root = QueueConfig(
        name="root",
        parent=True,
        submit_acl=EVERYBODY,
        properties={"application.sort.priority": "disabled"},
        template=TemplateConfig(
            max_applications=3, maximum={"memory": 8_000_000_000, "vcore": 4000}
        ),
        limits=(
            LimitConfig(users=("*",), maximum={"memory": 40_000_000_000}, description="all users"),
        ),
        queues=(QueueConfig(name="adhoc", max_applications=10), teams),
    )
    assert partition(FULL) == PartitionConfig(
        name="default",
        root=root,
        placement_rules=(
            PlacementRuleConfig("provided", create=True),
            PlacementRuleConfig("fixed", value="root.adhoc"),
        ),
        node_sort_policy="binpacking",
        node_sort_weights={"vcore": 2.0, "memory": 1.0},
    )
    assert odd(FULL) == []


@pytest.mark.remuda_rule("CFG-2", "CFG-5")
def test_the_built_in_configuration_is_what_its_text_says() -> None:
    assert load_configuration(BUILT_IN_TEXT) == built_in()
    assert check_configuration("") == Verdict(built_in(), ())
    rule = PlacementRuleConfig("tag", create=True, value="namespace")
    root = QueueConfig(name="root", parent=True, submit_acl=EVERYBODY)
    assert built_in().partitions == (PartitionConfig("default", root, (rule,)),)


@pytest.mark.remuda_rule("CHK-1")
def test_a_configuration_keeps_its_text() -> None:
    loaded = load_configuration(FULL)
    assert loaded.text == FULL
    assert isinstance(loaded, Configuration)


# ------------------------------------------------------------------------------------ the verdict


@pytest.mark.remuda_rule("CFG-5")
def test_a_verdict_has_errors_first_then_warnings_by_place() -> None:
    text = """\
partitions:
  - name: a
    usergroupresolver: {type: nis}
    queues:
      - {name: q, properties: {priority.offset: x}, resources: {max: {m: x}}}
      - {name: Q, properties: {priority.policy: x}}
"""
    verdict = check_configuration(text, "x")
    assert verdict.configuration is None
    assert [(found.severity, found.rule, found.line) for found in verdict.problems] == [
        (ERROR, "CFG-62", 6),
        (ERROR, "CFG-70", 5),
        (WARNING, "UGR-20", 3),
        (WARNING, "ACL-12", 5),
        (WARNING, "PRP-2", 5),
        (WARNING, "PRP-2", 6),
    ]
    with pytest.raises(ConfigError) as refused:
        load_configuration(text, "x")
    assert [found.rule for found in refused.value.problems] == ["CFG-62", "CFG-70"]


@pytest.mark.remuda_rule("CFG-5")
def test_warnings_alone_leave_a_text_valid() -> None:
    text = queue_text("properties: {priority.offset: x}")
    verdict = check_configuration(text)
    assert verdict.configuration == load_configuration(text)
    assert [found.severity for found in verdict.problems] == [WARNING]


def test_warnings_are_bounded_too() -> None:
    properties = ", ".join(
        f"{{name: q{n}, properties: {{priority.offset: x}}}}" for n in range(500)
    )
    assert len(warnings(root_text(f"queues: [{properties}]"))) == 200


ALL_STEPS = """\
partitions:
  - name: ok
    queues: []
  - name: OK
    limits: [{users: [a], maxapplications: 5}]
    nodesortpolicy: {type: Fair}
    placementrules:
      - {name: fixed, value: nope}
      - {name: a-b}
    queues:
      - name: root
        submitacl: a b c
        adminacl: a b c d
        maxapplications: 9
        resources: {max: {}}
        limits: [{users: [a], maxapplications: 4, maxresources: {m: 1}}]
        queues:
          - {name: a, maxapplications: 9, resources: {max: {m: x}}}
          - {name: A, maxapplications: 9}
          - name: c
            submitacl: a b c
            maxapplications: 10
            limits: [{users: [a], maxapplications: 5, maxresources: {m: 2}}]
"""


@pytest.mark.remuda_rule("CFG-40", "CFG-44", "CFG-47", "CFG-50", "CFG-62", "CFG-70", "CFG-80")
@pytest.mark.remuda_rule("CFG-87", "CFG-90", "CFG-92", "CFG-95", "CFG-98")
def test_faults_come_in_the_order_of_section_6_8() -> None:
    assert broken(ALL_STEPS) == [
        "CFG-40",
        "CFG-44",
        "CFG-47",
        "CFG-50",
        "CFG-50",
        "CFG-62",
        "CFG-50",
        "CFG-70",
        "CFG-80",
        "CFG-87",
        "CFG-90",
        "CFG-92",
        "CFG-95",
        "CFG-98",
    ]
    found = errors(ALL_STEPS)
    assert found[3].path.endswith("adminacl")
    assert found[4].path.endswith("submitacl")


# ------------------------------------------------------------------------- names and other fields


@pytest.mark.remuda_rule("CFG-40", "PAR-1", "D-C9")
@pytest.mark.parametrize("name", ["'[rm]default'", '"a\\nb"', "x" * 257])
def test_a_partition_name_that_cannot_be_told_apart_is_refused(name: str) -> None:
    (problem,) = errors(partition_text(f"name: {name}, queues: []"))
    assert problem.rule == "PAR-1"
    assert "invalid partition name" in problem.message


@pytest.mark.remuda_rule("CFG-40")
@pytest.mark.parametrize("name", ["gpu pool", "a.b/c", "x[1]", "é", "x" * 256])
def test_other_partition_names_are_not_judged(name: str) -> None:
    assert partition(partition_text(f'name: "{name}", queues: []')).name == name


@pytest.mark.remuda_rule("CFG-43")
def test_a_queue_that_becomes_root_root_is_odd() -> None:
    text = partition_text("queues: [{name: Root, submitacl: x}, {name: a, submitacl: x}]")
    (warning,) = warnings(text)
    assert warning.rule == "CFG-43"
    assert "becomes root.root" in warning.message
    assert [queue.name for queue in partition(text).root.queues] == ["root", "a"]


@pytest.mark.remuda_rule("CFG-61", "PLC-72", "PLC-74", "D-P10")
@pytest.mark.parametrize("name", ["@recovery@", "@Recovery@"])
def test_the_name_of_the_recovery_queue_is_taken(name: str) -> None:
    (problem,) = errors(root_text(f"queues: [{{name: '{name}'}}]"))
    assert problem.rule == "CFG-61"
    assert "recovery queue" in problem.message
    assert broken(root_text(f"queues: [{{name: p, queues: [{{name: '{name}'}}]}}]")) == []


@pytest.mark.remuda_rule("PAR-3")
@pytest.mark.parametrize(
    "given, preemption, quota",
    [
        ("", True, False),
        ("preemption: ~, ", True, False),
        ("preemption: {}, ", True, False),
        ("preemption: {enabled: ~}, ", True, False),
        ("preemption: {enabled: false}, ", False, False),
        ("preemption: {enabled: on, quotapreemptionenabled: yes}, ", True, True),
    ],
)
def test_preemption_flags(given: str, preemption: bool, quota: bool) -> None:
    found = partition(partition_text(f"{given}queues: []"))
    assert (found.preemption, found.quota_preemption) == (preemption, quota)


@pytest.mark.remuda_rule("UGR-20")
@pytest.mark.parametrize("kind", ["os", "ldap", "test", '""', "~"])
def test_user_group_resolvers(kind: str) -> None:
    root = "queues: [{name: root, submitacl: '*'}]"
    text = partition_text(f"usergroupresolver: {{type: {kind}}}, {root}")
    assert partition(text).user_group_resolver == kind.strip('"~')
    assert odd(text) == []


@pytest.mark.remuda_rule("UGR-20")
@pytest.mark.parametrize("kind", ["nis", "LDAP", "default"])
def test_an_unknown_resolver_means_the_default_one_and_is_odd(kind: str) -> None:
    root = "queues: [{name: root, submitacl: '*'}]"
    text = partition_text(f"usergroupresolver: {{type: {kind}}}, {root}")
    assert partition(text).user_group_resolver == ""
    (warning,) = warnings(text)
    assert warning.rule == "UGR-20"
    assert repr(kind) in warning.message


@pytest.mark.remuda_rule("CFG-76", "D-C4")
@pytest.mark.parametrize(
    "amounts, rules",
    [("memory: 0", ["CFG-76"]), ("memory: 0, vcore: 0", ["CFG-76"]), ("memory: 0, vcore: 1", [])],
)
def test_a_max_of_zeros_only_is_kept_and_odd(amounts: str, rules: list[str]) -> None:
    text = queue_text(f"resources: {{max: {{{amounts}}}}}")
    assert odd(text) == rules
    assert (partition(text).root.queues[0].maximum or {})["memory"] == 0


# ------------------------------------------------------------------------ numbers of applications


def tree(root: int | None, *children: int | None) -> str:
    def apps(number: int | None) -> str:
        return "" if number is None else f", maxapplications: {number}"

    queues = ", ".join(f"{{name: q{n}{apps(each)}}}" for n, each in enumerate(children))
    text = f"{{name: root, submitacl: '*'{apps(root)}, queues: [{queues}]}}"
    return partition_text(f"queues: [{text}]")


@pytest.mark.remuda_rule("CFG-92")
@pytest.mark.parametrize(
    "root, children, valid",
    [
        (4, [3], True),
        (4, [4, 4], True),
        (None, [5, None], True),
        (0, [7], True),
        (10, [None], False),
        (10, [0], False),
        (1, [2], False),
    ],
)
def test_children_stay_within_the_applications_of_a_queue(
    root: int | None, children: list[int | None], valid: bool
) -> None:
    assert broken(tree(root, *children)) == ([] if valid else ["CFG-92"])


@pytest.mark.remuda_rule("CFG-92")
def test_each_level_is_looked_at_on_its_own() -> None:
    leaf = "{name: l, maxapplications: 1}"
    middle = f"{{name: q, maxapplications: 2, queues: [{leaf}]}}"
    text = f"maxapplications: 4, queues: [{{name: p, maxapplications: 3, queues: [{middle}]}}]"
    assert broken(root_text(text)) == []
    free = "queues: [{name: p, queues: [{name: c, maxapplications: 9}]}]"
    assert broken(root_text(free)) == []
    assert broken(root_text(f"maxapplications: 4, {free}")) == ["CFG-92"]


@pytest.mark.remuda_rule("CFG-92")
def test_the_reason_names_both_queues_and_numbers() -> None:
    (problem,) = errors(tree(1, 2))
    assert "maxApplications 1 of queue root" in problem.message
    assert "2 of queue root.q0" in problem.message
    assert problem.path == "partitions[0].queues[0].queues[0].maxapplications"


@pytest.mark.remuda_rule("CFG-92")
def test_dynamic_queues_are_not_counted() -> None:
    assert broken(tree(5)) == []
