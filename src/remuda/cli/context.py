"""The commands ``remuda context ...``: which servers a person works with, and which one now."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from remuda.base.errors import UsageError
from remuda.cli import known_servers
from remuda.cli.known_servers import KnownServer, KnownServers

EXAMPLES: Final = """
Examples:

\b
  remuda context set lab --server http://127.0.0.1:9080
  remuda context set live --server https://scheduler:9080 --token-file ~/live
  remuda context use live
  remuda context list
"""

_Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Name of a context.", autocompletion=known_servers.names_that_begin
    ),
]

app = typer.Typer(
    help="Name the servers that you work with.",
    epilog=EXAMPLES,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)


class Output(StrEnum):
    """How the list is printed."""

    TABLE = "table"
    JSON = "json"


@app.callback()
def _context() -> None:
    """Name the servers that you work with.

    Commands use the current context, unless --server or --context names another server. The file is
    ~/.config/remuda/contexts.yaml, or that of REMUDA_CONTEXTS.
    """


@app.command("list", epilog=EXAMPLES, short_help="Show all contexts.")
def list_(
    *,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A table, or a list in JSON.")
    ] = Output.TABLE,
) -> None:
    """Show all contexts; a star marks the current one."""
    import json  # noqa: PLC0415 - keeps help fast

    known = known_servers.read_known()
    rows = [
        (name == known.current, name, each.server, each.token_file)
        for name, each in sorted(known.servers.items())
    ]
    if output is Output.JSON:
        keys = ("current", "name", "server", "tokenFile")
        told = [dict(zip(keys, (*row[:3], str(row[3] or "")), strict=True)) for row in rows]
        print(json.dumps(told, indent=2))
        return
    if not rows:
        print(f"no contexts in {known_servers.place()}; 'remuda context set' adds one")
    longest = max((len(row[1]) for row in rows), default=0)
    for current, name, server, token_file in rows:
        token = f"  token in {token_file}" if token_file else ""
        print(f"{'*' if current else ' '} {name:{longest}}  {server}{token}")


@app.command(epilog=EXAMPLES, short_help="Make a context the current one.")
def use(name: _Name) -> None:
    """Make a context the current one: commands call its server from now on.

    Exit code 0: done; 2: there is no such context.
    """
    known = _with(name)
    known_servers.write_known(KnownServers(name, known.servers))
    print(f"commands call {known.servers[name].server} now")


@app.command("set", epilog=EXAMPLES, short_help="Add or change a context.")
def set_(
    *,
    name: _Name,
    server: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="HOST:PORT, http://HOST:PORT or https://HOST:PORT."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with the token; only its owner may read it."),
    ] = None,
    server_ca: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Authorities, in PEM, of the server's certificate."),
    ] = None,
) -> None:
    """Add a context, or change what the options name; the first context becomes current.

    Exit code 0: done; 2: a value is wrong, and nothing changed.
    """
    from remuda.cli.server import server_at  # noqa: PLC0415 - keeps help fast

    known_servers.check_name(name)
    known = known_servers.read_known()
    before = known.servers.get(name, KnownServer(""))
    made = KnownServer(
        server or before.server,
        _absolute(token_file) or before.token_file,
        _absolute(server_ca) or before.server_ca,
    )
    if not made.server:
        raise UsageError(f"--server is missing: the context {name!r} is new")
    if made.token_file is not None:
        known_servers.check_private(made.token_file)
    server_at(made.server, made.token_file, made.server_ca)
    known_servers.write_known(KnownServers(known.current or name, {**known.servers, name: made}))


@app.command(epilog=EXAMPLES, short_help="Remove a context.")
def delete(name: _Name) -> None:
    """Remove a context; files that it names stay.

    Exit code 0: done; 2: there is no such context.
    """
    known = _with(name)
    left = {each: server for each, server in known.servers.items() if each != name}
    current = "" if known.current == name else known.current
    known_servers.write_known(KnownServers(current, left))


def _with(name: str) -> KnownServers:
    """Return the contexts, of which one has that name. Raises: UsageError."""
    known = known_servers.read_known()
    if name not in known.servers:
        raise UsageError(known_servers.no_such(name, known))
    return known


def _absolute(path: Path | None) -> Path | None:
    """Return a path that holds in every folder."""
    return None if path is None else path.expanduser().absolute()
