"""Configuration while the shim runs: two ConfigMaps of its own namespace, read when they change."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from remuda_kubernetes.objects.cluster import ConfigMap
from remuda_kubernetes.objects.kinds import CONFIG_MAP
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.shim.effects import Reconfigure
from remuda_kubernetes.shim.state import Phase, State
from remuda_kubernetes.translation import names, object_events
from remuda_kubernetes.translation.configuration import (
    Configuration,
    changed_configuration,
    first_configuration,
)
from remuda_kubernetes.translation.findings import one_line
from remuda_kubernetes.translation.settings import Settings

DEFAULTS: Final = names.DEFAULTS_MAP
CONFIGS: Final = names.CONFIGS_MAP
# The shim shows people what they are shown; the other events are for the scheduler's own readers.
_USER_EVENTS_ONLY: Final = "rm.userEventsOnly"


def keys_for(settings: Settings) -> dict[str, str]:
    """Return the keys that the scheduler gets besides the queues."""
    return {_USER_EVENTS_ONLY: "true", **settings.extra}


def read(state: State) -> None:
    """Read the ConfigMaps for the first time. A key with a fault has its default."""
    defaults, configs = _maps(state)
    _tell(state, first_configuration(defaults, configs), configs or defaults)
    state.name(state.rm_id or state.settings.cluster_id)


def changed(state: State, about: KubernetesObject | None) -> None:
    """Take in a change of a ConfigMap, if it is one of ours."""
    if about is None or about.name not in {DEFAULTS, CONFIGS} or state.phase is Phase.SYNCING:
        return
    if about.namespace != state.namespace:
        return
    before = state.settings
    found = changed_configuration(before, *_maps(state))
    _tell(state, found, about)
    if state.phase is Phase.RUNNING and _differ(before, state.settings):
        _propose(state, about)


def _propose(state: State, about: KubernetesObject | None) -> None:
    """Give the scheduler the settings of now."""
    state.proposed.append(state.settings)
    state.outbox.put(Reconfigure(state.settings.queues, keys_for(state.settings), about))


def registered(state: State) -> None:
    """Take in that the scheduler took the settings of the registration; they may be old by now."""
    state.accepted = state.registering
    if _differ(state.accepted, state.settings):
        _propose(state, _about(state))


def refused_at_start(state: State, fault: str) -> None:
    """Take in that the scheduler refused the settings of the registration."""
    about = _about(state)
    if isinstance(about, ConfigMap):
        state.post(
            object_events.queue_file_refused(about, fault)
            if state.accepted is None
            else object_events.configuration_refused(about, fault)
        )
    if not _differ(state.registering, state.settings):
        _fall_back(state)


def answered(state: State, about: object, fault: str) -> None:
    """Take in whether the scheduler took the queues."""
    proposed = state.proposed.pop(0)
    if state.phase is not Phase.RUNNING:
        # The scheduler was lost meanwhile, so it has said nothing about them.
        return
    if not fault:
        state.accepted = proposed
    elif not _differ(proposed, state.settings):
        _fall_back(state)
    if not isinstance(about, ConfigMap):
        return
    state.post(
        object_events.configuration_refused(about, fault)
        if fault
        else object_events.configuration_changed(about)
    )


def _differ(one: Settings, other: Settings) -> bool:
    """Whether the scheduler would get something else."""
    return (one.queues, one.extra) != (other.queues, other.extra)


def _fall_back(state: State) -> None:
    """Use what the scheduler took before, so that it takes the shim in should it be lost."""
    last = state.accepted
    if last is not None:
        state.settings = replace(state.settings, queues=last.queues, extra=last.extra)


def _about(state: State) -> ConfigMap | None:
    """Return the ConfigMap whose queue file counts."""
    defaults, configs = _maps(state)
    return configs or defaults


def _maps(state: State) -> tuple[ConfigMap | None, ConfigMap | None]:
    found = [state.objects.get(CONFIG_MAP, state.namespace, name) for name in (DEFAULTS, CONFIGS)]
    defaults, configs = [each if isinstance(each, ConfigMap) else None for each in found]
    return defaults, configs


def _tell(state: State, found: Configuration, about: KubernetesObject | None) -> None:
    """Use the settings, and tell the findings on a ConfigMap."""
    state.settings = state.adapt(found.settings)
    if not isinstance(about, ConfigMap):
        return
    if found.findings:
        text = one_line(found.findings)
        if found.refused:
            state.post(object_events.configuration_refused(about, text))
        else:
            state.post(object_events.object_faults("ConfigMap", about, text))
    if found.restart:
        state.post(object_events.restart_needed(about, found.restart))
