"""Study files: what they mean, and every fault with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.base.errors import ConfigError, UsageError
from remuda.study import sample
from remuda.study.plan import Alternative, Failures, Variation
from remuda.study.reading import read_study

SAMPLE = Path(sample.__file__).parent / "study.yaml"
TRACES = "traces: [{name: t, workload: t.csv, nodes: 1xgpu=4}]\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "study.yaml"
    path.write_text(text)
    return path


@pytest.mark.remuda_rule("EXT-55")
def test_the_sample_is_read_whole() -> None:
    study = read_study(SAMPLE)
    assert study.title == "Guarantees and node order"
    (trace,) = study.traces
    assert trace.workload.resolve().name == "workload.csv"
    assert trace.workload.exists()
    assert [each.name for each in study.configurations] == ["no-guarantees", "guarantees"]
    assert [each.node_sort for each in study.variants] == ["fair", "binpacking"]
    assert study.seeds == (0, 1, 2, 3, 4)
    assert study.variation == Variation(600 * 10**9, 0.2, Failures(500_000, 3_600))
    assert study.baseline == Alternative("no-guarantees", "spread")
    assert study.confidence == 0.95


@pytest.mark.remuda_rule("EXT-55")
def test_what_is_left_out_has_a_default(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, TRACES))
    assert study.alternatives() == [Alternative("own", "plain")]
    assert study.seeds == (0,)
    assert study.title == "study"
    assert study.variation == Variation()
    assert study.traces[0].workload == tmp_path / "t.csv"
    assert study.traces[0].nodes == "1xgpu=4"


@pytest.mark.remuda_rule("EXT-55")
def test_the_baseline_comes_first(tmp_path: Path) -> None:
    more = "variants: [{name: a}, {name: b}, {name: c}]\nbaseline: {variant: b}\nfirst-seed: 7\n"
    study = read_study(written(tmp_path, TRACES + more))
    assert [each.variant for each in study.alternatives()] == ["b", "a", "c"]
    assert study.seeds == (7,)


@pytest.mark.remuda_rule("EXT-55")
@pytest.mark.parametrize(
    "text,problem",
    [
        ("", "a study is a mapping"),
        ("- 1\n", "a study is a mapping"),
        ("seeds: 2\n", ":1:1: a study must have the key traces"),
        ("traces: []\n", ":1:9: traces: the list is empty"),
        ("traces: [{name: t}]\n", ":1:10: traces[0]: a trace must have the key workload"),
        ("traces: [{name: T, workload: w}]\n", ":1:17: traces[0].name: T is not a name"),
        (TRACES + "colour: red\n", ":2:1: a study has no key colour"),
        (TRACES + "seeds: 0\n", ":2:8: seeds: 0 is not from 1 to 1000"),
        (TRACES + "seeds: many\n", ":2:8: seeds: cannot unmarshal many into a whole number"),
        (TRACES + "seeds: 1\nseeds: 2\n", ":3:1: key seeds already defined at line 2"),
        (TRACES + "confidence: 1\n", ":2:13: confidence: 1 is not from 0.5 to 0.999"),
        (TRACES + "confidence: .nan\n", "confidence: nan is not from"),
        (TRACES + "variants: [{name: a}, {name: a}]\n", ":2:23: variants[1]: another one is named"),
        (
            TRACES + "variants: [{name: a, node-sort: best}]\n",
            "variants[0].node-sort: best is not known [EXT-55]; write one of fair, binpacking",
        ),
        (
            TRACES + "variants: [{name: a, reservation-delay: soon}]\n",
            "variants[0].reservation-delay: soon is not a duration above 0",
        ),
        (TRACES + "variants: [{name: a, preemption: 3}]\n", "cannot unmarshal 3 into a boolean"),
        (TRACES + "variation: {arrival-jitter: -1}\n", "variation.arrival-jitter: '-1' is not"),
        (TRACES + "variation: {run-time-noise: 1}\n", "variation.run-time-noise: 1 is not from"),
        (
            TRACES + "variation: {node-failures: {every: 5}}\n",
            "variation.node-failures: a node failures must have the key repair",
        ),
        (
            TRACES + "variation: {node-failures: {every: 0.5, repair: 5}}\n",
            "variation.node-failures.every: it is less than 1 s",
        ),
        (TRACES + "baseline: {variant: b}\n", "baseline.variant: no variant is named b"),
        ("traces: [\n", "not YAML"),
    ],
)
def test_a_fault_is_one_line_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_study(path)
    line = caught.value.problems[0].text(caught.value.source)
    assert line.startswith(str(path))
    assert problem in line
    assert "; " in line
    assert "\n" not in line


def test_all_faults_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_study(written(tmp_path, TRACES + "seeds: 0\ncolour: red\nconfidence: 2\n"))
    assert len(caught.value.problems) == 3


@pytest.mark.remuda_rule("EXT-55")
def test_more_runs_than_the_limit_are_refused(tmp_path: Path) -> None:
    names = ", ".join(f"{{name: v{number}}}" for number in range(101))
    with pytest.raises(ConfigError, match="101,000 runs are more than 100,000"):
        read_study(written(tmp_path, f"{TRACES}variants: [{names}]\nseeds: 1000\n"))


def test_a_missing_or_binary_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*none.yaml"):
        read_study(tmp_path / "none.yaml")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_study(tmp_path / "b.yaml")
