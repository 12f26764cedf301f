"""Which result of the rules is taken, and what is made for it (chapter 20 sections 1, 7 and 8)."""

from __future__ import annotations

import pytest

from remuda.config.schema import PartitionConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.core.model import states
from tests.unit.core.door import CREATING, PROVIDED, SECOND, Caller, events, leaf, of, parent
from tests.unit.core.placing import (
    FORCE,
    NOBODY,
    RECOVERY,
    acl,
    gang,
    made,
    paths,
    place,
    refused,
    rejected,
    rule,
    submit,
)

BY_USER = rule("user", create=True)


# ------------------------------------------------------------------------- sections 1 and 2


@pytest.mark.remuda_rule("PLC-1", "SI-20")
def test_the_user_comes_before_the_state_of_the_partition_and_that_before_the_id() -> None:
    door = Caller(leaf("a"))
    submit(door, "old", "root.a")
    partition = door.scheduler._cluster.partition(door.rm, "default")
    assert partition is not None
    partition.state = states.STOPPED
    new = (
        c.NewApplication("old", "root.a"),
        c.NewApplication("old", "root.a", user="ann"),
        c.NewApplication("old", "root.a", user="ann", partition="other"),
    )
    (answer,) = of(door.send(c.UpdateApplications(door.rm, new)), e.ApplicationsAnswered)
    causes = ["empty user cannot resolve", "partition is stopped", "doesn't exist"]
    for rejection, cause in zip(answer.rejected, causes, strict=True):
        assert cause in rejection.reason


@pytest.mark.remuda_rule("OBJ-8", "PLC-4")
@pytest.mark.parametrize("state", [states.STOPPED, states.DRAINING])
def test_a_partition_that_is_not_active_refuses_applications(state: str) -> None:
    door = Caller(leaf("a"))
    partition = door.scheduler._cluster.partition(door.rm, "default")
    assert partition is not None
    partition.state = state
    assert "partition is stopped" in place(door, "root.a")


@pytest.mark.remuda_rule("PLC-1", "SI-20", "SI-21")
def test_a_failure_rejects_only_its_application() -> None:
    door = Caller(leaf("a"), parent("p"), placement_rules=(PROVIDED,))
    new = tuple(
        c.NewApplication(name, queue, user=user)
        for name, queue, user in (
            ("good", "root.a", "ann"),
            ("lost", "root.none", "ann"),
            ("nobody", "root.a", ""),
            ("odd", "root.a", "a b"),
            ("bad-name", "root.x!", "ann"),
            ("late", "root.a", "bob"),
        )
    )
    (answer,) = of(door.send(c.UpdateApplications(door.rm, new)), e.ApplicationsAnswered)
    assert answer.accepted == ("good", "late")
    causes = {one.subject: one.reason for one in answer.rejected}
    assert list(causes) == ["lost", "nobody", "odd", "bad-name"]
    assert "no placement rule matched" in causes["lost"]
    assert "invalid queue name" in causes["bad-name"]


@pytest.mark.remuda_rule("PLC-3")
def test_the_queue_path_of_a_rejected_application() -> None:
    door = Caller(
        parent("p", leaf("gone"), leaf("stays")),
        parent("q"),
        leaf("a"),
        placement_rules=(CREATING,),
    )
    submit(door, "live", "root.p.gone")
    door.reload(parent("q"), leaf("a"), placement_rules=(CREATING,))
    submit(door, "early", "Root.A", user="")
    submit(door, "unplaced", "root.q")
    submit(door, "not-created", "root.p.New")
    assert {app.application_id: app.queue_path for app in rejected(door)} == {
        "early": "Root.A",
        "unplaced": "",
        "not-created": "root.p.new",
    }


@pytest.mark.remuda_rule("PLC-3", "PLC-40")
def test_the_queue_that_won_replaces_the_requested_one() -> None:
    door = Caller(leaf("a"))
    submit(door, "app", "ROOT.A")
    assert door.apps()["app"].queue == "root.a"


@pytest.mark.remuda_rule("PLC-4", "PLC-5", "PLC-67", "EVT-25")
def test_reasons_name_the_application_and_the_cause() -> None:
    door = Caller(parent("p", leaf("x")), leaf("a"), placement_rules=(CREATING,))
    submit(door, "live", "root.p.x")
    door.reload(leaf("a"), placement_rules=(CREATING,))
    assert "already existed" in place_as(door, "live", "root.a")
    unplaced = place_as(door, "unplaced", "")
    assert "failed to place application" in unplaced
    assert "no placement rule matched" in unplaced
    not_created = place_as(door, "late", "root.p.new")
    assert "failed to create rule based queue root.p.new" in not_created
    assert "draining" in not_created


def place_as(door: Caller, application_id: str, queue: str) -> str:
    """Submit under an ID; the reason of the rejection, which is also that of the event."""
    effects = submit(door, application_id, queue)
    (answer,) = of(effects, e.ApplicationsAnswered)
    reason = answer.rejected[0].reason
    told = [(record.detail, record.message) for record in of(effects, e.EventRecord)]
    assert told == [(ev.DETAILS_NONE, ""), (ev.APP_REJECT, reason)]
    assert application_id in reason
    return reason


@pytest.mark.remuda_rule("PLC-10", "PLC-35")
def test_rules_are_tried_in_order_and_recovery_last() -> None:
    door = Caller(leaf("a"), leaf("b"), placement_rules=(rule("fixed", "root.b"), PROVIDED))
    assert place(door, "root.a") == "root.b"
    assert place(door, "root.a", tags=FORCE) == "root.b"
    other = Caller(leaf("a"), placement_rules=(PROVIDED, rule("fixed", "root.none")))
    assert place(other, "root.x", tags=FORCE) == RECOVERY


@pytest.mark.remuda_rule("PLC-11")
def test_without_rules_the_requested_queue_counts_if_it_exists() -> None:
    root = parent("root", leaf("a"), submit_acl=acl("*"))
    door = Caller(partitions=[PartitionConfig("default", root)])
    assert place(door, "root.a") == "root.a"
    assert refused(door, "root.b")
    assert place(door, "root.b", tags=FORCE) == RECOVERY


# -------------------------------------------------------------------------------- section 7


@pytest.mark.remuda_rule("PLC-55")
def test_an_error_stops_placement_with_an_empty_path() -> None:
    door = Caller(leaf("a"), placement_rules=(CREATING, rule("fixed", "root.a")))
    assert "invalid queue name" in place(door, "root.x!")
    assert [app.queue_path for app in rejected(door)] == [""]


@pytest.mark.remuda_rule("PLC-56")
def test_no_match_leads_to_the_next_rule() -> None:
    door = Caller(leaf("a"), placement_rules=(PROVIDED, rule("fixed", "root.a")))
    assert place(door, "root.none") == "root.a"


@pytest.mark.remuda_rule("PLC-57")
def test_a_parent_leads_to_the_next_rule() -> None:
    door = Caller(parent("p"), leaf("a"), placement_rules=(CREATING, rule("fixed", "root.a")))
    assert place(door, "root.p") == "root.a"


@pytest.mark.remuda_rule("PLC-58", "ACL-10")
def test_a_leaf_without_access_leads_to_the_next_rule() -> None:
    door = Caller(
        leaf("a", submit_acl=acl("bob")),
        leaf("b", submit_acl=acl("*")),
        root={"submit_acl": NOBODY},
        placement_rules=(PROVIDED, rule("fixed", "root.b")),
    )
    assert place(door, "root.a", user="bob") == "root.a"
    assert place(door, "root.a", user="eve") == "root.b"


@pytest.mark.remuda_rule("PLC-58", "ACL-10")
def test_access_to_an_ancestor_is_enough() -> None:
    door = Caller(
        parent("p", leaf("x"), submit_acl=acl("bob")), leaf("a"), root={"submit_acl": NOBODY}
    )
    assert place(door, "root.p.x", user="bob") == "root.p.x"
    assert refused(door, "root.p.x", user="eve")


@pytest.mark.remuda_rule("PLC-59", "PLC-63")
def test_the_nearest_existing_ancestor_decides_about_a_new_queue() -> None:
    door = Caller(
        parent("p", submit_acl=acl("bob")),
        root={"submit_acl": NOBODY},
        placement_rules=(CREATING,),
    )
    assert place(door, "root.p.x.y", user="bob") == "root.p.x.y"
    assert refused(door, "root.p.z", user="eve")
    assert refused(door, "root.z", user="bob")
    assert paths(door) == ["root", "root.p", "root.p.x", "root.p.x.y"]


@pytest.mark.remuda_rule("PLC-59", "D-P7")
def test_a_path_through_a_leaf_leads_to_the_next_rule() -> None:
    door = Caller(leaf("a"), leaf("b"), placement_rules=(CREATING, rule("fixed", "root.b")))
    assert place(door, "root.a.below.it") == "root.b"
    assert paths(door) == ["root", "root.a", "root.b"]


@pytest.mark.remuda_rule("PLC-61", "SI-20", "OBJ-3")
def test_a_draining_leaf_leads_to_the_next_rule() -> None:
    door = Caller(leaf("a"), leaf("b"), placement_rules=(PROVIDED, rule("fixed", "root.b")))
    submit(door, "keeps-it", "root.a")
    door.reload(leaf("b"), placement_rules=(PROVIDED, rule("fixed", "root.b")))
    assert place(door, "root.a") == "root.b"
    door.reload(leaf("b"), placement_rules=(PROVIDED,))
    assert refused(door, "root.a")


DEFAULTS = [
    (leaf("default"), "root.default"),
    (leaf("default", submit_acl=acl("ann")), "root.default"),
    (parent("default", leaf("x")), ""),
    (leaf("other"), ""),
]


@pytest.mark.remuda_rule("PLC-62")
@pytest.mark.parametrize("queue, found", DEFAULTS)
def test_the_default_queue_takes_what_no_rule_takes(queue: object, found: str) -> None:
    door = Caller(queue, placement_rules=(PROVIDED,))  # type: ignore[arg-type]
    assert place(door, "root.none") == found if found else refused(door, "root.none")
    assert "root.default" not in paths(door) or queue.name == "default"  # type: ignore[attr-defined]


@pytest.mark.remuda_rule("PLC-62")
def test_the_default_queue_needs_access_and_must_not_drain() -> None:
    closed = {"submit_acl": NOBODY}
    door = Caller(leaf("default", submit_acl=acl("bob")), root=closed)
    assert place(door, user="bob") == "root.default"
    assert refused(door, user="eve")
    door.reload(leaf("a"))
    assert refused(door, user="bob")


@pytest.mark.remuda_rule("PLC-62")
def test_a_forced_application_never_gets_to_the_default_queue() -> None:
    assert place(Caller(leaf("default")), "root.none", tags=FORCE) == RECOVERY


@pytest.mark.remuda_rule("PLC-62", "PLC-55")
def test_an_error_does_not_lead_to_the_default_queue() -> None:
    door = Caller(leaf("default"), placement_rules=(CREATING,))
    assert "invalid queue name" in place(door, "root.x!")


# -------------------------------------------------------------------------------- section 8


@pytest.mark.remuda_rule("PLC-64", "PLC-66", "EVT-63")
def test_missing_levels_are_made_top_down_the_last_a_leaf() -> None:
    door = Caller(leaf("a"), placement_rules=(CREATING,))
    assert made(submit(door, "app", "root.x.y.z")) == ["root.x", "root.x.y", "root.x.y.z"]
    shown = {path: door.queue(path) for path in ("root.x", "root.x.y", "root.x.y.z")}
    assert [view.leaf for view in shown.values()] == [False, False, True]
    assert [view.managed for view in shown.values()] == [False, False, False]
    assert shown["root.x.y.z"].sort_policy == "fifo"


@pytest.mark.remuda_rule("PLC-64", "D-P8")
def test_nothing_is_made_when_one_of_the_names_is_bad() -> None:
    door = Caller(leaf("a"), placement_rules=(CREATING,))
    assert "invalid queue name" in place(door, "root.x.y.z!")
    assert paths(door) == ["root", "root.a"]


@pytest.mark.remuda_rule("PLC-67", "QUE-3", "OBJ-3")
def test_a_draining_parent_takes_no_new_queue() -> None:
    rules = (CREATING, rule("fixed", "root.a"))
    door = Caller(parent("p", leaf("x")), leaf("a"), placement_rules=rules)
    submit(door, "keeps-it", "root.p.x")
    door.reload(leaf("a"), placement_rules=rules)
    assert "failed to create rule based queue root.p.new" in place(door, "root.p.new")


@pytest.mark.remuda_rule("PLC-68", "SI-22")
def test_a_queue_made_for_an_application_that_is_refused_later_goes_again() -> None:
    door = Caller(leaf("a"), placement_rules=(CREATING,))
    tags = {"node.sort.policy": "random"}
    new = c.NewApplication("app", "root.x", user="ann", tags=tags)
    refusal = door.send(c.UpdateApplications(door.rm, (new,)))
    assert made(refusal) == ["root.x"]
    assert of(refusal, e.ApplicationsAnswered)[0].accepted == ()
    gone = events(door.wait(10 * SECOND))
    assert (ev.QUEUE, "root.x", ev.REMOVE, ev.QUEUE_DYNAMIC) in gone
    assert paths(door) == ["root", "root.a"]


@pytest.mark.remuda_rule("PLC-66", "PLC-68", "TPL-4")
def test_two_applications_of_one_request_share_the_queue_that_is_made() -> None:
    door = Caller(leaf("a"), placement_rules=(CREATING,))
    new = tuple(c.NewApplication(name, "root.x.y", user="ann") for name in ("one", "two"))
    effects = door.send(c.UpdateApplications(door.rm, new))
    assert made(effects) == ["root.x", "root.x.y"]
    assert {app.queue for app in door.apps().values()} == {"root.x.y"}


# ----------------------------------------------------------------------------- gang checks


@pytest.mark.remuda_rule("PLC-6", "GANG-2", "SI-20")
def test_a_gang_needs_a_queue_in_order_of_arrival() -> None:
    fair = {"application.sort.policy": "fair"}
    door = Caller(leaf("a", {"memory": 1}, properties=fair), leaf("b"))
    (answer,) = of(door.send(gang({"memory": 5}, "root.a")), e.ApplicationsAnswered)
    assert "unsupported sort type" in answer.rejected[0].reason
    (answer,) = of(door.send(gang({"memory": 5}, "root.b")), e.ApplicationsAnswered)
    assert answer.accepted == ("gang",)


@pytest.mark.remuda_rule("PLC-6", "GANG-3", "PLC-4")
@pytest.mark.parametrize(
    "ask, fits",
    [
        ({"memory": 10, "vcore": 5}, True),
        ({"memory": 11}, False),
        ({"vcore": 6}, False),
        ({"gpu": 99}, True),
    ],
)
def test_a_gang_must_fit_the_configured_maximum_of_its_path(
    ask: dict[str, int], fits: bool
) -> None:
    door = Caller(parent("p", leaf("a", {"memory": 10}), maximum={"memory": 20, "vcore": 5}))
    door.node("n1", {"memory": 1, "vcore": 1})
    (answer,) = of(door.send(gang(ask, "root.p.a")), e.ApplicationsAnswered)
    assert bool(answer.accepted) is fits
    if not fits:
        reason = answer.rejected[0].reason
        assert "larger than max queue allocation" in reason
        for name, amount in ask.items():
            assert f"{name}:{amount}" in reason
        assert "memory:10 vcore:5" in reason
