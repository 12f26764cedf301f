"""Sessions: progress, calibration, machines, and what the command explains."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest

from remuda.bench.clusters.shapes import SHAPES, WIDE
from remuda.bench.suites import catalogue as suites
from remuda.bench.suites import session
from remuda.bench.suites.calibration import Calibration, calibrate
from remuda.bench.suites.catalogue import CORE
from remuda.bench.suites.machine import this_machine
from remuda.bench.suites.session import measure_all, warnings
from remuda.bench.throughput.run import Percentiles, Result
from remuda.cli.bench import bench
from remuda.runtime.build import core_build
from tests.unit.bench.sessions import session_of, shown

BUSY = Result("S1", 20_000.0, Percentiles(40.0, 90.0), 2**20, "interpreted", "d")


def test_every_name_is_explained() -> None:
    text = bench.__doc__ or ""
    for name in (name for suite in suites.SUITES for name in (suite.names or suite.shape_names())):
        assert re.search(rf"^      {name}\b", text, re.MULTILINE), name
    for shape in (*SHAPES, *WIDE):
        assert re.search(rf"^      ([SW]\d+, )*{shape.name}\b", text, re.MULTILINE), shape.name


def test_names_of_suites_and_shapes_differ() -> None:
    shapes = [name for suite in suites.SUITES for name in suite.shape_names()]
    assert len(set(shapes)) == len(shapes)
    assert len(set(suites.known_names())) == len(suites.known_names())


def test_a_shape_is_run_as_often_as_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = replace(SHAPES[0], nodes=5, queues=2, applications=1, asks=50)
    core = replace(CORE, shapes=(tiny,))
    monkeypatch.setattr(suites, "SUITES", (core,))
    err = io.StringIO()
    found = measure_all([], 2, err)
    (measured,) = found.shapes
    assert err.getvalue() == ""
    first, second = (run.figures for run in measured.runs)
    assert measured.median in {id(first): first, id(second): second}.values()
    assert isinstance(first, Result)
    assert isinstance(second, Result)
    assert first.digest == second.digest
    assert all(run.calibration_milliseconds.before > 0 for run in measured.runs)


class Terminal(io.StringIO):
    """What thinks it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = replace(SHAPES[0], nodes=5, queues=2, applications=1, asks=50)
    monkeypatch.setattr(suites, "SUITES", (replace(CORE, shapes=(tiny,)),))
    err = Terminal()
    measure_all(["s1"], 1, err)
    assert "1 of 1 runs" in err.getvalue()


def test_a_machine_that_changed_its_speed_is_warned_of() -> None:
    steady, slower = Calibration(50.0, 54.9), Calibration(50.0, 60.0)
    assert slower.drift() == pytest.approx(Calibration(60.0, 50.0).drift()) == pytest.approx(0.2)
    assert warnings(session_of(BUSY, calibration=steady)) == []
    warned = shown(session_of(BUSY, calibration=slower))
    assert warned[-2] == (
        "warning: S1: the machine was not equally fast in 1 of 1 runs, by up to 20%"
    )


def test_the_calibration_takes_a_while() -> None:
    assert calibrate() > 1.0


def test_the_machine_is_known() -> None:
    machine = this_machine()
    assert machine.build == core_build()
    assert machine.cores > 0
    assert machine.cpu
    assert re.fullmatch(r"\w+ 3\.\d+\.\S+", machine.python)
    assert session.as_json(session_of(BUSY)).endswith("\n")
