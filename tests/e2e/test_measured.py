"""What a busy served process measures: over gRPC, over HTTP, and what deploy/ and docs/ name."""

from __future__ import annotations

import re
from collections.abc import Iterator

import grpc
import pytest

from remuda.client import Client
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import MetricsStub
from tests.docs.test_monitoring import all_names, documented
from tests.e2e.serving import FREE_PORTS, Served
from tests.waiting import wait

SECONDS = 60.0

QUEUES = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: etl
            resources: {guaranteed: {vcore: 2}, max: {vcore: 100}}
          - name: adhoc
"""


class Busy:
    """A process that placed something, has something pending, and a reservation.

    It writes a recording and an audit log, as some metrics exist only then.
    """

    def __init__(self, served: Served) -> None:
        self.served = served
        self.channel = grpc.insecure_channel(served.grpc)
        self.metrics = MetricsStub(self.channel)

    def exported(self) -> set[str]:
        """The names of all samples that Prometheus gets."""
        text = self.served.client.get("/ws/v1/metrics").text
        return {re.split(r"[{ ]", line)[0] for line in text.splitlines() if line[:1] != "#"}


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Busy]:
    folder = tmp_path_factory.mktemp("busy")
    files = ("--record", str(folder / "run"), "--audit-log", str(folder / "audit"))
    with (
        Served(*FREE_PORTS, "--reservation-delay", "1ms", *files) as served,
        Client(served.grpc, "rm") as client,
    ):
        client.register(QUEUES)
        client.add_nodes({f"n{i}": {"vcore": 4_000, "memory": 4_000_000} for i in range(2)})
        client.add_application("job", queue="root.etl", user="ann")
        client.ask("job", "small", {"vcore": 1_000, "memory": 1_000_000}, count=4)
        client.allocations(4)
        client.add_application("wide", queue="root.adhoc", user="bob")
        client.ask("wide", "large", {"vcore": 4_000, "memory": 4_000_000}, count=2)
        one = Busy(served)
        wait(lambda: "yunikorn_queue_reserved_resource" in one.exported())
        yield one
        one.channel.close()


def test_the_dashboard_and_the_alerts_name_what_a_busy_process_exports(busy: Busy) -> None:
    # It exists only with a lease; test_lease.py reads it.
    assert sorted(all_names() - busy.exported()) == ["yunikorn_scheduler_lease_active"]


def test_whatever_is_exported_is_documented(busy: Busy) -> None:
    known = documented()
    own = [name for name in busy.exported() if name.startswith("yunikorn_")]
    assert sorted(name for name in own if not any(each.fullmatch(name) for each in known)) == []


@pytest.mark.remuda_rule("EXT-25")
def test_grpc_has_the_samples_of_the_exposition(busy: Busy) -> None:
    found = busy.metrics.GetSamples(ext.SampleFilter(), timeout=SECONDS)
    assert {each.name for each in found.samples} == busy.exported()
    one = ext.SampleFilter(
        name_prefixes=["yunikorn_queue_resource"],
        labels={"queue": "root.etl", "state": "guaranteed"},
    )
    (sample,) = busy.metrics.GetSamples(one, timeout=SECONDS).samples
    assert (sample.labels["resource"], sample.value) == ("vcore", 2_000.0)


@pytest.mark.remuda_rule("EXT-25", "REST-93")
def test_grpc_has_the_health_of_the_api(busy: Busy) -> None:
    shown = busy.served.client.get("/ws/v1/scheduler/healthcheck").json()
    found = busy.metrics.GetHealth(ext.HealthRequest(), timeout=SECONDS)
    assert found.healthy is shown["Healthy"] is True
    assert [each.name for each in found.checks] == [each["Name"] for each in shown["HealthChecks"]]
    assert len(found.checks) >= 11


@pytest.mark.remuda_rule("EXT-25", "EVT-115")
def test_grpc_has_the_events_of_the_api(busy: Busy) -> None:
    shown = busy.served.client.get("/ws/v1/events/batch").json()
    count = len(shown["EventRecords"])
    call = busy.metrics.WatchEvents(ext.WatchEventsRequest(history=count), timeout=SECONDS)
    records: list[si.EventRecord] = []
    for batch in call:
        assert batch.first_id == shown["LowestID"] + len(records)
        records += batch.records
        if len(records) >= count:
            break
    call.cancel()
    told = [(each["objectID"], each["timestampNano"]) for each in shown["EventRecords"]]
    assert [(each.objectID, each.timestampNano) for each in records] == told


@pytest.mark.remuda_rule("EXT-25", "EVT-117")
def test_streams_over_grpc_and_http_share_their_limits() -> None:
    extra = {"event.maxStreamsPerHost": "1"}
    with Served(*FREE_PORTS) as served, Client(served.grpc, "rm") as client:
        client.register(QUEUES, extra_config=extra)
        with grpc.insecure_channel(served.grpc) as channel:
            request = ext.WatchEventsRequest(history=1)
            call = MetricsStub(channel).WatchEvents(request, timeout=SECONDS)
            assert len(next(iter(call)).records) >= 1
            refused = served.client.get("/ws/v1/events/stream")
            assert (refused.status_code, refused.json()["message"]) == (
                503,
                "Too many streaming connections",
            )
            with pytest.raises(grpc.RpcError) as caught:
                list(MetricsStub(channel).WatchEvents(request, timeout=SECONDS))
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            call.cancel()
