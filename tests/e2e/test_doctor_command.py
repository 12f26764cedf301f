"""``remuda doctor``: what it prints, writes and refuses, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remuda.runtime import snapshots
from tests.e2e.serving import run_remuda
from tests.unit.runtime.journals.written import journal_of
from tests.unit.runtime.reports import named


def written(folder: Path, *, broken: bool = False) -> str:
    """A snapshot with hostile names."""
    scheduler = named.worked()
    if broken:
        named.break_amounts(scheduler)
    path = folder / "state.snapshot"
    snapshots.write(path, scheduler, named.START)
    return str(path)


@pytest.mark.remuda_rule("EXT-145", "EXT-76")
def test_a_sound_state_is_told_with_code_zero(tmp_path: Path) -> None:
    done = run_remuda("doctor", written(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "Invariants: all hold." in done.stdout
    assert done.stdout.endswith("Result: nothing is wrong.\n")
    assert "\x1b" not in done.stdout
    assert "\\x1b[31mzqx-node" not in done.stdout  # no line about that node is needed


@pytest.mark.remuda_rule("EXT-145")
def test_a_broken_state_is_told_with_code_one(tmp_path: Path) -> None:
    done = run_remuda("doctor", written(tmp_path, broken=True))
    assert (done.returncode, done.stderr) == (1, "")
    assert "VIOLATIONS" in done.stdout
    assert "node \\x1b[31mzqx-node is 1, not 2\\n, allocated: allocated: vcore is " in done.stdout


@pytest.mark.remuda_rule("EXT-145", "EXT-147")
def test_a_journal_that_differs_is_told_with_code_one(tmp_path: Path) -> None:
    (segment, *_) = reversed(journal_of(tmp_path))
    content = segment.inputs.read_bytes()
    segment.inputs.write_bytes(content.replace(b'"vcore":500', b'"vcore":501'))
    done = run_remuda("doctor", str(tmp_path))
    assert done.returncode == 1
    assert "DIFFERENT at input " in done.stdout


@pytest.mark.remuda_rule("EXT-146")
def test_a_report_with_pseudonyms_has_no_name_in_either_form(tmp_path: Path) -> None:
    file = written(tmp_path, broken=True)
    texts = []
    for output in ("text", "json"):
        done = run_remuda("doctor", file, "--pseudonymise", "--output", output)
        assert done.returncode == 1
        assert named.MARK not in done.stdout.lower()
        assert str(tmp_path) not in done.stdout
        texts.append(done.stdout)
    report = json.loads(texts[1])
    assert report["pseudonyms"] is True
    assert report["files"][0]["partitions"][0]["waiting asks"] == 4


@pytest.mark.remuda_rule("EXT-145")
def test_a_report_file_is_for_its_owner_and_never_replaced_unasked(tmp_path: Path) -> None:
    file, report = written(tmp_path), tmp_path / "report.txt"
    done = run_remuda("doctor", file, "--out", str(report))
    assert (done.returncode, done.stdout) == (0, f"{report}: written; nothing wrong was found\n")
    assert report.stat().st_mode & 0o777 == 0o600
    whole = report.read_text()
    assert whole.endswith("Result: nothing is wrong.\n")
    report.write_text("mine\n")
    done = run_remuda("doctor", file, "--out", str(report))
    assert done.returncode == 2
    assert "exists already; name another file, or replace it with --force" in done.stderr
    assert report.read_text() == "mine\n"
    assert run_remuda("doctor", file, "--out", str(report), "--force").returncode == 0
    assert report.read_text() == whole
    assert sorted(each.name for each in tmp_path.iterdir()) == ["report.txt", "state.snapshot"]


@pytest.mark.remuda_rule("EXT-145")
def test_what_cannot_be_used_is_one_line_and_code_two(tmp_path: Path) -> None:
    file = written(tmp_path)
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "link").symlink_to(tmp_path / "text")
    for arguments, said in (
        ((str(tmp_path / "text"),), "neither a snapshot nor a journal nor a recording"),
        ((str(tmp_path / "none"),), "cannot read"),
        ((str(tmp_path),), "no journal of remuda"),
        ((file, str(tmp_path / "none")), "cannot read"),
        ((file, "--force"), "--force is for --out"),
        ((str(tmp_path / ("n" * 300)),), "cannot read"),
        ((file, "--out", str(tmp_path / "none" / "r")), "cannot write"),
        ((file, "--out", str(tmp_path / ("n" * 300))), "cannot write"),
        ((file, "--out", str(tmp_path), "--force"), "it is no plain file"),
        ((file, "--out", str(tmp_path / "link"), "--force"), "it is no plain file"),
        ((file, "--for", "nan"), "nan is no number of seconds"),
        ((), "Missing argument 'FILE...'"),
    ):
        done = run_remuda("doctor", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    assert (tmp_path / "link").is_symlink()
