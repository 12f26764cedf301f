"""What a change of a pod means: a new task, a task that goes on, room of others that is used."""

from __future__ import annotations

from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.shim import applications, asking, binding, evicting, gangs, placing
from remuda_kubernetes.shim.ending import forget_if_empty
from remuda_kubernetes.shim.records import Task
from remuda_kubernetes.shim.state import State
from remuda_kubernetes.shim.states import TaskEvent, TaskState
from remuda_kubernetes.translation import (
    events,
    metadata,
    object_events,
    requests,
    resources,
)
from remuda_kubernetes.translation.selection import Side, side_of


def changed(state: State, old: Pod | None, new: Pod | None) -> None:
    """Take in a pod that came, changed, or went."""
    pod = new or old
    assert pod is not None
    if new is None or new.ended:
        _ended(state, pod)
        return
    side = side_of(new, state.settings.scheduler_names)
    if side is Side.OURS or new.uid in state.tasks:
        _ours(state, new)
    elif side is Side.FOREIGN:
        _foreign(state, old, new)


def _ended(state: State, pod: Pod) -> None:
    """Take in that a pod has ended or is gone: its room is free."""
    placing.remove(state, pod.uid)
    if pod.uid in state.foreign:
        state.foreign.remove(pod.uid)
        state.outbox.release(requests.release("", pod.uid))
    task = state.tasks.pop(pod.uid, None)
    if task is None:
        return
    task.pod = pod
    application = task.application
    if task.state is TaskState.LEAVING:
        evicting.confirm(state, task)
    else:
        asking.withdraw(state, task, f"the pod has ended: {pod.status.phase or 'deleted'}")
    binding.forget_volumes(state, task)
    task.move(TaskEvent.END)
    del application.tasks[task.key]
    gangs.task_gone(state, task)
    if task.key == application.originator.uid:
        applications.without_originator(state, application)
    forget_if_empty(state, application)


def _ours(state: State, pod: Pod) -> None:
    task = state.tasks.get(pod.uid)
    if task is None:
        task = _new_task(state, pod)
        if task is None:
            if pod.assigned:
                # The scheduler cannot be told of it, but the filters count its room.
                placing.place(state, pod, pod.spec.node_name)
            return
    elif not _readable(state, task, pod):
        return
    before, task.pod = task.pod, pod
    if pod.assigned:
        _assigned(state, task, before)
    elif task.state in {TaskState.BINDING, TaskState.BOUND}:
        # It is counted on its node already, which the watch has not told yet; its labels may have
        # changed, or its amounts.
        placing.place(state, pod, task.node)
        _report_if_resized(state, task, before)
    elif pod.deleted:
        asking.withdraw(state, task, "the pod is being deleted")
        task.move(TaskEvent.RETURN)
    elif _wants_otherwise(state, task, before):
        asking.renew(state, task)
    elif task.state is TaskState.WAITING and before is pod:
        asking.ask(state, task)


def _readable(state: State, task: Task, pod: Pod) -> bool:
    """Whether a new state of a known pod can be read; if not, that is told, and the old stays."""
    if pod.spec == task.pod.spec:
        return True
    try:
        resources.pod_resource(pod)
    except ObjectError as error:
        state.post(object_events.object_faults("Pod", pod, str(error)))
        return False
    return True


def _assigned(state: State, task: Task, before: Pod) -> None:
    """Take in a pod that has a node, by us or by somebody else."""
    pod = task.pod
    node = pod.spec.node_name
    placing.place(state, pod, node)
    if task.state is TaskState.LEAVING:
        return
    if task.node == node:
        if task.state is not TaskState.BOUND:
            binding.confirmed(state, task)
        _report_if_resized(state, task, before)
        return
    asking.withdraw(state, task, f"the pod runs on {node}")
    binding.forget_volumes(state, task)
    task.allocation_id = ""
    if task.state is TaskState.BOUND or task.move(TaskEvent.BIND):
        task.node = node
        report_if_possible(state, task)
        gangs.task_bound(state, task)


def _report_if_resized(state: State, task: Task, before: Pod) -> None:
    """Report a pod that has a node and takes another amount than before."""
    if before is not task.pod and not resources.same_amounts(before, task.pod):
        report_if_possible(state, task)


def report_if_possible(state: State, task: Task) -> None:
    """Report an allocation, once its application and its node are known to the scheduler."""
    if task.node in state.placed and applications.is_known(task.application):
        asking.report(state, task)


def _wants_otherwise(state: State, task: Task, before: Pod) -> bool:
    """Whether the ask of a waiting pod is not the one the scheduler has."""
    if task.state is not TaskState.ASKED or before is task.pod:
        return False
    return (
        not resources.same_amounts(before, task.pod)
        or before.spec.priority != task.pod.spec.priority
        or state.cluster.class_of(task.pod) != task.predicate_class
    )


def _new_task(state: State, pod: Pod) -> Task | None:
    """Return the task of a pod that was not known, in its application."""
    try:
        facts = metadata.task_of(
            pod,
            state.priority_classes,
            unique_ids=state.settings.unique_application_ids,
            gangs=not state.settings.gangs_disabled,
            workloads=state.settings.workloads,
        )
        resources.pod_resource(pod)
        application = applications.of(state, pod, facts.application_id)
    except ObjectError as error:
        state.post(events.pod_refused(pod, str(error)))
        return None
    for event in events.metadata_faults(pod, facts.findings):
        state.post(event)
    task = Task(pod, facts, application, seen_ns=state.now_ns)
    state.tasks[pod.uid] = task
    application.tasks[pod.uid] = task
    application.creating.discard(pod.name)
    applications.joined(state, application, pod)
    gangs.joined(state, task)
    return task


def _foreign(state: State, old: Pod | None, pod: Pod) -> None:
    """Take in a pod of another scheduler, which takes room on its node."""
    node = pod.spec.node_name
    placing.place(state, pod, node)
    if node not in state.placed:
        return
    known = pod.uid in state.foreign
    if known and old is not None and resources.same_amounts(old, pod):
        return
    try:
        taken = resources.pod_resource(pod)
    except ObjectError as error:
        # The filters count its room all the same.
        state.post(events.room_not_told(pod, str(error)))
        return
    state.foreign.add(pod.uid)
    state.outbox.allocation(requests.foreign_allocation(pod, taken))


def on_node(state: State, node: Node) -> None:
    """Report the pods that run on a node the scheduler has just got. Some came before it."""
    for pod in placing.on_node(state, node.name):
        task = state.tasks.get(pod.uid)
        if task is not None:
            if task.state in {TaskState.BOUND, TaskState.BINDING}:
                report_if_possible(state, task)
        elif side_of(pod, state.settings.scheduler_names) is Side.FOREIGN:
            _foreign(state, None, pod)
