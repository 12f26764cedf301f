"""The manual pages: all commands have one, they are up to date, and the wheel has them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest

from remuda.cli import program
from tests.package import ROOT
from tools import gen_man
from tools.wheels import backend


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return gen_man.pages()


def test_every_command_has_a_page_that_is_up_to_date(pages: dict[str, str]) -> None:
    there = {path.name: path.read_text() for path in (ROOT / "man").iterdir()}
    assert there == pages
    commands = {*program._COMMANDS, *program._GROUPS}
    assert {f"remuda-{name}.1" for name in commands} <= pages.keys()
    assert {"remuda.1", "remuda-config-fmt.1", "remuda-kubernetes-manifests.1"} <= pages.keys()


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_troff_warns_of_nothing_and_shows_what_help_says(pages: dict[str, str]) -> None:
    assert gen_man.problems_of(pages) == []
    assert gen_man.problems_of({"bad.1": pages["remuda-get.1"] + ".XY\n"}) != []
    command = ["groff", "-man", "-Tascii", "-P-cbou"]
    done = subprocess.run(
        command, input=pages["remuda-get.1"], capture_output=True, text=True, check=True
    )
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "remuda-get - List what a running scheduler has" in lines
    assert "remuda get queues" in lines
    assert "-p, --partition NAME" in lines


def test_a_page_shows_lines_as_they_are() -> None:
    assert gen_man._text(".TH 'x' \\n -y \u00fc") == "\\&.TH \\(aqx\\(aq \\en \\-y \\[u00FC]"


def test_a_wheel_has_the_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: dict[str, str]
) -> None:
    monkeypatch.setenv("REMUDA_COMPILE", "0")
    with ZipFile(tmp_path / backend.build_wheel(str(tmp_path))) as archive:
        found = {
            Path(name).name: archive.read(name).decode()
            for name in archive.namelist()
            if "/data/share/man/man1/" in name
        }
    assert found == pages
