"""The help of every command, as a terminal of 80 columns shows it."""

from __future__ import annotations

import pytest
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from remuda.cli.program import app, loaded
from tests.e2e.serving import run_remuda

WIDTH = 80


def group() -> TyperGroup:
    found = get_command(app)
    assert isinstance(found, TyperGroup)
    return found


# Commands that call a server.
CALLING = (
    "get",
    "describe",
    "tree",
    "top",
    "events",
    "history",
    "fairshare",
    "explain",
    "forecast",
    "dry-run",
    "run",
    "submit",
    "logs",
    "wait",
    "cancel",
    "stop",
    "start",
    "drain",
    "undrain",
    "config apply",
    "config diff",
    "config get",
    "config impact",
)
INNER = (
    "config apply",
    "config diff",
    "config get",
    "config impact",
    "context delete",
    "context list",
    "context set",
    "context use",
    "kubernetes doctor",
    "kubernetes manifests",
    "kubernetes predicates",
)
# Those that reach an API server.
OF_CLUSTERS = ("kubernetes", "kubernetes doctor")
COMMANDS = ["", *group().commands, *INNER]


def parameters(command: str) -> list[TyperOption | TyperArgument]:
    """What a command takes; "" is the program itself."""
    if command:
        name, _, inner = command.partition(" ")
        found = loaded(name)
        if inner:
            assert isinstance(found, TyperGroup)
            within = found.commands[inner]
            assert isinstance(within, TyperCommand)
            found = within
        return [each for each in found.params if isinstance(each, TyperOption | TyperArgument)]
    return [each for each in group().params if isinstance(each, TyperOption)]


def shown(command: str) -> str:
    """The help in a narrow terminal."""
    ended = run_remuda(*command.split(), "--help", COLUMNS=str(WIDTH), TERM="xterm")
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_wider_than_the_terminal(command: str) -> None:
    text = shown(command)
    assert [line for line in text.splitlines() if len(line) > WIDTH] == []
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert [line for line in text.splitlines()[1:] if line.endswith("...")] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_names_of_options_and_variables_are_shown_whole(command: str) -> None:
    words = set(shown(command).replace(",", " ").replace(";", " ").replace("]", " ").split())
    taken = parameters(command)
    options = {
        name
        for each in taken
        if isinstance(each, TyperOption)
        for name in each.opts + each.secondary_opts
    }
    variables = {str(each.envvar) for each in taken if each.envvar}
    assert taken or command in {"config", "context"}  # whose commands have them
    assert ({"-h", "--help"} | options | variables) - words == set()
    assert bool(variables) is (command in {*CALLING, *OF_CLUSTERS, "serve", "shadow"})


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_keep_their_lines(command: str) -> None:
    _, title, examples = shown(command).partition("Examples:\n")
    assert title
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    begun = [line for line in lines if line.startswith(("remuda ", "REMUDA_"))]
    continued = [line for line in lines if line.endswith("\\")]
    assert len(begun) >= 2
    assert len(begun) + len(continued) == len(lines)
