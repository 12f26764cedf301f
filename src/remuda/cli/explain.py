"""The command ``remuda explain``: why an ask waits, and what would place it."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from remuda.base.errors import UsageError
from remuda.base.texts import shown
from remuda.cli.failures import NotThereError, about
from remuda.cli.insight_options import Output, OutputOption, seconds_text
from remuda.cli.server import (
    AuthorityOption,
    ContextOption,
    HttpServer,
    ServerOption,
    TokenOption,
    path_of,
    server_at,
)
from remuda.cli.viewing import completing
from remuda.cli.viewing.options import PartitionOption, RmOption

EXAMPLES: Final = """
Examples:

  remuda explain report                    all asks that wait

  remuda explain report page --ways-out    one ask, and what would place it

  remuda explain report --output json
"""

# Asks that are explained if none is named; each takes the scheduler a copy.
_SHOWN: Final = 10


def explain(
    *,
    application: Annotated[
        str,
        typer.Argument(
            metavar="APPLICATION", help="Its ID.", autocompletion=completing.applications
        ),
    ],
    ask: Annotated[
        str,
        typer.Argument(
            metavar="ASK",
            help="Allocation key; by default all that wait.",
            autocompletion=completing.asks,
        ),
    ] = "",
    ways_out: Annotated[
        bool, typer.Option("--ways-out", help="Also try changes that would place it.")
    ] = False,
    within: Annotated[
        float, typer.Option(metavar="SECONDS", help="How soon --ways-out has to place it.")
    ] = 0.0,
    partition: PartitionOption = "default",
    rm: RmOption = "",
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Tell why an ask of a running scheduler waits, or that it does not wait.

    The first lines say what stops it and what helps. Then come all checks with their numbers, what
    is served before it, and what each node lacks. With --ways-out, the scheduler tries changes on
    copies of itself, and names those that would place the ask. Nothing changes.

    Exit code 0: done, also if it waits; 1: the server does not answer, or has no room for the
    question; 2: the command line is wrong; 3: there is no such application or ask; 4: the server
    refuses the caller.
    """
    if not application:
        raise UsageError("APPLICATION is empty; name an application")
    seconds = seconds_text(within)
    called = server_at(server, token_file, server_ca, context)
    options = {"rm": rm} if rm else {}
    top = ("partition", partition, "application", application)
    keys = [ask] if ask else _waiting(called, top, options)
    answers: list[tuple[bytes, bytes]] = []
    for key in keys[:_SHOWN]:
        try:
            why = _got(called, (*top, "ask", key, "explain"), options)
            ways = b""
            if ways_out:
                more = {**options, "within": seconds}
                ways = _got(called, (*top, "ask", key, "ways-out"), more)
        except NotThereError:
            if ask:
                raise
            continue  # it ended since the list was read
        answers.append((why, ways))
    left = max(0, len(keys) - _SHOWN)
    if output is Output.JSON:
        print(_json(answers, left))
    elif answers:
        print("\n\n".join(_text(called, why, ways) for why, ways in answers))
        if left:
            print(f"\n{left} more asks wait; name one to see why")
    else:
        print(shown(f"{application} does not wait: nothing of it is pending"))


def _got(server: HttpServer, parts: tuple[str, ...], options: dict[str, str]) -> bytes:
    """Return an answer. Raises: NotThereError; as ``HttpServer.get``."""
    # The parts are: partition, its name, application, its ID, and perhaps ask, its key.
    kind = "ask" if "ask" in parts[4:5] else "application"
    with about(kind, "/".join(parts[3:6:2])):
        return server.get(path_of(*parts), options)


def _waiting(server: HttpServer, top: tuple[str, ...], options: dict[str, str]) -> list[str]:
    """Return the keys of the asks that wait, in the order in which they are served."""
    from remuda.cli.insight_answers import PendingAsks, decoded  # noqa: PLC0415 - keeps help fast

    found = decoded(_got(server, (*top, "pending"), options), PendingAsks, server.address)
    return [each.allocation_key for each in found.requests]


def _text(server: HttpServer, why: bytes, ways: bytes) -> str:
    """Return the explanation of an ask for a person. Implements: EXT-71. Rules: EXT-76."""
    from remuda.cli.insight_answers import (  # noqa: PLC0415 - keeps help fast
        Explanation,
        Told,
        decoded,
        explanation_lines,
    )

    lines = list(explanation_lines(decoded(why, Explanation, server.address)))
    if ways:
        lines += ["", *decoded(ways, Told, server.address).text]
    return "\n".join(map(shown, lines))


def _json(answers: list[tuple[bytes, bytes]], left: int) -> str:
    import msgspec  # noqa: PLC0415 - keeps help fast

    from remuda.cli.insight_answers import indented  # noqa: PLC0415

    asks = [
        {"explain": msgspec.Raw(why), **({"waysOut": msgspec.Raw(ways)} if ways else {})}
        for why, ways in answers
    ]
    return indented({"asks": asks, "more": left})
