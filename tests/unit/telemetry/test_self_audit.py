"""What the self-audit tells: the log, an event, metrics, and the health of the scheduler."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future

import pytest

from remuda.config.process_limits import Limits
from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import events
from remuda.core.messages.effects import EventRecord
from remuda.core.messages.queries import Query, View
from remuda.core.messages.self_audit import LIMITS, PARTS, SelfAuditQuery
from remuda.core.model.queues.queue import Queue
from remuda.core.ports import Predicates, PreemptionPredicates
from remuda.core.scheduler import Scheduler
from remuda.runtime.errors import LoopStoppedError
from remuda.runtime.loop import SchedulerLoop
from remuda.telemetry.events.pipeline import EventSystem
from remuda.telemetry.health.checker import HealthChecker
from remuda.telemetry.metrics.families import Families
from remuda.telemetry.self_audit import ROUND_SECONDS, SelfAudit
from tests.unit.core.door import Caller, leaf, partition
from tests.unit.telemetry.health.test_stress import Churn
from tests.unit.telemetry.health.ward import Direct, Ward
from tests.waiting import wait

NAME = "yunikorn_scheduler_self_audit_"


class Heard(Direct):
    """Answers at once, and keeps the records that it is told; ``broken``: a part that fails."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self.records: list[EventRecord] = []
        self.broken = ""

    @property
    def tell(self) -> Callable[[EventRecord], object]:
        return self.records.append

    def query(self, query: Query) -> Future[View]:
        if isinstance(query, SelfAuditQuery) and query.part == self.broken:
            future: Future[View] = Future()
            future.set_exception(KeyError("n7"))
            return future
        return super().query(query)


class Audited(Ward):
    """A scheduler with an audit; ``renewed``: how often the audit said that something changed."""

    def __init__(self) -> None:
        caller = Caller(leaf("a"), leaf("b"))
        caller.node("n1", {"vcore": 10})
        caller.app("app")
        caller.ask("app", "k", {"vcore": 3})
        caller.step()
        self.renewed = 0
        self.heard = Heard(caller.scheduler)
        self.seconds = 1_000.0
        self.audit = SelfAudit(
            self.heard, self._renew, now_ns=lambda: caller.now, clock=lambda: self.seconds
        )
        super().__init__(caller, [self.audit.findings])

    def _renew(self) -> None:
        self.renewed += 1
        self.checker.renew()

    def break_queue(self) -> None:
        """One core too much."""
        self.queue().allocated.amounts[0] += 1

    def mend_queue(self) -> None:
        """Take it back."""
        self.queue().allocated.amounts[0] -= 1

    def queue(self) -> Queue:
        """The state of the leaf with the application."""
        found = self.partition().queue("root.a")
        assert found is not None
        return found

    def entries(self) -> list[str]:
        """What the latest result says of the audit."""
        latest = self.checker.latest
        assert latest is not None
        return [each.diagnosis for each in latest.findings if each.name == "Self-audit"]

    def metrics(self) -> dict[str, float]:
        families = Families("yunikorn")
        self.audit.add(families)
        found = {}
        for metric in families.all():
            for each in metric.samples:
                name = each.name.removeprefix(NAME)
                found[" ".join([name, *dict(each.labels).values()])] = each.value
        return found


LEAF = "partition=[rm]default, queue=root.a: allocated: vcore is 4, not 3"
ROOT = "partition=[rm]default, queue=root: allocated: vcore is 3, not 4"


@pytest.mark.remuda_rule("HLT-22", "HLT-20")
def test_health_is_false_from_the_round_that_finds_something_to_the_one_that_does_not() -> None:
    found = Audited()
    found.run()
    found.audit.round()
    assert (found.entries(), found.renewed) == ([], 0)
    found.break_queue()
    found.audit.round()
    assert found.entries() == [f"[{LEAF} {ROOT}]"]
    assert found.checker.latest is not None
    assert not found.checker.latest.healthy
    found.mend_queue()
    found.audit.round()
    assert found.entries() == []
    assert found.checker.latest.healthy


@pytest.mark.remuda_rule("HLT-22", "EVT-12")
def test_a_violation_is_an_event_once() -> None:
    found = Audited()
    found.break_queue()
    found.audit.round()
    found.break_queue()  # the amount changes, the violation is the same
    found.audit.round()
    root, leaf_record = found.heard.records
    assert (root.object_id, leaf_record.object_id) == ("root", "root.a")
    assert leaf_record == EventRecord(
        "rm",
        "default",
        events.QUEUE,
        "root.a",
        "",
        events.NONE,
        events.DETAILS_NONE,
        found.caller.now,
        {},
        "Self-audit: allocated: vcore is 4, not 3",
        "root.a",
    )
    assert "vcore is 5, not 3 partition" in found.audit.findings()[0].diagnosis


@pytest.mark.remuda_rule("HLT-22", "EVT-12", "EVT-101")
def test_without_event_tracking_there_is_no_record() -> None:
    found = Audited()

    def configure(extra: Mapping[str, str] | None) -> None:
        found.audit("rm", Configuration((partition(),)), extra)

    configure({"event.trackingEnabled": "false"})
    configure(None)
    found.break_queue()
    found.audit.round()
    assert found.heard.records == []
    assert found.metrics()["violations_total queue"] == 2


@pytest.mark.remuda_rule("MET-53")
def test_metrics_count_violations_and_rounds() -> None:
    found = Audited()
    found.seconds += 7
    objects = {f"violations_total {each}": 0 for each in ("node", "application", "queue", "limit")}
    assert found.metrics() == {**objects, "violations": 0, "rounds_total": 0, "age_seconds": 7}
    found.break_queue()
    found.node("n1").available.amounts[0] += 1
    found.audit.round()
    found.seconds += 5
    counted = {**objects, "violations_total queue": 2, "violations_total node": 1}
    assert found.metrics() == {**counted, "violations": 3, "rounds_total": 1, "age_seconds": 5}
    found.mend_queue()
    found.audit.round()
    assert found.metrics() == {**counted, "violations": 1, "rounds_total": 2, "age_seconds": 0}
    found.break_queue()
    found.audit.round()
    assert found.metrics()["violations_total queue"] == 4


@pytest.mark.remuda_rule("HLT-22")
def test_a_violation_is_an_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    found = Audited()
    found.break_queue()
    with caplog.at_level(logging.DEBUG, "remuda"):
        found.audit.round()
        found.audit.round()
    told = [(each.levelname, each.getMessage()) for each in caplog.records]
    assert told == [("ERROR", f"self-audit: {ROOT}"), ("ERROR", f"self-audit: {LEAF}")]


@pytest.mark.remuda_rule("HLT-22")
def test_of_many_violations_a_hundred_are_told_and_all_are_counted() -> None:
    found = Audited()
    for number in range(130):
        found.caller.app(f"x{number}")
        found.application(f"x{number}").wanted = 1
    found.audit.round()
    assert len(found.heard.records) == 100
    assert found.metrics()["violations_total application"] == 130


@pytest.mark.remuda_rule("HLT-22")
def test_a_question_that_fails_is_a_violation_and_the_others_are_asked() -> None:
    found = Audited()
    found.heard.broken = LIMITS
    found.audit.round()
    (entry,) = found.audit.findings()
    text = "the audit of limits failed: KeyError: 'n7'"
    assert entry.diagnosis == f"[partition=[rm]default, queue=root: {text}]"
    asked = [each.part for each in found.heard.asked if isinstance(each, SelfAuditQuery)]
    assert list(dict.fromkeys(asked)) == [each for each in PARTS if each != LIMITS]


@pytest.mark.remuda_rule("HLT-21")
def test_a_partition_that_goes_is_left_out() -> None:
    found = Audited()
    query = SelfAuditQuery("gone", "rm", PARTS[0])
    assert found.caller.scheduler.view(query) is None
    found.break_queue()
    found.audit.round()
    found.caller.send(c.UnregisterResourceManager("rm"))
    found.audit.round()
    assert found.audit.findings() == ()


@pytest.mark.remuda_rule("HLT-21")
def test_a_stopped_audit_asks_nothing_more() -> None:
    found = Audited()
    found.audit.stop()
    with pytest.raises(LoopStoppedError):
        found.audit.round()


@pytest.mark.remuda_rule("HLT-21", "HLT-22", "EVT-94")
def test_a_running_scheduler_is_audited_without_false_alarms_and_tells_a_fault() -> None:
    assert ROUND_SECONDS < 30
    made: list[Scheduler] = []

    def make(
        predicates: Predicates,
        *,
        preemption: PreemptionPredicates,
        reservation_delay_ns: int | None,
        limits: Limits,
    ) -> Scheduler:
        made.append(
            Scheduler(
                predicates,
                preemption=preemption,
                reservation_delay_ns=reservation_delay_ns,
                limits=limits,
            )
        )
        return made[0]

    core = SchedulerLoop(make)
    pipeline = EventSystem(core)
    audit = SelfAudit(core)
    checker = HealthChecker(core, [audit.findings])
    churn = Churn(core)
    core.start()
    command = c.RegisterResourceManager("rm", Configuration((partition(leaf("a")),)))
    core.register(command, churn.receive).result(60)
    churn.begin()
    before = churn.placed
    for _ in range(3):
        audit.round()
    assert audit.findings() == ()
    assert churn.placed > before
    churn.over = True
    core.check().result(30)
    (state,) = made[0]._cluster.partitions()
    state.root.running += 1
    audit.round()
    assert not checker.run().healthy

    def told() -> bool:
        pipeline.flush()
        records = pipeline.in_memory()
        return any(each.message.startswith("Self-audit: running") for each in records)

    wait(told)
    pipeline.close()
    core.stop()
