"""Health, history and probes over HTTP, whatever the core does."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest
from starlette.testclient import TestClient

from remuda.core.messages import commands as c
from remuda.core.messages.effects import AllocationNew, Effect
from remuda.edges.rest.routes.health import health_routes
from remuda.edges.rest.transport.app import build_app
from remuda.runtime.loop import SchedulerLoop
from remuda.telemetry.history import History
from remuda.telemetry.pulse import Pulse
from tests.unit.core.door import MINUTE
from tests.unit.edges.rest.conftest import FakeViews
from tests.unit.edges.rest.schema import assert_valid
from tests.unit.runtime.fakes import Factory, asks, registration
from tests.unit.telemetry.health.ward import NAMES, Ward, ward
from tests.unit.telemetry.test_history import Counters
from tests.waiting import wait

HEALTH = "/ws/v1/scheduler/healthcheck"
APPS = "/ws/v1/history/apps"
CONTAINERS = "/ws/v1/history/containers"
PROBES = ("/livez", "/readyz", "/healthz")

Make = Callable[..., TestClient]


@pytest.fixture
def found() -> Ward:
    return ward()


@pytest.fixture
def counters() -> Counters:
    return Counters()


@pytest.fixture
def core() -> Iterator[SchedulerLoop]:
    running = SchedulerLoop(Factory())
    running.start()
    yield running
    running.stop()


@pytest.fixture
def make(views: FakeViews, found: Ward, counters: Counters, core: SchedulerLoop) -> Make:
    def client(size: int = 1_440, pulse: Pulse | None = None) -> TestClient:
        history = History(counters, size, now_ns=lambda: counters.now_ns)
        for number in range(1, 3 if size else 1):
            counters.now_ns = number * MINUTE
            counters.set(**{"rm-a": number, "rm-c": 2})
            history.sample()
        routes = health_routes(found.checker, history, pulse or Pulse(core))
        return TestClient(build_app(views, more=routes), "http://remuda")

    return client


@pytest.mark.remuda_rule("REST-43", "REST-93", "REST-13", "REST-140")
def test_no_health_before_the_first_run(make: Make, found: Ward) -> None:
    for path in (HEALTH, f"{HEALTH}?strict=true"):
        answer = make().get(path)
        assert answer.status_code == 404
        text = "Health check is not available"
        assert answer.json() == {"status_code": 404, "message": text, "description": text}
    assert found.direct.asked == []


@pytest.mark.remuda_rule("REST-43", "REST-93", "HLT-1")
def test_health_is_the_last_stored_result_in_its_order(make: Make, found: Ward) -> None:
    found.run()
    found.direct.asked.clear()
    answer = make().get(HEALTH)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json; charset=UTF-8"
    shown = answer.json()
    assert_valid("Health", shown)
    assert list(shown) == ["Healthy", "HealthChecks"]
    assert shown["Healthy"] is True
    assert [each["Name"] for each in shown["HealthChecks"]] == list(NAMES)
    assert shown["HealthChecks"][0] == {
        "Name": "Scheduling errors",
        "Succeeded": True,
        "Description": "Check for scheduling error entries in metrics",
        "DiagnosisMessage": "There were 0 scheduling errors logged in the metrics",
    }
    assert found.direct.asked == []


@pytest.mark.remuda_rule("REST-93")
@pytest.mark.parametrize(
    "query, status",
    [
        ("", 200),
        ("?strict=true", 503),
        ("?strict=1", 503),
        ("?strict=false", 200),
        ("?strict", 200),
    ],
)
def test_only_who_is_strict_gets_503_while_unhealthy(
    make: Make, found: Ward, query: str, status: int
) -> None:
    found.node("n2").available.amounts[0] += 1
    found.run()
    answer = make().get(f"{HEALTH}{query}")
    assert answer.status_code == status
    assert answer.json()["Healthy"] is False
    failed = [each for each in answer.json()["HealthChecks"] if not each["Succeeded"]]
    assert [each["DiagnosisMessage"] for each in failed] == ['Nodes with inconsistent data: ["n2"]']


@pytest.mark.remuda_rule("REST-93")
def test_who_is_strict_gets_200_while_healthy(make: Make, found: Ward) -> None:
    found.run()
    assert make().get(f"{HEALTH}?strict=true").status_code == 200


@pytest.mark.remuda_rule("HLT-3")
def test_a_read_is_logged_for_those_who_debug(
    make: Make, found: Ward, caplog: pytest.LogCaptureFixture
) -> None:
    found.run()
    with caplog.at_level(logging.DEBUG, "remuda.runtime.health"):
        make().get(HEALTH)
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("DEBUG", "health check is read: healthy True")
    ]


@pytest.mark.remuda_rule("REST-26", "REST-27", "REST-62", "MET-44")
def test_history_is_a_list_of_moments_with_numbers_as_text(make: Make) -> None:
    client = make()
    apps, containers = client.get(APPS).json(), client.get(CONTAINERS).json()
    assert apps == [
        {"timestamp": MINUTE, "totalApplications": "3"},
        {"timestamp": 2 * MINUTE, "totalApplications": "4"},
    ]
    assert containers == [
        {"timestamp": MINUTE, "totalContainers": "30"},
        {"timestamp": 2 * MINUTE, "totalContainers": "40"},
    ]
    for each in apps:
        assert_valid("AppHistoryItem", each)
    for each in containers:
        assert_valid("ContainerHistoryItem", each)


@pytest.mark.remuda_rule("REST-62", "REST-26", "REST-27")
def test_an_empty_history_is_an_empty_list(
    views: FakeViews, found: Ward, core: SchedulerLoop, counters: Counters
) -> None:
    routes = health_routes(found.checker, History(counters), Pulse(core))
    client = TestClient(build_app(views, more=routes), "http://remuda")
    for path in (APPS, CONTAINERS, f"{APPS}?partition=default"):
        assert client.get(path).text == "[]\n"


@pytest.mark.remuda_rule("MET-44", "REST-13", "REST-26", "REST-27")
@pytest.mark.parametrize("path", [APPS, CONTAINERS, f"{APPS}?partition=nope"])
def test_no_history_is_an_error(make: Make, path: str) -> None:
    answer = make(0).get(path)
    assert answer.status_code == 500
    assert answer.json()["message"] == "Internal metrics collection is not enabled."


@pytest.mark.remuda_rule("MET-46", "REST-21")
def test_the_history_of_one_partition(make: Make) -> None:
    client = make()
    first = [each["totalApplications"] for each in client.get(f"{APPS}?partition=default").json()]
    assert first == ["1", "2"]
    other = client.get(f"{CONTAINERS}?partition=default&rm=rm-c").json()
    assert [each["totalContainers"] for each in other] == ["20", "20"]
    for query in ("?partition=nope", "?partition=default&rm=nope"):
        answer = client.get(f"{APPS}{query}")
        assert answer.status_code == 404
        assert answer.json()["message"] == "Partition not found"


@pytest.mark.remuda_rule("REST-123", "REST-5")
@pytest.mark.parametrize("path", PROBES)
def test_probes_are_plain_text(make: Make, path: str) -> None:
    answer = make().get(path)
    assert (answer.status_code, answer.text) == (200, "ok\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    head = make().head(path)
    assert (head.status_code, head.content) == (200, b"")


@pytest.mark.remuda_rule("REST-123")
def test_probes_fail_when_the_core_failed(make: Make, core: SchedulerLoop) -> None:
    client = make()
    core.register(registration()).result(60)
    core.submit(c.UpdateApplications("rm", new=(c.NewApplication("fault"),)))
    wait(core.ended.done)
    for path in PROBES:
        answer = client.get(path)
        assert (answer.status_code, answer.text) == (503, "the scheduler is not running\n")


@pytest.mark.remuda_rule("REST-123", "REST-93")
def test_probes_answer_while_the_core_hangs(make: Make, core: SchedulerLoop, found: Ward) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def hang(effects: Sequence[Effect]) -> None:
        if any(isinstance(effect, AllocationNew) for effect in effects):
            inside.set()
            go_on.wait()

    found.run()
    seconds = [0.0]
    client = make(pulse=Pulse(core, lambda: seconds[0]))
    core.register(registration(), hang).result(60)
    core.submit(asks("k"))
    inside.wait()
    try:  # the core goes on no sooner than it is told to, so no answer waits for it
        assert [client.get(path).status_code for path in PROBES] == [200, 200, 200]
        seconds[0] = 6.0
        assert [client.get(path).status_code for path in PROBES] == [200, 503, 503]
        assert client.get("/readyz").text == "the scheduler does not respond\n"
        seconds[0] = 61.0
        assert [client.get(path).status_code for path in PROBES] == [503, 503, 503]
        assert client.get(HEALTH).status_code == 200
        assert json.loads(client.get(APPS).text)
    finally:
        go_on.set()
    core.barrier().result(60)
    assert [client.get(path).status_code for path in PROBES] == [200, 200, 200]
