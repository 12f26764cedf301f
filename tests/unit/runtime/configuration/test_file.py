"""A file that is followed: what counts as a change, and what a bad file does."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Self

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages.commands import RegisterResourceManager
from remuda.runtime.configuration import followed_file
from remuda.runtime.configuration.documents import StoredDocuments
from remuda.runtime.configuration.file import ConfigurationFile
from remuda.runtime.configuration.followed_file import mark_of
from remuda.runtime.configuration.text import read_configuration, read_configuration_again
from remuda.runtime.loop import SchedulerLoop
from tests.unit.runtime.fakes import Factory
from tests.waiting import wait


def text(queue: str) -> str:
    return f"partitions:\n  - name: default\n    queues:\n      - name: {queue}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "queues.yaml"
    found.write_text(text("a"))
    return found


@pytest.fixture
def loop(factory: Factory, path: Path) -> Iterator[SchedulerLoop]:
    running = SchedulerLoop(factory, documents=StoredDocuments(read_configuration(path)))
    running.start()
    running.register(RegisterResourceManager("rm", running.documents.default), stored=True)
    running.barrier().result(60)
    yield running
    running.stop()


class Followed:
    """Follows a file on an event loop of its own, looking a hundred times a second."""

    def __init__(
        self,
        path: Path,
        loop: SchedulerLoop,
        interval: float | None = 0.01,
        read: Callable[[], Configuration] | None = None,
    ) -> None:
        read = read or partial(read_configuration_again, path)
        self._file = ConfigurationFile(
            path, read, loop.configurations, mark=mark_of(path), interval_seconds=interval
        )
        self._edge: Future[asyncio.AbstractEventLoop] = Future()
        self._end = asyncio.Event()
        self._thread = Thread(target=lambda: asyncio.run(self._run()))

    async def _run(self) -> None:
        task = asyncio.create_task(self._file.keep())
        self._edge.set_result(asyncio.get_running_loop())
        await self._end.wait()
        task.cancel()

    def tell(self) -> None:
        self._edge.result(60).call_soon_threadsafe(self._file.tell)

    def __enter__(self) -> Self:
        self._thread.start()
        self._edge.result(60)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._edge.result(60).call_soon_threadsafe(self._end.set)
        self._thread.join(10)


def queue_in_force(factory: Factory) -> str:
    configured, _ = factory.scheduler.configured["rm"]
    (partition,) = configured.partitions
    return partition.root.queues[0].name


@pytest.mark.remuda_rule("RM-5", "SI-88")
def test_a_changed_file_is_in_force_and_the_log_says_what_changed(
    path: Path, loop: SchedulerLoop, factory: Factory, caplog: pytest.LogCaptureFixture
) -> None:
    old = loop.documents.default.checksum
    with caplog.at_level(logging.INFO, "remuda.config"), Followed(path, loop):
        path.write_text(text("b"))
        wait(lambda: len(caplog.messages) == 1)
    assert queue_in_force(factory) == "b"
    new = loop.documents.default.checksum
    what = "resource managers: 1; queues 1 added, 1 left out"
    assert caplog.messages == [f"{path}: checksum {new} replaces {old}; {what}"]


def test_a_file_that_is_replaced_through_symbolic_links_is_noticed(
    tmp_path: Path, loop: SchedulerLoop, factory: Factory
) -> None:
    for version in ("a", "b"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "q.yaml").write_text(text(version))
    os.utime(tmp_path / "b/q.yaml", ns=(0, (tmp_path / "a/q.yaml").stat().st_mtime_ns))
    (tmp_path / "data").symlink_to("a")
    (tmp_path / "q.yaml").symlink_to("data/q.yaml")
    with Followed(tmp_path / "q.yaml", loop):
        (tmp_path / "next").symlink_to("b")
        (tmp_path / "next").rename(tmp_path / "data")
        wait(lambda: queue_in_force(factory) == "b")


@pytest.mark.remuda_rule("SI-86", "CFG-5")
def test_a_bad_file_changes_nothing_and_is_read_again_when_it_changes(
    path: Path, loop: SchedulerLoop, factory: Factory, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "remuda.config"), Followed(path, loop):
        path.write_text("partitions:\n  - nam: x\n    queues:\n      - name: a b\n")
        wait(lambda: "the configuration in force stays" in caplog.text)
        assert len(factory.scheduler.handled) == 1
        assert caplog.messages[0].startswith(f"{path}:2:5: ")
        assert caplog.messages[1].startswith(f"{path}:4:15: ")
        assert caplog.messages[2:] == [f"{path} is refused, the configuration in force stays"]
        path.write_text(text("b"))
        wait(lambda: queue_in_force(factory) == "b")


@pytest.mark.remuda_rule("EXT-24", "SI-86")
def test_a_file_that_an_rm_cannot_take_is_refused_for_all(
    path: Path, loop: SchedulerLoop, factory: Factory, caplog: pytest.LogCaptureFixture
) -> None:
    loop.register(RegisterResourceManager("two", loop.documents.default), stored=True).result(60)
    factory.scheduler.stubborn.add("two")
    with caplog.at_level(logging.ERROR, "remuda.config"), Followed(path, loop) as followed:
        path.write_text(text("b"))
        wait(lambda: len(caplog.messages) == 3)
        assert caplog.messages == [
            f"{path}: resource manager 'two': queue root.a has applications [RLD-26]",
            f"{path}: resource manager 'two': queue root.b has applications [RLD-26]",
            f"{path} is refused, the configuration in force stays",
        ]
        assert queue_in_force(factory) == "a"
        assert loop.documents.default.partitions[0].root.queues[0].name == "a"
        factory.scheduler.stubborn.clear()
        followed.tell()
        wait(lambda: queue_in_force(factory) == "b")


@pytest.mark.parametrize(
    "case",
    [
        (b"", " is empty", 1),
        (b"\xff\xfe\x00", ":1:1: not YAML: it is not UTF-8 text [CFG-5]; ", 2),
    ],
    ids=["empty", "no text"],
)
def test_a_file_that_is_empty_or_no_text_changes_nothing_and_the_log_says_why(
    path: Path, loop: SchedulerLoop, caplog: pytest.LogCaptureFixture, case: tuple[bytes, str, int]
) -> None:
    content, fault, lines = case
    with caplog.at_level(logging.ERROR, "remuda.config"), Followed(path, loop):
        path.write_bytes(content)
        wait(lambda: len(caplog.messages) == lines)
    assert caplog.messages[0].startswith(f"{path}{fault}")
    assert caplog.messages[-1].endswith("the configuration in force stays")
    assert loop.documents.default.partitions[0].root.queues[0].name == "a"


def test_a_file_that_goes_is_told_once_and_read_when_it_comes_back(
    path: Path, loop: SchedulerLoop, factory: Factory, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "remuda.config"), Followed(path, loop):
        path.unlink()
        wait(lambda: caplog.messages == [f"{path} is gone; the configuration in force stays"])
        path.write_text(text("b"))
        wait(lambda: queue_in_force(factory) == "b")
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    "case",
    [(Path.mkdir, "is a directory"), (os.mkfifo, "is not a regular file")],
    ids=["directory", "pipe"],
)
def test_what_takes_the_place_of_the_file_is_named_and_not_read(
    path: Path,
    loop: SchedulerLoop,
    caplog: pytest.LogCaptureFixture,
    case: tuple[Callable[[Path], None], str],
) -> None:
    make, what = case
    stays = "; the configuration in force stays"
    with caplog.at_level(logging.WARNING, "remuda.config"), Followed(path, loop) as followed:
        path.rename(path.with_name("old"))
        make(path)
        wait(lambda: len(caplog.messages) == 1)
        followed.tell()
        wait(lambda: len(caplog.messages) == 2)
        path.rename(path.with_name("other"))
        path.write_text(text("b"))
        wait(lambda: loop.documents.default.text == text("b"))
    # Between the first two steps there is no file at all, and a look may fall there.
    assert caplog.messages[0] in (f"{path} {what}{stays}", f"{path} is gone{stays}")
    assert caplog.messages[1].startswith(f"cannot read {path}: ")


@pytest.mark.remuda_rule("RM-5")
def test_a_change_that_leaves_size_and_time_of_the_content_is_noticed(
    path: Path, loop: SchedulerLoop, factory: Factory
) -> None:
    before = path.stat()
    with Followed(path, loop):
        path.write_text(text("b"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert (path.stat().st_size, path.stat().st_mtime_ns) == (
            before.st_size,
            before.st_mtime_ns,
        )
        wait(lambda: queue_in_force(factory) == "b")


def test_a_corrected_mode_is_a_change(path: Path) -> None:
    path.chmod(0)
    before = mark_of(path)
    path.chmod(0o644)
    assert mark_of(path) != before


def test_a_file_system_that_hangs_is_told_and_holds_nobody(
    path: Path,
    loop: SchedulerLoop,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(followed_file, "_PATIENCE_SECONDS", 0.1)
    readers: list[Thread] = []
    answer = threading.Event()

    def read() -> Configuration:
        readers.append(threading.current_thread())
        answer.wait()
        return read_configuration(path)

    with (
        caplog.at_level(logging.INFO, "remuda.config"),
        Followed(path, loop, None, read) as followed,
    ):
        followed.tell()
        wait(lambda: bool(readers and caplog.messages))
        # A look before the reading may have taken as long, on a machine with much to do.
        assert set(caplog.messages) == {f"{path}: no answer from its file system yet"}
        (reader,) = readers
        assert reader.daemon
    assert reader.is_alive()
    answer.set()
    reader.join(10)


def test_without_watching_the_file_is_read_only_when_told(
    path: Path, loop: SchedulerLoop, factory: Factory, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "remuda.config"), Followed(path, loop, None) as followed:
        followed.tell()
        wait(lambda: len(caplog.messages) == 1)
        assert caplog.messages[0].endswith("is in force already")
        path.write_text(text("b"))
        assert queue_in_force(factory) == "a"
        followed.tell()
        wait(lambda: queue_in_force(factory) == "b")


def test_only_a_regular_file_can_be_watched(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert mark_of(tmp_path / "pipe") is None
    assert mark_of(tmp_path) is None
    assert mark_of(tmp_path / "missing") is None
