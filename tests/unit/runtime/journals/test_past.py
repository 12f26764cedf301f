"""A moment of a journal is the one that a replay of all inputs reaches."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from remuda.base.errors import RemudaError, UsageError
from remuda.core.messages.application_queries import ApplicationQuery
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import NodeView, PartitionsQuery, PartitionView, QueuesQuery
from remuda.core.messages.rows import ApplicationRowsQuery, NodeRowsQuery, rows
from remuda.core.scheduler import Scheduler
from remuda.runtime.journals.layout import SegmentFile, listed
from remuda.runtime.journals.past import Until, first_change, state_at
from remuda.runtime.recorded import segments
from remuda.runtime.replay import Reached, Repeater
from tests.unit.runtime.journals.written import journal_of, started, work


def placed(scheduler: Scheduler) -> tuple[int, int]:
    """How many allocations each of the two applications has."""
    counts = []
    for name in ("app-a", "app-b"):
        found = rows(ApplicationView, scheduler.view(ApplicationQuery("default", name)) or ())
        counts += [len(each.allocations) for each in found] or [0]
    return counts[0], counts[1]


def seen(scheduler: Scheduler) -> list[object]:
    """What a scheduler shows of its partition, queues, nodes and applications."""
    found: list[object] = rows(PartitionView, scheduler.view(PartitionsQuery()))
    found.append(scheduler.view(QueuesQuery("default")))
    found += rows(NodeView, scheduler.view(NodeRowsQuery("default")) or ())
    for view in rows(ApplicationView, scheduler.view(ApplicationRowsQuery("default")) or ()):
        running = [(each.allocation_id, each.node_id) for each in view.allocations]
        found.append([view.application_id, view.state, view.pending, running])
    return found


def running(then: Reached) -> tuple[int, int]:
    """How many allocations each of the two applications had."""
    return placed(then.scheduler)


class History:
    """What a journal tells if all its inputs are repeated from the first on."""

    def __init__(self, files: list[SegmentFile]) -> None:
        self.answers: dict[int, tuple[int, int]] = {}
        self.times: dict[int, int] = {}
        self.states: dict[int, list[object]] = {}
        repeater: Repeater | None = None
        for file in files:
            segment = next(segments(file.inputs))
            if repeater is None or not segment.goes_on:
                repeater = Repeater(segment)
            repeater.begin_digest(segment)
            for entry in segment.inputs():
                assert repeater.repeat(entry) == ""
                number = entry.cause.number
                assert isinstance(repeater.scheduler, Scheduler)
                self.answers[number] = placed(repeater.scheduler)
                self.times[number] = entry.cause.now_ns
                self.states[number] = seen(repeater.scheduler)

    def after(self, now_ns: int) -> int:
        """The last input up to a time."""
        return max(number for number, time in self.times.items() if time <= now_ns)


@pytest.mark.remuda_rule("EXT-49")
def test_the_state_after_each_input_is_that_of_a_replay_of_all(tmp_path: Path) -> None:
    files = journal_of(tmp_path)
    history = History(files)
    assert len(files) >= 4
    for number in history.states:
        if number % 7 and all(abs(number - each.first) > 1 for each in files):
            continue
        reached = state_at(tmp_path, Until(number))
        assert (reached.inputs, reached.now_ns) == (number, history.times[number])
        assert seen(reached.scheduler) == history.states[number]
        reached.scheduler.check()


@pytest.mark.remuda_rule("EXT-49")
def test_the_state_at_a_time_is_that_after_the_last_input_before(tmp_path: Path) -> None:
    history = History(journal_of(tmp_path))
    for number, now_ns in list(history.times.items())[::11]:
        for moment in (now_ns, now_ns + 1):
            reached = state_at(tmp_path, Until(now_ns=moment))
            assert reached.inputs == history.after(moment) >= number
    last = max(history.times)
    assert state_at(tmp_path, Until(now_ns=2**62)).inputs == last
    assert state_at(tmp_path, Until()).inputs == last


@pytest.mark.remuda_rule("EXT-49")
def test_a_missing_state_costs_time_and_no_moment(tmp_path: Path) -> None:
    files = journal_of(tmp_path)
    history = History(files)
    for file in files[1:]:
        assert file.state is not None
        file.state.unlink()
    number = files[3].first + 3
    assert seen(state_at(tmp_path, Until(number)).scheduler) == history.states[number]
    files[0].inputs.unlink()
    with pytest.raises(UsageError, match="its first state is missing"):
        state_at(tmp_path, Until(number))


@pytest.mark.remuda_rule("EXT-49")
def test_what_is_no_moment_of_the_journal_is_told(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    last = max(History(journal_of(tmp_path)).times)
    with pytest.raises(UsageError, match=f"has inputs up to {last} only"):
        state_at(tmp_path, Until(last + 1))
    with pytest.raises(UsageError, match="the journal begins later, with input 1"):
        state_at(tmp_path, Until(now_ns=1))
    with pytest.raises(UsageError, match="no segment in it"):
        state_at(empty, Until())


@pytest.mark.remuda_rule("EXT-49")
def test_a_moment_between_two_processes_is_the_end_of_the_first(tmp_path: Path) -> None:
    journal_of(tmp_path, 20)
    end = History(listed(tmp_path)).answers
    last = max(end)
    loop = started(tmp_path)
    work(loop, 0, 20)
    loop.stop()
    assert placed(state_at(tmp_path, Until(last)).scheduler) == end[last] != (0, 0)
    assert placed(state_at(tmp_path, Until(last + 1)).scheduler) == (0, 0)


@pytest.mark.remuda_rule("EXT-100")
def test_a_change_of_an_answer_is_found_at_its_input(tmp_path: Path) -> None:
    files = journal_of(tmp_path)
    history = History(files)
    first, last = min(history.answers), max(history.answers)
    for since in (None, first + 9, files[2].first - 1, files[2].first):
        for until in (None, last - 5, files[3].first, files[3].first - 1):
            change, answer = first_change(tmp_path, running, Until(since or first), Until(until))
            assert answer == history.answers[since or first]
            assert change is not None
            assert (since or first) < change.number <= (until or last)
            assert change.now_ns == history.times[change.number]
            after = history.answers[change.number]
            assert history.answers[change.number - 1] == answer == change.before
            assert change.after == after != answer


@pytest.mark.remuda_rule("EXT-100")
def test_a_question_with_one_change_has_that_input(tmp_path: Path) -> None:
    history = History(journal_of(tmp_path))
    for due in list(history.times.values())[1::13]:
        change, _ = first_change(tmp_path, partial(_is_late, due), Until(1), Until())
        assert change is not None
        assert change.number == min(n for n, time in history.times.items() if time >= due)
        assert (change.before, change.after) == (False, True)


def _is_late(due: int, then: Reached) -> bool:
    return then.now_ns >= due


@pytest.mark.remuda_rule("EXT-100")
def test_the_same_answer_at_both_ends_is_no_change(tmp_path: Path) -> None:
    journal_of(tmp_path, 20)
    assert first_change(tmp_path, lambda *_: "same", Until(1), Until()) == (None, "same")


@pytest.mark.remuda_rule("EXT-100")
def test_both_ends_of_a_search_have_to_be_in_the_journal(tmp_path: Path) -> None:
    files = journal_of(tmp_path, 20)
    last = max(History(files).times)
    for since, until in ((Until(last + 1), Until()), (None, Until(last + 1))):
        with pytest.raises(UsageError, match=f"has inputs up to {last} only"):
            first_change(tmp_path, lambda then: then.inputs, since, until)
    with pytest.raises(UsageError, match="the journal begins later, with input 1"):
        first_change(tmp_path, lambda then: then.inputs, Until(now_ns=1), Until())
    for file in files[1:]:
        file.inputs.unlink()
    files[0].inputs.write_bytes(files[0].inputs.read_bytes().partition(b"\n")[0])
    with pytest.raises(UsageError, match="the journal begins later"):
        first_change(tmp_path, lambda then: then.inputs, None, Until())


@pytest.mark.remuda_rule("EXT-49")
def test_a_file_that_is_no_journal_is_told(tmp_path: Path) -> None:
    (file,) = journal_of(tmp_path, 1)
    file.inputs.write_bytes(b"[" * 5_000 + b"\n")
    with pytest.raises(UsageError, match="jsonl:1: not a recording of remuda"):
        state_at(tmp_path, Until())
    file.inputs.unlink()
    file.inputs.mkdir()
    with pytest.raises(UsageError, match=r"cannot read .*: Is a directory"):
        state_at(tmp_path, Until())


@pytest.mark.remuda_rule("EXT-100")
def test_a_new_process_is_told_as_the_cause(tmp_path: Path) -> None:
    journal_of(tmp_path, 20)
    last = max(History(listed(tmp_path)).answers)
    started(tmp_path).stop()
    change, _ = first_change(tmp_path, lambda then: running(then) != (0, 0), Until(last), Until())
    assert change is not None
    assert (change.number, change.restart, change.before) == (last + 1, True, True)
    assert change.what == "RegisterResourceManager"


@pytest.mark.remuda_rule("EXT-100")
def test_a_question_that_is_no_function_of_the_state_is_refused(tmp_path: Path) -> None:
    journal_of(tmp_path, 20)
    answers = iter([0, 1] + [0] * 1_000)
    with pytest.raises(RemudaError, match="different answers about the same state"):
        first_change(tmp_path, lambda *_: next(answers), Until(1), Until(3))
