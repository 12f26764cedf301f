"""Decisions of two runs of a shape, and of two builds."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import remuda
from remuda.base.errors import UsageError
from remuda.bench.clusters.shapes import MIXED, SHAPES, WIDE, Shape
from remuda.bench.suites.compare import Comparison, as_comparison, compared, read_session
from remuda.bench.suites.session import as_json
from remuda.bench.throughput.run import Percentiles, Receiver, Result, decisions_digest, measure
from remuda.runtime.build import core_build
from tests.unit.bench.sessions import session_of

SMALL = [
    replace(shape, nodes=30, queues=3, applications=4, asks=700, backlog=0)
    for shape in (*SHAPES, *WIDE, *MIXED)
    if shape.name in {"S1", "S4", "S7", "S9", "S10", "W4", "W5", "M4", "M5"}
]
INTERPRETED = Path(__file__).parents[3] / "src"
COMPILED = Path(__file__).parents[3] / "build" / "compiled"

# Prints the digest of each of those shapes, in a process of another build.
OTHER_BUILD = """
from remuda.bench.throughput.run import measure
from remuda.runtime.build import core_build
from tests.unit.bench.test_digest import SMALL
print(core_build(), *(measure(shape).digest for shape in SMALL))
"""


@pytest.mark.parametrize("shape", SMALL, ids=lambda shape: shape.name)
def test_two_runs_of_a_shape_decide_the_same(shape: Shape) -> None:
    assert measure(shape).digest == measure(shape).digest


def test_other_shapes_decide_otherwise() -> None:
    assert len({measure(shape).digest for shape in SMALL}) > 1
    spread, packed = SMALL[0], SMALL[1]
    assert measure(spread).digest != measure(replace(packed, name="S1")).digest


def test_a_digest_knows_the_order_and_the_nodes() -> None:
    def digest(*placed: tuple[str, str]) -> str:
        receiver = Receiver()
        receiver.placed = list(placed)
        return decisions_digest(receiver)

    first = digest(("k-1", "n-1"), ("k-2", "n-2"))
    assert first == digest(("k-1", "n-1"), ("k-2", "n-2"))
    assert first != digest(("k-2", "n-2"), ("k-1", "n-1"))
    assert first != digest(("k-1", "n-2"), ("k-2", "n-1"))


def test_both_builds_decide_the_same() -> None:
    compiled = core_build() == "compiled"
    other = INTERPRETED if compiled else COMPILED
    if not (other / "remuda").is_dir():
        pytest.skip("there is no compiled package; `make compile` makes one")
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", OTHER_BUILD],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(other), root))},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    build, *digests = done.stdout.split()
    assert build == ("interpreted" if compiled else "compiled")
    assert digests == [measure(shape).digest for shape in SMALL], remuda.__file__


def result(shape: str, rate: float, digest: str) -> Result:
    """A result of some rate and decisions."""
    return Result(shape, rate, Percentiles(1.0, 2.0), 2**20, "interpreted", digest)


def test_a_session_is_compared_with_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "earlier.json"
    before = session_of(result("S1", 100.0, "a"), result("S2", 100.0, "b"), result("S3", 1.0, "c"))
    path.write_text(as_json(before))
    now = session_of(result("S1", 125.0, "a"), result("S2", 50.0, "x"), result("S4", 1.0, "d"))
    earlier = read_session(path)
    assert compared(now, earlier) == [
        Comparison("S1", 125.0, 100.0, 1.25, equal_decisions=True),
        Comparison("S2", 50.0, 100.0, 0.5, equal_decisions=False),
    ]
    out = io.StringIO()
    as_comparison(replace(now, machine=replace(now.machine, build="compiled")), earlier, out)
    _, first, second, build = out.getvalue().splitlines()
    assert first.split() == ["S1", "125", "100", "1.25", "equal"]
    assert second.split() == ["S2", "50", "100", "0.50", "DIFFERENT"]
    assert build == "earlier: build interpreted, now compiled"


def test_sessions_without_a_shape_in_common_are_said_to_have_none(tmp_path: Path) -> None:
    path = tmp_path / "earlier.json"
    path.write_text(as_json(session_of(result("S1", 100.0, "a"))))
    out = io.StringIO()
    as_comparison(session_of(result("S2", 100.0, "a")), read_session(path), out)
    assert out.getvalue() == "compared: no shape with decisions is in both\n"


def test_a_file_that_holds_no_session_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "earlier.json"
    with pytest.raises(UsageError, match=r"earlier.json: No such file"):
        read_session(path)
    path.write_text("[]")
    with pytest.raises(UsageError, match="not written by remuda bench --output json"):
        read_session(path)
