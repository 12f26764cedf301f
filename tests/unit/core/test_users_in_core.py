"""Whose an application is (chapter 30 section 1, the part that is not resolution)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import Caller, leaf, of
from tests.unit.core.placing import FORCE, acl, place, rule

FAULT = "user resolution failed, cached data returned: no such user"


def identity(door: Caller, **new: object) -> tuple[str, tuple[str, ...]] | str:
    """User and groups of an application, or why it is refused."""
    record = c.NewApplication("app", "root.a", **new)  # type: ignore[arg-type]
    (answer,) = of(door.send(c.UpdateApplications(door.rm, (record,))), e.ApplicationsAnswered)
    if answer.rejected:
        return answer.rejected[0].reason
    found = door.apps()["app"]
    return found.user, found.groups


@pytest.fixture
def door() -> Caller:
    """An open leaf."""
    return Caller(leaf("a"))


# The decision table, as far as the core decides: groups that were looked up, or why they could
# not be, come with the command.
TABLE = [
    ({"user": "", "groups": ("x",)}, False, "empty user cannot resolve"),
    ({"user": ""}, False, "empty user cannot resolve"),
    ({"user": ""}, True, ("nobody", ("nogroup",))),
    ({"user": "", "groups": ("x", "y")}, True, ("nobody", ("nogroup",))),
    ({"user": "bob", "groups": ("x", "y")}, False, ("bob", ("x", "y"))),
    ({"user": "bob", "groups": ("x", "y")}, True, ("bob", ("x", "y"))),
    ({"user": "bob", "groups": ("bob",)}, False, ("bob", ("bob",))),
    ({"user": "unknown", "user_fault": FAULT}, False, FAULT),
    ({"user": "unknown", "user_fault": FAULT}, True, ("unknown", ("nogroup",))),
]


@pytest.mark.remuda_rule("UGR-2", "UGR-3", "UGR-4", "UGR-5", "UGR-6", "SI-24", "D-R2")
@pytest.mark.parametrize("new, force, expected", TABLE)
def test_the_decision_table(
    door: Caller, new: dict[str, object], expected: object, *, force: bool
) -> None:
    found = identity(door, **new, tags=FORCE if force else {})
    if isinstance(expected, str):
        assert isinstance(found, str)
        assert expected in found
        assert "app" in found
    else:
        assert found == expected


@pytest.mark.remuda_rule("UGR-1")
def test_user_and_groups_stay_as_submitted(door: Caller) -> None:
    assert identity(door, user="bob", groups=("z", "a")) == ("bob", ("z", "a"))
    door.reload(leaf("a"), leaf("b"))
    assert door.apps()["app"].groups == ("z", "a")


@pytest.mark.remuda_rule("UGR-8", "CFG-31")
@pytest.mark.parametrize(
    "user",
    [
        "bob",
        "_bob",
        "Bob-1.2",
        "bob@example.com",
        "system:serviceaccount:ns:sa",
        "bob$",
        "a#b/c",
    ],
)
def test_users_with_a_legal_name(door: Caller, user: str) -> None:
    assert identity(door, user=user) == (user, ())


@pytest.mark.remuda_rule("UGR-8", "CFG-31")
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("groups", [(), ("dev",)])
@pytest.mark.parametrize("user", ["9a", "a b", "*", "a$b", "bob\n", "-x", "ü", "a,b"])
def test_a_bad_name_is_refused_however_its_groups_came(
    door: Caller, user: str, groups: tuple[str, ...], *, force: bool
) -> None:
    found = identity(door, user=user, groups=groups, tags=FORCE if force else {})
    assert isinstance(found, str)
    assert "invalid username" in found


@pytest.mark.remuda_rule("UGR-9")
def test_the_request_itself_is_not_changed(door: Caller) -> None:
    record = c.NewApplication("app", "root.a", tags=FORCE)
    door.send(c.UpdateApplications(door.rm, (record,)))
    assert (record.user, record.groups) == ("", ())
    assert door.apps()["app"].user == "nobody"


@pytest.mark.remuda_rule("UGR-3", "ACL-7", "PLC-21")
def test_rules_and_access_see_the_user_that_was_put_in() -> None:
    door = Caller(
        leaf("a"),
        root={"submit_acl": acl("nobody")},
        placement_rules=(rule("user", create=True),),
    )
    assert place(door, user="", tags=FORCE) == "root.nobody"


@pytest.mark.remuda_rule("UGR-6", "ACL-7")
def test_rules_and_access_see_the_group_that_was_put_in() -> None:
    door = Caller(leaf("a", submit_acl=acl("", "nogroup")), root={"submit_acl": acl()})
    assert identity(door, user="eve", user_fault=FAULT, tags=FORCE) == ("eve", ("nogroup",))
    assert door.apps()["app"].queue == "root.a"


@pytest.mark.remuda_rule("UGR-2", "SI-20", "PLC-1")
def test_the_user_is_looked_at_before_the_id_and_the_queue(door: Caller) -> None:
    identity(door, user="bob")
    assert "empty user" in str(identity(door))
    assert "already existed" in str(identity(door, user="bob"))
