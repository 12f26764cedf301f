"""The command ``remuda forecast``: when an application that waits will start."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from remuda.base.errors import UsageError
from remuda.base.texts import shown
from remuda.cli.failures import about
from remuda.cli.insight_options import Output, OutputOption
from remuda.cli.server import (
    AuthorityOption,
    ContextOption,
    ServerOption,
    TokenOption,
    path_of,
    server_at,
)
from remuda.cli.viewing import completing
from remuda.cli.viewing.options import PartitionOption, RmOption

EXAMPLES: Final = """
Examples:

  remuda forecast train-7                  one application

  remuda forecast --queue root.research    all that wait there

  remuda forecast train-7 --no-arrivals --output json
"""

# Seconds that a forecast looks ahead at most: 30 days.
_HORIZON_LIMIT: Final = 2_592_000


def forecast(
    *,
    application: Annotated[
        str,
        typer.Argument(
            metavar="APPLICATION", help="Its ID.", autocompletion=completing.applications
        ),
    ] = "",
    queue: Annotated[
        str,
        typer.Option(
            "--queue",
            "-q",
            metavar="PATH",
            help="Instead: all that wait in it and below.",
            autocompletion=completing.queues,
        ),
    ] = "",
    within: Annotated[
        float, typer.Option(metavar="SECONDS", help="How far to look ahead, up to 30 days.")
    ] = 604_800.0,
    arrivals: Annotated[
        bool, typer.Option("--arrivals/--no-arrivals", help="Applications come as before.")
    ] = True,
    partition: PartitionOption = "default",
    rm: RmOption = "",
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Tell when an application that waits will start, as an interval; nothing changes.

    The running scheduler plays what may come on copies of itself, with the run times that
    applications declare (tag remuda/runTimeSeconds) or that it learned from those that ended. If
    it knows too little of them it says so.

    Exit code 0: done, also if the start is unknown; 1: the server does not answer, or has no room
    for the question; 2: the command line is wrong; 3: there is no such application or queue; 4: the
    server refuses the caller.
    """
    if bool(application) == bool(queue):
        raise UsageError("name an APPLICATION, or a queue with --queue, and not both")
    if not 0 <= within <= _HORIZON_LIMIT:
        raise UsageError(
            f"--within is {within:g}; it has to be from 0 to {_HORIZON_LIMIT} seconds (30 days)"
        )
    what = ("application", application) if application else ("queue", queue)
    options = {"within": f"{within:.9f}", "arrivals": "true" if arrivals else "false"}
    if rm:
        options["rm"] = rm
    called = server_at(server, token_file, server_ca, context)
    with about(*what):
        answer = called.get(path_of("partition", partition, *what, "forecast"), options)
    print(_text(answer, output, called.address))


def _text(answer: bytes, output: Output, address: str) -> str:
    """Return an answer as it is printed. Rules: EXT-76, EXT-124."""
    import msgspec  # noqa: PLC0415 - keeps help fast

    from remuda.cli.insight_answers import Told, decoded, indented  # noqa: PLC0415

    told = decoded(answer, Told, address)
    if output is Output.JSON:
        return indented(msgspec.Raw(answer))
    return "\n".join(map(shown, told.text))
