"""What is sent to whoever scrapes: formats, process metrics, the route (MET-1, REST-46)."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from remuda.core.messages.queries import Query, View
from remuda.edges.rest.routes.metrics import metrics_routes
from remuda.edges.rest.transport.app import build_app
from remuda.runtime.errors import LoopStoppedError
from remuda.telemetry.metrics.event_families import NoPipeline, NoStores
from remuda.telemetry.metrics.exposition import Metrics
from remuda.telemetry.metrics.settings import ALL, MetricsSettings
from tests.exposition import samples, types
from tests.unit.core.door import Caller, leaf, parent
from tests.unit.telemetry.metrics.scraping import Scraper, Source, chosen, value

METRICS = "/ws/v1/metrics"


@pytest.fixture
def busy() -> Caller:
    caller = Caller(parent("p", leaf("a"), leaf("b")))
    caller.node("n1", {"vcore": 10, "nvidia.com/gpu": 1})
    caller.app("app", "root.p.a")
    caller.ask("app", "k", {"vcore": 1})
    caller.place()
    return caller


@pytest.fixture
def scraper(busy: Caller) -> Scraper:
    return Scraper(busy, MetricsSettings(queue_names=ALL, users=5))


@pytest.fixture
def client(scraper: Scraper) -> TestClient:
    metrics = scraper.metrics
    app = build_app(scraper.source, more=metrics_routes(metrics), observer=metrics.requests.observe)
    return TestClient(app, raise_server_exceptions=False)


@pytest.mark.remuda_rule("MET-1", "REST-46", "REST-5")
def test_the_route_answers_prometheus_text_that_no_other_site_may_read(client: TestClient) -> None:
    answer = client.get(METRICS)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "access-control-allow-origin" not in answer.headers
    names = {name for name, _ in samples(answer.text)}
    assert {"process_cpu_seconds_total", "python_info", "python_gc_collections_total"} <= names
    assert "yunikorn_scheduler_node" in names


@pytest.mark.remuda_rule("MET-1", "MET-40", "REST-46")
def test_both_formats_parse_without_a_series_or_a_metric_twice(client: TestClient) -> None:
    text = client.get(METRICS).text
    declared = types(text)
    counters = {name for name, kind in declared.items() if kind == "counter"}
    assert counters >= {"yunikorn_event_total_created", "yunikorn_queue_container"}
    assert "untyped" not in declared.values()
    plain = samples(text)
    accept = "application/openmetrics-text; version=1.0.0"
    answer = client.get(METRICS, headers={"Accept": accept})
    assert answer.headers["content-type"].startswith(accept)
    families = list(text_string_to_metric_families(answer.text))  # type: ignore[no-untyped-call]
    names = [family.name for family in families]
    assert len(names) == len(set(names))
    other = {sample.name for family in families for sample in family.samples}
    ours = {name for name, _ in plain if name.startswith("yunikorn_")}
    assert ours - other == {each for each in ours if each.startswith("yunikorn_rest_")} - other


@pytest.mark.remuda_rule("MET-1", "REST-17")
@pytest.mark.parametrize(
    "accept",
    [
        "application/openmetrics-text; version=abc",
        "application/openmetrics-text; version=99.0.0; escaping=nonsense",
        "text/plain; version=x",
        "," * 3_000,
        "*/*",
    ],
)
def test_whatever_a_client_accepts_it_gets_the_metrics(client: TestClient, accept: str) -> None:
    answer = client.get(METRICS, headers={"Accept": accept})
    assert answer.status_code == 200
    assert b"yunikorn_scheduler_node" in answer.content


@pytest.mark.remuda_rule("MET-38", "MET-39", "MET-40")
def test_all_counters_of_events_are_there_and_grow_with_their_source(busy: Caller) -> None:
    names = [
        "created",
        "channeled",
        "not_channeled",
        "processed",
        "stored",
        "not_stored",
        "collected",
    ]
    zero = Scraper(busy).samples()
    assert [value(zero, f"yunikorn_event_total_{name}") for name in names] == [0] * 7
    events = NoPipeline(1, 2, 3, 4, streams=8, streams_dropped=9)
    scraper = Scraper(busy, events=events, stores=NoStores(5, 6, 7))
    found = scraper.samples()
    assert [value(found, f"yunikorn_event_total_{name}") for name in names] == [*range(1, 8)]
    assert value(found, "yunikorn_event_streams") == 8
    assert value(found, "yunikorn_event_streams_dropped_total") == 9
    declared = types(scraper.text())
    assert {declared[f"yunikorn_event_total_{name}"] for name in names} == {"counter"}


@pytest.mark.remuda_rule("MET-41")
def test_the_process_tells_memory_processor_threads_and_garbage(busy: Caller) -> None:
    found = Scraper(busy).samples()
    prefix = "yunikorn_runtime_py_"
    resident = value(found, prefix + "resident_memory_bytes")
    assert resident is not None
    assert resident > 1_000_000
    threads = value(found, prefix + "threads")
    assert threads is not None
    assert threads >= threading.active_count() - 1
    cpu = value(found, prefix + "cpu_seconds_total")
    assert cpu is not None
    assert cpu > 0
    for name in ("gc_collections_total", "gc_collected_total"):
        assert chosen(found, prefix + name, "generation").keys() == {"0", "1", "2"}
    lag = value(found, prefix + "scheduler_lag_seconds")
    assert lag is not None
    assert 0 <= lag < 1
    assert not [name for name, _ in found if "_go_" in name]


@pytest.mark.remuda_rule("MET-42")
def test_http_requests_are_counted_by_route_and_not_by_path(client: TestClient) -> None:
    for name in ("a", "b", "c"):
        assert client.get(f"/ws/v1/partition/{name}/queues").status_code == 404
    client.get("/ws/v1/partitions")
    client.options("/ws/v1/partitions")
    client.get("/nowhere")
    found = samples(client.get(METRICS).text)
    requests = "yunikorn_rest_requests_total"
    assert chosen(found, requests, "route", method="GET") == {
        "/ws/v1/partition/{partition}/queues": 3,
        "/ws/v1/partitions": 1,
    }
    codes = chosen(found, requests, "code", route="/ws/v1/partition/{partition}/queues")
    assert codes == {"404": 3}
    count = chosen(found, "yunikorn_rest_request_seconds_count", "route")
    assert count == {"/ws/v1/partition/{partition}/queues": 3, "/ws/v1/partitions": 2}
    name = "yunikorn_rest_request_seconds_bucket"
    assert value(found, name, route="/ws/v1/partitions", le="+Inf") == 2


@pytest.mark.remuda_rule("REST-46", "REST-5", "REST-6")
def test_many_queues_are_sent_in_pieces_and_compressed_on_request() -> None:
    caller = Caller(*[leaf(f"queue-with-a-long-name-{number}") for number in range(200)])
    scraper = Scraper(caller)
    app = build_app(scraper.source, more=metrics_routes(scraper.metrics))
    client = TestClient(app)
    for coding in ("identity", "gzip"):
        answer = client.get(METRICS, headers={"Accept-Encoding": coding})
        assert answer.headers.get("content-encoding", "identity") == coding
        assert "access-control-allow-origin" not in answer.headers
        found = samples(answer.text)
        assert len(chosen(found, "yunikorn_queue_pending_asks", "queue")) == 200


@pytest.mark.remuda_rule("MET-1", "REST-17")
def test_a_scheduler_that_stopped_is_told_of_and_not_waited_for(busy: Caller) -> None:
    class Stopped(Source):
        def query(self, query: Query) -> Future[View]:
            future: Future[View] = Future()
            future.set_exception(LoopStoppedError("stopped"))
            return future

    source = Stopped(busy.scheduler)
    client = TestClient(build_app(source, more=metrics_routes(Metrics(source))))
    assert client.get(METRICS).status_code == 500


@pytest.mark.remuda_rule("MET-1")
def test_counts_begin_at_zero_with_the_process(busy: Caller) -> None:
    attempts = "yunikorn_scheduler_container_allocation_attempt_total"
    assert Scraper(busy).values(attempts)["allocated"] == 1
    assert Scraper(Caller(leaf("a"))).values(attempts)["allocated"] == 0
