"""Why, what would help and what would happen, asked of a served process over HTTP."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.serving import FREE_PORTS, PARTITION, Served
from tests.unit.edges.rest.schema import assert_valid
from tests.waiting import wait

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies take /proc")

HUGE = {"allocationKey": "huge", "resource": {"vcore": "1000000"}}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(*FREE_PORTS, "--demo") as running:
        wait(lambda: bool(allocations(running)))
        yield running
        assert "Traceback" not in running.log


def allocations(served: Served) -> list[dict[str, Any]]:
    nodes = served.client.get(f"{PARTITION}/nodes").json()
    return [each for node in nodes for each in node.get("allocations", ())]


def dry_run(served: Served, **submission: object) -> dict[str, Any]:
    answer = served.client.post(f"{PARTITION}/dry-run", json={"applicationId": "new", **submission})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert_valid("DryRun", found)
    return found


@pytest.mark.remuda_rule("EXT-62", "EXT-63")
def test_an_ask_that_is_placed_does_not_wait(served: Served) -> None:
    def explained() -> bool:
        """Whether some allocation had not ended before it was asked about."""
        for one in allocations(served):
            ask = f"{PARTITION}/application/{one['applicationId']}/ask/{one['allocationKey']}"
            why, ways = [served.client.get(f"{ask}/{what}") for what in ("explain", "ways-out")]
            if (why.status_code, ways.status_code) == (200, 200):
                found = why.json()
                assert_valid("AskExplanation", found)
                assert_valid("WaysOut", ways.json())
                assert ways.json()["stateVersion"] >= found["stateVersion"] > 0
                assert found["waits"] == ("pending" in found)
                return any(one["nodeId"] in text for text in found["placed"])
        return False

    wait(explained)


@pytest.mark.remuda_rule("EXT-64")
def test_a_dry_run_changes_nothing(served: Served) -> None:
    found = dry_run(served, queue="root.production.web", user="ada", asks=[HUGE])
    assert found["outcome"] == "waits"
    assert found["waiting"][0]["allocationKey"] == "huge"
    assert found["waiting"][0]["gate"] != ""
    assert dry_run(served, queue="root.no.such")["outcome"] == "refused"
    assert served.client.get(f"{PARTITION}/application/new").status_code == 404


@pytest.mark.remuda_rule("EXT-66", "EXT-42")
def test_questions_at_one_time_are_all_answered_and_leave_no_process(served: Served) -> None:
    address = f"http://{served.rest}{PARTITION}/dry-run"
    body = {"applicationId": "new", "asks": [HUGE], "within": 10}

    def ask(_: int) -> httpx2.Response:
        return httpx2.post(address, json=body, timeout=60)

    with ThreadPoolExecutor(4) as several:
        answers = list(several.map(ask, range(4)))
    assert [each.status_code for each in answers] == [200] * 4
    children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children")
    wait(lambda: children.read_text().split() == [])
