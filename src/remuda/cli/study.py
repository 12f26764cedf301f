"""The command ``remuda study``: a study file to a folder of results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from remuda.base.errors import UsageError
from remuda.cli.extras import require

EXAMPLES: Final = """
Examples:

  remuda study study.yaml --output result

  remuda study study.yaml --output result --workers 2

  remuda study study.yaml --output result --dask tcp://10.0.0.1:8786

  remuda study study.yaml --output result --parquet

  remuda study study.yaml --output result --list
"""


def study(
    *,
    file: Annotated[Path, typer.Argument(metavar="STUDY", help="What to compare (YAML).")],
    output: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Write the results into this directory. Runs that are finished there are not "
            "played again, so a study that was stopped goes on where it was.",
        ),
    ],
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1_024,
            metavar="N",
            help="Processes that play runs. Results do not depend on it. Default: as many as cores "
            "may be used.",
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Play the runs on the Dask cluster whose scheduler is there, such as "
            "tcp://10.0.0.1:8786. Its workers read the files of the study at the same paths, and "
            "have the same version of remuda with its extra 'dask'. Results do not depend on it.",
        ),
    ] = None,
    parquet: Annotated[
        bool,
        typer.Option(
            "--parquet",
            help="Write each table as a Parquet file, too, with the types of its columns (extra "
            "'parquet').",
        ),
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="Check the study, list its runs, and play none.")
    ] = False,
) -> int:
    """Play many simulations of one question, and compare their figures.

    A study plays traces under queue configurations, options and seeds, and compares waiting times,
    slowdown, utilisation and fairness, with confidence intervals over the seeds.
    """
    from remuda.sim.terminal import runs_bar, show_table  # noqa: PLC0415 - keeps help fast
    from remuda.study.lab import list_runs, run_study  # noqa: PLC0415
    from remuda.study.tables import summary  # noqa: PLC0415

    if list_:
        for run_id, finished in list_runs(file, output):
            print(f"{'finished' if finished else 'to play '}  {run_id}")
        return 0
    if dask is not None:
        if workers is not None:
            raise UsageError("--workers: with --dask the cluster decides; leave one of both out")
        require("dask", "--dask", "distributed")
    if parquet:
        require("parquet", "--parquet", "pyarrow")
    with runs_bar(sys.stderr) as progress:
        found = run_study(
            file, output, workers=workers, dask=dask, parquet=parquet, progress=progress
        )
    for table in summary(found.study, found.results, found.comparisons):
        show_table(table, sys.stdout)
    done = len(found.results) - found.played
    print(f"runs: {found.played} played, {done} finished before")
    print(f"results: {output}")
    return 0
