"""Says in a pod's condition why it waits: what the nodes lack, and what the scheduler found.

The cluster autoscaler reads the condition PodScheduled=False with the reason Unschedulable, which
only pods have that more nodes would help. A pod is told at most once in some seconds, and only of
what is new.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.outcomes import Outcome
from remuda_kubernetes.shim.effects import SetCondition
from remuda_kubernetes.shim.findings import for_people, over_quota
from remuda_kubernetes.shim.judging import summary
from remuda_kubernetes.shim.records import Task
from remuda_kubernetes.shim.state import SECOND, State
from remuda_kubernetes.shim.states import TaskState
from remuda_kubernetes.translation import events

# More nodes would help; and: a quota is in the way, or nobody knows yet.
UNSCHEDULABLE: Final = "Unschedulable"
SKIPPED: Final = "SchedulingSkipped"
# The scheduler says within a second whether more nodes would help.
_SETTLED_SECONDS: Final = 2.0
# Between two conditions of one pod.
_PAUSE_SECONDS: Final = 10.0
# How long a look at all nodes is good for other pods of the class.
_SUMMARY_SECONDS: Final = 5.0
# Conditions written in one second, of all pods.
_RATE: Final = 50
_MESSAGE_LIMIT: Final = 1024
# Nodes that are judged for this in one second; in a large cluster a class costs all of them.
_NODES: Final = 20_000


class Waiting:
    """Collects why pods wait, and tells it.

    ``_due``: keys of tasks that are to be told, in order, with the time since when.
    ``_summaries``: what the nodes lack, by predicate class, with the time. ``_judged``: nodes that
    were judged in this second.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._due: dict[str, int] = {}
        self._summaries: dict[str, tuple[int, str]] = {}
        self._ticking = False
        self._judged = 0

    def homeless(self, key: str, text: str) -> None:
        """Take in that the cluster is too small for an ask, which a larger one would not be."""
        task = self._state.tasks.get(key)
        if task is not None:
            task.homeless = True
        self.found(key, text)

    def found(self, key: str, text: str) -> None:
        """Take in what the scheduler says about an ask that waits."""
        task = self._state.tasks.get(key)
        if task is None or task.state is not TaskState.ASKED:
            return
        finding = for_people(text)
        if finding is not None:
            task.finding = finding
        task.over_quota = over_quota(text, before=task.over_quota)
        self._due.setdefault(key, self._state.now_ns)
        self._start()

    def event(self, record: si.EventRecord) -> None:
        """Take in an event of the scheduler."""
        if record.type == si.EventRecord.REQUEST and record.eventChangeType == si.EventRecord.NONE:
            self.found(record.objectID, record.message)

    def _start(self) -> None:
        if not self._ticking:
            self._ticking = True
            self._state.after(1.0, self._tell_some)

    def _tell_some(self) -> None:
        """Tell as many pods as a second allows; go on a second later while some are left."""
        self._ticking = False
        self._judged = 0
        told = 0
        for key in list(self._due):
            if told >= _RATE or self._judged >= _NODES:
                break
            task = self._state.tasks.get(key)
            if task is None or task.state is not TaskState.ASKED:
                del self._due[key]
            elif self._may_be_told(task, self._due[key]):
                del self._due[key]
                told += self._tell(task)
        if self._due:
            self._start()

    def _may_be_told(self, task: Task, due_ns: int) -> bool:
        """Whether a pod was told nothing yet, or long ago, or that more nodes would not help."""
        now = self._state.now_ns
        reason = _reason(task)
        if reason != task.told[0]:
            return reason == UNSCHEDULABLE or now - due_ns >= _SETTLED_SECONDS * SECOND
        return now - task.told_at_ns >= _PAUSE_SECONDS * SECOND

    def _tell(self, task: Task) -> bool:
        """Set the condition of a pod; False if it says that already."""
        message = self.message(task)
        reason = _reason(task)
        if task.told == (reason, message):
            return False
        task.told = (reason, message)
        task.told_at_ns = self._state.now_ns
        self._state.post(events.failed_scheduling(task.pod, message))
        if reason == UNSCHEDULABLE:
            self._state.post(events.unschedulable(task.pod, message))
        self._state.call(
            partial(SetCondition, pod=task.pod, reason=reason, message=message),
            partial(_told, task),
        )
        return True

    def why(self, uid: str) -> str:
        """Return why a pod has no node yet, for people; "" if there is nothing to say."""
        task = self._state.tasks.get(uid)
        if task is None:
            return ""
        if task.state is TaskState.ASKED:
            return self.message(task)
        if task.state is TaskState.WAITING:
            return f"its application is {task.application.state.value.lower()}"
        return ""

    def message(self, task: Task) -> str:
        """Return why a pod waits, for people."""
        nodes = self._nodes(task)
        return (f"{nodes}; {task.finding}" if task.finding else nodes)[:_MESSAGE_LIMIT]

    def _nodes(self, task: Task) -> str:
        """Return what the nodes lack for a pod."""
        now = self._state.now_ns
        known = self._summaries.get(task.predicate_class)
        if known is not None and now - known[0] < _SUMMARY_SECONDS * SECOND:
            return known[1]
        names = sorted(self._state.placed)
        verdicts = self._state.cluster.explain(task.pod, names)
        self._judged += len(names)
        text = summary(verdicts.refusals, len(names))
        old = [
            name
            for name, (at, _) in self._summaries.items()
            if now - at >= _SUMMARY_SECONDS * SECOND
        ]
        for name in old:
            del self._summaries[name]
        self._summaries[task.predicate_class] = (now, text)
        return text


def _reason(task: Task) -> str:
    """Return the reason of a pod's condition.

    The scheduler says of an ask that it fits its quotas and waits for room; not of an ask for one
    node, for which no autoscaler adds another. Implements: EXT-142.
    """
    helped = task.homeless or bool(task.facts.required_node)
    return UNSCHEDULABLE if helped and not task.over_quota else SKIPPED


def _told(task: Task, outcome: Outcome) -> None:
    """Take in whether a condition was written; if not, the next finding is told."""
    if not outcome.done:
        task.told = ("", "")
