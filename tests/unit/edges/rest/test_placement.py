"""The placement rules in force, as the REST API shows them."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from remuda.config.schema import FilterConfig, NameFilter, PlacementRuleConfig
from tests.unit.edges.rest.schema import assert_valid

Fake = Any  # FakeViews of conftest.py

RECOVERY = {"name": "recovery", "parameters": {"queue": "root.@recovery@"}}


def rules(client: TestClient, views: Fake, *given: PlacementRuleConfig) -> list[dict[str, Any]]:
    views.rules["rm-a", "default"] = given
    answer = client.get("/ws/v1/partition/default/placementrules")
    assert answer.status_code == 200
    shown = answer.json()
    assert isinstance(shown, list)
    for each in shown:
        assert_valid("PlacementRule", each)
    return shown


@pytest.mark.remuda_rule("PLC-10", "PLC-16", "REST-50", "REST-95")
def test_the_recovery_rule_comes_last(client: TestClient, views: Fake) -> None:
    shown = rules(client, views, PlacementRuleConfig("provided"))
    assert shown == [{"name": "provided", "parameters": {"create": "false"}}, RECOVERY]


@pytest.mark.remuda_rule("PLC-16", "PLC-32", "REST-95")
@pytest.mark.parametrize(
    "rule, parameters",
    [
        (PlacementRuleConfig("user", create=True), {"create": "true"}),
        (
            PlacementRuleConfig("tag", value="namespace"),
            {"create": "false", "tagName": "namespace"},
        ),
        (
            PlacementRuleConfig("fixed", value="root.adhoc"),
            {"create": "false", "queue": "root.adhoc", "qualified": "true"},
        ),
        (
            PlacementRuleConfig("fixed", value="root"),
            {"create": "false", "queue": "root", "qualified": "true"},
        ),
        (
            PlacementRuleConfig("fixed", create=True, value="a.b"),
            {"create": "true", "queue": "a.b", "qualified": "false"},
        ),
        (
            PlacementRuleConfig("fixed", value="rootbeer"),
            {"create": "false", "queue": "rootbeer", "qualified": "false"},
        ),
    ],
)
def test_parameters(
    client: TestClient, views: Fake, rule: PlacementRuleConfig, parameters: dict[str, str]
) -> None:
    assert rules(client, views, rule) == [{"name": rule.name, "parameters": parameters}, RECOVERY]


@pytest.mark.remuda_rule("PLC-16", "REST-95")
def test_parent_rules_are_nested(client: TestClient, views: Fake) -> None:
    top = PlacementRuleConfig("fixed", value="root.users")
    tag = PlacementRuleConfig("tag", create=True, value="namespace", parent=top)
    (shown, _) = rules(client, views, PlacementRuleConfig("user", create=True, parent=tag))
    assert shown == {
        "name": "user",
        "parameters": {"create": "true"},
        "parentRule": {
            "name": "tag",
            "parameters": {"create": "true", "tagName": "namespace"},
            "parentRule": {
                "name": "fixed",
                "parameters": {"create": "false", "queue": "root.users", "qualified": "true"},
            },
        },
    }


@pytest.mark.remuda_rule("PLC-16", "PLC-45", "PLC-49", "REST-95")
@pytest.mark.parametrize(
    "given, shown",
    [
        (FilterConfig(), None),
        (FilterConfig(deny=True), {"type": "deny"}),
        (
            FilterConfig(users=NameFilter(("ann", "bob"))),
            {"type": "allow", "userList": ["ann", "bob"]},
        ),
        (
            FilterConfig(deny=True, groups=NameFilter(("dev",))),
            {"type": "deny", "groupList": ["dev"]},
        ),
        (
            FilterConfig(users=NameFilter(pattern="u.*"), groups=NameFilter(("g1", "g2"))),
            {"type": "allow", "userExp": "u.*", "groupList": ["g1", "g2"]},
        ),
        (
            FilterConfig(deny=True, groups=NameFilter(pattern="^g[0-9]+$")),
            {"type": "deny", "groupExp": "^g[0-9]+$"},
        ),
        (FilterConfig(users=NameFilter()), {"type": "allow"}),
    ],
)
def test_filters(
    client: TestClient, views: Fake, given: FilterConfig, shown: dict[str, Any] | None
) -> None:
    (rule, _) = rules(client, views, PlacementRuleConfig("user", filter=given))
    assert rule.get("filter") == shown


@pytest.mark.remuda_rule("REST-13", "REST-21")
def test_rules_are_those_of_the_chosen_partition(client: TestClient, views: Fake) -> None:
    views.rules["rm-b", "default"] = (PlacementRuleConfig("user"),)
    chosen = client.get("/ws/v1/partition/default/placementrules?rm=rm-b").json()
    assert [rule["name"] for rule in chosen] == ["user", "recovery"]
    answer = client.get("/ws/v1/partition/nope/placementrules")
    assert (answer.status_code, answer.json()["message"]) == (404, "Partition not found")
