"""The page on commands names every command, option and variable there is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.core import TyperGroup, TyperOption
from typer.main import get_command

from remuda.cli.program import app, loaded

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/commands.md").read_text()


def commands() -> list[str]:
    """The names of the commands, in the order of the help text."""
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    return list(group.commands)


def options(command: str) -> list[TyperOption]:
    """The options of a command, or of the commands below it if it has none."""
    found = loaded(command)
    if isinstance(found, TyperGroup) and not found.params:
        below = [item for each in found.commands.values() for item in each.params]
        return [item for item in below if isinstance(item, TyperOption)]
    return [item for item in found.params if isinstance(item, TyperOption)]


def below() -> list[tuple[str, str]]:
    """The commands with options of their own below a command that has options, too."""
    return [
        (command, name)
        for command in commands()
        if isinstance(found := loaded(command), TyperGroup) and found.params
        for name, each in found.commands.items()
        if any(isinstance(item, TyperOption) for item in each.params)
    ]


# Options that many commands have; the sections of those lead to it.
SHARED = "The server that a command calls"

# A variable that no option has.
OF_NO_OPTION = {"context": {"REMUDA_CONTEXTS"}}


def section(command: str) -> str:
    """What the page says on a command, with the shared section if the command's leads to it."""
    own = titled(f"remuda {command}")
    return own + titled(SHARED) if "(#the-server-that-a-command-calls)" in own else own


def titled(title: str) -> str:
    """The section of that title, but not what it says on commands of ``below``."""
    text = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    for group, name in below():
        before, _, after = text.partition(f"\n### remuda {group} {name}\n")
        text = before + "".join(after.partition("\n### ")[1:])
    return text


def test_every_command_has_a_section() -> None:
    assert re.findall(r"^## remuda ([\w-]+)$", PAGE, re.MULTILINE) == commands()


@pytest.mark.parametrize("command", commands())
def test_options_of(command: str) -> None:
    known = {name for option in options(command) for name in option.opts}
    rows = re.findall(r"^\| `(--[\w-]+)", section(command), re.MULTILINE)
    assert set(rows) == {name for name in known if name.startswith("--")} - {"--help"}
    assert len(rows) == len(set(rows))
    short = re.findall(r"^\| `--[^`]+`, `(-\w)`", section(command), re.MULTILINE)
    assert set(short) == {name for name in known if not name.startswith("--")} - {"-h"}


@pytest.mark.parametrize("command", commands())
def test_variables_of(command: str) -> None:
    known = {str(option.envvar) for option in options(command) if option.envvar}
    known |= OF_NO_OPTION.get(command, set())
    assert set(re.findall(r"REMUDA_[A-Z_]+", section(command))) == known


@pytest.mark.parametrize("command, name", below())
def test_options_and_variables_below(command: str, name: str) -> None:
    group = loaded(command)
    assert isinstance(group, TyperGroup)
    given = [item for item in group.commands[name].params if isinstance(item, TyperOption)]
    title = f"\n### remuda {command} {name}\n"
    text = PAGE.partition(title)[2].partition("\n### ")[0].partition("\n## ")[0]
    rows = re.findall(r"^\| (`--.*?) \|", text, re.MULTILINE)
    told = [option for row in rows for option in re.findall(r"`(--[\w-]+)", row)]
    known = {option for item in given for option in (*item.opts, *item.secondary_opts)}
    assert set(told) == known - {"--help"}
    assert len(told) == len(set(told))
    variables = {str(item.envvar) for item in given if item.envvar}
    assert set(re.findall(r"REMUDA_[A-Z_]+", text)) == variables
