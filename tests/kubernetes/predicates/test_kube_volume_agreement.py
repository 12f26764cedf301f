"""Bindings of claims agree with a search through all volumes, whatever changes before.

The slow search follows the documentation of Kubernetes on binding of persistent volumes: claims in
the order of their size, each gets the smallest volume of its class that suits, and that the node
can reach; where none does, one has to be made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest

from remuda_kubernetes.objects import kinds
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.predicates.cluster import Cluster
from remuda_kubernetes.predicates.volumes import VolumeDecision
from tests.kubernetes.predicates.scenes import cluster, node, pod, put

CLASSES = {"local": "kubernetes.io/no-provisioner", "made": "csi.example.com"}
NODES = {"a": "1", "b": "1", "c": "2", "d": "3"}


@dataclass
class Volume:
    kind: str
    size: int
    reach: tuple[str, str] | None
    phase: str


@dataclass
class Claims:
    """Volumes by name, claims as (class, size), and the room of the second class by zone."""

    volumes: dict[str, Volume] = field(default_factory=dict)
    claims: dict[str, tuple[str, int]] = field(default_factory=dict)
    room: dict[str, int] = field(default_factory=dict)

    def decide(self, names: list[str], on: str) -> tuple[dict[str, str], set[str]] | None:
        """Return claim -> volume and the claims to make volumes for; None: it is not possible."""
        found: dict[str, str] = {}
        made = set()
        for name in sorted(names, key=lambda each: self.claims[each][1]):
            kind, size = self.claims[name]
            suiting = [
                (volume.size, each)
                for each, volume in self.volumes.items()
                if volume.kind == kind
                and volume.size >= size
                and volume.phase == "Available"
                and each not in found.values()
                and volume.reach in {None, ("host", on), ("zone", NODES[on])}
            ]
            if suiting:
                found[name] = min(suiting)[1]
            elif kind == "made" and self.room.get(NODES[on], 0) >= size:
                made.add(name)
            else:
                return None
        return found, made


def change(random: Random, slow: Claims, fast: Cluster) -> None:
    name = f"v{random.randint(1, 12):02}"
    match random.randrange(4):
        case 0:
            slow.volumes.pop(name, None)
            fast.remove_object(kinds.PERSISTENT_VOLUME, "", name)
        case 1:
            zone = random.choice(list(NODES.values()))
            slow.room[zone] = size = random.randint(0, 6)
            topology = {"matchLabels": {"zone": zone}}
            fields = {"storageClassName": "made", "capacity": f"{size}Gi"}
            put(fast, kinds.CSI_CAPACITY, f"z{zone}", nodeTopology=topology, **fields)
        case _:
            volume = Volume(
                random.choice(list(CLASSES)),
                random.randint(1, 6),
                random.choice(
                    (None, ("host", random.choice("abcd")), ("zone", "1"), ("zone", "2"))
                ),
                random.choice(("Available", "Available", "Bound", "Released")),
            )
            slow.volumes[name] = volume
            put_volume(fast, name, volume)


def put_volume(fast: Cluster, name: str, volume: Volume) -> None:
    spec: dict[str, object] = {
        "storageClassName": volume.kind,
        "capacity": {"storage": f"{volume.size}Gi"},
        "accessModes": ["ReadWriteOnce"],
    }
    if volume.reach is not None:
        key, value = volume.reach
        each = {"key": key, "operator": "In", "values": [value]}
        terms = [{"matchExpressions": [each]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    put(fast, kinds.PERSISTENT_VOLUME, name, spec=spec, status={"phase": volume.phase})


def prepared() -> Cluster:
    fast = cluster(*(node(name, {"zone": zone}) for name, zone in NODES.items()))
    put(fast, kinds.CSI_DRIVER, "csi.example.com", spec={"storageCapacity": True})
    for name, provisioner in CLASSES.items():
        mode = "WaitForFirstConsumer"
        put(fast, kinds.STORAGE_CLASS, name, provisioner=provisioner, volumeBindingMode=mode)
    return fast


def claiming(random: Random, slow: Claims, fast: Cluster, number: int) -> tuple[Pod, list[str]]:
    """A pod with some claims of its own."""
    names = []
    # Claims of different sizes, so that their order is no matter of choice.
    for size in random.sample(range(1, 7), random.randint(1, 3)):
        name = f"c{number}-{size}"
        kind = random.choice(list(CLASSES))
        slow.claims[name] = (kind, size)
        spec = {
            "storageClassName": kind,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": f"{size}Gi"}},
        }
        put(fast, kinds.CLAIM, name, namespace="one", spec=spec)
        names.append(name)
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in names]
    return pod(f"p{number}", volumes=volumes), names


def compare(slow: Claims, fast: Cluster, asked: Pod, names: list[str], on: str) -> bool:
    """Whether a pod fits on a node, after both have said the same."""
    expected = slow.decide(names, on)
    fits = fast.judge(asked, [on], allocate=True, want=1).fits == [0]
    assert fits is (expected is not None)
    made = fast.volumes_for(asked, on)
    assert fits is isinstance(made, VolumeDecision)
    if isinstance(made, VolumeDecision):
        bound = {claim.removeprefix("one/"): volume for volume, claim in made.bindings}
        assert (bound, {each.removeprefix("one/") for each in made.provisions}) == expected
    return fits


@pytest.mark.parametrize("seed", range(8))
def test_bindings_are_those_of_a_search_through_all_volumes(seed: int) -> None:
    random = Random(seed)
    slow, fast = Claims(), prepared()
    outcomes = set()
    for number in range(150):
        change(random, slow, fast)
        asked, names = claiming(random, slow, fast, number)
        outcomes |= {compare(slow, fast, asked, names, on) for on in NODES}
        fast.remove_pod(asked.uid)
    assert outcomes == {True, False}


@pytest.mark.parametrize("seed", range(8))
def test_a_verdict_turns_to_yes_only_after_its_class_was_woken(seed: int) -> None:
    random = Random(seed)
    slow, fast = Claims(), prepared()
    pods = [claiming(random, slow, fast, number) for number in range(5)]
    refused: set[tuple[str, str]] = set()
    turned = 0
    for _ in range(200):
        change(random, slow, fast)
        woken = fast.take_woken().classes
        for asked, names in pods:
            name = fast.class_of(asked)
            for on in NODES:
                if not compare(slow, fast, asked, names, on):
                    refused.add((name, on))
                elif (name, on) in refused:
                    assert name in woken
                    refused.discard((name, on))
                    turned += 1
    assert turned > 10
