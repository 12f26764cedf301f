"""Who is evicted again and again is noticed, told, and forgotten when it is over (PRE-92)."""

from __future__ import annotations

import pytest

from remuda.core.messages import effects as e
from remuda.core.messages import events
from remuda.core.messages.effects import Effect
from remuda.core.model.preemption.evictions import REMEMBERED, EvictionCounts
from tests.unit.core.door import MINUTE, SECOND, START, of
from tests.unit.core.rules.preempting import MILLISECOND, Evictor

HOUR = 60 * MINUTE
BEGIN = START + MINUTE


class Repeat(Evictor):
    """Evicts the same thing over and over."""

    def evict_at(
        self, time_ns: int, key: str = "task", application: str = "batch"
    ) -> list[tuple[str, str, str]]:
        """Run an ask once more, evict it at that time after the begin; who was told of."""
        self.now = BEGIN + time_ns - MILLISECOND
        return told(self.evict((application, key)))

    def counts(self, time_ns: int) -> list[tuple[str, str, int]]:
        """What is evicted too often at that time, as (application, key, count)."""
        self.now = BEGIN + time_ns
        return [(each.application_id, each.allocation_key, each.count) for each in self.repeated()]


def told(effects: list[Effect]) -> list[tuple[str, str, str]]:
    """The events of applications that tell no change, as (application, reference, message)."""
    records = [each for each in of(effects, e.EventRecord) if each.kind == events.APP]
    found = [each for each in records if (each.change, each.detail) == (events.NONE, 0)]
    assert not [each for each in found if each.resource]
    return [(each.object_id, each.reference_id, each.message) for each in found]


def text(times: int) -> str:
    return f"evicted {times} times within an hour by preemption"


@pytest.mark.remuda_rule("PRE-92")
def test_an_ask_that_is_evicted_three_times_within_an_hour_is_told_of() -> None:
    crowd = Repeat()
    assert crowd.evict_at(0) == []
    assert crowd.evict_at(30 * MINUTE) == []
    assert crowd.repeated() == []
    assert crowd.evict_at(HOUR - 1) == [("batch", "task", text(3))]
    (found,) = crowd.repeated()
    assert (found.application_id, found.allocation_key, found.count) == ("batch", "task", 3)
    assert (found.first_ns, found.last_ns) == (BEGIN, BEGIN + HOUR - 1)


@pytest.mark.remuda_rule("PRE-92")
def test_what_happened_an_hour_ago_counts_no_more() -> None:
    crowd = Repeat()
    heard = [crowd.evict_at(time_ns) for time_ns in (0, 30 * MINUTE, HOUR)]
    assert heard == [[], [], []]
    assert crowd.repeated() == []


@pytest.mark.remuda_rule("PRE-92")
def test_it_is_a_finding_until_it_is_no_longer_so() -> None:
    crowd = Repeat()
    for number in range(4):
        crowd.evict_at(number * 10 * MINUTE)
    assert crowd.counts(HOUR - 1) == [("batch", "task", 4)]
    assert crowd.counts(HOUR) == [("batch", "task", 3)]
    assert crowd.counts(HOUR + 10 * MINUTE - 1) == [("batch", "task", 3)]
    assert crowd.counts(HOUR + 10 * MINUTE) == []


@pytest.mark.remuda_rule("PRE-92")
def test_it_is_told_once_an_hour() -> None:
    crowd = Repeat()
    heard = [(number, crowd.evict_at(number * MINUTE)) for number in range(90)]
    assert [each for each in heard if each[1]] == [
        (2, [("batch", "task", text(3))]),
        (9, [("batch", "", text(10))]),
        (62, [("batch", "task", text(60))]),
        (69, [("batch", "", text(60))]),
    ]


@pytest.mark.remuda_rule("PRE-92")
def test_an_application_that_loses_to_ten_preemptions_within_an_hour_is_told_of() -> None:
    crowd = Repeat()
    for number in range(9):
        assert crowd.evict_at(number * MINUTE, f"task-{number}") == []
    assert crowd.repeated() == []
    assert crowd.evict_at(9 * MINUTE, "another") == [("batch", "", text(10))]
    assert crowd.counts(10 * MINUTE) == [("batch", "", 10)]


@pytest.mark.remuda_rule("PRE-92")
def test_a_preemption_counts_once_however_much_it_takes() -> None:
    crowd = Repeat(size=5)
    wide = [("batch", "wide")] * 5
    heard = [told(crowd.evict(*wide)) for _ in range(3)]
    assert heard == [[], [], [("batch", "wide", text(3))]]
    assert [len(each.victims) for each in crowd.preemptions()] == [5, 5, 5]
    assert [(each.allocation_key, each.count) for each in crowd.repeated()] == [("wide", 3)]


@pytest.mark.remuda_rule("PRE-92")
def test_asks_of_one_name_in_two_applications_are_two() -> None:
    crowd = Repeat()
    heard = [
        crowd.evict_at(number * MINUTE, "task", application)
        for number, application in enumerate(("batch", "night", "batch", "night", "night"))
    ]
    assert heard == [[], [], [], [], [("night", "task", text(3))]]
    assert crowd.counts(HOUR - 1) == [("night", "task", 3)]


@pytest.mark.remuda_rule("PRE-92")
def test_asks_and_applications_are_listed_by_name_the_application_first() -> None:
    crowd = Repeat()
    for application in ("night", "batch"):
        for number in range(12):
            crowd.evict((application, f"task-{number % 4}"))
    found = [(each.application_id, each.allocation_key, each.count) for each in crowd.repeated()]
    assert found == [
        (application, key, 3 if key else 12)
        for application in ("batch", "night")
        for key in ("", "task-0", "task-1", "task-2", "task-3")
    ]


@pytest.mark.remuda_rule("PRE-92")
def test_of_very_many_those_evicted_last_are_remembered() -> None:
    assert REMEMBERED == 10_000
    counts = EvictionCounts(3)
    for number in range(2 * REMEMBERED):
        for again in range(3):
            counts.note(("app", f"{number:05}"), 3 * number + again + 1, START + number)
    found = [subject[1] for subject, _ in counts.repeated(START + 2 * REMEMBERED)]
    assert found == [f"{number:05}" for number in range(REMEMBERED, 2 * REMEMBERED)]


@pytest.mark.remuda_rule("PRE-92")
def test_what_was_not_evicted_for_an_hour_takes_no_memory() -> None:
    counts = EvictionCounts(3)
    for number in range(100):
        counts.note(("app", str(number)), number + 1, START + number * SECOND)
    assert len(counts.subjects) == 100
    counts.note(("app", "late"), 101, START + HOUR + 49 * SECOND)
    kept = [str(number) for number in range(50, 100)] + ["late"]
    assert [key for _, key in counts.subjects] == kept


@pytest.mark.remuda_rule("PRE-92")
def test_of_one_subject_the_latest_thousand_times_are_remembered() -> None:
    counts = EvictionCounts(3)
    for number in range(1_500):
        counts.note(("app", "k"), number + 1, START + number)
    ((_, times),) = counts.repeated(START + 1_500)
    assert times == [START + number for number in range(500, 1_500)]
