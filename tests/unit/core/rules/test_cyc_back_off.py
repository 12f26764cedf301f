"""Applications whose asks find no node pause (CYC-33)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import gates
from tests.unit.core.door import DAY, SECOND, START, leaf
from tests.unit.core.rules.crowd import LATE, Crowd, Reluctant, reserved, went

ONE = {"vcore": 1}
PAUSE = 10 * SECOND


def crowd_with(limit: int | None, delay: str = "10s", **queue: dict[str, int]) -> Crowd:
    """Nothing ever reserves; n1 has 4 cores free."""
    properties = {"application.unschedasks.backoff.delay": delay} if delay else {}
    if limit is not None:
        properties["application.unschedasks.backoff"] = str(limit)
    crowd = Crowd()
    crowd.again(None, leaf("a", queue.get("maximum"), properties=properties))
    crowd.full(n1=4)
    return crowd


def until(crowd: Crowd, app: str = "app") -> int:
    """When the asks of an application are tried again."""
    return crowd.apps()[app].backoff_deadline_ns


@pytest.mark.remuda_rule("CYC-33", "CYC-11")
def test_after_so_many_asks_without_a_node_the_rest_waits() -> None:
    crowd = crowd_with(2)
    for number, size in enumerate((5, 6, 7, 8)):
        crowd.ask("app", f"k{number}", {"vcore": size}, priority=9 - number)
    crowd.ask("app", "small", ONE)
    assert went(crowd.run()) == []
    assert until(crowd) == START + PAUSE
    assert [crowd.request(f"k{n}").scheduling_attempted for n in range(4)] == [
        True,
        True,
        False,
        False,
    ]
    finding = crowd.finding("small")
    assert (finding.gate, finding.until_ns) == (gates.BACKOFF, START + PAUSE)
    assert went(crowd.run(PAUSE - 1)) == []
    # One more is tried, fails, and begins the next pause; then the next; then all were tried.
    assert went(crowd.run(1)) == []
    assert until(crowd) == START + 2 * PAUSE
    assert crowd.request("k2").scheduling_attempted
    assert not crowd.request("k3").scheduling_attempted
    assert went(crowd.run(PAUSE)) == []
    assert until(crowd) == START + 3 * PAUSE
    assert went(crowd.run(PAUSE)) == [("small-0", "n1")]


@pytest.mark.remuda_rule("CYC-33", "CYC-32")
def test_the_scheduler_asks_to_be_called_when_a_pause_ends() -> None:
    crowd = crowd_with(1)
    crowd.ask("app", "large", {"vcore": 5}, priority=1)
    crowd.ask("app", "small", ONE)
    crowd.run()
    deadline = crowd.scheduler.next_deadline()
    assert deadline is not None
    while not went(crowd.run(deadline - crowd.now)):
        deadline = crowd.scheduler.next_deadline()
        assert deadline is not None
        assert deadline <= START + PAUSE
    assert crowd.now == START + PAUSE


@pytest.mark.remuda_rule("CYC-33")
@pytest.mark.parametrize("limit, waits", [(1, True), (2, True), (3, True), (4, False)])
def test_the_count_may_be_reached_by_the_last_ask(limit: int, waits: bool) -> None:
    crowd = crowd_with(limit)
    for size in (5, 6, 7):
        crowd.ask("app", f"k{size}", {"vcore": size})
    crowd.run()
    if limit == 3:
        assert until(crowd) == START + PAUSE
    crowd.ask("app", "small", ONE)
    assert went(crowd.run(1)) == ([] if waits else [("small-0", "n1")])


@pytest.mark.remuda_rule("CYC-33")
def test_equal_asks_count_each() -> None:
    crowd = crowd_with(2)
    for number in range(2):
        crowd.ask("app", f"k{number}", {"vcore": 5}, priority=1)
    crowd.ask("app", "small", ONE)
    assert went(crowd.run()) == []
    assert until(crowd) == START + PAUSE


@pytest.mark.remuda_rule("CYC-33", "CYC-15")
def test_equal_asks_of_two_applications_count_for_their_own() -> None:
    crowd = crowd_with(1)
    crowd.app("other")
    for app in ("app", "other"):
        crowd.ask(app, f"{app}-large", {"vcore": 5}, priority=1)
        crowd.ask(app, f"{app}-small", ONE)
    assert went(crowd.run()) == []
    assert (until(crowd), until(crowd, "other")) == (START + PAUSE, START + PAUSE)


@pytest.mark.remuda_rule("CYC-33")
def test_one_ask_counts_once_however_much_it_wants() -> None:
    crowd = crowd_with(2)
    crowd.ask("app", "k", {"vcore": 5}, 50, priority=1)
    crowd.ask("app", "small", ONE)
    assert went(crowd.run()) == [("small-0", "n1")]


@pytest.mark.remuda_rule("CYC-33")
def test_asks_beyond_a_quota_do_not_count() -> None:
    crowd = crowd_with(2, maximum={"vcore": 20})
    for size in (21, 22, 23):
        crowd.ask("app", f"k{size}", {"vcore": size}, priority=9)
    crowd.ask("app", "no node", {"vcore": 5}, priority=8)
    crowd.ask("app", "small", ONE)
    assert went(crowd.run()) == [("small-0", "n1")]
    assert until(crowd) == 0


@pytest.mark.remuda_rule("CYC-33")
def test_other_applications_go_on() -> None:
    crowd = crowd_with(1)
    crowd.app("other")
    crowd.ask("app", "large", {"vcore": 5}, priority=1)
    crowd.ask("app", "small", ONE)
    crowd.ask("other", "third", ONE)
    assert went(crowd.run()) == [("third-0", "n1")]
    assert until(crowd, "other") == 0


@pytest.mark.remuda_rule("CYC-33")
def test_asks_that_go_count_no_more() -> None:
    crowd = crowd_with(2)
    crowd.ask("app", "k5", {"vcore": 5})
    crowd.run()
    crowd.release_ask("app", "k5")
    crowd.ask("app", "k6", {"vcore": 6}, priority=1)
    crowd.ask("app", "small", ONE)
    assert went(crowd.run()) == [("small-0", "n1")]


@pytest.mark.remuda_rule("CYC-33")
@pytest.mark.parametrize("limit", [None, 0])
def test_without_a_number_nothing_pauses(limit: int | None) -> None:
    crowd = crowd_with(limit)
    for size in (5, 6, 7, 8, 9):
        crowd.ask("app", f"k{size}", {"vcore": size}, priority=1)
    crowd.ask("app", "small", ONE)
    assert went(crowd.run()) == [("small-0", "n1")]
    assert until(crowd) == 0


@pytest.mark.remuda_rule("CYC-33", "QUE-18")
def test_the_pause_takes_thirty_seconds_unless_said_otherwise() -> None:
    crowd = crowd_with(1, delay="")
    crowd.ask("app", "large", {"vcore": 5}, priority=1)
    crowd.ask("app", "small", ONE)
    crowd.run(LATE)
    assert until(crowd) == START + LATE + 30 * SECOND
    assert went(crowd.run(30 * SECOND - 1)) == []
    assert went(crowd.run(1)) == [("small-0", "n1")]


@pytest.mark.remuda_rule("CYC-33")
def test_room_that_comes_back_during_a_pause_is_used_after_it() -> None:
    crowd = crowd_with(1)
    crowd.ask("app", "large", {"vcore": 5})
    crowd.run()
    crowd.clear("n1")
    assert went(crowd.run(PAUSE - 1)) == []
    assert went(crowd.run(1)) == [("large-0", "n1")]
    assert went(crowd.run(DAY)) == []


@pytest.mark.remuda_rule("CYC-33", "RLD-23")
def test_asks_that_wait_already_count_when_back_off_is_switched_on() -> None:
    crowd = crowd_with(None)
    for key in ("a", "b"):
        crowd.ask("app", key, {"vcore": 5})
    crowd.run()
    three = {"application.unschedasks.backoff": "3"}
    crowd.reload(leaf("a", properties=three), leaf("old"))
    crowd.run()
    assert until(crowd) == 0
    crowd.ask("app", "c", {"vcore": 6})
    crowd.run()
    assert until(crowd) == START + 30 * SECOND
    crowd.ask("app", "small", ONE)
    assert went(crowd.run()) == []


@pytest.mark.remuda_rule("CYC-33", "RSV-3")
def test_an_ask_that_grows_old_during_a_pause_begins_no_other_one() -> None:
    pause = {"application.unschedasks.backoff": "1"}
    crowd = Crowd(leaf("a", properties=pause))
    crowd.full(n1=4)
    crowd.ask("app", "large", {"vcore": 11}, priority=1)  # no node is large enough to reserve
    crowd.ask("app", "small", ONE)
    crowd.run()
    assert until(crowd) == START + 30 * SECOND
    assert went(crowd.run(LATE) + crowd.run(30 * SECOND - LATE - 1)) == []
    assert went(crowd.run(1)) == [("small-0", "n1")]


@pytest.mark.remuda_rule("CYC-33", "CYC-20")
@pytest.mark.parametrize("limit, others", [(1, 0), (2, 1), (3, 2)])
def test_what_the_reserved_pass_tries_in_vain_does_not_count(limit: int, others: int) -> None:
    crowd = Crowd(leaf("a", properties={"application.unschedasks.backoff": str(limit)}))
    crowd.full(n1=4, n2=1)
    crowd.ask("app", "old", {"vcore": 8}, tags={"creationTime": "1600000000"})
    assert reserved(crowd.run()) == [("+", "n1", "old")]
    for number in range(others):  # these count
        crowd.ask("app", f"large-{number}", {"vcore": 5}, priority=1)
    crowd.ask("app", "small", ONE)
    assert went(crowd.run()) == [("small-0", "n2")]
    assert until(crowd) == 0


@pytest.mark.remuda_rule("CYC-33", "CYC-25")
def test_after_a_pause_what_waits_for_a_node_is_not_tried_again() -> None:
    properties = {
        "application.unschedasks.backoff": "1",
        "application.unschedasks.backoff.delay": "10s",
    }
    moods = Reluctant({("first", "n1", True): "no"})
    crowd = Crowd()
    crowd.again(None, leaf("a", properties=properties), predicates=moods)
    crowd.full(n1=4)
    asks = (c.Ask("app", "first", ONE, priority=1), c.Ask("app", "second", ONE))
    crowd.send(c.UpdateAllocations(crowd.rm, asks=asks))
    assert went(crowd.run()) == []
    assert until(crowd) == START + PAUSE
    assert crowd.finding("first").gate == gates.NODES
    assert went(crowd.run(PAUSE)) == [("second-0", "n1")]
    refused = ("first", "n1", True)
    assert moods.asked == [refused, refused, ("second", "n1", True)]  # by time, nobody looks at it
    assert crowd.log("first") == {"no": (1, START)}
