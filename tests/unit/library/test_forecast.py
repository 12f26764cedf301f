"""When applications that wait will start, asked through the Python API."""

from __future__ import annotations

import sys

import pytest

from remuda import Calibration, Forecast, Queue, RemudaError, RequestError, Scheduler, TaskGroup

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies take /proc")

TAG = "remuda/runTimeSeconds"


def machine(vcores: int = 1, *, live: bool = False) -> Scheduler:
    queues = [Queue("a"), Queue("b"), Queue("c", queues=[Queue("d")])]
    scheduler = Scheduler(queues, live=live)
    scheduler.add_node("n1", {"vcore": str(vcores)})
    return scheduler


def job(
    scheduler: Scheduler, name: str, seconds: str = "", *, queue: str = "a", user: str = "ada"
) -> None:
    tags = {TAG: seconds} if seconds else {}
    scheduler.submit(name, queue=f"root.{queue}", user=user, tags=tags)
    scheduler.ask(name, "task", {"vcore": "1"})


def ended(
    scheduler: Scheduler, name: str, ran: float, *, user: str = "ada", declared: str = ""
) -> None:
    """Let a job run for some seconds, and be forgotten as a live one."""
    job(scheduler, name, declared, user=user)
    scheduler.step(scheduler.now)
    (allocation,) = scheduler.allocations(name)
    scheduler.step(scheduler.now + ran)
    scheduler.release(allocation)
    scheduler.step(scheduler.now + 60)


def interval(found: Forecast) -> tuple[float | None, float | None, float | None]:
    return found.low_seconds, found.median_seconds, found.high_seconds


@pytest.mark.remuda_rule("EXT-120", "EXT-121", "EXT-122")
def test_declared_run_times_that_are_all_known_leave_one_start() -> None:
    scheduler = machine()
    job(scheduler, "first", "100")
    scheduler.step(10)
    job(scheduler, "second", "30.5")
    job(scheduler, "third", "7")
    scheduler.step(40)
    before = scheduler.pending()
    found = scheduler.forecast("third")
    # 60 s of the first are left, then the second runs for 30.5 s.
    assert interval(found) == pytest.approx((90.5, 90.5, 90.5))
    assert (found.outcome, found.queue, found.seeds) == ("expected", "root.a", 19)
    assert found.assumed == (
        "nothing more is submitted: too few applications came, or in too short a time",
    )
    assert str(found).startswith("third: starts in 1 min 30 s to 1 min 30 s, median 1 min 30 s\n")
    assert scheduler.pending() == before
    assert scheduler.now == 40


@pytest.mark.remuda_rule("EXT-120")
def test_the_tag_of_an_ask_goes_before_that_of_its_application() -> None:
    scheduler = machine()
    scheduler.submit("first", queue="root.a", tags={TAG: "100"})
    scheduler.ask("first", "task", {"vcore": "1"}, tags={TAG: "20"})
    scheduler.step(0)
    job(scheduler, "second", "1")
    scheduler.step(0)
    assert scheduler.forecast("second").median_seconds == 20


@pytest.mark.remuda_rule("EXT-120")
@pytest.mark.parametrize("text", ["", "0", "-5", "1h", "1e3", "٣", "10000000000", "1.0000000001"])
def test_a_tag_that_is_no_number_of_seconds_declares_nothing(text: str) -> None:
    scheduler = machine()
    job(scheduler, "first", text)
    job(scheduler, "second", "1")
    scheduler.step(0)
    assert scheduler.forecast("second").outcome == "unknown"


@pytest.mark.remuda_rule("EXT-120", "EXT-122")
def test_run_times_are_learned_from_jobs_of_the_same_queue_user_and_name() -> None:
    scheduler = machine()
    for number in range(5):
        ended(scheduler, f"short-{number}", 10.0 * (number + 1))
        ended(scheduler, f"long-{number}", 1_000)
    job(scheduler, "short-9")
    scheduler.step(scheduler.now + 1)
    job(scheduler, "next", "1", user="bo")
    scheduler.step(scheduler.now + 1)
    found = scheduler.forecast("next", arrivals=False)
    assert found.outcome == "expected"
    assert found.assumed == ("nothing more is submitted",)
    low, median, high = interval(found)
    assert low is not None
    assert median is not None
    assert high is not None
    # It has run for 2 s; the five ran 10 to 50 s.
    assert 8 <= low <= median <= high <= 48
    assert low < high


def declared_and_ended(scheduler: Scheduler, count: int, ran: float) -> None:
    """Let jobs end that had declared 10 s each, and ran for more and more of ``ran`` seconds."""
    for number in range(count):
        ended(scheduler, f"job-{number}", ran * (number + 1), declared="10")


def after_one_that_declared(scheduler: Scheduler, seconds: str, *, age: float = 0) -> Forecast:
    """Return the forecast of what waits for a job that has run for some seconds."""
    job(scheduler, "job-99", seconds)
    scheduler.step(scheduler.now)
    scheduler.step(scheduler.now + age)
    job(scheduler, "next", "1", user="bo")
    scheduler.step(scheduler.now)
    return scheduler.forecast("next", arrivals=False, seeds=99)


@pytest.mark.remuda_rule("EXT-120", "EXT-122")
def test_a_declared_run_time_is_corrected_by_what_earlier_ones_were_worth() -> None:
    scheduler = machine()
    declared_and_ended(scheduler, 6, 1)
    found = after_one_that_declared(scheduler, "100")
    # Six that declared 10 s ran 1 to 6 s, so 100 s are 10 to 60 s.
    assert interval(found)[::2] == (10, 60)
    assert interval(found)[1] in (20, 30, 40, 50)


@pytest.mark.remuda_rule("EXT-120")
def test_only_corrections_that_are_longer_than_it_has_run_are_possible() -> None:
    scheduler = machine()
    declared_and_ended(scheduler, 9, 1)
    found = after_one_that_declared(scheduler, "100", age=45)
    # Of 10 to 90 s the last five are left.
    assert interval(found)[::2] == (5, 45)


@pytest.mark.remuda_rule("EXT-120")
@pytest.mark.parametrize("count, age, left", [(4, 0, 100), (8, 45, 55)])
def test_with_fewer_than_five_examples_a_declared_run_time_is_taken_at_its_word(
    count: int, age: float, left: float
) -> None:
    scheduler = machine()
    declared_and_ended(scheduler, count, 1)
    found = after_one_that_declared(scheduler, "100", age=age)
    assert interval(found) == (left, left, left)


@pytest.mark.remuda_rule("EXT-120", "EXT-122")
def test_words_that_were_exact_leave_nothing_to_chance() -> None:
    scheduler = machine()
    for number in range(5):
        ended(scheduler, f"job-{number}", 10.0 * (number + 1), declared=f"{10 * (number + 1)}")
    found = after_one_that_declared(scheduler, "33.3")
    assert interval(found) == pytest.approx((33.3, 33.3, 33.3))


@pytest.mark.remuda_rule("EXT-120", "EXT-122")
def test_a_job_that_runs_longer_than_all_that_are_known_is_unknown() -> None:
    scheduler = machine()
    for number in range(5):
        ended(scheduler, f"short-{number}", 10)
    job(scheduler, "short-9")
    scheduler.step(scheduler.now)
    job(scheduler, "next", "1")
    scheduler.step(scheduler.now + 11)
    found = scheduler.forecast("next")
    assert (found.outcome, interval(found)) == ("unknown", (None, None, None))
    assert found.reason == (
        "the run time of 1 of 2 allocations that run or wait is not known;"
        " declare it with the tag remuda/runTimeSeconds"
    )


@pytest.mark.remuda_rule("EXT-122")
def test_one_unknown_run_time_in_ten_is_told_and_taken_not_to_end() -> None:
    scheduler = machine(vcores=10)
    for number in range(9):
        job(scheduler, f"known-{number}", f"{100 + number}")
    job(scheduler, "service")
    scheduler.step(0)
    job(scheduler, "next", "5")
    job(scheduler, "last", "5")
    scheduler.step(0)
    found = scheduler.forecast("next")
    assert found.median_seconds == 100
    assert found.assumed[0] == (
        "the run time of 1 allocation is not known, and taken to have no end"
    )


@pytest.mark.remuda_rule("EXT-122")
def test_a_start_beyond_the_horizon_is_later() -> None:
    scheduler = machine()
    job(scheduler, "first", "100000")
    job(scheduler, "second", "1")
    scheduler.step(0)
    found = scheduler.forecast("second", within_seconds=3_600)
    assert (found.outcome, found.horizon_seconds) == ("later", 3_600)
    assert interval(found) == (None, None, None)
    assert str(found).startswith("second: starts after the horizon of 1 h\n")


@pytest.mark.remuda_rule("EXT-122")
def test_what_runs_has_started_and_what_has_no_asks_is_unknown() -> None:
    scheduler = machine()
    job(scheduler, "first", "100")
    scheduler.submit("empty", queue="root.a")
    scheduler.step(0)
    assert scheduler.forecast("first").outcome == "started"
    found = scheduler.forecast("empty")
    assert (found.outcome, found.reason) == ("unknown", "nothing of it waits: it has no asks")


@pytest.mark.remuda_rule("EXT-121", "EXT-122")
def test_a_gang_starts_when_all_its_members_have_places() -> None:
    scheduler = machine(vcores=2)
    job(scheduler, "short", "50")
    job(scheduler, "long", "80")
    scheduler.step(0)
    group = TaskGroup("member", 2, {"vcore": "1"})
    scheduler.submit("gang", queue="root.a", task_groups=[group], tags={TAG: "40"})
    job(scheduler, "after", "1")
    scheduler.step(0)
    assert scheduler.forecast("gang").median_seconds == 80
    scheduler.step(1)
    # Its members are asked for when it has its places, and run for as long as it declares.
    assert scheduler.forecast("after").median_seconds == pytest.approx(119)


@pytest.mark.remuda_rule("EXT-122")
def test_a_queue_has_those_below_it_the_longest_waiting_first() -> None:
    scheduler = machine()
    job(scheduler, "first", "10")
    scheduler.step(0)
    for number, queue in enumerate(("c.d", "a", "b", "c.d")):
        job(scheduler, f"job-{number}", "10", queue=queue)
        scheduler.step(number + 1.0)
    assert [each.application_id for each in scheduler.forecasts("root.c")] == ["job-0", "job-3"]
    everything = scheduler.forecasts()
    assert [each.application_id for each in everything] == [f"job-{each}" for each in range(4)]
    assert sorted(each.median_seconds or 0 for each in everything) == [6, 16, 26, 36]


@pytest.mark.remuda_rule("EXT-121")
def test_later_arrivals_that_overtake_make_the_start_later() -> None:
    """Small jobs come every 100 s, and take what a large one waits for."""
    scheduler = machine(vcores=4)
    for number in range(45):
        job(scheduler, f"small-{number}", "350")
        scheduler.step(number * 100.0)
        for allocation in scheduler.allocations():
            if allocation.application_id == f"small-{number - 4}":
                scheduler.release(allocation)
    scheduler.submit("large", queue="root.a", tags={TAG: "10"})
    scheduler.ask("large", "task", {"vcore": "4"})
    scheduler.step(4450)
    quiet = scheduler.forecast("large", arrivals=False).median_seconds
    assert quiet is not None
    assert quiet <= 400
    found = scheduler.forecast("large", within_seconds=2_000, seeds=9)
    assert found.assumed == ("applications come as the last 40 did",)
    assert found.median_seconds is None or found.median_seconds > quiet
    assert found == scheduler.forecast("large", within_seconds=2_000, seeds=9)


@pytest.mark.remuda_rule("EXT-123")
def test_an_answer_tells_how_often_earlier_intervals_held() -> None:
    scheduler = machine()
    job(scheduler, "a", "100")
    scheduler.step(0)
    for name in ("b", "c"):
        job(scheduler, name, "100")
        scheduler.step(scheduler.now + 1)
    first = scheduler.forecast("b")
    assert first.calibration == Calibration(0, 0, 1)
    assert scheduler.forecast("b").calibration == Calibration(0, 0, 1)
    assert scheduler.forecast("c").calibration == Calibration(0, 0, 2)
    scheduler.step(100)
    scheduler.remove_application("a")  # b starts when it was expected
    scheduler.step(100)
    assert scheduler.forecast("c").calibration == Calibration(1, 1, 1)
    scheduler.step(150)
    scheduler.remove_application("b")  # c starts before it was expected
    scheduler.step(150)
    job(scheduler, "d", "1")
    scheduler.step(151)
    found = scheduler.forecast("d")
    assert found.calibration == Calibration(2, 1, 1)
    assert "1 of 2 earlier intervals (50 %) held the start" in str(found)
    scheduler.remove_application("d")
    assert scheduler.forecast("c").calibration == Calibration(2, 1, 0)


@pytest.mark.remuda_rule("EXT-122")
def test_a_live_scheduler_forecasts_too() -> None:
    with machine(live=True) as scheduler:
        job(scheduler, "first", "1000")
        job(scheduler, "second", "1")
        scheduler.wait()
        found = scheduler.forecast("second")
        assert found.median_seconds is not None
        assert 900 < found.median_seconds <= 1_000


@pytest.mark.remuda_rule("EXT-122")
def test_wrong_questions_are_refused() -> None:
    scheduler = machine()
    with pytest.raises(RemudaError, match="application 'nobody' is not known, or has ended"):
        scheduler.forecast("nobody")
    with pytest.raises(RequestError, match="seeds is 100; it may be 99 at most"):
        scheduler.forecast("x", seeds=100)
    with pytest.raises(RequestError, match="seeds"):
        scheduler.forecast("x", seeds=8)
    with pytest.raises(RequestError, match="within_seconds is 3e\\+06; it may be 2592000"):
        scheduler.forecast("x", within_seconds=3_000_000)
    with pytest.raises(RequestError, match="arrivals"):
        scheduler.forecasts(arrivals="no")  # type: ignore[arg-type]
    with pytest.raises(RemudaError, match=r"queue 'root\.nowhere' is not known"):
        scheduler.forecasts("root.nowhere")


@pytest.mark.remuda_rule("EXT-76", "EXT-122")
def test_a_notebook_shows_it_without_markup_of_others() -> None:
    scheduler = machine()
    job(scheduler, "first", "10")
    scheduler.step(0)
    name = "<b>\x1b[31m"
    job(scheduler, name, "1")
    scheduler.step(0)
    found = scheduler.forecast(name)
    assert "&lt;b&gt;\\x1b[31m: starts in 10 s" in found._repr_html_()
    assert "<b>\x1b" not in found._repr_html_()
