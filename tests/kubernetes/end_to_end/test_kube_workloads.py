"""Gangs of workloads in a whole cluster: Jobs start with all their pods or not at all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kubernetes.end_to_end.cluster import Cluster
from tests.kubernetes.end_to_end.objects import Object
from tests.kubernetes.end_to_end.servers import Server
from tests.kubernetes.end_to_end.spaces import Space


@pytest.fixture(scope="module")
def cluster(empty_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster that derives gangs of Jobs."""
    folder = tmp_path_factory.mktemp("cluster")
    with Cluster(empty_server, folder, settings={"service.workloads": "job"}) as running:
        yield running


def submit(space: Space, name: str, count: int, annotations: dict[str, str] | None = None) -> None:
    """Make a Job of pods that name no application and run for ever."""
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": "1"}}}
    template: Object = {
        "metadata": {"labels": {"queue": space.queue}, "annotations": annotations or {}},
        "spec": {"schedulerName": "yunikorn", "restartPolicy": "Never", "containers": [container]},
    }
    spec = {"parallelism": count, "completions": count, "template": template}
    path = f"/apis/batch/v1/namespaces/{space.name}/jobs"
    space.create(path, {"metadata": {"name": name}, "spec": spec})


def placed(space: Space, name: str) -> int:
    """How many pods of a Job have a node."""
    return sum(bool(pod["spec"].get("nodeName")) for pod in space.of_job(name))


@pytest.mark.remuda_rule("EXT-138", "EXT-139", "EXT-141")
def test_a_job_starts_when_there_is_room_for_all_its_pods(space: Space) -> None:
    space.node("n1", cpu="2")
    submit(space, "train", 3)
    space.until("its placeholders are there", lambda: len(space.placeholders()) == 3)
    # The placeholders are no pods of the Job: its controller neither adopts nor counts them.
    space.until("its pods are there", lambda: len(space.of_job("train")) == 3)
    assert placed(space, "train") == 0
    space.node("n2", cpu="1")
    space.until("all its pods have a node", lambda: placed(space, "train") == 3)
    space.until("no placeholder is left", lambda: not space.placeholders())


@pytest.mark.remuda_rule("EXT-140")
def test_a_job_that_declines_starts_one_by_one(space: Space) -> None:
    space.node("n1", cpu="2")
    submit(space, "loose", 3, {"remuda/gang": "false"})
    space.until("two of its pods have a node", lambda: placed(space, "loose") == 2)
    assert space.placeholders() == []
