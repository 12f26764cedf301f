"""Why tasks are left waiting, counted by what holds them up."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from remuda.core.messages import gates
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.ask_views import FindingView, NodeSummaryView, RequestView
from remuda.core.messages.queries import (
    ApplicationsQuery,
    PartitionsQuery,
    PartitionView,
    Query,
    View,
)
from remuda.sim.experiment import Options, run
from remuda.sim.obstacles import NOT_TRIED, Obstacle, explained, obstacles
from tests.unit.runtime.fakes import FakeScheduler

TALLY = NodeSummaryView(
    total=1_204, draining=1, reserved=0, too_small=3, no_room=1_000, refused=200,
    reasons=(("wrong model", 200),),
)  # fmt: skip


def finding(
    gate: str,
    subject: str = "",
    available: dict[str, int] | None = None,
    nodes: NodeSummaryView | None = None,
) -> FindingView:
    return FindingView(gate, subject, {"gpu": 4}, available, nodes, 5, 6, looks=2)


def request(key: str, found: FindingView | None) -> RequestView:
    return RequestView(
        allocation_key=key,
        tags={},
        request_time_ns=1,
        resource={"gpu": 4},
        pending_count=1,
        priority=0,
        required_node="",
        application_id="app",
        partition="default",
        originator=False,
        scheduling_attempted=found is not None,
        triggered_scale_up=False,
        log=(),
        finding=found,
        reservations=(),
    )


def application(application_id: str, queue: str, *requests: RequestView) -> ApplicationView:
    return ApplicationView(
        application_id=application_id,
        partition="default",
        queue=queue,
        user="ann",
        groups=(),
        state="Accepted",
        submission_time_ns=1,
        finished_time_ns=0,
        start_time_ns=0,
        used={},
        max_used={},
        pending={"gpu": 4},
        rejected_message="",
        max_request_priority=0,
        state_log=(),
        backoff_deadline_ns=0,
        requests=requests,
        allocations=(),
    )


class Views(FakeScheduler):
    """A scheduler that has these applications, whatever it is given."""

    def __init__(self, *applications: ApplicationView) -> None:
        super().__init__()
        self.applications = applications

    def view(self, query: Query) -> View:
        if isinstance(query, ApplicationsQuery):
            assert (query.partition, query.rm_id) == ("default", "rm")
            return self.applications
        assert isinstance(query, PartitionsQuery)
        views = super().view(query)
        assert isinstance(views, tuple)
        return tuple(view for view in views if isinstance(view, PartitionView))


def test_tasks_are_counted_by_gate_in_the_order_of_the_gates_with_the_first_as_example() -> None:
    no_room = finding(gates.NODES, nodes=TALLY)
    door = Views(
        application("a", "root.x", request("t5", no_room), request("t1", None)),
        application(
            "b",
            "root.y",
            request("t3", no_room),
            request("t4", finding(gates.QUEUE_QUOTA, "root.y", {"gpu": 3})),
            request("t2", finding("a gate of tomorrow")),
        ),
    )

    def places(request: RequestView) -> int:
        return int(request.allocation_key.removeprefix("t"))

    assert obstacles(door, places) == (
        Obstacle(gates.QUEUE_QUOTA, 1, "t4", "root.y", "root.y", {"gpu": 4}, {"gpu": 3}, None),
        Obstacle(gates.NODES, 2, "t3", "root.y", "", {"gpu": 4}, None, TALLY),
        Obstacle(NOT_TRIED, 1, "t1", "root.x", "", {"gpu": 4}, None, None),
        Obstacle("a gate of tomorrow", 1, "t2", "root.y", "", {"gpu": 4}, None, None),
    )
    assert obstacles(Views(), places) == ()


@pytest.mark.parametrize(
    "found, text",
    [
        (None, ""),
        (finding(gates.ENDING), ""),
        (finding(gates.MAX_APPLICATIONS, "root.a"), "root.a"),
        (
            finding(gates.USER_QUOTA, "user ann at root.a", {"vcore": 1_500, "gpu": 0}),
            "user ann at root.a has gpu 0, vcore 1,500 left",
        ),
        (finding(gates.QUEUE_QUOTA, "root.a", {}), "root.a has nothing left"),
        (
            finding(gates.NODES, nodes=TALLY),
            "of 1,204 nodes 1 draining, 3 too small, 1,000 without room, 200 refused",
        ),
        (finding(gates.NODES, nodes=NodeSummaryView(0, 0, 0, 0, 0, 0)), "0 nodes"),
    ],
)
def test_an_example_is_explained_in_few_words(found: FindingView | None, text: str) -> None:
    door = Views(application("a", "root.x", request("t", found)))
    (obstacle,) = obstacles(door, lambda request: 0)
    assert explained(obstacle) == text


def test_text_summary_and_report_say_why_tasks_wait(tmp_path: Path) -> None:
    workload = tmp_path / "w.csv"
    rows = ("small,0,5,1", "big,0,5,5", "huge,6,5,9", "bigger,1,5,6")
    workload.write_text("task,submit,duration,gpu\n" + "\n".join(rows) + "\n")
    out = io.StringIO()
    figures = run(Options(workload, "2xgpu=4", tmp_path / "result"), out, io.StringIO())
    assert figures.tasks_pending == 3
    summary = json.loads((tmp_path / "result" / "summary.json").read_text())
    quota, nodes = summary["waiting"]
    assert quota == {
        "gate": gates.QUEUE_QUOTA,
        "tasks": 1,
        "example": "huge",
        "queue": "root.default",
        "subject": "root",
        "requested": {"gpu": 9},
        "available": {"gpu": 8},
        "nodes": None,
    }
    assert (nodes["gate"], nodes["tasks"], nodes["example"]) == (gates.NODES, 2, "big")
    assert nodes["requested"] == {"gpu": 5}
    assert nodes["nodes"] == {
        **dict.fromkeys(("draining", "reserved", "no_room", "refused"), 0),
        "total": 2,
        "too_small": 2,
        "reasons": [],
    }
    told = [line.split() for line in out.getvalue().splitlines()]
    assert [
        "queue",
        "quota",
        "1",
        "huge",
        "in",
        "root.default",
        "root",
        "has",
        "gpu",
        "8",
        "left",
    ] in told
    assert [
        "nodes",
        "2",
        "big",
        "in",
        "root.default",
        "of",
        "2",
        "nodes",
        "2",
        "too",
        "small",
    ] in told
    page = (tmp_path / "result" / "report.html").read_text()
    assert "<h2>Waiting</h2>" in page
    assert ">big in root.default</td>" in page


def test_a_run_that_leaves_nothing_says_nothing_of_waiting(tmp_path: Path) -> None:
    workload = tmp_path / "w.csv"
    workload.write_text("task,submit,duration,gpu\nsmall,0,5,1\n")
    out = io.StringIO()
    run(Options(workload, "2xgpu=4", tmp_path / "result"), out, io.StringIO())
    assert json.loads((tmp_path / "result" / "summary.json").read_text())["waiting"] == []
    assert "Waiting\n" not in out.getvalue()
    assert "<h2>Waiting</h2>" not in (tmp_path / "result" / "report.html").read_text()
