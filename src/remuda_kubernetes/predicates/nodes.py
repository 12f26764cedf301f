"""One node as the filters see it: what it is, what is free on it, and what runs there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from remuda_kubernetes.objects.nodes import Node, Taint
from remuda_kubernetes.objects.pods import Container, Pod
from remuda_kubernetes.objects.quantities import amounts

ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - an address to compare with, not to listen on

# Protocol and port, then the address.
HostPort = tuple[tuple[str, int], str]
Amount = tuple[str, int]
# A disk by kind and identity, and whether it is only read.
DiskKey = tuple[str, ...]
DiskUse = tuple[DiskKey, bool]


@dataclass(frozen=True, slots=True, eq=False)
class TaintSet:
    """What keeps pods away from a node; nodes with equal ones share one, and so verdicts."""

    unschedulable: bool
    taints: tuple[Taint, ...]


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """Return the ports of the host that a pod uses, those of its sidecars included.

    With the host's network each port of a container is one of the host. Kubernetes, "Pod v1 core":
    the protocol is TCP unless said, an empty address means every address.
    """
    spec = pod.spec
    containers: list[Container] = list(spec.containers or ())
    containers += [each for each in spec.init_containers or () if each.restart_policy == "Always"]
    found = []
    for container in containers:
        for port in container.ports or ():
            number = port.host_port or (port.container_port if spec.host_network else 0)
            if number > 0:
                found.append(((port.protocol or "TCP", number), port.host_ip or ANY_ADDRESS))
    return tuple(found)


class NodeState:
    """A node, and the sums over the pods on it.

    ``free``: amounts not requested by any pod; it may fall below zero. ``free_pods``: how many more
    pods the node takes. ``ports``: port -> address -> how many pods use it. ``claims``: claim
    ("namespace/name") -> how many pods of the node use it. ``disks``: key of a disk -> [readers,
    writers]. ``known`` False: the node said nothing of what it has.
    """

    __slots__ = (
        "allocatable",
        "claims",
        "disks",
        "free",
        "free_pods",
        "known",
        "labels",
        "name",
        "pods",
        "ports",
        "taint_set",
    )

    def __init__(self, node: Node, taint_set: TaintSet) -> None:
        self.name = node.name
        self.labels: Mapping[str, str] = node.labels
        self.taint_set = taint_set
        self.known = bool(node.status.allocatable)
        self.allocatable: dict[str, int] = amounts(node.status.allocatable)
        self.free = dict(self.allocatable)
        self.free_pods = self.allocatable.get("pods", 0)
        self.ports: dict[tuple[str, int], dict[str, int]] = {}
        self.claims: dict[str, int] = {}
        self.disks: dict[DiskKey, list[int]] = {}
        self.pods: dict[str, None] = {}

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The taints, without the cordon."""
        return self.taint_set.taints

    def resize(self, allocatable: dict[str, int], *, known: bool) -> bool:
        """Take new amounts. Returns whether something grew."""
        old, self.allocatable, self.known = self.allocatable, allocatable, known
        grew = False
        for name in {*old, *allocatable}:
            by = allocatable.get(name, 0) - old.get(name, 0)
            grew = grew or by > 0
            self.free[name] = self.free.get(name, 0) + by
        self.free_pods += allocatable.get("pods", 0) - old.get("pods", 0)
        return grew

    def request(self, requests: tuple[Amount, ...], by: int) -> None:
        """Count the requests of a pod that came (``by`` 1) or left (-1)."""
        free = self.free
        for name, value in requests:
            free[name] = free.get(name, 0) - by * value
        self.free_pods -= by

    def use_ports(self, ports: tuple[HostPort, ...], by: int) -> None:
        """Count the host ports of a pod that came or left."""
        for port, address in ports:
            users = self.ports.setdefault(port, {})
            left = users.get(address, 0) + by
            if left:
                users[address] = left
            else:
                del users[address]
                if not users:
                    del self.ports[port]

    def ports_taken(self, ports: tuple[HostPort, ...]) -> bool:
        """Whether a pod's host ports collide with those in use."""
        for port, address in ports:
            users = self.ports.get(port)
            if users and (address == ANY_ADDRESS or address in users or ANY_ADDRESS in users):
                return True
        return False

    def use_claims(self, claims: tuple[str, ...], by: int) -> None:
        """Count the claims of a pod that came or left."""
        for claim in claims:
            left = self.claims.get(claim, 0) + by
            if left:
                self.claims[claim] = left
            else:
                del self.claims[claim]

    def use_disks(self, disks: tuple[DiskUse, ...], by: int) -> None:
        """Count the disks, each with whether it is only read, of a pod that came or left."""
        for disk, read_only in disks:
            users = self.disks.setdefault(disk, [0, 0])
            users[0 if read_only else 1] += by
            if users == [0, 0]:
                del self.disks[disk]
