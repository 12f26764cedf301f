"""One run from the options of the command to its report and its verdict."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TextIO

from remuda.base.errors import UsageError
from remuda.conformance.catalogue import choose
from remuda.conformance.endpoint import Endpoint
from remuda.conformance.formats import as_json, as_junit
from remuda.conformance.registry import Level
from remuda.conformance.report import list_checks, progress, show
from remuda.conformance.runner import Outcome, run


class Output(StrEnum):
    """How the report is written."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"


@dataclass(frozen=True, slots=True)
class Options:
    """What to check, where, and how; ``timeout`` in seconds, ``rest`` "" for none."""

    host: str
    port: int
    rest: str
    only: Sequence[str]
    level: Level | None
    timeout: float
    jobs: int
    output: Output


def conform(options: Options, out: TextIO, err: TextIO) -> bool:
    """Run the checks, write the report, and return whether none failed.

    Raises: UsageError if the endpoint does not answer, or no check is selected.
    """
    checks = choose(options.only, options.level)
    endpoint = Endpoint(options.host, options.port, rest=options.rest, timeout=options.timeout)
    try:
        endpoint.greet()
        started = time.monotonic()
        # Unique, so that a run meets neither another one nor what is left of an earlier one.
        prefix = f"conformance-{secrets.token_hex(4)}"
        with progress(len(checks), err) as told:
            results = run(endpoint, checks, prefix, options.jobs, told)
        seconds = time.monotonic() - started
    finally:
        endpoint.close()
    if options.output is Output.JSON:
        out.write(as_json(results, endpoint, seconds))
    elif options.output is Output.JUNIT:
        out.write(as_junit(results, seconds))
    else:
        show(results, endpoint, seconds, out)
    if all(result.outcome is Outcome.NOT_APPLICABLE for result in results):
        whys = sorted({result.why for result in results})
        raise UsageError(f"none of the chosen checks could be run: {'; '.join(whys)}")
    return not any(result.outcome is Outcome.FAILED for result in results)


def list_chosen(only: Sequence[str], level: Level | None, out: TextIO) -> None:
    """Write what a run with these options would check. Raises: UsageError."""
    list_checks(choose(only, level), out)
