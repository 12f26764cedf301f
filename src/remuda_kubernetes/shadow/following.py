"""The running shadow: the shim's state machine, told late where pods are, doing nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import replace
from typing import Final

from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.kinds import POD
from remuda_kubernetes.objects.metadata import ObjectReference
from remuda_kubernetes.objects.outcomes import Outcome
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.service import Service
from remuda_kubernetes.shadow.calls import HOLD_SECONDS, Imagined
from remuda_kubernetes.shadow.ledger import Example, Ledger
from remuda_kubernetes.shadow.truth import Truth, queue_of
from remuda_kubernetes.shim.findings import for_people
from remuda_kubernetes.shim.shim import Shim
from remuda_kubernetes.shim.states import TaskState
from remuda_kubernetes.translation import events
from remuda_kubernetes.translation.settings import Settings


def adapted(
    settings: Settings, scheduler_names: tuple[str, ...], queues: str | None, *, gangs: bool
) -> Settings:
    """Return the settings of a shadow: other pods, and other queues unless ``queues`` is None.

    ``gangs``: whether the scheduler in charge makes placeholders, which are those of the shadow,
    too. If not, each member of a gang is an ask of its own: placeholders that only the shadow knows
    would take room that is free in the cluster. Implements: EXT-173.
    """
    return replace(
        settings,
        scheduler_names=scheduler_names,
        queues=settings.queues if queues is None else queues,
        gangs_disabled=settings.gangs_disabled or not gangs,
    )


class Following(Service):
    """Follows a cluster.

    Args:
        shim: the state machine, with settings that ``adapted`` has made.
        scheduler_names: those of the scheduler in charge.
        read: reads an object at a path of the API server.
        grace_seconds: how long the shadow may decide after the scheduler in charge has.
        hold_seconds: how long a decision keeps its room while the pod has no node.
    """

    def __init__(
        self,
        shim: Shim,
        scheduler_names: Container[str],
        read: Callable[[str], Awaitable[Outcome]],
        *,
        grace_seconds: float,
        hold_seconds: float = HOLD_SECONDS,
    ) -> None:
        self._imagined: Final = Imagined(self._fails, read, hold_seconds=hold_seconds)
        super().__init__(shim, self._imagined, self)
        self.ledger: Final = Ledger()
        self.truth: Final = Truth(shim, self.ledger, scheduler_names, int(grace_seconds * 10**9))
        # Decisions of the step that runs: uid and node.
        self._decisions: list[tuple[str, str]] = []
        self._grace: asyncio.TimerHandle | None = None

    # ------------------------------------------------------------------ the cluster

    def deliver(self, changes: Sequence[Change]) -> None:
        """Take in changes of objects."""
        self._pass_on(self.truth.take_in(changes, time.monotonic_ns()))

    def _pass_on(self, changes: list[Change]) -> None:
        """Tell the state machine, and answer the calls about pods that have their node now."""
        if changes:
            super().deliver(changes)
        for change in changes:
            if change.kind is POD:
                self._settle(change.new, change.old)
        self._await_grace()

    def _settle(self, new: object, old: object) -> None:
        if isinstance(new, Pod):
            if new.assigned:
                self._imagined.settle(new.uid)
        elif isinstance(old, Pod):
            self._imagined.settle(old.uid)

    def _await_grace(self) -> None:
        due = self.truth.due_ns()
        if due is None or self._grace is not None:
            return
        seconds = max(0.0, (due - time.monotonic_ns()) / 1e9)
        self._grace = self._loop.call_later(seconds, self._grace_over)

    def _grace_over(self) -> None:
        self._grace = None
        self._pass_on(self.truth.over(time.monotonic_ns()))

    # ------------------------------------------------------------------ the scheduler

    def events(self, records: Sequence[si.EventRecord]) -> None:
        """Take in events, which also tell why pods that were compared just now would wait."""
        super().events(records)
        for record in records:
            if record.type == si.EventRecord.REQUEST:
                self.ledger.found(record.objectID, for_people(record.message) or "")

    def post(
        self,
        regarding: ObjectReference,
        reason: str,
        note: str,
        *,
        type: str = "Normal",  # noqa: A002 - the word of the API
        action: str = "Scheduling",
    ) -> None:
        """Take in what people would be told: it says what was decided."""
        uid = regarding.uid
        if reason == events.SCHEDULED:
            task = self.shim.tasks.get(uid)
            if task is not None and task.node:
                self._decided(uid, task.node)
        elif reason == events.PREEMPTED:
            self._evicted(uid, note)
        elif reason in {events.FAILED, events.TASK_FAILED} and self._turned_away(uid, reason):
            self._fails(uid, note)

    def _turned_away(self, uid: str, reason: str) -> bool:
        """Whether the scheduler has refused a pod's ask, or the pod is none for it."""
        task = self.shim.tasks.get(uid)
        if task is None:
            return reason == events.FAILED
        return reason == events.TASK_FAILED and task.state is TaskState.WAITING

    def _fails(self, uid: str, why: str) -> None:
        self.ledger.refused(uid, why, time.monotonic_ns())

    def _decided(self, uid: str, node: str) -> None:
        """Note a decision; its pod may be told of after the step that runs."""
        self._decisions.append((uid, node))
        if len(self._decisions) == 1:
            self._loop.call_soon(self._tell_decided)

    def _tell_decided(self) -> None:
        decisions, self._decisions = self._decisions, []
        now_ns = time.monotonic_ns()
        found = [change for each in decisions for change in self.truth.decided(*each, now_ns)]
        if found:
            self._pass_on(found)

    def _evicted(self, uid: str, note: str) -> None:
        task = self.shim.tasks.get(uid)
        if task is not None:
            pod = task.pod
            at_ns = time.monotonic_ns()
            self.ledger.evicted(uid, Example(pod.key, queue_of(pod), task.node, "", note, 0, at_ns))

    async def halt(self) -> None:
        """Begin nothing any more."""
        if self._grace is not None:
            self._grace.cancel()
        await super().halt()
