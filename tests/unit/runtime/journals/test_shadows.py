"""A shadow follows a journal across segments and processes, while it grows or afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.base.errors import ConfigError, UsageError
from remuda.config.load import load_configuration
from remuda.insight.shadow.differences import Difference
from remuda.insight.shadow.twin import Trial
from remuda.runtime.journals.following import Follower
from remuda.runtime.journals.layout import SegmentFile, last_number, listed
from remuda.runtime.journals.past import Until
from remuda.runtime.journals.shadows import Shadow
from tests.unit.runtime.journals.written import QUEUES, journal_of, started, work
from tests.waiting import wait

LOWER = QUEUES.replace("vcore: 20", "vcore: 2")
OLDEST = Until(0)


def at_once() -> bool:
    """Wait for nothing."""
    return False


def shadow_of(
    directory: Path, text: str, since: Until | None = OLDEST, rm: str = ""
) -> tuple[Shadow, list[Difference]]:
    """A shadow that has followed a journal to its end."""
    told: list[Difference] = []
    trial = Trial(load_configuration(text), rm)
    shadow = Shadow(directory, trial, told.append)
    shadow.run(Follower(directory, since, at_once).read())
    return shadow, told


@pytest.mark.remuda_rule("EXT-134")
def test_the_same_configuration_differs_nowhere_across_segments_and_processes(
    tmp_path: Path,
) -> None:
    journal_of(tmp_path)
    files = journal_of(tmp_path)
    assert len(files) > 4
    shadow, told = shadow_of(tmp_path, QUEUES)
    assert told == []
    result = shadow.result()
    assert result.inputs == result.last_input > 200
    assert result.decisions == 2 * 60 + 0
    assert result.starts == 2


@pytest.mark.remuda_rule("EXT-134")
def test_without_a_moment_it_begins_with_the_latest_state(tmp_path: Path) -> None:
    files = journal_of(tmp_path)
    shadow, told = shadow_of(tmp_path, QUEUES, since=None)
    assert told == []
    assert shadow.result().inputs == shadow.result().last_input - files[-1].first + 1


@pytest.mark.remuda_rule("EXT-134")
def test_it_begins_with_the_input_after_a_moment_in_a_segment(tmp_path: Path) -> None:
    journal_of(tmp_path)
    shadow, told = shadow_of(tmp_path, QUEUES, since=Until(57))
    assert told == []
    assert shadow.result().inputs == shadow.result().last_input - 57


@pytest.mark.remuda_rule("EXT-131")
def test_a_lower_maximum_makes_asks_of_its_queue_wait(tmp_path: Path) -> None:
    journal_of(tmp_path)
    shadow, told = shadow_of(tmp_path, LOWER)
    result = shadow.result()
    waiting = [each for each in result.counts if each.cause == "not placed"]
    assert [each.queue for each in waiting] == ["root.a"]
    assert {each.cause for each in result.counts} == {"not placed", "elsewhere"}
    assert told[0].primary
    assert not told[0].shadow
    assert str(told[0]) == (
        f"app-a/{told[0].allocation_key} in root.a: not placed: on no node instead of"
        f" {told[0].primary[0]}"
    )


@pytest.mark.remuda_rule("EXT-134")
def test_it_follows_a_journal_that_grows(tmp_path: Path) -> None:
    loop = started(tmp_path)
    done = 0

    def more() -> bool:
        """Let the scheduler work some more, three times."""
        nonlocal done
        done += 1
        if done <= 3:
            work(loop, done * 20, 20)
        elif done == 4:
            loop.stop()
        return done < 5

    wait(lambda: any(tmp_path.glob("*.jsonl")))
    trial = Trial(load_configuration(QUEUES))
    told: list[Difference] = []
    shadow = Shadow(tmp_path, trial, told.append)
    shadow.run(Follower(tmp_path, OLDEST, more).read())
    assert told == []
    assert shadow.result().decisions == 60
    assert shadow.result().starts == 1


@pytest.mark.remuda_rule("EXT-128")
def test_a_configuration_that_is_refused_ends_it(tmp_path: Path) -> None:
    journal_of(tmp_path)
    shared = QUEUES.replace("- name: b", "- name: b\n            parent: true")
    with pytest.raises(ConfigError, match="root"):
        shadow_of(tmp_path, shared, since=None)


@pytest.mark.remuda_rule("EXT-128")
def test_a_resource_manager_that_is_not_there_ends_it(tmp_path: Path) -> None:
    journal_of(tmp_path)
    with pytest.raises(UsageError, match="no resource manager 'nobody' is registered"):
        shadow_of(tmp_path, QUEUES, since=None, rm="nobody")
    shadow, _ = shadow_of(tmp_path, QUEUES, rm="nobody")
    with pytest.raises(UsageError, match="'nobody' registered; nothing was compared"):
        shadow.require_applied()


@pytest.mark.remuda_rule("EXT-134")
def test_a_directory_without_a_journal_ends_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no journal"):
        shadow_of(tmp_path, QUEUES)


@pytest.mark.remuda_rule("EXT-134")
def test_a_torn_segment_is_followed_to_its_last_whole_input(tmp_path: Path) -> None:
    file = journal_of(tmp_path)[-1]
    text = file.inputs.read_bytes()
    file.inputs.write_bytes(text[: len(text) * 2 // 3])
    shadow, told = shadow_of(tmp_path, QUEUES)
    assert told == []
    assert shadow.result().last_input > file.first


def gap_in(directory: Path) -> list[SegmentFile]:
    """A journal of which a segment in the middle is gone, and the state of the one after it."""
    files = journal_of(directory, rounds=80)
    gone, after = files[1:3]
    assert after.state is not None
    for path in (gone.inputs, gone.state, after.state):
        assert path is not None
        path.unlink()
    return listed(directory)


@pytest.mark.remuda_rule("EXT-125")
def test_a_segment_whose_state_is_missing_after_a_gap_is_skipped(tmp_path: Path) -> None:
    first, without, goes_on, *_ = gap_in(tmp_path)
    told: list[str] = []
    shadow = Shadow(tmp_path, Trial(load_configuration(QUEUES), ""), lambda _: None)
    shadow.run(Follower(tmp_path, OLDEST, at_once, told.append).read())
    (line,) = told
    assert line.startswith(f"{without.inputs}: its first state is missing")
    assert line.endswith(f"; going on with {goes_on.inputs.name}")
    result = shadow.result()
    skipped = goes_on.first - 1 - last_number(first)
    assert result.inputs == result.last_input - skipped
    assert result.starts == 2


@pytest.mark.remuda_rule("EXT-125")
def test_a_state_that_does_not_come_is_told_and_one_that_comes_ends_the_wait(
    tmp_path: Path,
) -> None:
    _, without, goes_on, *later = gap_in(tmp_path)
    assert goes_on.state is not None
    hidden = tmp_path / "hidden"
    kept = [
        (path, path.read_bytes()) for each in later for path in (each.inputs, each.state) if path
    ]
    for path, _ in kept:
        path.unlink()
    goes_on.state.rename(hidden)
    told: list[str] = []
    waits = 0

    def wait_for_it() -> bool:
        """Let the state come after it was told that one is missing."""
        nonlocal waits
        waits += 1
        if told and hidden.exists():
            hidden.rename(goes_on.state or "")
        return len(told) < 2

    found = list(Follower(tmp_path, OLDEST, wait_for_it, told.append).read())
    assert [line.partition(": ")[0] for line in told] == [str(without.inputs)] * 2
    assert found
    assert waits >= 50
