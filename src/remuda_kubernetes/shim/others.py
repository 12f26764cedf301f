"""Objects that are neither pods nor nodes: what the filters look at, and priority classes."""

from __future__ import annotations

from remuda_kubernetes.objects.cluster import PriorityClass
from remuda_kubernetes.objects.kinds import PRIORITY_CLASS, Kind
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.shim.state import State
from remuda_kubernetes.translation import object_events


def changed(
    state: State, kind: Kind, old: KubernetesObject | None, new: KubernetesObject | None
) -> None:
    """Take in an object that came, changed, or went. One that cannot be read changes nothing."""
    if kind is PRIORITY_CLASS:
        _priority_class(state, old, new)
    elif new is not None:
        try:
            state.cluster.set_object(kind, new)
        except ObjectError as error:
            state.post(object_events.object_faults(kind.name, new, str(error)))
    elif old is not None:
        state.cluster.remove_object(kind, old.namespace, old.name)


def _priority_class(
    state: State, old: KubernetesObject | None, new: KubernetesObject | None
) -> None:
    if isinstance(new, PriorityClass):
        state.priority_classes[new.name] = new
    elif old is not None:
        state.priority_classes.pop(old.name, None)
