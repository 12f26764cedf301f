"""The first state of things, after the objects were listed or the scheduler was lost.

The scheduler knows nothing then. It gets all nodes, closed; all applications, oldest pod first; all
that runs; and then the nodes are opened. Its answers to reports of what runs come before any
decision, so no room is given away twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Final

from remuda.si.wire import Response
from remuda_kubernetes.objects.kinds import NODE
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.outcomes import Outcome
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.shim import (
    answers,
    binding,
    configuring,
    deriving,
    nodes,
    placing,
    pods,
)
from remuda_kubernetes.shim.effects import Register
from remuda_kubernetes.shim.records import Recovery, Task
from remuda_kubernetes.shim.state import Phase, State
from remuda_kubernetes.shim.states import TaskState
from remuda_kubernetes.translation import metadata
from remuda_kubernetes.translation.selection import Side, side_of

# Pauses between two tries to register: the first, doubled up to the longest.
_PAUSE_SECONDS: Final = 0.5
_PAUSE_SECONDS_LIMIT: Final = 10.0
# So many pods are told, or answers taken in, in one step: some hundredths of a second.
_STEP: Final = 500
# In a cluster with more nodes, people are not told of each at every start.
_FEW_NODES: Final = 100


def register(state: State) -> None:
    """Ask the scheduler to take the shim in."""
    state.phase = Phase.REGISTERING
    state.registering = state.settings
    state.outbox.put(Register(state.settings.queues, configuring.keys_for(state.settings)))


def not_registered(state: State, reason: str, *, refused: bool) -> None:
    """Take in that the scheduler did not take the shim in, and try again after a while.

    A queue file that was refused is told. The one that counted before is used then; without one
    nothing is scheduled until it is corrected, as nobody knows who may have how much.
    """
    state.phase = Phase.LOST
    if refused:
        configuring.refused_at_start(state, reason)
    pause = min(_PAUSE_SECONDS * 2**state.failed_registrations, _PAUSE_SECONDS_LIMIT)
    state.failed_registrations += 1
    state.after(pause, partial(_register_if_lost, state))


def _register_if_lost(state: State) -> None:
    if state.phase is Phase.LOST:
        register(state)


def registered(state: State) -> None:
    """Tell the scheduler all objects. Its earlier knowledge is void.

    Many pods are told in several steps, so that the lease is renewed and objects are taken in
    between. Answers of the scheduler, results of calls and timers wait until all pods were told.
    """
    decided = _reset(state)
    state.phase = Phase.RUNNING
    state.failed_registrations = 0
    configuring.registered(state)
    listed = [node for node in state.objects.within(NODE, "") if isinstance(node, Node)]
    nodes.add(state, sorted(listed, key=lambda each: each.name))
    state.listed = set(state.placed) if len(state.placed) > _FEW_NODES else set()
    ordered = _oldest_first(state)
    state.begun = _begun(state, ordered)
    state.reserving = deriving.reserving(ordered)
    state.recovery = Recovery(dict.fromkeys([pod.uid for pod in ordered]), decided)
    go_on(state)


def go_on(state: State) -> None:
    """Tell some pods, or take in some answers that waited; what is left follows in later steps."""
    recovery = state.recovery
    if recovery is None or state.phase is not Phase.RUNNING:
        return
    if recovery.all_told:
        some, recovery.answers = recovery.answers[:_STEP], recovery.answers[_STEP:]
        answers.take_in(state, some)
    else:
        _tell_some(state, recovery)
    if recovery.all_told and not recovery.answers:
        state.recovery = None


def _tell_some(state: State, recovery: Recovery) -> None:
    for uid in list(islice(recovery.untold, _STEP)):
        del recovery.untold[uid]
        pod = state.objects.pods.get(uid)
        if pod is not None:
            pods.changed(state, None, pod)
    if recovery.untold:
        return
    recovery.all_told = True
    # An application that begins later with such an ID is not one that runs already.
    state.begun = set()
    state.reserving = {}
    decided, recovery.decided = recovery.decided, []
    for task in decided:
        _keep(state, task)
    outcomes, recovery.outcomes = recovery.outcomes, []
    for number, outcome in outcomes:
        state.ended(number, outcome)
    nodes.open_nodes(state, sorted(state.placed))


def holds_back(state: State, pod: Pod) -> bool:
    """Whether a pod that came or changed is told later, after all that are older."""
    if state.phase is not Phase.RUNNING:
        return True
    recovery = state.recovery
    if recovery is None or not state.telling:
        return False
    if pod.uid in state.tasks or pod.uid in state.foreign:
        return False
    recovery.untold.setdefault(pod.uid)
    return True


def ended(state: State, number: int, outcome: Outcome) -> None:
    """Take in how a call ended, when the pod that it was about is known again."""
    if state.telling and state.recovery is not None:
        state.recovery.outcomes.append((number, outcome))
    else:
        state.ended(number, outcome)


def answered(state: State, responses: Iterable[Response]) -> None:
    """Take in answers of the scheduler, after those that wait."""
    if state.phase is not Phase.RUNNING:
        return
    if state.recovery is not None:
        state.recovery.answers += responses
    else:
        answers.take_in(state, responses)


def lost(state: State) -> None:
    """Take in that the scheduler is gone, or has forgotten the shim."""
    state.phase = Phase.LOST
    recovery, state.recovery = state.recovery, None
    if recovery is not None:
        for task in recovery.decided:
            state.tasks[task.key] = task
        for number, outcome in recovery.outcomes:
            state.ended(number, outcome)


def _reset(state: State) -> list[Task]:
    """Forget what the scheduler knew; return the tasks that have a node only we know of."""
    decided = [
        task
        for task in state.tasks.values()
        if task.state in {TaskState.BINDING, TaskState.BOUND} and not task.pod.assigned
    ]
    state.applications.clear()
    state.tasks.clear()
    state.asked.clear()
    state.foreign.clear()
    state.placed.clear()
    return decided


def _keep(state: State, before: Task) -> None:
    """Report a pod whose binding was asked for as running: it does, or may at any moment."""
    task = state.tasks.get(before.key)
    if task is None or task.state is not TaskState.WAITING:
        binding.forget_volumes(state, before)
        return
    task.state = before.state
    task.node = before.node
    task.volumes = before.volumes
    task.tries = before.tries
    task.allocated_ns = before.allocated_ns
    placing.place(state, task.pod, task.node)
    pods.report_if_possible(state, task)


def _begun(state: State, pods: list[Pod]) -> set[str]:
    """Return the IDs of applications of which a pod has a node."""
    found = set()
    for pod in pods:
        if pod.assigned and side_of(pod, state.settings.scheduler_names) is Side.OURS:
            # A name that cannot be taken is told when the pod itself is taken in.
            with suppress(ObjectError):
                unique = state.settings.unique_application_ids
                workload = metadata.derived_workload(pod, state.settings.workloads)
                found.add(metadata.application_id(pod, unique=unique, workload=workload))
    return found


def _oldest_first(state: State) -> list[Pod]:
    """Return all pods by the time of their creation, then by name.

    Owners of placeholders come first and placeholders last, since the first pod of an application
    speaks for it.
    """
    found = state.objects.pods.values()
    placeholders = {pod.uid for pod in found if metadata.is_placeholder(pod)}
    owners = {
        owner.uid
        for uid in placeholders
        for owner in state.objects.pods[uid].metadata.owner_references or ()
    }
    return sorted(
        found,
        key=lambda pod: (
            pod.uid not in owners,
            pod.uid in placeholders,
            pod.metadata.creation_timestamp or "",
            pod.key,
        ),
    )
