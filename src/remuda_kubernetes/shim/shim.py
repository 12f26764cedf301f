"""The door of the state machine: one input after the other, then the effects are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from remuda.si.pb import si_pb2 as si
from remuda.si.predicates import NodesPredicatesItem, NodesPredicatesItemResult
from remuda.si.wire import Response
from remuda_kubernetes.objects.kinds import CONFIG_MAP, NODE, POD, Kind
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.outcomes import Outcome
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.shim import (
    configuring,
    nodes,
    others,
    placing,
    pods,
    recovery,
    waking,
)
from remuda_kubernetes.shim.dump import dump
from remuda_kubernetes.shim.effects import Effect
from remuda_kubernetes.shim.judging import Judge
from remuda_kubernetes.shim.records import Task
from remuda_kubernetes.shim.state import Adapt, Phase, State
from remuda_kubernetes.shim.states import TaskState
from remuda_kubernetes.shim.waiting import Waiting
from remuda_kubernetes.translation.settings import Settings


class Shim:
    """The state machine. One thread calls it, one call after the other.

    Args:
        settings: what counts before any ConfigMap was read.
        rm_id: the name of this resource manager for the scheduler; "" takes service.clusterId.
        namespace: where the shim itself runs, with its ConfigMaps.
        adapt: returns the settings that count in place of those that were read.

    ``tasks``: the pods of ours by uid, not to be changed. ``why``: returns why one of them has no
    node yet, for people.
    """

    def __init__(
        self, settings: Settings, rm_id: str, namespace: str, *, adapt: Adapt | None = None
    ) -> None:
        self._state = State(settings, rm_id, namespace)
        if adapt is not None:
            self._state.adapt = adapt
            self._state.settings = adapt(settings)
        self._judge = Judge(self._state)
        self._waiting = Waiting(self._state)
        self.tasks: Final[Mapping[str, Task]] = self._state.tasks
        self.why: Final[Callable[[str], str]] = self._waiting.why

    @property
    def phase(self) -> Phase:
        """How far the shim is."""
        return self._state.phase

    def take(self) -> list[Effect]:
        """Return what is to be done now, in order, once."""
        waking.wake(self._state)
        return self._state.outbox.take()

    # ------------------------------------------------------------------ the cluster

    def changed(
        self, kind: Kind, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> None:
        """Take in a change of an object: it came (old is None), changed, or went (new is None)."""
        state = self._state
        if (
            kind is POD
            and old is not None
            and new is not None
            and new.uid not in state.objects.pods
        ):
            # It came late: the pod had gone before.
            return
        if new is not None:
            state.objects.put(kind, new)
        elif old is not None:
            state.objects.drop(kind, old)
        if kind is POD:
            assert new is None or isinstance(new, Pod)
            assert old is None or isinstance(old, Pod)
            self._pod(old, new)
        elif kind is NODE:
            assert new is None or isinstance(new, Node)
            assert old is None or isinstance(old, Node)
            nodes.changed(state, old, new)
        elif kind is CONFIG_MAP:
            configuring.changed(state, new or old)
        else:
            others.changed(state, kind, old, new)

    def _pod(self, old: Pod | None, new: Pod | None) -> None:
        state = self._state
        if new is None or new.ended or not recovery.holds_back(state, new):
            pods.changed(state, old, new)
        elif new.assigned:
            placing.place(state, new, new.spec.node_name)

    def synced(self) -> tuple[str, Settings]:
        """Begin: all objects are known, and no other replica leads.

        Until then the shim only keeps up with the objects, and its only effects are events.
        Returns the name of this resource manager, and the settings that count.
        """
        if self._state.phase is Phase.SYNCING:
            configuring.read(self._state)
            recovery.register(self._state)
        return self._state.rm_id, self._state.settings

    # ------------------------------------------------------------------ the scheduler

    def registered(self, fault: str = "", *, refused: bool = False) -> None:
        """Take in that the scheduler took the shim in and waits to be told what there is.

        ``fault``: why it did not, so that it is tried again. ``refused``: it judged the
        configuration, and the fault is there.
        """
        if self._state.phase is not Phase.REGISTERING:
            return
        if fault:
            recovery.not_registered(self._state, fault, refused=refused)
        else:
            recovery.registered(self._state)

    def register_again(self) -> None:
        """The scheduler was lost and may be there again."""
        recovery.register(self._state)

    def lost(self) -> None:
        """The scheduler is gone, or has forgotten the shim."""
        recovery.lost(self._state)

    def answered(self, responses: Iterable[Response]) -> None:
        """Take in responses of the scheduler, in their order."""
        recovery.answered(self._state, responses)

    def reconfigured(self, about: object, fault: str) -> None:
        """Take in whether the scheduler took a configuration; ``fault``: why not, "" if it did."""
        configuring.answered(self._state, about, fault)

    def events(self, records: Sequence[si.EventRecord]) -> None:
        """Take in events of the scheduler."""
        for record in records:
            self._waiting.event(record)

    def waits(self, update: si.UpdateContainerSchedulingStateRequest) -> None:
        """Take in that an ask waits because the cluster is too small."""
        self._waiting.homeless(update.allocationKey, update.reason)

    def judge(self, items: Sequence[NodesPredicatesItem]) -> list[NodesPredicatesItemResult]:
        """Judge nodes for asks. Changes nothing."""
        return self._judge.nodes(items)

    def victims(self, args: si.PreemptionPredicatesArgs) -> si.PreemptionPredicatesResponse:
        """Judge victims. Changes nothing but for how long budgets are insisted on."""
        return self._judge.victims(args)

    # ------------------------------------------------------------------ calls and time

    def ended(self, number: int, outcome: Outcome) -> None:
        """Take in how a call ended."""
        recovery.ended(self._state, number, outcome)

    def tick(self, now_ns: int) -> None:
        """Let time pass. ``now_ns`` is monotonic."""
        self._state.tick(now_ns)
        recovery.go_on(self._state)

    def due_ns(self) -> int | None:
        """Return when the next tick is needed, None if there is nothing to wait for."""
        return self._state.due_ns()

    def take_latencies(self) -> list[tuple[str, float]]:
        """Return what took how many seconds since the last call: decide, bind, seen."""
        state = self._state
        taken, state.latencies = state.latencies, []
        return taken

    def task_counts(self) -> dict[str, int]:
        """Return how many pods are in which state."""
        counts = dict.fromkeys([each.value for each in TaskState], 0)
        for task in self._state.tasks.values():
            counts[task.state.value] += 1
        return counts

    def dump(self) -> dict[str, Any]:
        """Return what the shim knows, for people who look for a fault."""
        return dump(self._state)
