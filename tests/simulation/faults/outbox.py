"""Where a shim puts what it has to say, until it sends it as requests."""

from __future__ import annotations

import random
from collections.abc import Iterator

from remuda.core.messages import commands as c
from remuda.core.messages.commands import Command


class Outbox:
    """Lists of elements, in the order they were put; a request takes many or one of each kind."""

    def __init__(self, rm_id: str, dice: random.Random) -> None:
        self.rm_id = rm_id
        self.dice = dice
        self.clear()

    def clear(self) -> None:
        """Forget everything that was not sent."""
        self.new: list[c.NewApplication] = []
        self.remove: list[c.ApplicationRemoval] = []
        self.nodes: list[c.NodeUpdate] = []
        self.allocations: list[c.ExistingAllocation] = []
        self.asks: list[c.Ask] = []
        self.ask_releases: list[c.AskRelease] = []
        self.releases: list[c.AllocationRelease] = []

    def take(self) -> list[Command]:
        """Everything there is, as requests; the elements of a list keep their order."""
        found = [*self._applications(), *self._nodes(), *self._allocations()]
        self.clear()
        return found

    def _applications(self) -> Iterator[Command]:
        """Adds and removals never share a request: adds would come first (SI-30)."""
        if self.new:
            yield c.UpdateApplications(self.rm_id, new=tuple(self.new))
        if self.remove:
            yield c.UpdateApplications(self.rm_id, remove=tuple(self.remove))

    def _nodes(self) -> Iterator[Command]:
        """Creates apart from changes, in the order of both."""
        bunch: list[c.NodeUpdate] = []
        for update in self.nodes:
            if bunch and (_creates(update) != _creates(bunch[-1]) or self.dice.random() < 0.5):
                yield c.UpdateNodes(self.rm_id, tuple(bunch))
                bunch = []
            bunch.append(update)
        if bunch:
            yield c.UpdateNodes(self.rm_id, tuple(bunch))

    def _allocations(self) -> Iterator[Command]:
        lists = (self.allocations, self.asks, self.ask_releases, self.releases)
        if self.dice.random() < 0.5 and any(lists):
            yield c.UpdateAllocations(
                self.rm_id,
                tuple(self.allocations),
                tuple(self.asks),
                tuple(self.ask_releases),
                tuple(self.releases),
            )
            return
        for existing in self.allocations:
            yield c.UpdateAllocations(self.rm_id, allocations=(existing,))
        for ask in self.asks:
            yield c.UpdateAllocations(self.rm_id, asks=(ask,))
        for ask_release in self.ask_releases:
            yield c.UpdateAllocations(self.rm_id, ask_releases=(ask_release,))
        for release in self.releases:
            yield c.UpdateAllocations(self.rm_id, releases=(release,))


def _creates(update: c.NodeUpdate) -> bool:
    return update.action in (c.CREATE, c.CREATE_DRAIN)
