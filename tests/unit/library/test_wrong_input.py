"""Wrong arguments: one line that says what is wrong and where, and nothing has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remuda import Allocation, Ask, Queue, Release, RequestError, Scheduler, TaskGroup

LONG = "x" * 1_025
MANY = {f"k{number}": "" for number in range(1_025)}

# Any, because a type checker would not let these pass.
TEXT: Any = "bc"
ONE: Any = 1
CALLS: dict[str, tuple[Callable[[Any], object], str]] = {
    "a node without a name": (lambda s: s.add_node("", {"vcore": 1}), "node_id is empty"),
    "a node by number": (
        lambda s: s.add_node(7, {"vcore": 1}),
        "node_id is 7; it has to be a text",
    ),
    "a long name": (lambda s: s.add_node(LONG, {}), "node_id has 1025 characters, at most 1024"),
    "half a character": (lambda s: s.add_node("n\ud800", {}), "no valid Unicode text"),
    "no resource": (lambda s: s.add_node("n", 4), "node 'n': a resource is a mapping"),
    "an unknown suffix": (
        lambda s: s.add_node("n", {"memory": "8GiB"}),
        "node 'n': memory is '8GiB': invalid suffix; write whole base units",
    ),
    "a fraction": (lambda s: s.add_node("n", {"vcore": 1.5}), "node 'n': vcore is 1.5; write"),
    "a truth": (lambda s: s.add_node("n", {"vcore": True}), "node 'n': vcore is True; write"),
    "less than nothing": (
        lambda s: s.add_node("n", {"vcore": -1}),
        "vcore is -1; amounts are from",
    ),
    "too much": (lambda s: s.add_node("n", {"vcore": 2**63}), "amounts are from 0 to"),
    "too much as a text": (lambda s: s.add_node("n", {"vcore": "9E"}), "overflow"),
    "a nameless type": (lambda s: s.add_node("n", {"": 1}), "'' is no name of a resource type"),
    "many types": (lambda s: s.add_node("n", MANY), "at most 1024 types"),
    "attributes": (lambda s: s.add_node("n", {}, attributes={"rack": 7}), "'rack' is 7; both"),
    "many attributes": (lambda s: s.add_node("n", {}, attributes=MANY), "1025 entries, at most"),
    "nodes in a list": (lambda s: s.add_nodes(["n"]), "it has to be a mapping of ID to resource"),
    "no node to drain": (lambda s: s.drain_node(None), "node_id is None"),
    "no application": (lambda s: s.submit(""), "application_id is empty"),
    "a queue object": (
        lambda s: s.submit("b", queue=Queue("a")),
        "application 'b': queue is Queue",
    ),
    "one group": (
        lambda s: s.submit("b", groups="staff"),
        "groups is 'staff'; it has to be a list",
    ),
    "a tag": (lambda s: s.submit("b", tags={"a": None}), "application 'b': tags: 'a' is None"),
    "a list of tags": (lambda s: s.submit("b", tags=["a"]), "it has to be a mapping of texts"),
    "a style": (
        lambda s: s.submit("b", gang_scheduling_style="hard"),
        "gang_scheduling_style is 'hard'; it has to be one of Soft, Hard",
    ),
    "time": (lambda s: s.submit("b", execution_timeout_ms=-1), "it has to be from 0 to"),
    "half a millisecond": (lambda s: s.submit("b", execution_timeout_ms=0.5), "a whole number"),
    "one task group": (
        lambda s: s.submit("b", task_groups=TaskGroup("g", 1, {"vcore": 1})),
        "it has to be a list of TaskGroup",
    ),
    "a task group by name": (lambda s: s.submit("b", task_groups=["g"]), "'g' is no TaskGroup"),
    "no members": (
        lambda s: s.submit("b", task_groups=[TaskGroup("g", 0, {"vcore": 1})]),
        "task group 'g': min_member is 0; it has to be from 1 to",
    ),
    "empty members": (
        lambda s: s.submit("b", task_groups=[TaskGroup("g", 1, {"vcore": 0})]),
        "task group 'g': the resource is empty",
    ),
    "a group twice": (
        lambda s: s.submit("b", task_groups=[TaskGroup("g", 1, {"vcore": 1})] * 2),
        "task group 'g' is given twice",
    ),
    "more than there is": (
        lambda s: s.submit("b", task_groups=[TaskGroup("g", 3, {"vcore": 2**62})]),
        "its gang needs",
    ),
    "an ask of nobody": (lambda s: s.ask("", "k", {"vcore": 1}), "application_id is empty"),
    "an ask without a key": (lambda s: s.ask("job", "", {"vcore": 1}), "allocation_key is empty"),
    "an ask for nothing": (lambda s: s.ask("job", "k", {}), "ask 'k': the resource is empty"),
    "no times": (
        lambda s: s.ask("job", "k", {"vcore": 1}, max_allocations=0),
        "ask 'k': max_allocations is 0; it has to be from 1 to",
    ),
    "a priority": (lambda s: s.ask("job", "k", {"vcore": 1}, priority=2**31), "ask 'k': priority"),
    "a word for a truth": (
        lambda s: s.ask("job", "k", {"vcore": 1}, allow_preempt_self="no"),
        "allow_preempt_self is 'no'; it has to be True or False",
    ),
    "a group of an ask": (
        lambda s: s.ask("job", "k", {"vcore": 1}, task_group=1),
        "task_group is 1",
    ),
    "all there is": (
        lambda s: s.release(Allocation("job", "small", "", "n1", {})),
        "allocation_id of the allocation is empty",
    ),
    "an ask by number": (lambda s: s.release(Ask(ONE, "k", {})), "application_id of the ask is 1"),
    "an order of no kind": (
        lambda s: s.confirm(Release("job", "small", "small-0", ONE + 8)),
        "9 is no TerminationType",
    ),
    "why what": (lambda s: s.explain(Ask("job", ONE, {})), "allocation_key of the ask is 1"),
    "a key to release": (lambda s: s.release("task"), "pass an Allocation or an Ask"),
    "a key to confirm": (lambda s: s.confirm("task"), "pass a Release that is ordered"),
    "a key to explain": (lambda s: s.explain("task"), "pass one that ask"),
    "whose asks": (lambda s: s.pending(1), "application_id is 1"),
    "whose allocations": (lambda s: s.allocations(1), "application_id is 1"),
    "a step by text": (lambda s: s.step("soon"), "now is 'soon'; it has to be a number of seconds"),
    "a step of many digits": (lambda s: s.step(10**400), "it has to be from 0 to"),
    "a step to nowhere": (lambda s: s.step(float("nan")), "now is nan; it has to be from 0 to"),
    "a step to the end": (lambda s: s.step(1e300), "it has to be from 0 to"),
    "a configuration": (lambda s: s.update_configuration(7), "config is 7; pass the text of"),
    "no queues": (lambda s: s.update_configuration([]), r"config is \[\]; pass the text of"),
    "a queue by name": (lambda s: s.update_configuration(["a"]), "below root: 'a' is no Queue"),
    "a nameless queue": (lambda s: s.update_configuration(Queue("")), "name of a queue below root"),
    "queues by name": (
        lambda s: s.update_configuration(Queue("a", queues=TEXT)),
        "queue root.a: its queues have to be a list of Queue",
    ),
    "a maximum": (
        lambda s: s.update_configuration(Queue("a", maximum={"vcore": "many"})),
        "queue root.a, max: vcore is 'many'",
    ),
    "how many run": (
        lambda s: s.update_configuration(Queue("a", max_applications=-1)),
        "queue root.a, max_applications is -1",
    ),
    "a property": (
        lambda s: s.update_configuration(Queue("a", properties={"p": ONE})),
        "queue root.a, properties: 'p' is 1",
    ),
}


def endless() -> Queue:
    """More levels than a queue file may have."""
    queue = Queue("a")
    for _ in range(60):
        queue = Queue("a", queues=[queue])
    return queue


CALLS["endless queues"] = (lambda s: s.update_configuration(endless()), "more than 48 levels")


@pytest.mark.parametrize("name", list(CALLS))
def test_a_wrong_argument_changes_nothing(name: str, told: list[object], job: Scheduler) -> None:
    call, text = CALLS[name]
    with pytest.raises(RequestError, match=text) as caught:
        call(job)
    assert "\n" not in str(caught.value)
    assert type(caught.value) is RequestError
    job.step()
    assert told == []
    assert [each.allocation_key for each in job.pending()] == ["large"]
    assert [each.allocation_key for each in job.allocations()] == ["small"]
    job.add_node("n", {"vcore": "9"})


@pytest.mark.parametrize(
    "arguments,text",
    [
        ({"live": 1}, "live is 1; it has to be True or False"),
        ({"confirm": None}, "confirm is None"),
        ({"record": "file"}, "record is 'file'; it has to be a pathlib.Path"),
        ({"reservation_delay_seconds": -1}, "reservation_delay_seconds is -1"),
        ({"config": None}, "config is None"),
        ({"config": Path("a\0b")}, "no file can have that name"),
        ({"record": Path("a\0b")}, "no file can have that name"),
    ],
)
def test_a_scheduler_with_a_wrong_argument_is_none(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(RequestError, match=text):
        Scheduler(**arguments)
