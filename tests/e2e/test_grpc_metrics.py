"""The service for measurements, over a real connection; what it measures is made up here."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest

from remuda.client import Client
from remuda.core.messages.effects import EventRecord
from remuda.core.messages.events import APP, NODE
from remuda.edges.grpc.measurements import (
    Check,
    EventStream,
    Health,
    Measurements,
    NumberedEvent,
    Sample,
)
from remuda.edges.grpc.refusals import RefusalError
from remuda.edges.grpc.security import read_security
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import MetricsStub
from tests.e2e.grpc_service import SECONDS, Service
from tests.e2e.test_grpc_security import ADMIN_TOKEN, BY_TOKEN, TOKEN, token
from tests.waiting import wait

Kind = ext.UsageRequest.Kind
Status = grpc.StatusCode


class Numbers:
    """Samples that a test sets."""

    def __init__(self) -> None:
        self.now = [Sample("remuda_queue", 1.0, {"queue": "root.a"}), Sample("remuda_total", 2.0)]

    def samples(self) -> Iterable[Sample]:
        return list(self.now)


class Checks:
    """A result that a test sets."""

    def __init__(self) -> None:
        self.last: Health | None = None

    def health(self) -> Health | None:
        return self.last


class Tape:
    """Events that are there already, then the end of the stream; ``opened``: who asked for what."""

    def __init__(self, events: Sequence[NumberedEvent] = (), refusal: str = "") -> None:
        self._events = list(events)
        self._refusal = refusal
        self.opened: list[tuple[str, int]] = []
        self.closed = 0

    def open(self, host: str, history: int) -> EventStream:
        if self._refusal:
            raise RefusalError(Status.RESOURCE_EXHAUSTED, self._refusal)
        self.opened.append((host, history))
        return _Reading(self, self._events)


class _Reading:
    def __init__(self, tape: Tape, events: list[NumberedEvent]) -> None:
        self._tape = tape
        self._left: list[list[NumberedEvent]] = [events[:2], events[2:]]

    async def read(self) -> Sequence[NumberedEvent] | None:
        await asyncio.sleep(0)
        return self._left.pop(0) if self._left else None

    def close(self) -> None:
        self._tape.closed += 1


def event(number: int, kind: int, object_id: str, rm_id: str = "rm") -> NumberedEvent:
    return number, EventRecord(rm_id, "default", kind, object_id, "", 2, 0, 1_000 + number)


@pytest.fixture
def numbers() -> Numbers:
    return Numbers()


@pytest.fixture
def checks() -> Checks:
    return Checks()


@pytest.fixture
def tape() -> Tape:
    return Tape([event(7, NODE, "n1"), event(8, APP, "job"), event(9, NODE, "n1", "second")])


@pytest.fixture
def service(numbers: Numbers, checks: Checks, tape: Tape) -> Iterator[Service]:
    with Service(measurements=Measurements(numbers, checks, tape)) as running:
        yield running


@pytest.fixture
def metrics(service: Service) -> MetricsStub:
    return MetricsStub(service.channel)


def refusal(call: Callable[[], object]) -> tuple[grpc.StatusCode, str]:
    """How a call is refused."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value.code(), str(caught.value.details())


# ---------------------------------------------------------------------------------- samples


@pytest.mark.remuda_rule("EXT-25")
def test_samples_are_chosen_by_prefix_and_label(metrics: MetricsStub) -> None:
    def names(**chosen: object) -> list[str]:
        found = metrics.GetSamples(ext.SampleFilter(**chosen), timeout=SECONDS)  # type: ignore[arg-type]
        assert 0 < time.time_ns() - found.taken_unix_nano < SECONDS * 1e9
        return [each.name for each in found.samples]

    assert names() == ["remuda_queue", "remuda_total"]
    assert names(name_prefixes=["remuda_q", "other"]) == ["remuda_queue"]
    assert names(labels={"queue": "root.a"}) == ["remuda_queue"]
    assert names(labels={"queue": "root.b"}) == []


@pytest.mark.remuda_rule("EXT-25")
def test_a_filter_has_bounds(metrics: MetricsStub) -> None:
    many = ext.SampleFilter(name_prefixes=["a"] * 101)
    code, text = refusal(lambda: metrics.GetSamples(many, timeout=SECONDS))
    assert (code, "more than 100" in text) == (Status.INVALID_ARGUMENT, True)
    huge = ext.WatchEventsRequest(types=[si.EventRecord.NODE] * 100_000)
    code, text = refusal(lambda: list(metrics.WatchEvents(huge, timeout=SECONDS)))
    assert (code, "at most 16384" in text) == (Status.RESOURCE_EXHAUSTED, True)


def test_samples_that_no_client_would_take_are_refused(
    metrics: MetricsStub, numbers: Numbers
) -> None:
    numbers.now = [Sample("x", 1.0, {"queue": "q" * 1_000}) for _ in range(4_000)]
    code, text = refusal(lambda: metrics.GetSamples(ext.SampleFilter(), timeout=SECONDS))
    assert (code, "ask for fewer" in text) == (Status.RESOURCE_EXHAUSTED, True)


def test_a_scheduler_that_does_not_answer_is_told(
    metrics: MetricsStub, numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late() -> Iterable[Sample]:
        raise TimeoutError

    monkeypatch.setattr(numbers, "samples", late)
    code, text = refusal(lambda: metrics.GetSamples(ext.SampleFilter(), timeout=SECONDS))
    assert (code, "ask again later" in text) == (Status.UNAVAILABLE, True)


@pytest.mark.remuda_rule("EXT-25")
def test_a_client_gets_at_most_one_message_per_second(metrics: MetricsStub) -> None:
    request = ext.WatchSamplesRequest()
    began = time.monotonic()
    watches = [metrics.WatchSamples(request, timeout=SECONDS) for _ in range(2)]
    for each in watches:
        assert len(next(iter(each)).samples) == 2
    assert time.monotonic() - began >= 1.0
    for each in watches:
        each.cancel()


@pytest.mark.remuda_rule("EXT-25")
def test_an_interval_below_a_second_is_refused(metrics: MetricsStub) -> None:
    request = ext.WatchSamplesRequest(interval_millis=999)
    code, text = refusal(lambda: list(metrics.WatchSamples(request, timeout=SECONDS)))
    assert (code, "at least 1000" in text) == (Status.INVALID_ARGUMENT, True)


@pytest.mark.remuda_rule("EXT-25")
def test_only_changes_are_told_and_the_end_of_a_series(
    metrics: MetricsStub, numbers: Numbers
) -> None:
    request = ext.WatchSamplesRequest(changes_only=True)
    watch = metrics.WatchSamples(request, timeout=SECONDS)
    assert [each.value for each in next(iter(watch)).samples] == [1.0, 2.0]
    numbers.now = [Sample("remuda_total", 3.0)]
    first, second = next(iter(watch)).samples
    assert (first.name, first.value) == ("remuda_total", 3.0)
    assert (second.name, dict(second.labels)) == ("remuda_queue", {"queue": "root.a"})
    assert math.isnan(second.value)
    watch.cancel()


def test_one_host_has_a_bounded_number_of_watches(metrics: MetricsStub) -> None:
    nothing = ext.SampleFilter(name_prefixes=["nothing"])
    request = ext.WatchSamplesRequest(filter=nothing, changes_only=True)

    def code() -> grpc.StatusCode:
        """How one more watch ends: it is refused, or hears nothing for a moment."""
        return refusal(lambda: list(metrics.WatchSamples(request, timeout=0.2)))[0]

    # One after the other: those that are kept and those that only try are not to meet.
    calls: list[Any] = []
    while code() is Status.DEADLINE_EXCEEDED:
        assert len(calls) < 15
        calls.append(metrics.WatchSamples(request))
        time.sleep(0.05)
    assert len(calls) == 15
    assert code() is Status.RESOURCE_EXHAUSTED
    more = lambda: list(metrics.WatchSamples(request, timeout=SECONDS))  # noqa: E731
    assert refusal(more)[1].startswith("too many watches: at most 15 from one host")
    for each in calls:
        each.cancel()
    wait(lambda: code() is Status.DEADLINE_EXCEEDED)


# ---------------------------------------------------------------------------------- health


@pytest.mark.remuda_rule("EXT-25")
def test_health_is_the_last_result(metrics: MetricsStub, checks: Checks) -> None:
    code, text = refusal(lambda: metrics.GetHealth(ext.HealthRequest(), timeout=SECONDS))
    assert (code, text) == (Status.UNAVAILABLE, "Health check is not available")
    checks.last = Health(healthy=False, checks=(Check("Failed nodes", False, "of what", "n1"),))
    found = metrics.GetHealth(ext.HealthRequest(), timeout=SECONDS)
    assert not found.healthy
    (check,) = found.checks
    assert (check.name, check.succeeded, check.description, check.message) == (
        "Failed nodes",
        False,
        "of what",
        "n1",
    )


# ---------------------------------------------------------------------------------- events


def watch_events(
    metrics: MetricsStub, request: ext.WatchEventsRequest, who: str = ""
) -> list[ext.EventBatch]:
    """All batches until the producer ends the stream, as it does when the client is too slow."""
    call = metrics.WatchEvents(request, timeout=SECONDS, metadata=token(who) if who else None)
    found: list[ext.EventBatch] = []

    def drain() -> None:
        for batch in call:
            found.append(batch)  # noqa: PERF402 - those before the refusal count

    code, text = refusal(drain)
    assert (code, "closed by the producer" in text) == (Status.ABORTED, True)
    return found


@pytest.mark.remuda_rule("EXT-25")
def test_events_come_in_order_after_their_history(metrics: MetricsStub, tape: Tape) -> None:
    found = watch_events(metrics, ext.WatchEventsRequest(history=3))
    assert [each.objectID for batch in found for each in batch.records] == ["n1", "job", "n1"]
    assert tape.opened == [("127.0.0.1", 3)]
    assert tape.closed == 1


@pytest.mark.remuda_rule("EXT-25")
def test_events_are_chosen_by_type_and_object(metrics: MetricsStub) -> None:
    everything = watch_events(metrics, ext.WatchEventsRequest())
    assert [batch.first_id for batch in everything] == [7, 9]
    assert [len(batch.records) for batch in everything] == [2, 1]
    (nodes, _) = watch_events(metrics, ext.WatchEventsRequest(types=[si.EventRecord.NODE]))
    assert [each.objectID for each in nodes.records] == ["n1"]
    (jobs,) = watch_events(metrics, ext.WatchEventsRequest(object_id="job"))
    assert (jobs.first_id, jobs.records[0].timestampNano) == (8, 1_008)


@pytest.mark.remuda_rule("EXT-25")
def test_the_limits_of_event_streams_hold_here_too() -> None:
    tape = Tape(refusal="Too many streaming connections")
    with Service(measurements=Measurements(events=tape)) as service:
        metrics = MetricsStub(service.channel)
        request = ext.WatchEventsRequest()
        code, text = refusal(lambda: list(metrics.WatchEvents(request, timeout=SECONDS)))
        assert (code, text) == (Status.RESOURCE_EXHAUSTED, "Too many streaming connections")
        assert tape.closed == 0


# ---------------------------------------------------------------------------------- amounts


def usage(metrics: MetricsStub, kind: ext.UsageRequest.Kind.ValueType, **more: object) -> list[str]:
    """The names on all pages, which are two long."""
    names: list[str] = []
    at = ""
    while True:
        request = ext.UsageRequest(kind=kind, page_size=2, page_token=at, **more)  # type: ignore[arg-type]
        page = metrics.GetUsage(request, timeout=SECONDS)
        assert len(page.items) <= 2
        names += [each.name for each in page.items]
        at = page.next_page_token
        if not at:
            return names


@pytest.mark.remuda_rule("EXT-25")
def test_amounts_of_all_kinds_come_in_pages(service: Service, metrics: MetricsStub) -> None:
    with Client(service.address, "rm") as client:
        client.register()
        client.add_nodes({f"n{number}": {"vcore": 1_000} for number in range(5)})
        client.add_application("app", queue="root.a", user="ann", groups=["dev"])
        client.ask("app", "k", {"vcore": 400}, count=3)
        client.allocations(3)
        assert usage(metrics, Kind.NODE) == ["n0", "n1", "n2", "n3", "n4"]
        assert usage(metrics, Kind.QUEUE) == ["root", "root.a"]
        assert usage(metrics, Kind.PARTITION) == ["[rm]default"]
        assert usage(metrics, Kind.APPLICATION, partition="default") == ["app"]
        assert usage(metrics, Kind.USER, rm_id="rm") == ["ann"]
        request = ext.UsageRequest(kind=Kind.APPLICATION, name="app")
        (found,) = metrics.GetUsage(request, timeout=SECONDS).items
        assert found.allocated == si.Resource(resources={"vcore": si.Quantity(value=1_200)})
        assert found.state == "Running"


@pytest.mark.remuda_rule("EXT-25")
def test_what_is_not_there_is_not_found(service: Service, metrics: MetricsStub) -> None:
    service.register()
    for request, expected in (
        (ext.UsageRequest(kind=Kind.NODE, name="n"), "Node not found"),
        (ext.UsageRequest(kind=Kind.NODE, partition="gpu"), "Partition not found"),
        (ext.UsageRequest(kind=Kind.PARTITION, name="gpu"), "Partition not found"),
        (ext.UsageRequest(kind=Kind.GROUP, name="dev"), "Group not found"),
    ):
        code, text = refusal(lambda r=request: metrics.GetUsage(r, timeout=SECONDS))  # type: ignore[misc]
        assert (code, text) == (Status.NOT_FOUND, expected)
    none = ext.UsageRequest(kind=99)  # type: ignore[arg-type]
    code, text = refusal(lambda: metrics.GetUsage(none, timeout=SECONDS))
    assert (code, "kind 99 is none" in text) == (Status.INVALID_ARGUMENT, True)


def test_a_service_without_measurements_says_so() -> None:
    with Service() as service:
        metrics = MetricsStub(service.channel)
        for call in (
            lambda: metrics.GetSamples(ext.SampleFilter(), timeout=SECONDS),
            lambda: metrics.GetHealth(ext.HealthRequest(), timeout=SECONDS),
            lambda: list(metrics.WatchEvents(ext.WatchEventsRequest(), timeout=SECONDS)),
        ):
            assert refusal(call)[0] is Status.UNIMPLEMENTED


# ---------------------------------------------------------------------------------- access


@pytest.mark.remuda_rule("EXT-23", "EXT-25")
def test_everybody_sees_what_is_theirs(tmp_path: Path, tape: Tape, numbers: Numbers) -> None:
    path = tmp_path / "access.toml"
    path.write_text(BY_TOKEN.replace('["rm", "second"]', '["rm"]'))
    measured = Measurements(samples=numbers, events=tape)
    with Service(security=read_security(None, path), measurements=measured) as service:
        metrics = MetricsStub(service.channel)
        code, _ = refusal(lambda: metrics.GetSamples(ext.SampleFilter(), timeout=SECONDS))
        assert code is Status.UNAUTHENTICATED
        for who, numbers_seen in ((TOKEN, [7, 8]), (ADMIN_TOKEN, [7, 8, 9])):
            metrics.GetSamples(ext.SampleFilter(), timeout=SECONDS, metadata=token(who))
            batches = watch_events(metrics, ext.WatchEventsRequest(), who)
            assert [b.first_id + i for b in batches for i in range(len(b.records))] == numbers_seen
        other = ext.UsageRequest(kind=Kind.QUEUE, rm_id="second")
        asked = [
            refusal(lambda who=who: metrics.GetUsage(other, SECONDS, token(who)))  # type: ignore[misc]
            for who in (TOKEN, ADMIN_TOKEN)
        ]
        assert asked[0][0] is Status.PERMISSION_DENIED
        assert asked[1] == (Status.NOT_FOUND, "Partition not found")
