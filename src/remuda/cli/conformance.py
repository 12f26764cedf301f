"""The command ``remuda conformance``: options to a run, nothing else."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from typing import Annotated, Final
from urllib.parse import urlsplit

import typer

from remuda.base.addresses import parse_address
from remuda.base.errors import UsageError
from remuda.cli.serve import parse_seconds

EXAMPLES: Final = r"""
Examples:

  remuda conformance --grpc 127.0.0.1:9079

  remuda conformance --grpc 127.0.0.1:9079 --rest http://127.0.0.1:9080

  remuda conformance --grpc 127.0.0.1:9079 --level parity \
      --only 'asks.*' --only SI-61

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
            help="Its HTTP API, for the checks of it; without it they are not applicable.",
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
        typer.Option(
            metavar="TIME", help="How long to wait for each answer; more for a far scheduler."
        ),
    ] = "5s",
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Checks that run at the same time.")] = 8,
    output: Annotated[
        Output, typer.Option(help="A report for people, JSON, or JUnit XML for build servers.")
    ] = Output.TEXT,
    list_: Annotated[
        bool, typer.Option("--list", help="List the checks and do not run them.")
    ] = False,
) -> None:
    """Check that a scheduler keeps the rules of the scheduler interface.

    The suite talks to the scheduler over gRPC, like resource managers, and
    compares every answer with the specification. It works with any program
    that serves si.v1.Scheduler. Each check registers resource managers of
    its own, with unique names, and removes them at the end if the
    scheduler can do that.

    A failed check prints what was sent, what the rule expects, and what
    came instead. Checks of a service that the scheduler does not have are
    not applicable. All checks take about 40 seconds.

    Exit code 0: all passed; 1: some failed; 2: the scheduler could
    not be reached, or the command line is wrong.
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
