"""The Parquet files of a study say what its CSV files say, with types."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from remuda.base.errors import UsageError
from remuda.cli.extras import require
from remuda.sim import sample as trace
from remuda.study.lab import run_study
from remuda.study.tables import Sheet

pyarrow = pytest.importorskip("pyarrow", reason="the library pyarrow is not installed (make study)")

TRACE = Path(trace.__file__).parent
STUDY = f"""
traces: [{{name: "007", workload: {TRACE}/workload.csv, nodes: {TRACE}/nodes.csv, to: 9000}}]
variants: [{{name: spread}}, {{name: packed, node-sort: binpacking}}]
seeds: 2
"""
NAMES = ["comparisons", "queues", "runs"]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study.yaml"
    path.write_text(STUDY)
    return path


@pytest.mark.remuda_rule("EXT-99", "EXT-59")
def test_each_table_is_the_same_in_both_forms(study: Path, tmp_path: Path) -> None:
    from pyarrow import parquet  # noqa: PLC0415 - only if it is installed

    found = run_study(study, tmp_path / "one", workers=1, parquet=True)
    run_study(study, tmp_path / "two", workers=2, parquet=True)
    assert sorted(each.stem for each in (tmp_path / "one").glob("*.parquet")) == NAMES
    for name in NAMES:
        file = tmp_path / "one" / f"{name}.parquet"
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
        table = parquet.read_table(file)
        head, *rows = csv.reader((tmp_path / "one" / f"{name}.csv").read_text().splitlines())
        assert table.column_names == head
        cells = [
            ["" if each is None else each for each in row.values()] for row in table.to_pylist()
        ]
        assert len(cells) == len(rows) > 0
        for row, line in zip(cells, rows, strict=True):
            assert [
                type(each)(text) if text else text for each, text in zip(row, line, strict=True)
            ] == row
    runs = parquet.read_table(tmp_path / "one" / "runs.parquet")
    assert runs.column("trace").to_pylist() == ["007"] * len(found.results)
    types = {field.name: str(field.type) for field in runs.schema}
    assert (types["seed"], types["wait_mean"], types["run"]) == ("int64", "double", "string")


@pytest.mark.remuda_rule("EXT-99")
def test_files_of_earlier_results_go(study: Path, tmp_path: Path) -> None:
    run_study(study, tmp_path, workers=1, parquet=True)
    run_study(study, tmp_path, workers=1)
    assert not list(tmp_path.glob("*.parquet"))


@pytest.mark.remuda_rule("EXT-99")
def test_a_table_without_rows_has_its_columns_and_cells_may_be_missing() -> None:
    from pyarrow import parquet  # noqa: PLC0415

    from remuda.study.parquet import packed  # noqa: PLC0415

    columns = ("trace", "seeds", "low")
    for rows in ([], [["=a", 3, None], ["b", 4, 0.5]]):
        table = parquet.read_table(pyarrow.BufferReader(packed(Sheet("x", columns, rows))))
        assert [str(field.type) for field in table.schema] == ["string", "int64", "double"]
        assert [list(row.values()) for row in table.to_pylist()] == rows


def test_without_the_library_the_command_says_what_to_install() -> None:
    with pytest.raises(UsageError, match=r"--parquet needs pyarroww, .* 'remuda\[parquet\]'"):
        require("parquet", "--parquet", "pyarroww")
