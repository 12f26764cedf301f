"""The benchmark of a scheduler that can place nothing, with small numbers."""

from __future__ import annotations

import io
import json

import pytest

from remuda.base.errors import UsageError
from remuda.bench.clusters.shapes import IDLE, SHAPES, Shape
from remuda.bench.suites.catalogue import chosen
from remuda.bench.suites.session import as_json, measure_all
from remuda.bench.throughput.idle import IdleResult, Reaction, measure_idle
from remuda.bench.throughput.run import Percentiles, Result
from tests.unit.bench.sessions import session_of, shown

SMALL = Shape("small", 20, 2, 2, 25, backlog=300)


@pytest.mark.remuda_rule("SI-10")
def test_a_backlog_that_fits_nowhere_costs_nothing_and_delays_nobody() -> None:
    result = measure_idle(SMALL, settle_s=0.0, idle_s=0.5, pause_s=0.0)
    assert (result.shape, result.nodes, result.waiting) == ("small", 20, 300)
    # Bounds for any machine; the figures to look at are those of the large shape.
    assert 0 <= result.cpu_share < 0.2
    reaction = result.reaction_milliseconds
    assert 0 < reaction.p50 <= reaction.p99 <= reaction.max < 1_000


def test_the_idle_shape_is_measured_only_if_it_is_named() -> None:
    assert (IDLE.nodes, IDLE.backlog) == (10_000, 100_000)
    assert IDLE not in SHAPES
    assert [name for _, name in chosen([])] == [shape.name for shape in SHAPES]
    ((suite, name),) = chosen(["IDLE"])
    assert suite.task(name) == (measure_idle, IDLE)


def test_a_name_that_stands_for_nothing_is_refused_with_a_hint() -> None:
    with pytest.raises(UsageError, match=r"no shape 'node'; did you mean nodes( or \S+)*\? remuda"):
        measure_all(["S1", "node"], 1, io.StringIO())
    with pytest.raises(UsageError, match="no shape 'xyz'; remuda bench --help explains all names"):
        chosen(["xyz"])


BUSY = Result("S1", 20_000.0, Percentiles(40.0, 90.0), 2**20, "interpreted", "d")
LAZY = IdleResult("idle", 10_000, 100_000, 0.0012, Reaction(0.5, 2.25, 9.0), 2**21, "interpreted")


def test_each_kind_of_figure_has_a_table_of_its_own() -> None:
    busy_head, busy, idle_head, idle, build = shown(session_of(BUSY, LAZY))
    assert "allocations/s" in busy_head
    assert busy.split() == ["S1", "20,000", "40.0", "90.0", "1"]
    assert "CPU" in idle_head
    assert idle.split() == ["idle", "10,000", "100,000", "0.12%", "0.50", "2.25", "9.00", "2"]
    assert build == "build: interpreted"


def test_figures_for_machines_are_those_of_each_run_and_the_machine() -> None:
    found = json.loads(as_json(session_of(BUSY, LAZY)))
    assert found["machine"] == {
        "cpu": "a processor",
        "cores": 2,
        "system": "Linux 6",
        "python": "CPython 3.11.7",
        "build": "interpreted",
        "version": "1.0",
    }
    first, second = found["shapes"]
    assert first["shape"] == "S1"
    assert first["median"]["allocations_per_second"] == 20_000
    (run,) = first["runs"]
    assert run["figures"] == first["median"]
    assert run["calibration_milliseconds"] == {"before": 50.0, "after": 51.0}
    assert second["median"]["cpu_share"] == 0.0012
    assert second["median"]["reaction_milliseconds"] == {"p50": 0.5, "p99": 2.25, "max": 9.0}
