"""The museum of the reference's defects: messages, recovery, and several resource managers."""

from __future__ import annotations

import pytest

from remuda.base.errors import ConfigError
from remuda.config.load import load_configuration
from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.si.codec_in import RequestReader, registration
from remuda.si.pb import si_pb2 as si
from tests.unit.core.door import SECOND, Caller, events, existing_allocation, leaf, of, partition

ONE = {"vcore": 1}
TEN = {"vcore": 10}
CONFIGURATION = Configuration((partition(leaf("a")),))


def cluster() -> Caller:
    """One node, one leaf and one application."""
    door = Caller(leaf("a"))
    door.node("n1", TEN)
    door.app("app")
    return door


@pytest.mark.remuda_rule("RM-9", "D-C18")
def test_a_manager_that_comes_back_may_register_again() -> None:
    """From 1.5.0 to 1.9 the scheduler hangs, because it takes a lock twice.

    remuda forgets all that belonged to the RM, and begins anew.
    """
    door = cluster()
    door.existing("app", "x", "n1", ONE)
    (answer,) = of(
        door.send(c.RegisterResourceManager("rm", CONFIGURATION)), e.RegistrationAnswered
    )
    assert answer.reason == ""
    assert (door.apps(), door.node_views()) == ({}, {})
    door.node("n1", TEN)
    door.app("app")
    door.ask("app", "k", ONE)
    assert door.place() == [("k-0", "n1")]


@pytest.mark.remuda_rule("RM-22")
def test_a_manager_cannot_touch_the_partition_of_another_one() -> None:
    """The reference keeps a name with a prefix as it is, so any RM reaches any partition.

    In remuda, the prefix of another RM is an unknown partition.
    """
    door = cluster()
    door.send(c.RegisterResourceManager("other", CONFIGURATION))
    stranger = c.ApplicationRemoval("app", "[rm]default")
    door.send(c.UpdateApplications("other", remove=(stranger,)))
    assert door.state("app") == "New"


@pytest.mark.remuda_rule("SI-61")
def test_a_release_by_key_releases_that_key_only() -> None:
    """1.5.1 reads a release that has a key and no identity as a release of everything.

    remuda releases the allocations of the key.
    """
    door = cluster()
    for key in ("one", "two"):
        door.ask("app", key, ONE)
    door.place()
    door.release("app", key="one")
    assert [held.allocation_id for held in door.apps()["app"].allocations] == ["two-0"]


@pytest.mark.remuda_rule("NODE-5")
def test_a_refused_node_is_not_told_to_have_been_added() -> None:
    """1.5.1 sends the event before it finds out that the node cannot be accepted.

    remuda sends it for accepted nodes only.
    """
    door = cluster()
    bad = (existing_allocation("nobody", "x", "", ONE),)
    effects = door.node("n2", TEN, existing=bad)
    assert [x.rejected[0].subject for x in of(effects, e.NodesAnswered)] == ["n2"]
    assert events(effects) == []
    assert (ev.NODE, "n3", ev.ADD, ev.DETAILS_NONE) in events(door.node("n3", TEN))


@pytest.mark.remuda_rule("NODE-8")
def test_an_update_that_does_not_speak_of_readiness_does_not_change_it() -> None:
    """In the reference every update without the attribute makes the node ready.

    In remuda, a node stays as it was told to be.
    """
    door = cluster()
    door.node("n2", TEN, attributes={"ready": "false"})
    door.node("n2", {"vcore": 11}, c.UPDATE)
    assert door.node_view("n2").ready is False


@pytest.mark.remuda_rule("SI-36", "PRE-1")
def test_a_recovered_allocation_may_be_preempted_like_any_other() -> None:
    """In the reference a missing policy protects it, so a restart changes who can be evicted.

    remuda has one default for asks and for recovered allocations.
    """
    wire = si.AllocationRequest(
        asks=[si.AllocationAsk(applicationID="app", allocationKey="asked")],
        allocations=[si.Allocation(applicationID="app", allocationKey="runs", nodeID="n1")],
    )
    request = RequestReader("rm").allocations(wire)
    wanted = [*request.asks, *(running.ask for running in request.allocations)]
    assert [ask.allow_preempt_self for ask in wanted] == [True, True]


@pytest.mark.remuda_rule("APP-14")
def test_an_application_that_has_ended_takes_no_ask() -> None:
    """The reference moves it to the ended ones later, and loses the asks that come meanwhile.

    remuda rejects such an ask, so the RM knows.
    """
    door = cluster()
    door.ask("app", "k", ONE)
    door.place()
    door.release("app")
    door.wait(30 * SECOND)
    (answer,) = of(door.ask("app", "late", ONE), e.AsksRejected)
    assert [bad.subject for bad in answer.rejected] == ["late"]


@pytest.mark.remuda_rule("RLD-8", "RM-6", "D-C17")
def test_a_bad_rule_fails_the_registration() -> None:
    """1.5.1 swallows the error, and runs a partition that refuses every application.

    remuda refuses the registration.
    """
    text = (
        "partitions: [{name: default, placementrules: [{name: fixed}], "
        "queues: [{name: root, submitacl: '*'}]}]"
    )
    request = si.RegisterResourceManagerRequest(rmID="rm", config=text)
    with pytest.raises(ConfigError, match="fixed"):
        registration(request, load_configuration)


@pytest.mark.remuda_rule("NODE-3")
def test_a_new_node_that_is_too_small_shows_what_is_missing() -> None:
    """The reference shows 0 for a new node that is too small for what it runs.

    remuda shows the negative amount, so that sums stay true.
    """
    door = Caller(leaf("a"))
    door.node("n1", ONE, occupied={"vcore": 3})
    assert door.node_view("n1").available == {"vcore": -2}


@pytest.mark.remuda_rule("SI-12")
@pytest.mark.parametrize("app, key", [("", "k"), ("app", "")])
def test_an_empty_text_is_no_name(app: str, key: str) -> None:
    """The reference accepts empty names, and a release without a name means everything.

    remuda rejects empty names.
    """
    door = cluster()
    door.app("")
    (answer,) = of(door.ask(app, key, ONE), e.AsksRejected)
    assert len(answer.rejected) == 1
    assert door.place() == []
