"""The command ``remuda conformance``: options to a run, nothing else."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from typing import Annotated, Final
from urllib.parse import urlsplit

import typer

from remuda.base.errors import UsageError
from remuda.cli.serve import parse_address, parse_seconds

EXAMPLES: Final = """
Examples:

  remuda conformance --grpc 127.0.0.1:9079

  remuda conformance --grpc 127.0.0.1:9079 --rest http://127.0.0.1:9080

  remuda conformance --grpc 127.0.0.1:9079 --level parity --only 'asks.*' --only SI-61

  remuda conformance --list

  remuda conformance --grpc 127.0.0.1:9079 --output junit > conformance.xml
"""


class Output(StrEnum):
    """How the report is written."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"


class Level(StrEnum):
    """Which rules are checked."""

    ALL = "all"
    PARITY = "parity"
    REMUDA = "remuda"


def _patterns(incomplete: str) -> list[str]:
    """Return what ``--only`` may be completed to: names of checks and subjects."""
    from remuda.conformance.catalogue import SUBJECTS  # noqa: PLC0415 - keeps help fast

    names = [check.name for subject in SUBJECTS for check in subject.checks]
    return [name for name in names if name.startswith(incomplete)]


def conformance(
    grpc: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="The scheduler to check; any si.v1.Scheduler."),
    ] = None,
    rest: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Its HTTP API, for the checks that look there; else they are not applicable.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            autocompletion=_patterns,
            help="Only checks whose name, subject or rule is this; * stands for any text. "
            "May be given several times.",
        ),
    ] = None,
    level: Annotated[
        Level,
        typer.Option(
            help="parity: rules of the scheduler that remuda re-creates; remuda: rules of its own."
        ),
    ] = Level.ALL,
    timeout: Annotated[
        str,
        typer.Option(metavar="TIME", help="How long each answer is waited for; more if it is far."),
    ] = "5s",
    jobs: Annotated[
        int, typer.Option(min=1, max=64, help="Checks that run beside each other.")
    ] = 8,
    output: Annotated[
        Output, typer.Option(help="A report for people, JSON, or JUnit XML for build servers.")
    ] = Output.TEXT,
    list_: Annotated[
        bool, typer.Option("--list", help="Show what there is to check, and check nothing.")
    ] = False,
) -> None:
    """Check that a scheduler keeps the rules of the scheduler interface.

    Talks to it as resource managers do, over gRPC, and compares every
    answer with what the specification says. Works with any program that
    serves si.v1.Scheduler. Each check registers resource managers of its
    own, with names that nobody else has, and removes them at the end if
    the other side can do that.

    A failed check says what was sent, what was expected by which rule,
    and what came instead. Checks that need a service the other side has
    not are not applicable. All of them take about 40 seconds.

    Exit code 0: all passed; 1: some failed; 2: nobody could be checked,
    or the command line is wrong.
    """
    # The gRPC library would add lines of its own to ours; it reads this when it is imported.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")

    from remuda.conformance import registry, session  # noqa: PLC0415 - keeps help fast

    wanted = None if level is Level.ALL else registry.Level(level.value)
    if list_:
        session.list_chosen(only or (), wanted, sys.stdout)
        return
    if grpc is None:
        raise UsageError("--grpc HOST:PORT is missing: which scheduler is to be checked?")
    host, port = parse_address("--grpc", grpc)
    options = session.Options(
        host=host,
        port=port,
        rest=_address_of(rest) if rest is not None else "",
        only=only or (),
        level=wanted,
        timeout=parse_seconds("--timeout", timeout),
        jobs=jobs,
        output=session.Output(output.value),
    )
    if not session.conform(options, sys.stdout, sys.stderr):
        raise typer.Exit(1)


def _address_of(url: str) -> str:
    """Return the base address of an HTTP API. Raises: UsageError."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"--rest: '{url}' is not a URL, for example http://127.0.0.1:9080")
    return url.rstrip("/")
