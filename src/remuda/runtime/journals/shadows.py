"""Gives a shadow the inputs of a journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from remuda.base.errors import UsageError
from remuda.insight.shadow.differences import Difference, ShadowResult
from remuda.insight.shadow.twin import Told, Trial, Twin
from remuda.runtime.journal import StepLine
from remuda.runtime.journals.following import Followed
from remuda.runtime.recorded import command_of


class Shadow:
    """A shadow of the scheduler that writes a journal.

    ``journal``: its name, for messages. ``tell`` is called with each difference.
    """

    def __init__(
        self, journal: Path | str, trial: Trial, tell: Callable[[Difference], None]
    ) -> None:
        self._journal = journal
        self._trial = trial
        self._twin = Twin(trial, tell)

    def run(self, inputs: Iterable[Followed]) -> None:
        """Follow until nothing more is wanted.

        Raises: UsageError, ConfigError, RemudaError: the journal is damaged or another version
        wrote it, the configuration is refused, or it is not clear whose it is.
        """
        for found in inputs:
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
            text = f"{self._journal}: no resource manager{name} registered; nothing was compared"
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
