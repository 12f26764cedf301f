"""A journal can be repeated, whatever is missing at its ends, and a difference is named."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from remuda.base.errors import UsageError
from remuda.runtime.journals.layout import LOCK, JournalBounds, SegmentFile, listed
from remuda.runtime.journals.repeating import FileResult, replay_journal
from remuda.runtime.journals.writer import Journal
from tests.unit.runtime.journals.written import SHORT, journal_of, started, work
from tests.waiting import wait


def inputs(found: list[FileResult]) -> list[int]:
    """How many inputs of each segment were repeated."""
    return [0 if each.result is None else each.result.inputs for each in found]


def differences(found: list[FileResult]) -> list[str]:
    return [each.result.difference for each in found if each.result is not None]


def change(segment: SegmentFile, old: bytes, new: bytes) -> int:
    """Change the first input with a text, and return its number."""
    content = segment.inputs.read_bytes()
    assert old in content
    number = int(content[: content.index(old)].rpartition(b'["command",')[2].split(b",")[0])
    segment.inputs.write_bytes(content.replace(old, new, 1))
    return number


def content_of(segment: SegmentFile) -> bytes:
    return segment.inputs.read_bytes()


@pytest.mark.remuda_rule("EXT-50")
def test_a_journal_has_segments_that_begin_with_a_state_and_repeat_alike(tmp_path: Path) -> None:
    segments = journal_of(tmp_path)
    assert len(segments) >= 4
    assert segments[0].state is None
    assert all(each.state is not None for each in segments[1:])
    found = list(replay_journal(tmp_path))
    assert differences(found) == [""] * len(segments)
    assert [each.result.torn for each in found if each.result] == [""] * len(segments)
    numbers = [each.first for each in segments]
    due = [first + count for first, count in zip(numbers, inputs(found), strict=True)]
    assert numbers == [1, *due[:-1]]
    assert max(inputs(found)) == SHORT.segment_inputs


@pytest.mark.remuda_rule("EXT-50")
def test_all_files_of_a_journal_are_for_its_owner_only(tmp_path: Path) -> None:
    journal_of(tmp_path, 30)
    modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    assert modes == {0o600}


@pytest.mark.remuda_rule("EXT-54")
def test_the_first_input_that_was_altered_is_named(tmp_path: Path) -> None:
    segments = journal_of(tmp_path)
    line = re.search(
        rb'"asks":\[\{"application_id":"app-b","allocation_key":"k', content_of(segments[2])
    )
    assert line is not None
    changed = change(segments[2], line.group(), line.group() + b"x")
    found = list(replay_journal(tmp_path))
    assert differences(found)[:2] == ["", ""]
    assert len(found) == 3
    assert found[2].path == segments[2].inputs
    differs = differences(found)[2]
    assert differs.startswith((f"input {changed} (", f"input {changed + 1} ("))
    assert differs.endswith("effects differ from the recorded ones")


@pytest.mark.remuda_rule("EXT-54")
def test_a_segment_without_its_state_follows_from_the_one_before(tmp_path: Path) -> None:
    segments = journal_of(tmp_path)
    whole = inputs(list(replay_journal(tmp_path)))
    for segment in segments[1:3]:
        assert segment.state is not None
        segment.state.unlink()
    found = list(replay_journal(tmp_path))
    assert (differences(found), inputs(found)) == ([""] * len(segments), whole)
    segments[0].inputs.unlink()
    found = list(replay_journal(tmp_path))
    assert [bool(each.skipped) for each in found] == [True, True] + [False] * (len(segments) - 3)
    assert inputs(found) == [0, 0, *whole[3:]]


@pytest.mark.remuda_rule("EXT-54")
def test_a_journal_that_is_cut_anywhere_is_readable_up_to_there(tmp_path: Path) -> None:
    segments = journal_of(tmp_path, 30)
    last = segments[-1].inputs
    whole = last.read_bytes()
    before = sum(inputs(list(replay_journal(tmp_path)))[:-1])
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    for cut in (0, 1, 30, *range(ends[0] - 1, len(whole), len(whole) // 25)):
        last.write_bytes(whole[:cut])
        found = list(replay_journal(tmp_path))
        assert set(differences(found)) == {""}
        lines = whole[:cut].splitlines(keepends=True)
        outcomes = [
            each
            for each in lines
            if each.startswith(b'["outcome"') and each.rstrip(b"\n").endswith(b"]")
        ]
        assert sum(inputs(found)) == before + len(outcomes)


@pytest.mark.remuda_rule("EXT-54")
def test_a_damaged_state_is_told_in_one_line(tmp_path: Path) -> None:
    segments = journal_of(tmp_path, 30)
    state = segments[1].state
    assert state is not None
    whole = state.read_bytes()
    for content in (b"", b"hello", whole[:-1], whole[: len(whole) // 2], whole[:-9] + bytes(9)):
        state.write_bytes(content)
        with pytest.raises(UsageError) as caught:
            list(replay_journal(tmp_path))
        assert str(state) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.remuda_rule("EXT-50")
def test_a_scheduler_that_starts_again_goes_on_in_the_same_directory(tmp_path: Path) -> None:
    first = journal_of(tmp_path, 20)
    second = journal_of(tmp_path, 20)
    assert [each.inputs for each in second[: len(first)]] == [each.inputs for each in first]
    again = second[len(first)]
    found = list(replay_journal(tmp_path))
    assert differences(found) == [""] * len(second)
    assert again.first == 1 + sum(inputs(found[: len(first)]))
    assert again.state is None


@pytest.mark.remuda_rule("EXT-50")
def test_what_a_crash_left_unfinished_is_removed_and_other_files_are_kept(tmp_path: Path) -> None:
    segments = journal_of(tmp_path, 20)
    last = segments[-1]
    number = last.first + 1_000
    name = f"{number:015d}-20260101T000000Z"
    part, empty = tmp_path / f"{name}.state.part", tmp_path / f"{name}.jsonl"
    other = tmp_path / "notes.jsonl"
    for path in (part, empty, other):
        path.write_bytes(b"")
    Journal(tmp_path).close()
    assert not part.exists()
    assert not empty.exists()
    assert other.exists()
    assert [each for each in listed(tmp_path) if each in segments] == segments


@pytest.mark.remuda_rule("EXT-51")
def test_what_happened_is_in_the_file_while_the_scheduler_runs(tmp_path: Path) -> None:
    loop = started(tmp_path)
    try:
        work(loop, 0, 3)
        wait(lambda: any(b'"k2"' in content_of(each) for each in listed(tmp_path)))
        assert loop.running()
    finally:
        loop.stop()


@pytest.mark.remuda_rule("EXT-52")
def test_the_oldest_segments_go_when_a_journal_is_too_large(tmp_path: Path) -> None:
    bounds = JournalBounds(total_bytes=100_000, segment_bytes=10_000)
    segments = journal_of(tmp_path, 300, bounds)
    size = sum(each.stat().st_size for each in tmp_path.iterdir())
    assert segments[0].first > 1
    assert segments[0].state is not None
    # A segment and a state may come before the next look.
    assert size < 120_000
    found = list(replay_journal(tmp_path))
    assert differences(found) == [""] * len(segments)


@pytest.mark.remuda_rule("EXT-52")
def test_segments_that_are_too_old_go_and_the_newest_stays(tmp_path: Path) -> None:
    segments = journal_of(tmp_path, 60)
    assert len(segments) > 2
    for each in segments:
        os.utime(each.inputs, (1, 1))
    loop = started(tmp_path, JournalBounds(segment_inputs=40, age_seconds=3_600))
    try:
        wait(lambda: len(listed(tmp_path)) < len(segments))
    finally:
        loop.stop()
    # The segment of the second scheduler begins with nothing, so it needs no other.
    assert listed(tmp_path)[-1].first > segments[-1].first


@pytest.mark.remuda_rule("EXT-52")
def test_the_oldest_segments_go_when_every_scheduler_ends_within_its_first_one(
    tmp_path: Path,
) -> None:
    bounds = JournalBounds(age_seconds=3_600)
    for _ in range(3):
        (before,) = journal_of(tmp_path, 5, bounds)
        assert before.state is None
        os.utime(before.inputs, (1, 1))
        loop = started(tmp_path, bounds)
        try:
            wait(lambda: len(listed(tmp_path)) == 1)
        finally:
            loop.stop()
        assert listed(tmp_path)[0].first > before.first
        os.utime(listed(tmp_path)[0].inputs, (1, 1))


@pytest.mark.remuda_rule("EXT-50")
def test_a_directory_that_cannot_be_used_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"--journal .*: is no directory; make it first"):
        Journal(tmp_path / "missing")
    journal = Journal(tmp_path)
    with pytest.raises(UsageError, match="another scheduler writes there"):
        Journal(tmp_path)
    journal.close()
    (tmp_path / LOCK).unlink()
    (tmp_path / LOCK).mkdir()
    with pytest.raises(UsageError, match="Is a directory"):
        Journal(tmp_path)
    monkeypatch.setenv("GRPC_ENABLE_FORK_SUPPORT", "1")
    with pytest.raises(UsageError, match="GRPC_ENABLE_FORK_SUPPORT has to be 0"):
        Journal(tmp_path)


@pytest.mark.remuda_rule("EXT-54")
def test_a_directory_without_a_journal_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no journal of remuda, there is no segment in it"):
        list(replay_journal(tmp_path))
