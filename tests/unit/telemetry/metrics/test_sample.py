"""The sample of the specification, line by line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from remuda.telemetry.metrics.event_families import NoPipeline
from tests.exposition import samples
from tests.unit.core.door import Caller, leaf
from tests.unit.telemetry.metrics.scraping import Scraper

SAMPLE = """
yunikorn_scheduler_container_allocation_attempt_total{state="allocated"} 1
yunikorn_scheduler_application_submission_total{result="accepted"} 1
yunikorn_scheduler_application_total{state="running"} 1
yunikorn_scheduler_node{state="active"} 1
yunikorn_scheduler_memory_node_usage_total{range="(70%,80%]"} 1
yunikorn_scheduler_vcore_node_usage_total{range="[0,10%]"} 1
yunikorn_queue_app{queue="root.etl",state="running"} 1
yunikorn_queue_resource{queue="root",resource="memory",state="max"} 100
yunikorn_queue_resource{queue="root",resource="memory",state="allocated"} 75
yunikorn_queue_resource{queue="root.etl",resource="memory",state="pending"} 95
yunikorn_root_etl_queue_container{state="allocated"} 1
yunikorn_event_total_created 17
"""


@pytest.mark.remuda_rule("MET-47", "MET-2", "MET-21", "MET-38")
def test_one_node_one_application_and_one_pending_ask_give_the_sample() -> None:
    caller = Caller(leaf("etl"))
    caller.node("n1", {"memory": 100, "vcore": 20_000})
    caller.app("app", "root.etl")
    caller.ask("app", "placed", {"memory": 75, "vcore": 6})
    caller.place()
    caller.ask("app", "waits", {"memory": 95, "vcore": 1})
    caller.step()
    found = Scraper(caller, events=replace(NoPipeline(), created=17)).samples()
    expected = samples(SAMPLE)
    assert {series: found.get(series) for series in expected} == expected
