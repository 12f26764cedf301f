"""What was asked for and became of the members of task groups, from the messages alone (I33)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from remuda.core.messages import commands as c
from remuda.core.messages.application_views import AllocationView, ApplicationView
from tests.simulation.faults.ledger import Held

# RM, application, and the name of a task group.
Group: TypeAlias = tuple[str, str, str]


class Members:
    """Members of all groups of one core.

    ``asked``: how many placeholders each key stands for. ``replaced``: swaps that were told.
    """

    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts
        self.asked: dict[Group, dict[str, int]] = {}
        self.replaced: Counter[Group] = Counter()

    def note(self, rm_id: str, command: c.UpdateAllocations) -> None:
        """An RM asks for placeholders or says that it has some; a key never stands for fewer."""
        for ask in command.asks:
            self._add(rm_id, ask, ask.allocation_key, ask.max_allocations)
        for existing in command.allocations:
            self.recovered(rm_id, existing)
        for release in command.ask_releases:
            self._taken_back(rm_id, release)

    def recovered(self, rm_id: str, existing: c.ExistingAllocation) -> None:
        """An RM says that it has one; its identity stands for itself."""
        self._add(rm_id, existing.ask, existing.allocation_id, 1)

    def _add(self, rm_id: str, ask: c.Ask, key: str, total: int) -> None:
        if ask.placeholder:
            keys = self.asked.setdefault((rm_id, ask.application_id, ask.task_group), {})
            keys[key] = max(total, keys.get(key, 0))

    def _taken_back(self, rm_id: str, release: c.AskRelease) -> None:
        """An ask is no more: its key may come again for other members."""
        for (manager, application, _), keys in self.asked.items():
            if (manager, application) == (rm_id, release.application_id):
                members = keys.pop(release.allocation_key, 0)
                if members:
                    keys[f"{release.allocation_key}, taken back {len(keys)}"] = members

    def swapped(self, rm_id: str, ask: c.Ask) -> None:
        """A real ask took the place of a placeholder."""
        self.replaced[rm_id, ask.application_id, ask.task_group] += 1

    def forget(self, rm_id: str, application_id: str = "") -> None:
        """An application, or an RM with all it had, is gone."""
        for group in [*self.asked, *self.replaced]:
            if group[0] == rm_id and application_id in ("", group[1]):
                self.asked.pop(group, None)
                self.replaced.pop(group, None)

    def check_placed(self, rm_id: str, ask: c.Ask, own: Iterable[Held]) -> None:
        """Raise if a group has more placeholders than members; ``own``: what its application has.

        Rules: GANG-35.
        """
        group = (rm_id, ask.application_id, ask.task_group)
        live = sum([held.placeholder and held.group == ask.task_group for held in own])
        most = sum(self.asked.get(group, {}).values())
        self.counts["placeholder counted"] += 1
        assert live <= most, f"{group} has {live} placeholders of {most} members (I33)"

    def check_view(self, rm_id: str, view: ApplicationView) -> None:
        """Raise unless what the core says of the groups adds up and is what was told."""
        for group in view.placeholder_data:
            name = (rm_id, view.application_id, group.task_group)
            told = self.replaced[name]
            assert group.replaced == told, f"{name}: {told} swaps were told, not {group} (I33)"
            live = [each for each in view.allocations if is_expected(each, group.task_group)]
            known = len(live) + group.replaced + group.timed_out
            assert known <= group.count, f"{name}: {len(live)} live ones and {group} (I33)"
            self.counts["task group looked at"] += 1


def is_expected(allocation: AllocationView, group: str) -> bool:
    """Whether it is a placeholder that may be replaced; one that is ordered out counts as lost."""
    ordered = allocation.release_type not in (0, c.PLACEHOLDER_REPLACED)
    return allocation.placeholder and allocation.task_group == group and not ordered
