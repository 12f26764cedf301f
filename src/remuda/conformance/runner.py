"""Runs checks, several at a time, and returns the result of each.

Checks wait for answers most of the time, and some for half a minute, so they run beside each other;
those that take longest begin first. No error of a check ends the run: an unexpected error counts as
the failure of the check.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from remuda.conformance.endpoint import Endpoint
from remuda.conformance.failures import CheckFailedError, Failure, NotApplicableError
from remuda.conformance.registry import Check, Needs
from remuda.conformance.stage import Stage


class Outcome(StrEnum):
    """The outcome of a check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one check; ``why`` it was not applicable, or the ``failure``."""

    check: Check
    outcome: Outcome
    seconds: float
    failure: Failure | None = None
    why: str = ""


# Called with each result as soon as there is one, on the thread of the run.
Told = Callable[[Result], None]

_NO_EXTENSION: Final = "remuda.v1 is not served"


def run(
    endpoint: Endpoint, checks: Sequence[Check], prefix: str, jobs: int, told: Told
) -> list[Result]:
    """Run checks and return their results in the same order.

    ``prefix``: what the names of all resource managers of this run start with. If the run is
    interrupted, its connection is closed, which ends the checks that are under way.
    """
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="conformance")
    try:
        slow_first = sorted(checks, key=lambda check: -check.seconds)
        futures: dict[str, Future[Result]] = {
            check.name: pool.submit(_run_one, endpoint, check, prefix) for check in slow_first
        }
        for future in as_completed(futures.values()):
            told(future.result())
        return [futures[check.name].result() for check in checks]
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        endpoint.close()
        raise
    finally:
        pool.shutdown()


def _run_one(endpoint: Endpoint, check: Check, prefix: str) -> Result:
    started = time.monotonic()
    missing = _missing(endpoint, check)
    if missing:
        return Result(check, Outcome.NOT_APPLICABLE, 0.0, why=missing)
    stage = Stage(endpoint, f"{prefix}-{check.name}", check.rules)
    try:
        outcome, failure, why = _judge(stage, check)
    finally:
        stage.tidy_up()
    return Result(check, outcome, time.monotonic() - started, failure, why)


def _missing(endpoint: Endpoint, check: Check) -> str:
    """Return the need of a check that the other side does not meet, "" if there is none."""
    if Needs.REST in check.needs and not endpoint.rest:
        return "no --rest was given"
    wanted = {Needs.EXTENSION, Needs.ADMIN} & set(check.needs)
    return _NO_EXTENSION if wanted and endpoint.capabilities is None else ""


def _judge(stage: Stage, check: Check) -> tuple[Outcome, Failure | None, str]:
    try:
        check.body(stage)
        stage.audit()
    except CheckFailedError as error:
        return Outcome.FAILED, error.failure, ""
    except NotApplicableError as error:
        return Outcome.NOT_APPLICABLE, None, str(error)
    except Exception as error:  # noqa: BLE001 - one check must not end the run of the others
        what = f"{type(error).__name__}: {error} (the suite is wrong here, or was interrupted)"
        failure = Failure(" ".join(check.rules), "the check to come to its end", (what,))
        return Outcome.FAILED, failure, ""
    return Outcome.PASSED, None, ""
