"""A slow scheduler written from the specification, to compare the real one with.

It shares nothing with the scheduler but the records that go in, keeps only facts and looks at
all of them again for every decision. What it returns are plain tuples in the form of
``tests.reference.outcome``, because texts, timestamps and echoes are not compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from remuda.core.messages import commands as c
from remuda.core.messages import events as ev
from remuda.core.ports import Predicates, always_true
from tests.reference import (
    access,
    existing,
    limits,
    nodes,
    pauses,
    placement,
    queues,
    reload,
    reserving,
)
from tests.reference import arithmetic as res
from tests.reference.decide import Cycle, Decision, Place, Reserve
from tests.reference.outcome import Outcome, Record, Released, record
from tests.reference.state import (
    LIVE,
    Allocation,
    Application,
    Ask,
    Partition,
    Reservation,
)

SECOND = 1_000_000_000
HOUR = 3600 * SECOND
STARTING_TIMEOUT = 300 * SECOND
COMPLETING_TIMEOUT = 30 * SECOND
CLEANING = 10 * SECOND
RETENTION = 3 * 24 * 3600 * SECOND
REQUIRED_NODE = "yunikorn.apache.org/requiredNode"
QUICK = "application.stateaware.disable"
RESERVATION_DELAY = 2 * SECOND

TRANSITIONS = {
    ("New", "run"): "Accepted",
    ("Accepted", "run"): "Starting",
    ("Starting", "run"): "Running",
    ("Completing", "run"): "Running",
    ("Accepted", "complete"): "Completing",
    ("Starting", "complete"): "Completing",
    ("Running", "complete"): "Completing",
    ("Completing", "complete"): "Completed",
    ("Completed", "expire"): "Expired",
    ("Rejected", "expire"): "Expired",
}
TIMERS = {
    "Starting": (STARTING_TIMEOUT, "run"),
    "Completing": (COMPLETING_TIMEOUT, "complete"),
    "Completed": (RETENTION, "expire"),
    "Rejected": (RETENTION, "expire"),
}

Timer: TypeAlias = tuple[int, int, Partition, Application, str]


class Reference:
    """The same door as the scheduler's: ``handle``, ``step``, ``next_deadline``.

    ``records`` are the event records of the last call that are compared. ``background``: what the
    RMs have to hear of removed partitions, some time (OBJ-9). ``counts``: how many reservations
    were made, and why they ended. ``extra``: the extra map of each RM.
    """

    def __init__(
        self,
        predicates: Predicates = always_true,
        reservation_delay: int | None = RESERVATION_DELAY,
    ) -> None:
        self.predicates = predicates
        self.reservation_delay = reservation_delay
        self.counts: Counter[str] = Counter()
        self.partitions: dict[tuple[str, str], Partition] = {}
        self.asking: dict[str, bool] = {}
        self.extra: dict[str, Mapping[str, str]] = {}
        self.checksums: dict[str, str] = {}
        self.sweeps: dict[tuple[str, str], int] = {}
        self.background: list[Outcome] = []
        self.records: list[Record] = []
        self.timers: list[Timer] = []
        self.turn: tuple[str, str] = ("", "")
        self.now = 0
        self.arrivals = 0
        self.out: list[Outcome] = []

    # ------------------------------------------------------------------------------ door

    def handle(self, command: c.Command, now_ns: int) -> list[Outcome]:
        """Apply one command."""
        self.out, self.records, self.now = [], [], now_ns
        self.apply(command)
        self.review()
        self.note_empty()
        return self.out

    def apply(self, command: c.Command) -> None:
        """What the command asks for."""
        if isinstance(command, c.RegisterResourceManager):
            self.register(command)
        elif command.rm_id not in self.asking:
            self.out.append(("refused", command.rm_id, ""))
        elif isinstance(command, c.UnregisterResourceManager):
            self.wipe(command.rm_id)
        elif isinstance(command, c.UpdateConfiguration):
            self.out.append(("configured", command.rm_id, reload.update(self, command)))
        elif isinstance(command, c.UpdateApplications):
            self.update_applications(command)
        elif isinstance(command, c.UpdateAllocations):
            self.update_allocations(command)
        elif isinstance(command, c.UpdateNodes):
            nodes.update(self, command)
        else:
            raise TypeError(f"no pauses and operators here: {command}")

    def step(self, now_ns: int, limit: int) -> list[Outcome]:
        """Fire due timers, then decide at most ``limit`` times, with timers due in between."""
        self.out, self.records, self.now = [], [], now_ns
        self.fire_due()
        self.review()
        for _ in range(limit):
            if not self.decide_once():
                break
            self.review()
            self.fire_due()
            self.review()
        self.note_empty()
        return self.out

    def fire_due(self) -> None:
        """Fire the timers that are due. Rules: APP-16."""
        while self.timers and min(self.timers, key=timer_order)[0] <= self.now:
            timer = min(self.timers, key=timer_order)
            self.timers.remove(timer)
            *_, partition, app, event = timer
            self.fire(partition, app, event)
        for name in [name for name, due in self.sweeps.items() if due <= self.now]:
            del self.sweeps[name]
            self.records += queues.clean(self.partitions[name])

    def note_empty(self) -> None:
        """Let the cleaner come 10 s after a queue became empty. Rules: OBJ-5, QLC-3."""
        for name, partition in self.partitions.items():
            if queues.removable(partition):
                self.sweep_later(name)

    def sweep_later(self, name: tuple[str, str]) -> None:
        """Let the cleaner come; when its 10 s begin is open."""
        self.sweeps.setdefault(name, self.now + CLEANING)

    def next_deadline(self) -> int | None:
        """When the next timer fires."""
        limits_due = [due for one in self.partitions.values() for due in reserving.ends(one)]
        timers_due = [timer[0] for timer in self.timers]
        return min([*timers_due, *self.sweeps.values(), *limits_due], default=None)

    # ----------------------------------------------------------------------- registration

    def register(self, command: c.RegisterResourceManager) -> None:
        """RM-1, RM-9."""
        name = command.rm_id
        if not name or len(name) > 256 or any(ch in "[]" or not ch.isprintable() for ch in name):
            self.out.append(("registered", name, False))
            return
        self.wipe(name)
        self.asking[name] = command.predicates
        self.checksums[name] = command.config.checksum
        self.keep_settings(name, command.extra_config)
        for config in command.config.partitions:
            self.partitions[name, config.name] = partition = Partition(name, config.name)
            self.adjust(partition)
            self.records += queues.configure(partition, config)
        self.out.append(("registered", name, True))

    def keep_settings(self, rm_id: str, extra: Mapping[str, str]) -> None:
        """Keep the extra map, and what it says to the core. Rules: SI-85, RSV-10, KV-3, KV-5."""
        self.extra[rm_id] = extra
        for name, partition in self.partitions.items():
            if name[0] == rm_id:
                self.adjust(partition)

    def adjust(self, partition: Partition) -> None:
        """Let a partition obey the extra map of its RM."""
        extra = self.extra[partition.rm_id]
        seconds = re.fullmatch(r"([0-9]+)s", extra.get("scheduler.reservationLimit", ""))
        partition.reservation_limit = int(seconds[1]) * SECOND if seconds else HOUR
        partition.parity = extra.get("scheduler.parity") == "1.5"

    def wipe(self, rm_id: str) -> None:
        """Forget everything of one RM. Rules: RM-9, RM-19."""
        self.asking.pop(rm_id, None)
        for name in [name for name in self.partitions if name[0] == rm_id]:
            self.forget(name)
        self.background = [one for one in self.background if one[1] != rm_id]

    def forget(self, name: tuple[str, str]) -> None:
        """Forget one partition."""
        partition = self.partitions.pop(name)
        self.sweeps.pop(name, None)
        self.timers = [timer for timer in self.timers if timer[2] is not partition]

    def remove_partition(self, name: tuple[str, str]) -> None:
        """Take a partition away; the RM hears of its applications later. Rules: OBJ-9."""
        partition = self.partitions[name]
        for app in partition.applications.values():
            if app.state in LIVE:
                states = ("Failing", "Failed")
                self.background += [("state", name[0], app.identity, state) for state in states]
                entries = [(app.identity, a.identity, a.key) for a in app.allocations.values()]
                self.background += [("released", name[0], (entry,)) for entry in entries]
        self.forget(name)

    def partition(self, rm_id: str, name: str) -> Partition | None:
        """The partition an element is addressed to. Rules: RM-21, RM-22."""
        if name.startswith("["):
            prefix = f"[{rm_id}]"
            if not name.startswith(prefix):
                return None
            name = name.removeprefix(prefix)
        return self.partitions.get((rm_id, name or "default"))

    def application(self, rm_id: str, name: str, identity: str) -> Application | None:
        """A live application, or None."""
        partition = self.partition(rm_id, name)
        return partition.applications.get(identity) if partition else None

    # ---------------------------------------------------------------------- application life

    def arrival(self) -> int:
        """The next arrival number."""
        self.arrivals += 1
        return self.arrivals

    def enter(self, partition: Partition, app: Application, state: str) -> None:
        """Enter a state: report it, start its timer, do its entry actions. Rules: APP-1, APP-2,
        APP-3."""
        app.state = state
        self.timers = [timer for timer in self.timers if timer[3] is not app]
        if state != "Rejected":
            self.out.append(("state", partition.rm_id, app.identity, state))
        if state in TIMERS:
            after, event = TIMERS[state]
            if state == "Starting" and app.quick:
                after = 0
            self.timers.append((self.now + after, self.arrival(), partition, app, event))
        if state == "Completed":
            partition.applications.pop(app.identity)
            app.asks.clear()

    def fire(self, partition: Partition, app: Application, event: str) -> None:
        """Apply one event of the state machine; a refused one changes nothing."""
        target = TRANSITIONS.get((app.state, event))
        if target is not None:
            self.enter(partition, app, target)

    def update_applications(self, command: c.UpdateApplications) -> None:
        """Adds, one answer, removals. Rules: SI-3, SI-4."""
        accepted: list[str] = []
        rejected: list[str] = []
        for new in command.new:
            verdict = accepted if self.add_application(command.rm_id, new) else rejected
            verdict.append(new.application_id)
        if command.new:
            self.out.append(("applications", command.rm_id, tuple(accepted), tuple(rejected)))
        for removal in command.remove:
            partition = self.partition(command.rm_id, removal.partition)
            if partition is not None and removal.application_id in partition.applications:
                self.remove_application(partition, removal.application_id)

    def add_application(self, rm_id: str, new: c.NewApplication) -> bool:
        """SI-20. Gangs have tests of their own."""
        partition = self.partition(rm_id, new.partition)
        if partition is None or not new.application_id:
            return False
        app = Application(new.application_id, "", self.arrival(), self.now)
        app.quick = bool(access.application_tag(new.tags, QUICK))
        app.node_policy = access.application_tag(new.tags, "node.sort.policy")
        who = access.identify(new)
        known = app.identity in partition.applications
        if who is None or known or not self.settle_in(partition, app, new, who):
            self.enter(partition, app, "Rejected")
            self.note_empty()  # a queue made for it may have a use before the request ends
            return False
        return True

    def settle_in(
        self,
        partition: Partition,
        app: Application,
        new: c.NewApplication,
        who: tuple[str, tuple[str, ...]],
    ) -> bool:
        """Find the queue of an application and put it there. Rules: SI-20, SI-22, PLC-86."""
        app.user, app.groups = who
        wishes = placement.Applicant(app.user, app.groups, new.queue, new.tags)
        path = placement.place(partition, wishes)
        if path is None:
            return False
        app.queue = path
        self.records += queues.create_missing(partition, path)
        if app.node_policy not in ("", "fair", "binpacking"):
            return False
        self.records += queues.apply_quota(partition, path, new.tags)
        partition.applications[app.identity] = app
        return True

    def remove_application(self, partition: Partition, identity: str) -> None:
        """SI-29, in the order of EVT-89."""
        app = partition.applications.pop(identity)
        had_asks = bool(app.asks)
        mine = [one for one in partition.reservations if one.app is app]
        self.unreserve(partition, mine, "application removed")
        app.asks.clear()
        if had_asks and not app.allocations and app.state != "Completing":
            self.fire(partition, app, "complete")
        gone = list(app.allocations.values())
        for allocation in gone:
            self.unbind(partition, app, allocation)
        partition.applications[identity] = app  # entering Completed takes it out
        self.fire(partition, app, "complete")
        partition.applications.pop(identity, None)
        self.timers = [timer for timer in self.timers if timer[3] is not app]
        self.released(partition, [(app, allocation) for allocation in gone])

    def released(self, partition: Partition, gone: list[tuple[Application, Allocation]]) -> None:
        """Tell the RM that allocations ended. Rules: SI-60."""
        if gone:
            entries: list[Released] = [(app.identity, a.identity, a.key) for app, a in gone]
            self.out.append(("released", partition.rm_id, tuple(sorted(entries))))

    # ------------------------------------------------------------------------- allocations

    def update_allocations(self, command: c.UpdateAllocations) -> None:
        """The four lists in the order of SI-3."""
        rm_id = command.rm_id
        bad = [
            e.ask.allocation_key for e in command.allocations if not existing.report(self, rm_id, e)
        ]
        if bad:
            self.out.append(("allocations rejected", rm_id, tuple(bad)))
        bad = [ask.allocation_key for ask in command.asks if not self.add_ask(rm_id, ask)]
        if bad:
            self.out.append(("asks rejected", rm_id, tuple(bad)))
        for ask_release in command.ask_releases:
            self.release_asks(rm_id, ask_release)
        for release in command.releases:
            self.release(rm_id, release)

    def bind(
        self,
        partition: Partition,
        app: Application,
        names: tuple[str, str],
        node_id: str,
        resource: dict[str, int],
    ) -> None:
        """Add an allocation to an application. Rules: APP-4 d."""
        identity, key = names
        self.fire(partition, app, "run")
        app.allocations[identity] = Allocation(identity, key, node_id, resource, self.arrival())
        limits.look(partition, app)
        app.counted = True
        self.tell_usage(partition, app, ev.ADD, resource)

    def unbind(self, partition: Partition, app: Application, allocation: Allocation) -> None:
        """Take an allocation from an application. Rules: LIM-35, EVT-78, EVT-79."""
        del app.allocations[allocation.identity]
        self.tell_usage(partition, app, ev.REMOVE, allocation.resource)
        limits.settle(app)

    def tell_usage(
        self, partition: Partition, app: Application, change: int, amounts: dict[str, int]
    ) -> None:
        """EVT-78, EVT-79, EVT-83 a."""
        subjects = [(app.user, ev.UG_USER_RESOURCE)]
        subjects += [(app.group, ev.UG_GROUP_RESOURCE)] if app.group else []
        for name, detail in subjects:
            self.records.append(
                record(
                    partition,
                    ev.USERGROUP,
                    name,
                    change,
                    detail,
                    amounts=amounts,
                    reference=app.queue,
                )
            )

    def new_ask(self, app: Application, ask: c.Ask, total: int) -> Ask:
        """An ask as the model keeps it. Rules: QUE-42, QUE-44, README decision 54."""
        created = self.created(ask)
        if ask.allocation_key in app.asks:
            created = app.asks[ask.allocation_key].created
        app.submitted = min(app.submitted, created)
        return Ask(
            key=ask.allocation_key,
            resource=dict(ask.resource),
            priority=ask.priority,
            total=total,
            arrival=self.arrival(),
            required_node=ask.tags.get(REQUIRED_NODE, ""),
            created=created,
            sent=ask,
        )

    def created(self, ask: c.Ask) -> int:
        """The creation time of a new ask. Rules: QUE-44, SI-45."""
        text = ask.tags.get("creationTime", "")
        told = text.isascii() and text.isdigit() and len(text) <= 11
        return min(int(text) * SECOND, self.now) if told else self.now

    def add_ask(self, rm_id: str, ask: c.Ask) -> bool:
        """Chapter 70 section 5, APP-8 a; placeholders are refused, for none here names a task
        group."""
        partition = self.partition(rm_id, ask.partition)
        app = self.application(rm_id, ask.partition, ask.application_id)
        if partition is None or app is None or not ask.allocation_key or ask.placeholder:
            return False
        if ask.max_allocations < 1 or not res.positive(ask.resource):
            return False
        new = self.new_ask(app, ask, ask.max_allocations)
        old = app.asks.get(new.key)
        if old is not None:
            new.arrival, new.made = old.arrival, old.made
            if old.sent == new.sent:
                new.in_vain, new.waited = old.in_vain, old.waited
        app.asks[new.key] = new
        self.check_reservations(partition, app, new)
        limits.choose_first(partition, app)
        limits.settle(app)
        if app.state in ("New", "Completing") and new.pending:
            self.fire(partition, app, "run")
        if old is not None and new.pending < old.pending:
            self.complete_if_done(partition, app)
        return True

    def check_reservations(self, partition: Partition, app: Application, new: Ask) -> None:
        """End those of an ask that came again and is too large, or has enough. Rules: SI-33."""
        too_small = [
            one
            for one in reserving.of_ask(partition, app, new.key)
            if not res.fits(partition.nodes[one.node_id].capacity, new.resource)
        ]
        self.unreserve(partition, too_small, "sent again")
        self.unreserve(partition, reserving.surplus(partition, app, new.key), "sent again")

    def release_asks(self, rm_id: str, release: c.AskRelease) -> None:
        """SI-50, SI-51, SI-52."""
        partition = self.partition(rm_id, release.partition)
        app = self.application(rm_id, release.partition, release.application_id)
        if partition is None or app is None or release.termination_type == c.TIMEOUT:
            return
        keys = [release.allocation_key] if release.allocation_key else list(app.asks)
        known = [key for key in keys if app.asks.pop(key, None) is not None]
        if known:
            for key in known:
                gone = reserving.surplus(partition, app, key)
                self.unreserve(partition, gone, "ask released")
            limits.settle(app)
            self.complete_if_done(partition, app)

    def complete_if_done(self, partition: Partition, app: Application) -> None:
        """APP-8 a, b."""
        wanting = any(ask.pending for ask in app.asks.values())
        if not wanting and not app.allocations and app.state != "Completing":
            self.fire(partition, app, "complete")

    def release(self, rm_id: str, release: c.AllocationRelease) -> None:
        """Chapter 70 section 7."""
        partition = self.partition(rm_id, release.partition)
        if partition is not None and not release.application_id:
            existing.drop_foreign(partition, release.allocation_id or release.allocation_key)
        app = self.application(rm_id, release.partition, release.application_id)
        if partition is None or app is None:
            return
        if release.termination_type == c.PLACEHOLDER_REPLACED:
            return  # nothing here is a placeholder
        gone = [a for a in app.allocations.values() if named(release, a)]
        for allocation in gone:
            self.unbind(partition, app, allocation)
        if gone:
            self.complete_if_done(partition, app)
            if release.termination_type in (c.STOPPED_BY_RM, c.UNKNOWN_TERMINATION_TYPE):
                self.released(partition, [(app, allocation) for allocation in gone])

    # -------------------------------------------------------------------------- decisions

    def decide_once(self) -> bool:
        """One decision of the next partition that has one. Rules: CYC-3."""
        names = sorted(self.partitions)
        for name in [n for n in names if n > self.turn] + [n for n in names if n <= self.turn]:
            if self.take_turn(self.partitions[name]):
                self.turn = name
                return True
        return False

    def take_turn(self, partition: Partition) -> bool:
        """One allocation and the reservations before it; whether there was one. Rules: CYC-7."""
        asks = self.predicates if self.asking[partition.rm_id] else always_true
        while True:
            decision = Cycle(partition, asks, self.now, self.reservation_delay).decide()
            if decision is None:
                return False
            self.commit(partition, decision)
            if isinstance(decision, Place):
                return True

    def review(self) -> None:
        """See what changed for reservations and for asks that wait. Rules: NODE-16, RSV-10."""
        for partition in self.partitions.values():
            pauses.note_room(partition)
            for one, why in reserving.outlived(partition, self.now):
                self.unreserve(partition, [one], why)

    def commit(self, partition: Partition, decision: Decision) -> None:
        """Carry out what was decided. Rules: CYC-6, CYC-14."""
        self.unreserve(partition, decision.evicted, "evicted")
        if isinstance(decision, Reserve):
            self.reserve(partition, decision)
        else:
            self.place(partition, decision)

    def place(self, partition: Partition, decision: Place) -> None:
        """CYC-17 steps 7 and 8, CYC-18, RSV-8."""
        app, ask, node = decision.app, decision.ask, decision.node
        identity = f"{ask.key}-{ask.made}"
        ask.made += 1
        ask.in_vain = False
        self.bind(partition, app, (identity, ask.key), node.identity, dict(ask.resource))
        if decision.instead is not None:
            own = decision.instead.node_id == node.identity
            drained = not partition.nodes[decision.instead.node_id].schedulable
            why = "own node" if own else "other node, drained" if drained else "other node"
            self.unreserve(partition, [decision.instead], why)
        self.out.append(("new", partition.rm_id, identity, node.identity))

    def reserve(self, partition: Partition, decision: Reserve) -> None:
        """RSV-1, RSV-5."""
        app, key, node_id = decision.app, decision.ask.key, decision.node.identity
        self.counts["required" if decision.ask.required_node else "reserved"] += 1
        partition.reservations.append(Reservation(app, key, node_id, self.now))
        self.out.append(("reserved", partition.rm_id, key, node_id))

    def unreserve(self, partition: Partition, gone: Iterable[Reservation], why: str) -> None:
        """End reservations. Rules: RSV-8, RSV-9, EVT-56."""
        for one in list(gone):
            partition.reservations.remove(one)
            self.counts[why] += 1
            self.out.append(("unreserved", partition.rm_id, one.key, one.node_id))


def timer_order(timer: Timer) -> tuple[int, int]:
    """The earlier first, then the one set first."""
    return timer[:2]


def named(release: c.AllocationRelease, allocation: Allocation) -> bool:
    """Whether a release means this allocation. Rules: SI-61."""
    if release.allocation_id:
        return allocation.identity == release.allocation_id
    return release.allocation_key in ("", allocation.key)
