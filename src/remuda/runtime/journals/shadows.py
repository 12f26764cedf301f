"""Lets a shadow follow a journal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from remuda.base.errors import UsageError
from remuda.insight.shadow.differences import Difference, ShadowResult
from remuda.insight.shadow.twin import Told, Trial, Twin
from remuda.runtime.journal import StepLine
from remuda.runtime.journals.following import Followed, Follower, Wait
from remuda.runtime.journals.past import Until
from remuda.runtime.recorded import command_of


class Shadow:
    """A shadow of the scheduler that writes a journal.

    ``since``: where it begins, None: at the latest state. ``wait`` is called whenever nothing new
    is there. ``tell`` is called with each difference.
    Raises: UsageError if there is no journal, or nothing leads to the moment.
    """

    def __init__(
        self,
        directory: Path,
        trial: Trial,
        *,
        since: Until | None,
        wait: Wait,
        tell: Callable[[Difference], None],
    ) -> None:
        self._directory = directory
        self._trial = trial
        self._twin = Twin(trial, tell)
        self._follower = Follower(directory, since, wait)

    def run(self) -> None:
        """Follow until nothing more is wanted.

        Raises: UsageError, ConfigError, RemudaError: the journal is damaged or another version
        wrote it, the configuration is refused, or it is not clear whose it is.
        """
        for found in self._follower.read():
            if found.begins:
                segment = found.segment
                self._twin.start(
                    found.scheduler,
                    segment.reservation_delay_ns,
                    segment.limits,
                    found.entry.cause.now_ns,
                )
            self._feed(found)

    def result(self) -> ShadowResult:
        """Return what was found so far."""
        return self._twin.result()

    def require_applied(self) -> None:
        """Raise UsageError if the new configuration never came into force."""
        if not self._twin.applied:
            name = f" {self._trial.rm_id!r:.80}" if self._trial.rm_id else ""
            text = f"{self._directory}: no resource manager{name} registered; nothing was compared"
            raise UsageError(text)

    def _feed(self, found: Followed) -> None:
        cause = found.entry.cause
        answered = tuple([(each.question, each.answer) for each in found.entry.answers])
        self._twin.before(cause.now_ns)
        effects = found.repeat()
        if isinstance(cause, StepLine):
            told = Told(
                cause.number,
                cause.now_ns,
                limit=cause.limit,
                timers=cause.timers,
                answered=answered,
            )
        else:
            told = Told(cause.number, cause.now_ns, command_of(cause), answered=answered)
        self._twin.after(told, effects)
