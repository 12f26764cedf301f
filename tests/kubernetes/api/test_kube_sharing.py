"""Equal parts of records are kept once, and nobody can tell the difference."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from remuda_kubernetes.api import sharing
from remuda_kubernetes.api.reading import Reader
from remuda_kubernetes.api.sharing import Sharing
from remuda_kubernetes.objects.cluster import PriorityClass
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.pods import Pod, PodSpec, PodStatus


def pod(number: int) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"worker-{number}",
            "namespace": "team",
            "uid": f"u{number}",
            "resourceVersion": str(number + 1),
            "labels": {"applicationId": "app-1", "queue": "root.team"},
            "ownerReferences": [{"kind": "Job", "name": "worker", "uid": "j", "controller": True}],
        },
        "spec": {
            "schedulerName": "remuda",
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
            "tolerations": [{"key": "a", "operator": "Exists"}],
        },
        "status": {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "message": f"m{number}"}],
        },
    }


def page(*items: object) -> bytes:
    return json.dumps({"metadata": {"resourceVersion": "9"}, "items": items}).encode()


def test_records_are_what_they_were_and_share_equal_parts() -> None:
    wanted = [pod(number) for number in range(3)]
    plain = msgspec.convert(wanted, list[Pod])
    first, second, third = found = Reader(Pod).page(page(*wanted)).items
    assert found == plain
    for one, other in ((first, second), (second, third)):
        assert one.metadata.labels is other.metadata.labels
        assert one.metadata.owner_references is other.metadata.owner_references
        assert one.spec.containers is other.spec.containers
        assert one.spec.tolerations is other.spec.tolerations
        assert one.spec.scheduler_name is other.spec.scheduler_name
        assert one.status.conditions != other.status.conditions


def test_events_share_with_lists() -> None:
    reader = Reader(Pod)
    (listed,) = reader.page(page(pod(1))).items
    line = json.dumps({"type": "ADDED", "object": pod(2)}).encode()
    seen = reader.event(line).object
    assert seen is not None
    assert seen.spec.containers is listed.spec.containers


def test_records_with_nothing_in_them_leave_the_defaults_alone() -> None:
    found = Reader(Pod).page(page({}, {})).items
    assert found == [Pod(), Pod()]
    assert PodSpec() == Pod().spec
    assert PodStatus() == Pod().status


def test_nodes_and_others_share_too() -> None:
    node = {"metadata": {"name": "m"}, "status": {"allocatable": {"cpu": "4", "pods": "110"}}}
    one, other = Reader(Node).page(page(node, {**node, "metadata": {"name": "n"}})).items
    assert one.status.allocatable is other.status.allocatable
    labels = {"metadata": {"labels": {"a": "b"}}, "value": 7}
    first, second = Reader(PriorityClass).page(page(labels, labels)).items
    assert first.metadata.labels is second.metadata.labels
    assert first.value == 7


def test_the_table_is_bounded() -> None:
    shared = Sharing()
    for number in range(sharing._LIMIT * 2):
        shared.share(msgspec.convert({"metadata": {"namespace": f"n{number}"}}, PriorityClass))
    assert len(shared._seen) <= sharing._LIMIT + 10
