"""A slice of `make chaos`, and that its verdict sees what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tools.chaos import __main__ as chaos
from tools.chaos import faults, world
from tools.chaos.belief import Belief, Diary, Task
from tools.chaos.faults import Fault, Plan
from tools.chaos.injection import small_disk
from tools.chaos.verdict import Size, differences
from tools.chaos.world import Record, Round

# For a busy machine; the tool itself gives 15.
SECONDS = 120.0

TWO = Plan(2, ("kill-scheduler",), ("streams", "session"), ("bulk", "node"))
KILLS = [
    Fault("kill-manager", 0.3, 0.0, manager=0),
    Fault("cut", 0.5, 0.0, manager=1),
    Fault("kill-scheduler", 0.6, 0.0),
    Fault("kill-scheduler", 1.4, 0.0),
    Fault("kill-manager", 1.5, 0.0, manager=1),
]


@pytest.mark.remuda_rule("REC-1", "REC-12", "RM-9")
def test_killed_processes_and_a_cut_wire_lose_and_double_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, world.open_world(TWO, 0, tmp_path, disk) as played:
        found = [played.play(0, [], SECONDS), played.play(1, KILLS, SECONDS)]
        found.append(played.finish(SECONDS))
    log = (tmp_path / "scheduler.log").read_text()
    assert [each.evidence for each in found] == [[], [], []], log
    assert played.starts > 2
    assert "Traceback" not in log


class Answers:
    """The HTTP API of a scheduler that has one task on one node."""

    def __init__(self, **nodes: str) -> None:
        self.placed = nodes

    def get(self, path: str) -> Any:
        if "/applications/" in path:
            used = {"vcore": 5 * len(self.placed)}
            return [{"applicationID": "app", "usedResource": used, "requests": []}]
        if "/queues" in path:
            used = {"vcore": 5 * len(self.placed)}
            leaf = {"queuename": "root.a", "allocatedResource": used}
            return {"queuename": "root", "allocatedResource": used, "children": [leaf]}
        return [self.node(name) for name in ("n1", "n2")]

    def node(self, name: str) -> Any:
        mine = [each for each, node in self.placed.items() if node == name]
        return {
            "nodeID": name,
            "allocated": {"vcore": 5 * len(mine)},
            "available": {"vcore": 10 - 5 * len(mine)},
            "allocations": [
                {
                    "allocationID": each,
                    "allocationKey": each,
                    "applicationId": "app",
                    "resource": {"vcore": 5},
                }
                for each in mine
            ],
        }


def judged(belief: Belief, answers: Any) -> list[str]:
    return list(differences("rm", belief, answers))


def believed() -> Belief:
    running = {"t": Task("t", "app", 5, node="n1")}
    return Belief(nodes={"n1": 10, "n2": 10}, applications={"app": "root.a"}, running=running)


def test_the_verdict_sees_what_is_lost_doubled_or_elsewhere() -> None:
    assert judged(believed(), Answers(t="n1")) == []
    assert "rm: t is lost: the scheduler does not know it" in judged(believed(), Answers())
    twice = judged(believed(), Answers(t="n1", u="n2"))
    assert "rm: u runs on n2 for the scheduler only" in twice
    assert "rm: queue root: 5 by what runs, the scheduler says 10" in twice
    assert any("t is Task(" in each for each in judged(believed(), Answers(t="n2")))
    ended = believed()
    ended.end("t")
    assert "rm: t ended, which is not acknowledged" in judged(ended, Answers())
    waiting = believed()
    waiting.ask("k", "app", 5, "")
    assert judged(waiting, Answers(t="n1")) == ["rm: ask k is lost"]


def test_the_verdict_sees_more_than_a_node_can_take() -> None:
    full = believed()
    full.nodes["n1"] = 4
    assert "rm: node n1 has 5 of 4" in judged(full, Answers(t="n1"))


def test_a_scheduler_may_not_grow_from_round_to_round() -> None:
    before = Size(20, 20, 50_000)
    assert list(before.growth(Size(30, 30, 60_000))) == []
    assert list(before.growth(Size(90, 20, 50_000))) == [
        "the scheduler leaks descriptors: 20 grew to 90"
    ]


def test_a_fact_that_a_kill_tore_is_dropped(tmp_path: Path) -> None:
    file = tmp_path / "diary"
    first = Diary(file)
    first.note("application", "app", "root.a")
    first.note("ask", "k", "app", 5, "")
    with file.open("ab") as opened:
        opened.write(b'["withdraw", "k')
    second = Diary(file)
    assert second.belief == first.belief
    assert list(second.belief.asks) == ["k"]
    second.note("withdraw", "k")
    assert Diary(file).belief.asks == {}


def test_faults_are_those_of_the_seed() -> None:
    first, again = faults.plan(7), faults.plan(7)
    assert first == again
    assert faults.draw(first, 7, 3) == faults.draw(again, 7, 3)
    assert len({str(faults.draw(faults.plan(seed), seed, 0)) for seed in range(20)}) > 15


def test_what_failed_is_told_and_counted() -> None:
    rounds = [
        Round(0, KILLS, decided=1.0, converged=2.0),
        Round(1, [], evidence=["rm-0: t is lost"]),
    ]
    summary = chaos.summarise([Record(5, "interpreted", TWO, own_disk=True, rounds=rounds)])
    assert (summary.kills, summary.rounds, summary.failed) == (4, 2, {5: ["rm-0: t is lost"]})
    assert "  rm-0: t is lost" in chaos.table(summary, Path("there")).splitlines()
    assert json.loads(msgspec.json.encode(summary))["converged"]["longest"] == 2.0
