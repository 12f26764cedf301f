"""The status line: its words, the rate, and where it goes."""

from __future__ import annotations

import io

from remuda.demo.cluster import Counters
from remuda.demo.status import LiveDisplay, PlainDisplay, RateMeter, describe, display


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_line_names_everything() -> None:
    counters = Counters(asked=500, placed=300, ended=100, refused=0, nodes=100, jobs=12)
    use = {"memory": 31, "nvidia.com/gpu": 20, "vcore": 88}
    line = describe("127.0.0.1:9080", counters, 41.6, use)
    assert line == (
        "127.0.0.1:9080  nodes 100  running 200  pending 200  placed 42/s  "
        "vcore 88%  memory 31%  gpu 20%  jobs 12"
    )


def test_what_matters_fits_80_columns() -> None:
    counters = Counters(asked=99_999, placed=90_000, ended=84_000, refused=0, nodes=100, jobs=500)
    line = describe("127.0.0.1:65535", counters, 999.0, {"memory": 9, "vcore": 100})
    assert "vcore 100%" in line[:80]


def test_refused_tasks_do_not_wait_and_are_told() -> None:
    counters = Counters(asked=10, placed=4, ended=4, refused=6, nodes=0, jobs=0)
    assert describe("x", counters, 0.0, {}) == (
        "x  nodes 0  running 0  pending 0  placed 0/s  jobs 0  refused 6"
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
    live.show("second" + "x" * 500)
    live.close()
    text = terminal.getvalue()
    assert text.index("first") < text.index("second")
    assert text.count("\n") == 1
