from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda.base.errors import RemudaError, UsageError
from remuda.core.messages.commands import RegisterResourceManager, UnregisterResourceManager
from remuda.core.messages.queries import ConfigurationsQuery, PartitionsQuery
from remuda.core.scheduler import Scheduler
from remuda.runtime.clock import SteadyClock
from remuda.runtime.configuration.documents import StoredDocuments
from remuda.runtime.delivery import Delivery
from remuda.runtime.driver import AskedAt, Driver
from remuda.runtime.forks.forks import Forks
from remuda.runtime.forks.limits import FORK_LIMITS, ForkLimits, ForksBusyError
from remuda.runtime.loop import SchedulerLoop

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies take /proc")

RM_ID = "rm"


@pytest.fixture
def loop() -> Iterator[SchedulerLoop]:
    documents = StoredDocuments()
    running = SchedulerLoop(documents=documents)
    running.start()
    running.register(RegisterResourceManager(RM_ID, documents.default)).result()
    yield running
    running.stop()


class Held:
    """A question that is answered when ``file`` is there."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self, scheduler: Scheduler, at: AskedAt) -> bytes:
        """Wait; the limit of a copy's time ends it otherwise."""
        while not self.file.exists():
            time.sleep(0.01)
        return b"done"


@pytest.mark.remuda_rule("EXT-42")
def test_what_a_question_does_to_its_copy_is_not_seen_in_the_scheduler(loop: SchedulerLoop) -> None:
    def question(scheduler: Scheduler, at: AskedAt) -> bytes:
        scheduler.handle(UnregisterResourceManager(RM_ID), at.now_ns)
        return repr(scheduler.view(ConfigurationsQuery())).encode()

    assert loop.operations.answer_on_copy(question).result() == b"()"
    partitions = loop.query(PartitionsQuery()).result()
    assert isinstance(partitions, tuple)
    assert len(partitions) == 1


@pytest.mark.remuda_rule("EXT-42")
def test_the_scheduler_goes_on_while_a_copy_works(loop: SchedulerLoop, tmp_path: Path) -> None:
    held = Held(tmp_path / "go on")
    answer = loop.operations.answer_on_copy(held)
    loop.query(PartitionsQuery()).result()
    assert not answer.done()
    held.file.touch()
    assert answer.result() == b"done"


@pytest.mark.remuda_rule("EXT-43")
def test_more_copies_than_allowed_are_refused_until_one_ends(
    loop: SchedulerLoop, tmp_path: Path
) -> None:
    held = Held(tmp_path / "go on")
    answers = [loop.operations.answer_on_copy(held) for _ in range(FORK_LIMITS.copies)]
    with pytest.raises(ForksBusyError, match=r"2 copies of the scheduler .* try again"):
        loop.operations.answer_on_copy(held)
    held.file.touch()
    assert [answer.result() for answer in answers] == [b"done", b"done"]
    assert loop.operations.answer_on_copy(held).result() == b"done"


def test_a_question_that_is_refused_fails_the_future(loop: SchedulerLoop) -> None:
    def question(scheduler: Scheduler, at: AskedAt) -> bytes:
        raise UsageError("no such application")

    for _ in range(FORK_LIMITS.copies + 1):
        with pytest.raises(RemudaError, match=r"^no such application$"):
            loop.operations.answer_on_copy(question).result()


@pytest.mark.remuda_rule("EXT-43")
def test_no_copy_is_made_if_its_memory_is_not_available() -> None:
    driver = Driver(Scheduler, Delivery(), SteadyClock(), None, documents=StoredDocuments())
    forks = Forks(ForkLimits(memory_mib=10**9))
    for _ in range(3):
        with pytest.raises(ForksBusyError, match="1000000000 MiB of memory are available"):
            forks.answer(driver, lambda scheduler, now_ns: b"")
    assert Forks().answer(driver, lambda scheduler, now_ns: b"answer") == b"answer"


@pytest.mark.remuda_rule("EXT-42")
def test_no_copy_is_made_if_grpc_would_take_part_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRPC_ENABLE_FORK_SUPPORT", "1")
    driver = Driver(Scheduler, Delivery(), SteadyClock(), None, documents=StoredDocuments())
    with pytest.raises(RemudaError, match="GRPC_ENABLE_FORK_SUPPORT has to be 0"):
        Forks().answer(driver, lambda scheduler, now_ns: b"")
    # It does so by default, once it is loaded.
    monkeypatch.delenv("GRPC_ENABLE_FORK_SUPPORT")
    monkeypatch.setitem(sys.modules, "grpc._cython.cygrpc", sys)
    with pytest.raises(RemudaError, match="GRPC_ENABLE_FORK_SUPPORT has to be 0"):
        Forks().answer(driver, lambda scheduler, now_ns: b"")
    for value in ("0", "false"):
        monkeypatch.setenv("GRPC_ENABLE_FORK_SUPPORT", value)
        assert Forks().answer(driver, lambda scheduler, now_ns: b"answer") == b"answer"
