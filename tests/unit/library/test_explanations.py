"""Why one ask waits: what a program reads, and what a person does."""

from __future__ import annotations

import pytest

from remuda import Ask, Explanation, NodeCounts, Queue, Scheduler, TaskGroup
from remuda.core.messages import gates
from remuda.insight.explanation import _OTHER, _SENTENCES

LIMITED = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: batch
            resources: {max: {vcore: 6}}
            limits:
              - {limit: everybody, users: ["*"], maxresources: {vcore: 5}}
          - name: web
            maxapplications: 1
          - name: turns
            properties: {application.sort.policy: stateaware}
"""


def cluster() -> Scheduler:
    scheduler = Scheduler(LIMITED)
    scheduler.add_nodes(
        {"small": {"vcore": "2", "memory": 4}, "large": {"vcore": "8", "memory": 4}}
    )
    return scheduler


def submitted(scheduler: Scheduler, name: str, queue: str, cores: str) -> Ask:
    """The one ask of a new application, whose user has its name."""
    scheduler.submit(name, queue=queue, user=name)
    return scheduler.ask(name, "task", {"vcore": cores})


def test_a_user_is_at_the_limit() -> None:
    scheduler = cluster()
    scheduler.submit("hers", queue="root.batch", user="ada")
    scheduler.ask("hers", "runs", {"vcore": "4"})
    greedy = scheduler.ask("hers", "greedy", {"vcore": "2"}, max_allocations=3)
    scheduler.step(1)
    scheduler.step(31)
    why = scheduler.explain(greedy)
    assert why == Explanation(
        "hers",
        "greedy",
        3,
        gate="user quota",
        subject="user ada at root.batch",
        requested={"vcore": 2000},
        available={"vcore": 1000},
        waiting_seconds=31.0,
        log=why.log,
    )
    assert str(why).splitlines() == [
        "hers/greedy waits: 3 pending, each vcore 2",
        "  user quota: user ada at root.batch has vcore 1 left",
        "  what helps: an allocation that ends there, or a higher limit",
    ]


def test_a_queue_is_at_its_maximum() -> None:
    scheduler = cluster()
    _, late = [submitted(scheduler, user, "root.batch", "4") for user in ("ada", "bob")]
    scheduler.step()
    why = scheduler.explain(late)
    assert (why.gate, why.subject, why.available) == ("queue quota", "root.batch", {"vcore": 2000})
    assert "  queue quota: root.batch has vcore 2 left\n" in str(why)


def test_no_node_has_room() -> None:
    scheduler = cluster()
    scheduler.submit("his", queue="root.batch", user="bob")
    wide = scheduler.ask("his", "wide", {"vcore": "1", "memory": 5})
    scheduler.step()
    why = scheduler.explain(wide)
    assert why.gate == "nodes"
    assert why.nodes == NodeCounts(total=2, too_small=2)
    assert "nodes: of 2 nodes 2 too small" in str(why)


def test_a_queue_runs_as_many_applications_as_it_may() -> None:
    scheduler = cluster()
    _, late = [submitted(scheduler, name, "root.web", "1") for name in ("shop", "blog")]
    scheduler.step()
    assert scheduler.explain(late).gate == "max applications"
    assert "root.web runs as many applications as it may" in str(scheduler.explain(late))


def test_another_application_has_its_turn() -> None:
    scheduler = cluster()
    _, late = [submitted(scheduler, name, "root.turns", "1") for name in ("one", "two")]
    scheduler.step()
    assert "turn of another application: an earlier application starts first" in str(
        scheduler.explain(late)
    )


@pytest.mark.remuda_rule("GANG-4")
def test_a_gang_waits_for_the_whole_of_its_room() -> None:
    scheduler = cluster()
    scheduler.submit("runs", queue="root.batch", user="ada")
    scheduler.ask("runs", "task", {"vcore": "4"})
    scheduler.step()
    scheduler.submit(
        "gang", queue="root.batch", user="bob", task_groups=[TaskGroup("g", 2, {"vcore": "2"})]
    )
    real = scheduler.ask("gang", "real", {"vcore": "2"}, task_group="g")
    scheduler.step()
    placeholder = scheduler.pending("gang")[-1]
    assert placeholder.placeholder
    assert "gang: root.batch has vcore 2 left for the whole gang, which needs vcore 4" in str(
        scheduler.explain(placeholder)
    )
    assert "gang: the placeholders of g are not all placed" in str(scheduler.explain(real))


def test_a_node_is_required_that_is_not_there() -> None:
    scheduler = cluster()
    scheduler.submit("his", queue="root.batch")
    tags = {"yunikorn.apache.org/requiredNode": "gone"}
    pinned = scheduler.ask("his", "pinned", {"vcore": 100}, tags=tags)
    scheduler.step()
    assert "required node: required node 'gone' is not known" in str(scheduler.explain(pinned))


def test_what_does_not_wait_says_where_it_is(job: Scheduler) -> None:
    small = Ask("job", "small", {"vcore": 1000})
    assert str(job.explain(small)) == "job/small does not wait: small-0 runs on n1"
    assert job.explain(small).pending == 0
    for gone in (Ask("job", "none", {}), Ask("none", "small", {})):
        assert "does not wait: the scheduler has no such ask" in str(job.explain(gone))


def test_what_nobody_looked_at_says_so(job: Scheduler) -> None:
    fresh = job.ask("job", "fresh", {"vcore": "1"})
    assert str(job.explain(fresh)).splitlines() == [
        "job/fresh waits: 1 pending, each vcore 1",
        "  the scheduler has not tried it yet",
    ]


def test_part_of_an_ask_may_run(job: Scheduler) -> None:
    part = job.ask("job", "part", {"vcore": "2"}, max_allocations=2)
    job.step()
    why = job.explain(part)
    assert (why.pending, why.placed) == (1, ("part-0 runs on n1",))


def test_every_gate_that_an_own_scheduler_can_meet_has_a_sentence() -> None:
    assert set(_SENTENCES) == set(gates.ORDER) - {gates.PAUSED}
    for gate, (sentence, advice) in _SENTENCES.items():
        why = Explanation("app", "key", 1, gate=gate, subject="it", nodes=NodeCounts(0))
        assert sentence(why)
        assert advice
        assert str(why).count("\n") == 2
    assert _OTHER[0](Explanation("app", "key", 1, gate="new", subject="it")) == "it"


def test_among_very_many_asks_one_is_explained() -> None:
    scheduler = Scheduler(Queue("a"))
    scheduler.add_node("n1", {"vcore": "1"})
    scheduler.submit("job", queue="root.a")
    for number in range(2_000):
        scheduler.ask("job", f"k{number:04}", {"vcore": "2"})
    scheduler.step()
    assert len(scheduler.pending("job")) == len(scheduler.pending()) == 2_000
    assert scheduler.explain(Ask("job", "k1234", {"vcore": 2_000})).pending == 1
