"""The commands ``remuda config get`` and ``diff``: the configuration in force, and what differs.

They show text as somebody wrote it, with its comments, because the scheduler keeps that.
Implements: EXT-83.
"""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from remuda.base.texts import shown
from remuda.cli.server import (
    AuthorityOption,
    ContextOption,
    HttpServer,
    ServerOption,
    TokenOption,
    path_of,
    server_at,
)
from remuda.cli.viewing.options import RmOption

_YAML: Final = "application/x-yaml"


def get(
    *,
    rm: RmOption = "",
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
) -> None:
    """Print the queue configuration in force, as it was read.

    The output can be changed and used as a configuration file.

    Exit codes: those of 'remuda get'.
    """
    text = _in_force(server_at(server, token_file, server_ca, context), rm)
    if sys.stdout.isatty():
        text = "".join(f"{_shown(line)}\n" for line in text.splitlines())
    sys.stdout.write(text)


def diff(
    *,
    file: Annotated[
        Path, typer.Argument(metavar="NEW", help="The new queue configuration (YAML).")
    ],
    rm: RmOption = "",
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
) -> None:
    """Show which lines of a file differ from the queue configuration in force.

    'remuda validate' checks the file, and 'remuda config impact' tells what it would change.

    Exit code 0: no line differs; 1: some do, or the server does not answer; 2: the command line or
    the file is wrong; 4: the server refuses the caller.
    """
    from remuda.runtime.configuration.text import read_text  # noqa: PLC0415 - keeps help fast

    new = read_text(file)
    old = _in_force(server_at(server, token_file, server_ca, context), rm)
    found = changed_lines(old, new, str(file))
    for line in found:
        print(line)
    if found:
        raise typer.Exit(1)


def changed_lines(old: str, new: str, name: str) -> list[str]:
    """Return the lines in which two texts differ, with their surroundings, for a terminal."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "in force", name, lineterm="")
    return [_shown(line) for line in lines]


def _in_force(server: HttpServer, rm: str) -> str:
    options = {"raw": "true", **({"rm": rm} if rm else {})}
    return server.get(path_of("config"), options, _YAML).decode(errors="backslashreplace")


def _shown(line: str) -> str:
    """Return a line for a terminal; tabs stay, as they are common in files."""
    return "\t".join(map(shown, line.split("\t")))
