"""The status line: its words, the rate, and where it goes."""

from __future__ import annotations

import io

import pytest

from remuda.demo.cluster import Counters
from remuda.demo.status import LiveDisplay, PlainDisplay, RateMeter, describe, display


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_line_names_everything() -> None:
    counters = Counters(asked=500, placed=300, ended=100, refused=0, nodes=100, jobs=12)
    use = {"memory": 31, "nvidia.com/gpu": 20, "vcore": 88}
    line = describe(counters, 41.6, use)
    assert line == (
        "running 200  pending 200  placed 42/s  vcore 88%  memory 31%  gpu 20%  nodes 100  jobs 12"
    )


def test_a_terminal_of_80_columns_shows_whole_parts_and_all_that_matters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    counters = Counters(asked=99_999, placed=90_000, ended=84_000, refused=0, nodes=100, jobs=500)
    use = {"memory": 100, "nvidia.com/gpu": 100, "vcore": 100}
    terminal = Terminal()
    LiveDisplay(terminal).show(describe(counters, 999.0, use))
    assert terminal.getvalue() == (
        "\rrunning 6000  pending 9999  placed 999/s  memory 100%  gpu 100%  vcore 100%\x1b[K"
    )


def test_refused_tasks_do_not_wait_and_are_told() -> None:
    counters = Counters(asked=10, placed=4, ended=4, refused=6, nodes=0, jobs=0)
    assert describe(counters, 0.0, {}) == (
        "running 0  pending 0  placed 0/s  refused 6  nodes 0  jobs 0"
    )


def test_rate_is_of_the_last_seconds() -> None:
    meter = RateMeter()
    assert meter.per_second(0.0, 0) == 0.0
    assert meter.per_second(1.0, 700) == 700.0
    assert meter.per_second(2.0, 800) == 400.0
    rates = [meter.per_second(float(second), 800 + second * 10) for second in range(3, 20)]
    assert rates[-1] == 10.0


def test_terminal_is_redrawn_and_other_streams_get_lines() -> None:
    plain = io.StringIO()
    shown = display(plain)
    assert isinstance(shown, PlainDisplay)
    shown.show("one")
    shown.show("two")
    shown.close()
    assert plain.getvalue() == "one\ntwo\n"

    terminal = Terminal()
    live = display(terminal)
    assert isinstance(live, LiveDisplay)
    live.show("first")
    live.show("second  " + "x" * 500)
    live.close()
    text = terminal.getvalue()
    assert text.index("first") < text.index("second")
    assert text.count("\n") == 1
    assert "x" not in text
