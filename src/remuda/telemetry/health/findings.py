"""What a run of the health checks comes to, and what other parts may add to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from remuda.base.message import message

# Names in one message; of more only their number is told.
NAMED: Final = 1_000


@message
class Finding:
    """One entry of a result, as it is shown (REST-93).

    ``description``: what is looked for. ``diagnosis``: what was found. ``succeeded`` False makes
    the scheduler unhealthy.
    """

    name: str
    description: str
    diagnosis: str
    succeeded: bool = True


# Returns what a part has to tell at this moment, nothing while all is well. Called once per run, on
# the thread of the checks; must not wait.
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
    """Return names in double quotes, sorted, as a list. Rules: HLT-16."""
    return listed(f'"{name}"' for name in names)


def listed(texts: Iterable[str]) -> str:
    """Return texts, sorted and separated by a blank, in brackets; of very many the first ones.

    Rules: HLT-16.
    """
    found = sorted(texts)
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return f"[{' '.join(found[:NAMED])}]{more}"
