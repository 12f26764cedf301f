"""``remuda.view`` of a scheduler that serves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import remuda
from remuda.client import Client
from tests.e2e.serving import FREE_PORTS, PARTITION, Served
from tests.waiting import wait

QUEUES = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: day
            resources: {guaranteed: {vcore: 2}, max: {vcore: 3}}
"""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(*FREE_PORTS) as server, Client(server.grpc, "rm") as cluster:
        cluster.register(QUEUES)
        cluster.add_nodes({"n1": {"vcore": 8_000, "memory": 2**30}})
        cluster.add_application("job", queue="root.day", user="ann")
        cluster.ask("job", "task", {"vcore": 1_000}, count=4)
        cluster.allocations(3)
        path = f"{PARTITION}/application/job"
        wait(lambda: server.client.get(path).json().get("requests", [{}])[0].get("finding"))
        yield server


@pytest.mark.remuda_rule("EXT-96")
@pytest.mark.parametrize("scheme", ["", "http://"])
def test_a_view_over_http_has_the_queues_and_what_waits(served: Served, scheme: str) -> None:
    view = remuda.view(scheme + served.rest)
    assert [share.queue for share in view.queues] == ["root", "root.day"]
    day = view.queues[1]
    assert (day.leaf, day.allocated["vcore"], day.pending["vcore"]) == (True, 3_000, 1_000)
    assert (day.guaranteed, day.maximum) == ({"vcore": 2_000}, {"vcore": 3_000})
    (line,) = view.waiting
    assert (line.application_id, line.pending, line.resource) == ("job", 1, {"vcore": 1_000})
    assert line.reason == "queue quota: root.day"
    assert view.title == f"http://{served.rest}, partition default"
    assert "3 cores of 8 cores" in view._repr_html_()


def test_an_address_where_nobody_answers_is_told(served: Served) -> None:
    with pytest.raises(remuda.RemudaError, match=r"nobody answers at http://127\.0\.0\.1:1"):
        remuda.view("127.0.0.1:1")
    with pytest.raises(remuda.RemudaError, match="Partition not found"):
        remuda.view(served.rest, partition="other")
    with pytest.raises(remuda.RemudaError):
        remuda.view("ftp://x")
