"""The command ``remuda doctor``: a report about snapshots and journals, to attach to an issue."""

from __future__ import annotations

import math
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from remuda.base.errors import UsageError
from remuda.cli.insight_options import Output
from remuda.cli.whole_file import write_whole

if TYPE_CHECKING:
    from remuda.runtime.reports.sources import Told

EXAMPLES: Final = """
Examples:

  remuda doctor state.snapshot

  remuda doctor /var/lib/remuda/journal --pseudonymise --out report.txt

  remuda doctor state.snapshot journal --output json
"""

# How often progress is told, in seconds.
_TOLD_EVERY: Final = 0.5


_Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="A snapshot, the directory of a journal, a segment of one, or a recording.",
    ),
]
_Pseudonymise = Annotated[
    bool,
    typer.Option("--pseudonymise", help="Replace all names by random numbers, alike in all FILEs."),
]
_Output = Annotated[Output, typer.Option("--output", "-o", help="For people, or JSON.")]
_Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write the report here, for you only.")
]
_Force = Annotated[bool, typer.Option("--force", help="Replace the file of --out.")]
_For = Annotated[
    float,
    typer.Option(
        "--for", metavar="SECONDS", min=0, help="Repeat the inputs of a FILE for at most so long."
    ),
]


def doctor(
    files: _Files,
    *,
    pseudonymise: _Pseudonymise = False,
    output: _Output = Output.TEXT,
    out: _Out = None,
    force: _Force = False,
    seconds: _For = 60.0,
) -> None:
    """Make a report about snapshots and journals that can be attached to an issue.

    The report has the figures of the state, the invariants that are broken, what waits longest, the
    configuration, and for a journal whether its last segment decides the same again. Read it before
    you pass it on.

    Exit code 0: nothing is wrong; 1: an invariant is broken, a decision differs or a journal is
    damaged; 2: a FILE is none of these, of another version, or cannot be read.
    """
    import json  # noqa: PLC0415 - keeps help fast

    from remuda.runtime.reports.names import OwnNames, Pseudonyms  # noqa: PLC0415
    from remuda.runtime.reports.report import build_report  # noqa: PLC0415
    from remuda.runtime.reports.sources import ReplayBounds  # noqa: PLC0415
    from remuda.runtime.reports.text import report_text  # noqa: PLC0415

    if out is None and force:
        raise UsageError("--force is for --out FILE, which is not given")
    if math.isnan(seconds):
        raise UsageError("--for: nan is no number of seconds")
    if out is not None:
        _check_place(out, force=force)
    bounds = ReplayBounds(seconds, _progress())
    report = build_report(files, Pseudonyms() if pseudonymise else OwnNames(), bounds)
    text = json.dumps(report, indent=2) if output is Output.JSON else report_text(report)
    if out is None:
        print(text)
    else:
        _write(out, text, force=force)
        found = "nothing wrong was found" if report["sound"] else "something is wrong"
        print(f"{out}: written; {found}")
    if not report["sound"]:
        raise typer.Exit(1)


def _check_place(path: Path, *, force: bool) -> None:
    """Raise UsageError, before the work is done, if the report cannot be put there."""
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError as error:
        if path.parent.is_dir():
            return
        raise _unwritten(path, error) from None
    except OSError as error:
        raise _unwritten(path, error) from None
    if not force:
        raise _exists(path)
    if not stat.S_ISREG(kind):
        # A device such as /dev/stdout would be gone.
        raise UsageError(f"cannot write {path}: it is no plain file, and would be replaced by one")


def _unwritten(path: Path, error: OSError) -> UsageError:
    return UsageError(f"cannot write {path}: {error.strerror}")


def _exists(path: Path) -> UsageError:
    return UsageError(f"{path} exists already; name another file, or replace it with --force")


def _write(path: Path, text: str, *, force: bool) -> None:
    """Write a file that its owner only can read, whole or not at all. Raises: UsageError."""
    try:
        write_whole(path, f"{text}\n", new=not force)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        raise _unwritten(path, error) from None


def _progress() -> Told:
    """Return what tells a terminal on standard error how far inputs are repeated."""
    last = time.monotonic()

    def told(number: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _TOLD_EVERY and sys.stderr.isatty():
            last = now
            print(f"\rinput {number} ", end="", file=sys.stderr, flush=True)

    return told
