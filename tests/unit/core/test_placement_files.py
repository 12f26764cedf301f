"""From the text of a configuration to the queue of an application (chapters 10 and 20)."""

from __future__ import annotations

import pytest

from remuda.base.errors import ConfigError
from remuda.config.load import load_configuration
from remuda.config.schema import built_in
from tests.unit.core.door import Caller
from tests.unit.core.placing import FORCE, RECOVERY, paths, place, refused

TREE = """
partitions:
  - name: default
    placementrules: {rules}
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: Namespaces
            parent: true
          - name: newapp
            parent: true
          - name: default
          - name: Prod
"""


def caller(rules: str) -> Caller:
    """A scheduler with these rules, in YAML."""
    return Caller(partitions=load_configuration(TREE.format(rules=rules)).partitions)


def filtered(only: str) -> Caller:
    """One rule with this filter, which gives root.prod; root.default takes the others."""
    return caller(f"[{{name: fixed, value: root.prod, filter: {only}}}]")


def passes(door: Caller, user: str, *groups: str) -> bool:
    """Whether the only rule is for somebody."""
    found = place(door, user=user, groups=groups)
    assert found in {"root.prod", "root.default"}
    return found == "root.prod"


@pytest.mark.remuda_rule("PLC-44", "D-P5")
@pytest.mark.parametrize("kind", ["deny", "Deny", "DENY"])
def test_deny_denies_in_any_case(kind: str) -> None:
    door = filtered(f"{{type: {kind}, users: [eve]}}")
    assert not passes(door, "eve")
    assert passes(door, "bob")


@pytest.mark.remuda_rule("PLC-44", "PLC-45")
@pytest.mark.parametrize("kind", ["allow", "Allow", "''"])
def test_everything_else_allows(kind: str) -> None:
    door = filtered(f"{{type: {kind}, users: [eve]}}")
    assert passes(door, "eve")
    assert not passes(door, "bob")
    assert passes(filtered(f"{{type: {kind}}}"), "bob")


@pytest.mark.remuda_rule("PLC-45")
def test_deny_without_names_is_for_nobody() -> None:
    assert not passes(filtered("{type: deny}"), "bob", "dev")
    assert not passes(filtered("{type: deny, users: [], groups: []}"), "bob", "dev")


@pytest.mark.remuda_rule("PLC-47", "PLC-50", "D-P6")
@pytest.mark.parametrize(
    "entry, user, hit",
    [
        ("user", "user", True),
        ("user", "users", False),
        ("a.b", "a.b", True),
        ("a.b", "axb", False),  # without a special character it is a name
        ("^a.b$", "axb", True),
        ("u.*", "xu", True),
        ("(?i)BOB+", "xbobb", True),
        ("user$", "user$", True),
        ("user$", "abcuser", False),
    ],
)
def test_one_entry_is_a_name_or_an_expression(entry: str, user: str, *, hit: bool) -> None:
    assert passes(filtered(f"{{users: ['{entry}']}}"), user) is hit


@pytest.mark.remuda_rule("PLC-48", "PLC-49")
def test_several_entries_are_names_and_one_beside_them_may_be_an_expression() -> None:
    door = filtered("{users: ['^u'], groups: [g1, g2, g1]}")
    assert passes(door, "unix")
    assert passes(door, "max", "g2")
    assert not passes(door, "max", "g3")


@pytest.mark.remuda_rule("PLC-36", "PLC-12", "D-P3")
@pytest.mark.parametrize("name", ["test", "Test", "recovery", "bogus"])
def test_a_rule_that_does_not_exist_never_gets_to_placement(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        caller(f"[{{name: provided}}, {{name: {name}}}]")
    assert {problem.rule for problem in caught.value.problems} == {"PLC-12"}


@pytest.mark.remuda_rule("PLC-12", "PLC-34", "PLC-32")
def test_names_of_rules_tags_and_queues_are_read_in_any_case() -> None:
    door = caller("[{name: TAG, value: NameSpace, create: true}, {name: Fixed, value: ROOT.Prod}]")
    assert place(door, tags={"namespace": "New"}) == "root.new"
    assert place(door) == "root.prod"


@pytest.mark.remuda_rule("PLC-11", "RLD-30")
@pytest.mark.parametrize("rules", ["[]", "null"])
def test_no_rules_mean_the_provided_one(rules: str) -> None:
    door = caller(rules)
    assert place(door, "root.prod") == "root.prod"
    assert place(door, "root.new") == "root.default"
    assert place(door, "root.new", tags=FORCE) == RECOVERY


EXAMPLE_1 = """
      - name: user
        create: true
        filter: {type: allow, groups: ["dev*"]}
        parent: {name: tag, value: namespace}
      - name: tag
        value: namespace
        create: true
        parent: {name: fixed, value: root.namespaces, filter: {users: [john]}}
      - {name: fixed, value: root.default}
"""


@pytest.mark.remuda_rule("PLC-21", "PLC-23", "PLC-46", "PLC-51")
def test_example_1_as_a_file() -> None:
    door = caller(EXAMPLE_1)
    assert place(door, user="john", groups=["john"], tags={"namespace": "testing"}) == (
        "root.namespaces.testing"
    )
    team = ["sarah", "test_app", "dev_app"]
    assert place(door, user="sarah", groups=team, tags={"namespace": "newapp"}) == (
        "root.newapp.sarah"
    )
    assert place(door, user="bob", groups=["bob"], tags={"namespace": "x"}) == "root.default"


@pytest.mark.remuda_rule("PLC-30", "PLC-34", "RM-5")
def test_the_built_in_rules_place_by_namespace() -> None:
    door = Caller(partitions=built_in().partitions)
    assert place(door, tags={"namespace": "dev"}) == "root.dev"
    assert refused(door, "root.dev")
    assert paths(door) == ["root", "root.dev"]
