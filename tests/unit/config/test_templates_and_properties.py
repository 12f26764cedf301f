"""Child templates and queue properties as a file gives them: chapter 10, sections 8 and 9."""

from __future__ import annotations

import pytest

from remuda.config.schema import TemplateConfig
from tests.unit.config.verdicts import (
    broken,
    errors,
    odd,
    partition,
    queue,
    queue_text,
    root_text,
    warnings,
)

PARENT = "parent: true, "


@pytest.mark.remuda_rule("TPL-1", "TPL-2", "TPL-3")
@pytest.mark.parametrize(
    "given, expected",
    [
        ("{}", None),
        ("~", None),
        ("{maxapplications: 0, properties: {}, resources: {}}", None),
        ("{resources: {max: {memory: 0}, guaranteed: {vcore: 0m}}}", None),
        ("{resources: {max: {}, guaranteed: ~}}", None),
        ('{properties: {a: "", "": b, c: ~}}', None),
        ("{maxapplications: 3}", TemplateConfig(max_applications=3)),
        ('{properties: {a: "", b: c}}', TemplateConfig(properties={"b": "c"})),
        (
            "{resources: {max: {memory: 8G, gpu: 0}, guaranteed: {vcore: 0}}}",
            TemplateConfig(maximum={"memory": 8_000_000_000, "gpu": 0}),
        ),
        (
            "{maxapplications: 1, resources: {guaranteed: {vcore: 4}}}",
            TemplateConfig(max_applications=1, guaranteed={"vcore": 4000}),
        ),
    ],
)
def test_what_a_template_gives(given: str, expected: TemplateConfig | None) -> None:
    assert queue(queue_text(f"{PARENT}childtemplate: {given}")).template == expected


@pytest.mark.remuda_rule("TPL-1")
def test_a_template_may_stand_on_any_queue_and_is_odd_on_a_leaf() -> None:
    template = "childtemplate: {maxapplications: 2}"
    assert partition(root_text(template)).root.template == TemplateConfig(max_applications=2)
    assert odd(queue_text(f"{template}, queues: [{{name: b}}]")) == []
    found = queue(queue_text(template))
    assert found.template == TemplateConfig(max_applications=2)
    (warning,) = warnings(queue_text(template))
    assert warning.rule == "TPL-1"
    assert "root.a is a leaf" in warning.message


@pytest.mark.remuda_rule("TPL-7", "D-C11", "D-C9")
@pytest.mark.parametrize("kind", ["max", "guaranteed"])
@pytest.mark.parametrize(
    "text, words",
    [
        ("ten", "invalid quantity"),
        ("-1", "invalid quantity"),
        ("~", "invalid quantity"),
        ("10m", "invalid suffix"),
        ("8Ei", "overflow"),
    ],
)
def test_amounts_of_a_template_must_parse(kind: str, text: str, words: str) -> None:
    given = f"{PARENT}childtemplate: {{resources: {{{kind}: {{memory: {text}}}}}}}"
    (problem,) = errors(queue_text(given))
    assert problem.rule == "TPL-7"
    assert words in problem.message
    assert "memory of the template of queue root.a" in problem.message
    assert problem.path.endswith(f"childtemplate.resources.{kind}.memory")


@pytest.mark.remuda_rule("TPL-7")
def test_the_own_amounts_of_a_queue_with_a_bad_template_are_judged_too() -> None:
    given = "childtemplate: {resources: {max: {m: x}}}, resources: {max: {m: y}}"
    assert broken(queue_text(f"{PARENT}{given}")) == ["CFG-70", "TPL-7"]


@pytest.mark.remuda_rule("PRP-1", "PRP-2")
@pytest.mark.parametrize(
    "key, valid, invalid",
    [
        ("application.sort.policy", ["fifo", "fair", ""], ["Fifo", "FAIR", "random"]),
        ("application.sort.priority", ["enabled", "Disabled", "ENABLED"], ["on", "true", ""]),
        ("priority.policy", ["default", "fence", "Fence", ""], ["strict"]),
        (
            "priority.offset",
            ["0", "100", "-5", "+7", "00000000005", "2147483647", "-2147483648"],
            ["1.5", "ten", "2147483648", "-2147483649", "0x10", "", "1_0"],
        ),
        ("preemption.policy", ["default", "fence", "DISABLED", ""], ["off"]),
        (
            "preemption.delay",
            ["30s", "1m30s", "1.5h", "500ms", "1us", "10ns"],
            ["30", "0s", "-5s", "1d", "", "s"],
        ),
        (
            "application.unschedasks.backoff",
            ["0", "5", "0" * 21 + "5", "18446744073709551615"],
            ["-1", "x", ""],
        ),
        ("application.unschedasks.backoff.delay", ["30s"], ["0", "30"]),
        ("application.gang.admission", ["quota", "Greedy"], ["none"]),
        ("preemption.quota.delay", ["10s", "0s", "0"], ["10", "-1s"]),
        ("quota.preemption.delay", ["10s", "0s"], ["soon"]),
    ],
)
def test_values_of_properties(key: str, valid: list[str], invalid: list[str]) -> None:
    for text in valid:
        assert odd(queue_text(f'properties: {{{key}: "{text}"}}')) == []
    for text in invalid:
        given = queue_text(f'properties: {{{key}: "{text}"}}')
        (warning,) = warnings(given)
        assert warning.rule == "PRP-2"
        assert f"invalid value {text!r} of property {key}" in warning.message
        assert warning.hint
        assert queue(given).properties == {key: text}


@pytest.mark.remuda_rule("PRP-1")
def test_the_old_name_of_a_sort_policy_is_told() -> None:
    (warning,) = warnings(queue_text("properties: {application.sort.policy: stateaware}"))
    assert warning.rule == "PRP-1"
    assert "deprecated" in warning.message


@pytest.mark.remuda_rule("PRP-1")
@pytest.mark.parametrize(
    "key, meant",
    [
        ("application.sort.polic", "application.sort.policy"),
        ("Priority.Offset", "priority.offset"),
        ("priority-policy", "priority.policy"),
        ("premption.delay", "preemption.delay"),
        ("preemption.quota.delays", "preemption.quota.delay"),
    ],
)
def test_an_unknown_key_that_looks_like_a_known_one_is_odd(key: str, meant: str) -> None:
    text = queue_text(f"properties: {{{key}: x}}")
    (warning,) = warnings(text)
    assert warning.rule == "PRP-1"
    assert f"unknown property {key}" in warning.message
    assert meant in warning.hint
    assert queue(text).properties == {key: "x"}


@pytest.mark.remuda_rule("PRP-1")
@pytest.mark.parametrize("key", ["x", "my.own.property", "team", "colour", "a" * 100])
def test_other_unknown_keys_are_kept_without_a_word(key: str) -> None:
    text = queue_text(f"properties: {{{key}: x}}")
    assert odd(text) == []
    assert queue(text).properties == {key: "x"}


@pytest.mark.remuda_rule("PRP-2", "TPL-1")
def test_properties_of_a_template_are_looked_at_too() -> None:
    text = queue_text(f"{PARENT}childtemplate: {{properties: {{priority.offset: x}}}}")
    (warning,) = warnings(text)
    assert warning.rule == "PRP-2"
    assert warning.path.endswith("childtemplate.properties.priority.offset")
