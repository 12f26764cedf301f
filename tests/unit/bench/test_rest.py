"""The benchmark of a scheduler that is read, with small numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from remuda.bench.clusters.shapes import Shape
from remuda.bench.services.rest import REST, Part, RestResult, RestShape, measure_rest
from remuda.bench.suites.catalogue import chosen
from remuda.bench.throughput.idle import Reaction
from tests.unit.bench.sessions import session_of, shown

PACED = RestShape("r1", Shape("r1", 20, 2, 2, 2_000), 300, paced=True, seconds=0.2)
BUSY = RestShape("r2", Shape("r2", 20, 2, 1, 1_000), 100, paced=False, seconds=0.3)


@pytest.mark.remuda_rule("DMP-17")
def test_asks_are_timed_while_nobody_reads_and_while_somebody_does() -> None:
    result = measure_rest(PACED)
    assert [part.what for part in result.parts] == [
        *("nobody reads", "dumps are read", "nodes are read"),
    ]
    for part in result.parts:
        times = part.milliseconds
        assert part.count == 200
        assert 0 < times.p50 <= times.p99 <= times.max < 5_000
        assert (part.answers > 0) == (part.kibibytes > 0) == (part.what != "nobody reads")


@pytest.mark.remuda_rule("REST-144")
def test_asks_are_timed_while_many_others_that_wait_are_read() -> None:
    shape = replace(PACED, filled=0, waiting=2_500)
    result = measure_rest(shape)
    assert [part.what for part in result.parts] == [
        *("nobody reads", "asks are read", "reasons are read"),
    ]
    assert [part.answers > 0 for part in result.parts] == [False, True, True]
    assert all(part.grown_bytes >= 0 for part in result.parts)


@pytest.mark.remuda_rule("REST-29", "REST-33")
def test_answers_are_timed_while_the_scheduler_is_busy() -> None:
    result = measure_rest(BUSY)
    assert [part.what for part in result.parts] == [
        *("nobody reads", "queue tree", "leaf applications"),
    ]
    assert all(part.rate > 100 for part in result.parts)
    assert all(part.milliseconds.p99 > 0 and part.kibibytes > 0 for part in result.parts[1:])


def test_the_shapes_are_those_of_the_targets() -> None:
    r1, r2, *waiting = REST
    assert (r1.cluster.nodes, r1.filled, r1.paced) == (10_000, 100_000, True)
    assert (r2.cluster.nodes, r2.filled, r2.cluster.queues) == (5_000, 50_000, 100)
    assert r2.filled // r2.cluster.queues == 500
    assert [name for _, name in chosen(["rest"])] == ["R1", "R2", "R3", "R4", "R5"]
    assert [shape.waiting for shape in waiting] == [100_000, 300_000, 1_000_000]
    ((suite, name),) = chosen(["r1"])
    assert suite.task(name) == (measure_rest, r1)


def test_what_was_read_has_a_table() -> None:
    part = Part("dumps are read", Reaction(0.5, 2.25, 9.0), 1_000, 2, 40_960, 1_000.0)
    result = RestResult("R1", (part,), 2**20, "interpreted")
    head, row, build = shown(session_of(result))
    assert "placed/s" in head
    assert row.split() == [
        *(
            "R1",
            "dumps",
            "are",
            "read",
            "0.50",
            "2.25",
            "9.00",
            "2",
            "40,960",
            "1,000",
            "0",
        ),
    ]
    assert build == "build: interpreted"
