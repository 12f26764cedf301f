"""What a reservation that cannot be used may block, and for how long (RSV-10)."""

from __future__ import annotations

import pytest

from remuda.config.schema import QueueConfig
from remuda.core.messages.effects import Effect
from tests.unit.core.door import (
    DAY,
    MINUTE,
    REQUIRED_NODE,
    SECOND,
    groups,
    leaf,
    parent,
    users,
)
from tests.unit.core.rules.crowd import LATE, Crowd, reserved, went

BIG = {"vcore": 8}
ONE = {"vcore": 1}
SEVEN = {"vcore": 7}

# What leaves root.p.a, or its user or group, less than the 8 cores of the ask.
TIGHT: dict[str, QueueConfig] = {
    "queue": parent("p", leaf("a", SEVEN)),
    "queue above": parent("p", leaf("a"), maximum=SEVEN),
    "user": parent("p", leaf("a", limits=(users("ann", SEVEN),))),
    "user above": parent("p", leaf("a"), limits=(users("ann", SEVEN),)),
    "group": parent("p", leaf("a", limits=(groups("staff", SEVEN),))),
}
# A group has to be named from the start for applications to belong to it (LIM-20).
OPEN = parent("p", leaf("a", limits=(groups("staff", {"vcore": 500}),)))


class Held(Crowd):
    """``big`` of root.p.a reserved n1, of which 4 cores are free, at ``since``."""

    def __init__(self) -> None:
        super().__init__(OPEN, leaf("b"))
        self.full(n1=4)
        self.app("mine", "root.p.a")
        self.app("other", "root.b", user="bob", groups=("others",))
        self.ask("mine", "big", BIG)
        self.run(LATE)
        self.since = self.now
        assert self.held() == {"n1": ["mine|big"]}

    def change(self, queue: QueueConfig, **extra: str) -> list[Effect]:
        """Another configuration of root.p, with these settings of the scheduler."""
        settings = {f"scheduler.{name}": value for name, value in extra.items()}
        return self.reload(queue, leaf("b"), leaf("old"), extra_config=settings)


@pytest.fixture
def crowd() -> Held:
    """A reservation that was just made."""
    return Held()


@pytest.mark.remuda_rule("RSV-10", "RSV-7", "CYC-15")
@pytest.mark.parametrize("kind", TIGHT)
def test_a_node_is_open_while_the_ask_exceeds_a_headroom(crowd: Held, kind: str) -> None:
    crowd.ask("other", "small", ONE, 2)
    assert went(crowd.run()) == []
    crowd.change(TIGHT[kind])
    found = crowd.run()
    assert went(found) == [("small-0", "n1"), ("small-1", "n1")]
    assert reserved(found) == []
    assert crowd.held() == {"n1": ["mine|big"]}
    crowd.change(OPEN)
    crowd.ask("other", "more", ONE)
    assert went(crowd.run()) == []  # closed again
    crowd.clear("n1")
    assert went(crowd.run()) == [("big-0", "n1")]


@pytest.mark.remuda_rule("RSV-10", "RSV-7")
def test_what_others_use_opens_and_closes_a_node(crowd: Held) -> None:
    # The queue may have 12: beside another allocation of 5 the ask of 8 does not fit.
    crowd.change(parent("p", leaf("a", {"vcore": 12})))
    crowd.node("n2", {"vcore": 5})
    crowd.app("beside", "root.p.a")
    crowd.ask("beside", "five", {"vcore": 5})
    crowd.ask("other", "small", ONE, 3)
    assert went(crowd.run(1)) == [("five-0", "n2")] + [(f"small-{n}", "n1") for n in range(3)]
    crowd.release("beside", "five-0")
    crowd.ask("other", "five more", {"vcore": 5})
    assert went(crowd.run()) == [("five more-0", "n2")]
    crowd.ask("other", "one more", ONE)  # one core of n1 is free, but not for others
    assert went(crowd.run()) == []
    assert crowd.held() == {"n1": ["mine|big"]}


@pytest.mark.remuda_rule("RSV-10", "CYC-15")
def test_nobody_else_reserves_an_open_node(crowd: Held) -> None:
    crowd.change(TIGHT["queue"])
    crowd.ask("other", "rival", {"vcore": 9})
    found = crowd.run() + crowd.run(LATE)
    assert reserved(found) == []
    assert crowd.held() == {"n1": ["mine|big"]}


@pytest.mark.remuda_rule("RSV-10", "RSV-12", "CYC-14")
def test_a_required_node_ask_takes_an_open_node_all_the_same(crowd: Held) -> None:
    crowd.change(TIGHT["queue"])
    crowd.ask("other", "pinned", {"vcore": 9}, tags={REQUIRED_NODE: "n1"})
    assert reserved(crowd.run()) == [("-", "n1", "big"), ("+", "n1", "pinned")]


@pytest.mark.remuda_rule("RSV-10", "KV-3")
@pytest.mark.parametrize(
    "setting, limit", [("", 60 * MINUTE), ("90s", 90 * SECOND), ("-5s", 60 * MINUTE)]
)
@pytest.mark.parametrize("kind", ["queue", "user"])
def test_a_reservation_without_headroom_ends_when_it_is_older_than_the_limit(
    crowd: Held, kind: str, setting: str, limit: int
) -> None:
    extra = {"reservationLimit": setting} if setting else {}
    crowd.change(TIGHT[kind], **extra)
    assert reserved(crowd.run()) == []
    crowd.now = crowd.since
    assert reserved(crowd.run(limit)) == []
    assert crowd.held() == {"n1": ["mine|big"]}
    assert reserved(crowd.run(1)) == [("-", "n1", "big")]
    assert crowd.held() == {}


@pytest.mark.remuda_rule("RSV-10", "CYC-32")
def test_the_scheduler_asks_to_be_called_when_the_limit_is_over(crowd: Held) -> None:
    crowd.change(TIGHT["queue"])
    crowd.run()
    end = crowd.since + 60 * MINUTE + 1
    while crowd.held():
        deadline = crowd.scheduler.next_deadline()
        assert deadline is not None
        assert deadline <= end
        crowd.now = deadline
        crowd.run()
    assert crowd.now == end


@pytest.mark.remuda_rule("RSV-10")
def test_an_old_reservation_with_headroom_stays_until_that_is_gone(crowd: Held) -> None:
    assert reserved(crowd.run(30 * DAY)) == []
    assert crowd.held() == {"n1": ["mine|big"]}
    found = crowd.change(TIGHT["queue"]) + crowd.run()
    assert reserved(found) == [("-", "n1", "big")]


@pytest.mark.remuda_rule("RSV-10")
def test_zero_is_no_limit(crowd: Held) -> None:
    crowd.change(TIGHT["queue"], reservationLimit="0s")
    assert reserved(crowd.run() + crowd.run(30 * DAY)) == []
    assert crowd.held() == {"n1": ["mine|big"]}


@pytest.mark.remuda_rule("RSV-10")
def test_the_age_counts_from_the_reservation_and_not_from_the_ask(crowd: Held) -> None:
    crowd.release_ask("mine", "big")
    crowd.ask("mine", "old", BIG, tags={"creationTime": "1600000000"})
    crowd.run(MINUTE)
    since = crowd.now
    assert crowd.held() == {"n1": ["mine|old"]}
    crowd.change(TIGHT["queue"])
    crowd.run()
    crowd.now = since
    assert reserved(crowd.run(60 * MINUTE)) == []
    assert reserved(crowd.run(1)) == [("-", "n1", "old")]


@pytest.mark.remuda_rule("RSV-10", "RSV-3")
def test_the_ask_may_reserve_again(crowd: Held) -> None:
    crowd.change(TIGHT["queue"])
    crowd.run(60 * MINUTE + 1)
    assert crowd.held() == {}
    crowd.change(OPEN)
    assert reserved(crowd.run()) == [("+", "n1", "big")]
    again = crowd.now
    crowd.change(TIGHT["queue"])
    crowd.run()
    crowd.now = again
    assert reserved(crowd.run(60 * MINUTE)) == []  # its age counts anew
    assert reserved(crowd.run(1)) == [("-", "n1", "big")]


@pytest.mark.remuda_rule("RSV-10", "SI-33")
@pytest.mark.parametrize("again", ["", "big", "next"])
def test_each_reservation_has_an_age_of_its_own(crowd: Held, again: str) -> None:
    crowd.full(n2=4)
    crowd.ask("mine", "next", BIG)
    crowd.run(MINUTE)
    if again:
        crowd.ask("mine", again, BIG, priority=5)
    assert crowd.held() == {"n1": ["mine|big"], "n2": ["mine|next"]}
    crowd.change(TIGHT["queue"])
    crowd.run()
    crowd.now = crowd.since
    assert reserved(crowd.run(60 * MINUTE + 1)) == [("-", "n1", "big")]
    assert reserved(crowd.run(MINUTE - 1)) == []
    assert reserved(crowd.run(1)) == [("-", "n2", "next")]


@pytest.mark.remuda_rule("RSV-10", "CHK-5")
def test_a_limit_that_comes_alone_counts_at_once(crowd: Held) -> None:
    queues = (TIGHT["queue"], leaf("b"), leaf("old"))
    same = "A" * 64
    crowd.reload(*queues, checksum=same)
    assert reserved(crowd.run(MINUTE)) == []
    limit = {"scheduler.reservationLimit": "30s"}
    found = crowd.reload(*queues, checksum=same, extra_config=limit)
    assert reserved(found + crowd.run()) == [("-", "n1", "big")]


@pytest.mark.remuda_rule("RSV-10", "SI-33")
def test_an_ask_that_joins_younger_ones_keeps_the_age_of_its_reservation() -> None:
    crowd = Crowd(leaf("a", {"vcore": 20}))
    crowd.full(n1=4)
    crowd.ask("app", "first", {"vcore": 5})
    crowd.run(LATE)
    since = crowd.now
    crowd.full(n2=4)
    crowd.ask("app", "second", BIG)
    crowd.run(6 * SECOND)
    assert crowd.held() == {"n1": ["app|first"], "n2": ["app|second"]}
    crowd.ask("app", "first", BIG)  # now both want the same
    tight = leaf("a", SEVEN)
    limit = {"scheduler.reservationLimit": "10s"}
    crowd.reload(tight, leaf("old"), extra_config=limit)
    crowd.ask("app", "first", BIG, priority=1)
    crowd.run()
    crowd.now = since
    assert reserved(crowd.run(10 * SECOND)) == []
    assert reserved(crowd.run(1)) == [("-", "n1", "first")]
    assert reserved(crowd.run(6 * SECOND - 1)) == []
    assert reserved(crowd.run(1)) == [("-", "n2", "second")]


@pytest.mark.remuda_rule("RSV-10", "CYC-32", "SI-33")
@pytest.mark.parametrize("how", ["sent again", "reloaded"])
def test_a_reservation_has_one_timer(crowd: Held, how: str) -> None:
    # No view counts timers, so the test looks inside.
    crowd.change(TIGHT["queue"])
    crowd.run()
    timers = crowd.scheduler._cluster.deadlines._heap
    before = len(timers)
    for number in range(20):
        if how == "reloaded":
            crowd.change(TIGHT["queue"])
        else:
            crowd.ask("mine", "big", BIG, priority=number + 1)
        crowd.run()
    assert len(timers) == before
    crowd.now = crowd.since
    assert reserved(crowd.run(60 * MINUTE)) == []
    assert reserved(crowd.run(1)) == [("-", "n1", "big")]
