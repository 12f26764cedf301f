"""Asks: which pods want a node now, and what the scheduler is told of them."""

from __future__ import annotations

from remuda_kubernetes.shim.records import Application, Task
from remuda_kubernetes.shim.state import Phase, State
from remuda_kubernetes.shim.states import ApplicationEvent, ApplicationState, TaskEvent, TaskState
from remuda_kubernetes.translation import events, requests, resources


def ask_ready(state: State, application: Application) -> None:
    """Ask for all tasks of an application that wait and may go on."""
    for task in application.tasks.values():
        if task.state is TaskState.WAITING:
            ask(state, task)


def begin(state: State, application: Application) -> None:
    """Let the members of an application ask: its gang has its room, or it does without."""
    application.reserved = True
    if application.move(ApplicationEvent.RUN):
        ask_ready(state, application)


def ask(state: State, task: Task) -> None:
    """Ask for a task, if its application is ready for it and the pod still wants a node.

    While a gang reserves its room only placeholders ask.
    """
    if state.phase is not Phase.RUNNING or task.pod.deleted:
        return
    stage = task.application.state
    ready = stage is ApplicationState.RUNNING or (
        stage is ApplicationState.RESERVING and task.placeholder
    )
    if not ready or not task.move(TaskEvent.ASK):
        return
    _tell(state, task)
    task.predicate_class = state.cluster.class_of(task.pod)
    task.asked_ns = state.now_ns
    state.asked.setdefault(task.predicate_class, {})[task.key] = task
    _send(state, task)


def _tell(state: State, task: Task) -> None:
    """Tell that a pod waits for the scheduler now, once: one with conditions was told before."""
    if not task.asked_ns and not task.pod.status.conditions:
        facts = task.application.facts
        state.post(events.scheduling(task.pod, task.application.identity, facts.queue))


def _send(state: State, task: Task) -> None:
    task.application.asked = True
    state.outbox.allocation(
        requests.ask(
            task.facts,
            resources.pod_resource(task.pod),
            task.pod,
            originator=_is_originator(task),
            predicate_class=task.predicate_class,
        )
    )


def ask_again(state: State, uid: str) -> None:
    """Ask for a task that came back, if it still waits."""
    task = state.tasks.get(uid)
    if task is not None and task.state is TaskState.WAITING:
        ask(state, task)


def report(state: State, task: Task) -> None:
    """Report a task that has a node as an allocation."""
    task.application.asked = True
    state.outbox.allocation(
        requests.allocation(
            task.facts,
            resources.pod_resource(task.pod),
            task.pod,
            task.node,
            originator=_is_originator(task),
        )
    )


def renew(state: State, task: Task) -> None:
    """Send an ask once more because the pod wants something else, or is judged otherwise."""
    if task.state is TaskState.ASKED:
        unlist(state, task)
        task.move(TaskEvent.RETURN)
        ask(state, task)


def unlist(state: State, task: Task) -> None:
    """Forget that a task waits for a node."""
    of_class = state.asked.get(task.predicate_class)
    if of_class is not None:
        of_class.pop(task.key, None)
        if not of_class:
            del state.asked[task.predicate_class]


def ask_class(state: State, name: str) -> None:
    """Have the scheduler ask again about all nodes for a predicate class.

    One ask of the class, sent once more as it is, says so.
    """
    for task in state.asked.get(name, {}).values():
        _send(state, task)
        return


def withdraw(state: State, task: Task, why: str) -> None:
    """Take back the ask of a task, or its allocation."""
    unlist(state, task)
    if task.state in {TaskState.ASKED, TaskState.BINDING, TaskState.BOUND}:
        state.outbox.release(requests.release(task.application.identity, task.key, message=why))


def _is_originator(task: Task) -> bool:
    """Whether a task is the pod that brought the gang of its application."""
    application = task.application
    return bool(application.facts.groups) and application.originator.uid == task.key
