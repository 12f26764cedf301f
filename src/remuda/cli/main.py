"""The program ``remuda``: its commands, and how errors reach the person who typed.

Exit codes: 0 done, 1 the work itself failed or differs, 2 the command line, a file or an address
is wrong, 130 interrupted. A user's error is one line on stderr; a traceback means a bug of ours.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import remuda
from remuda.base.errors import ConfigError, RemudaError, UsageError

_INTERRUPTED: Final = 130

_EPILOG: Final = """
Examples:

  remuda serve --demo                     a scheduler with a cluster to watch

  remuda serve --config queues.yaml       a scheduler for resource managers

  remuda COMMAND --help                   what a command does, with examples
"""

# Command -> what the list of commands says; the function is remuda.cli.NAME.NAME.
_COMMANDS: Final[Mapping[str, str]] = {
    "serve": "Run the scheduler as a service.",
    "validate": "Check queue configurations without using them.",
    "simulate": "Play a workload through the scheduler on a virtual clock.",
    "replay": "Repeat a recording and compare all decisions.",
    "bench": "Measure allocations per second on fixed shapes.",
    "conformance": "Check that a scheduler keeps the rules of the scheduler interface.",
}


class _LazyCommand(TyperCommand):
    """A command whose module is imported when it is used, not when it is listed."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        """Parse arguments with the real command."""
        assert self.name is not None
        module = import_module(f"remuda.cli.{self.name}")
        single = typer.Typer(
            add_completion=False, context_settings={"help_option_names": ["-h", "--help"]}
        )
        epilog = getattr(module, "EXAMPLES", None)
        single.command(self.name, epilog=epilog)(getattr(module, self.name))
        return get_command(single).make_context(info_name, args, *rest, **extra)


class _Commands(TyperGroup):
    """All commands, in the order in which a newcomer needs them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, summary in _COMMANDS.items():
            self.commands[name] = _LazyCommand(name, help=summary)


app = typer.Typer(
    cls=_Commands,
    name="remuda",
    help="A universal resource scheduler: queues with guarantees and limits, decisions in order.",
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        # Only here: listing the commands loads nothing below the command line.
        build = import_module("remuda.runtime.build").core_build()
        print(f"remuda {remuda.__version__} ({build})")
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
        return _finish(app(arguments, prog_name="remuda", standalone_mode=False))
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
        _silence_output()
        return 0
    except OSError as error:
        _silence_output()
        where = f"{error.filename}: " if error.filename else "input or output failed: "
        return _complain(f"{where}{error.strerror or error}", 1)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", _INTERRUPTED)


def _finish(code: int | None) -> int:
    """Return the exit code of a command once all it printed has arrived. Raises: OSError."""
    sys.stdout.flush()
    return code or 0


def _silence_output() -> None:
    """Let what is still buffered for stdout go nowhere when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explained(error: typer.TyperException) -> str:
    """Return what is wrong with the command line and where to read how it should be."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "remuda"
    message = " ".join(error.format_message().split()).rstrip(".")
    message = message.replace(": Value error, ", ": ")  # what pydantic puts before a text
    return f"{message}; see '{command} --help'"


def _complain(text: str, code: int) -> int:
    line = " ".join(text.split("\n"))
    print(f"remuda: {line}", file=sys.stderr)
    return code
