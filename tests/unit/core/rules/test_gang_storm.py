"""Many things happen to gangs at once; an RM that only listens knows all the time what there is.

The RM of these tests builds its own picture from the messages alone. Whatever it does, its picture
and that of the scheduler must agree, and in the end nothing may be left.
"""

from __future__ import annotations

import random

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect
from remuda.core.ports import Predicates, always_true
from tests.unit.core.door import MINUTE, SECOND, leaf
from tests.unit.core.rules.crowd import Reluctant
from tests.unit.core.rules.gang import GREEDY, TIMEOUT, WAITING, Gang, amounts, existing, heard

NODES = ("n1", "n2", "n3")
APPS = ("one", "two", "three")
CONFIRMED = (c.TIMEOUT, c.PLACEHOLDER_REPLACED)
Known = tuple[str, str]  # application, allocation


class Listener:
    """An RM that draws lots and writes down what it hears.

    ``where``: allocation -> node. ``ordered``: allocation -> how it was ordered out.
    """

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        choose = self.draw.choice
        refused = {
            (f"{app}r{number}", node, choose([True, False])): "no"
            for app in APPS
            for number in range(40)
            for node in self.draw.sample(NODES, 2)
        }
        self.reluctant = Reluctant(refused)
        judge: Predicates = self.reluctant if choose([True, False]) else always_true
        maximum = choose([None, {"vcore": 12}])
        queue = leaf("a", maximum, properties=choose([{}, GREEDY]))
        self.gang = Gang(queue, predicates=judge)
        self.where: dict[Known, str] = {}
        self.ordered: dict[Known, int] = {}
        self.live: set[str] = set()
        self.asked: list[tuple[str, str]] = []
        self.reported: Known | None = None
        self.number = 0

    def hear(self, effects: list[Effect]) -> None:
        """Bring the picture up to date."""
        ended: set[str] = set()
        for effect in effects:
            if isinstance(effect, e.AllocationNew):
                known = (effect.ask.application_id, effect.allocation_id)
                again = known == self.reported
                assert again or known not in self.where, "told twice of one allocation"
                self.where[known] = effect.node_id
            elif isinstance(effect, e.AllocationsReleased):
                for gone in effect.released:
                    self._released(gone)
            elif isinstance(effect, e.ApplicationUpdated) and effect.state in (
                "Completed",
                "Failed",
            ):
                ended.add(effect.application_id)
        assert [known for known in self.where if known[0] in ended] == []
        self.live -= ended

    def _released(self, gone: e.ReleasedAllocation) -> None:
        known = (gone.application_id, gone.allocation_id)
        if gone.termination_type in CONFIRMED:
            assert known in self.where, "ordered out what was never announced"
            self.ordered[known] = gone.termination_type
        else:
            self.forget(known)

    def forget(self, known: Known) -> None:
        """An allocation has ended."""
        self.where.pop(known, None)
        self.ordered.pop(known, None)

    def compare(self) -> None:
        """Both pictures agree, and what is told of task groups makes sense (GANG-35)."""
        apps = self.gang.apps()
        assert set(apps) == self.live
        there = {
            (name, a.allocation_id): a.node_id for name, x in apps.items() for a in x.allocations
        }
        assert there == self.where
        ordered = {
            (name, a.allocation_id): a.release_type
            for name, x in apps.items()
            for a in x.allocations
            if a.release_type
        }
        assert ordered == self.ordered
        count = sum(a.placeholder for x in apps.values() for a in x.allocations)
        assert self.gang.home().placeholders == count
        for view in apps.values():
            for data in view.placeholder_data:
                assert data.replaced + data.timed_out <= data.count
                assert min(data.replaced, data.timed_out) >= 0

    # --------------------------------------------------------------------- what it does

    def act(self) -> None:
        """Do something, then let the scheduler decide."""
        what = self.draw.choice(
            [self.new] * 2
            + [self.hold, self.want] * 5
            + [self.confirm] * 8
            + [self.stop, self.drop, self.wait, self.node] * 2
            + [self.remove, self.report, self.reload, self.pause]
        )
        what()
        self.compare()
        self.hear(self.gang.step(self.draw.choice([1, 3, 1000])))
        self.compare()

    def new(self) -> None:
        """A new application, mostly a gang."""
        app = self.draw.choice(APPS)
        ask = {"vcore": self.draw.choice([0, 2, 4, 6])}
        style = self.draw.choice(["Hard", "Soft"])
        if app not in self.live and self.gang.submit(app, ask, style) == [f"accepted[{app}]"]:
            self.live.add(app)

    def _asks(self, placeholder: bool) -> None:
        if not self.live:
            return
        app = self.draw.choice(sorted(self.live))
        self.number += 1
        key = f"{app}{'p' if placeholder else 'r'}{self.number % 40}"
        self.asked.append((app, key))
        self.gang.want(
            key,
            app=app,
            group=self.draw.choice(["g", "g", "h"] if placeholder else ["g", "g", "h", ""]),
            size={"vcore": self.draw.choice([1, 2, 2, 2, 3])},
            placeholder=placeholder,
            max_allocations=self.draw.choice([1, 1, 2]),
            priority=self.draw.choice([0, 0, 5]),
            execution_timeout_ms=self.draw.choice([0, 0, 0, 20_000]),
        )
        self.hear(self.gang.last)

    def hold(self) -> None:
        """Ask for placeholders."""
        self._asks(placeholder=True)

    def want(self) -> None:
        """Ask for real ones."""
        self._asks(placeholder=False)

    def end(self, known: Known, kind: int) -> None:
        """End one allocation."""
        self.gang.confirm(known[1], app=known[0], kind=kind)
        if kind in (c.TIMEOUT, c.PLACEHOLDER_REPLACED):
            self.forget(known)
        self.forget(known)
        self.hear(self.gang.last)

    def confirm(self) -> None:
        """Confirm one order, mostly as it was given."""
        if self.ordered:
            known = self.draw.choice(sorted(self.ordered))
            kind = self.ordered[known]
            self.end(known, self.draw.choice([kind, kind, kind, c.STOPPED_BY_RM]))

    def stop(self) -> None:
        """End something on its own."""
        if self.where:
            self.end(self.draw.choice(sorted(self.where)), c.STOPPED_BY_RM)

    def drop(self) -> None:
        """Ask for something no more."""
        if self.asked:
            self.hear(self.gang.release_ask(*self.draw.choice(self.asked[-8:])))

    def wait(self) -> None:
        """Let time pass."""
        self.gang.now += self.draw.choice([SECOND, 5 * SECOND, WAITING, MINUTE, TIMEOUT])

    def node(self) -> None:
        """A node comes, goes, or is drained."""
        node_id = self.draw.choice(NODES)
        if node_id not in self.gang.node_views():
            self.hear(self.gang.node(node_id, {"vcore": self.draw.choice([4, 8])}))
            return
        action = self.draw.choice([c.DECOMISSION, c.DRAIN_NODE, c.DRAIN_TO_SCHEDULABLE])
        gone = {known for known, node in self.where.items() if node == node_id}
        effects = self.gang.node(node_id, action=action)
        if action == c.DECOMISSION:
            told = {
                (x.application_id, x.allocation_id)
                for effect in effects
                if isinstance(effect, e.AllocationsReleased)
                for x in effect.released
            }
            assert told == gone
        self.hear(effects)

    def remove(self) -> None:
        """Remove an application."""
        if self.live:
            app = self.draw.choice(sorted(self.live))
            self.live.discard(app)
            for known in [known for known in self.where if known[0] == app]:
                self.forget(known)
            self.gang.remove(app)

    def report(self) -> None:
        """Report something that runs, perhaps with another size, or something new."""
        nodes = sorted(self.gang.node_views())
        if not (self.live and nodes):
            return
        app = self.draw.choice(sorted(self.live))
        self.number += 1
        kind = self.draw.choice("pr")
        identity, node = f"{app}{kind}{self.number % 40}-x", self.draw.choice(nodes)
        known = [k for k in sorted(self.where) if k[0] == app]
        if known and self.draw.random() < 0.5:
            identity = self.draw.choice(known)[1]
            node = self.where[app, identity]
        size = {"vcore": self.draw.choice([1, 2, 4])}
        held = [a for a in self.gang.apps()[app].allocations if a.allocation_id == identity]
        placeholder = held[0].placeholder if held else kind == "p"
        self.reported = (app, identity)
        self.gang.recover(existing(app, identity, node, "g", size, placeholder=placeholder))
        self.hear(self.gang.last)
        self.reported = None

    def reload(self) -> None:
        """Change the quota, the way gangs are let in, and the order of the queue."""
        maximum = self.draw.choice([None, {"vcore": 6}, {"vcore": 12}])
        order = {"application.sort.policy": self.draw.choice(["fifo", "fair", "stateaware"])}
        properties = {**self.draw.choice([{}, GREEDY]), **order}
        self.hear(self.gang.reload(leaf("a", maximum, properties=properties)))

    def pause(self) -> None:
        """The connection is lost for a while; meanwhile nothing is told."""
        self.gang.send(c.PauseResourceManager(self.gang.rm))
        self.gang.now += self.draw.choice([SECOND, MINUTE, 4 * MINUTE])
        assert heard(self.gang.step()) == []
        self.hear(self.gang.send(c.ResumeResourceManager(self.gang.rm)))

    def calm(self) -> None:
        """Room for everything, nothing refused, every order confirmed at once, for an hour."""
        self.reluctant.refused.clear()
        self.hear(self.gang.reload(leaf("a")))
        self.hear(self.gang.node("big", {"vcore": 100_000}))
        for _ in range(60):
            self.hear(self.gang.step())
            for known in sorted(self.ordered):
                if known in self.ordered:
                    self.end(known, self.ordered[known])
            self.hear(self.gang.step())
            self.compare()
            self.gang.now += MINUTE

    def finish(self) -> None:
        """Confirm everything, ask for nothing more, and wait."""
        for app in sorted(self.live):
            self.hear(self.gang.release_ask(app))
        for _ in range(5):
            for known in sorted(self.ordered):
                if known in self.ordered:
                    self.end(known, self.ordered[known])
            for known in sorted(self.where):
                if known in self.where and known not in self.ordered:
                    self.end(known, c.STOPPED_BY_RM)
            self.hear(self.gang.step())
            self.gang.now += MINUTE
            self.hear(self.gang.step())
            self.compare()


@pytest.mark.remuda_rule("GANG-17", "GANG-18", "GANG-35", "GANG-37", "SI-62", "SI-69", "APP-11")
@pytest.mark.parametrize("seed", range(40))
def test_the_rm_knows_all_the_time_what_there_is(seed: int) -> None:
    rm = Listener(seed)
    for _ in range(80):
        rm.act()
    rm.finish()
    gang = rm.gang
    assert rm.where == {}
    assert {view.state for view in gang.apps().values()} <= {"New", "Accepted"}
    home = gang.home()
    assert (home.total_containers, home.placeholders, home.reservations) == (0, 0, 0)
    root = gang.queue("root")
    assert (amounts(root.allocated), amounts(root.pending)) == ({}, {})
    assert root.running_applications == 0
    assert (gang.of_user(), gang.of_group()) == ({}, {})
    assert all(gang.on(node_id) == {} for node_id in gang.node_views())


@pytest.mark.remuda_rule("GANG-4", "GANG-6", "GANG-11", "GANG-15", "GANG-23", "SI-112")
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_with_room_for_all_nobody_waits_for_ever(seed: int) -> None:
    rm = Listener(seed)
    for _ in range(60):
        rm.act()
    rm.calm()
    waiting = {app: rm.gang.pending(app) for app in rm.live if rm.gang.pending(app)}
    assert waiting == {}
    assert {rm.gang.state(app) for app in rm.live} <= {"New", "Accepted", "Starting", "Running"}


@pytest.mark.remuda_rule("CYC-3", "GANG-10")
def test_the_same_storm_twice_is_the_same_storm() -> None:
    def storm() -> list[str]:
        rm = Listener(7)
        told: list[str] = []
        for _ in range(60):
            rm.act()
            told.append(repr(rm.gang.last))
        return told

    assert storm() == storm()
