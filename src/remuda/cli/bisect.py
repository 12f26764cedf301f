"""The command ``remuda bisect``: where in a journal the answer to a question changed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from remuda.base.errors import RemudaError, UsageError
from remuda.cli.journal_options import DirectoryArgument, PartitionOption, time_text
from remuda.cli.viewing.options import RmOption

if TYPE_CHECKING:
    from remuda.library.moment import Moment
    from remuda.runtime.replay import Reached

EXAMPLES: Final = r"""
Examples:

  remuda bisect journal 'explain("spark-17", "executor-3").gate'

  remuda bisect journal 'len(pending()) > 100' --since 09:00 --until 12:00

  remuda bisect journal --function checks.py:used_gpus
"""

# An answer is shown up to this many characters.
_SHOWN: Final = 300

_NOTHING: Final = 3

_Expression = Annotated[
    str,
    typer.Argument(
        metavar="[QUESTION]",
        help="A Python expression with pending(), allocations(), explain(), fair_shares(), time,"
        " number.",
    ),
]
_Function = Annotated[
    str,
    typer.Option(metavar="FILE:NAME", help="A Python function that takes a Moment, instead."),
]
_Since = Annotated[
    str, typer.Option(metavar="WHEN", help="First moment; by default the first input.")
]
_Until = Annotated[
    str, typer.Option(metavar="WHEN", help="Last moment; by default the end of the journal.")
]


def bisect(
    directory: DirectoryArgument,
    expression: _Expression = "",
    function: _Function = "",
    since: _Since = "",
    until: _Until = "",
    partition: PartitionOption = "",
    rm: RmOption = "",
) -> None:
    """Find the input at which the answer to a question changed.

    The answers at the first and the last moment have to differ. The question is asked about some
    moments between them, as if the answer had changed once. It is Python code that you trust: it
    runs with your rights. Its names are those of the class Moment of the Python API.

    Exit code 0: found; 3: the answers at both ends are the same; 1: another version wrote the
    journal, or the question failed; 2: the question, a moment or the journal is wrong.
    """
    from remuda.library.moment import moment_of  # noqa: PLC0415 - keeps help fast
    from remuda.runtime.journals.past import Until, first_change, state_at  # noqa: PLC0415
    from remuda.runtime.journals.when import parse_when  # noqa: PLC0415

    if bool(expression) == bool(function):
        raise UsageError("give one question: an expression, or --function FILE:NAME")
    ask = _of_function(function) if function else _of_expression(expression)
    now = datetime.now().astimezone()
    end = parse_when(until, now, "--until") if until else Until()

    def asked(then: Reached) -> object:
        core, number = then.scheduler, then.inputs
        return ask(moment_of(core, then.now_ns, partition, rm, number=number, absent=True))

    begin = parse_when(since, now, "--since") if since else None
    change, first = first_change(directory, asked, begin, end)
    if change is None:
        last = state_at(directory, end)
        moment_of(last.scheduler, last.now_ns, partition, rm)  # the names may be wrong
        print(f"the answer is the same at both ends: {_shown(first)}")
        raise typer.Exit(_NOTHING)
    time = time_text(change.now_ns)
    began = "; a new process began with it" if change.restart else ""
    print(f"input {change.number} ({change.what}), {time}{began}")
    print(f"before: {_shown(change.before)}")
    print(f"after:  {_shown(change.after)}")


def _shown(answer: object) -> str:
    """Return an answer in a line."""
    text = repr(answer)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _of_expression(text: str) -> Callable[[Moment], object]:
    """Return what an expression asks. Raises: UsageError."""
    try:
        code = compile(text, "QUESTION", "eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise UsageError(f"the question is no Python expression: {error}") from None

    def answer(moment: Moment) -> object:
        names = {name: getattr(moment, name) for name in dir(moment) if not name.startswith("_")}
        # The question comes from the person who runs this command, and not from the journal.
        return _answered(lambda _: eval(code, {**names, "moment": moment}), moment)  # noqa: S307

    return answer


def _of_function(text: str) -> Callable[[Moment], object]:
    """Return the function of a file. Raises: UsageError."""
    file, _, name = text.rpartition(":")
    if not file or not name.isidentifier():
        raise UsageError(f"--function {text:.80}: write FILE:NAME, such as checks.py:used_gpus")
    names: dict[str, Any] = {"__name__": Path(file).stem, "__file__": file}
    try:
        code = compile(Path(file).read_bytes(), file, "exec")
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{file} is no Python: {error}") from None
    try:
        exec(code, names)  # noqa: S102 - the user's own file
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
        raise UsageError(f"{file}: {type(error).__name__}: {error}") from None
    found = names.get(name)
    if not callable(found):
        raise UsageError(f"{file} has no function {name}")
    function: Callable[[Moment], object] = found
    return lambda moment: _answered(function, moment)


def _answered(question: Callable[[Moment], object], moment: Moment) -> object:
    """Return the answer about a moment. Raises: RemudaError if the question fails."""
    try:
        return question(moment)
    except RemudaError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any code may be asked
        why = " ".join(f"{type(error).__name__}: {error}".split())[:_SHOWN]
        raise RemudaError(f"the question failed about {moment.time}: {why}") from None
