"""Snapshots in files: what is written, what is refused, and that nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from remuda.base.errors import SnapshotError
from remuda.core.messages.commands import UnregisterResourceManager
from remuda.core.scheduler import Scheduler
from remuda.runtime import snapshots
from tests.reference.driver import apply
from tests.reference.workloads import record

pytestmark = pytest.mark.remuda_rule("EXT-41")


@pytest.fixture(scope="module")
def scheduler() -> Scheduler:
    """A scheduler in the middle of a workload."""
    found = Scheduler()
    for given in record(5).inputs[:40]:
        apply(found, given)
    return found


@pytest.fixture
def file(scheduler: Scheduler, tmp_path: Path) -> Path:
    """A file with its state."""
    path = tmp_path / "state.snapshot"
    snapshots.write(path, scheduler, 77)
    return path


def test_what_was_written_is_read(scheduler: Scheduler, file: Path) -> None:
    header, copy = snapshots.read(file)
    assert header.at_ns == 77
    counts = snapshots.counts(scheduler)
    assert header.counts == counts == snapshots.counts(copy)
    assert min(counts["nodes"], counts["allocations"], counts["waiting asks"]) > 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_a_state_without_resource_managers_is_a_state(scheduler: Scheduler, file: Path) -> None:
    _, copy = snapshots.read(file)
    for now, rm_id in enumerate(("rm", "rm-a", "rm-b", "rm-1", "rm-2")):
        copy.handle(UnregisterResourceManager(rm_id), 10**19 + now)
    snapshots.write(file, copy, 78)
    assert snapshots.read(file)[1].snapshot() == copy.snapshot()


def test_a_file_that_cannot_be_written_changes_nothing(scheduler: Scheduler, file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(SnapshotError, match=r"cannot write .*: No such file"):
        snapshots.write(file.parent / "none" / "state", scheduler, 1)
    (file.parent / "folder").mkdir()
    with pytest.raises(SnapshotError, match="cannot write"):
        snapshots.write(file.parent / "folder", scheduler, 1)
    assert sorted(each.name for each in file.parent.iterdir()) == ["folder", file.name]
    assert file.read_bytes() == before


def test_a_state_beyond_the_limit_is_not_written(
    scheduler: Scheduler, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "STATE_BYTES_LIMIT", 1_000)
    with pytest.raises(SnapshotError, match="more than a file may have"):
        snapshots.write(file.parent / "other", scheduler, 1)
    with pytest.raises(SnapshotError, match="the length of its state"):
        snapshots.read(file)


def head(change: Callable[[snapshots.Header], object]) -> Callable[[bytes], bytes]:
    """Return what changes the first line of a file."""

    def changed(whole: bytes) -> bytes:
        line, _, packed = whole.partition(b"\n")
        first, _, text = line.partition(b" ")
        header = msgspec.json.decode(text, type=snapshots.Header)
        change(header)
        return first + b" " + msgspec.json.encode(header) + b"\n" + packed

    return changed


@pytest.mark.parametrize(
    "damage, said",
    [
        (lambda _: b"", "no snapshot of Remuda"),
        (lambda _: b"\x00" * 9_000, "no snapshot of Remuda"),
        (lambda whole: whole[:60], "no snapshot of Remuda"),
        (lambda whole: whole.replace(b"{", b"[" * 9_000, 1), "no snapshot of Remuda"),
        (lambda whole: whole.replace(b"{", b"[" * 3_000, 1), "its first line"),
        (lambda whole: whole.replace(b"{", b"[", 1), "its first line"),
        (lambda whole: whole.replace(b'"at_ns"', b'"at"', 1), "its first line"),
        (lambda whole: whole[:-1], "not as long as it says"),
        (lambda whole: whole + b"x", "not as long as it says"),
        (lambda whole: whole[:-9] + b"123456789", "damaged"),
        (head(lambda header: setattr(header, "state_bytes", 10)), "not as long as it says"),
        (head(lambda header: setattr(header, "state_bytes", 2**40)), "the length of its state"),
        (head(lambda header: setattr(header, "state_bytes", -1)), "the length of its state"),
        (head(lambda header: setattr(header, "digest", "")), "was changed"),
    ],
)
def test_every_damage_is_told_in_one_line(
    file: Path, damage: Callable[[bytes], bytes], said: str
) -> None:
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(SnapshotError, match=said) as refused:
        snapshots.read(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert "\n" not in str(refused.value)


def test_a_state_that_contradicts_itself_is_refused(file: Path) -> None:
    _, copy = snapshots.read(file)
    (partition, *_) = copy._partitions
    partition.allocation_count += 1
    snapshots.write(file, copy, 1)
    with pytest.raises(SnapshotError, match="the state contradicts itself"):
        snapshots.read(file)
