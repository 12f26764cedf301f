"""The lines of the audit log also go to a syslog, which may be away (EXT-26)."""

from __future__ import annotations

import json
import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda.base.errors import UsageError
from remuda.telemetry.audit.log import AuditLog, AuditSettings
from remuda.telemetry.audit.records import REGISTER, Record
from remuda.telemetry.audit.syslog import Syslog
from tests.unit.telemetry.audit.test_audit_log import samples

pytestmark = pytest.mark.remuda_rule("EXT-26", "MET-50")

# RFC 5424: priority and version, time, host, program, process, kind of message, no structured data.
LINE = re.compile(r"<85>1 (\S+) \S+ remuda \d+ audit - (\{.*\})")


@pytest.fixture
def port() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(10)
        yield listener


def heard(listener: socket.socket) -> dict[str, str]:
    """The next line that arrives; its time is that of the record."""
    found = LINE.fullmatch(listener.recv(10_000).decode())
    assert found is not None
    record: dict[str, str] = json.loads(found[2])
    assert record["time"] == found[1]
    return record


def kept(log: AuditLog, *records: Record) -> None:
    log.start()
    for record in records:
        log.record(record)
    log.close()


def test_lines_are_sent_to_a_port_beside_the_file(port: socket.socket, tmp_path: Path) -> None:
    file = tmp_path / "audit"
    settings = AuditSettings(file, syslog=f"127.0.0.1:{port.getsockname()[1]}")
    log = AuditLog(settings.files(), syslog=settings.sender())
    kept(log, Record(REGISTER, rm_id="a\nb"), Record(REGISTER, rm_id="c"))
    first, second = heard(port), heard(port)
    assert (first["rm"], second["rm"]) == ("a\nb", "c")
    assert [json.loads(line) for line in file.read_text().splitlines()] == [first, second]
    assert samples(log)["x_audit_unsent_records_total"] == 0


def test_lines_are_sent_to_a_socket_of_the_machine_without_a_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(path))
        listener.settimeout(10)
        kept(AuditLog(None, syslog=Syslog(str(path))), Record(REGISTER, rm_id="rm"))
        assert heard(listener)["rm"] == "rm"


def test_a_syslog_that_is_away_costs_no_line_of_the_file_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "audit"
    settings = AuditSettings(file, syslog=str(tmp_path / "nobody"))
    log = AuditLog(settings.files(), syslog=settings.sender())
    with caplog.at_level(logging.ERROR, logger="remuda.security"):
        kept(log, *[Record(REGISTER, rm_id=name) for name in "abc"])
    assert len(file.read_text().splitlines()) == 3
    assert samples(log)["x_audit_unsent_records_total"] == 3
    (told,) = caplog.records
    assert "the syslog takes no lines of the audit log: [Errno 2]" in told.getMessage()


@pytest.mark.parametrize("place", ["localhost", "host:", ":514", "/dev/\0log"])
def test_a_place_that_cannot_be_is_refused_in_one_line(place: str) -> None:
    with pytest.raises(UsageError, match=r"^--audit-syslog: .*$"):
        Syslog(place)
