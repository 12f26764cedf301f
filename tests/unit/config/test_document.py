"""The configuration as it counts, as GET /ws/v1/config shows it: chapter 95 section 5."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.base.errors import ConfigError
from remuda.config.document import document
from tests.unit.config.examples import FULL


def only_partition(text: str) -> Any:
    found: Any = document(text)["partitions"]
    (partition,) = found
    return partition


@pytest.mark.remuda_rule("TOOL-3", "REST-59", "REST-60")
def test_the_full_example_in_its_own_words() -> None:
    limits = [{"limit": "all users", "users": ["*"], "maxresources": {"memory": "40G"}}]
    teams = {
        "name": "Teams",
        "properties": {"preemption.policy": "disabled", "priority.offset": "100"},
        "queues": [
            {
                "name": "red",
                "resources": {"guaranteed": {"memory": "2Gi"}, "max": {"memory": "20G"}},
            },
            {"name": "blue", "parent": True, "properties": {"application.sort.policy": "fair"}},
        ],
        "parent": True,
    }
    root = {
        "name": "root",
        "parent": True,
        "submitacl": "*",
        "properties": {"application.sort.priority": "disabled"},
        "childtemplate": {
            "maxapplications": 3,
            "resources": {"max": {"memory": "8G", "vcore": "4"}},
        },
        "queues": [{"name": "adhoc", "maxapplications": 10}, teams],
        "limits": limits,
    }
    assert document(FULL) == {
        "partitions": [
            {
                "name": "default",
                "queues": [root],
                "limits": limits,
                "placementrules": [
                    {"name": "provided", "create": True},
                    {"name": "fixed", "value": "root.adhoc"},
                ],
                "nodesortpolicy": {
                    "type": "binpacking",
                    "resourceweights": {"vcore": 2.0, "memory": 1.0},
                },
            }
        ]
    }


@pytest.mark.remuda_rule("REST-60", "CFG-42")
@pytest.mark.parametrize(
    "queues, root",
    [
        ("[]", {"name": "root", "parent": True}),
        ("[{name: ROOT, parent: false}]", {"name": "root", "parent": True}),
        ("[{name: A}]", {"name": "root", "parent": True, "queues": [{"name": "A"}]}),
        (
            "[{name: root, adminacl: x}, {name: a}]",
            {
                "name": "root",
                "parent": True,
                "queues": [{"name": "root", "adminacl": "x"}, {"name": "a"}],
            },
        ),
    ],
)
def test_the_root_queue_is_shown_where_the_file_has_none(
    queues: str, root: dict[str, object]
) -> None:
    found = document(f"partitions: [{{name: p, queues: {queues}}}]")
    assert found == {"partitions": [{"name": "p", "queues": [root]}]}


@pytest.mark.remuda_rule("REST-59")
def test_what_is_empty_is_left_out() -> None:
    text = """\
checksum: abc
partitions:
  - preemption: {}
    limits: []
    placementrules: ~
    queues:
      - {name: root, adminacl: "", limits: [], properties: {}, childtemplate: {resources: {}}}
"""
    root = {"name": "root", "parent": True}
    assert document(text) == {"partitions": [{"name": "default", "queues": [root]}]}


@pytest.mark.remuda_rule("REST-59")
def test_flags_and_rules_are_shown_as_they_are() -> None:
    text = """\
partitions:
  - queues: []
    preemption: {enabled: no, quotapreemptionenabled: true}
    usergroupresolver: {type: os}
    placementrules:
      - name: User
        create: off
        filter: {type: Deny, users: [a, b]}
        parent: {name: tag, value: NameSpace}
"""
    partition = only_partition(text)
    assert partition["preemption"] == {"enabled": False, "quotapreemptionenabled": True}
    assert partition["usergroupresolver"] == {"type": "os"}
    assert partition["placementrules"] == [
        {
            "name": "User",
            "create": False,
            "filter": {"type": "Deny", "users": ["a", "b"]},
            "parent": {"name": "tag", "value": "NameSpace"},
        }
    ]


@pytest.mark.remuda_rule("REST-59", "CFG-11", "CFG-17")
def test_texts_keep_their_source_and_aliases_are_written_out() -> None:
    text = """\
partitions:
  - queues:
      - name: a
        properties: {x: 010, y: ~, z: true}
        resources: &r {max: {memory: 010}}
      - {name: b, resources: *r}
"""
    partition = only_partition(text)
    first, second = partition["queues"][0]["queues"]
    assert first["properties"] == {"x": "010", "y": "", "z": "true"}
    assert first["resources"] == second["resources"] == {"max": {"memory": "010"}}
    assert first["resources"] is not second["resources"]


@pytest.mark.remuda_rule("REST-60", "CFG-2", "CFG-12")
def test_the_empty_text_and_one_without_document() -> None:
    root = {"name": "root", "parent": True, "submitacl": "*"}
    rule = {"name": "tag", "value": "namespace", "create": True}
    assert document("") == {
        "partitions": [{"name": "default", "queues": [root], "placementrules": [rule]}]
    }
    assert document(" ") == {}
    assert document("partitions: []") == {}


def test_a_text_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ConfigError):
        document("partitions: [")
    with pytest.raises(ConfigError):
        document("partitions: [{queues: [], x: y}]")
