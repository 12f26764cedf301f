"""The program's frame: help, version, completion, errors."""

from __future__ import annotations

from pathlib import Path

import pytest

import remuda
from remuda.runtime.build import core_build
from tests.e2e.serving import run_remuda

COMMANDS = ["serve", "validate", "simulate", "replay", "bench", "conformance"]


def test_help_lists_all_commands_with_examples() -> None:
    for arguments in ((), ("--help",), ("-h",)):
        ended = run_remuda(*arguments)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "remuda serve --demo" in ended.stdout
        for command in COMMANDS:
            assert command in ended.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_teaches(command: str) -> None:
    ended = run_remuda(command, "--help")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert f"Usage: remuda {command}" in ended.stdout
    assert "Examples:" in ended.stdout
    assert ended.stdout == run_remuda(command, "-h").stdout


def test_version() -> None:
    ended = run_remuda("--version")
    told = f"remuda {remuda.__version__} ({core_build()})\n"
    assert (ended.returncode, ended.stdout) == (0, told)


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["srve"], "No such command 'srve'"),
        (["--nope"], "--nope"),
        (["serve", "--nope"], "--nope"),
        (["serve", "extra"], "extra"),
        (["serve", "--duration"], "--duration"),
        (["serve", "--duration", "3"], "--duration: '3' is not a duration"),
        (["serve", "--rest-address", "9080"], "--rest-address: '9080' is not HOST:PORT"),
        (["replay"], "file"),
        (["validate"], "FILE"),
        (["validate", "--output", "xml", "x.yaml"], "--output"),
        (["simulate", "--gang-style", "x"], "'--gang-style': 'x' is not one of 'soft', 'hard'"),
        (["validate", "-", "-"], "standard input"),
    ],
)
def test_a_bad_command_line_is_one_line_and_code_2(arguments: list[str], told: str) -> None:
    ended = run_remuda(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("remuda: ")
    assert told in line


def test_a_bad_variable_is_one_line_and_code_2() -> None:
    ended = run_remuda("serve", REMUDA_DEMO="perhaps")
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert "REMUDA_DEMO" in line


def test_completion_knows_commands_and_options() -> None:
    for words, expected in (("remuda se", ["serve"]), ("remuda serve --re", ["--record"])):
        ended = run_remuda(
            _REMUDA_COMPLETE="complete_bash",
            COMP_WORDS=words,
            COMP_CWORD=str(len(words.split()) - 1),
        )
        assert set(expected) <= set(ended.stdout.split())


@pytest.mark.remuda_rule("EVT-132")
def test_a_directory_for_events_has_to_be_one(tmp_path: Path) -> None:
    nowhere = tmp_path / "none"
    ended = run_remuda("serve", "--event-dir", str(nowhere), "--duration", "1s")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"remuda: --event-dir {nowhere}: is no directory; make it first\n"
