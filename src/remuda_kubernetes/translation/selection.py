"""Which pods this scheduler places, and which only take room.

The names of schedulers that mean this one are a setting.
"""

from __future__ import annotations

from collections.abc import Container
from enum import Enum

from remuda_kubernetes.objects.pods import Pod


class Side(Enum):
    """What a pod is to this scheduler.

    OURS: we schedule it, or did. FOREIGN: another scheduler, or nobody (static pods), put it on a
    node, where it takes room. NOTHING: it takes no room and is not to be scheduled now.
    """

    OURS = "ours"
    FOREIGN = "foreign"
    NOTHING = "nothing"


def side_of(pod: Pod, scheduler_names: Container[str]) -> Side:
    """Return what a pod is here; ``scheduler_names``: those that mean this scheduler.

    Every pod with such a name has an application ID, given or generated, so the name decides.
    Pods that ended are nothing. So are pods without a node that are being deleted, or that have
    scheduling gates; the latter change when their gates are gone.
    """
    if pod.ended:
        return Side.NOTHING
    spec = pod.spec
    if spec.scheduler_name not in scheduler_names:
        return Side.FOREIGN if spec.node_name else Side.NOTHING
    if not spec.node_name and (spec.scheduling_gates or pod.metadata.deletion_timestamp):
        return Side.NOTHING
    return Side.OURS
