"""Gangs of workloads: the object that a pod belongs to is read once, before its application begins.

Until the object is known the application is not submitted, so that no pod is placed ahead of its
gang. An object that cannot be read makes no gang, and is told; its pods are scheduled one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import msgspec

from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.shim.effects import ReadObject
from remuda_kubernetes.shim.records import Application
from remuda_kubernetes.shim.state import State
from remuda_kubernetes.translation import events, metadata, names
from remuda_kubernetes.translation.applications import Application as Facts
from remuda_kubernetes.translation.task_groups import TaskGroup, task_groups
from remuda_kubernetes.translation.workload_groups import groups_of
from remuda_kubernetes.translation.workloads import Workload

_ADVICE: Final = {
    Result.GONE: "see whether it was deleted",
    Result.REFUSED: "grant the scheduler the right to get it",
}


def known(state: State, application: Application, then: Callable[[], None]) -> bool:
    """Whether the gang of an application is known; if not, it is looked up, and ``then`` follows.

    Implements: EXT-141.
    """
    workload = application.facts.workload
    if workload is None:
        return True
    if not application.looks_up:
        application.looks_up = True
        state.call(
            partial(ReadObject, path=workload.path),
            partial(_read, state, application, workload, then),
        )
    return False


def _read(
    state: State,
    application: Application,
    workload: Workload,
    then: Callable[[], None],
    outcome: Outcome,
) -> None:
    """Take in the object of a workload, or that it could not be read."""
    application.looks_up = False
    originator = application.originator
    groups: tuple[TaskGroup, ...] = ()
    text = ""
    try:
        groups, text = groups_of(workload, _content(workload, outcome), originator)
    except ObjectError as error:
        follows = "so its pods are scheduled one by one"
        state.post(events.gang_refused(originator, f"{error}, {follows}"))
    application.facts = application.facts.as_gang(groups, text)
    then()


def _content(workload: Workload, outcome: Outcome) -> object:
    """Return the object that was read. Raises: ObjectError."""
    if not outcome.done:
        advice = _ADVICE.get(outcome.result, "see whether the API server answers")
        raise ObjectError(f"{workload.shown} was not read: {outcome.message}; {advice}")
    try:
        found = msgspec.json.decode(outcome.content)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ObjectError(f"{workload.shown} cannot be read: {error}") from None
    there = (found.get("metadata") or {}).get("uid") if isinstance(found, dict) else None
    if workload.uid and there != workload.uid:
        raise ObjectError(f"{workload.shown} was deleted and made anew")
    return found


def reserving(pods: Iterable[Pod]) -> dict[str, str]:
    """Return the task groups that placeholders repeat, by application ID."""
    found = {}
    for pod in pods:
        if metadata.is_placeholder(pod) and not pod.ended:
            text = pod.annotations.get(names.TASK_GROUPS)
            if text:
                found[metadata.named_application(pod)] = text
    return found


def recovered(state: State, facts: Facts) -> Facts:
    """Return an application of before a registration with its gang, without looking anything up.

    What runs has to be told before any decision is made. Its placeholders say what the gang is;
    without any it has begun already.
    """
    identity = facts.application_id
    text = state.reserving.get(identity, "")
    if facts.workload is None or not (text or identity in state.begun):
        return facts
    try:
        groups, _ = task_groups(text) if text else ((), ())
    except ObjectError:
        groups = ()
    return facts.as_gang(groups, text)
