"""The incremental filters and a judge that scans everything agree, whatever changes before.

Each run makes random changes to a small cluster. After each change all waiting pods are judged on
all nodes by both. A verdict that turned from no to yes must have been announced: its class or its
node was woken since the no.
"""

from __future__ import annotations

import copy
from random import Random

import pytest

from remuda_kubernetes.objects import kinds
from remuda_kubernetes.objects.cluster import Namespace
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import convert
from remuda_kubernetes.predicates.cluster import Cluster
from tests.kubernetes.predicates import random_world as make
from tests.kubernetes.predicates.slow_judge import OK, Json, World, judge
from tests.long_runs import rotated

WAITING = 6


class Pair:
    """The same cluster twice, and the verdicts on the pods that wait."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.world = World()
        self.cluster = Cluster()
        self.waiting: dict[str, tuple[Json, Pod]] = {}
        self.refused: set[tuple[str, str]] = set()
        self.names: dict[str, str] = {}
        self.number = 0
        self.verdicts = 0
        self.turned = 0
        for each in ("n1", "n2", "n3", "n4"):
            self.set_node(make.node(self.random, each))
        for name in make.NAMESPACES:
            self.set_namespace(name)

    # ----------------------------------------------------------------------------- changes

    def set_node(self, node: Json) -> None:
        self.world.nodes[node["metadata"]["name"]] = node
        self.cluster.set_node(convert(Node, node))

    def set_namespace(self, name: str) -> None:
        labels = {"team": self.random.choice(("red", "blue"))}
        self.world.namespaces[name] = labels
        found = convert(Namespace, {"metadata": {"name": name, "labels": labels}})
        self.cluster.set_object(kinds.NAMESPACE, found)

    def set_pod(self, pod: Json, node: str) -> None:
        self.world.pods[pod["metadata"]["uid"]] = (pod, node)
        self.cluster.set_pod(convert(Pod, pod), node)

    def add_waiting(self) -> None:
        self.number += 1
        pod = make.pod(self.random, self.number)
        made = convert(Pod, pod)
        self.waiting[made.uid] = (pod, made)
        self.names[made.uid] = self.cluster.class_of(made)

    def place_waiting(self) -> None:
        """A waiting pod is assumed on a node, one where it fits if there is one."""
        if not self.waiting:
            return
        uid = self.random.choice(list(self.waiting))
        pod, made = self.waiting.pop(uid)
        names = list(self.world.nodes)
        self.random.shuffle(names)
        fits = self.cluster.judge(made, names, allocate=True, want=1).fits
        self.set_pod(pod, names[fits[0]] if fits else self.random.choice([*names, "nowhere"]))
        self.refused = {each for each in self.refused if each[0] != uid}

    def remove_pod(self) -> None:
        if self.world.pods:
            uid = self.random.choice(list(self.world.pods))
            del self.world.pods[uid]
            self.cluster.remove_pod(uid)

    def replace_node(self) -> None:
        self.set_node(make.node(self.random, f"n{self.random.randint(1, 8)}"))

    def remove_node(self) -> None:
        if len(self.world.nodes) > 2:
            name = self.random.choice(list(self.world.nodes))
            del self.world.nodes[name]
            self.cluster.remove_node(name)
            self.refused = {each for each in self.refused if each[1] != name}

    def change_part_of_node(self) -> None:
        name = self.random.choice(list(self.world.nodes))
        changed = copy.deepcopy(self.world.nodes[name])
        part = self.random.choice(("spec", "status"))
        changed[part] = make.node(self.random, name)[part]
        self.set_node(changed)

    def change_labels_of_pod(self) -> None:
        if self.world.pods:
            pod, node = copy.deepcopy(self.random.choice(list(self.world.pods.values())))
            pod["metadata"]["labels"] = make.labels(self.random, self.number)
            self.set_pod(pod, node)

    def begin_deletion(self) -> None:
        if self.world.pods:
            pod, node = copy.deepcopy(self.random.choice(list(self.world.pods.values())))
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            self.set_pod(pod, node)

    def change_namespace(self) -> None:
        self.set_namespace(self.random.choice(make.NAMESPACES))

    def change(self) -> None:
        changes = {
            self.place_waiting: 5,
            self.remove_pod: 3,
            self.replace_node: 1,
            self.remove_node: 1,
            self.change_part_of_node: 1,
            self.change_labels_of_pod: 1,
            self.begin_deletion: 1,
            self.change_namespace: 1,
        }
        self.random.choices(list(changes), list(changes.values()))[0]()
        while len(self.waiting) < WAITING:
            self.add_waiting()

    # ---------------------------------------------------------------------------- questions

    def compare(self) -> None:
        # An ask of a renamed pod is sent again, so its new class is asked about everywhere.
        renamed = self.cluster.take_renamed()
        for uid, name in renamed.items():
            assert self.names[uid] != name
            self.names[uid] = name
        woken = self.cluster.take_woken()
        names = list(self.world.nodes)
        by_class: dict[str, list[tuple[str, str]]] = {}
        for uid, (pod, made) in self.waiting.items():
            assert self.cluster.class_of(made) == self.names[uid]
            verdicts = [judge(self.world, pod, name, allocate=True) for name in names]
            assert self.answers(made, names, allocate=True) == verdicts
            reserving = [judge(self.world, pod, name, allocate=False) for name in names]
            assert self.answers(made, names, allocate=False) == reserving
            self.verdicts += 2 * len(names)
            assert by_class.setdefault(self.names[uid], verdicts) == verdicts
            for name, verdict in zip(names, verdicts, strict=True):
                if verdict != OK:
                    self.refused.add((uid, name))
                elif (uid, name) in self.refused:
                    asked = self.names[uid] in woken.classes or name in woken.nodes
                    assert asked or uid in renamed, (pod, name)
                    self.refused.discard((uid, name))
                    self.turned += 1

    def answers(self, pod: Pod, names: list[str], *, allocate: bool) -> list[tuple[str, str]]:
        found = self.cluster.judge(pod, names, allocate=allocate, want=len(names))
        answers = [OK] * len(names)
        for index, refusal in found.refusals:
            answers[index] = (refusal.verdict, refusal.text)
        assert found.judged == len(names)
        assert found.fits == [index for index, answer in enumerate(answers) if answer == OK]
        return answers

    def victims(self) -> None:
        """Taking pods from a node one by one gives the answer of a cluster without them."""
        name = self.random.choice(list(self.world.nodes))
        uids = [uid for uid, (_, where) in self.world.pods.items() if where == name]
        self.random.shuffle(uids)
        start = self.random.randint(0, max(0, len(uids) - 1))
        pod, made = self.random.choice(list(self.waiting.values()))
        without = World(self.world.nodes, dict(self.world.pods), self.world.namespaces)
        expected = -1
        for index, uid in enumerate(uids):
            del without.pods[uid]
            if index >= start and judge(without, pod, name, allocate=True) == OK:
                expected = index
                break
        assert self.cluster.victims(made, name, uids, start) == expected


def run(seed: int, steps: int) -> tuple[int, int]:
    pair = Pair(seed)
    for step in range(steps):
        pair.change()
        pair.compare()
        if step % 5 == 0:
            pair.victims()
    return pair.verdicts, pair.turned


@pytest.mark.parametrize("seed", range(12))
def test_both_judges_agree_after_each_change(seed: int) -> None:
    verdicts, turned = run(seed, 120)
    assert verdicts > 2_000
    assert turned > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", rotated(range(1000, 1040)))
def test_both_judges_agree_for_long(seed: int) -> None:
    verdicts, _ = run(seed, 1_000)
    assert verdicts > 20_000
