"""The runs of a study and their IDs."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.base.errors import UsageError
from remuda.study.plan import runs_of
from remuda.study.reading import read_study

STUDY = """
traces: [{name: t, workload: t.csv, nodes: nodes.csv}]
configurations: [{name: own}, {name: given, file: queues.yaml}]
variants: [{name: a}, {name: b, preemption: true}]
seeds: 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("t.csv", "nodes.csv", "queues.yaml"):
        (tmp_path / name).write_text(name)
    return tmp_path


def ids(folder: Path, text: str = STUDY) -> list[str]:
    (folder / "study.yaml").write_text(text)
    return [run.run_id for run in runs_of(read_study(folder / "study.yaml"))]


@pytest.mark.remuda_rule("EXT-56")
def test_there_is_a_run_for_each_trace_configuration_variant_and_seed(folder: Path) -> None:
    names = [run_id.rpartition(".")[0] for run_id in ids(folder)]
    assert names == [
        *("t.own.a.0", "t.own.a.1", "t.own.b.0", "t.own.b.1"),
        *("t.given.a.0", "t.given.a.1", "t.given.b.0", "t.given.b.1"),
    ]


@pytest.mark.remuda_rule("EXT-56")
@pytest.mark.parametrize(
    "name,changed",
    [("t.csv", range(8)), ("nodes.csv", range(8)), ("queues.yaml", range(4, 8))],
)
def test_a_changed_file_changes_the_runs_that_read_it(
    folder: Path, name: str, changed: range
) -> None:
    before = ids(folder)
    (folder / name).write_text("other")
    after = ids(folder)
    assert [place for place in range(8) if before[place] != after[place]] == list(changed)


@pytest.mark.remuda_rule("EXT-56")
def test_more_seeds_leave_the_runs_there_were_as_they_are(folder: Path) -> None:
    assert set(ids(folder)) < set(ids(folder, STUDY.replace("seeds: 2", "seeds: 3")))


@pytest.mark.remuda_rule("EXT-56")
@pytest.mark.parametrize(
    "before,after",
    [
        ("preemption: true", "preemption: false"),
        ("{name: b,", "{name: b, gangs: soft,"),
        ("{name: b,", "{name: b, reservation-delay: 3s,"),
        ("{name: b,", "{name: b, node-sort: fair,"),
        ("seeds: 2", "seeds: 2\nvariation: {arrival-jitter: 1}"),
        ("seeds: 2", "seeds: 2\nvariation: {run-time-noise: 0.1}"),
        ("seeds: 2", "seeds: 2\nvariation: {node-failures: {every: 9, repair: 1}}"),
        ("workload: t.csv,", "workload: t.csv, to: 5,"),
    ],
)
def test_what_determines_a_run_is_in_its_id(folder: Path, before: str, after: str) -> None:
    assert before in STUDY
    assert ids(folder)[3] != ids(folder, STUDY.replace(before, after))[3]


def test_the_title_is_not_in_the_id(folder: Path) -> None:
    assert ids(folder) == ids(folder, f"{STUDY}title: other\nconfidence: 0.9\n")


def test_a_file_that_is_missing_is_one_line(folder: Path) -> None:
    (folder / "t.csv").unlink()
    with pytest.raises(UsageError, match=r"cannot read .*t.csv: No such file"):
        ids(folder)
