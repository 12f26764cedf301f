"""Runs tests against faults: one process collects them, and each fault has a copy of it.

A copy (fork) costs some milliseconds, where a fresh process would import for seconds. A fault is
tried with the tests that call its function, the quickest first, until one of them fails.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time
from types import CodeType, FrameType, FunctionType
from typing import IO, Final, NoReturn

import msgspec
import pytest

from tools.mutants.live import Key, code_of, key_of, loaded, put
from tools.mutants.operators import Mutant

KILLED: Final = "killed"
ENDLESS: Final = "killed: it takes too long"
SURVIVED: Final = "survived"
UNTESTED: Final = "survived: no test calls it"

# It cannot be tried: the code is the same, or is not a function that can be replaced.
SAME: Final = "not tried"

# Processor time of a fault: so many times what its tests take without it, and some seconds.
_TIMES: Final = 8
_SECONDS: Final = 10

# A fault may let its copy grow to so many bytes, and hang for so many seconds.
_BYTES: Final = 8 * 2**30
_HANGS_SECONDS: Final = 1_200


@dataclass(frozen=True, slots=True)
class Fault:
    """A mutant, and the file it is in."""

    file: Path
    mutant: Mutant


class Outcome(msgspec.Struct):
    """What came of a fault. ``tests``: how many there were to run. ``failed``: the one that did."""

    verdict: str
    tests: int = 0
    failed: str = ""


class Measured(msgspec.Struct):
    """A test without any fault: its processor time, and the functions that it calls."""

    seconds: float
    calls: list[Key]


# By the name of a test.
Calls = dict[str, Measured]


@dataclass(slots=True)
class _Copy:
    """A copy of the process that tries a fault, and the file that it writes its answer into."""

    answer: IO[bytes]
    fault: Fault
    tests: int


class Runner:
    """The plugin of pytest that tries faults instead of running the tests once.

    Args:
        faults: those to try, in this order.
        wanted: how many outcomes are wanted; faults that cannot be tried do not count.
        told: is called with each outcome.
        known: what an earlier run measured, None to measure anew.
        measured: is called with what was measured.
        workers: copies at a time.
        seconds: processor time of the tests that a fault is tried with.
    """

    def __init__(
        self,
        faults: Iterable[Fault],
        wanted: int,
        told: Callable[[Fault, Outcome], None],
        *,
        known: Calls | None,
        measured: Callable[[Calls], None],
        workers: int,
        seconds: float,
    ) -> None:
        self._faults = faults
        self._wanted = wanted
        self._told = told
        self._known = known
        self._measured = measured
        self._workers = workers
        self._seconds = seconds
        self._failed = ""
        self._copies: dict[int, _Copy] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure the tests, and try the faults."""
        calls = self._known
        if calls is None:
            calls = self._measure(session.items)
            self._measured(calls)
        self._try_all(session.items, calls)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that a test failed."""
        if report.failed and not self._failed:
            self._failed = report.nodeid

    # ------------------------------------------------------------------ without faults

    def _measure(self, items: Sequence[pytest.Item]) -> Calls:
        """Run all tests in a copy. Raises: SystemExit if one fails."""
        answer = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the copy has ended
        pid = _copy(partial(self._measure_here, items), answer)
        _, status = os.waitpid(pid, 0)
        answer.seek(0)
        text = answer.read()
        answer.close()
        if status or not text.startswith(b"{"):
            raise SystemExit(f"mutants: without any fault this fails: {text.decode() or status}")
        return msgspec.json.decode(text, type=Calls)

    def _measure_here(self, items: Sequence[pytest.Item]) -> bytes:
        keys = {id(each[0].__code__): key for key, each in loaded().items()}
        found: Calls = {}
        for item, following in _pairs(items):
            seen: set[int] = set()

            def note(frame: FrameType, event: str, _: object, seen: set[int] = seen) -> None:
                if event == "call":
                    seen.add(id(frame.f_code))

            began = process_time()
            sys.setprofile(note)
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            finally:
                sys.setprofile(None)
            if self._failed:
                return self._failed.encode()
            called = [keys[each] for each in seen if each in keys]
            found[item.nodeid] = Measured(
                process_time() - began, [key for key in called if "/src/" in key[0]]
            )
        return msgspec.json.encode(found)

    # ------------------------------------------------------------------ with faults

    def _try_all(self, items: Sequence[pytest.Item], calls: Calls) -> None:
        functions = loaded()
        by_key: dict[Key, list[pytest.Item]] = {}
        for item in sorted(items, key=lambda each: calls[each.nodeid].seconds):
            for key in calls[item.nodeid].calls:
                by_key.setdefault(key, []).append(item)
        gc.collect()
        gc.freeze()
        for fault in self._faults:
            if self._copies and self._wanted <= len(self._copies):
                self._await_one()
            if self._wanted <= 0:
                break
            name = fault.mutant.function
            code = code_of(fault.file, fault.mutant.number, name)
            live = [] if code is None else functions.get(key_of(code), [])
            if code is None or not live:
                self._told(fault, Outcome(SAME))
                continue
            chosen, seconds = self._chosen(by_key.get(key_of(code), []), calls)
            if not chosen:
                self._tell(fault, Outcome(UNTESTED))
                continue
            answer = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the copy has ended
            work = partial(self._try_here, live, code, chosen)
            pid = _copy(work, answer, _SECONDS + _TIMES * seconds)
            self._copies[pid] = _Copy(answer, fault, len(chosen))
            if len(self._copies) >= self._workers:
                self._await_one()
        while self._copies:
            self._await_one()

    def _chosen(
        self, items: Sequence[pytest.Item], calls: Calls
    ) -> tuple[list[pytest.Item], float]:
        """Return the quickest tests that take as long as they may together, and how long."""
        chosen: list[pytest.Item] = []
        total = 0.0
        for item in items:
            total += calls[item.nodeid].seconds
            if chosen and total > self._seconds:
                break
            chosen.append(item)
        return chosen, min(total, self._seconds)

    def _try_here(
        self, live: list[FunctionType], code: CodeType, items: Sequence[pytest.Item]
    ) -> bytes:
        """Run tests against a fault, and return the name of the first that fails."""
        put(live, code)
        for item, following in _pairs(items):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                break
        return self._failed.encode()

    def _await_one(self) -> None:
        """Wait until a copy ends, and tell what came of it."""
        pid, status = os.waitpid(-1, 0)
        copy = self._copies.pop(pid)
        copy.answer.seek(0)
        failed = copy.answer.read().decode()
        copy.answer.close()
        verdict = ENDLESS if status else KILLED if failed else SURVIVED
        self._tell(copy.fault, Outcome(verdict, copy.tests, failed))

    def _tell(self, fault: Fault, outcome: Outcome) -> None:
        self._wanted -= 1
        self._told(fault, outcome)


def _pairs(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Yield each test with the one after it, by which pytest knows which fixtures to keep."""
    return zip(items, (*items[1:], None), strict=True)


def _copy(work: Callable[[], bytes], answer: IO[bytes], seconds: float | None = None) -> int:
    """Start a copy of this process that does some work and ends; return its number.

    ``seconds``: the processor time that it may take.
    """
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        _be_copy(work, answer, seconds)
    return pid


def _be_copy(work: Callable[[], bytes], answer: IO[bytes], seconds: float | None) -> NoReturn:
    status = 1
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        if seconds is not None:
            limit = int(seconds) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
            signal.alarm(_HANGS_SECONDS)
        answer.write(work())
        answer.flush()
        status = 0
    finally:
        os._exit(status)
