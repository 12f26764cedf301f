from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from remuda.base.errors import RemudaError, UsageError
from remuda.runtime.forks.fork import fork, side_by_side
from remuda.runtime.forks.limits import FORK_LIMITS, NICENESS, ForkFailedError, ForkLimits
from tests.waiting import wait

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies take /proc")


@pytest.mark.remuda_rule("EXT-42")
def test_a_copy_answers_and_changes_nothing_here() -> None:
    names = ["one"]

    def work() -> bytes:
        names.append("two")
        return ",".join(names).encode()

    assert fork(work).result() == b"one,two"
    assert names == ["one"]


@pytest.mark.remuda_rule("EXT-42")
def test_a_copy_has_one_thread_and_no_descriptor_but_its_pipe() -> None:
    reads, writes = os.pipe()
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        copy = fork(lambda: repr((open_descriptors(), threading.active_count())).encode())
        # The three standard ones, which lead nowhere, and the pipe.
        assert copy.result() == repr((4, 1)).encode()
        assert os.fstat(reads).st_ino == os.fstat(writes).st_ino
    finally:
        done.set()
        other.join()
        os.close(reads)
        os.close(writes)


def open_descriptors() -> int:
    """How many there are, apart from the one that lists them."""
    return len(list(Path("/proc/self/fd").iterdir())) - 1


@pytest.mark.remuda_rule("EXT-42")
def test_a_copy_is_less_urgent_and_no_signal_handler_of_ours_runs_in_it() -> None:
    calls: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: calls.append(number))
    try:
        copy = fork(lambda: repr(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL).encode())
        assert copy.result() == b"True"
        niceness = int(fork(lambda: str(os.nice(0)).encode()).result())
        assert niceness == min(os.nice(0) + NICENESS, 19)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_what_the_work_refuses_is_raised_here() -> None:
    def work() -> bytes:
        raise UsageError("there is no application 'a'")

    with pytest.raises(RemudaError, match="there is no application 'a'"):
        fork(work).result()


def test_a_fault_of_the_work_is_told_in_one_line() -> None:
    with pytest.raises(ForkFailedError, match=r"^ValueError: invalid literal"):
        fork(lambda: b"%d" % int("no")).result()


def test_a_copy_that_ends_itself_has_no_answer() -> None:
    with pytest.raises(ForkFailedError, match="ended without an answer"):
        fork(lambda: os._exit(0)).result()


@pytest.mark.remuda_rule("EXT-43")
def test_a_copy_that_takes_too_long_is_ended_with_all_that_it_made() -> None:
    def inner() -> bytes:
        time.sleep(60)
        return b""

    def outer() -> bytes:
        side_by_side([inner], 1, FORK_LIMITS)
        return b""

    copy = fork(outer, ForkLimits(seconds=0.5))
    with pytest.raises(ForkFailedError, match=r"no answer within 0.5 s"):
        copy.result()
    wait(lambda: not group_lives(copy.pid))


def group_lives(leader: int) -> bool:
    """Whether a process of a group is still there."""
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.remuda_rule("EXT-43")
def test_a_copy_that_takes_too_much_memory_is_refused_it() -> None:
    with pytest.raises(ForkFailedError, match="more than 64 MiB of memory"):
        fork(lambda: bytes(256 << 20), ForkLimits(memory_mib=64)).result()


@pytest.mark.remuda_rule("EXT-43")
def test_an_answer_that_is_too_large_is_not_read() -> None:
    with pytest.raises(ForkFailedError, match="larger than 1 MiB"):
        fork(lambda: bytes(2 << 20), ForkLimits(answer_mib=1)).result()


def test_copies_of_a_copy_answer_in_the_order_of_their_work() -> None:
    def outer() -> bytes:
        works = [lambda number=number: str(number).encode() for number in range(5)]
        return repr(side_by_side(works, 2, FORK_LIMITS)).encode()

    assert fork(outer).result() == b"[b'0', b'1', b'2', b'3', b'4']"


def test_one_copy_of_a_copy_that_fails_leaves_the_others_alone() -> None:
    def outer() -> bytes:
        return repr(
            side_by_side([lambda: b"a", lambda: b"%d" % int("no")], 2, FORK_LIMITS)
        ).encode()

    assert fork(outer).result() == b"[b'a', None]"
