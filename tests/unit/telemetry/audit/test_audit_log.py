"""The audit log: nobody waits for its disk, and nothing is lost silently."""

from __future__ import annotations

import errno
import json
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from remuda.telemetry.audit.files import AuditFiles
from remuda.telemetry.audit.log import REFUSALS_AT_ONCE, AuditLog, AuditSettings
from remuda.telemetry.audit.records import (
    AUTHENTICATE,
    AUTHORIZE,
    REFUSED,
    REGISTER,
    Record,
)
from remuda.telemetry.metrics.families import Families
from tests.waiting import wait

SECOND = 1_000_000_000


class Disk(AuditFiles):
    """Files whose disk is full, or does not answer, while a test wants it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, 1_000_000, 1)
        self.full = False
        self.attempts = 0
        self.answers = threading.Event()
        self.answers.set()

    def append(self, line: bytes) -> None:
        self.attempts += 1
        self.answers.wait()
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().append(line)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path / "audit")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(each) for each in path.read_text().splitlines()]


def samples(log: AuditLog) -> dict[str, float]:
    families = Families("x")
    log.add(families)
    found: dict[str, float] = {}
    for metric in families.all():
        for sample in metric.samples:
            found[" ".join((sample.name, *sample.labels.values()))] = sample.value
    return found


@pytest.mark.remuda_rule("EXT-26")
def test_records_are_written_in_order_until_the_end(tmp_path: Path) -> None:
    log = AuditLog(AuditSettings(tmp_path / "audit").files())
    log.start()
    for number in range(1_000):
        log.record(Record(REGISTER, rm_id=str(number)))
    log.close()
    assert [each["rm"] for each in lines(tmp_path / "audit")] == [str(n) for n in range(1_000)]


@pytest.mark.remuda_rule("EXT-26", "MET-50")
def test_of_records_that_find_the_queue_full_the_number_is_told(tmp_path: Path, disk: Disk) -> None:
    log = AuditLog(disk, queue_limit=3)
    disk.answers.clear()
    log.start()
    for number in range(3):
        log.record(Record(REGISTER, rm_id=str(number)))
    wait(lambda: disk.attempts == 1)
    for number in range(3, 8):  # nobody waits for the disk, which does not answer
        log.record(Record(REGISTER, rm_id=str(number)))
    assert samples(log)["x_audit_lost_records_total"] == 5
    disk.answers.set()
    wait(lambda: disk.attempts == 3)
    wait(lambda: len(lines(tmp_path / "audit")) == 3)
    log.record(Record(REGISTER, rm_id="next"))
    log.record(Record(REGISTER, rm_id="last"))
    log.close()
    found = lines(tmp_path / "audit")
    assert [(each["rm"], each.get("lost")) for each in found] == [
        ("0", None),
        ("1", None),
        ("2", None),
        ("next", 5),
        ("last", None),
    ]
    assert samples(log)["x_audit_records_total register done"] == 10


@pytest.mark.remuda_rule("EXT-26", "MET-50")
def test_an_error_of_the_disk_is_logged_once_counted_and_tried_again(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    log = AuditLog(disk, retry_seconds=0.001)
    disk.full = True
    log.start()
    with caplog.at_level(logging.WARNING, "remuda.security"):
        log.record(Record(REGISTER, rm_id="first"))
        log.record(Record(REGISTER, rm_id="second"))
        wait(lambda: disk.attempts > 3)
        shown = samples(log)
        assert shown["x_audit_broken"] == 1
        assert shown["x_audit_write_errors_total"] >= 3
        disk.full = False
        wait(lambda: not samples(log)["x_audit_broken"])
        log.close()
    assert [each["rm"] for each in lines(tmp_path / "audit")] == ["first", "second"]
    said = [each.getMessage() for each in caplog.records]
    assert said == [
        "the audit log cannot be written: [Errno 28] No space left on device; it is tried again",
        "the audit log is written again",
    ]


@pytest.mark.remuda_rule("EXT-26")
def test_a_full_disk_does_not_keep_the_process_from_ending(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    log = AuditLog(disk, retry_seconds=1_000)
    disk.full = True
    log.start()
    log.record(Record(REGISTER))
    wait(lambda: disk.attempts == 1)
    log.close()
    assert "ends without its last 1 records" in caplog.text


@pytest.mark.remuda_rule("EXT-26", "MET-50")
def test_strangers_cannot_fill_the_log_nor_hide_other_deeds(tmp_path: Path) -> None:
    now_ns = [1_700_000_000 * SECOND]
    log = AuditLog(AuditSettings(tmp_path / "audit").files(), now_ns=lambda: now_ns[0])
    log.start()
    for _ in range(REFUSALS_AT_ONCE + 50):
        log.record(Record(AUTHENTICATE, REFUSED))
    log.record(Record(AUTHORIZE, REFUSED))
    now_ns[0] += 2 * SECOND
    for _ in range(5):
        log.record(Record(AUTHENTICATE, REFUSED))
    log.record(Record(REGISTER))
    log.close()
    found = lines(tmp_path / "audit")
    assert [each["what"] for each in found].count("authenticate") == REFUSALS_AT_ONCE + 2
    told = [(each["what"], each["omitted"]) for each in found if "omitted" in each]
    assert told == [("authorize", 50), ("register", 3)]
    shown = samples(log)
    assert shown["x_audit_records_total authenticate refused"] == REFUSALS_AT_ONCE + 55
    assert shown["x_audit_omitted_records_total"] == 53


@pytest.mark.remuda_rule("MET-50")
def test_without_a_file_records_are_counted() -> None:
    log = AuditLog(AuditSettings().files())
    log.start()
    log.record(Record(AUTHENTICATE, REFUSED, reason="secret"))
    log.close()
    assert samples(log) == {"x_audit_records_total authenticate refused": 1}


def test_a_name_that_is_not_in_the_table_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError, match="dance"):
        AuditLog(None).record(Record("dance"))
