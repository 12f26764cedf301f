"""From the scheduler's decision to a pod with a node: assume, bind volumes, bind the pod.

The pod is counted on its node at once, so the next question about nodes knows of it. If anything
fails the room is given back and the pod asks again.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.kinds import CLAIM, PERSISTENT_VOLUME
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.storage import PersistentVolume, PersistentVolumeClaim
from remuda_kubernetes.predicates.refusals import Refusal
from remuda_kubernetes.shim import asking, gangs, placing
from remuda_kubernetes.shim.effects import BindPod, BindVolume, SelectNode
from remuda_kubernetes.shim.records import Task
from remuda_kubernetes.shim.state import State
from remuda_kubernetes.shim.states import TaskEvent, TaskState
from remuda_kubernetes.translation import events, resources
from remuda_kubernetes.translation.requests import release

# Pauses before a pod asks again after a failed binding: the first, doubled up to the longest.
_PAUSE_SECONDS: Final = 1.0
_PAUSE_SECONDS_LIMIT: Final = 60.0
# Calls of which nobody knows whether they were carried out.
_UNCERTAIN: Final = frozenset({Result.FAILED, Result.FENCED})
# How often it is looked whether volumes are bound.
_LOOK_SECONDS: Final = 1.0


def allocated(state: State, allocation: si.Allocation) -> None:
    """Take in a new allocation of the scheduler."""
    task = state.tasks.get(allocation.allocationKey)
    if task is None or task.state is TaskState.ENDED:
        state.outbox.release(
            release(allocation.applicationID, allocation.allocationKey, message="the pod is gone")
        )
        return
    if not task.move(TaskEvent.ALLOCATE):
        # A pod that somebody else gave a node was withdrawn then. A release now would end what
        # was reported of it since, which has the same key.
        if task.node != allocation.nodeID and task.state is not TaskState.BOUND:
            text = f"the pod is {task.state.value.lower()} already"
            state.outbox.release(
                release(allocation.applicationID, allocation.allocationKey, message=text)
            )
        return
    asking.unlist(state, task)
    task.allocated_ns = state.now_ns
    # What was found about this ask says nothing about the next one.
    task.finding, task.homeless, task.over_quota = "", False, False
    state.took("decide", task.asked_ns)
    task.node = allocation.nodeID
    task.allocation_id = allocation.allocationID
    refusal = _refusal(state, task)
    if refusal:
        _give_back(state, task, refusal, pause=0.0)
        return
    placing.place(state, task.pod, task.node)
    if _was_resized(task, allocation):
        asking.report(state, task)
    state.post(events.scheduled(task.pod, task.node))
    _bind_volumes(state, task)


def _was_resized(task: Task, allocation: si.Allocation) -> bool:
    """Whether a pod takes another amount than the scheduler decided about: it just changed."""
    given, taken = allocation.resourcePerAlloc, resources.pod_resource(task.pod)
    return given != taken and _amounts(given) != _amounts(taken)


def _amounts(resource: si.Resource) -> dict[str, int]:
    return {name: each.value for name, each in resource.resources.items() if each.value}


def _refusal(state: State, task: Task) -> str:
    """Return why the node does not do after all, "" if it does.

    Several pods that exclude each other may have been judged before the first of them was placed.
    """
    verdicts = state.cluster.judge(task.pod, (task.node,), allocate=True, want=1)
    return verdicts.refusals[0][1].text if verdicts.refusals else ""


def _bind_volumes(state: State, task: Task) -> None:
    """Have the claims of a pod bound first, if it has any that are not."""
    if not task.pod.spec.volumes:
        _bind(state, task)
        return
    decision = state.cluster.volumes_for(task.pod, task.node)
    if isinstance(decision, Refusal):
        _give_back(state, task, decision.text, pause=_PAUSE_SECONDS)
        return
    if not decision.bindings and not decision.provisions:
        _bind(state, task)
        return
    state.cluster.promise(decision)
    task.volumes = decision
    told = partial(_volume_told, state, task.key, task.node)
    for name, key in decision.bindings:
        volume, claim = state.objects.get(PERSISTENT_VOLUME, "", name), _claim(state, key)
        if isinstance(volume, PersistentVolume) and claim is not None:
            state.call(partial(BindVolume, volume=volume, claim=claim), told)
    for key in decision.provisions:
        claim = _claim(state, key)
        if claim is not None:
            state.call(partial(SelectNode, claim=claim, node=task.node), told)
    deadline = state.now_ns + state.settings.volume_bind_timeout_ns
    _await_volumes(state, task.key, task.node, deadline)


def _claim(state: State, key: str) -> PersistentVolumeClaim | None:
    namespace, _, name = key.partition("/")
    found = state.objects.get(CLAIM, namespace, name)
    return found if isinstance(found, PersistentVolumeClaim) else None


def _current(state: State, uid: str, node: str) -> Task | None:
    """Return the task if it is still being bound to that node."""
    task = state.tasks.get(uid)
    if task is None or task.state is not TaskState.BINDING or task.node != node:
        return None
    return task


def _volume_told(state: State, uid: str, node: str, outcome: Outcome) -> None:
    task = _current(state, uid, node)
    if task is not None and not outcome.done:
        _give_back(state, task, f"a volume: {outcome.message}", pause=_PAUSE_SECONDS)


def _await_volumes(state: State, uid: str, node: str, deadline_ns: int) -> None:
    """Bind the pod when its claims are bound; give up when they cannot be, or take too long."""
    task = _current(state, uid, node)
    if task is None or task.volumes is None:
        return
    progress = state.cluster.volume_progress(task.volumes)
    if node not in state.placed:
        _give_back(state, task, f"node {node} is gone", pause=0.0)
    elif progress.problem:
        _give_back(state, task, progress.problem, pause=_PAUSE_SECONDS)
    elif progress.done:
        _bind(state, task)
    elif state.now_ns >= deadline_ns:
        claims = {claim for _, claim in task.volumes.bindings} | set(task.volumes.provisions)
        text = f"{', '.join(sorted(claims))} not bound in time; does their provisioner run?"
        _give_back(state, task, text, pause=_PAUSE_SECONDS)
    else:
        state.after(_LOOK_SECONDS, partial(_await_volumes, state, uid, node, deadline_ns))


def _bind(state: State, task: Task) -> None:
    state.took("seen", task.seen_ns)
    state.call(
        partial(BindPod, pod=task.pod, node=task.node),
        partial(_bound, state, task.key, task.node),
    )


def _bound(state: State, uid: str, node: str, outcome: Outcome) -> None:
    """Take in what became of a binding. The watch may have told before."""
    task = _current(state, uid, node)
    if task is None:
        return
    if outcome.done:
        confirmed(state, task)
        return
    pause = min(_PAUSE_SECONDS * 2**task.tries, _PAUSE_SECONDS_LIMIT)
    task.tries += 1
    if outcome.result is Result.GONE:
        # Its deletion will be told by the watch; until then it wants nothing.
        _give_back(state, task, outcome.message, pause=_PAUSE_SECONDS_LIMIT)
    elif outcome.result in _UNCERTAIN:
        # It may be bound all the same: its room must not be given to another pod.
        state.post(events.binding_unanswered(task.pod, node, outcome.message))
        state.after(pause, partial(_bind_again, state, uid, node))
    else:
        _give_back(state, task, outcome.message, pause=pause)


def _bind_again(state: State, uid: str, node: str) -> None:
    """Bind a pod to the node it may have already, which is no error; unless the node is gone."""
    task = _current(state, uid, node)
    if task is None:
        return
    if node in state.placed:
        _bind(state, task)
    else:
        _give_back(state, task, f"node {node} is gone", pause=0.0)


def confirmed(state: State, task: Task) -> None:
    """Take in that the API server knows the node of a pod: it answered, or the watch told first."""
    if task.move(TaskEvent.BIND):
        task.tries = 0
        task.volumes = None
        state.took("bind", task.allocated_ns)
        state.post(events.bound(task.pod, task.node))
        gangs.task_bound(state, task)


def forget_volumes(state: State, task: Task) -> None:
    """Let other pods have the volumes that were to be bound for a task."""
    if task.volumes is not None:
        state.cluster.take_back(task.volumes)
        task.volumes = None


def _give_back(state: State, task: Task, why: str, *, pause: float) -> None:
    """Give the room of a task back to the scheduler and ask again, after a pause."""
    placing.remove(state, task.key)
    forget_volumes(state, task)
    state.outbox.release(release(task.application.identity, task.key, message=why))
    task.move(TaskEvent.RETURN)
    node, task.node, task.allocation_id = task.node, "", ""
    if pause:
        state.post(events.binding_failed(task.pod, node, why))
        state.after(pause, partial(asking.ask_again, state, task.key))
    else:
        asking.ask(state, task)
