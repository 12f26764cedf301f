"""The message sequences of gang scheduling, as chapter 80 section 3 writes them down."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from tests.unit.core.door import START, leaf
from tests.unit.core.rules.gang import ONE, TIMEOUT, TWO, WAITING, Gang, heard


def begin(*queues: object, cores: int = 10, **nodes: int) -> Gang:
    """Nodes n1 and n2 unless others are named."""
    gang = Gang(*queues)  # type: ignore[arg-type]
    gang.nodes(**(nodes or {"n1": cores, "n2": cores}))
    return gang


@pytest.mark.remuda_rule("SEED-120", "SEED-123")
@pytest.mark.remuda_rule(
    "GANG-1", "GANG-5", "GANG-10", "GANG-14", "GANG-17", "GANG-21", "GANG-24", "APP-7"
)
def test_normal() -> None:
    gang = begin()
    assert gang.submit("a1", TWO, "Soft") == ["accepted[a1]"]
    assert gang.hold("p1", "p2", app="a1") == ["updated[a1 Accepted]"]
    assert gang.deadline("a1") == 0
    assert gang.run() == ["new[p1-0 n1]", "updated[a1 Starting]", "new[p2-0 n2]"]
    assert gang.deadline("a1") == START + TIMEOUT
    assert gang.want("r1", "r2", app="a1") == []
    assert gang.run() == ["released[p1-0 REPLACED]", "released[p2-0 REPLACED]"]
    assert gang.confirm("p1-0", app="a1") == ["new[r1-0 n1]"]
    assert (gang.data(app="a1"), gang.state("a1")) == ((2, 1, 0), "Starting")
    assert gang.confirm("p2-0", app="a1") == ["updated[a1 Running]", "new[r2-0 n2]"]
    assert (gang.data(app="a1"), gang.deadline("a1")) == ((2, 2, 0), 0)
    assert gang.run() == []


def short(style: str) -> Gang:
    """A gang of which one placeholder is placed and one is not, 15 minutes later."""
    gang = begin(n1=1)
    gang.submit("a1", TWO, style)
    assert gang.hold("p1", "p2", app="a1") == ["updated[a1 Accepted]"]
    assert gang.run() == ["new[p1-0 n1]"]
    assert gang.run(TIMEOUT - 1) == []
    return gang


@pytest.mark.remuda_rule("SEED-45")
@pytest.mark.remuda_rule("GANG-23", "GANG-24", "GANG-25", "SI-27", "SI-78", "SI-79", "APP-11")
def test_hard() -> None:
    gang = short("Hard")
    assert gang.run(1) == [
        "updated[a1 Failing ResourceReservationTimeout]",
        "releasedAsk[p2 TIMEOUT]",
        "released[p1-0 TIMEOUT]",
    ]
    assert gang.confirm("p1-0", app="a1", kind=c.TIMEOUT) == ["updated[a1 Failed]"]
    assert gang.apps() == {}
    assert gang.run() == []


@pytest.mark.remuda_rule("SEED-45")
@pytest.mark.remuda_rule(
    "GANG-23", "GANG-24", "GANG-25", "SI-27", "SI-78", "SI-79", "APP-13", "APP-4"
)
def test_soft() -> None:
    gang = short("Soft")
    assert gang.run(1) == [
        "updated[a1 Resuming ResourceReservationTimeout]",
        "releasedAsk[p2 TIMEOUT]",
        "released[p1-0 TIMEOUT]",
    ]
    assert gang.confirm("p1-0", app="a1", kind=c.TIMEOUT) == ["updated[a1 Accepted]"]
    assert gang.want("r1", "r2", app="a1") == []
    gang.nodes(n2=1)
    assert gang.run() == [
        "updated[a1 Starting]",
        "new[r1-0 n1]",
        "updated[a1 Running]",
        "new[r2-0 n2]",
    ]


@pytest.mark.remuda_rule("GANG-15", "GANG-11", "SI-112")
def test_too_small() -> None:
    gang = begin(leaf("a", {"vcore": 2}))
    gang.submit("a1", TWO)
    gang.hold("p1", "p2", app="a1")
    gang.run()
    assert gang.want("r1", app="a1", size=TWO) == []
    assert gang.run() == ["released[p1-0 TIMEOUT]", "released[p2-0 TIMEOUT]"]
    assert gang.confirm("p1-0", app="a1", kind=c.TIMEOUT) == []
    assert gang.run() == []
    assert gang.confirm("p2-0", app="a1", kind=c.TIMEOUT) == []
    assert gang.data(app="a1") == (2, 0, 2)
    assert gang.run() == ["updated[a1 Running]", "new[r1-0 n1]"]


@pytest.mark.remuda_rule("GANG-30", "GANG-31", "GANG-32", "APP-8", "SI-79")
def test_clean_up() -> None:
    gang = begin()
    gang.submit("a1", {"vcore": 3})
    gang.hold("p1", "p2", "p3", app="a1")
    gang.want("r1", "r2", app="a1")
    gang.run()
    gang.confirm("p1-0", "p2-0", app="a1")
    assert gang.runs("a1") == ["r1-0", "r2-0"]
    assert gang.confirm("r1-0", "r2-0", app="a1", kind=c.STOPPED_BY_RM) == [
        "released[r1-0 STOPPED]",
        "updated[a1 Completing]",
        "released[r2-0 STOPPED]",
    ]
    assert gang.run(WAITING - 1) == []
    assert gang.run(1) == ["released[p3-0 TIMEOUT]"]
    assert gang.confirm("p3-0", app="a1", kind=c.TIMEOUT) == ["updated[a1 Completed]"]
    assert gang.apps() == {}


@pytest.mark.remuda_rule("GANG-9", "GANG-10", "GANG-24")
@pytest.mark.parametrize("limit", [1, 2])
def test_however_a_run_is_cut_into_steps_the_sequence_is_the_same(limit: int) -> None:
    def told(most: int) -> list[str]:
        gang = begin()
        gang.submit("a1", {"vcore": 3})
        gang.hold("p1", "p2", app="a1")
        gang.hold("q1", app="a1", group="h")
        gang.want("r1", "r2", app="a1")
        gang.want("s1", app="a1", group="h")
        gang.submit("a2")
        gang.want("k", app="a2", group="", size=ONE)
        lines: list[str] = []
        for _ in range(20):
            lines += heard(gang.step(most))
        assert not gang.scheduler.has_work()
        return lines

    whole = told(100)
    assert "released[q1-0 REPLACED]" in whole
    assert told(limit) == whole
