"""A test that failed is tried a second time, and a fault is never passed over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import second_try

# Fails as often as there are numbers below N in its file, and counts.
FLAKY = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("name", {names})
def test_it(name):
    runs = Path({folder!r}) / name
    times = int(runs.read_text()) if runs.exists() else 0
    runs.write_text(str(times + 1))
    assert times >= {fails}[name]
"""


def run(folder: Path, fails: dict[str, int], *arguments: str) -> tuple[int, dict[str, int]]:
    """Run tests that fail so often; return the result and how often each ran."""
    file = folder / "test_flaky.py"
    file.write_text(FLAKY.format(names=list(fails), folder=str(folder), fails=fails))
    result = second_try.main([str(file), "-q", "--rootdir", str(folder), *arguments])
    return result, {name: int((folder / name).read_text()) for name in fails}


@pytest.mark.parametrize("arguments", [(), ("-n", "2", "--dist", "loadfile")])
def test_what_failed_once_is_tried_alone_and_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert run(tmp_path, {"steady": 0, "once": 1}, *arguments) == (0, {"steady": 1, "once": 2})
    told = re.findall("FAILED ONCE, and passed alone: (.*)", capfd.readouterr().out)
    assert [name.rpartition("::")[2] for name in told] == ["test_it[once]"]


def test_what_fails_twice_fails_the_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result, runs = run(tmp_path, {"once": 1, "always": 9})
    assert (result, runs) == (1, {"once": 2, "always": 2})
    assert "FAILED ONCE" not in capfd.readouterr().out


def test_many_faults_are_no_accident(tmp_path: Path) -> None:
    fails = {f"t{at}": 1 for at in range(second_try.MOST + 1)}
    assert run(tmp_path, fails) == (1, dict.fromkeys(fails, 1))


def test_what_passes_is_run_once(tmp_path: Path) -> None:
    assert run(tmp_path, {"steady": 0}) == (0, {"steady": 1})


def test_a_usage_error_is_not_tried_again(tmp_path: Path) -> None:
    assert second_try.main([str(tmp_path / "nothing.py")]) == pytest.ExitCode.USAGE_ERROR
