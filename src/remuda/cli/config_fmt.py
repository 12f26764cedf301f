"""The command ``remuda config fmt``: a configuration file in the form that all should have."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from remuda.base.errors import UsageError
from remuda.cli.extras import require
from remuda.cli.whole_file import write_whole


def fmt(
    *,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The queue configuration; - reads stdin.")
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Print nothing; code 1 if it would be changed.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Replace the file.")] = False,
) -> None:
    """Format a queue configuration, with its comments.

    Without an option the formatted text is printed. What the configuration means does not change,
    and formatting it again changes nothing. A file that is no configuration is not formatted.

    Exit code 0: done, or with --check, nothing would be changed; 1: it would be; 2: the command
    line is wrong, or the file is no configuration, or has more than a million letters.
    """
    from remuda.runtime.configuration import text  # noqa: PLC0415 - keeps help fast
    from remuda.runtime.configuration.formatting import formatted  # noqa: PLC0415

    require("fmt", "config fmt", "ruamel.yaml")
    if check and write:
        raise UsageError("--check and --write exclude each other")
    piped = str(file) == "-"
    if piped and write:
        raise UsageError("--write replaces a file, and - is none")
    source = "<stdin>" if piped else str(file)
    if piped:
        before = text.text_of(text.read_stdin(), source)
    else:
        content = text.read_regular_file(file) if write else text.read_file(file)
        before = text.text_of(content, source)
    after = formatted(before, source)
    if check:
        if after != before:
            print(
                f"remuda: {source} is not formatted; 'remuda config fmt --write' does that",
                file=sys.stderr,
            )
            raise typer.Exit(1)
    elif write:
        if after != before:
            whole = file.resolve()
            write_whole(whole, after, rights=whole.stat().st_mode & 0o777)
    else:
        sys.stdout.write(after)
