"""The client for questions, against a served scheduler."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from remuda.client import Client, ClientError, Insight
from remuda.si.pb import extension_pb2 as ext
from remuda.si.wire import resource
from tests.e2e.serving import FREE_PORTS, Served

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies take /proc")

QUEUES = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues: [{name: day, resources: {guaranteed: {vcore: 2}}}, {name: night}]
"""


@pytest.fixture(scope="module")
def insight() -> Iterator[Insight]:
    """A node that is full, and an ask that waits."""
    with (
        Served(*FREE_PORTS, "--reservation-delay", "off") as running,
        Client(running.grpc, "rm") as client,
        Insight(running.grpc, rm_id="rm", partition="default") as asking,
    ):
        client.register(QUEUES)
        client.add_nodes({"n1": {"vcore": 4_000}})
        client.add_application("train", queue="root.night", user="bo")
        client.ask("train", "worker", {"vcore": 2_000}, count=2)
        assert len(client.allocations(2)) == 2
        client.add_application("report", queue="root.day", user="ada")
        client.ask("report", "page", {"vcore": 2_000})
        yield asking
        assert "Traceback" not in running.log


@pytest.mark.remuda_rule("EXT-126")
def test_it_says_why_an_ask_waits_and_what_would_place_it(insight: Insight) -> None:
    why = insight.explain("report", "page")
    assert (why.waits, why.pending) == (True, 1)
    ways = insight.ways_out("report", "page", within=1.5)
    assert ways.within == 1.5
    assert "application train ends" in [each.text for each in ways.ways]


@pytest.mark.remuda_rule("EXT-126")
def test_it_tries_submissions_of_amounts_of_messages_and_of_gangs(insight: Insight) -> None:
    waits = insight.dry_run("x", {"k": {"vcore": 1_000}}, queue="root.day", user="ada")
    assert (waits.outcome, waits.queue_name) == ("waits", "root.day")
    one = ext.DryRunRequest.Ask(allocation_key="k", resource=resource({"vcore": 2_000}), priority=1)
    placed = insight.dry_run(
        "x", [one], queue="root.day", tags={"a": "b"}, allow_preempt_other=True, within=60
    )
    assert (placed.outcome, len(placed.victims)) == ("placed", 1)
    group = ext.DryRunRequest.TaskGroup(
        name="w", min_member=3, min_resource=resource({"vcore": 500})
    )
    gang = insight.dry_run(
        "x", queue="root.day", groups=["g"], task_groups=[group], gang_scheduling_style="Hard"
    )
    assert gang.waiting_count == 3


@pytest.mark.remuda_rule("EXT-126")
def test_it_follows_configurations_and_forecasts_starts(insight: Insight) -> None:
    without = QUEUES.replace("{name: day, resources: {guaranteed: {vcore: 2}}}, ", "")
    impact = insight.config_impact(without, within=1).impact
    assert [each.queue for each in impact.queues_gone] == ["root.day"]
    assert impact.within_seconds == 1
    of_one = insight.forecast("report", within=60, arrivals=False)
    of_queue = insight.forecast(queue="root.day", within=60)
    found = [each.application_id for each in (*of_one.forecasts, *of_queue.forecasts)]
    assert found == ["report"] * 2


@pytest.mark.remuda_rule("EXT-126")
def test_it_lists_what_queues_are_owed(insight: Insight) -> None:
    shares = list(insight.fair_shares())
    assert [each.queue_name for each in shares] == ["root", "root.day", "root.night"]
    assert insight.fair_share("root.day").queue.owed == resource({"vcore": 2_000})


@pytest.mark.remuda_rule("EXT-126")
def test_a_question_that_is_not_answered_is_one_line(insight: Insight) -> None:
    with pytest.raises(ClientError, match="Application not found") as error:
        insight.explain("no-such", "page")
    assert "\n" not in str(error.value)
    with pytest.raises(ClientError, match="application_id or queue is needed"):
        insight.forecast()
