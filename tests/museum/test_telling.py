"""The museum of the reference's defects: events, metrics, health and the REST interface."""

from __future__ import annotations

import pytest

from remuda.config.settings import read_settings
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.runtime.event_store import EventFeeds
from remuda.telemetry.events.ring import Ring
from tests.unit.core.door import CREATING, START, Caller, leaf, of, refusal
from tests.unit.core.placing import FORCE, RECOVERY, place
from tests.unit.edges.rest.serving import serve
from tests.unit.telemetry.events.records import numbers, records
from tests.unit.telemetry.health.ward import CORES, ward
from tests.unit.telemetry.metrics.scraping import Q, S, Scraper

ONE = {"vcore": 1}


def wrapped() -> Ring:
    """A buffer of ten records after 122 came one by one: the newest two are at its front."""
    ring = Ring(10)
    for number in range(122):
        ring.add(records(number, 1))
    return ring


@pytest.mark.remuda_rule("EVT-97", "EVT-96")
def test_a_question_for_three_events_gets_three() -> None:
    """Up to 1.9 a buffer that went round appends the newest ones: 112, 113, 114, 120, 121.

    remuda answers with the events that were asked for.
    """
    assert numbers(wrapped().query(112, 3)) == [112, 113, 114]


@pytest.mark.remuda_rule("EVT-98")
def test_a_question_for_too_many_events_gets_all_there_are() -> None:
    """Up to 1.9 the answer is empty if the buffer went round.

    remuda answers with the events that are there.
    """
    assert numbers(wrapped().recent(11)) == list(range(112, 122))


@pytest.mark.remuda_rule("EVT-99", "EVT-96")
def test_a_buffer_that_gets_smaller_loses_the_oldest_events_only() -> None:
    """In the reference a batch could be null after such a change (YUNIKORN-1942).

    remuda keeps the newest events, with their numbers.
    """
    ring = wrapped()
    ring.resize(4)
    assert (ring.lowest, ring.highest) == (118, 121)
    assert numbers(ring.query(118, 10)) == [118, 119, 120, 121]


@pytest.mark.remuda_rule("EVT-100")
def test_a_buffer_of_size_0_gets_the_default_size() -> None:
    """1.5.1 crashes if event.ringBufferCapacity is 0.

    remuda warns and uses the default.
    """
    found, faults = read_settings({"event.ringBufferCapacity": "0"})
    assert (found.event_ring_buffer_capacity, len(faults)) == (100_000, 1)


@pytest.mark.remuda_rule("EVT-73")
def test_the_event_on_the_maximum_of_root_has_the_new_value() -> None:
    """Up to 1.9 it has the value before, which is nothing for the first node.

    remuda tells the new value, as for any other queue.
    """
    door = Caller(leaf("a"))
    found = of(door.node("n1", {"vcore": 7}), e.EventRecord)
    assert [x.resource for x in found if x.detail == ev.QUEUE_MAX] == [{"vcore": 7}]


@pytest.mark.remuda_rule("MET-17")
def test_an_application_is_counted_as_accepted_once() -> None:
    """1.5.1 counts each accepted or rejected application twice.

    remuda counts it once.
    """
    door = Caller(leaf("a"))
    scraper = Scraper(door)
    door.app("good")
    door.ask("good", "k", ONE)
    door.app("bad", "root.none")
    found = scraper.values(S + "application_submission_total", "result")
    assert (found["accepted"], found["rejected"]) == (1, 1)


@pytest.mark.remuda_rule("MET-18")
def test_the_number_of_running_applications_is_never_negative() -> None:
    """1.5.1 counts down twice when the RM removes an application, so the number becomes -1.

    In remuda, the metric is the true number at any time.
    """
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 4})
    scraper = Scraper(door)
    door.app("app")
    door.ask("app", "k", ONE)
    door.place()
    door.remove("app")
    assert scraper.values(S + "application_total")["running"] == 0


@pytest.mark.remuda_rule("MET-32", "MET-33")
def test_a_limit_that_is_gone_is_not_shown() -> None:
    """1.5.1 shows the old maximum and queues that were removed until it is restarted.

    remuda shows what is there.
    """
    door = Caller(leaf("a", {"vcore": 8}), leaf("gone", {"vcore": 8}))
    scraper = Scraper(door)
    assert refusal(door.reload(leaf("a"))) == ""
    door.wait(60 * 1_000_000_000)
    shown = scraper.values(Q + "resource", "resource", state="max")
    assert shown == {}


@pytest.mark.remuda_rule("HLT-17")
def test_one_bad_node_does_not_make_the_scheduler_unhealthy_for_ever() -> None:
    """The reference looks at a number that only grows, so it is unhealthy until a restart.

    remuda looks at what is new since the last check.
    """
    found = ward()
    found.caller.node("lost", CORES, home="nowhere")
    assert found.failed() == [2]
    assert found.failed() == []


@pytest.mark.remuda_rule("EVT-94")
def test_each_manager_hears_of_its_own_nodes() -> None:
    """1.5.1 sends the events of all resource managers to the one that registered last.

    remuda sends each one its own events.
    """
    feeds = EventFeeds()
    stores = {name: feeds.store() for name in ("first", "last")}
    for name, store in stores.items():
        feeds.open(name, store)
    feeds.offer([e.EventRecord("first", "default", ev.NODE, "n1", "", ev.ADD, 0, START)])
    heard = {name: len(store.take().records) for name, store in stores.items()}
    assert heard == {"first": 1, "last": 0}


@pytest.mark.remuda_rule("EVT-75")
def test_a_quota_that_comes_with_an_application_is_told() -> None:
    """1.5.1 sends no event when a namespace brings a maximum for its queue.

    remuda tells it like any other maximum.
    """
    door = Caller(leaf("a"), placement_rules=(CREATING,))
    quota = {"namespace.resourcequota": '{"resources":{"vcore":{"value":5}}}'}
    found = of(door.app("app", "root.ns", tags=quota), e.EventRecord)
    told = [(x.object_id, x.resource) for x in found if x.detail == ev.QUEUE_MAX]
    assert told == [("root.ns", {"vcore": 5})]


@pytest.mark.remuda_rule("REST-64")
def test_the_users_of_an_unknown_partition_are_unknown() -> None:
    """The reference ignores the name of the partition, and answers with all users.

    remuda answers 404.
    """
    client = serve(Caller(leaf("a")).scheduler)
    answers = [client.get(f"/ws/v1/partition/{name}/usage/users") for name in ("default", "other")]
    assert [answer.status_code for answer in answers] == [200, 404]


@pytest.mark.remuda_rule("REST-15")
def test_the_recovery_queue_can_be_looked_at() -> None:
    """1.5.1 answers 400, because the name of the queue is not a legal one.

    remuda shows the queue.
    """
    door = Caller(leaf("a"))
    assert place(door, "root.none", tags=FORCE) == RECOVERY
    answer = serve(door.scheduler).get(f"/ws/v1/partition/default/queue/{RECOVERY}")
    assert (answer.status_code, answer.json()["queuename"]) == (200, RECOVERY)


@pytest.mark.remuda_rule("REST-9")
def test_a_name_in_a_path_is_decoded_once() -> None:
    """From 1.6 on it is decoded twice, so a name with an escape in it cannot be asked for.

    remuda decodes it once.
    """
    answer = serve(Caller(leaf("a")).scheduler).get("/ws/v1/partition/default/queue/root.x%252Fy")
    assert "root.x%2Fy" in answer.json()["message"]
