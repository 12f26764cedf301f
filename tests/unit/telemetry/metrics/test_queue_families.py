"""The metrics of queues and users (chapter 97 section 3)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.telemetry.metrics.settings import ALL, CONTAINERS, NONE, MetricsSettings
from tests.exposition import types
from tests.unit.core.door import (
    CREATING,
    MINUTE,
    SECOND,
    Caller,
    leaf,
    parent,
    partition,
    refusal,
)
from tests.unit.telemetry.metrics.scraping import Q, Scraper, chosen, value

RESOURCE = Q + "resource"
CONTAINER = Q + "container"


def busy(*queues: str, caller: Caller, vcore: int = 1) -> None:
    """One application with one allocation in each of these queues."""
    for queue in queues:
        caller.app(f"app-{queue}", queue)
        caller.ask(f"app-{queue}", "k", {"vcore": vcore})
    caller.place()


@pytest.mark.remuda_rule("MET-22", "MET-28", "MET-29", "MET-27")
def test_applications_are_counted_in_their_leaf_by_live_state() -> None:
    caller = Caller(parent("p", leaf("a"), leaf("b")))
    caller.node("n1", {"vcore": 10})
    scraper = Scraper(caller)
    caller.app("one", "root.P.A")
    assert scraper.values(Q + "app", queue="root.p.a") == {"new": 1}
    caller.ask("one", "k", {"vcore": 1})
    assert scraper.values(Q + "app", queue="root.p.a") == {"new": 0, "accepted": 1}
    caller.place()
    caller.app("two", "root.p.b")
    found = scraper.samples()
    assert chosen(found, Q + "app", queue="root.p.a") == {"new": 0, "accepted": 0, "running": 1}
    assert chosen(found, Q + "app", queue="root.p.b") == {"new": 1}
    assert chosen(found, Q + "app", queue="root.p") == {}
    caller.release("one")
    assert scraper.values(Q + "app", queue="root.p.a")["completing"] == 1
    caller.wait(30 * SECOND)
    found = scraper.samples()
    assert chosen(found, Q + "app", queue="root.p.a") == {
        "new": 0,
        "accepted": 0,
        "running": 0,
        "completing": 0,
        "completed": 1,
    }
    assert chosen(found, Q + "app_total", queue="root.p.a") == {"completed": 1}
    assert types(scraper.text())[Q + "app_total"] == "counter"


@pytest.mark.remuda_rule("MET-36", "MET-22")
def test_an_application_that_got_into_no_queue_has_no_series() -> None:
    caller = Caller(leaf("a"))
    caller.app("app", "root.nowhere")
    found = Scraper(caller).samples()
    assert chosen(found, "yunikorn_scheduler_application_submission_total", "result") == {
        "new": 1,
        "rejected": 1,
    }
    assert chosen(found, Q + "app", "queue") == {}


@pytest.mark.remuda_rule("MET-25", "MET-28", "MET-31")
def test_resources_are_told_of_every_queue_on_the_path() -> None:
    caller = Caller(
        parent("p", leaf("a", {"vcore": 8}, {"vcore": 2}, max_applications=3), maximum={"vcore": 9})
    )
    caller.node("n1", {"vcore": 10, "memory": 5})
    busy("root.p.a", caller=caller)
    caller.ask("app-root.p.a", "waits", {"vcore": 99})
    found = Scraper(caller).samples()
    vcore = {"allocated": 1, "pending": 99}
    by_queue = {
        path: chosen(found, RESOURCE, queue=path, resource="vcore")
        for path in ("root", "root.p", "root.p.a", "a")
    }
    assert by_queue["root"].items() >= {**vcore, "max": 10}.items()
    assert by_queue["root.p"].items() >= {**vcore, "max": 9}.items()
    assert by_queue["root.p.a"].items() >= {**vcore, "max": 8, "guaranteed": 2}.items()
    assert "guaranteed" not in by_queue["root"] | by_queue["root.p"]
    assert by_queue["a"] == {}
    assert value(found, RESOURCE, queue="root", resource="memory", state="max") == 5
    apps = chosen(found, RESOURCE, "queue", resource="apps", state="maxRunningApps")
    assert apps == {"root.p.a": 3}


@pytest.mark.remuda_rule("MET-25", "MET-6", "MET-42")
def test_what_is_preempted_is_told_while_it_lasts_and_after() -> None:
    caller = Caller(
        leaf("a", guaranteed={"vcore": 5}),
        leaf("b", guaranteed={"vcore": 5}),
        preemption=True,
    )
    caller.node("n1", {"vcore": 10})
    caller.app("low", "root.a")
    caller.ask("low", "k", {"vcore": 5}, 2)
    caller.place()
    caller.app("high", "root.b")
    caller.ask("high", "k", {"vcore": 5}, allow_preempt_other=True)
    caller.step()
    caller.wait(MINUTE)
    caller.step()
    scraper = Scraper(caller)
    found = scraper.samples()
    assert value(found, RESOURCE, queue="root.a", resource="vcore", state="preempting") == 5
    assert value(found, Q + "container_preempted_total", queue="root.a") == 1
    assert value(found, Q + "container_preempted_total", queue="root.b") == 0
    assert value(found, Q + "resource_preempted_total", queue="root.a", resource="vcore") == 5
    assert value(found, Q + "reserved_resource", queue="root.b", resource="vcore") == 5
    # Told to end is released, confirmed or not; on the queue it still runs.
    assert scraper.values("yunikorn_scheduler_container_allocation_attempt_total") == {
        "allocated": 2,
        "released": 1,
        "error": 0,
    }
    assert chosen(found, CONTAINER, queue="root.a") == {"allocated": 2, "released": 0}


@pytest.mark.remuda_rule("MET-24", "MET-34", "MET-35", "MET-30")
def test_containers_of_every_origin_are_counted_until_their_end_is_confirmed() -> None:
    caller = Caller(leaf("a"))
    caller.node("n1", {"vcore": 10})
    busy("root.a", caller=caller)
    caller.existing("app-root.a", "i", "n1", {"vcore": 1})
    scraper = Scraper(caller)
    for name, labels in ((CONTAINER, {"queue": "root.a"}), ("yunikorn_root_a_queue_container", {})):
        assert scraper.values(name, **labels) == {"allocated": 2, "released": 0}
    caller.release("app-root.a", "i")
    for name, labels in ((CONTAINER, {"queue": "root.a"}), ("yunikorn_root_a_queue_container", {})):
        assert scraper.values(name, **labels) == {"allocated": 2, "released": 1}
        assert types(scraper.text())[name] == "counter"


@pytest.mark.remuda_rule("MET-30", "MET-23", "MET-24", "MET-26")
@pytest.mark.parametrize(
    "choice, expected",
    [
        (NONE, set()),
        (CONTAINERS, {"yunikorn_root_a_queue_container"}),
        (
            ALL,
            {
                "yunikorn_root_a_queue_container",
                "yunikorn_root_a_queue_app",
                "yunikorn_root_a_queue_resource",
                "yunikorn_root_queue_resource",
            },
        ),
    ],
)
def test_metrics_with_the_queue_in_their_name_are_a_choice(choice: str, expected: set[str]) -> None:
    caller = Caller(leaf("a"))
    caller.node("n1", {"vcore": 10})
    busy("root.a", caller=caller)
    found = Scraper(caller, MetricsSettings(queue_names=choice)).samples()
    assert {name for name, _ in found if name.startswith("yunikorn_root")} == expected
    assert chosen(found, CONTAINER, queue="root.a") == {"allocated": 1, "released": 0}
    if choice == ALL:
        named = chosen(found, "yunikorn_root_a_queue_app")
        assert named == chosen(found, Q + "app", queue="root.a")
        named = chosen(found, "yunikorn_root_a_queue_resource", resource="vcore")
        assert named == chosen(found, RESOURCE, queue="root.a", resource="vcore")


@pytest.mark.remuda_rule("MET-3", "MET-30")
def test_queues_whose_names_collide_share_the_metric_and_keep_their_labels() -> None:
    queues = (leaf("a-b"), leaf("a_b"), parent("a", leaf("b")), leaf("1a"))
    caller = Caller(*queues)
    caller.node("n1", {"vcore": 10})
    busy("root.a-b", "root.a_b", "root.a.b", "root.1a", caller=caller)
    found = Scraper(caller, MetricsSettings(queue_names=ALL)).samples()
    assert value(found, "yunikorn_root_a_b_queue_container", state="allocated") == 3
    assert value(found, "yunikorn_root_a_b_queue_app", state="running") == 3
    by_queue = chosen(found, CONTAINER, "queue", state="allocated")
    assert by_queue == {"root.1a": 1, "root.a-b": 1, "root.a.b": 1, "root.a_b": 1}
    assert value(found, "yunikorn_root_1a_queue_container", state="allocated") == 1


@pytest.mark.remuda_rule("MET-31", "MET-32", "MET-33")
def test_a_reload_takes_series_away_and_a_refused_one_changes_none() -> None:
    limits = {"vcore": 8, "memory": 4}
    caller = Caller(leaf("a", limits, {"vcore": 1}), leaf("gone"), leaf("p"))
    caller.app("app", "root.p")
    scraper = Scraper(caller)

    def limited(state: str) -> dict[str, float]:
        return scraper.values(RESOURCE, "resource", queue="root.a", state=state)

    assert limited("max") == limits
    assert limited("guaranteed") == {"vcore": 1}
    assert refusal(caller.reload(leaf("a", {"vcore": 1}), parent("p", leaf("x"))))
    assert limited("max") == limits
    before = caller.reload(leaf("a", {"vcore": 2}), leaf("p"), dry_run=True)
    assert not refusal(before)
    assert limited("max") == limits
    assert scraper.values(CONTAINER, "queue", state="allocated").keys() == {
        *("root.a", "root.gone", "root.p")
    }
    caller.reload(leaf("a", {"vcore": 8}), leaf("p"))
    assert limited("max") == {"vcore": 8}
    assert limited("guaranteed") == {}
    caller.reload(leaf("a"), leaf("p"))
    assert limited("max") == {}
    caller.wait(MINUTE)
    assert scraper.values(CONTAINER, "queue", state="allocated").keys() == {"root.a", "root.p"}


@pytest.mark.remuda_rule("MET-33", "MET-27", "MET-4")
def test_a_dynamic_queue_that_comes_back_goes_on_counting() -> None:
    caller = Caller(parent("p"), placement_rules=(CREATING,))
    caller.node("n1", {"vcore": 10})
    scraper = Scraper(caller)
    for times in (1, 2):
        caller.app("app", "root.p.x")
        caller.ask("app", "k", {"vcore": 1})
        caller.place()
        found = scraper.samples()
        assert chosen(found, CONTAINER, queue="root.p.x") == {
            "allocated": times,
            "released": times - 1,
        }
        caller.release("app")
        caller.wait(30 * SECOND)
        assert scraper.values(Q + "app_total", queue="root.p.x") == {"completed": times}
        caller.wait(MINUTE)
        assert scraper.values(CONTAINER, queue="root.p.x") == {}
        assert scraper.values(Q + "app", queue="root.p.x") == {}
        assert not [name for name, _ in scraper.samples() if "root_p_x" in name]


@pytest.mark.remuda_rule("MET-27", "MET-16")
def test_counts_go_on_when_a_resource_manager_registers_anew() -> None:
    caller = Caller(leaf("a"))
    scraper = Scraper(caller)
    for _ in range(2):
        caller.node("n1", {"vcore": 10})
        busy("root.a", caller=caller)
        config = caller.scheduler._cluster.managers["rm"].config
        caller.send(c.RegisterResourceManager("rm", config))
    # What was there is gone, so as much was released as was allocated.
    found = scraper.samples()
    assert chosen(found, CONTAINER, queue="root.a") == {"allocated": 2, "released": 2}
    attempts = chosen(found, "yunikorn_scheduler_container_allocation_attempt_total")
    assert attempts == {"allocated": 2, "released": 2, "error": 0}
    caller.scheduler.check()


@pytest.mark.remuda_rule("MET-37")
def test_limits_that_applications_bring_are_told() -> None:
    caller = Caller(parent("p"), placement_rules=(CREATING,))
    tags = {
        "namespace.resourcequota": '{"resources": {"vcore": {"value": 7000}}}',
        "namespace.resourceguaranteed": '{"resources": {"vcore": {"value": 1000}}}',
    }
    caller.app("app", "root.p.x", tags=tags)
    scraper = Scraper(caller)
    assert scraper.values(RESOURCE, queue="root.p.x", resource="vcore") == {
        "max": 7000,
        "guaranteed": 1000,
    }


@pytest.mark.remuda_rule("MET-42")
def test_what_waits_is_told_with_the_age_of_the_oldest() -> None:
    caller = Caller(leaf("a"), leaf("b"))
    caller.app("app")
    caller.ask("app", "old", {"vcore": 1}, 3)
    caller.now += 10 * SECOND
    caller.ask("app", "new", {"vcore": 1}, 2)
    scraper = Scraper(caller)
    scraper.now = caller.now + 4 * SECOND
    found = scraper.samples()
    assert chosen(found, Q + "pending_asks", "queue") == {"root.a": 5, "root.b": 0}
    # The scrape is a second later than said.
    assert chosen(found, Q + "oldest_pending_seconds", "queue") == {"root.a": 15, "root.b": 0}


@pytest.mark.remuda_rule("MET-42")
def test_usage_by_user_is_a_choice_and_bounded() -> None:
    caller = Caller(leaf("a"))
    caller.node("n1", {"vcore": 10})
    for user in ("ann", "bob", "eve", "zoe"):
        caller.app(user, user=user)
        caller.ask(user, "k", {"vcore": 2 if user == "ann" else 1})
    caller.place()
    metric = "yunikorn_user_resource"
    assert Scraper(caller).values(metric, "user") == {}
    two = Scraper(caller, MetricsSettings(users=2))
    assert two.values(metric, "user", resource="vcore") == {"ann": 2, "bob": 1, "(others)": 2}


@pytest.mark.remuda_rule("MET-54")
def test_of_many_queues_the_first_are_shown_and_the_other_leaves_are_one() -> None:
    names = [f"q{number}" for number in range(6)]
    caller = Caller(*[leaf(name, {"vcore": 9}, {"vcore": 1}) for name in names])
    caller.node("n1", {"vcore": 100})
    for number, name in enumerate(names):
        caller.app(name, f"root.{name}")
        caller.ask(name, "k", {"vcore": 1}, count=number + 1)
    caller.place()
    caller.ask("q5", "more", {"vcore": 1})
    scraper = Scraper(caller, MetricsSettings(queues=3, queue_names=ALL))
    found = scraper.samples()
    held = chosen(found, RESOURCE, "queue", resource="vcore", state="allocated")
    assert held == {"root": 21, "root.q0": 1, "root.q1": 2, "(others)": 3 + 4 + 5 + 6}
    maximum = chosen(found, RESOURCE, "queue", resource="vcore", state="max")
    assert maximum == {"root": 100, "root.q0": 9, "root.q1": 9}
    assert chosen(found, Q + "pending_asks", "queue") == {"root.q0": 0, "root.q1": 0, "(others)": 1}
    came = chosen(found, Q + "container", "queue", state="allocated")
    assert came == {"root.q0": 1, "root.q1": 2, "(others)": 18}
    all_shown = Scraper(caller, MetricsSettings(queues=7)).samples()
    assert "(others)" not in chosen(all_shown, Q + "pending_asks", "queue")


@pytest.mark.remuda_rule("MET-21", "MET-28")
def test_queues_of_one_path_in_several_partitions_are_summed() -> None:
    both = [partition(leaf("a", {"vcore": 4})), partition(leaf("a"), name="other")]
    caller = Caller(partitions=both)
    caller.node("n1", {"vcore": 10})
    caller.node("n2", {"vcore": 5}, home="other")
    found = Scraper(caller).samples()
    assert value(found, RESOURCE, queue="root", resource="vcore", state="max") == 15
    assert value(found, RESOURCE, queue="root.a", resource="vcore", state="max") == 4
