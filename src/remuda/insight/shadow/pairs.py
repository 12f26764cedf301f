"""What became of each ask on two sides: in a primary scheduler, and in its shadow.

Both sides are followed by their inputs and effects alone, because the views of a core show an
application with all it has, and an input may concern any application.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

from remuda.core.messages.commands import (
    CREATE,
    CREATE_DRAIN,
    PLACEHOLDER_REPLACED,
    PREEMPTED_BY_SCHEDULER,
    STOPPED_BY_RM,
    UNKNOWN_TERMINATION_TYPE,
    AllocationRelease,
    Ask,
    Command,
    ExistingAllocation,
    NewApplication,
    UpdateAllocations,
    UpdateApplications,
    UpdateNodes,
)
from remuda.core.messages.effects import (
    AllocationNew,
    AllocationsReleased,
    ApplicationsAnswered,
    AsksRejected,
    Effect,
    NodesAnswered,
)

# Resource manager, plain name of the partition, application ID.
AppName: TypeAlias = tuple[str, str, str]

# Why allocations end that have ended already; all others end when their RM says so (SI-77).
ENDED: Final = (UNKNOWN_TERMINATION_TYPE, STOPPED_BY_RM)

# The attribute of a node that names its partition.
_NODE_PARTITION: Final = "si/node-partition"


@dataclass(slots=True)
class Made:
    """An allocation that was placed. ``at_ns``: when; 0: before the comparison began."""

    allocation_id: str
    node_id: str
    at_ns: int


@dataclass(slots=True)
class Course:
    """What became of an ask on one side.

    ``made``: its allocations, oldest first. ``live``: those that have not ended, as ID -> place in
    ``made``. ``preempted``: one of them was ordered to end as a victim. ``refused``: why the ask
    was refused, "" if it was not.
    """

    made: list[Made] = field(default_factory=list)
    live: dict[str, int] = field(default_factory=dict)
    preempted: bool = False
    refused: str = ""


@dataclass(slots=True)
class AskPair:
    """An ask on both sides.

    ``total``: how many allocations it wants in all. ``withdrawn``: how many fewer the shadow may
    make, because the primary's have ended before. ``dropped``: its RM dropped it. ``ask``: as its
    RM sent it, if it wants several; None if that was before the comparison began. ``cause``: how
    the sides differ at present, "" if they do not; ``queue``: where that is counted.
    """

    primary: Course
    shadow: Course
    total: int = 1
    withdrawn: int = 0
    dropped: bool = False
    placeholder: bool = False
    ask: Ask | None = None
    cause: str = ""
    queue: str = ""

    def counterpart(
        self, place: int, gone: Container[str] = (), taken: Container[str] = ()
    ) -> tuple[str, bool]:
        """Return what ends in the shadow with an allocation of the primary.

        An ID, "" for none; and whether it is one that still waits. If the shadow has not made so
        many, it is one whose counterpart has ended before the shadow made it. ``gone``, ``taken``:
        IDs of allocations of the primary and the shadow that end by the same request.
        """
        made, live = self.shadow.made, self.shadow.live
        if place < len(made):
            own = made[place].allocation_id
            return (own if own in live and own not in taken else ""), False
        others = self.primary
        for own, at in live.items():
            if at < len(others.made) and own not in taken:
                other = others.made[at].allocation_id
                if other not in others.live or other in gone:
                    return own, False
        return "", True

    def over(self) -> bool:
        """Whether nothing more can become of it on either side."""
        if self.primary.live or self.shadow.live:
            return False
        made = (len(self.primary.made), len(self.shadow.made) + self.withdrawn)
        refused = bool(self.primary.refused and self.shadow.refused)
        return self.dropped or refused or min(made) >= self.total


@dataclass(slots=True)
class Side:
    """One of the two schedulers.

    ``keys``: of its live allocations by ID, per application. ``orders``: the types of the releases
    it ordered that are not confirmed. ``refused``: why it refused applications.
    """

    shadow: bool
    keys: dict[AppName, dict[str, str]] = field(default_factory=dict)
    orders: dict[AppName, dict[str, int]] = field(default_factory=dict)
    refused: dict[AppName, str] = field(default_factory=dict)

    def course(self, pair: AskPair) -> Course:
        """Return this side of an ask."""
        return pair.shadow if self.shadow else pair.primary

    def named(self, name: AppName, release: AllocationRelease) -> list[str]:
        """Return the IDs of the live allocations that a release means. Rules: SI-61."""
        keys = self.keys.get(name, {})
        if release.allocation_id:
            return [release.allocation_id] if release.allocation_id in keys else []
        key = release.allocation_key
        return [each for each, of in keys.items() if key in ("", of)]

    def forget(self, name: AppName) -> None:
        """Drop all about an application."""
        for table in (self.keys, self.orders, self.refused):
            table.pop(name, None)


def app_name(rm_id: str, partition: str, application_id: str) -> AppName:
    """Return the full name of an application. Rules: RM-21, RM-22."""
    return rm_id, partition.removeprefix(f"[{rm_id}]") or "default", application_id


@final
class Pairs:
    """The asks that somebody may still ask about, and what both sides did with them.

    ``touched``: the asks of which something changed since this was emptied. ``orders``: the
    allocations that the shadow ordered to end since then, and ``gone``: those of the primary that
    ended without a confirmation, with their place among those of the ask.
    """

    def __init__(self) -> None:
        self.primary: Final = Side(shadow=False)
        self.shadow: Final = Side(shadow=True)
        self.asks: Final[dict[AppName, dict[str, AskPair]]] = {}
        self.touched: dict[tuple[AppName, str], None] = {}
        self.orders: list[tuple[AppName, str, str]] = []
        self.gone: list[tuple[AppName, str, int]] = []

    def pair(self, name: AppName, key: str, total: int = 1) -> AskPair:
        """Return an ask; one that is new wants ``total`` allocations."""
        asks = self.asks.setdefault(name, {})
        found = asks.get(key)
        if found is None:
            found = asks[key] = AskPair(Course(), Course(), total)
        return found

    def known(self, name: AppName, key: str) -> AskPair | None:
        """Return an ask, None if nothing is known of it."""
        return self.asks.get(name, {}).get(key)

    def applications_of(self, rm_id: str) -> list[AppName]:
        """Return the applications of an RM that either side has something of."""
        tables = (self.asks, self.primary.refused, self.shadow.refused)
        return list(dict.fromkeys([name for each in tables for name in each if name[0] == rm_id]))

    # ----------------------------------------------------------------------- what is told

    def sent(self, command: Command) -> None:
        """Note what the RM wants, as the primary was told. Comes before the effects of it."""
        if not isinstance(command, UpdateAllocations):
            return
        for ask in command.asks:
            name = app_name(command.rm_id, ask.partition, ask.application_id)
            pair = self.pair(name, ask.allocation_key)
            pair.total, pair.dropped = max(1, ask.max_allocations), False
            pair.ask = ask if pair.total > 1 else None
            pair.primary.refused = pair.shadow.refused = ""
        for each in command.ask_releases:
            if each.termination_type in ENDED:
                name = app_name(command.rm_id, each.partition, each.application_id)
                for key, pair in self.asks.get(name, {}).items():
                    if each.allocation_key in ("", key):
                        pair.dropped = True
                        self.touched[name, key] = None

    def confirmed(self, side: Side, command: Command) -> None:
        """Note the allocations that end with a command without an answer. Rules: SI-60, SI-63."""
        if not isinstance(command, UpdateAllocations):
            return
        for release in command.releases:
            if release.termination_type not in ENDED:
                name = app_name(command.rm_id, release.partition, release.application_id)
                for allocation_id in side.named(name, release):
                    if self._takes(side, name, allocation_id, release):
                        self._end(side, name, allocation_id)

    def happened(
        self, side: Side, command: Command | None, effects: Sequence[Effect], now_ns: int
    ) -> None:
        """Note what one side did. ``command``: what it answers, None: nothing."""
        partitions = _partitions(command)
        for effect in effects:
            if isinstance(effect, AllocationNew):
                self._new(side, effect, now_ns)
            elif isinstance(effect, AllocationsReleased):
                self._released(side, effect)
            elif isinstance(effect, AsksRejected):
                for each in effect.rejected:
                    where = partitions.get(each.application_id, "default")
                    name = (effect.rm_id, where, each.application_id)
                    side.course(self.pair(name, each.subject)).refused = each.reason or each.rule
                    self.touched[name, each.subject] = None
            elif isinstance(effect, ApplicationsAnswered):
                self._answered(side, effect, partitions)
            elif isinstance(effect, NodesAnswered) and isinstance(command, UpdateNodes):
                self._recovered(side, command, effect)

    def hold(self, side: Side, name: AppName, key: str, made: Made) -> None:
        """Note an allocation that a side has. One that is known already changes nothing."""
        keys = side.keys.setdefault(name, {})
        if made.allocation_id in keys:
            return
        keys[made.allocation_id] = key
        course = side.course(self.pair(name, key))
        course.live[made.allocation_id] = len(course.made)
        course.made.append(made)
        self.touched[name, key] = None

    def forget(self, name: AppName) -> None:
        """Drop an application on both sides."""
        self.asks.pop(name, None)
        self.primary.forget(name)
        self.shadow.forget(name)

    # ---------------------------------------------------------------------------- details

    def _takes(
        self, side: Side, name: AppName, allocation_id: str, release: AllocationRelease
    ) -> bool:
        """Whether a core takes a release of this type for the allocation. Rules: SI-64."""
        pair = self.known(name, side.keys[name][allocation_id])
        return release.termination_type != PLACEHOLDER_REPLACED or (
            pair is not None and pair.placeholder
        )

    def _new(self, side: Side, effect: AllocationNew, now_ns: int) -> None:
        ask = effect.ask
        name = (effect.rm_id, effect.partition, ask.application_id)
        pair = self.pair(name, ask.allocation_key, max(1, ask.max_allocations))
        pair.placeholder = ask.placeholder
        made = Made(effect.allocation_id, effect.node_id, now_ns)
        self.hold(side, name, ask.allocation_key, made)

    def _answered(
        self, side: Side, effect: ApplicationsAnswered, partitions: Mapping[str, str]
    ) -> None:
        for each in effect.rejected:
            name = (effect.rm_id, partitions.get(each.subject, "default"), each.subject)
            side.refused[name] = each.reason or each.rule
            self.touched[name, ""] = None
        for accepted in effect.accepted:
            name = (effect.rm_id, partitions.get(accepted, "default"), accepted)
            if side.refused.pop(name, None) is not None:
                self.touched[name, ""] = None

    def _released(self, side: Side, effect: AllocationsReleased) -> None:
        for each in effect.released:
            name = (effect.rm_id, each.partition, each.application_id)
            key = side.keys.get(name, {}).get(each.allocation_id, each.allocation_key)
            if each.termination_type in ENDED:
                pair = self.known(name, key)
                place = None if pair is None else pair.primary.live.get(each.allocation_id)
                if place is not None and not side.shadow:
                    self.gone.append((name, key, place))
                self._end(side, name, each.allocation_id)
                continue
            side.orders.setdefault(name, {})[each.allocation_id] = each.termination_type
            if side.shadow:
                self.orders.append((name, key, each.allocation_id))
            if each.termination_type == PREEMPTED_BY_SCHEDULER:
                side.course(self.pair(name, key)).preempted = True
                self.touched[name, key] = None

    def _end(self, side: Side, name: AppName, allocation_id: str) -> None:
        side.orders.get(name, {}).pop(allocation_id, None)
        key = side.keys.get(name, {}).pop(allocation_id, None)
        pair = None if key is None else self.known(name, key)
        if key is not None and pair is not None:
            side.course(pair).live.pop(allocation_id, None)
            self.touched[name, key] = None

    def _recovered(self, side: Side, command: UpdateNodes, answer: NodesAnswered) -> None:
        """Note what ran on new nodes, which is not answered. Rules: NODE-6."""
        for node in command.nodes:
            if node.action in (CREATE, CREATE_DRAIN) and node.node_id in answer.accepted:
                partition = node.attributes.get(_NODE_PARTITION, "")
                for each in node.existing:
                    name = app_name(
                        command.rm_id, each.ask.partition or partition, each.ask.application_id
                    )
                    made = Made(identity(each), node.node_id, 0)
                    self.hold(side, name, each.ask.allocation_key, made)


def identity(existing: ExistingAllocation) -> str:
    """Return the identity of an allocation that an RM reports. Rules: SI-40."""
    return existing.allocation_id or existing.ask.allocation_key


def _partitions(command: Command | None) -> Mapping[str, str]:
    """Return the plain partitions of the applications in a command."""
    named: Sequence[NewApplication | Ask] = ()
    if isinstance(command, UpdateApplications):
        named = command.new
    elif isinstance(command, UpdateAllocations):
        named = command.asks
    else:
        return {}
    return {each.application_id: app_name(command.rm_id, each.partition, "")[1] for each in named}
