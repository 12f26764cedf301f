"""What the process does about faults of the core that end the registration of one RM (SI-15)."""

from __future__ import annotations

import json
import logging
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from remuda.base.errors import UsageError
from remuda.config.process_limits import DEFAULT_LIMITS
from remuda.config.schema import built_in
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect
from remuda.core.messages.queries import Query, View
from remuda.core.ports import Predicates, always_true, first_will_do
from remuda.core.scheduler import Scheduler
from remuda.runtime.fault_points import VARIABLE, FaultPoints, InjectedFault, scheduler_factory
from remuda.runtime.fault_reports import KEPT, FaultReports
from remuda.runtime.faults import REASON, Fault, Faults
from remuda.runtime.journal import JournalWriter
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.ports import Door
from remuda.runtime.replay import replay
from remuda.runtime.roster import RmState
from tests.unit.runtime.fakes import FakeScheduler, Sink
from tests.waiting import wait

pytestmark = pytest.mark.remuda_rule("SI-15")

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
ONE = {"vcore": 1}


class _Choking:
    """The core, with a fault: a request with an ask of the key ``poison`` makes it fail."""

    def __init__(self, predicates: Predicates, **settings: Any) -> None:
        self._core = Scheduler(predicates, **settings)
        self._choke = False
        self._core.set_fault_point(self._point)
        self.contain_faults = self._core.contain_faults
        self.step = self._core.step
        self.next_deadline = self._core.next_deadline
        self.has_work = self._core.has_work
        self.view = self._core.view
        self.check = self._core.check

    def handle(self, command: c.Command, now_ns: int) -> list[Effect]:
        asks = command.asks if isinstance(command, c.UpdateAllocations) else ()
        self._choke = any(ask.allocation_key == "poison" for ask in asks)
        try:
            return self._core.handle(command, now_ns)
        finally:
            self._choke = False

    def _point(self) -> None:
        if self._choke:
            raise ZeroDivisionError("division by zero\nsecond line")


class Running:
    """A loop around a core that chokes on a poisoned ask, with one RM."""

    def __init__(self, reports: list[Fault], recorder: JournalWriter | None = None) -> None:
        def report(fault: Fault, scheduler: Door) -> str:
            reports.append(fault)
            return f"/reports/{len(reports)}"

        self.loop = SchedulerLoop(_Choking, contain=report, recorder=recorder)
        self.loop.start()
        self.ended: list[str] = []
        self.sink = Sink()

    def register(self, rm_id: str = "rm") -> e.RegistrationAnswered:
        command = c.RegisterResourceManager(rm_id, built_in())
        answer = self.loop.register(
            command, self.sink, ended=lambda: self.ended.append(rm_id)
        ).result(60)
        if not answer.reason:
            node = c.NodeUpdate("n1", c.CREATE, {"vcore": 100_000})
            self.loop.submit(c.UpdateNodes(rm_id, (node,)))
            new = c.NewApplication("app", user="ann", groups=("g",), tags={"namespace": "q"})
            self.loop.submit(c.UpdateApplications(rm_id, (new,)))
        return answer

    def ask(self, *keys: str, rm_id: str = "rm") -> None:
        asks = tuple([c.Ask("app", key, ONE) for key in keys])
        self.loop.submit(c.UpdateAllocations(rm_id, asks=asks))
        self.loop.idle().result(60)

    def placed(self) -> list[str]:
        found = [each for each in self.sink.effects if isinstance(each, e.AllocationNew)]
        return sorted([new.ask.allocation_key for new in found])


@pytest.fixture
def reports() -> list[Fault]:
    return []


@pytest.fixture
def running(reports: list[Fault]) -> Running:
    return Running(reports)


def test_a_fault_ends_one_registration_and_the_loop_goes_on(
    running: Running, reports: list[Fault], caplog: pytest.LogCaptureFixture
) -> None:
    running.register()
    running.register("other")
    running.ask("k1", rm_id="other")
    with caplog.at_level(logging.CRITICAL, logger="remuda.runtime"):
        running.ask("k1", "poison", "k2")
    assert running.ended == ["rm"]
    assert not running.loop.registered("rm")
    assert running.loop.registered("other")
    status = running.loop.roster.find("rm")
    assert status is not None
    assert status.state is RmState.STOPPED
    assert status.cause == "the scheduler failed in work for it: ZeroDivisionError"
    (fault,) = reports
    assert (fault.rm_id, fault.kind, fault.text) == ("rm", "ZeroDivisionError", "division by zero")
    assert isinstance(fault.command, c.UpdateAllocations)
    assert "in _point" in fault.trace
    first, trace, place = [record.getMessage() for record in caplog.records]
    assert "ends the registration of resource manager 'rm'" in first
    assert trace.startswith("Traceback")
    assert place == "the report about this fault is in /reports/1"
    running.ask("k2", rm_id="other")
    running.loop.check().result(60)
    assert not running.loop.failed
    running.loop.stop()


def test_what_fails_again_alone_is_kept_out_and_the_rest_is_placed(running: Running) -> None:
    running.register()
    running.ask("k1", "poison", "k2")
    running.register()
    running.ask("k1", "poison", "k2")  # the suspects one by one: it fails again
    assert running.ended == ["rm", "rm"]
    running.register()
    running.ask("k1", "poison", "k2")
    assert running.ended == ["rm", "rm"]
    assert running.placed() == ["k1", "k2"]
    rejected = [each for each in running.sink.effects if isinstance(each, e.AsksRejected)]
    (rejection,) = rejected[-1].rejected
    assert (rejection.subject, rejection.application_id) == ("poison", "app")
    assert rejection.reason == REASON
    faults = running.loop.faults
    assert faults is not None
    assert faults.view().count == 2
    assert faults.view().kept_out == (("ask", "default", "app", "poison"),)
    assert faults.view().latest == "ZeroDivisionError: division by zero (report: /reports/2)"
    running.loop.stop()


def test_what_was_handled_without_a_fault_is_no_suspect_any_more(running: Running) -> None:
    running.register()
    running.ask("k1", "poison", "k2")
    running.register()
    running.ask("k1")
    faults = running.loop.faults
    assert faults is not None
    asks = tuple([c.Ask("app", key, ONE) for key in ("k1", "k2")])
    first, second = faults.parts(c.UpdateAllocations("rm", asks=asks))
    assert isinstance(first, c.UpdateAllocations)
    assert isinstance(second, c.UpdateAllocations)
    assert [ask.allocation_key for ask in first.asks] == ["k1"]
    running.ask("k2")
    assert faults.parts(c.UpdateAllocations("rm", asks=asks)) == [
        c.UpdateAllocations("rm", asks=asks)
    ]
    running.loop.stop()


def test_a_recording_of_it_is_replayed_with_the_same_effects(tmp_path: Path) -> None:
    path = tmp_path / "run.journal"
    running = Running([], JournalWriter(path))
    running.register()
    running.ask("k1", "poison", "k2")
    running.register()
    running.ask("k1", "poison", "k2")
    running.loop.stop()
    result = replay(path, _Choking)
    assert result.same
    assert result.inputs > 8
    assert "effects differ" in replay(path).difference  # the core without that fault


def test_without_containment_a_fault_ends_the_loop() -> None:
    loop = SchedulerLoop(FakeScheduler)
    loop.start()
    loop.register(c.RegisterResourceManager("rm", built_in())).result(60)
    loop.submit(c.UpdateApplications("rm", (c.NewApplication("fault"),)))
    wait(lambda: loop.failed)
    assert loop.faults is None
    loop.stop()


def test_a_report_that_cannot_be_written_costs_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full(fault: Fault, scheduler: Door) -> str:
        raise OSError(28, "No space left on device")

    faults = Faults(lambda: START, full)
    faults.note(Scheduler(), "rm", ValueError("why"))
    assert faults.view().count == 1
    assert "no report about this fault could be written" in caplog.records[-1].getMessage()


class Clock:
    """A wall clock that tests move."""

    def __init__(self) -> None:
        self.now_ns = START

    def __call__(self) -> int:
        return self.now_ns


def test_an_rm_that_fails_again_and_again_waits_longer_and_longer() -> None:
    clock = Clock()
    faults = Faults(clock)
    waits = []
    for _ in range(12):
        faults.note(Scheduler(), "rm", ValueError("why"))
        begun = clock.now_ns
        while faults.refusal("rm"):
            clock.now_ns += SECOND
        waits.append((clock.now_ns - begun) // SECOND)
    assert waits[:8] == [0, 0, 1, 2, 4, 8, 16, 32]
    assert max(waits) == 60
    faults.note(Scheduler(), "rm", ValueError("why"))
    assert "failed 8 times in the last minutes in work for 'rm'; register again in 32 s" in (
        faults.refusal("rm")
    )
    assert faults.refusal("other") == ""
    clock.now_ns -= 3600 * SECOND  # a wall clock that was set back holds nobody for an hour
    assert faults.refusal("rm") == ""


def test_a_registration_too_early_is_refused_with_the_time(running: Running) -> None:
    for _ in range(3):
        assert running.register().reason == ""
        running.loop.barrier("rm").result(60)
        assert running.loop.faults is not None
        running.loop.faults.note(Scheduler(), "rm", ValueError("why"))
    answer = running.register()
    assert answer.rule == "SI-15"
    assert "register again in" in answer.reason
    assert not running.loop.registered("rm")
    running.loop.stop()


def test_the_oldest_suspects_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remuda.runtime.faults._SUSPECTS_LIMIT", 3)
    faults = Faults(lambda: START)
    asks = tuple([c.Ask("app", f"k{number}", ONE) for number in range(5)])
    faults.command = c.UpdateAllocations("rm", asks=asks)
    faults.note(Scheduler(), "rm", ValueError("why"))
    parts = faults.parts(faults.command)
    assert [len(part.asks) for part in parts if isinstance(part, c.UpdateAllocations)] == [
        2,
        1,
        1,
        1,
    ]


def test_a_fault_of_one_rm_casts_no_suspicion_on_what_another_sends() -> None:
    faults = Faults(lambda: START)
    node = c.NodeUpdate("n1", c.CREATE, ONE)
    faults.command = c.UpdateNodes("rm", (node,))
    for _ in range(2):
        faults.note(Scheduler(), "other", ValueError("why"))
    request = c.UpdateNodes("other", (node,))
    assert faults.parts(request) == [request]
    assert faults.view().kept_out == ()


def test_a_request_that_came_too_late_clears_no_suspicion(running: Running) -> None:
    running.register()
    running.ask("k1", "poison")
    # What was under way to the registration that ended is refused as a whole.
    running.loop.submit(c.UpdateAllocations("rm", asks=(c.Ask("app", "poison", ONE),)))
    running.loop.idle().result(60)
    running.register()
    running.ask("poison")
    faults = running.loop.faults
    assert faults is not None
    assert [name[-1] for name in faults.view().kept_out] == ["poison"]
    running.loop.stop()


def test_an_exception_that_cannot_say_why_is_noted() -> None:
    class Mute(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise RuntimeError("no")

    faults = Faults(lambda: START)
    faults.note(Scheduler(), "rm", Mute())
    assert faults.view().latest.startswith("Mute: it does not say why")


def test_many_managers_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remuda.runtime.faults._MANAGERS_LIMIT", 3)
    faults = Faults(lambda: START)
    for _ in range(4):
        faults.note(Scheduler(), "rm0", ValueError("why"))
    for number in range(1, 4):
        faults.note(Scheduler(), f"rm{number}", ValueError("why"))
    assert faults.refusal("rm0") == ""
    assert faults.view().count == 7


ELEMENTS: Sequence[tuple[c.Command, str]] = [
    (c.UpdateApplications("rm", (c.NewApplication("app"),)), "unreadable"),
    (c.UpdateApplications("rm", remove=(c.ApplicationRemoval("app"),)), ""),
    (c.UpdateNodes("rm", (c.NodeUpdate("n1", c.CREATE, ONE),)), "unreadable"),
    (c.UpdateAllocations("rm", asks=(c.Ask("app", "k", ONE),)), "unreadable"),
    (
        c.UpdateAllocations(
            "rm", allocations=(c.ExistingAllocation(c.Ask("app", "k", ONE), "id", "n1"),)
        ),
        "unreadable_existing",
    ),
    (c.UpdateAllocations("rm", ask_releases=(c.AskRelease("app", "k"),)), ""),
    (c.UpdateAllocations("rm", releases=(c.AllocationRelease("app", "id"),)), ""),
]


@pytest.mark.parametrize("command,refused_in", ELEMENTS)
def test_each_kind_of_element_is_refused_or_left_out(command: c.Command, refused_in: str) -> None:
    faults = Faults(lambda: START)
    assert isinstance(command, c.UpdateApplications | c.UpdateAllocations | c.UpdateNodes)
    faults.command = command
    faults.note(Scheduler(), "rm", ValueError("why"))
    assert faults.watches(command)
    assert faults.parts(command) == [command]  # it may have been bad luck
    faults.note(Scheduler(), "rm", ValueError("why"))
    (changed,) = faults.parts(command)
    assert changed.rm_id == "rm"
    lists = {
        name: value
        for name in ("new", "remove", "nodes", "asks", "allocations", "ask_releases", "releases")
        if (value := getattr(changed, name, ()))
    }
    assert lists == {}
    if refused_in:
        (refusal,) = getattr(changed, refused_in)
        assert refusal.reason == REASON
        assert refusal.subject in ("app", "n1", "k", "id")


def test_a_report_has_the_input_the_traceback_and_the_state(tmp_path: Path) -> None:
    scheduler = Scheduler()
    scheduler.handle(c.RegisterResourceManager("rm", built_in()), START)
    command = c.UpdateAllocations("rm", asks=(c.Ask("app", "k", ONE),))
    fault = Fault("rm", "ValueError", "why", "Traceback\n  line", command, START)
    path = Path(FaultReports(tmp_path)(fault, scheduler))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    report = json.loads(path.read_text())
    assert report["fault"] == "ValueError: why"
    assert report["traceback"] == ["Traceback", "  line"]
    assert report["commandKind"] == "UpdateAllocations"
    assert report["command"]["asks"][0]["allocation_key"] == "k"
    assert report["invariants"] == "all hold"
    (partition,) = report["partitions"]
    assert partition["name"] == "default"
    (queues,) = report["queues"]
    assert queues["path"] == "root"


def test_a_report_about_a_large_state_recomputes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remuda.runtime.fault_reports.LARGE", 0)
    scheduler = Scheduler()
    scheduler.handle(c.RegisterResourceManager("rm", built_in()), START)
    new = c.NewApplication("app", user="ann", tags={"namespace": "q"})
    scheduler.handle(c.UpdateApplications("rm", (new,)), START)
    fault = Fault("rm", "ValueError", "why", "", None, START)
    report = json.loads(Path(FaultReports(tmp_path)(fault, scheduler)).read_text())
    assert report["invariants"] == "not checked: 1 objects are too many"
    assert "queues" not in report


def test_a_report_has_no_values_of_an_extra_map_and_no_command_that_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = c.RegisterResourceManager("rm", built_in(), extra_config={"key": "SECRET"})
    fault = Fault("rm", "ValueError", "why", "", command, START)
    reports = FaultReports(tmp_path)
    text = Path(reports(fault, Scheduler())).read_text()
    assert "SECRET" not in text
    assert json.loads(text)["command"]["extra_config"] == {"key": "..."}
    monkeypatch.setattr("remuda.runtime.fault_reports.COMMAND_BYTES", 10)
    report = json.loads(Path(reports(fault, Scheduler())).read_text())
    assert report["command"].startswith("left out: ")


def test_a_report_about_a_state_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    class Broken(FakeScheduler):
        def check(self) -> None:
            raise ArithmeticError("usage is negative")

    fault = Fault("rm", "ValueError", "why", "", None, START)
    report = json.loads(Path(FaultReports(tmp_path)(fault, Broken())).read_text())
    assert report["invariants"] == "ArithmeticError: usage is negative"
    assert [partition["name"] for partition in report["partitions"]] == ["default"]
    assert report["queues"] == ["LookupError: no such view"]
    assert report["command"] is None


def test_a_report_about_a_state_without_any_view_is_written(tmp_path: Path) -> None:
    class Blind(FakeScheduler):
        def view(self, query: Query) -> View:
            raise KeyError("partition")

    fault = Fault("rm", "ValueError", "why", "", None, START)
    report = json.loads(Path(FaultReports(tmp_path)(fault, Blind())).read_text())
    assert report["partitions"] == "KeyError: 'partition'"
    assert report["invariants"] == "all hold"


def test_only_the_latest_reports_are_kept(tmp_path: Path) -> None:
    reports = FaultReports(tmp_path)
    other = tmp_path / "notes.json"
    other.touch()
    written = [
        reports(Fault("rm", "ValueError", "why", "", None, START), FakeScheduler())
        for _ in range(KEPT + 3)
    ]
    assert sorted(map(str, tmp_path.glob("fault-*"))) == written[3:]
    assert other.exists()


@pytest.mark.parametrize("text", ["7", "7:0", "a:1", "7:", ":", "7:-1", "1:2:0", "1:2:3:4", "1:²"])
def test_a_bad_order_of_faults_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match=f"{VARIABLE}: '{text}' is not SEED:COUNT"):
        scheduler_factory({VARIABLE: text})


def test_faults_are_ordered_by_seed() -> None:
    def places(seed: int, most: int = 0) -> list[int]:
        points = FaultPoints(seed, 10, most)
        found = []
        for place in range(200):
            try:
                points()
            except InjectedFault:
                found.append(place)
        return found

    assert places(1) == places(1) != places(2)
    assert 5 < len(places(1)) < 50
    assert places(1, 3) == places(1)[:3]


def test_without_an_order_the_core_is_the_usual_one() -> None:
    assert scheduler_factory({}) is Scheduler


def test_an_ordered_fault_is_raised_in_the_core() -> None:
    made = scheduler_factory({VARIABLE: "1:1"})(
        always_true,
        preemption=first_will_do,
        reservation_delay_ns=None,
        limits=DEFAULT_LIMITS,
    )
    with pytest.raises(InjectedFault, match="which REMUDA_FAULT_POINTS ordered"):
        made.handle(c.RegisterResourceManager("rm", built_in()), START)
