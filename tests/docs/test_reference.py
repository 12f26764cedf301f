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
    """The options of a command."""
    return [item for item in loaded(command).params if isinstance(item, TyperOption)]


def section(command: str) -> str:
    """What the page says on a command."""
    return PAGE.partition(f"## remuda {command}\n")[2].partition("\n## ")[0]


def test_every_command_has_a_section() -> None:
    assert re.findall(r"^## remuda (\w+)$", PAGE, re.MULTILINE) == commands()


@pytest.mark.parametrize("command", commands())
def test_options_of(command: str) -> None:
    known = {name for option in options(command) for name in option.opts}
    rows = re.findall(r"^\| `(--[\w-]+)", section(command), re.MULTILINE)
    assert set(rows) == known - {"--help"}
    assert len(rows) == len(set(rows))


@pytest.mark.parametrize("command", commands())
def test_variables_of(command: str) -> None:
    known = {str(option.envvar) for option in options(command) if option.envvar}
    assert set(re.findall(r"REMUDA_[A-Z_]+", section(command))) == known
