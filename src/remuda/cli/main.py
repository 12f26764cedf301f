"""The program ``remuda``: its commands, and how errors reach the person who typed.

Exit codes: 0 done, 1 the work itself failed or differs, 2 the command line, a file or an address
is wrong, 130 interrupted. A user's error is one line on stderr; a traceback means a bug of ours.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

import remuda
from remuda.base.errors import ConfigError, RemudaError, UsageError
from remuda.cli import serve

_INTERRUPTED = 130

_EPILOG = """
Examples:

  remuda serve --demo                     a scheduler with a cluster to watch

  remuda serve --config queues.yaml       a scheduler for resource managers

  remuda COMMAND --help                   what a command does, with examples
"""

app = typer.Typer(
    name="remuda",
    help="A universal resource scheduler: queues with guarantees and limits, decisions in order.",
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command(epilog=serve.EXAMPLES)(serve.serve)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"remuda {remuda.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_print_version),
    ] = False,
) -> None:
    if context.invoked_subcommand is None and not version:
        print(context.get_help())


def main() -> NoReturn:
    """Run the command line in ``sys.argv`` and exit."""
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; the one table from errors to codes."""
    try:
        return int(app(arguments, prog_name="remuda", standalone_mode=False) or 0)
    except typer.TyperException as error:
        return _complain(_explained(error), 2)
    except ConfigError as error:
        more = len(error.problems) - 1
        first = error.problems[0].text(error.source)
        return _complain(f"{first} (and {more} more)" if more else first, 2)
    except UsageError as error:
        return _complain(str(error), 2)
    except RemudaError as error:
        return _complain(str(error), 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", _INTERRUPTED)


def _explained(error: typer.TyperException) -> str:
    """Return what is wrong with the command line and where to read how it should be."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "remuda"
    message = " ".join(error.format_message().split()).rstrip(".")
    return f"{message}; see '{command} --help'"


def _complain(text: str, code: int) -> int:
    line = " ".join(text.split("\n"))
    print(f"remuda: {line}", file=sys.stderr)
    return code
