"""Runs a study: from its file to the files in the output folder.

``run_study`` is the Python API of the laboratory, and what ``remuda study`` calls.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.sim.wording import Table
from remuda.study import report, tables
from remuda.study.comparison import Comparison, compare, values_of
from remuda.study.conclusion import Conclusion, conclusions
from remuda.study.dask_cluster import play_on_cluster
from remuda.study.figures import Content
from remuda.study.folder import Folder
from remuda.study.pictures import Pictures, pictures_of, tables_html
from remuda.study.plan import Run, Study, runs_of
from remuda.study.reading import read_study
from remuda.study.scenes import scenario_of
from remuda.study.tables import Sheet
from remuda.study.workers import play_all


@message
class StudyResult:
    """A finished study.

    ``results``: what each run's file has, in the order of the runs. ``played``: the runs that were
    played now; the others had been finished before.
    """

    study: Study
    directory: Path
    results: tuple[Content, ...]
    comparisons: tuple[Comparison, ...]
    played: int

    def tables(self) -> list[Table]:
        """Return a table for each trace: the alternatives by their main figures, with a sign.

        The sign compares with the baseline: better (+), worse (-), equal (=), not clear (~).
        """
        return tables.summary(self.study, self.results, self.comparisons)

    def charts(self, trace: str | None = None) -> Pictures:
        """Return the charts of a trace, by default the first one, as pictures by their keys.

        Raises: UsageError, if the study has no such trace.
        """
        names = [each.name for each in self.study.traces]
        if trace is not None and trace not in names:
            raise UsageError(f"the study has no trace {trace!r}; it has {', '.join(names)}")
        return pictures_of(self.study, self.results, self.comparisons, trace or names[0])

    def conclusions(self) -> list[Conclusion]:
        """Return for each trace and alternative what is better and what is worse."""
        return conclusions(self.study.alternatives()[0].label(), self.comparisons)

    def __repr__(self) -> str:
        """Return how much there is: the results would fill a terminal."""
        runs, alternatives = len(self.results), len(self.study.alternatives())
        return f"<study {self.study.title!r}: {runs} runs, {alternatives} alternatives>"

    def _repr_html_(self) -> str:
        """Return the tables, for notebooks."""
        return tables_html(self.tables())


def run_study(
    file: Path | str,
    output: Path | str,
    *,
    workers: int | None = None,
    dask: str | None = None,
    parquet: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> StudyResult:
    """Play the runs of a study that are not finished, compare all and write the files.

    ``workers``: processes, None for as many as this process may use cores. ``dask``: the address
    of a Dask scheduler whose cluster plays the runs instead. ``parquet``: write each table as a
    Parquet file, too (extra ``parquet``). ``progress`` is told how many of the
    runs to be played now are finished, first that none is.

    Raises: UsageError, ConfigError, before anything is played if a file is wrong or a library is
    missing; RemudaError, if a process or the cluster dies.
    """
    pack = _packing() if parquet else None
    study = read_study(Path(file))
    runs = runs_of(study)
    folder = Folder(Path(output))
    missing = [run for run in runs if folder.result(run) is None]
    check(missing)
    if dask is None or not missing:
        folder.claim()
    if progress is not None:
        progress(0, len(missing))
    if dask is not None:
        finished = play_on_cluster(missing, folder, dask)
    else:
        finished = play_all(missing, folder, core_count() if workers is None else workers)
    for number, _ in enumerate(finished, 1):
        if progress is not None:
            progress(number, len(missing))
    results = [_result(folder, run) for run in runs]
    comparisons = compare(study, values_of(results))
    _write(folder, results, comparisons, pack)
    folder.write(report.REPORT, report.page(study, results, comparisons).encode())
    return StudyResult(study, folder.directory, tuple(results), tuple(comparisons), len(missing))


def list_runs(file: Path | str, output: Path | str) -> list[tuple[str, bool]]:
    """Return the IDs of a study's runs, and whether each is finished in an output folder.

    Raises: UsageError, ConfigError.
    """
    runs = runs_of(read_study(Path(file)))
    check(runs)
    folder = Folder(Path(output))
    return [(run.run_id, folder.result(run) is not None) for run in runs]


def check(runs: Sequence[Run]) -> None:
    """See that the scenario of each run can be made. Raises: UsageError."""
    checked: set[tuple[str, str, str]] = set()
    for run in runs:
        key = (run.trace.name, run.configuration.name, run.variant.name)
        if key not in checked:
            checked.add(key)
            scenario_of(run)


def core_count() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _result(folder: Folder, run: Run) -> Content:
    result = folder.result(run)
    if result is None:
        raise UsageError(f"--output: the result of run {run.run_id} is gone; start the study again")
    return result


def _packing() -> Callable[[Sheet], bytes]:
    """Return what makes a Parquet file of a table. Raises: UsageError without its library."""
    try:
        from remuda.study.parquet import packed  # noqa: PLC0415 - in an extra
    except ImportError as error:
        raise UsageError(
            f"Parquet files need {error.name}: install remuda with its extra 'parquet',"
            " for example pip install 'remuda[parquet]'"
        ) from None
    return packed


def _write(
    folder: Folder,
    results: Sequence[Content],
    comparisons: Sequence[Comparison],
    pack: Callable[[Sheet], bytes] | None,
) -> None:
    """Write the tables; a Parquet file of an earlier time says nothing about these results."""
    for sheet in tables.sheets(results, comparisons):
        folder.write(f"{sheet.name}.csv", tables.csv_text(sheet).encode())
        if pack is not None:
            folder.write(f"{sheet.name}.parquet", pack(sheet))
        else:
            folder.remove(f"{sheet.name}.parquet")
