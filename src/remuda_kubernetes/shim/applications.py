"""Applications: from their first pod to their end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec import structs

from remuda_kubernetes.objects.cluster import Namespace
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.shim import asking, deriving, gangs
from remuda_kubernetes.shim.effects import FailPod, ToScheduler
from remuda_kubernetes.shim.ending import forget_if_empty
from remuda_kubernetes.shim.records import Application, Task
from remuda_kubernetes.shim.state import Phase, State
from remuda_kubernetes.shim.states import (
    OVER,
    ApplicationEvent,
    ApplicationState,
    TaskEvent,
    TaskState,
)
from remuda_kubernetes.translation import events, names, object_events, requests
from remuda_kubernetes.translation.applications import application_of, disagreements
from remuda_kubernetes.translation.events import Event
from remuda_kubernetes.translation.namespaces import namespace_limits

# How long the namespace of a pod may be unknown before its application is submitted without it.
_NAMESPACE_SECONDS: Final = 2.0
# Before a pod that could not be marked as failed is marked again.
_PAUSE_SECONDS: Final = 30.0

_KNOWN = frozenset(
    {
        ApplicationState.SUBMITTED,
        ApplicationState.RESERVING,
        ApplicationState.RUNNING,
        ApplicationState.FAILING,
    }
)
_MOVABLE = frozenset({TaskState.WAITING, TaskState.ASKED, TaskState.BOUND})


def is_known(application: Application) -> bool:
    """Whether the scheduler was told of an application and has not ended it."""
    return application.state in _KNOWN


def of(state: State, pod: Pod, identity: str) -> Application:
    """Return the application of a pod, a new one if there is none that takes it.

    Raises: ObjectError.
    """
    known = state.applications.get(identity)
    if known is not None and known.state not in OVER:
        return known
    facts = application_of(
        pod,
        identity,
        gangs=not state.settings.gangs_disabled,
        workloads=state.settings.workloads,
    )
    facts = deriving.recovered(state, facts)
    for event in events.metadata_faults(pod, facts.findings):
        state.post(event)
    if identity in state.begun:
        facts = structs.replace(facts, tags={**facts.tags, names.TAG_FORCE: "true"})
    application = Application(facts, pod)
    state.applications[identity] = application
    return application


def joined(state: State, application: Application, pod: Pod) -> None:
    """Take in what a pod says of its application, and submit that if it is new."""
    if pod is not application.originator:
        for event in events.metadata_faults(pod, disagreements(application.facts, pod)):
            state.post(event)
    if application.state is ApplicationState.NEW:
        submit(state, application)


def submit(state: State, application: Application, *, late: bool = False) -> None:
    """Tell the scheduler of an application, when it is there to be told.

    A namespace and its first pod may be made together, and the pod be seen first. Its quota has to
    be known, so an unknown namespace is waited for a moment; ``late`` says that it was.
    """
    if state.phase is not Phase.RUNNING or application.state is not ApplicationState.NEW:
        return
    if state.applications.get(application.identity) is not application:
        # Its pods went while the namespace was waited for.
        return
    if not deriving.known(state, application, partial(submit, state, application)):
        return
    namespace = state.objects.namespace(application.facts.namespace)
    if isinstance(namespace, Namespace):
        limits = namespace_limits(namespace)
        for event in object_events.namespace_faults(namespace, limits.findings):
            state.post(event)
        application.facts = application.facts.within(limits)
    elif not late:
        if not application.waits:
            application.waits = True
            state.after(_NAMESPACE_SECONDS, partial(submit, state, application, late=True))
        return
    application.move(ApplicationEvent.SUBMIT)
    new = requests.new_application(application.facts)
    state.outbox.put(ToScheduler(requests.application_request(state.rm_id, new=[new])))
    for task in application.tasks.values():
        # Somebody gave it a node while the namespace was waited for.
        if task.state is TaskState.BOUND and task.node in state.placed:
            asking.report(state, task)


def accepted(state: State, identity: str) -> None:
    """Take in that the scheduler accepted an application."""
    application = state.applications.get(identity)
    if application is None or application.state is not ApplicationState.SUBMITTED:
        return
    if gangs.must_reserve(application):
        application.move(ApplicationEvent.RESERVE)
        gangs.reserve(state, application)
        asking.ask_ready(state, application)
    else:
        gangs.go_on(state, application)


def rejected(state: State, identity: str, reason: str) -> None:
    """Take in that the scheduler refused an application: its pods fail."""
    application = state.applications.get(identity)
    if application is None or not application.move(ApplicationEvent.REJECT):
        return
    facts = application.facts
    event = partial(
        events.application_rejected,
        application_id=identity,
        reason=reason,
        queue=facts.queue,
    )
    _fail_pods(state, application, event)


def updated(state: State, identity: str, entered: str, message: str) -> None:
    """Take in that an application entered a state of the scheduler."""
    application = state.applications.get(identity)
    if application is None:
        return
    if entered == "Resuming":
        gangs.give_up(state, application)
        gangs.mark_over(state, application)
        asking.begin(state, application)
    elif entered == "Failing":
        if application.move(ApplicationEvent.FAIL):
            _fail_pods(state, application, partial(events.task_failed, cause=message))
    elif entered in {"Failed", "Expired", "Killed"}:
        if application.move(ApplicationEvent.END_FAILED):
            _fail_pods(state, application, partial(events.task_failed, cause=message))
    elif entered == "Completed" and application.move(ApplicationEvent.COMPLETE):
        gangs.give_up(state, application)
        _move_on(state, application)
    if application.state in OVER:
        forget_if_empty(state, application)


def without_originator(state: State, application: Application) -> None:
    """Begin anew with the pods that are left when the originator went before its gang began.

    Nobody makes placeholders for them any more, so they would wait for ever. Another one of them
    speaks for the application now, and may bring the same gang.
    """
    members = [task for task in application.tasks.values() if not task.placeholder]
    before = application.state
    if not members or not application.facts.groups or not application.move(ApplicationEvent.LEAVE):
        return
    if before is not ApplicationState.NEW:
        gone = requests.removed_application(application.identity)
        state.outbox.put(ToScheduler(requests.application_request(state.rm_id, remove=[gone])))
    _move_on(state, application)


def _move_on(state: State, application: Application) -> None:
    """Give the pods that are left a new application: theirs has ended, or never began.

    Those that wait came when it was ending; those with a node got that from somebody else.
    """
    moved = []
    for task in list(application.tasks.values()):
        if task.placeholder or task.state not in _MOVABLE:
            continue
        if task.pod.deleted:
            # It wants nothing any more.
            continue
        asking.unlist(state, task)
        task.move(TaskEvent.RETURN)
        try:
            new = of(state, task.pod, application.identity)
        except ObjectError as error:
            state.post(events.pod_refused(task.pod, str(error)))
            continue
        del application.tasks[task.key]
        task.application = new
        new.tasks[task.key] = task
        moved.append(task)
    # What has a node is reported with the application, so that has to have all its pods before.
    for task in moved:
        joined(state, task.application, task.pod)


def _fail_pods(state: State, application: Application, tell: Callable[[Pod], Event]) -> None:
    """Mark the pods that were never started as failed, and remove the placeholders."""
    gangs.give_up(state, application)
    for task in list(application.tasks.values()):
        if task.placeholder or task.state not in {TaskState.WAITING, TaskState.ASKED}:
            continue
        asking.unlist(state, task)
        task.move(TaskEvent.REJECT)
        event = tell(task.pod)
        state.post(event)
        _fail_pod(state, task, event)


def _fail_pod(state: State, task: Task, event: Event) -> None:
    """Mark a pod as failed; again until the API server answers, or the pod is gone."""
    if state.tasks.get(task.key) is not task or task.state is not TaskState.REJECTED:
        return

    def ended(outcome: Outcome) -> None:
        if outcome.result is Result.FAILED:
            state.after(_PAUSE_SECONDS, partial(_fail_pod, state, task, event))

    state.call(partial(FailPod, pod=task.pod, reason=event.reason, message=event.message), ended)
