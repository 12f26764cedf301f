"""What the filters look at beside the class and the node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from remuda_kubernetes.predicates.devices import DeviceClaim
from remuda_kubernetes.predicates.storage import Storage
from remuda_kubernetes.predicates.topology import Topology


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The rest of the cluster.

    ``claim_users``: claim ("namespace/name") -> how many pods of the cluster use it. ``devices``:
    the resource claims by "namespace/name".
    """

    topology: Topology
    storage: Storage
    claim_users: Mapping[str, int]
    devices: Mapping[str, DeviceClaim]
