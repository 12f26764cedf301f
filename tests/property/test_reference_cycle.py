"""The reference decides the small cases of chapter 50 as its text says.

An oracle has to be right before anything is compared with it: reservations (part D and decisions
45 to 50), required nodes, stateaware queues, times of creation, foreign work, resizes.
"""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from tests.port import one_by_one
from tests.reference.model import SECOND, Reference
from tests.reference.state import Partition
from tests.unit.core.door import leaf, users
from tests.unit.core.door import partition as config

Amounts = dict[str, int]
NS = 1
REQUIRED = "yunikorn.apache.org/requiredNode"
STATEAWARE = {"application.sort.policy": "stateaware"}


class Small:
    """The reference with one RM and whatever nodes a test adds."""

    def __init__(
        self, *queues: Any, refused: tuple[tuple[str, bool], ...] = (), **root: Any
    ) -> None:
        def verdict(rm_id: str, key: str, node_id: str, allocate: bool) -> str:
            return "no" if (f"{key}@{node_id}", allocate) in refused else ""

        self.reference, self.now = Reference(one_by_one(verdict)), 1000 * SECOND
        self.queues, self.root = queues or (leaf("a"),), root
        self.extra: dict[str, str] = {}
        register = c.RegisterResourceManager("rm", self.config(), predicates=bool(refused))
        self.reference.handle(register, self.now)

    def config(self) -> Configuration:
        text = f"{zlib.crc32(repr((self.queues, self.root)).encode())}"
        return Configuration((config(*self.queues, root=self.root),), text)

    @property
    def partition(self) -> Partition:
        return self.reference.partitions["rm", "default"]

    def reload(self, *queues: Any, extra: dict[str, str] | None = None, **root: Any) -> None:
        self.queues, self.root = queues or self.queues, root
        self.send(c.UpdateConfiguration("rm", self.config(), extra))

    def send(self, command: c.Command) -> list[Any]:
        return list(self.reference.handle(command, self.now))

    def node(self, name: str, vcore: int, action: int = c.CREATE, **more: Any) -> None:
        amounts = {"vcore": vcore, **more.pop("more", {})}
        self.send(c.UpdateNodes("rm", (c.NodeUpdate(name, action, amounts, **more),)))

    def nodes(self, **sizes: int) -> None:
        for name, vcore in sizes.items():
            self.node(name, vcore)

    def app(self, name: str, queue: str = "root.a", **tags: str) -> bool:
        tags = {tag.replace("_", "."): value for tag, value in tags.items()}
        new = c.NewApplication(name, queue, user="u", groups=("g",), tags=tags)
        self.send(c.UpdateApplications("rm", (new,)))
        return name in self.partition.applications

    def ask(self, app: str, key: str, vcore: int, count: int = 1, **tags: str) -> None:
        more: Any = {"priority": int(tags.pop("priority", "0"))}
        if "required" in tags:
            tags[REQUIRED] = tags.pop("required")
        amounts = {
            "vcore": vcore,
            **({"memory": int(tags.pop("memory"))} if "memory" in tags else {}),
        }
        ask = c.Ask(app, key, amounts, max_allocations=count, tags=tags, **more)
        self.send(c.UpdateAllocations("rm", asks=(ask,)))

    def runs(self, app: str, key: str, node: str, vcore: int, **tags: str) -> list[Any]:
        ask = c.Ask(app, key, {"vcore": vcore}, tags=tags)
        reported = c.ExistingAllocation(ask, key, node)
        return self.send(c.UpdateAllocations("rm", allocations=(reported,)))

    def ends(self, app: str, key: str) -> None:
        gone = c.AllocationRelease(app, "", key)
        self.send(c.UpdateAllocations("rm", releases=(gone,)))

    def drops(self, app: str, key: str) -> None:
        self.send(c.UpdateAllocations("rm", ask_releases=(c.AskRelease(app, key),)))

    def after(self, wait: int) -> list[str]:
        """What is decided when some time has passed, as ``+key@node`` and the like."""
        self.now += wait
        signs = {"new": "", "reserved": "+", "unreserved": "-"}
        found = self.reference.step(self.now, 1000)
        return [f"{signs[str(o[0])]}{o[2]}@{o[3]}" for o in found if o[0] in signs and len(o) > 3]

    def reserved(self) -> list[str]:
        """Who has which node, oldest first."""
        return [f"{one.key}@{one.node_id}" for one in self.partition.reservations]


def crowded(*queues: Any, **more: Any) -> Small:
    """Two nodes of 4 with 3 in use: 2 fits neither, and the cluster, one of it drains, holds it."""
    world = Small(*queues, **more)
    world.node("spare", 20, c.CREATE_DRAIN)
    world.nodes(n1=4, n2=4)
    world.app("old")
    world.runs("old", "r1", "n1", 3)
    world.runs("old", "r2", "n2", 3)
    assert world.app("app")
    return world


# ------------------------------------------------------------------------------- reservations


@pytest.mark.remuda_rule("RSV-3")
def test_an_ask_reserves_when_it_is_older_than_two_seconds() -> None:
    world = crowded()
    world.ask("app", "k", 2)
    assert world.after(2 * SECOND) == []
    assert world.after(NS) == ["+k@n1"]
    assert world.after(SECOND) == []


@pytest.mark.remuda_rule("RSV-4")
def test_the_node_that_lacks_least_is_reserved() -> None:
    world = Small()
    world.node("a", 10, more={"memory": 100})
    world.node("b", 8, more={"memory": 10})
    world.app("old")
    world.runs("old", "ra", "a", 3)
    reported = c.Ask("old", "rb", {"vcore": 7, "memory": 10})
    existing = (c.ExistingAllocation(reported, "rb", "b"),)
    world.send(c.UpdateAllocations("rm", allocations=existing))
    world.app("app")
    world.ask("app", "k", 8, memory="10")
    assert world.after(3 * SECOND) == ["+k@a"]


@pytest.mark.remuda_rule("RSV-3", "RSV-6")
def test_an_ask_reserves_as_many_nodes_as_it_wants() -> None:
    world = crowded()
    world.ask("app", "k", 2, count=3)
    assert world.after(3 * SECOND) == ["+k@n1", "+k@n2"]
    world.ends("old", "r2")
    assert world.after(0) == ["-k@n2", "k-0@n2", "-k@n1", "k-1@n2", "+k@n1"]


@pytest.mark.remuda_rule("RSV-7", "RSV-8", "CYC-20")
def test_a_reserved_node_is_for_its_ask_alone() -> None:
    world = crowded()
    world.ask("app", "k", 2)
    assert world.after(3 * SECOND) == ["+k@n1"]
    world.ask("app", "other", 1, priority="5")
    world.ask("app", "more", 1, priority="5")
    assert world.after(0) == ["other-0@n2"]
    world.ends("old", "r1")
    assert world.after(0) == ["-k@n1", "k-0@n1", "more-0@n1"]


@pytest.mark.remuda_rule("RSV-8", "CYC-21")
def test_another_node_will_do_and_the_oldest_reservation_goes() -> None:
    world = crowded()
    world.ask("app", "k", 2)
    assert world.after(3 * SECOND) == ["+k@n1"]
    world.ends("old", "r2")
    assert world.after(0) == ["-k@n1", "k-0@n2"]


@pytest.mark.remuda_rule("RSV-7", "RSV-10")
def test_a_node_is_open_while_its_ask_does_not_fit_the_headroom() -> None:
    world = crowded(leaf("a"), leaf("b", {"vcore": 2}))
    world.app("b", "root.b")
    world.ask("b", "k", 2)
    assert world.after(3 * SECOND) == ["+k@n1"]
    world.reload(leaf("a"), leaf("b", {"vcore": 1}))
    world.ask("app", "one", 1)
    world.ask("app", "two", 1)
    assert world.after(0) == ["one-0@n1", "two-0@n2"]
    assert world.reserved() == ["k@n1"]


@pytest.mark.remuda_rule("RSV-10")
def test_an_old_reservation_goes_when_it_does_not_fit_the_headroom() -> None:
    world = crowded(leaf("a"), leaf("b", {"vcore": 2}))
    world.app("b", "root.b")
    world.ask("b", "k", 2)
    world.reload(leaf("a"), leaf("b", {"vcore": 2}), extra={"scheduler.reservationLimit": "9s"})
    assert world.after(3 * SECOND) == ["+k@n1"]
    assert world.after(20 * SECOND) == []
    world.reload(leaf("a"), leaf("b", {"vcore": 1}))
    assert world.reserved() == []
    world.reload(leaf("a"), leaf("b", {"vcore": 2}))
    assert world.after(0) == ["+k@n1"]
    world.reload(leaf("a"), leaf("b", {"vcore": 1}))
    assert world.after(9 * SECOND) == []
    assert world.after(NS) == ["-k@n1"]


@pytest.mark.remuda_rule("CYC-22")
def test_a_draining_node_is_not_used_by_its_reservation() -> None:
    world = crowded()
    world.ask("app", "k", 2)
    assert world.after(3 * SECOND) == ["+k@n1"]
    world.node("n1", 4, c.DRAIN_NODE)
    world.ends("old", "r1")
    assert world.after(0) == []
    world.node("n1", 4, c.DRAIN_TO_SCHEDULABLE)
    assert world.after(0) == ["-k@n1", "k-0@n1"]


@pytest.mark.remuda_rule("NODE-16", "RSV-9", "SI-33", "SI-44")
def test_reservations_end_with_what_they_were_for() -> None:
    world = crowded()
    world.ask("app", "k", 2)
    assert world.after(3 * SECOND) == ["+k@n1"]
    world.node("n1", 1, c.UPDATE)
    assert world.reserved() == []
    assert world.after(0) == ["+k@n2"]
    world.ask("app", "k", 5)
    assert world.reserved() == []
    world.ask("app", "k", 3)
    assert world.after(0) == ["+k@n2"]
    world.runs("app", "k", "n1", 1)
    assert world.reserved() == []
    world.ask("app", "l", 2)
    assert world.after(3 * SECOND) == ["+l@n2"]
    world.drops("app", "l")
    assert world.reserved() == []


@pytest.mark.remuda_rule("RSV-4", "CYC-15")
def test_no_other_node_is_reserved_if_the_best_one_is_refused() -> None:
    world = crowded(refused=(("k@n1", False),))
    world.ask("app", "k", 2)
    assert world.after(3 * SECOND) == []
    world.ask("app", "l", 2)
    assert world.after(3 * SECOND) == ["+l@n1", "+k@n2"]


@pytest.mark.remuda_rule("RSV-3")
def test_what_does_not_fit_the_headroom_does_not_reserve() -> None:
    world = crowded(leaf("a", {"vcore": 7}))
    world.ask("app", "k", 2)
    assert world.after(3 * SECOND) == []
    limited = crowded(leaf("a"), limits=(users("u", {"vcore": 7}),))
    limited.ask("app", "k", 2)
    assert limited.after(3 * SECOND) == []


@pytest.mark.remuda_rule("QUE-24", "QUE-22")
def test_a_reservation_takes_the_place_of_an_application() -> None:
    world = crowded(leaf("a"), leaf("b", max_applications=1))
    world.app("b1", "root.b")
    world.app("b2", "root.b")
    world.ask("b1", "k", 2)
    assert world.after(3 * SECOND) == ["+k@n1"]
    world.ask("b2", "l", 1)
    assert world.after(0) == []
    world.drops("b1", "k")
    assert world.after(0) == ["l-0@n1"]


# ------------------------------------------------------------------------------ required nodes


@pytest.mark.remuda_rule("CYC-14", "RSV-12")
def test_a_required_node_is_reserved_at_once_and_draining_does_not_matter() -> None:
    world = crowded()
    world.node("n2", 4, c.DRAIN_NODE)
    world.ask("app", "k", 2, count=2, required="n2")
    assert world.after(0) == ["+k@n2"]
    world.ends("old", "r2")
    assert world.after(0) == ["-k@n2", "k-0@n2", "k-1@n2"]


@pytest.mark.remuda_rule("CYC-14", "RSV-12")
def test_what_a_required_node_cannot_hold_blocks_nobody() -> None:
    world = crowded()
    world.ask("app", "k1", 5, required="n1")
    world.ask("app", "k2", 1, required="nowhere")
    world.ask("app", "k3", 1, required="n1")
    assert world.after(0) == ["k3-0@n1"]
    assert world.reserved() == []


@pytest.mark.remuda_rule("CYC-14", "RSV-12")
def test_who_requires_a_node_cancels_reservations_and_joins_others() -> None:
    world = crowded()
    world.ask("app", "k", 2)
    assert world.after(3 * SECOND) == ["+k@n1"]
    world.ask("app", "d1", 3, required="n1")
    assert world.after(0) == ["-k@n1", "+d1@n1", "+k@n2"]
    world.ask("app", "d2", 4, required="n1")
    assert world.after(0) == ["+d2@n1"]
    assert world.reserved() == ["d1@n1", "k@n2", "d2@n1"]


# ------------------------------------------------------------------- other parts of the chapter


@pytest.mark.remuda_rule("QUE-41")
def test_one_application_of_a_stateaware_queue_starts_at_a_time() -> None:
    world = Small(leaf("a", properties=STATEAWARE))
    world.nodes(n=100)
    for name in ("1", "2", "3"):
        world.app(name)
        world.now += 1
    for name in ("3", "2", "1"):
        world.ask(name, f"k{name}", 1, count=2 if name == "1" else 1)
    assert world.after(0) == ["k1-0@n", "k1-1@n", "k2-0@n"]
    assert world.after(299 * SECOND) == []
    assert world.after(SECOND) == ["k3-0@n"]


@pytest.mark.remuda_rule("QUE-42", "QUE-44")
def test_the_time_of_creation_orders_asks_and_applications() -> None:
    world = Small()
    world.nodes(n=100)
    world.app("1")
    world.now += SECOND
    world.app("2")
    world.ask("1", "late", 1)
    world.ask("1", "early", 1, creationTime="999")
    world.ask("2", "first", 1, creationTime="998")
    world.ask("2", "bad", 1, creationTime="1e2")
    world.ask("2", "long", 1, creationTime="000000000998")
    assert world.after(0) == ["first-0@n", "bad-0@n", "long-0@n", "early-0@n", "late-0@n"]


@pytest.mark.remuda_rule("NOD-23")
def test_an_application_may_have_its_own_order_of_nodes() -> None:
    world = crowded()
    world.node("n3", 4)
    assert world.app("dense", node_sort_policy="binpacking")
    assert not world.app("odd", node_sort_policy="Fair")
    world.ask("app", "k", 1)
    world.ask("dense", "l", 1)
    assert world.after(0) == ["k-0@n3", "l-0@n1"]


@pytest.mark.remuda_rule("CYC-29", "NODE-17", "CYC-28")
def test_foreign_work_and_new_sizes_take_room() -> None:
    world = Small()
    world.node("n", 10, occupied={"vcore": 4})
    world.app("app")
    assert world.runs("", "f", "n", 1, foreign="default") == [("new", "rm", "f", "n")]
    world.node("n", 10, c.UPDATE, occupied={"vcore": 9})
    world.runs("app", "r", "n", 2)
    assert world.runs("app", "r", "n", 8)[0] == ("new", "rm", "r", "n")
    assert world.runs("app", "r", "n", 0) == [("allocations rejected", "rm", ("r",))]
    world.ask("app", "k", 2)
    assert world.after(0) == []
    world.ends("", "f")
    assert world.after(0) == ["k-0@n"]
