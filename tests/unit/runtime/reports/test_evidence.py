"""What the self-audit leaves when it finds a violation, and that this disturbs nobody."""

from __future__ import annotations

import json
import logging
import shlex
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from remuda.core.messages.ask import Ask
from remuda.core.messages.commands import UpdateAllocations
from remuda.core.scheduler import Scheduler
from remuda.runtime import snapshots
from remuda.runtime.driver import Question
from remuda.runtime.errors import LoopStoppedError
from remuda.runtime.fault_reports import KEPT
from remuda.runtime.journals.layout import JournalBounds, begins_empty, listed
from remuda.runtime.journals.writer import Journal
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.reports import evidence
from remuda.runtime.reports.evidence import EVERY_SECONDS, AuditReports
from remuda.runtime.reports.names import OwnNames
from remuda.runtime.reports.report import build_report
from remuda.runtime.reports.sources import ReplayBounds
from remuda.telemetry.self_audit import SelfAudit
from tests.unit.runtime.reports import named
from tests.waiting import wait


class Served:
    """A scheduler that runs and keeps a journal, whose state a test can break."""

    def __init__(self, folder: Path) -> None:
        self.journal = folder / "journal"
        self.reports = folder / "reports"
        self.journal.mkdir()
        self.reports.mkdir()
        self.scheduler = Scheduler()
        self.loop = SchedulerLoop(
            lambda *_, **__: self.scheduler, recorder=Journal(self.journal, JournalBounds())
        )
        self.loop.start()
        assert self.loop.register(named.registration()).result(30).reason == ""
        for request in named.requests():
            self.loop.submit(request)
            self.loop.idle().result(30)
        wait(lambda: self.settled(4))
        wait(lambda: [each for each in listed(self.journal) if begins_empty(each)] != [])

    def settled(self, allocations: int) -> bool:
        """Whether there are so many allocations and nothing is left to be decided."""
        self.loop.idle().result(30)
        counts = snapshots.counts(self.scheduler)
        return counts["allocations"] == allocations and not self.scheduler.has_work()

    def folders(self) -> list[Path]:
        return sorted(self.reports.iterdir())

    def break_queue(self) -> None:
        """One unit too much in a leaf."""
        (partition,) = self.scheduler._partitions
        queue = partition.queue(named.LEAF)
        assert queue is not None
        queue.allocated.amounts[0] += 1


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    found = Served(tmp_path)
    yield found
    found.loop.stop()


def read(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found


def no_copy(_: Question) -> Future[bytes]:
    raise LoopStoppedError("no copy can be made")


@pytest.mark.remuda_rule("EXT-148")
def test_a_violation_leaves_its_state_and_the_journal_for_doctor(served: Served) -> None:
    report = AuditReports(served.reports, served.loop.operations.answer_on_copy, served.journal)
    audit = SelfAudit(served.loop, report=report)
    audit.round()
    assert served.folders() == []
    served.break_queue()
    audit.round()
    (folder,) = served.folders()
    assert sorted(each.name for each in folder.iterdir()) == [
        "journal",
        "report.json",
        "state.snapshot",
    ]
    told = read(folder)
    text = f"partition=[{named.RM}]default, queue={named.LEAF}: allocated: vcore is 1001, not 1000"
    assert text in told["violations"]
    assert (told["snapshot"], told["journal"]) == ("state.snapshot", "journal")
    files = [folder / "state.snapshot", folder / "journal"]
    assert told["next"] == f"remuda doctor {files[0]} {files[1]} --pseudonymise"
    state, journal = build_report(files, OwnNames(), ReplayBounds(60.0, list[int]().append))[
        "files"
    ]
    values = {(each["object"], each["value"]) for each in state["violations"]}
    assert (f"queue {named.LEAF}", "allocated") in values
    assert journal["sound"]  # what the inputs lead to is right, so the fault came otherwise
    assert journal["replay"]["compared"] > 4
    assert folder.stat().st_mode & 0o777 == 0o700
    inner = [each for each in folder.rglob("*") if each.is_file()]
    assert {each.stat().st_mode & 0o777 for each in inner} == {0o600}


@pytest.mark.remuda_rule("EXT-148")
def test_the_snapshot_is_like_one_of_the_snapshot_writer(served: Served, tmp_path: Path) -> None:
    AuditReports(served.reports, served.loop.operations.answer_on_copy)(["x"])
    (folder,) = served.folders()
    header, copy = snapshots.read(folder / "state.snapshot")
    assert snapshots.counts(copy) == snapshots.counts(served.scheduler)
    other = snapshots.write(tmp_path / "other", served.scheduler, header.at_ns)
    assert (header.counts, header.digest) == (other.counts, other.digest)
    assert read(folder)["journal"] == "there is no journal"


@pytest.mark.remuda_rule("EXT-149")
def test_there_is_one_report_in_ten_minutes_and_the_latest_ones_are_kept(tmp_path: Path) -> None:
    now = 0.0
    report = AuditReports(tmp_path, no_copy, clock=lambda: now)
    report(["first"])
    now = EVERY_SECONDS - 1
    report(["too early"])
    assert [read(each)["violations"] for each in tmp_path.iterdir()] == [["first"]]
    for number in range(KEPT + 2):
        now += EVERY_SECONDS
        report([f"{number}"])
    told = [read(each)["violations"] for each in sorted(tmp_path.iterdir())]
    assert told == [[f"{number}"] for number in range(2, KEPT + 2)]


@pytest.mark.remuda_rule("EXT-149")
def test_the_folders_are_bounded_in_bytes_and_the_latest_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "TOTAL_BYTES", 5_000)
    others = [tmp_path / name for name in ("audit-notes", "audit-2026", "another")]
    for each in others:
        each.mkdir()
        (each / "large").write_bytes(b"x" * 9_000)
    now = 0.0
    report = AuditReports(tmp_path, no_copy, clock=lambda: now)
    for size in (10, 2_000, 1_000, 9_000):
        now += EVERY_SECONDS
        report(["x" * size])
        if size == 1_000:
            found = sorted(tmp_path.glob("audit-*Z-*"))
            assert [len(read(each)["violations"][0]) for each in found] == [10, 2_000, 1_000]
    (latest,) = tmp_path.glob("audit-*Z-*")
    assert read(latest)["violations"] == ["x" * 9_000]
    assert all((each / "large").exists() for each in others)


@pytest.mark.remuda_rule("EXT-148")
def test_a_segment_that_goes_meanwhile_costs_the_journal_only(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = Path.mkdir

    def removed_then(path: Path, mode: int = 0o777) -> None:
        """The journal removes its oldest segments after they were listed."""
        mkdir(path, mode)
        if path.name == "journal":
            listed(served.journal)[-1].inputs.unlink()

    monkeypatch.setattr(Path, "mkdir", removed_then)
    copying = served.loop.operations.answer_on_copy
    AuditReports(served.reports, copying, served.journal)(["x"])
    (folder,) = served.folders()
    assert sorted(each.name for each in folder.iterdir()) == ["report.json", "state.snapshot"]
    assert read(folder)["journal"] == "it cannot be read: No such file or directory"


@pytest.mark.remuda_rule("EXT-148")
def test_the_command_in_a_report_can_be_pasted_whatever_the_folder_is_called(
    tmp_path: Path, served: Served
) -> None:
    folder = tmp_path / "it's here; $(ls)"
    folder.mkdir()
    AuditReports(folder, served.loop.operations.answer_on_copy)(["x"])
    (report,) = folder.iterdir()
    words = ["remuda", "doctor", str(report / "state.snapshot"), "--pseudonymise"]
    assert shlex.split(read(report)["next"]) == words


@pytest.mark.remuda_rule("EXT-149")
def test_without_a_copy_or_with_a_large_journal_the_report_says_so(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "JOURNAL_BYTES", 100)
    AuditReports(served.reports, no_copy, served.journal)(["x"])
    (folder,) = served.folders()
    assert read(folder)["snapshot"] == "none was written: no copy can be made"
    assert "bytes are too many; look in " in read(folder)["journal"]
    assert [each.name for each in folder.iterdir()] == ["report.json"]


@pytest.mark.remuda_rule("EXT-149")
def test_a_disk_that_takes_nothing_is_told_and_harmless(
    served: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    copying = served.loop.operations.answer_on_copy
    with caplog.at_level(logging.WARNING, "remuda.runtime.health"):
        AuditReports(served.reports, copying, served.journal)(["x"])
        AuditReports(served.reports / "none", copying, served.journal)(["x"])
    told = [each.getMessage() for each in caplog.records]
    for line, directory, reason in zip(
        told,
        (served.reports, served.reports / "none"),
        ("No space left on device", "No such file or directory"),
        strict=True,
    ):
        assert line.startswith(f"self-audit: no report was written to {directory}/")
        assert line.endswith(f": {reason}")
    assert served.folders() == []


@pytest.mark.remuda_rule("EXT-149")
def test_scheduling_goes_on_while_a_report_is_written(served: Served) -> None:
    waiting: Future[bytes] = Future()
    asked = threading.Event()

    def slow(_: Question) -> Future[bytes]:
        asked.set()
        return waiting

    report = AuditReports(served.reports, slow)
    thread = threading.Thread(target=report, args=(["x"],), daemon=True)
    thread.start()
    assert asked.wait(30)
    more = Ask("zqx-fourth", "another", {"vcore": 1_000})
    served.loop.submit(UpdateAllocations(named.RM, asks=(more,)))
    wait(lambda: served.settled(5))
    assert thread.is_alive()
    waiting.set_exception(LoopStoppedError("it ended"))
    thread.join(30)
    assert not thread.is_alive()
