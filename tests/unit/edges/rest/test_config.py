"""The configuration in force as YAML, as JSON and as it was loaded."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import yaml
from starlette.testclient import TestClient

from remuda.config.load import load_configuration
from remuda.config.schema import BUILT_IN_TEXT
from remuda.core.messages.queries import ConfigurationView
from tests.unit.config.examples import FULL
from tests.unit.edges.rest.schema import assert_valid

Fake = Any  # FakeViews of conftest.py

DEADLOCK_ONLY = {"DeadlockDetectionEnabled": False, "DeadlockTimeoutSeconds": 60}

JSON = {"Accept": "application/json"}


def view(text: str = FULL, rm_id: str = "rm-a", **extra: str) -> ConfigurationView:
    checksum = load_configuration(text).checksum if text else ""
    return ConfigurationView(rm_id, "queues", text, checksum, extra)


def config(client: TestClient, **headers: str) -> Any:
    answer = client.get("/ws/v1/config", headers=headers)
    assert answer.status_code == 200
    if answer.headers["content-type"] == "application/json; charset=UTF-8":
        shown = json.loads(answer.content)
        assert_valid("Config", shown)
        return shown
    assert answer.headers["content-type"] == "application/x-yaml; charset=UTF-8"
    return yaml.safe_load(answer.content)


@pytest.fixture(autouse=True)
def _switches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DEADLOCK_DETECTION_ENABLED", "DEADLOCK_TIMEOUT_SECONDS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.remuda_rule("REST-24", "REST-57", "REST-59", "REST-60", "TOOL-3", "CHK-1")
def test_yaml_is_the_normalised_document(client: TestClient, views: Fake) -> None:
    views.configurations = [view()]
    limits = [{"limit": "all users", "users": ["*"], "maxresources": {"memory": "40G"}}]
    shown = config(client)
    assert shown == {
        "partitions": [
            {
                "name": "default",
                "limits": limits,
                "placementrules": [
                    {"name": "provided", "create": True},
                    {"name": "fixed", "value": "root.adhoc"},
                ],
                "nodesortpolicy": {
                    "type": "binpacking",
                    "resourceweights": {"vcore": 2, "memory": 1},
                },
                "queues": [
                    {
                        "name": "root",
                        "parent": True,
                        "submitacl": "*",
                        "limits": limits,
                        "properties": {"application.sort.priority": "disabled"},
                        "childtemplate": {
                            "maxapplications": 3,
                            "resources": {"max": {"memory": "8G", "vcore": "4"}},
                        },
                        "queues": [
                            {"name": "adhoc", "maxapplications": 10},
                            {
                                "name": "Teams",
                                "parent": True,
                                "properties": {
                                    "preemption.policy": "disabled",
                                    "priority.offset": "100",
                                },
                                "queues": [
                                    {
                                        "name": "red",
                                        "resources": {
                                            "guaranteed": {"memory": "2Gi"},
                                            "max": {"memory": "20G"},
                                        },
                                    },
                                    {
                                        "name": "blue",
                                        "parent": True,
                                        "properties": {"application.sort.policy": "fair"},
                                    },
                                ],
                            },
                        ],
                    }
                ],
            }
        ],
        "checksum": hashlib.sha256(FULL.encode()).hexdigest().upper(),
        "deadlockdetectionenabled": False,
        "deadlocktimeoutseconds": 60,
    }
    assert list(shown)[-3:] == ["checksum", "deadlockdetectionenabled", "deadlocktimeoutseconds"]


@pytest.mark.remuda_rule("REST-59", "REST-5", "REST-4")
def test_yaml_is_indented_by_four_and_for_its_own_pages(client: TestClient, views: Fake) -> None:
    views.configurations = [view()]
    answer = client.get("/ws/v1/config")
    lines = answer.text.splitlines()
    assert lines[0] == "partitions:"
    assert all((len(line) - len(line.lstrip(" "))) % 4 == 0 for line in lines)
    assert answer.headers["content-type"] == "application/x-yaml; charset=UTF-8"
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["vary"].startswith("Accept")


@pytest.mark.remuda_rule("REST-58", "REST-57", "TOOL-3")
def test_json_has_the_names_of_go_fields(client: TestClient, views: Fake) -> None:
    views.configurations = [view(**{"log.level": "DEBUG", "custom": "1"})]
    shown = config(client, **JSON)
    (partition,) = shown.pop("Partitions")
    assert shown == {
        "Checksum": load_configuration(FULL).checksum,
        "Extra": {"custom": "1", "log.level": "DEBUG"},
        **DEADLOCK_ONLY,
    }
    limit = {"Limit": "all users", "Users": ["*"], "MaxResources": {"memory": "40G"}}
    (root,) = partition.pop("Queues")
    assert partition == {
        "Name": "default",
        "PlacementRules": [
            {"Name": "provided", "Create": True, "Filter": {"Type": ""}},
            {"Name": "fixed", "Filter": {"Type": ""}, "Value": "root.adhoc"},
        ],
        "Limits": [limit],
        "Preemption": {},
        "NodeSortPolicy": {"Type": "binpacking", "ResourceWeights": {"memory": 1, "vcore": 2}},
    }
    adhoc, teams = root.pop("Queues")
    assert root == {
        "Name": "root",
        "Parent": True,
        "Resources": {},
        "Properties": {"application.sort.priority": "disabled"},
        "SubmitACL": "*",
        "ChildTemplate": {
            "MaxApplications": 3,
            "Resources": {"Max": {"memory": "8G", "vcore": "4"}},
        },
        "Limits": [limit],
    }
    nothing: dict[str, Any] = {"Resources": {}, "ChildTemplate": {"Resources": {}}}
    assert adhoc == {"Name": "adhoc", "MaxApplications": 10, **nothing}
    assert (teams["Name"], teams["Parent"]) == ("Teams", True)
    red, _ = teams["Queues"]
    assert red == {
        **nothing,
        "Name": "red",
        "Resources": {"Guaranteed": {"memory": "2Gi"}, "Max": {"memory": "20G"}},
    }


@pytest.mark.remuda_rule("REST-58")
def test_json_of_rules_filters_and_switches(client: TestClient, views: Fake) -> None:
    text = """\
partitions:
  - name: p
    preemption: {enabled: false, quotapreemptionenabled: true}
    usergroupresolver: {type: os}
    placementrules:
      - name: user
        create: true
        filter: {type: deny, users: [ann, bob], groups: [dev]}
        parent: {name: tag, value: namespace, parent: {name: fixed, value: root}}
    queues:
      - name: a
        adminacl: "ann "
        submitacl: "* dev"
        limits: [{limit: "", groups: [dev], maxapplications: 2}]
"""
    views.configurations = [view(text)]
    (partition,) = config(client, **JSON)["Partitions"]
    assert partition["Preemption"] == {"Enabled": False, "QuotaPreemptionEnabled": True}
    assert partition["UserGroupResolver"] == {"Type": "os"}
    assert partition["PlacementRules"] == [
        {
            "Name": "user",
            "Create": True,
            "Filter": {"Type": "deny", "Users": ["ann", "bob"], "Groups": ["dev"]},
            "Parent": {
                "Name": "tag",
                "Filter": {"Type": ""},
                "Value": "namespace",
                "Parent": {"Name": "fixed", "Filter": {"Type": ""}, "Value": "root"},
            },
        }
    ]
    (root,) = partition["Queues"]
    assert (root["Name"], root["Parent"]) == ("root", True)
    (queue,) = root["Queues"]
    assert (queue["AdminACL"], queue["SubmitACL"]) == ("ann ", "* dev")
    assert queue["Limits"] == [{"Limit": "", "Groups": ["dev"], "MaxApplications": 2}]


@pytest.mark.remuda_rule("REST-58", "CFG-42", "REST-60")
def test_a_partition_without_queues_shows_its_root(client: TestClient, views: Fake) -> None:
    views.configurations = [view("partitions: [{queues: []}]")]
    (partition,) = config(client, **JSON)["Partitions"]
    assert partition == {
        "Name": "default",
        "Queues": [
            {
                "Name": "root",
                "Parent": True,
                "Resources": {},
                "ChildTemplate": {"Resources": {}},
            }
        ],
        "Preemption": {},
        "NodeSortPolicy": {"Type": ""},
    }


@pytest.mark.remuda_rule("REST-60", "TOOL-3")
def test_before_the_first_configuration_only_the_deadlock_keys_are_there(
    client: TestClient,
) -> None:
    assert config(client, **JSON) == DEADLOCK_ONLY
    assert config(client) == {"deadlockdetectionenabled": False, "deadlocktimeoutseconds": 60}
    assert client.get("/ws/v1/config?raw=true").content == b""


@pytest.mark.remuda_rule("KV-4", "REST-57", "TOOL-3")
def test_the_deadlock_keys_are_those_of_the_environment(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADLOCK_DETECTION_ENABLED", "true")
    monkeypatch.setenv("DEADLOCK_TIMEOUT_SECONDS", "5")
    expected = {"DeadlockDetectionEnabled": True, "DeadlockTimeoutSeconds": 5}
    assert config(client, **JSON) == expected


@pytest.mark.remuda_rule("REST-59", "REST-57", "KV-1")
def test_the_raw_text_can_be_loaded_again(client: TestClient, views: Fake) -> None:
    views.configurations = [view(**{"unknown.key": "x"})]
    assert config(client)["extra"] == {"unknown.key": "x"}
    answer = client.get("/ws/v1/config?raw=true", headers=JSON)
    assert answer.headers["content-type"] == "application/x-yaml; charset=UTF-8"
    assert answer.content == FULL.encode()
    assert load_configuration(answer.text) == load_configuration(FULL)
    assert client.get("/ws/v1/config?raw=false").content != FULL.encode()


@pytest.mark.remuda_rule("REST-57")
@pytest.mark.parametrize(
    "accept, kind",
    [
        ("application/json", "application/json"),
        ("application/json;q=0.9", "application/json"),
        ("*/*", "application/x-yaml"),
        ("text/html", "application/x-yaml"),
    ],
)
def test_the_accept_header_decides(client: TestClient, accept: str, kind: str) -> None:
    answer = client.get("/ws/v1/config", headers={"Accept": accept})
    assert answer.headers["content-type"] == f"{kind}; charset=UTF-8"


@pytest.mark.remuda_rule("REST-57")
def test_without_an_accept_header_it_is_yaml(client: TestClient) -> None:
    del client.headers["accept"]
    kind = client.get("/ws/v1/config").headers["content-type"]
    assert kind == "application/x-yaml; charset=UTF-8"


@pytest.mark.remuda_rule("REST-21")
def test_the_first_resource_manager_counts_unless_one_is_named(
    client: TestClient, views: Fake
) -> None:
    other = "partitions: [{name: other, queues: []}]"
    views.configurations = [view(other, "rm-b"), view(BUILT_IN_TEXT, "rm-a")]

    def name(query: str) -> object:
        answer = client.get(f"/ws/v1/config{query}", headers=JSON)
        return answer.json()["Partitions"][0]["Name"]

    assert (name(""), name("?rm=rm-a"), name("?rm=rm-b")) == ("default", "default", "other")
    answer = client.get("/ws/v1/config?rm=rm-c")
    assert answer.status_code == 404
    assert answer.json()["message"] == "Resource manager not found"
    assert_valid("Error", answer.json())


@pytest.mark.remuda_rule("REST-60", "REST-57")
def test_a_configuration_built_by_hand_has_no_document(client: TestClient, views: Fake) -> None:
    views.configurations = [view("", custom="1")]
    assert config(client, **JSON) == {"Extra": {"custom": "1"}, **DEADLOCK_ONLY}


@pytest.mark.remuda_rule("REST-60", "CHK-3")
def test_a_recorded_checksum_is_replaced_by_the_right_one(client: TestClient, views: Fake) -> None:
    text = "partitions: []\n"
    recorded = f"checksum: {'0' * 64}\n{text}"
    views.configurations = [view(recorded)]
    shown = config(client)
    assert shown["checksum"] == load_configuration(recorded).checksum
    assert shown["checksum"] == load_configuration("\n" + text).checksum
