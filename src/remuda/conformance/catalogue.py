"""Lists all checks, and selects some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.base.errors import UsageError
from remuda.conformance.checks import (
    applications,
    asks,
    configuration,
    existing,
    gang,
    gang_ends,
    gang_recovery,
    gang_swap,
    newer,
    nodes,
    operators,
    partitions,
    pauses,
    processing,
    recovery,
    registration,
    releases,
    states,
    streams,
)
from remuda.conformance.registry import Check, Level, Subject

SUBJECTS: Final[tuple[Subject, ...]] = (
    registration.SUBJECT,
    partitions.SUBJECT,
    processing.SUBJECT,
    applications.SUBJECT,
    asks.SUBJECT,
    existing.SUBJECT,
    releases.SUBJECT,
    newer.SUBJECT,
    nodes.SUBJECT,
    streams.SUBJECT,
    pauses.SUBJECT,
    configuration.SUBJECT,
    operators.SUBJECT,
    states.SUBJECT,
    gang.SUBJECT,
    gang_swap.SUBJECT,
    gang_ends.SUBJECT,
    gang_recovery.SUBJECT,
    recovery.SUBJECT,
)


def choose(patterns: Sequence[str], level: Level | None) -> list[Check]:
    """Return the checks of a level that match any pattern, all if there is none, in order.

    Raises: UsageError if nothing is left.
    """
    every = [check for subject in SUBJECTS for check in subject.checks]
    for pattern in patterns:
        if not any(check.matches(pattern) for check in every):
            raise UsageError(
                f"--only: no check, subject or rule is '{pattern}'; --list shows what there is"
            )
    chosen = [
        check
        for check in every
        if (not patterns or any(check.matches(pattern) for pattern in patterns))
        and level in (None, check.level)
    ]
    if not chosen:
        raise UsageError(f"no check of the level {level} matches --only; --list shows all")
    return chosen
