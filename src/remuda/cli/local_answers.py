"""What the local node answers, as commands read it, and how output is printed."""

from __future__ import annotations

import sys
from typing import Annotated, BinaryIO, Final, Literal, TypeAlias

import msgspec

from remuda.cli.server import NotReachableError, odd_answer

OVER: Final = "over"
WAITING: Final = "waiting"


_Place: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class CommandSeen(msgspec.Struct):
    """A command: how far it is, and how it ended."""

    id: Annotated[str, msgspec.Meta(min_length=1)]
    application: str
    stage: Literal["waiting", "running", "over"]
    code: Annotated[int, msgspec.Meta(ge=0, le=255)] | None
    reason: str
    tasks: list[object]


class RecordSeen(msgspec.Struct):
    """A piece of output."""

    task: _Place
    stream: Literal["out", "err"]
    data: bytes


class OutputSeen(msgspec.Struct):
    """Output of all tasks of a command."""

    records: list[RecordSeen]
    next: list[_Place]
    lost: list[_Place]
    over: bool
    command: CommandSeen


def command_of(content: bytes) -> CommandSeen:
    """Return the command in an answer. Raises: NotReachableError."""
    try:
        return msgspec.json.decode(content, type=CommandSeen)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise _strange(error) from None


def output_of(content: bytes) -> OutputSeen:
    """Return the output in an answer. Raises: NotReachableError."""
    try:
        return msgspec.json.decode(content, type=OutputSeen)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise _strange(error) from None


def _strange(error: Exception) -> NotReachableError:
    return odd_answer(f"the server answered with what is not of a local node: {error}")


class Printer:
    """Prints the output of tasks as it comes: to stdout and stderr, byte for byte.

    Lines of a gang begin with the number of their task, so they are printed whole.
    """

    def __init__(self) -> None:
        self._unfinished: dict[tuple[int, str], bytes] = {}

    def show(self, output: OutputSeen) -> None:
        """Print what came. Raises: OSError."""
        for task, lost in enumerate(output.lost):
            if lost:
                print(
                    f"remuda: {lost} bytes of older output are gone (task {task})", file=sys.stderr
                )
        gang = len(output.next) > 1
        for each in output.records:
            data = each.data
            target = _target(each.stream)
            if gang:
                *lines, rest = (self._unfinished.pop((each.task, each.stream), b"") + data).split(
                    b"\n"
                )
                data = b"".join(b"[%d] %b\n" % (each.task, line) for line in lines)
                if rest:
                    self._unfinished[each.task, each.stream] = rest
            target.write(data)
            target.flush()

    def close(self) -> None:
        """Print lines that have no end. Raises: OSError."""
        for (task, stream), rest in sorted(self._unfinished.items()):
            target = _target(stream)
            target.write(b"[%d] %b\n" % (task, rest))
            target.flush()
        self._unfinished.clear()


def _target(stream: str) -> BinaryIO:
    return sys.stdout.buffer if stream == "out" else sys.stderr.buffer
