"""The report for people: the checks by subject, and for each failure its whole course.

On a terminal long lines are wrapped and marks are coloured; in a pipe each check is one line.
"""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final, TextIO

from remuda.conformance.catalogue import SUBJECTS
from remuda.conformance.endpoint import Endpoint
from remuda.conformance.failures import Failure
from remuda.conformance.registry import Check, Level, Subject
from remuda.conformance.runner import Outcome, Result, Told
from remuda.conformance.wording import counted

_MARKS: Final = {Outcome.PASSED: "ok", Outcome.FAILED: "FAIL", Outcome.NOT_APPLICABLE: "n/a"}
_COLOURS: Final = {Outcome.PASSED: "32", Outcome.FAILED: "1;31", Outcome.NOT_APPLICABLE: "33"}
_BOLD, _DIM = "1", "2"

_MARK_WIDTH: Final = 4
_WIDTH_LIMIT: Final = 120

# Columns that a wrapped text needs; with fewer it is left to the terminal.
_LEAST_ROOM: Final = 20

# Stands for a blank at which no line is broken.
_KEPT_BLANK: Final = "\N{NO-BREAK SPACE}"


class Paper:
    """Where a report is written: its width, its colours, its encoding."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        terminal = out.isatty()
        self.width = min(shutil.get_terminal_size().columns, _WIDTH_LIMIT) if terminal else 0
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        self._colours = terminal and not plain

    def paint(self, text: str, code: str) -> str:
        """Return a text in a colour, if there are colours."""
        return f"\x1b[{code}m{text}\x1b[0m" if self._colours else text

    def line(self, text: str = "") -> None:
        """Write a line; characters outside the encoding are escaped."""
        encoding = self._out.encoding or "utf-8"
        self._out.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")

    def item(self, head: str, painted: str, text: str, tail: str = "") -> None:
        """Write ``head``, as ``painted``, with a text beside it, wrapped below itself.

        ``tail`` ends the text, stays together and is dim.
        """
        kept = tail.replace(" ", _KEPT_BLANK)
        whole = f"{text}  {kept}" if tail else text
        room = self.width - len(head)
        lines = textwrap.wrap(whole, room) if room > _LEAST_ROOM else [whole]
        lines = [line.replace(_KEPT_BLANK, " ") for line in lines]
        if tail and lines[-1].endswith(tail):
            lines[-1] = lines[-1].removesuffix(tail) + self.paint(tail, _DIM)
        for number, each in enumerate(lines):
            self.line((painted if number == 0 else " " * len(head)) + each)


def show(results: Sequence[Result], endpoint: Endpoint, seconds: float, out: TextIO) -> None:
    """Write the results of a run, by subject, and their sum."""
    paper = Paper(out)
    paper.line(paper.paint(target(endpoint), _BOLD))
    by_name = {result.check.name: result for result in results}
    for subject in SUBJECTS:
        mine = [by_name[c.name] for c in subject.checks if c.name in by_name]
        if mine:
            paper.line()
            _show_title(paper, subject)
            width = max(len(result.check.word) for result in mine)
            for result in mine:
                _show_one(paper, result, width)
    paper.line(f"\n{summary(results, seconds)}")
    failed = [result.check.name for result in results if result.outcome is Outcome.FAILED]
    if failed:
        head = paper.paint("failed:", _COLOURS[Outcome.FAILED])
        paper.item("failed: ", f"{head} ", ", ".join(failed))
        paper.line(f"one of them again: remuda conformance ... --only {failed[0]}")


def list_checks(checks: Sequence[Check], out: TextIO) -> None:
    """List all checks: name, title, rules and needs."""
    paper = Paper(out)
    chosen = {check.name for check in checks}
    for subject in SUBJECTS:
        mine = [check for check in subject.checks if check.name in chosen]
        if mine:
            _show_title(paper, subject)
            width = max(len(check.word) for check in mine)
            for check in mine:
                head = f"  {check.word.ljust(width)}  "
                paper.item(head, head, check.title, _marks(check))
            paper.line()
    paper.line(f"{counted(len(checks), 'check')}")


def target(endpoint: Endpoint) -> str:
    """Describe in one line the scheduler under test."""
    known = endpoint.capabilities
    who = f"{endpoint.address} serves si.v1.Scheduler"
    if known is not None:
        who += f" and remuda.v1 (version {known.core_version}, level {known.si_level})"
    return f"{who}; {f'REST at {endpoint.rest}' if endpoint.rest else 'no REST address given'}"


def summary(results: Sequence[Result], seconds: float) -> str:
    """Say in one line how many checks had which outcome."""
    numbers = [
        f"{sum(result.outcome is outcome for result in results)} {outcome.value}"
        for outcome in Outcome
    ]
    return f"{counted(len(results), 'check')} in {seconds:.1f} s: {', '.join(numbers)}"


@contextmanager
def progress(total: int, err: TextIO) -> Iterator[Told]:
    """Show on a terminal the progress of the run and the failures so far."""
    if not err.isatty() or find_spec("rich") is None:
        yield _silent
        return
    from rich.console import Console  # noqa: PLC0415 - only terminals need it
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(file=err), transient=True) as bar:
        line = bar.add_task("checking", total=total)
        failed = 0

        def told(result: Result) -> None:
            nonlocal failed
            failed += result.outcome is Outcome.FAILED
            tail = f", {failed} failed" if failed else ""
            bar.update(line, advance=1, description=f"checking{tail}")

        yield told


def _silent(result: Result) -> None:
    """Show no progress."""


def _show_title(paper: Paper, subject: Subject) -> None:
    paper.line(f"{paper.paint(subject.title, _BOLD)}  {paper.paint(f'{subject.word}.*', _DIM)}")


def _show_one(paper: Paper, result: Result, width: int) -> None:
    mark = _MARKS[result.outcome].ljust(_MARK_WIDTH)
    name = f"  {result.check.word.ljust(width)}  "
    painted = f"  {paper.paint(mark, _COLOURS[result.outcome])}{name}"
    title = result.check.title + (f" ({result.why})" if result.why else "")
    paper.item(f"  {mark}{name}", painted, title, _marks(result.check))
    if result.failure is not None:
        _show_failure(paper, result.failure)


def _show_failure(paper: Paper, failure: Failure) -> None:
    parts = {
        "rule": [failure.rule],
        "sent": list(failure.sent),
        "expected": failure.expected.split("\n"),
        "came": list(failure.came),
    }
    for name, lines in parts.items():
        for number, line in enumerate(lines):
            head = f"        {name if number == 0 else '':<10}"
            paper.item(head, paper.paint(head, _DIM), printable(line))


def printable(text: str) -> str:
    """Return a text of the other side as one line without control characters."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _marks(check: Check) -> str:
    """Return rules, level and needs of a check, in brackets."""
    level = ["remuda"] if check.level is Level.REMUDA else []
    return f"[{' '.join([*check.rules, *level, *(f'needs {need}' for need in check.needs)])}]"
