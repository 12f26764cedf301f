"""The result of a run of the health checks, with findings that other parts may add."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from remuda.base.message import message

# The most names in one message; further ones are only counted.
NAMED: Final = 1_000


@message
class Finding:
    """One entry of a result (REST-93).

    ``description``: what the check looks for. ``diagnosis``: what it found. ``succeeded`` False
    makes the scheduler unhealthy.
    """

    name: str
    description: str
    diagnosis: str
    succeeded: bool = True


# Returns the present findings of a part, none while all is well. Called once per run, on the thread
# of the checks; must not wait.
ExtraFindings: TypeAlias = Callable[[], Sequence[Finding]]


@message
class Health:
    """The result of one run. ``findings``: in the order of the checks. ``taken_ns``: its end."""

    findings: tuple[Finding, ...]
    taken_ns: int

    @property
    def healthy(self) -> bool:
        """Whether every check succeeded. Rules: HLT-1."""
        return all(finding.succeeded for finding in self.findings)


def quoted(names: Iterable[str]) -> str:
    """Return names in double quotes, sorted, as a list. Implements: HLT-16."""
    return listed(f'"{name}"' for name in names)


def listed(texts: Iterable[str]) -> str:
    """Return texts in brackets, sorted and separated by blanks; of very many only the first ones.

    Rules: HLT-16.
    """
    found = sorted(texts)
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return f"[{' '.join(found[:NAMED])}]{more}"
