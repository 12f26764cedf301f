"""Turns an input of the primary into one that means the same to its shadow.

An input refers to allocations that the primary made. The shadow has made others, or made them
elsewhere, or not yet. One law decides: work exists in the shadow as long as in the primary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

from remuda.core.messages.commands import (
    PREEMPTED_BY_SCHEDULER,
    STOPPED_BY_RM,
    AllocationRelease,
    Ask,
    AskRelease,
    Command,
    ExistingAllocation,
    NodeUpdate,
    UpdateAllocations,
    UpdateNodes,
)
from remuda.insight.shadow.pairs import (
    ENDED,
    AppName,
    AskPair,
    Pairs,
    app_name,
    identity,
)


@dataclass(slots=True)
class _Request:
    """What a request becomes.

    ``gone``, ``taken``: the allocations that it ends, by application: the primary's, the shadow's.
    """

    allocations: list[ExistingAllocation] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    ask_releases: list[AskRelease] = field(default_factory=list)
    releases: list[AllocationRelease] = field(default_factory=list)
    gone: dict[AppName, set[str]] = field(default_factory=dict)
    taken: dict[AppName, set[str]] = field(default_factory=dict)


@final
class Translation:
    """Translates inputs, by what is known of both sides before the input.

    Implements: EXT-129.
    """

    def __init__(self, pairs: Pairs) -> None:
        self._pairs: Final = pairs

    def of(self, command: Command) -> Command:
        """Return what the shadow gets; the same record if nothing differs."""
        if isinstance(command, UpdateAllocations):
            return self._allocations(command)
        if isinstance(command, UpdateNodes):
            nodes = tuple([self._node(command.rm_id, node) for node in command.nodes])
            return replace(command, nodes=nodes) if _other(nodes, command.nodes) else command
        return command

    def _node(self, rm_id: str, node: NodeUpdate) -> NodeUpdate:
        """Leave out what runs for refused applications: the shadow would refuse the node."""
        refused = self._pairs.shadow.refused
        if not node.existing or not refused:
            return node
        kept = tuple(
            [
                each
                for each in node.existing
                if app_name(rm_id, each.ask.partition, each.ask.application_id) not in refused
            ]
        )
        return node if len(kept) == len(node.existing) else replace(node, existing=kept)

    def _allocations(self, command: UpdateAllocations) -> UpdateAllocations:
        rm_id, request = command.rm_id, _Request()
        for existing in command.allocations:
            self._existing(rm_id, existing, request)
        request.asks += [self._ask(rm_id, each) for each in command.asks]
        for dropped in command.ask_releases:
            self._drop(rm_id, dropped, request)
        for release in command.releases:
            self._release(rm_id, release, request)
        lists = (
            (request.allocations, command.allocations),
            (request.asks, command.asks),
            (request.ask_releases, command.ask_releases),
            (request.releases, command.releases),
        )
        if not any(_other(new, old) for new, old in lists):
            return command
        return replace(
            command,
            allocations=tuple(request.allocations),
            asks=tuple(request.asks),
            ask_releases=tuple(request.ask_releases),
            releases=tuple(request.releases),
        )

    # ------------------------------------------------------------------- what an RM reports

    def _existing(self, rm_id: str, existing: ExistingAllocation, request: _Request) -> None:
        """Take a report about what the primary has as one about what the shadow has of it."""
        ask = existing.ask
        name = app_name(rm_id, ask.partition, ask.application_id)
        if name in self._pairs.shadow.refused:
            return
        pair, place = self._reported(name, existing)
        if pair is None:
            request.allocations.append(existing)
        elif place >= len(pair.shadow.made):
            total = max(1, pair.total - pair.withdrawn)
            request.asks.append(replace(ask, max_allocations=total))
        elif (made := pair.shadow.made[place]).allocation_id in pair.shadow.live:
            if made.node_id == existing.node_id and made.allocation_id == identity(existing):
                request.allocations.append(existing)
            else:
                request.allocations.append(
                    replace(existing, allocation_id=made.allocation_id, node_id=made.node_id)
                )

    def _reported(self, name: AppName, existing: ExistingAllocation) -> tuple[AskPair | None, int]:
        """Return the ask and the place of an allocation that the primary has already."""
        keys = self._pairs.primary.keys.get(name, {})
        found = identity(existing)
        if found not in keys and not existing.allocation_id:
            same = [each for each, key in keys.items() if key == existing.ask.allocation_key]
            found = same[0] if len(same) == 1 else found
        key = keys.get(found)
        pair = None if key is None else self._pairs.known(name, key)
        return (None, 0) if pair is None else (pair, pair.primary.live.get(found, 0))

    def _ask(self, rm_id: str, ask: Ask) -> Ask:
        """Ask for fewer, if some have ended before the shadow made them."""
        name = app_name(rm_id, ask.partition, ask.application_id)
        pair = self._pairs.known(name, ask.allocation_key)
        if pair is None or not pair.withdrawn or pair.dropped:
            return ask
        return replace(ask, max_allocations=max(1, ask.max_allocations - pair.withdrawn))

    # ---------------------------------------------------------------------- what an RM drops

    def _drop(self, rm_id: str, dropped: AskRelease, request: _Request) -> None:
        """Drop of an ask as much as has not been placed in the primary."""
        name = app_name(rm_id, dropped.partition, dropped.application_id)
        asks = self._pairs.asks.get(name, {})
        meant = {key: asks[key] for key in _keys(asks, dropped.allocation_key)}
        if dropped.termination_type not in ENDED or not any(map(_differ, meant.values())):
            request.ask_releases.append(dropped)
            return
        for key, pair in meant.items():
            shadow, placed = pair.shadow, len(pair.primary.made)
            if len(shadow.made) >= placed:
                request.ask_releases.append(replace(dropped, allocation_key=key))
            else:
                # What the primary has placed lives on in the shadow until it ends there.
                pair.withdrawn = pair.total - placed
                if pair.ask is not None and pair.withdrawn:
                    _add(request, fewer(pair, name, key, dropped.partition))
            for made in shadow.made[placed:]:
                if made.allocation_id in shadow.live:
                    request.releases.append(_stopped(dropped, key, made.allocation_id))

    def _release(self, rm_id: str, release: AllocationRelease, request: _Request) -> None:
        """End in the shadow what a release ends in the primary."""
        name = app_name(rm_id, release.partition, release.application_id)
        primary, shadow = self._pairs.primary, self._pairs.shadow
        ids = primary.named(name, release)
        if not ids:
            request.releases.append(release)
            return
        found: list[AllocationRelease] = []
        for each in ids:
            found += self._end(name, primary.keys[name][each], each, release, request)
        same = shadow.named(name, release) == ids == [each.allocation_id for each in found]
        if same and all(each.termination_type == release.termination_type for each in found):
            request.releases.append(release)
        else:
            request.releases += found

    def _end(
        self, name: AppName, key: str, primary_id: str, release: AllocationRelease, to: _Request
    ) -> Iterator[AllocationRelease]:
        """Yield what ends the shadow's part of an allocation of the primary."""
        pair = self._pairs.known(name, key)
        if pair is None or primary_id not in pair.primary.live:
            return
        # A type that confirms nothing ends the work as any other release does (SI-63).
        confirms = primary_id in self._pairs.primary.orders.get(name, {})
        confirms = confirms and release.termination_type not in ENDED
        work_ends = not confirms or release.termination_type == PREEMPTED_BY_SCHEDULER
        gone, taken = to.gone.setdefault(name, set()), to.taken.setdefault(name, set())
        if primary_id in gone:
            return
        own, waits = pair.counterpart(pair.primary.live[primary_id], gone, taken)
        gone.add(primary_id)
        taken.add(own)
        if waits and work_ends:
            pair.withdrawn += 1
            _add(to, fewer(pair, name, key, release.partition))
        if not own:
            return
        ordered = self._pairs.shadow.orders.get(name, {}).get(own)
        if confirms and ordered is not None:
            yield replace(_named(release, key, own), termination_type=ordered)
        elif work_ends:
            kind = STOPPED_BY_RM if confirms else release.termination_type
            yield replace(_named(release, key, own), termination_type=kind)


def fewer(pair: AskPair, name: AppName, key: str, partition: str) -> Ask | AskRelease:
    """Return what lets the shadow make ``withdrawn`` allocations less of an ask."""
    left = pair.total - pair.withdrawn
    if pair.ask is not None and left > 0:
        return replace(pair.ask, max_allocations=left)
    return AskRelease(name[2], key, partition)


def _add(request: _Request, found: Ask | AskRelease) -> None:
    if isinstance(found, Ask):
        request.asks.append(found)
    else:
        request.ask_releases.append(found)


def _other(new: Sequence[object], old: Sequence[object]) -> bool:
    """Whether something was changed, added or left out."""
    return len(new) != len(old) or any(
        one is not other for one, other in zip(new, old, strict=True)
    )


def _keys(asks: dict[str, AskPair], key: str) -> list[str]:
    """Return the keys that a release of asks means: one, or all."""
    return [each for each in asks if key in ("", each)]


def _differ(pair: AskPair) -> bool:
    """Whether a dropped ask has not as many allocations on both sides."""
    return len(pair.primary.made) != len(pair.shadow.made) + pair.withdrawn


def _stopped(dropped: AskRelease, key: str, allocation_id: str) -> AllocationRelease:
    return AllocationRelease(dropped.application_id, allocation_id, key, dropped.partition)


def _named(release: AllocationRelease, key: str, allocation_id: str) -> AllocationRelease:
    """Return a release of one allocation of the shadow."""
    return replace(release, allocation_id=allocation_id, allocation_key=key)
