"""What forecast asks a server, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remuda.cli.program import run
from tests.unit.cli.test_insight_commands import refusal, serving

PATH = "/ws/v1/partition/default/application/job-3/forecast"
QUEUE = "/ws/v1/partition/p/queue/root.a/forecast"
ANSWER = {
    "text": ["job-3: starts in 1 h to 2 h, median 1 h 30 min", "  by \x1b[31m"],
    "forecasts": [],
}


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No server or context of whoever runs the tests."""
    for name in ("SERVER", "TOKEN_FILE", "SERVER_CA", "CONTEXT"):
        monkeypatch.delenv(f"REMUDA_{name}", raising=False)
    monkeypatch.setenv("REMUDA_CONTEXTS", str(tmp_path / "contexts"))


@pytest.mark.remuda_rule("EXT-124", "EXT-76")
def test_the_lines_of_the_answer_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with serving({PATH: (200, ANSWER)}) as scheduler:
        assert run(["forecast", "job-3", "--server", scheduler.address]) == 0
    assert capsys.readouterr().out == f"{ANSWER['text'][0]}\n  by \\x1b[31m\n"
    (asked,) = scheduler.asked
    assert asked[1] == f"{PATH}?within=604800.000000000&arrivals=true"


@pytest.mark.remuda_rule("EXT-124")
def test_a_queue_is_asked_about_and_json_is_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with serving({QUEUE: (200, ANSWER)}) as scheduler:
        line = ["forecast", "-q", "root.a", "-p", "p", "--no-arrivals", "--within", "60"]
        line += ["--output", "json", "--rm", "x", "--server", scheduler.address]
        assert run(line) == 0
    assert json.loads(capsys.readouterr().out) == ANSWER
    (asked,) = scheduler.asked
    assert asked[1] == f"{QUEUE}?within=60.000000000&arrivals=false&rm=x"


@pytest.mark.remuda_rule("EXT-124")
@pytest.mark.parametrize(
    "arguments, text",
    [
        ([], "name an APPLICATION, or a queue with --queue, and not both"),
        (["job-3", "-q", "root"], "name an APPLICATION, or a queue with --queue, and not both"),
        (["job-3", "--within", "2592001"], "--within is 2.592e+06; it has to be from 0 to 2592000"),
        (["job-3", "--within", "nan"], "--within is nan; it has to be from 0"),
    ],
)
def test_a_wrong_line_is_refused(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["forecast", *arguments]) == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1


@pytest.mark.remuda_rule("EXT-124")
@pytest.mark.parametrize("status, code", [(404, 3), (400, 2), (403, 4), (503, 1)])
def test_a_refusal_has_a_code(status: int, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    with serving({PATH: refusal(status, "Application not found")}) as scheduler:
        assert run(["forecast", "job-3", "--server", scheduler.address]) == code
    error = capsys.readouterr().err
    assert "Application not found" in error
    assert error.count("\n") == 1
