"""What the gate of costs says about figures, and where it keeps those that were recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from remuda.bench.clusters.shapes import SHAPES
from tests.waiting import wait
from tools.gate import reference
from tools.gate.cases import Case, Proportion
from tools.gate.company import Company
from tools.gate.judge import TIME, WORK, Kind, Samples, compare, weigh
from tools.gate.work import instructions

PROMISE = Proportion("large", "small", 1.5, "size costs little")


@pytest.mark.parametrize("kind,most,least", [(TIME, 1.18, 0.60), (WORK, 1.05, 0.90)])
def test_figures_may_differ_a_little_from_those_recorded(
    kind: Kind, most: float, least: float
) -> None:
    for ratio in (least + 0.001, 1.0, most - 0.001):
        assert list(compare(kind, {"S1": 400 * ratio}, {"S1": 400.0})) == []


def test_a_slow_down_of_30_percent_is_told_with_both_figures() -> None:
    for kind in (TIME, WORK):
        ((case, line),) = compare(kind, {"S1": 520.0, "S2": 7.0}, {"S1": 400.0, "S2": 7.0})
        assert case == "S1"
        assert line.startswith(f"S1: 520.0 of {kind.name} per allocation; 400.0 is recorded")
        assert "30% more" in line


@pytest.mark.parametrize("kind", [TIME, WORK])
def test_one_shape_that_is_30_percent_slower_than_the_others_is_told(kind: Kind) -> None:
    """Also on a day on which all of them take longer."""
    recorded = dict.fromkeys(("S1", "S2", "S3"), 400.0)
    for common in (1.0, 1.04):
        measured = {"S1": 400.0 * common, "S2": 520.0 * common, "S3": 400.0 * common}
        assert [case for case, _ in compare(kind, measured, recorded)] == ["S2"]


def test_a_day_on_which_all_times_are_larger_closes_nothing_and_60_percent_of_all_do() -> None:
    recorded = dict.fromkeys(("S1", "S2", "S3", "S4"), 400.0)
    slow = {"S1": 540.0, "S2": 560.0, "S3": 562.0, "S4": 590.0}
    assert list(compare(TIME, slow, recorded)) == []
    all_slower = {case: 1.6 * figure for case, figure in recorded.items()}
    told = dict(compare(TIME, all_slower, recorded))
    assert list(told) == list(recorded)
    assert told["S1"].endswith("60% more, at most 50% of all shapes is let pass")
    assert len(list(compare(WORK, slow, recorded))) == len(slow)


def test_a_gain_has_to_be_recorded_lest_a_later_loss_hides_in_it() -> None:
    ((_, line),) = compare(WORK, {"S1": 300.0}, {"S1": 400.0})
    assert "25% less: keep the gain" in line


def test_a_case_that_was_never_recorded_is_told() -> None:
    ((_, line),) = compare(WORK, {"new": 300.0}, {"S1": 400.0})
    assert line.startswith("new: its work was never recorded")


def test_a_promised_proportion_is_judged_without_any_record() -> None:
    assert list(weigh(TIME, {"small": 2.0, "large": 3.0}, [PROMISE])) == []
    ((case, line),) = weigh(TIME, {"small": 2.0, "large": 3.1}, [PROMISE])
    assert case == "large"
    assert line == "large: 1.55 times the time of small, not 1.50: size costs little"
    assert list(weigh(TIME, {"small": 2.0}, [PROMISE])) == []


def test_of_several_runs_the_quickest_counts() -> None:
    """Also of the calibration, each of its own scale; a larger one is told in small ones."""
    samples = Samples()
    small, large = Case("small", SHAPES[0]), Case("large", SHAPES[0], scale=10)
    for calibration, allocation in ((0.10, 50e-6), (0.08, 60e-6)):
        samples.add(small, calibration, allocation)
        samples.add(large, 11 * calibration, 2 * allocation)
    assert samples.seconds() == {"small": 50e-6, "large": 100e-6}
    assert samples.costs() == {"small": 625.0, "large": 1136.4}


def test_a_record_is_read_as_written_and_leaves_those_of_other_builds(tmp_path: Path) -> None:
    file = tmp_path / "reference.toml"
    assert reference.read(file).builds == {}
    reference.record("interpreted", "A 1", {"S1": 400.5}, {"S1": 5000.0, "more": 1.0}, file)
    reference.record("interpreted", "B 2", {"S1": 300.0}, {"S1": 5001.0}, file)
    reference.record("interpreted", "C 3", {}, {}, file)
    reference.record("compiled", "A 1", {"S1": 100.0}, {}, file)
    builds = reference.read(file).builds
    assert builds["interpreted"].time == {"A 1": {"S1": 400.5}, "B 2": {"S1": 300.0}}
    assert builds["interpreted"].work == {"S1": 5001.0, "more": 1.0}
    assert builds["compiled"] == reference.Recorded({"A 1": {"S1": 100.0}})


def test_times_are_compared_with_those_of_the_same_processor() -> None:
    recorded = reference.Recorded({"A": {"S1": 400.5}, "B 2": {"S1": 300.0}})
    assert recorded.time_on("A 1.7") == {"S1": 400.5}
    assert recorded.time_on("B 2") == {"S1": 300.0}
    assert recorded.time_on("B 1") is None


def test_records_of_another_calibration_are_dropped(tmp_path: Path) -> None:
    file = tmp_path / "reference.toml"
    reference.record("interpreted", "A 1", {"S1": 400.5}, {}, file)
    digest = reference.calibration_digest()
    file.write_text(file.read_text().replace(digest, "0123"))
    reference.record("compiled", "A 1", {"S1": 100.0}, {}, file)
    assert list(reference.read(file).builds) == ["compiled"]


def test_the_records_are_of_the_calibration_that_runs() -> None:
    assert reference.read().calibration == reference.calibration_digest()


def test_instructions_are_counted_exactly() -> None:
    def loop(count: int) -> None:
        for _ in range(count):
            pass

    counts = [instructions(partial(loop, n)) for n in (1_000, 1_000, 2_000)]
    assert counts[0] == counts[1]
    assert counts[2] - counts[1] == pytest.approx(3_000, abs=1_001)


def test_the_unrest_of_a_machine_is_that_of_its_calibrations() -> None:
    samples = Samples()
    assert samples.unrest() == 1.0
    for scale, calibrations in ((1, (1.0, 1.02, 1.05)), (2, (2.0, 3.0, 2.4))):
        case = Case(f"S{scale}", SHAPES[0], scale=scale)
        for seconds in calibrations:
            samples.add(case, seconds, 0.1)
    assert samples.unrest() == pytest.approx(1.2)


def test_another_process_that_works_is_seen() -> None:
    company = Company()
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        wait(lambda: company.share() > 0.1)
    finally:
        other.kill()
        other.wait()


def test_what_others_take_is_told_as_a_share_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "stat"
    now = [100.0]
    own = [7.0]
    monkeypatch.setattr("tools.gate.company.MACHINE", table)
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.process_time", lambda: own[0])
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    ticks = os.sysconf("SC_CLK_TCK")

    def write(user: int, system: int, stolen: int) -> None:
        idle = iowait = guest = 10**9
        columns = (user, 0, system, idle, iowait, 0, 0, stolen, guest, 0)
        table.write_text("cpu  " + " ".join(str(each * ticks) for each in columns) + "\ncpu0 1\n")

    write(50, 20, 3)
    company = Company()
    assert company.share() == 0
    now[0] += 10
    own[0] += 8
    write(57, 21, 3)
    assert company.share() == 0
    write(60, 22, 6)
    assert company.share() == pytest.approx((10 + 2 + 3 - 8) / 40)
    # Ticks may tell more than the time that passed.
    write(100, 22, 6)
    assert company.share() == 1
    table.write_text("no table\n")
    assert company.share() == 0
