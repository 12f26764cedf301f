"""Stands beside the core and keeps a ledger of what it does, from the specification alone.

It sees every command before any fault of a link can change what an RM knows, so it can tell a
fault of the core from a loss: nothing may be placed on a node that is not there, nothing may be
born twice without having ended, nothing may end that did not run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from remuda.base.resources import Resource
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.commands import Command, ExistingAllocation
from remuda.core.messages.effects import Effect
from remuda.core.scheduler import Scheduler
from tests.simulation.faults.bounds import Bounds, Judge
from tests.simulation.faults.ledger import Held, Identity, held_as, home_of
from tests.simulation.faults.link import CONFIRMATIONS
from tests.simulation.faults.manners import ENDED, Manners

ORDERS: Final = {
    c.TIMEOUT: "timed out",
    c.PREEMPTED_BY_SCHEDULER: "preempted",
    c.PLACEHOLDER_REPLACED: "replacement begun",
}


class Witness:
    """The ledger of one core, from its start on.

    ``leaving``: what runs in partitions that were taken away and is about to be told as ended
    (OBJ-9). ``paused``: RMs for which nothing may happen (RM-15), ``slow``: for which nothing may
    be placed (EXT-6). ``retired``: identities that ended while their key was known, with the key:
    nobody may get one of them again (SI-35). ``swaps``: nodes of the placeholders whose replacement
    the present command confirms.
    """

    def __init__(self, counts: Counter[str], scheduler: Scheduler, judge: Judge) -> None:
        self.counts = counts
        self.manners = Manners(counts)
        self.held: dict[Identity, Held] = {}
        self.bounds = Bounds(counts, scheduler, self.held, judge)
        self.leaving: set[Identity] = set()
        self.nodes: set[tuple[str, str, str]] = set()
        self.paused: set[str] = set()
        self.slow: set[str] = set()
        self.retired: dict[Identity, str] = {}
        self.keys: set[tuple[str, str, str]] = set()
        self.swaps: set[str] = set()
        self.now = 0

    # ---------------------------------------------------------------------- what is asked

    def handled(self, command: Command, effects: list[Effect], now: int) -> None:
        """A command and everything it caused."""
        self.now = now
        self.bounds.handled()
        if any(isinstance(effect, e.RequestRefused) for effect in effects):
            return
        if command.rm_id in self._dropped(effects):
            self._heard(effects, placed=False)
            return
        if isinstance(command, c.UpdateNodes):
            self._nodes(command, effects)
            self._heard(effects, placed=False)
            self._gone(command)
        elif isinstance(command, c.UpdateAllocations):
            self.bounds.members.note(command.rm_id, command)
            left = self._reported(command.allocations, effects)
            self._asked(command)
            self._confirmed(command)
            self._heard(left, placed=False)
            self.swaps.clear()
        else:
            self._managed(command, effects)
            self._heard(effects, placed=False)
            if isinstance(command, c.UpdateApplications):
                for new in command.new:
                    self.bounds.submitted(command.rm_id, new)
                for removal in command.remove:
                    self._app_is_over(command.rm_id, removal.application_id)
                    self.manners.removed(command.rm_id, removal.application_id)

    def _managed(self, command: Command, effects: list[Effect]) -> None:
        """What concerns an RM as a whole."""
        if isinstance(command, c.RegisterResourceManager | c.UnregisterResourceManager):
            self._forget(command.rm_id)
            if isinstance(command, c.RegisterResourceManager):
                self.manners.registered(command)
                self.bounds.registered(command)
        elif isinstance(command, c.PauseResourceManager):
            (self.paused if command.timers else self.slow).add(command.rm_id)
        elif isinstance(command, c.ResumeResourceManager):
            (self.paused if command.timers else self.slow).discard(command.rm_id)
        elif isinstance(command, c.UpdateConfiguration):
            self._reload(command, effects)

    def stepped(self, effects: list[Effect], now: int) -> None:
        """Timers and decisions."""
        self.now = now
        self.bounds.begin()
        if self._dropped(effects):
            self.counts["fault of the core on its own"] += 1
        for effect in effects:
            if isinstance(effect, e.ResourceManagerStopped):
                self.counts["RM given up"] += 1
                assert effect.rm_id in self.paused, "only who is away is given up (RM-18)"
                self._forget(effect.rm_id)
            elif not isinstance(effect, e.EventRecord):
                may = effect.rm_id not in self.paused or self._is_farewell(effect)
                assert may, f"paused, yet {effect}"
                placed = isinstance(effect, e.AllocationNew)
                assert not (placed and effect.rm_id in self.slow), f"too slow, yet {effect}"
        self._heard(effects, placed=True)
        self.bounds.end()

    def _dropped(self, effects: list[Effect]) -> set[str]:
        """The RMs that are gone after a fault of the core, with all they had (SI-15)."""
        failed = {each.rm_id for each in effects if isinstance(each, e.ResourceManagerFailed)}
        for rm_id in failed:
            assert [type(x) for x in effects if x.rm_id == rm_id] == [e.ResourceManagerFailed]
            self._forget(rm_id)
        return failed

    def _is_farewell(self, effect: Effect) -> bool:
        """Whether it tells of a partition that an operator took away during a pause (OBJ-9)."""
        if isinstance(effect, e.ApplicationUpdated):
            return effect.state in ("Failing", "Failed")
        return isinstance(effect, e.AllocationsReleased) and all(
            (effect.rm_id, gone.partition, gone.application_id, gone.allocation_id) in self.leaving
            for gone in effect.released
        )

    def _forget(self, rm_id: str) -> None:
        """Everything of an RM is gone, silently (RM-9, RM-19)."""
        for name in [name for name in self.held if name[0] == rm_id]:
            del self.held[name]
        self.bounds.forget(rm_id)
        self.leaving = {name for name in self.leaving if name[0] != rm_id}
        self.nodes = {node for node in self.nodes if node[0] != rm_id}
        self.paused.discard(rm_id)
        self.slow.discard(rm_id)
        self.manners.forget(rm_id)
        self._forget_keys(lambda key: key[0] == rm_id)

    def _reload(self, command: c.UpdateConfiguration, effects: list[Effect]) -> None:
        (answer,) = [each for each in effects if isinstance(each, e.ConfigurationAnswered)]
        if answer.reason or command.dry_run:
            return
        homes = {partition.name for partition in command.config.partitions}
        gone = {n for n in self.held if n[0] == command.rm_id and n[1] not in homes}
        self.leaving |= gone
        for name in gone:
            del self.held[name]
        rm_id = command.rm_id
        self.nodes = {n for n in self.nodes if n[0] != rm_id or n[1] in homes}
        self.bounds.reloaded(command)

    def _nodes(self, command: c.UpdateNodes, effects: list[Effect]) -> None:
        """Nodes that were created, with what already ran there (NODE-6)."""
        accepted = [
            node for each in effects if isinstance(each, e.NodesAnswered) for node in each.accepted
        ]
        for update in command.nodes:
            if update.action not in (c.CREATE, c.CREATE_DRAIN) or update.node_id not in accepted:
                continue
            accepted.remove(update.node_id)
            home = home_of(update)
            assert (command.rm_id, home, update.node_id) not in self.nodes, "created twice"
            self.nodes.add((command.rm_id, home, update.node_id))
            self.bounds.created((command.rm_id, home, update.node_id), update)
            for existing in update.existing:
                self.bounds.members.recovered(command.rm_id, existing)
                self._take(command.rm_id, home, existing, update.node_id)
                self.counts["recovered with its node"] += 1

    def _gone(self, command: c.UpdateNodes) -> None:
        """Nodes that were removed; nothing may be left there (NODE-13)."""
        for update in command.nodes:
            self.bounds.changed(command.rm_id, update)
            if update.action == c.DECOMISSION:
                home = home_of(update)
                self.nodes.discard((command.rm_id, home, update.node_id))
                left = [
                    name
                    for name, held in self.held.items()
                    if name[:2] == (command.rm_id, home) and held.node == update.node_id
                ]
                assert not left, f"{left} outlived node {update.node_id}"

    def _reported(
        self, allocations: tuple[ExistingAllocation, ...], effects: list[Effect]
    ) -> list[Effect]:
        """What the RM says it runs; those that are accepted are answered first (SI-4, SI-42)."""
        reported = {(x.ask.application_id, x.allocation_id): x for x in allocations}
        left: list[Effect] = []
        for effect in effects:
            if isinstance(effect, e.AllocationNew) and reported:
                existing = reported.get((effect.ask.application_id, effect.allocation_id))
                if existing is not None:
                    assert effect.node_id == existing.node_id
                    self._take(effect.rm_id, effect.partition, existing, effect.node_id)
                    self.counts["recovered alone"] += 1
                    continue
            left.append(effect)
        return left

    def _take(self, rm_id: str, home: str, existing: ExistingAllocation, node: str) -> None:
        """Something that exists is booked, or resized where it is (SI-43, CYC-28)."""
        name = (rm_id, home, existing.ask.application_id, existing.allocation_id)
        known = self.held.get(name)
        assert (rm_id, home, node) in self.nodes, f"{name} on {node}, which is not there"
        if known is None:
            ask = existing.ask
            self.held[name] = held_as(ask, node)
            # A report of what is known makes no ask, and no key known (SI-41, SI-43).
            self.keys.add((rm_id, ask.application_id, ask.allocation_key))
            # An application counts with what it had before a recovery (QUE-24).
            self.bounds.app(name[:3]).placed = True
            if ask.placeholder:
                self.counts["recovered a placeholder"] += 1
        else:
            assert known.node == node, f"{name} is on {known.node} and accepted on {node}"
            if known.resource != existing.ask.resource:
                self.counts["resized in place"] += 1
            known.resource = existing.ask.resource
            self.counts["reported again"] += 1

    def _confirmed(self, command: c.UpdateAllocations) -> None:
        """Confirmations end what they name without an answer (SI-60, SI-63, SI-64)."""
        answered: set[Identity] = set()
        for release in command.releases:
            home = release.partition or "default"
            name = (command.rm_id, home, release.application_id, release.allocation_id)
            held = self.held.get(name)
            if held is None or name in answered:
                self.counts["release of something unknown"] += 1
                continue
            kind = release.termination_type
            if held.ordered == c.PLACEHOLDER_REPLACED:
                self.swaps.add(held.node)
            if held.ordered and kind != held.ordered:
                self.counts[f"order {held.ordered} met by {kind}"] += 1
            if kind not in CONFIRMATIONS:
                answered.add(name)
                continue
            if kind == c.PLACEHOLDER_REPLACED and not held.placeholder:
                continue
            asked = "ordered" if held.ordered == kind else "not ordered"
            self.counts[f"confirmed, {asked}"] += 1
            self._end(name)

    def _end(self, name: Identity) -> None:
        key = self.held.pop(name).key
        if (name[0], name[2], key) in self.keys:
            self.retired[name] = key

    def _asked(self, command: c.UpdateAllocations) -> None:
        """Keys become known with an ask, and are forgotten with it."""
        rm_id = command.rm_id
        self.keys |= {(rm_id, ask.application_id, ask.allocation_key) for ask in command.asks}
        gone = {(rm_id, x.application_id, x.allocation_key) for x in command.ask_releases}
        if gone:
            self._forget_keys(lambda key: key in gone)

    def _forget_keys(self, of: Callable[[tuple[str, str, str]], bool]) -> None:
        """Asks are gone, so their keys may begin anew with their identities."""
        self.keys = {key for key in self.keys if not of(key)}
        self.retired = {
            name: key for name, key in self.retired.items() if not of((name[0], name[2], key))
        }

    # -------------------------------------------------------------------- what is answered

    def _heard(self, effects: Iterable[Effect], *, placed: bool) -> None:
        """What the core says it did."""
        self.manners.heard(effects, placed=placed)
        for effect in effects:
            if isinstance(effect, e.AllocationNew):
                self._born(effect, placed=placed)
            elif isinstance(effect, e.AllocationsReleased):
                for each in effect.released:
                    self._ended(effect.rm_id, each)
            elif isinstance(effect, e.ApplicationUpdated):
                self.bounds.state_is(effect.rm_id, effect.application_id, effect.state)
                if effect.state in ENDED:
                    self._app_is_over(effect.rm_id, effect.application_id)

    def _born(self, effect: e.AllocationNew, *, placed: bool) -> None:
        home, app = effect.partition, effect.ask.application_id
        name = (effect.rm_id, home, app, effect.allocation_id)
        assert name not in self.held, f"{name} is born twice without an end between"
        assert name not in self.retired, f"{name} was the identity of another one (SI-35)"
        here = (effect.rm_id, home, effect.node_id) in self.nodes
        assert here, f"{name} is born on {effect.node_id}, which is not there"
        self.held[name] = held_as(effect.ask, effect.node_id)
        if placed:
            self.counts["placed"] += 1
            self.bounds.placed(effect)
            return
        self.bounds.members.swapped(effect.rm_id, effect.ask)
        if not self.swaps:
            self.counts["replacement outlived the node"] += 1
        else:
            where = "same" if effect.node_id in self.swaps else "other"
            self.counts[f"replaced on the {where} node"] += 1

    def _app_is_over(self, rm_id: str, app: str) -> None:
        self._forget_keys(lambda key: key[:2] == (rm_id, app))
        self.bounds.app_ended(rm_id, app)

    def _ended(self, rm_id: str, gone: e.ReleasedAllocation) -> None:
        name = (rm_id, gone.partition, gone.application_id, gone.allocation_id)
        if name in self.leaving:
            self.leaving.remove(name)
            return
        held = self.held.get(name)
        assert held is not None, f"{name} is told to end ({gone.termination_type}), unknown"
        kind = gone.termination_type
        if kind not in CONFIRMATIONS:
            self._end(name)
            return
        if held.ordered:
            since = None if held.limited else held.ordered_at
            self.manners.repeated(name, since, self.now)
            assert held.ordered == kind, f"{name}: an order {held.ordered} became {kind}"
        else:
            what = "placeholder" if held.placeholder else "real one"
            self.counts[f"{ORDERS[kind]}, {what}"] += 1
        held.ordered, held.ordered_at = kind, self.now

    # ----------------------------------------------------------------------- is it so?

    def compare(self, scheduler: Scheduler) -> None:
        """Raise unless the core has exactly what is in the ledger."""
        found: dict[Identity, tuple[str, Resource]] = {}
        partitions = scheduler.view(q.PartitionsQuery())
        assert isinstance(partitions, tuple)
        for partition in partitions:
            assert isinstance(partition, q.PartitionView)
            if partition.state == "Draining":
                continue
            for app in applications(scheduler, partition.rm_id, partition.name):
                self.bounds.members.check_view(partition.rm_id, app)
                for each in app.allocations:
                    where = (partition.rm_id, partition.name, app.application_id)
                    found[*where, each.allocation_id] = (each.node_id, each.resource)
        ledger = {name: (held.node, dict(held.resource)) for name, held in self.held.items()}
        for name in sorted({*found, *ledger}):
            mine, its = ledger.get(name), found.get(name)
            assert mine == its, f"{name}: the messages say {mine}, the core has {its}"


def applications(scheduler: Scheduler, rm_id: str, home: str) -> list[ApplicationView]:
    """The live applications of a partition."""
    found = scheduler.view(q.ApplicationsQuery(home, "", rm_id))
    views = found if isinstance(found, tuple) else ()
    return [view for view in views if isinstance(view, ApplicationView)]


def node_views(scheduler: Scheduler, rm_id: str, home: str) -> list[q.NodeView]:
    """The nodes of a partition."""
    found = scheduler.view(q.NodesQuery(home, rm_id))
    views = found if isinstance(found, tuple) else ()
    return [view for view in views if isinstance(view, q.NodeView)]
