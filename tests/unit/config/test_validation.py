"""Structure, names, placement rules and node sorting: chapter 10, sections 4 and 6."""

from __future__ import annotations

import string

import pytest

from remuda.config.load import load_configuration
from remuda.config.schema import PartitionConfig, PlacementRuleConfig, QueueConfig
from tests.unit.config.verdicts import broken, errors


def partition(rest: str) -> PartitionConfig:
    """Return the one partition with the given content, in YAML flow style."""
    (found,) = load_configuration(f"partitions: [{{{rest}}}]").partitions
    return found


def names(queue: QueueConfig) -> list[str]:
    return [child.name for child in queue.queues]


# ----------------------------------------------------------------------------------- partitions


@pytest.mark.remuda_rule("CFG-40")
@pytest.mark.parametrize("name", ["", "~", "default", "Default", "DEFAULT", '""'])
def test_no_name_and_any_case_of_default_is_default(name: str) -> None:
    assert partition(f"name: {name}, queues: []").name == "default"


@pytest.mark.remuda_rule("CFG-40")
def test_partition_names_are_unique_ignoring_case() -> None:
    text = "partitions: [{name: Gpu, queues: []}, {name: tpu, queues: []}]"
    assert [p.name for p in load_configuration(text).partitions] == ["Gpu", "tpu"]
    (problem,) = errors("partitions:\n- {name: Gpu, queues: []}\n- {name: gpu, queues: []}\n")
    assert (problem.rule, problem.line) == ("CFG-40", 3)
    assert "duplicate partition name gpu" in problem.message
    assert broken("partitions: [{name: DEFAULT, queues: []}, {queues: []}]") == ["CFG-40"]


@pytest.mark.remuda_rule("CFG-41")
@pytest.mark.parametrize("text", ["- name: default", "- name: default\n  queues:", "- ~"])
def test_queues_must_be_given(text: str) -> None:
    (problem,) = errors(f"partitions:\n{text}\n")
    assert problem.rule == "CFG-41"
    assert "queue config for partition default is not set" in problem.message


@pytest.mark.remuda_rule("CFG-41", "CFG-42")
def test_an_empty_list_of_queues_is_a_lone_root() -> None:
    assert partition("queues: []").root == QueueConfig(name="root", parent=True)


@pytest.mark.remuda_rule("CFG-42")
@pytest.mark.parametrize(
    "queues, children",
    [
        ("{name: root}", []),
        ("{name: root, queues: [{name: a}]}", ["a"]),
        ("{name: a}", ["a"]),
        ("{name: a}, {name: B}", ["a", "b"]),
    ],
)
def test_a_root_is_put_on_top_where_there_is_none(queues: str, children: list[str]) -> None:
    root = partition(f"queues: [{queues}]").root
    assert (root.name, root.parent, names(root)) == ("root", True, children)


@pytest.mark.remuda_rule("CFG-42")
def test_an_inserted_root_has_no_properties() -> None:
    root = partition("queues: [{name: a, properties: {x: y}}]").root
    assert root.properties == {}
    assert root.queues[0].properties == {"x": "y"}


@pytest.mark.remuda_rule("CFG-43")
def test_one_of_several_top_queues_may_be_named_root() -> None:
    root = partition("queues: [{name: root, resources: {max: {m: 1}}}, {name: a}]").root
    assert names(root) == ["root", "a"]
    assert root.queues[0].maximum == {"m": 1}


@pytest.mark.remuda_rule("CFG-44")
@pytest.mark.parametrize("key", ["max", "guaranteed"])
@pytest.mark.parametrize("amounts", ["{}", "{memory: 5}"])
def test_root_has_no_amounts(key: str, amounts: str) -> None:
    text = f"partitions: [{{queues: [{{name: root, resources: {{{key}: {amounts}}}}}]}}]"
    (problem,) = errors(text)
    assert problem.rule == "CFG-44"
    assert "root queue of partition default must not have resource limits" in problem.message
    assert partition(f"queues: [{{name: root, resources: {{{key}: }}}}]").root.maximum is None


@pytest.mark.remuda_rule("CFG-45", "D-C2")
@pytest.mark.parametrize("name", ["ROOT", "Root", "root"])
def test_root_may_be_written_in_any_case(name: str) -> None:
    root = partition(f"queues: [{{name: {name}, queues: [{{name: a}}]}}]").root
    assert (root.name, names(root)) == ("root", ["a"])


@pytest.mark.remuda_rule("CFG-46")
def test_a_queue_with_children_is_a_parent_whatever_it_says() -> None:
    above = "{name: p, parent: false, queues: [{name: a}]}"
    root = partition(f"queues: [{above}, {{name: l}}, {{name: q, parent: true}}]").root
    assert [(q.name, q.parent) for q in root.queues] == [
        ("p", True),
        ("l", False),
        ("q", True),
    ]


# ---------------------------------------------------------------------------------- queue names

LEGAL = string.ascii_letters + string.digits + "_:#/@-"


@pytest.mark.remuda_rule("CFG-30", "CFG-61")
@pytest.mark.parametrize(
    "name",
    ["a", "a" * 64, f"'{LEGAL[:34]}'", f"'{LEGAL[34:]}'", "123", "'-'", "_", "true", "'a:b@c#d/e'"],
)
def test_legal_queue_names_are_stored_in_lower_case(name: str) -> None:
    assert names(partition(f"queues: [{{name: {name}}}, {{name: x}}]").root) == [
        name.strip("'").lower(),
        "x",
    ]


@pytest.mark.remuda_rule("CFG-30", "CFG-61")
@pytest.mark.parametrize(
    "name", ["a" * 65, "a.b", "x-$", '""', "~", "a b", '"a\\n"', '"a%b"', "é", '"root.a"']
)
def test_illegal_queue_names_are_refused(name: str) -> None:
    (problem,) = errors(f"partitions:\n- queues:\n  - name: x\n  - name: {name}\n")
    assert (problem.rule, problem.path) == ("CFG-61", "partitions[0].queues[1].name")
    assert "invalid child name" in problem.message
    assert "level 1" in problem.message


@pytest.mark.remuda_rule("CFG-61")
def test_a_queue_without_name_is_refused_at_its_level() -> None:
    text = "partitions: [{queues: [{name: root, queues: [{name: a, queues: [{parent: true}]}]}]}]"
    (problem,) = errors(text)
    assert problem.rule == "CFG-61"
    assert "level 2" in problem.message


@pytest.mark.remuda_rule("SEED-182", "CFG-62")
def test_names_are_unique_per_level_ignoring_case() -> None:
    (problem,) = errors("partitions:\n- queues:\n  - name: A\n  - name: a\n")
    assert (problem.rule, problem.line) == ("CFG-62", 4)
    assert "duplicate child name 'a' at level 1, first at line 3" in problem.message
    text = "queues: [{name: a, queues: [{name: a}]}, {name: b, queues: [{name: a}]}]"
    assert [names(q) for q in partition(text).root.queues] == [["a"], ["a"]]


# ------------------------------------------------------------------------------ placement rules


@pytest.mark.remuda_rule("PLC-11")
@pytest.mark.parametrize("given", ["", ", placementrules: []", ", placementrules: ~"])
def test_without_rules_the_provided_rule_applies_and_creates_nothing(given: str) -> None:
    assert partition(f"queues: []{given}").placement_rules == (
        PlacementRuleConfig("provided", create=False),
    )


@pytest.mark.remuda_rule("PLC-12")
def test_rules_are_kept_in_order_and_in_lower_case() -> None:
    given = "{name: TAG, value: Namespace}, {name: provided, create: on}, {name: tag, value: x}"
    assert partition(f"queues: [], placementrules: [{given}]").placement_rules == (
        PlacementRuleConfig("tag", create=False, value="namespace"),
        PlacementRuleConfig("provided", create=True),
        PlacementRuleConfig("tag", create=False, value="x"),
    )


@pytest.mark.parametrize(
    "rule, rule_id, words",
    [
        pytest.param(
            "{name: a-b}", "CFG-80", "invalid rule name", marks=pytest.mark.remuda_rule("CFG-80")
        ),
        pytest.param("{create: true}", "CFG-80", "no. #0", marks=pytest.mark.remuda_rule("CFG-80")),
        pytest.param(
            "{name: bogus}",
            "PLC-12",
            "unknown rule name specified bogus",
            marks=pytest.mark.remuda_rule("PLC-12"),
        ),
        pytest.param(
            "{name: tag}",
            "PLC-14",
            "a tag queue rule must have a tag name set",
            marks=pytest.mark.remuda_rule("PLC-14"),
        ),
    ],
)
def test_a_rule_that_cannot_be_built_is_refused(rule: str, rule_id: str, words: str) -> None:
    (problem,) = errors(f"partitions: [{{queues: [], placementrules: [{rule}]}}]")
    assert problem.rule == rule_id
    assert words in problem.message


# --------------------------------------------------------------------------------- node sorting


@pytest.mark.remuda_rule("CFG-90")
@pytest.mark.parametrize(
    "given, policy",
    [("{}", "fair"), ('{type: ""}', "fair"), ("{type: fair}", "fair"), ("~", "fair"),
     ("{type: binpacking}", "binpacking")],
)  # fmt: skip
def test_node_sort_policy(given: str, policy: str) -> None:
    assert partition(f"queues: [], nodesortpolicy: {given}").node_sort_policy == policy


@pytest.mark.remuda_rule("CFG-90")
@pytest.mark.parametrize("policy", ["Fair", "BINPACKING", "random", "true"])
def test_an_undefined_node_sort_policy_is_refused(policy: str) -> None:
    (problem,) = errors(f"partitions: [{{queues: [], nodesortpolicy: {{type: {policy}}}}}]")
    assert problem.rule == "CFG-90"
    assert f"undefined policy: {policy}" in problem.message


@pytest.mark.remuda_rule("CFG-91")
def test_weights_are_numbers_of_any_resource_not_below_zero() -> None:
    given = "{vcore: 2.0, gpu: 0, memory: 1e-3, pods: 1_000, x: .5, y: +3, z: ~}"
    weights = partition(f"queues: [], nodesortpolicy: {{resourceweights: {given}}}")
    assert weights.node_sort_weights == {
        "vcore": 2.0,
        "gpu": 0.0,
        "memory": 0.001,
        "pods": 1000.0,
        "x": 0.5,
        "y": 3.0,
        "z": 0.0,
    }


@pytest.mark.remuda_rule("CFG-16", "CFG-91")
@pytest.mark.parametrize(
    "written, weight",
    [
        ("0x10", 16.0),
        ("010", 8.0),
        ("0o17", 15.0),
        ("0b11", 3.0),
        ("1_000", 1000.0),
        ("09", 9.0),
        ("010.5", 10.5),
        ("99999999999999999999", 1e20),
        ("1e100", 1e100),
    ],
)
def test_weights_that_are_whole_numbers_are_read_like_other_whole_numbers(
    written: str, weight: float
) -> None:
    read = partition(f"queues: [], nodesortpolicy: {{resourceweights: {{vcore: {written}}}}}")
    assert read.node_sort_weights == {"vcore": weight}


@pytest.mark.remuda_rule("CFG-91")
def test_a_weight_that_is_not_a_number_passes_and_has_no_part() -> None:
    weights = partition("queues: [], nodesortpolicy: {resourceweights: {a: .nan, b: 1}}")
    assert weights.node_sort_weights == {"a": 0.0, "b": 1.0}


@pytest.mark.remuda_rule("CFG-91")
@pytest.mark.parametrize(
    "weight, words",
    [
        ("-1", "negative resource weight for vcore: -1"),
        ("-.inf", "negative resource weight"),
        (".inf", "infinite resource weight"),
        ("1e999", "infinite resource weight"),
        ("1e308", "too large a resource weight for vcore: 1e308"),
        ("1.1e100", "too large a resource weight for vcore: 1.1e100"),
        ("-0x10", "negative resource weight"),
        ("_5", "cannot unmarshal"),
        ("0x1ffffffffffffffff", "cannot unmarshal"),
        ('"2"', "cannot unmarshal"),
        ("two", "cannot unmarshal"),
        ("[2]", "cannot unmarshal"),
        ("1:30", "cannot unmarshal"),
    ],
)
def test_other_weights_are_refused(weight: str, words: str) -> None:
    text = f"partitions: [{{queues: [], nodesortpolicy: {{resourceweights: {{vcore: {weight}}}}}}}]"
    (problem,) = errors(text)
    assert problem.rule == "CFG-91"
    assert words in problem.message


# ----------------------------------------------------------------------------- order of problems


@pytest.mark.remuda_rule("CFG-40", "CFG-41", "CFG-62", "CFG-70", "CFG-80", "CFG-90")
def test_problems_come_in_the_order_of_the_checks() -> None:
    text = """\
partitions:
  - name: x
    nodesortpolicy: {type: Fair, resourceweights: {vcore: -1}}
    placementrules: [{name: a-b}]
    queues:
      - {name: a, resources: {max: {memory: ten}}}
      - name: A
  - name: X
"""
    assert broken(text) == ["CFG-62", "CFG-70", "CFG-80", "CFG-90", "CFG-91", "CFG-40", "CFG-41"]
