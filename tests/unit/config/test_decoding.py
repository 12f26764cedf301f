"""Decoding a configuration text: chapter 10, sections 2 and 3."""

from __future__ import annotations

import pytest
import yaml

from remuda.base.errors import ConfigError
from remuda.config import compose
from remuda.config.load import load_configuration
from remuda.config.schema import (
    BUILT_IN_TEXT,
    AccessList,
    PartitionConfig,
    PlacementRuleConfig,
    QueueConfig,
    built_in,
)
from tests.unit.config.verdicts import errors


def places(text: str) -> list[tuple[str, int, int]]:
    return [(problem.rule, problem.line, problem.column) for problem in errors(text)]


def only_queue(text: str) -> QueueConfig:
    """Return the single child of root in a one-partition configuration."""
    (partition,) = load_configuration(text).partitions
    (queue,) = partition.root.queues
    return queue


@pytest.fixture(params=["c", "python"])
def _each_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(compose, "_LOADER", yaml.SafeLoader)


FULL = """\
checksum: 0000
partitions:
  - name: DEFAULT
    placementrules:
      - {name: Provided, create: true}
      - name: tag
        value: namespace
    nodesortpolicy: {type: binpacking, resourceweights: {vcore: 2, memory: 1.5}}
    queues:
      - name: ROOT
        submitacl: "*"
        adminacl: " * "
        properties: {application.sort.priority: disabled}
        queues:
          - {name: adhoc, parent: false}
          - name: Teams
            properties: {priority.policy: fence, priority.offset: "100", x: y}
            queues:
              - {name: red, resources: {guaranteed: {memory: 2Gi}, max: {memory: 20G, vcore: 500m}}}
              - {name: blue, parent: true, properties: {application.sort.policy: fair}}
  - name: Gpu
    queues: []
"""


@pytest.mark.usefixtures("_each_parser")
@pytest.mark.remuda_rule("CFG-40", "CFG-42", "CFG-45", "CFG-46", "PLC-11", "PLC-12")
def test_a_whole_configuration() -> None:
    loaded = load_configuration(FULL)
    red = QueueConfig(
        name="red",
        maximum={"memory": 20_000_000_000, "vcore": 500},
        guaranteed={"memory": 2_147_483_648},
    )
    blue = QueueConfig(name="blue", parent=True, properties={"application.sort.policy": "fair"})
    teams = QueueConfig(
        name="teams",
        parent=True,
        properties={"priority.policy": "fence", "priority.offset": "100", "x": "y"},
        queues=(red, blue),
    )
    root = QueueConfig(
        name="root",
        parent=True,
        properties={"application.sort.priority": "disabled"},
        queues=(QueueConfig(name="adhoc"), teams),
        admin_acl=AccessList(everybody=True),
        submit_acl=AccessList(everybody=True),
    )
    assert loaded.partitions == (
        PartitionConfig(
            name="default",
            root=root,
            placement_rules=(
                PlacementRuleConfig("provided", create=True),
                PlacementRuleConfig("tag", create=False, value="namespace"),
            ),
            node_sort_policy="binpacking",
            node_sort_weights={"vcore": 2.0, "memory": 1.5},
        ),
        PartitionConfig(name="Gpu", root=QueueConfig(name="root", parent=True)),
    )


@pytest.mark.remuda_rule("CFG-2")
def test_the_empty_text_is_the_built_in_configuration_but_blanks_are_not() -> None:
    assert load_configuration("") == built_in()
    assert load_configuration(BUILT_IN_TEXT) == built_in()
    assert load_configuration(" ").partitions == ()


@pytest.mark.usefixtures("_each_parser")
@pytest.mark.remuda_rule("CFG-12")
@pytest.mark.parametrize(
    "text",
    [
        " ",
        "\n\n",
        "# nothing\n",
        "---\n",
        "~",
        "{}",
        "partitions:",
        "partitions: []",
        "partitions: ~",
        "checksum: abc",
    ],
)
def test_no_partitions_are_valid(text: str) -> None:
    assert load_configuration(text).partitions == ()


@pytest.mark.remuda_rule("CFG-12")
@pytest.mark.parametrize("text", ["- a", "[]", "text", "5", '""'])
def test_the_document_must_be_a_mapping(text: str) -> None:
    assert places(text) == [("CFG-12", 1, 1)]


@pytest.mark.usefixtures("_each_parser")
@pytest.mark.remuda_rule("CFG-10")
def test_only_the_first_document_is_read() -> None:
    text = "partitions: [{queues: [{name: a}]}]\n---\n}{ : [ garbage\n\t&&"
    assert only_queue(text).name == "a"


@pytest.mark.remuda_rule("CFG-11")
def test_json_is_accepted() -> None:
    text = '{"partitions": [{"name": "p", "queues": [{"name": "a", "parent": true}]}]}'
    assert only_queue(text) == QueueConfig(name="a", parent=True)


@pytest.mark.usefixtures("_each_parser")
@pytest.mark.remuda_rule("CFG-11")
def test_anchors_aliases_and_merge_keys_work() -> None:
    text = """\
partitions:
  - queues:
      - name: a
        resources: &r
          max: &m {memory: 10, vcore: 1}
      - name: b
        resources: {<<: *r}
      - name: c
        resources:
          max:
            <<: [*m, {memory: 99, pods: 7}]
            vcore: 2
"""
    (partition,) = load_configuration(text).partitions
    a, b, c = partition.root.queues
    assert a.maximum == {"memory": 10, "vcore": 1000}
    assert b.maximum == a.maximum
    assert c.maximum == {"memory": 10, "vcore": 2000, "pods": 7}


@pytest.mark.remuda_rule("CFG-11")
def test_a_merge_key_merges_mappings_only_and_once() -> None:
    text = "partitions: [{queues: [{name: a, <<: 5}]}]"
    assert [problem.rule for problem in errors(text)] == ["CFG-11"]
    text = "partitions: [{queues: [{name: a, <<: {parent: true}, <<: {}}]}]"
    assert [problem.rule for problem in errors(text)] == ["CFG-14"]
    assert "<<" in errors(text)[0].message


@pytest.mark.remuda_rule("CFG-11")
def test_a_quoted_merge_key_is_an_ordinary_key() -> None:
    text = 'partitions: [{queues: [{name: a, properties: {"<<": x}}]}]'
    assert only_queue(text).properties == {"<<": "x"}


@pytest.mark.remuda_rule("CFG-13")
@pytest.mark.parametrize(
    "text, key, column",
    [
        ("partition: []", "partition", 1),
        ("partitions: [{queues: [], statedumpfilepath: x}]", "statedumpfilepath", 27),
        ("partitions: [{queues: [{name: a, Parent: true}]}]", "Parent", 34),
        ("partitions: [{queues: [{name: a, resources: {maximum: {}}}]}]", "maximum", 46),
        ("partitions: [{queues: [], placementrules: [{name: tag, values: x}]}]", "values", 56),
        ("partitions: [{queues: [], nodesortpolicy: {kind: fair}}]", "kind", 44),
        ("partitions: [{queues: [], preemption: {on: true}}]", "on", 40),
        ("partitions: [{queues: [], usergroupresolver: {url: x}}]", "url", 47),
        ("partitions: [{queues: [{name: a, childtemplate: {parent: x}}]}]", "parent", 50),
        ("partitions: [{queues: [], limits: [{users: [a], max: 1}]}]", "max", 49),
        ("partitions: [{queues: [], placementrules: [{filter: {user: x}}]}]", "user", 54),
        ("partitions: [{queues: [{name: a, maxrunningapps: 1}]}]", "maxrunningapps", 34),
    ],
)
def test_an_unknown_key_is_refused_with_its_place(text: str, key: str, column: int) -> None:
    problem = errors(text)[0]
    assert (problem.rule, problem.line, problem.column) == ("CFG-13", 1, column)
    assert f"field {key} not found in type" in problem.message
    assert problem.hint


@pytest.mark.remuda_rule("CFG-13")
def test_a_key_in_the_wrong_case_is_unknown_and_the_hint_says_the_right_one() -> None:
    (problem,) = errors("partitions: [{queues: [{name: a, maxApplications: 1}]}]")
    assert "field maxApplications not found in type queue" in problem.message
    assert problem.hint == "keys are lower case: maxapplications"


@pytest.mark.remuda_rule("CFG-13")
@pytest.mark.parametrize(
    "text",
    [
        "partitions: {a: b}",
        "partitions: [5]",
        "partitions: [{queues: 5}]",
        "partitions: [{queues: [a]}]",
        "partitions: [{name: [a], queues: []}]",
        "partitions: [{queues: [{name: a, properties: [b]}]}]",
        "partitions: [{queues: [{name: a, properties: {b: [c]}}]}]",
        "partitions: [{queues: [{name: a, resources: 5}]}]",
        "partitions: [{queues: [{name: a, resources: {max: 5}}]}]",
        "partitions: [{queues: [], placementrules: provided}]",
        "partitions: [{queues: [], nodesortpolicy: fair}]",
        "partitions: [{queues: [], preemption: true}]",
        "partitions: [{queues: [], usergroupresolver: ldap}]",
        "partitions: [{queues: [], limits: {users: [a]}}]",
        "partitions: [{queues: [], limits: [bob]}]",
        "partitions: [{queues: [], limits: [{users: bob, maxapplications: 1}]}]",
        "partitions: [{queues: [], limits: [{users: [[bob]], maxapplications: 1}]}]",
        "partitions: [{queues: [], placementrules: [user]}]",
        "partitions: [{queues: [], placementrules: [{name: user, parent: user}]}]",
        "partitions: [{queues: [], placementrules: [{name: user, filter: deny}]}]",
        "partitions: [{queues: [{name: a, childtemplate: 5}]}]",
        "partitions: [{queues: [{name: a, submitacl: [bob]}]}]",
        "partitions: [{queues: [], [a]: b}]",
        "checksum: [a]",
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(text: str) -> None:
    problem = errors(text)[0]
    assert problem.rule == "CFG-13"
    assert "cannot unmarshal" in problem.message
    assert problem.line == 1


@pytest.mark.remuda_rule("CFG-14")
@pytest.mark.parametrize(
    "text",
    [
        "partitions: []\npartitions: []",
        "partitions:\n- queues: []\n  queues: []",
        "partitions: [{queues: [{name: a,\nname: b}]}]",
        "partitions: [{queues: [{name: a, properties: {k: v,\nk: v}}]}]",
        "partitions: [{queues: [{name: a, resources: {max: {m: 1,\nm: 1}}}]}]",
    ],
)
def test_a_key_given_twice_is_refused(text: str) -> None:
    (problem,) = errors(text)
    assert problem.rule == "CFG-14"
    assert problem.line == text.count("\n") + 1
    assert f"already defined at line {problem.line - 1}" in problem.message


@pytest.mark.remuda_rule("CFG-15")
@pytest.mark.parametrize(
    "text, expected",
    [
        *[(word, True) for word in ("true", "True", "TRUE")],
        *[(word, False) for word in ("false", "False", "FALSE", "~", "null", "")],
        *[(word, True) for word in ("y", "Y", "yes", "Yes", "YES", "on", "On", "ON")],
        *[(word, False) for word in ("n", "N", "no", "No", "NO", "off", "Off", "OFF")],
        ('"yes"', True),
        ("'off'", False),
    ],
)
def test_booleans(text: str, expected: bool) -> None:
    queue = only_queue(f"partitions:\n- queues:\n  - name: a\n    parent: {text}\n")
    assert queue.parent is expected


@pytest.mark.remuda_rule("CFG-15")
@pytest.mark.parametrize("text", ['"true"', "'false'", "1", "0", "tRue", "yEs", "[]", "t"])
def test_what_only_looks_like_a_boolean_is_refused(text: str) -> None:
    (problem,) = errors(f"partitions:\n- queues:\n  - name: a\n    parent: {text}\n")
    assert (problem.rule, problem.line, problem.column) == ("CFG-15", 4, 13)
    assert problem.path == "partitions[0].queues[0].parent"


@pytest.mark.remuda_rule("CFG-16")
@pytest.mark.parametrize(
    "text, expected",
    [
        ("5", 5),
        ("+5", 5),
        ("0x10", 16),
        ("0XfF", 255),
        ("010", 8),
        ("0o17", 15),
        ("0b101", 5),
        ("1_000", 1000),
        ("0", 0),
        ("~", 0),
        ("", 0),
        ("18446744073709551615", 2**64 - 1),
    ],
)
def test_whole_numbers(text: str, expected: int) -> None:
    queue = only_queue(f"partitions:\n- queues:\n  - name: a\n    maxapplications: {text}\n")
    assert queue.max_applications == expected


@pytest.mark.remuda_rule("CFG-16", "D-C1")
@pytest.mark.parametrize(
    "text",
    [
        *("5.5", "-1.5", "1e3", '"5"', "-5", "true", "18446744073709551616", "ten", "08", "_1"),
        *("5m", ".inf", "0x", "[5]", "{}", "1" * 500),
    ],
)
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    (problem,) = errors(f"partitions:\n- queues:\n  - name: a\n    maxapplications: {text}\n")
    assert (problem.rule, problem.line, problem.column) == ("CFG-16", 4, 22)
    assert problem.path == "partitions[0].queues[0].maxapplications"
    assert "cannot unmarshal" in problem.message


@pytest.mark.usefixtures("_each_parser")
@pytest.mark.remuda_rule("CFG-17", "PRP-1")
def test_string_maps_keep_the_source_text() -> None:
    text = """\
partitions:
  - queues:
      - name: 123
        properties:
          a: true
          b: 010
          c: ~
          d: 1.50
          e: 1:30
          f: "~"
          g: 2020-01-01
          h:
          i: 'yes'
          j: 0x1F
          k: |
            two
            lines
          priority.offset: -3
        resources: {max: {memory: 010}}
"""
    queue = only_queue(text)
    assert queue.name == "123"
    assert queue.properties == {
        "a": "true",
        "b": "010",
        "c": "",
        "d": "1.50",
        "e": "1:30",
        "f": "~",
        "g": "2020-01-01",
        "h": "",
        "i": "yes",
        "j": "0x1F",
        "k": "two\nlines\n",
        "priority.offset": "-3",
    }
    assert queue.maximum == {"memory": 10}


@pytest.mark.remuda_rule("CFG-18")
def test_null_for_a_section_means_absent() -> None:
    text = """\
partitions:
  - name:
    placementrules:
    nodesortpolicy: ~
    limits:
    preemption:
    queues:
      - name: a
        resources:
        properties: null
        limits: ~
        childtemplate:
        submitacl:
        queues:
      - name: b
        resources: {max: , guaranteed: ~}
"""
    (partition,) = load_configuration(text).partitions
    assert partition == PartitionConfig(
        name="default",
        root=QueueConfig(
            name="root", parent=True, queues=(QueueConfig(name="a"), QueueConfig(name="b"))
        ),
    )


@pytest.mark.remuda_rule("PRP-1")
def test_properties_that_work_and_unknown_ones_are_kept_as_they_are() -> None:
    text = """\
partitions:
  - queues:
      - name: a
        properties:
          application.sort.policy: stateaware
          application.sort.priority: Disabled
          priority.policy: Fence
          priority.offset: "+7"
          my.own: x
"""
    assert only_queue(text).properties == {
        "application.sort.policy": "stateaware",
        "application.sort.priority": "Disabled",
        "priority.policy": "Fence",
        "priority.offset": "+7",
        "my.own": "x",
    }


@pytest.mark.remuda_rule("CFG-5")
def test_all_faults_are_reported_at_once() -> None:
    text = """\
partitions:
  - name: p
    limits: [{users: [a]}]
    nodesortpolicy: {type: Fair}
    placementrules: [{name: bogus}]
    queues:
      - {name: a, parent: 1}
      - {name: A, resources: {max: {memory: ten}}}
"""
    assert places(text) == [
        ("CFG-15", 7, 27),
        ("CFG-58", 3, 14),
        ("CFG-62", 8, 16),
        ("CFG-70", 8, 45),
        ("PLC-12", 5, 29),
        ("CFG-90", 4, 28),
    ]


@pytest.mark.remuda_rule("CFG-5")
def test_every_problem_is_one_line_with_source_and_place() -> None:
    with pytest.raises(ConfigError) as refused:
        load_configuration('partitions: [{queues: [{name: "a\\nb"}, {name: x y}]}]', "q.yaml")
    first, second = str(refused.value).splitlines()
    assert first.startswith("q.yaml:1:31: partitions[0].queues[0].name: invalid child name")
    assert second.startswith("q.yaml:1:47: partitions[0].queues[1].name: invalid child name")
