"""``remuda describe``, ``tree``, ``top`` and ``events`` against a served demo."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import Any, Self

import pytest

from remuda.cli.viewing.kinds import KINDS
from tests.e2e.serving import FREE_PORTS, PARTITION, Served, environment, run_remuda
from tests.e2e.signals import heed_signals
from tests.waiting import wait


@pytest.fixture(scope="module")
def demo() -> Iterator[Served]:
    with Served("--demo", *FREE_PORTS) as served:
        wait(lambda: served.client.get(f"{PARTITION}/applications/active").json() != [])
        yield served


def said(demo: Served, *arguments: str) -> str:
    done = run_remuda(*arguments, "--server", demo.rest)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_an_object_of_every_kind_can_be_described(demo: Served) -> None:
    described = 0
    for kind in KINDS:
        if kind.name == "events":
            name = "root"
        else:
            listed = run_remuda("get", kind.name, "-o", "name", "--server", demo.rest)
            # The last ones live longest; some kinds have none at the moment.
            name = listed.stdout.splitlines()[-1] if listed.stdout else ""
        if name:
            done = run_remuda("describe", kind.singular, name, "--server", demo.rest)
            # It may have ended since.
            assert done.returncode in (0, 3), done.stderr
            described += done.returncode == 0 and name.split("/")[0] in done.stdout
    assert described >= 4


def test_the_tree_has_all_queues(demo: Served) -> None:
    names = [line.split()[-1] for line in said(demo, "get", "queues", "-o", "name").splitlines()]
    lines = said(demo, "tree").splitlines()[1:]
    assert len(lines) == len(names)
    assert lines[0].startswith("root ")
    assert all(name.rpartition(".")[2] in line for name, line in zip(names, lines, strict=True))


def read_all(process: subprocess.Popen[str]) -> Queue[str]:
    """Return the lines of a process as they come: one whose pipe is full would stand still."""
    lines: Queue[str] = Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)

    threading.Thread(target=read, daemon=True).start()
    return lines


def test_events_follow_a_scheduler_that_is_started_again() -> None:
    with Served("--demo", *FREE_PORTS) as first:
        address = first.rest
        follower = subprocess.Popen(
            [sys.executable, "-m", "remuda", "events", "-f", "-o", "jsonl", "--server", address],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert follower.stderr is not None
        records = read_all(follower)
        numbers = [json.loads(records.get(timeout=60))["id"] for _ in range(50)]
        assert numbers == list(range(numbers[0], numbers[0] + 50))
        first.process.kill()
        assert follower.stderr.readline().endswith("; trying again\n")
    with follower, Served("--demo", *FREE_PORTS[:3], address):
        assert follower.stderr.readline() == "remuda: the scheduler was started again\n"
        number = numbers[-1]
        while number >= numbers[-1]:
            number = json.loads(records.get(timeout=60))["id"]
        assert number == 0
        follower.kill()


class Terminal:
    """``remuda top`` on a terminal of our own."""

    def __init__(self, *arguments: str, **variables: str) -> None:
        self._ours, its = pty.openpty()
        self.mode_at_first = self.mode()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "remuda", "top", *arguments],
            env=environment(**{"TERM": "xterm", "COLUMNS": "90", "LINES": "12", **variables}),
            stdin=its,
            stdout=its,
            stderr=its,
            preexec_fn=heed_signals,  # noqa: PLW1509 - it only sets what signals do
            # The kernel does not stop a group of processes without a parent that could continue
            # it, which is the group of tests that were begun with setsid(1).
            process_group=0,
        )
        # It stays open, so the terminal can be looked at after the end of the process.
        self._its = its
        self.shown = b""

    def mode(self) -> list[Any]:
        """How the terminal takes keys."""
        return termios.tcgetattr(self._ours)

    def press(self, keys: str) -> None:
        """Forget what was shown, and press keys."""
        self.shown = b""
        os.write(self._ours, keys.encode())

    def until(self, *texts: str) -> None:
        """Wait until one picture has all these texts."""
        while not any(
            all(text.encode() in picture for text in texts)
            for picture in self.shown.split(b"\x1b[H")
        ):
            assert select.select([self._ours], [], [], 120)[0], self.shown[-1_000:]
            self.shown += os.read(self._ours, 10_000)

    def end(self) -> int:
        """Wait for the end of the command; return its exit code."""
        self.until("\x1b[?1049l")
        return self.process.wait(30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self._its)


@pytest.mark.remuda_rule("EXT-74")
def test_top_uses_the_terminal_until_a_key_ends_it(demo: Served) -> None:
    with Terminal("nodes", "--server", demo.rest) as terminal:
        terminal.until("default: ", "nodes by share, highest first; 1 to 9 of 100")
        text = terminal.shown.decode()
        assert text.startswith("\x1b[?1049h\x1b[?2004h\x1b[?25l\x1b[H\x1b[Kdefault: ")
        assert "NODE" in text
        terminal.press("\x1b[200~q\x1b[201~/small-1\r")
        terminal.until("with 'small-1'", "> small-1")
        terminal.press("\x1b[B\r")
        terminal.until("escape leads back to the list", "Node: ", "small-1")
        terminal.press("q")
        assert terminal.end() == 0
    assert terminal.shown.decode().endswith("\x1b[?25h\x1b[?2004l\x1b[?1049l")


@pytest.mark.remuda_rule("EXT-127")
def test_a_terminal_of_one_column_shows_one_letter_a_line(demo: Served) -> None:
    with Terminal("nodes", "--server", demo.rest, COLUMNS="1") as terminal:
        terminal.until("\x1b[J")
        lines = terminal.shown.decode().split("\x1b[K")[1:]
        assert len(lines) == 11
        assert all(len(line.rstrip("\r\n")) <= 1 for line in lines[:2])
        terminal.press("q")
        assert terminal.end() == 0


@pytest.mark.remuda_rule("EXT-74")
@pytest.mark.parametrize(
    "number, code", [(signal.SIGTERM, -15), (signal.SIGHUP, -1), (signal.SIGINT, 130)]
)
def test_a_signal_that_ends_top_gives_the_terminal_back(
    demo: Served, number: signal.Signals, code: int
) -> None:
    with Terminal("nodes", "--server", demo.rest) as terminal:
        before = terminal.mode_at_first
        terminal.until("nodes by share")
        assert terminal.mode() != before
        terminal.process.send_signal(number)
        assert terminal.end() == code
        assert terminal.mode() == before
        assert b"\x1b[?25h\x1b[?2004l\x1b[?1049l" in terminal.shown


@pytest.mark.remuda_rule("EXT-74")
def test_a_suspended_top_gives_the_terminal_back_and_takes_it_again(demo: Served) -> None:
    with Terminal("nodes", "--server", demo.rest) as terminal:
        before = terminal.mode_at_first
        terminal.until("nodes by share")
        terminal.press(" ")
        terminal.until("; paused; ")
        terminal.shown = b""
        terminal.process.send_signal(signal.SIGTSTP)
        terminal.until("\x1b[?1049l")
        wait(lambda: state(terminal.process.pid) == "T")
        assert terminal.mode() == before
        terminal.shown = b""
        terminal.process.send_signal(signal.SIGCONT)
        # It is drawn again though nothing is read while it pauses.
        terminal.until("nodes by share", "; paused; ")
        assert b"\x1b[?1049h" in terminal.shown
        assert terminal.mode() != before
        terminal.press("q")
        assert terminal.end() == 0
        assert terminal.mode() == before


def test_a_terminal_that_can_only_print_gets_one_table(demo: Served) -> None:
    with Terminal("nodes", "--server", demo.rest, TERM="dumb") as terminal:
        terminal.until("default: ", "NODE")
        assert terminal.process.wait(60) == 0
        assert b"\x1b" not in terminal.shown


def state(process: int) -> str:
    """How a process is, as proc(5) has it: T for one that was stopped."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]


@pytest.mark.remuda_rule("EXT-74")
def test_top_outlives_a_server_that_goes_and_comes() -> None:
    with Served("--demo", *FREE_PORTS) as first:
        address = first.rest
        with Terminal("queues", "--server", address, "--every", "0.2") as terminal:
            terminal.until("queues by share", "root.production")
            first.process.kill()
            terminal.until("; trying again", "root.production")
            first.end()
            with Served("--demo", *FREE_PORTS[:3], address):
                terminal.press("2")
                terminal.until("default: ", "nodes by share", "small-")
            terminal.press("q")
            assert terminal.end() == 0


@pytest.mark.remuda_rule("EXT-74")
def test_top_without_a_server_says_so_and_leaves_the_terminal_alone() -> None:
    with Terminal("queues", "--server", "http://127.0.0.1:1") as terminal:
        terminal.until("remuda: ")
        assert terminal.process.wait(60) == 1
        assert b"\x1b" not in terminal.shown
