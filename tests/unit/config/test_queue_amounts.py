"""Amounts of a queue tree: chapter 10, sections 5, 6.3 and the worked examples of 6.10."""

from __future__ import annotations

from typing import TypeAlias

import pytest

from remuda.base.errors import Problem
from remuda.config.load import load_configuration
from remuda.config.schema import QueueConfig
from tests.unit.config.verdicts import broken, errors

# name, max, guaranteed (texts of YAML mappings, "" = not given), children
Tree: TypeAlias = "tuple[str, str, str, list[Tree]]"


def text_of(*queues: Tree) -> str:
    return f"partitions: [{{queues: [{', '.join(_queue(queue) for queue in queues)}]}}]"


def _queue(tree: Tree) -> str:
    name, maximum, guaranteed, children = tree
    given = [f"max: {{{maximum}}}"] if maximum else []
    given += [f"guaranteed: {{{guaranteed}}}"] if guaranteed else []
    below = ", ".join(_queue(child) for child in children)
    return f"{{name: {name}, resources: {{{', '.join(given)}}}, queues: [{below}]}}"


def problems(*queues: Tree) -> list[Problem]:
    return errors(text_of(*queues))


def rules(*queues: Tree) -> list[str]:
    return broken(text_of(*queues))


def first(*queues: Tree) -> QueueConfig:
    (partition,) = load_configuration(text_of(*queues)).partitions
    return partition.root.queues[0]


R4_CHILDREN: list[Tree] = [
    ("a", "memory: 80, vcore: 80", "memory: 50, vcore: 50", []),
    ("b", "memory: 80, vcore: 80", "memory: 50, vcore: 50", []),
]
R5_CHILDREN: list[Tree] = [
    ("a", "", "memory: 10, vcore: 30", []),
    ("b", "", "memory: 10, vcore: 30", []),
]

# The table of section 6.10; vcore in cores, 1000 milli each.
EXAMPLES: dict[str, tuple[Tree, list[str]]] = {
    "R1": (
        ("p", "memory: 100", "", [("m", "", "", [("a", "memory: 150", "", [])])]),
        ["CFG-72"],
    ),
    "R2": (
        (
            "p",
            "memory: 100",
            "",
            [
                (
                    "q",
                    "memory: 80",
                    "",
                    [("a", "", "memory: 50", []), ("b", "", "memory: 40", [])],
                )
            ],
        ),
        ["CFG-74"],
    ),
    "R3": (
        ("p", "", "memory: 100", [("m", "", "", [("a", "", "memory: 150", [])])]),
        ["CFG-73"],
    ),
    "R4": (("p", "memory: 100, vcore: 100", "memory: 100", R4_CHILDREN), []),
    "R5": (("p", "memory: 50, vcore: 33", "memory: 20", R5_CHILDREN), ["CFG-74"]),
    "R6": (("p", "memory: 10", "", [("a", "vcore: 11", "", [])]), []),
    "R7": (("p", "memory: 10", "", [("a", "memory: 0", "", [])]), []),
    "R8": (("p", "", "memory: 0", [("a", "", "memory: 5", [])]), ["CFG-73"]),
}


@pytest.mark.remuda_rule("CFG-72", "CFG-73", "CFG-74")
@pytest.mark.parametrize("example", sorted(EXAMPLES))
def test_worked_examples(example: str) -> None:
    tree, expected = EXAMPLES[example]
    assert rules(tree) == expected


@pytest.mark.remuda_rule("CFG-72")
def test_example_r6_children_are_bound_by_every_type_above() -> None:
    def below(amounts: str) -> Tree:
        return ("p", "memory: 10", "", [("a", "vcore: 11", "", [("b", amounts, "", [])])])

    assert rules(below("memory: 10, vcore: 11")) == []
    assert rules(below("memory: 11")) == ["CFG-72"]
    assert rules(below("vcore: 12")) == ["CFG-72"]


@pytest.mark.remuda_rule("CFG-70", "QTY-6")
@pytest.mark.parametrize(
    "amount, words",
    [
        ("memory: ten", "invalid quantity 'ten' for memory of queue root.a"),
        ("memory: -50", "invalid quantity '-50' for memory of queue root.a"),
        ("memory: ", "invalid quantity '' for memory of queue root.a"),
        ("memory: ~", "invalid quantity '' for memory of queue root.a"),
        ("memory: 1.5", "invalid quantity '1.5' for memory of queue root.a"),
        ("memory: 500m", "invalid suffix '500m' for memory of queue root.a"),
        ("memory: 1gi", "invalid suffix '1gi' for memory of queue root.a"),
        ("memory: 8Ei", "invalid quantity: overflow '8Ei' for memory of queue root.a"),
        ("cpu: 500m", "invalid suffix '500m' for cpu of queue root.a"),
    ],
)
@pytest.mark.parametrize("kind", ["max", "guaranteed"])
def test_a_bad_quantity_is_refused_with_queue_type_and_text(
    kind: str, amount: str, words: str
) -> None:
    tree: Tree = ("a", amount, "", []) if kind == "max" else ("a", "", amount, [])
    (problem,) = problems(tree)
    name = amount.split(":", maxsplit=1)[0]
    assert problem.rule == "CFG-70"
    assert problem.message == words
    assert problem.path == f"partitions[0].queues[0].resources.{kind}.{name}"
    assert problem.hint


@pytest.mark.remuda_rule("RES-4")
def test_the_hint_for_cpu_names_vcore() -> None:
    (problem,) = problems(("a", "cpu: 500m", "", []))
    assert problem.hint == "processors are named vcore"
    assert first(("a", "cpu: 2", "", [])).maximum == {"cpu": 2}


@pytest.mark.remuda_rule("CFG-70", "QTY-1", "QTY-2", "QTY-3")
def test_amounts_are_stored_in_base_units() -> None:
    queue = first(("a", 'memory: " 10 Mi ", vcore: 10, pods: 1k', "memory: 010, vcore: 500m", []))
    assert queue.maximum == {"memory": 10485760, "vcore": 10000, "pods": 1000}
    assert queue.guaranteed == {"memory": 10, "vcore": 500}


@pytest.mark.remuda_rule("CFG-76", "RES-9")
def test_explicit_zeros_are_kept_and_empty_maps_are_not_given() -> None:
    assert first(("a", "memory: 0", "", [])).maximum == {"memory": 0}
    (partition,) = load_configuration(
        "partitions: [{queues: [{name: a, resources: {max: {}, guaranteed: {}}}]}]"
    ).partitions
    queue = partition.root.queues[0]
    assert (queue.maximum, queue.guaranteed) == (None, None)


@pytest.mark.remuda_rule("CFG-71")
def test_guaranteed_fits_own_max() -> None:
    assert rules(("a", "memory: 10", "vcore: 11", [])) == []
    assert rules(("a", "memory: 10", "memory: 10", [])) == []
    (problem,) = problems(("a", "memory: 10, pods: 5", "memory: 11, pods: 5", []))
    assert problem.rule == "CFG-71"
    assert problem.message == (
        "guaranteed resource map[memory:11] of queue root.a is larger than maximum resource"
        " map[memory:10]"
    )


@pytest.mark.remuda_rule("CFG-72")
def test_max_fits_the_smallest_max_on_the_path() -> None:
    assert rules(("p", "memory: 10", "", [("a", "vcore: 11", "", [])])) == []
    over: Tree = ("p", "memory: 10", "", [("m", "", "", [("a", "memory: 11", "", [])])])
    (problem,) = problems(over)
    assert problem.rule == "CFG-72"
    assert problem.message == (
        "maximum resource map[memory:11] of queue root.p.m.a is larger than maximum resource"
        " map[memory:10] of the queues above"
    )


@pytest.mark.remuda_rule("CFG-73")
def test_sum_of_guaranteed_fits_own_guaranteed() -> None:
    def parent(second: int) -> Tree:
        children: list[Tree] = [
            ("a", "", f"memory: {second}", []),
            ("b", "", "memory: 5", []),
        ]
        return ("p", "", "memory: 10", children)

    assert rules(parent(5)) == []
    (problem,) = problems(parent(6))
    assert problem.rule == "CFG-73"
    assert problem.message == (
        "guaranteed resource map[memory:10] of queue root.p is smaller than sum of guaranteed"
        " resources map[memory:11] of the children"
    )


@pytest.mark.remuda_rule("CFG-74")
def test_sum_of_guaranteed_fits_the_effective_max() -> None:
    def parent(second: int) -> Tree:
        children: list[Tree] = [
            ("a", "", f"memory: {second}", []),
            ("b", "", "memory: 5", []),
        ]
        return ("p", "memory: 10", "", children)

    assert rules(parent(5)) == []
    (problem,) = problems(parent(6))
    assert problem.rule == "CFG-74"
    assert problem.message == (
        "maximum resource map[memory:10] of queue root.p is smaller than sum of guaranteed"
        " resources map[memory:11] of the children"
    )
    # The maximum may stand further up; the queue without one is named then.
    (problem, again) = problems(("g", "memory: 10", "", [("p", "", "", parent(6)[3])]))
    assert (problem.rule, problem.path) == ("CFG-74", "partitions[0].queues[0].queues[0]")
    assert "of queue root.g.p is smaller" in problem.message
    assert "of queue root.g is smaller" in again.message


@pytest.mark.remuda_rule("CFG-75")
def test_a_queue_with_own_guaranteed_passes_up_only_that() -> None:
    def parent(name: str) -> Tree:
        return (name, "", "memory: 1", [("l", "", "vcore: 8", [])])

    assert rules(("g", "vcore: 10", "", [parent("p1"), parent("p2")])) == []
    bare: Tree = ("p1", "", "", [("l", "", "vcore: 8", [])])
    other: Tree = ("p2", "", "", [("l", "", "vcore: 8", [])])
    assert rules(("g", "vcore: 10", "", [bare, other])) == ["CFG-74"]


@pytest.mark.remuda_rule("CFG-73", "CFG-75")
@pytest.mark.parametrize(
    "guaranteed, expected",
    [("", []), ("{}", []), ("{memory: 0}", ["CFG-73"]), ("{vcore: 0}", []), ("~", [])],
)
def test_an_explicit_zero_binds_and_nothing_given_does_not(
    guaranteed: str, expected: list[str]
) -> None:
    child = "{name: a, resources: {guaranteed: {memory: 5}}}"
    own = f"resources: {{guaranteed: {guaranteed}}}"
    text = f"partitions: [{{queues: [{{name: p, {own}, queues: [{child}]}}]}}]"
    assert broken(text) == expected
    # An empty map of a child is as good as none: what is below it counts.
    middle = f"{{name: m, resources: {{guaranteed: {{}}}}, queues: [{child}]}}"
    above = f"{{name: g, resources: {{guaranteed: {{memory: 4}}}}, queues: [{middle}]}}"
    assert broken(f"partitions: [{{queues: [{above}]}}]") == ["CFG-73"]


@pytest.mark.remuda_rule("CFG-73", "CFG-75")
def test_a_guarantee_of_nothing_does_not_hide_what_is_guaranteed_below() -> None:
    middle: Tree = ("m", "", "vcore: 0", [("a", "", "memory: 5", [])])
    assert rules(("g", "", "memory: 5", [middle])) == []
    assert rules(("g", "", "memory: 4", [middle])) == ["CFG-73"]


@pytest.mark.remuda_rule("CFG-73", "RES-25")
def test_sums_saturate() -> None:
    most = 9223372036854775807
    children: list[Tree] = [("a", "", f"m: {most}", []), ("b", "", f"m: {most}", [])]
    assert rules(("p", "", f"m: {most}", children)) == []
    assert rules(("p", "", f"m: {most - 1}", children)) == ["CFG-73"]


def test_only_the_first_types_at_fault_are_shown() -> None:
    maximum = ", ".join(f"t{n:02}: 1" for n in range(20))
    guaranteed = ", ".join(f"t{n:02}: 2" for n in range(20))
    (problem,) = problems(("a", maximum, guaranteed, []))
    assert "t07:2" in problem.message
    assert "t08" not in problem.message
