"""The command ``remuda shadow``: what a scheduler would decide under another configuration.

It reads a journal in its directory, or a copy of one that a scheduler sends. The scheduler that is
shadowed never hears of what it finds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final

import typer

from remuda.base.duration import SECOND
from remuda.base.errors import UsageError
from remuda.base.texts import shown
from remuda.cli.administering import (
    AdminTokenOption,
    GrpcAuthorityOption,
    failures_told,
    security,
)
from remuda.cli.server import NotReachableError
from remuda.cli.signals import sigterm_interrupts

if TYPE_CHECKING:
    from remuda.client import Security
    from remuda.insight.shadow.differences import Difference
    from remuda.runtime.journals.following import Followed
    from remuda.runtime.journals.past import Until
    from remuda.runtime.journals.shadows import Shadow

EXAMPLES: Final = """
Examples:

  remuda shadow --journal /var/lib/remuda/journal --config new.yaml

  remuda shadow --of scheduler:9079 --token-file admin --config new.yaml

  remuda shadow --journal journal --config new.yaml --once --since 09:00

  remuda shadow --journal journal --config new.yaml --output jsonl
"""

# How often a journal is looked at for more, and how often the table on a terminal is drawn.
_POLL: Final = 0.2
_DRAW: Final = 1.0

# With --once: how long a scheduler that does not answer any more is called again.
_PATIENCE: Final = 30.0

_DAY: Final = 86_400.0

# Clears the rest of a line, and of the screen; begins at its first line. A line is cleared before
# it is drawn: after one as wide as the terminal the cursor is on its last letter.
_HOME: Final = "\x1b[H"
_REST_OF_LINE: Final = "\x1b[K"
_REST: Final = "\x1b[J"


class ShadowOutput(StrEnum):
    """How differences are told."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"


_Journal = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="The directory of a journal; see 'remuda serve'."),
]
_Of = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        help="Instead of --journal: the gRPC listener of a scheduler that keeps one. The caller "
        "has to be an administrator.",
    ),
]
_Config = Annotated[
    Path, typer.Option(metavar="NEW", help="The queue configuration of the shadow (YAML).")
]
_Rm = Annotated[
    str, typer.Option(metavar="ID", help="Whose configuration it is, if there are several RMs.")
]
_Since = Annotated[
    str,
    typer.Option(
        metavar="WHEN",
        help="Where to begin: a time, how long ago (15m), or an input's number; by default the "
        "latest state, with --once the oldest one.",
    ),
]
_Once = Annotated[
    bool, typer.Option("--once", help="End at the end of the journal, and do not wait for more.")
]
_For = Annotated[
    float | None,
    typer.Option("--for", metavar="SECONDS", help="End after so long; else Ctrl-C ends it."),
]
_Tolerance = Annotated[
    float,
    typer.Option(metavar="SECONDS", help="Placements that differ by no more came at one time."),
]
_Output = Annotated[
    ShadowOutput,
    typer.Option(help="Text; one JSON object at the end; or a JSON line for each difference."),
]


def shadow(
    *,
    config: _Config,
    journal: _Journal = None,
    of: _Of = "",
    rm: _Rm = "",
    since: _Since = "",
    once: _Once = False,
    seconds: _For = None,
    tolerance: _Tolerance = 1.0,
    output: _Output = ShadowOutput.TEXT,
    grpc_ca: GrpcAuthorityOption = None,
    token_file: AdminTokenOption = None,
) -> None:
    """Compare a scheduler with one that has the same inputs and another configuration.

    The second one, the shadow, decides but never acts. It follows the journal of the first one,
    from its directory while that runs or afterwards, or over the network (--of). For each queue
    the asks are counted that are placed elsewhere, earlier, later or not at all, or that are
    refused or preempted, on one side only.

    Exit code 0: done, whatever differs; 1: another version wrote the journal; 2: a file or an
    option is wrong, the journal is damaged, there is no journal at that address, or the scheduler
    would refuse the configuration; 4: the scheduler refuses the caller.
    """
    from remuda.insight.shadow.twin import Trial  # noqa: PLC0415 - keeps help fast
    from remuda.runtime.configuration.text import read_configuration  # noqa: PLC0415
    from remuda.runtime.journals.following import Follower  # noqa: PLC0415
    from remuda.runtime.journals.past import Until  # noqa: PLC0415
    from remuda.runtime.journals.shadows import Shadow  # noqa: PLC0415
    from remuda.runtime.journals.when import parse_when  # noqa: PLC0415

    if not 0 <= tolerance <= _DAY:
        raise UsageError(f"--tolerance is {tolerance:g}; it has to be from 0 to {_DAY:g} seconds")
    if seconds is not None and not 0 <= seconds < float("inf"):
        raise UsageError(f"--for is {seconds:g}; it has to be 0 or more seconds")
    if bool(of) == (journal is not None):
        raise UsageError("name the scheduler by one of --journal DIR and --of HOST:PORT")
    oldest = Until(0) if once else None
    now = datetime.now().astimezone()
    begin = parse_when(since, now, "--since") if since else oldest
    trial = Trial(read_configuration(config), rm, str(config), round(tolerance * SECOND))
    screen = _Screen(output, once=once, seconds=seconds)
    found = Shadow(journal or shown(of), trial, screen.tell)
    screen.watch(found)
    try:
        with sigterm_interrupts():
            if journal is not None:
                found.run(Follower(journal, begin, screen.wait, screen.note).read())
            else:
                with _inputs(of, security(grpc_ca, token_file), begin, screen) as inputs:
                    found.run(inputs)
    except KeyboardInterrupt:
        screen.close()
    found.require_applied()
    screen.finish()


@contextmanager
def _inputs(
    of: str, security: Security, since: Until | None, screen: _Screen
) -> Iterator[Iterator[Followed]]:
    """Give the inputs of a served scheduler, through a copy of its journal that is removed again.

    Raises: UsageError, RefusedError, RemudaError, with one line each. Implements: EXT-167.
    """
    from remuda.connection.journal import JournalStream, NoJournalError  # noqa: PLC0415
    from remuda.runtime.journals.mirror import Mirror  # noqa: PLC0415

    patience = _PATIENCE if screen.once else None
    try:
        with (
            failures_told(of),
            _typed_wrong(NoJournalError),
            TemporaryDirectory(prefix="remuda-shadow-") as folder,
            JournalStream(of, security, since, screen.note, patience) as stream,
        ):
            goes_on = screen.goes_on
            yield Mirror(Path(folder), stream, since, once=screen.once, goes_on=goes_on).read()
    except NotReachableError as error:
        raise UsageError(str(error)) from None


@contextmanager
def _typed_wrong(kind: type[Exception]) -> Iterator[None]:
    """Tell errors of a kind as those of the one who typed. Raises: UsageError."""
    try:
        yield
    except kind as error:
        raise UsageError(shown(str(error))) from None


class _Screen:
    """Tells what a shadow finds, as it comes and at the end."""

    def __init__(self, output: ShadowOutput, *, once: bool, seconds: float | None) -> None:
        self._output = output
        self.once: Final = once
        self._note = ""
        self._ends = None if seconds is None else time.monotonic() + seconds
        self._drawn = 0.0
        self._shadow: Shadow | None = None
        self._live = output is ShadowOutput.TEXT and not once and sys.stdout.isatty()

    def watch(self, shadow: Shadow) -> None:
        """Show this one."""
        self._shadow = shadow

    def tell(self, difference: Difference) -> None:
        """Tell one difference, if each is told; keep the table current."""
        if self._output is ShadowOutput.JSONL:
            _print_json("difference", difference)
        self._draw()

    def note(self, text: str) -> None:
        """Say something about the connection: on stderr, or where it does not disturb a table."""
        self._note = shown(text)
        if not self._live:
            print(f"remuda: {self._note}", file=sys.stderr)

    def goes_on(self) -> bool:
        """Whether it is not yet time to end."""
        self._draw()
        return self._ends is None or time.monotonic() < self._ends

    def wait(self) -> bool:
        """Wait a moment for more; False: it is time to end."""
        if not self.goes_on() or self.once:
            return False
        time.sleep(_POLL)
        return True

    def close(self) -> None:
        """Leave the line on which a terminal shows ^C."""
        if self._live:
            print()

    def finish(self) -> None:
        """Tell all at the end."""
        assert self._shadow is not None
        result = self._shadow.result()
        if self._output is ShadowOutput.TEXT:
            if self._live:
                sys.stdout.write(_HOME + _REST)
            print(result)
        elif self._output is ShadowOutput.JSON:
            print(_json(result, indent=2))
        else:
            _print_json("summary", result)

    def _draw(self) -> None:
        if not self._live or self._shadow is None or time.monotonic() < self._drawn + _DRAW:
            return
        self._drawn = time.monotonic()
        lines = self._shadow.result().lines(10)
        if self._note:
            lines = [*lines, self._note]
        sys.stdout.write(_HOME + "".join(f"{_REST_OF_LINE}{each}\n" for each in lines) + _REST)
        sys.stdout.flush()


def _print_json(kind: str, found: object) -> None:
    """Print a JSON object in a line; ``type`` says what it is."""
    text = _json(found)
    print(f'{{"type": "{kind}", {text.removeprefix("{")}', flush=True)


def _json(found: object, indent: int | None = None) -> str:
    """Return a record as JSON; what cannot be printed is escaped. Rules: EXT-76."""
    import msgspec  # noqa: PLC0415 - keeps help fast

    return json.dumps(msgspec.to_builtins(found), indent=indent)
