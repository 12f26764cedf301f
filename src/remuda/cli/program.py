"""The commands of ``remuda``, and how errors reach the person who typed.

Exit codes: 0 done, 1 the work itself failed or differs, 2 the command line, a file or an address
is wrong, 3 what was named is not there, 4 the server refuses it, 130 interrupted. A user's error is
one line on stderr; a traceback means a bug of ours.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from remuda.base.errors import ConfigError, RemudaError, UsageError
from remuda.base.texts import shown
from remuda.cli.scarcity import SCARCE, is_scarcity

_INTERRUPTED: Final = 130

_EPILOG: Final = """
Examples:

  remuda serve --demo                     a scheduler with a cluster to watch

  remuda serve --config queues.yaml       a scheduler for resource managers

  remuda COMMAND --help                   what a command does, with examples
"""

# Command -> what the list of commands says; the function is remuda.cli.NAME.NAME, with _ for -.
_COMMANDS: Final[Mapping[str, str]] = {
    "serve": "Run the scheduler as a service.",
    "get": "List what a running scheduler has.",
    "describe": "Tell everything about one object.",
    "tree": "Show the queues as a tree with bars.",
    "top": "Show what uses most, and keep it current.",
    "events": "Show what has happened, and what happens.",
    "history": "Show how many applications and allocations ran.",
    "fairshare": "Show what each queue uses, is guaranteed and is owed.",
    "explain": "Tell why an ask waits, and what would place it.",
    "forecast": "Tell when an application that waits will start.",
    "dry-run": "Tell what would happen to a submission.",
    "run": "Run a command on this machine when it is its turn.",
    "submit": "The same, without waiting for it.",
    "logs": "Show what a command wrote.",
    "wait": "Wait until commands have ended.",
    "cancel": "End commands that run or wait.",
    "stop": "Stop a queue or a partition.",
    "start": "Go on with a queue or a partition.",
    "drain": "Place nothing new on a node.",
    "undrain": "Use a node again that was drained.",
    "token": "Make a token for a client, and its hash.",
    "validate": "Check queue configurations without using them.",
    "simulate": "Play a workload through the scheduler on a virtual clock.",
    "study": "Compare configurations and options over many simulations.",
    "replay": "Repeat a recording and compare all decisions.",
    "snapshot": "Write the state at a moment of a recording, or show a state.",
    "at": "Show the state at a past moment of a journal.",
    "shadow": "Compare a scheduler with one of another configuration.",
    "bisect": "Find where in a journal an answer changed.",
    "doctor": "Make a report of a snapshot or a journal for an issue.",
    "bench": "Measure allocations per second on fixed shapes.",
    "conformance": "Check that a scheduler keeps the rules of its interface.",
}

# Command with commands of its own -> what the list says, and the module whose ``app`` has them.
_GROUPS: Final[Mapping[str, tuple[str, str]]] = {
    "context": ("Name the servers that you work with.", "remuda.cli.context"),
    "config": ("Show, format, compare, try and change configurations.", "remuda.cli.config"),
    "kubernetes": ("Work with Kubernetes clusters.", "remuda_kubernetes.command"),
}

_HELP: Final = {"help_option_names": ["-h", "--help"]}


def _as_typed(examples: str) -> str:
    """Return examples so that help shows each line as it is."""
    title, *lines = (line for line in examples.splitlines() if line.strip())
    return "\n".join((title, "", "\b", *lines))


def loaded(name: str) -> TyperCommand | TyperGroup:
    """Return a command by its name; its module is imported now."""
    found: object
    if name in _GROUPS:
        module = import_module(_GROUPS[name][1])
        found = get_command(module.app)
    else:
        function = name.replace("-", "_")
        module = import_module(f"remuda.cli.{function}")
        single = typer.Typer(add_completion=False, context_settings=_HELP, rich_markup_mode=None)
        single.command(name, epilog=_as_typed(module.EXAMPLES))(getattr(module, function))
        found = get_command(single)
    assert isinstance(found, TyperCommand | TyperGroup)
    return found


class _LazyCommand(TyperCommand):
    """A command whose module is imported when it is used, not when it is listed."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        """Parse arguments with the real command."""
        assert self.name is not None
        return loaded(self.name).make_context(info_name, args, *rest, **extra)


class _Commands(TyperGroup):
    """All commands, in the order in which a newcomer needs them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, summary in _COMMANDS.items():
            self.commands[name] = _LazyCommand(name, help=summary)
        for name, (summary, _) in _GROUPS.items():
            self.commands[name] = _LazyCommand(name, help=summary)


app = typer.Typer(
    cls=_Commands,
    name="remuda",
    help="A universal resource scheduler: queues with guarantees and limits, decisions in order.",
    epilog=_as_typed(_EPILOG),
    context_settings=_HELP,
    # Plain help: its tables would cut names of options and variables in a narrow terminal.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        # Only here: listing the commands loads nothing below the command line.
        print(import_module("remuda.cli.version").version_line())
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


def run(arguments: list[str]) -> int:
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
        return _complain(str(error), getattr(error, "exit_code", 1))
    except (BrokenPipeError, SystemExit):
        # The library of the command line turns the first into the second; nothing else raises it.
        _silence_output()
        return 0
    except OSError as error:
        _silence_output()
        where = f"{error.filename}: " if error.filename else "input or output failed: "
        return _complain(f"{where}{error.strerror or error}", 1)
    except (MemoryError, RuntimeError, ImportError) as error:
        if not is_scarcity(error):
            raise
        return _complain(SCARCE, 1)
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
    return f"{message}; see '{command} --help'"


def _complain(text: str, code: int) -> int:
    """Say what is wrong in one line, which may name what a server or a file has. Rules: EXT-76."""
    line = " ".join(text.split("\n"))
    print(f"remuda: {shown(line)}", file=sys.stderr)
    return code
