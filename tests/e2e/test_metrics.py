"""The metrics of a served process, as a Prometheus server would read them."""

from __future__ import annotations

from pathlib import Path
from signal import SIGTERM

import pytest

from tests.docs.test_monitoring import WATCHED
from tests.e2e.serving import FREE_PORTS, Served, run_remuda
from tests.exposition import exported_names, samples, series
from tests.waiting import wait

METRICS = "/ws/v1/metrics"


@pytest.mark.remuda_rule("MET-1", "MET-2", "MET-5", "MET-10", "MET-41", "MET-42", "REST-46")
def test_a_busy_process_exports_what_it_does_under_the_chosen_prefix() -> None:
    options = ("--metrics-prefix", "ours", "--metrics-users", "2")
    with Served("--demo", *FREE_PORTS, *options) as served:
        allocated = series("ours_scheduler_container_allocation_attempt_total", state="allocated")

        def busy() -> bool:
            return samples(served.client.get(METRICS).text)[allocated] > 100

        wait(busy)
        text = served.client.get(METRICS).text
        found = samples(text)
        assert found[series("ours_scheduler_node", state="active")] == 100
        assert found[series("ours_scheduler_scheduling_latency_seconds_count")] > 0
        scrapes = series("ours_rest_requests_total", route=METRICS, method="GET", code="200")
        assert found[scrapes] > 0
        assert exported_names(text) >= {
            "ours_queue_app",
            "ours_queue_container",
            "ours_queue_resource",
            "ours_runtime_py_scheduler_lag_seconds",
            "ours_scheduler_vcore_node_usage_total",
            "ours_user_resource",
            "process_resident_memory_bytes",
        }
        code, _, log = served.end(SIGTERM)
    assert code == 0
    assert "Traceback" not in log


@pytest.mark.remuda_rule("MET-42", "MET-50", "MET-51", "MET-52", "MET-56")
def test_a_process_exports_all_that_its_alerts_watch_from_the_start(tmp_path: Path) -> None:
    files = ("--record", str(tmp_path / "run"), "--audit-log", str(tmp_path / "audit.jsonl"))
    running = series("yunikorn_scheduler_resource_managers", state="running")
    with Served("--demo", *FREE_PORTS, *files) as served:
        wait(lambda: samples(served.client.get(METRICS).text)[running] == 1)
        text = served.client.get(METRICS).text
    watched = {name for metrics in WATCHED.values() for name in metrics}
    assert watched - exported_names(text) == set()
    assert samples(text)[series("yunikorn_scheduler_resource_managers", state="paused")] == 0


@pytest.mark.remuda_rule("MET-2", "KV-6")
def test_a_prefix_that_cannot_be_ends_the_start_with_one_line() -> None:
    ended = run_remuda("serve", REMUDA_METRICS_PREFIX="no-good")
    assert ended.returncode == 2
    assert "--metrics-prefix: 'no-good' cannot begin the name of a metric" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
