"""Applications that have no pods any more are forgotten."""

from __future__ import annotations

from remuda_kubernetes.shim.effects import ToScheduler
from remuda_kubernetes.shim.records import Application
from remuda_kubernetes.shim.state import State
from remuda_kubernetes.shim.states import OVER, ApplicationState
from remuda_kubernetes.translation import requests


def forget_if_empty(state: State, application: Application) -> None:
    """Forget an application without pods, unless the scheduler still has to end it.

    The scheduler ends one some time after its last ask or allocation. Without any it would keep it
    for ever (APP-20), so it is told to remove it.
    """
    identity = application.identity
    if application.tasks or application.creating:
        return
    if state.applications.get(identity) is not application:
        return
    if application.state not in OVER:
        if application.asked:
            return
        if application.state is not ApplicationState.NEW:
            gone = requests.removed_application(identity)
            state.outbox.put(ToScheduler(requests.application_request(state.rm_id, remove=[gone])))
    del state.applications[identity]
