"""The command ``remuda validate``: what is wrong with configuration files, before they are used.

The answer goes to stdout, one line per problem in the form that editors and build servers jump
to. A file that cannot be read is a mistake of the call, not of a configuration: it is reported
on stderr, the other files are still checked, and the exit code is 2.
Implements: TOOL-1.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from remuda.base.errors import ERROR, WARNING, Problem, UsageError
from remuda.base.message import message
from remuda.config.schema import QueueConfig

EXAMPLES: Final = """
Examples:

  remuda validate queues.yaml             what is wrong, and where

  remuda validate --strict conf/*.yaml    for a build server

  remuda validate - < queues.yaml         what another program wrote

  remuda validate --output json a.yaml b.yaml
"""

# The name that stands for standard input.
_STDIN: Final = "-"

_COLOURS: Final = {ERROR: typer.colors.RED, WARNING: typer.colors.YELLOW}

# Turns a text into the same text in a colour, or leaves it as it is.
_Paint: TypeAlias = Callable[[str, str], str]


class Output(StrEnum):
    """How the verdicts are printed."""

    TEXT = "text"
    JSON = "json"


@message
class FileVerdict:
    """The findings in one file.

    ``readable`` False: its content is unknown, and the one problem says why.
    ``partitions`` and ``queues`` count what a valid file configures, root queues included.
    """

    file: str
    valid: bool
    problems: tuple[Problem, ...]
    partitions: int = 0
    queues: int = 0
    readable: bool = True

    def count(self, severity: str) -> int:
        """How many problems have this severity."""
        return sum(problem.severity == severity for problem in self.problems)


def validate(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Queue configurations (YAML); - reads stdin."),
    ],
    output: Annotated[
        Output, typer.Option(help="Lines for people and editors, or one JSON list.")
    ] = Output.TEXT,
    strict: Annotated[
        bool, typer.Option("--strict", help="A file with warnings counts as invalid.")
    ] = False,
) -> None:
    """Check queue configurations without using them.

    The command lists all problems of a file, with place, rule and what to
    do. An error makes the file invalid. A warning does not: it is about
    a legal setting that is mostly a mistake.

    Exit code 0: all files are valid; 1: some are not; 2: a file cannot
    be read, or the command line is wrong.
    """
    if [str(file) for file in files].count(_STDIN) > 1:
        raise UsageError(f"'{_STDIN}' is standard input, which can be read only once; see --help")
    verdicts = [_find(file, strict) for file in files]
    if output is Output.JSON:
        _write(json.dumps([_as_json(verdict) for verdict in verdicts], indent=2))
    else:
        _print(verdicts)
    for verdict in verdicts:
        if not verdict.readable:
            print(f"remuda: {verdict.problems[0].message}", file=sys.stderr)
    if not all(verdict.readable for verdict in verdicts):
        raise typer.Exit(2)
    if not all(verdict.valid for verdict in verdicts):
        raise typer.Exit(1)


def _find(path: Path, strict: bool) -> FileVerdict:
    """Read and judge one file."""
    from remuda.runtime.configuration import text  # noqa: PLC0415 - keeps help fast

    name = _printable(path)
    try:
        data = text.read_stdin() if str(path) == _STDIN else text.read_file(path)
    except UsageError as error:
        problem = Problem("", "TOOL-1", _one_line(str(error)))
        return FileVerdict(file=name, valid=False, problems=(problem,), readable=False)
    verdict = text.judge(data, name)
    problems = verdict.problems
    partitions = verdict.configuration.partitions if verdict.configuration is not None else ()
    refused = problems if strict else [each for each in problems if each.severity == ERROR]
    return FileVerdict(
        file=name,
        valid=not refused,
        problems=problems,
        partitions=len(partitions),
        queues=sum(_size(partition.root) for partition in partitions),
    )


def _size(queue: QueueConfig) -> int:
    return 1 + sum(_size(child) for child in queue.queues)


# ----------------------------------------------------------------------------------- as JSON


def _as_json(verdict: FileVerdict) -> dict[str, object]:
    return {
        "file": verdict.file,
        "valid": verdict.valid,
        "problems": [
            {
                "line": problem.line,
                "column": problem.column,
                "rule": problem.rule,
                "path": problem.path,
                "severity": problem.severity,
                "message": f"{problem.message}; {problem.hint}"
                if problem.hint
                else problem.message,
            }
            for problem in verdict.problems
        ],
    }


# ------------------------------------------------------------------------------------ as text


def _print(verdicts: Sequence[FileVerdict]) -> None:
    paint = _painter()
    for verdict in verdicts:
        if verdict.readable:
            for problem in verdict.problems:
                _write(_line(verdict.file, problem, paint))
            _write(_verdict(verdict, paint))
    if len(verdicts) > 1:
        _write(_summary(verdicts))


def _line(file: str, problem: Problem, paint: _Paint) -> str:
    """Return one problem as ``file:line:column: severity: [path:] message [RULE]; hint``."""
    place = f"{file}:{problem.line}:{problem.column}" if problem.line else file
    severity = paint(f"{problem.severity}:", _COLOURS[problem.severity])
    what = f"{problem.path}: {problem.message}" if problem.path else problem.message
    hint = f"; {problem.hint}" if problem.hint else ""
    return f"{place}: {severity} {what} [{problem.rule}]{hint}"


def _verdict(verdict: FileVerdict, paint: _Paint) -> str:
    errors, warnings = verdict.count(ERROR), verdict.count(WARNING)
    counted = [_counted(errors, "error")] if errors else []
    if verdict.valid:
        counted += [_counted(verdict.partitions, "partition"), _counted(verdict.queues, "queue")]
    if warnings:
        counted.append(_counted(warnings, "warning"))
    if verdict.valid:
        word = paint("valid", typer.colors.GREEN)
    else:
        word = paint("invalid", typer.colors.RED)
    return f"{verdict.file}: {word} ({', '.join(counted)})"


def _summary(verdicts: Sequence[FileVerdict]) -> str:
    valid = sum(verdict.valid for verdict in verdicts)
    unreadable = sum(not verdict.readable for verdict in verdicts)
    invalid = len(verdicts) - valid - unreadable
    more = f", {unreadable} unreadable" if unreadable else ""
    return f"{_counted(len(verdicts), 'file')}: {valid} valid, {invalid} invalid{more}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _painter() -> _Paint:
    """Return what colours a text: on a terminal that can and may do so, else nothing at all."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return lambda text, colour: text
    return lambda text, colour: typer.style(text, fg=colour, bold=True)


def _printable(path: Path) -> str:
    """Return a path that can be printed; a file's name need be neither text nor one line."""
    return _one_line(os.fsencode(path).decode("utf-8", "replace"))


def _one_line(text: str) -> str:
    shown = os.fsencode(text).decode("utf-8", "replace") if not text.isprintable() else text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)


def _write(line: str) -> None:
    """Print a line; characters that the terminal's encoding does not have are escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding))
