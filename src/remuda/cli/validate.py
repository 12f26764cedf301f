"""The command ``remuda validate``: what is wrong with configuration files, before they are used.

The answer goes to stdout, one line per problem in the form that editors and build servers jump
to. A file that cannot be read is a mistake of the call, not of a configuration: it is reported
on stderr, the other files are still checked, and the exit code is 2 (TOOL-1).
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
STDIN: Final = "-"

_COLOURS: Final = {ERROR: typer.colors.RED, WARNING: typer.colors.YELLOW}

# Turns a text into the same text in a colour, or leaves it as it is.
Paint: TypeAlias = Callable[[str, str], str]


class Output(StrEnum):
    """How the findings are printed."""

    TEXT = "text"
    JSON = "json"


@message
class Finding:
    """What was found in one file.

    ``readable`` False: nothing is known about its content, the one problem says why.
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

    All problems of a file are listed, with place, rule and what to do.
    An error makes the file invalid. A warning does not: it is about
    something legal that is mostly not meant.

    Exit code 0: all files are valid; 1: some are not; 2: a file cannot
    be read, or the command line is wrong.
    """
    if [str(file) for file in files].count(STDIN) > 1:
        raise UsageError(f"'{STDIN}' is standard input, which can be read only once; see --help")
    findings = [_find(file, strict) for file in files]
    if output is Output.JSON:
        _write(json.dumps([_as_json(finding) for finding in findings], indent=2))
    else:
        _print(findings)
    for finding in findings:
        if not finding.readable:
            print(f"remuda: {finding.problems[0].message}", file=sys.stderr)
    if not all(finding.readable for finding in findings):
        raise typer.Exit(2)
    if not all(finding.valid for finding in findings):
        raise typer.Exit(1)


def _find(path: Path, strict: bool) -> Finding:
    """Read and judge one file."""
    from remuda.runtime.configuration import text  # noqa: PLC0415 - keeps help fast

    name = _printable(path)
    try:
        data = text.read_stdin() if str(path) == STDIN else text.read_file(path)
    except UsageError as error:
        problem = Problem("", "TOOL-1", _one_line(str(error)))
        return Finding(file=name, valid=False, problems=(problem,), readable=False)
    verdict = text.judge(data, name)
    problems = verdict.problems
    partitions = verdict.configuration.partitions if verdict.configuration is not None else ()
    refused = problems if strict else [each for each in problems if each.severity == ERROR]
    return Finding(
        file=name,
        valid=not refused,
        problems=problems,
        partitions=len(partitions),
        queues=sum(_size(partition.root) for partition in partitions),
    )


def _size(queue: QueueConfig) -> int:
    return 1 + sum(_size(child) for child in queue.queues)


# ----------------------------------------------------------------------------------- as JSON


def _as_json(finding: Finding) -> dict[str, object]:
    return {
        "file": finding.file,
        "valid": finding.valid,
        "problems": [
            {
                "line": problem.line,
                "column": problem.column,
                "rule": problem.rule,
                "path": problem.path,
                "severity": problem.severity,
                "message": problem.message,
                "hint": problem.hint,
            }
            for problem in finding.problems
        ],
    }


# ------------------------------------------------------------------------------------ as text


def _print(findings: Sequence[Finding]) -> None:
    paint = _painter()
    for finding in findings:
        if finding.readable:
            for problem in finding.problems:
                _write(_line(finding.file, problem, paint))
            _write(_verdict(finding, paint))
    if len(findings) > 1:
        _write(_summary(findings))


def _line(file: str, problem: Problem, paint: Paint) -> str:
    """Return one problem as ``file:line:column: severity: [path:] message [RULE]; hint``."""
    place = f"{file}:{problem.line}:{problem.column}" if problem.line else file
    severity = paint(f"{problem.severity}:", _COLOURS[problem.severity])
    what = f"{problem.path}: {problem.message}" if problem.path else problem.message
    hint = f"; {problem.hint}" if problem.hint else ""
    return f"{place}: {severity} {what} [{problem.rule}]{hint}"


def _verdict(finding: Finding, paint: Paint) -> str:
    errors, warnings = finding.count(ERROR), finding.count(WARNING)
    counted = [_counted(errors, "error")] if errors else []
    if finding.valid:
        counted += [_counted(finding.partitions, "partition"), _counted(finding.queues, "queue")]
    if warnings:
        counted.append(_counted(warnings, "warning"))
    if finding.valid:
        word = paint("valid", typer.colors.GREEN)
    else:
        word = paint("invalid", typer.colors.RED)
    return f"{finding.file}: {word} ({', '.join(counted)})"


def _summary(findings: Sequence[Finding]) -> str:
    valid = sum(finding.valid for finding in findings)
    unreadable = sum(not finding.readable for finding in findings)
    invalid = len(findings) - valid - unreadable
    more = f", {unreadable} unreadable" if unreadable else ""
    return f"{_counted(len(findings), 'file')}: {valid} valid, {invalid} invalid{more}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _painter() -> Paint:
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
