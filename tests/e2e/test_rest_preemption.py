"""A preemption as REST shows it while it is under way, and afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from remuda.client import Client
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource
from tests.e2e.serving import FREE_PORTS, PARTITION, Served
from tests.unit.edges.rest.schema import assert_valid

QUEUES = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: prod
            resources: {guaranteed: {vcore: 2}}
            properties: {preemption.delay: 1ms}
          - name: adhoc
"""


def ask(client: Client, application: str, key: str, vcore: int) -> None:
    """Ask for something that may take the room of others."""
    policy = si.PreemptionPolicy(allowPreemptSelf=True, allowPreemptOther=True)
    wanted = si.AllocationAsk(
        applicationID=application,
        allocationKey=key,
        resourceAsk=resource({"vcore": vcore}),
        maxAllocations=1,
        preemptionPolicy=policy,
    )
    client.send(si.AllocationRequest(asks=[wanted]))


def ordered_out(client: Client) -> si.AllocationRelease:
    """The next allocation that the scheduler wants to end."""
    for response in client.responses():
        for order in getattr(response, "released", ()):
            assert isinstance(order, si.AllocationRelease)
            return order
    raise AssertionError("nothing was ordered out")


def application(served: Served, queue: str, ready: Callable[[Any], bool] = bool) -> Any:
    """The only application of a queue, as soon as it is as wanted; bounded."""
    deadline = time.monotonic() + 20
    while True:
        (found,) = served.client.get(f"{PARTITION}/queue/root.{queue}/applications").json()
        if ready(found) or time.monotonic() > deadline:
            assert_valid("Application", found)
            return found
        time.sleep(0.02)


def has_tried(found: Any) -> bool:
    """Whether an attempt was made for all asks of an application that has some."""
    asks = found.get("requests", [])
    return bool(asks) and all("preemption" in each.get("finding", {}) for each in asks)


@pytest.mark.remuda_rule("REST-125", "REST-126", "REST-127", "REST-79", "REST-80", "PRE-91")
def test_a_preemption_is_seen_from_every_side() -> None:
    with Served(*FREE_PORTS) as served, Client(served.grpc, "mine") as client:
        client.register(QUEUES)
        client.add_nodes({"n1": {"vcore": 2000}})
        client.add_application("crawl", queue="root.adhoc", user="bob")
        client.add_application("shop", queue="root.prod", user="ann")
        ask(client, "crawl", "page", 2000)
        client.allocations(1)
        ask(client, "shop", "till", 1000)
        order = ordered_out(client)
        assert order.terminationType == si.PREEMPTED_BY_SCHEDULER

        shown = served.client.get(f"{PARTITION}/preemptions").json()
        assert_valid("Preemptions", shown)
        (preemption,) = shown["preemptions"]
        number = preemption["number"]
        assert served.client.get(f"{PARTITION}/preemption/{number}").json() == preemption
        assert (preemption["outcome"], preemption["freed"]) == ("waiting", {"vcore": 2000})
        (waits,) = application(served, "prod")["requests"]
        assert (waits["triggeredPreemption"], waits["preemption"]) == (True, number)
        suffers = application(served, "adhoc")
        assert suffers["evictions"] == [number]
        (gone,) = suffers["allocations"]
        assert gone["preempted"] is True
        assert gone["preemptedBy"] == {
            "number": number,
            "kind": "queue",
            "applicationId": "shop",
            "allocationKey": "till",
            "queueName": "root.prod",
        }

        order.terminationType = si.PREEMPTED_BY_SCHEDULER
        releases = si.AllocationReleasesRequest(allocationsToRelease=[order])
        client.send(si.AllocationRequest(releases=releases))
        client.allocations(1)
        ended = served.client.get(f"{PARTITION}/preemption/{number}").json()
        assert ended["outcome"] == "placed"
        assert [each["confirmed"] for each in ended["victims"]] == [True]
        takes = application(served, "prod")
        assert takes["preemptions"] == [number]
        assert "requests" not in takes


@pytest.mark.remuda_rule("REST-127", "PRE-58")
def test_an_ask_that_is_owed_nothing_says_so() -> None:
    with Served(*FREE_PORTS) as served, Client(served.grpc, "mine") as client:
        client.register(QUEUES)
        client.add_nodes({"n1": {"vcore": 2000}})
        client.add_application("crawl", queue="root.adhoc", user="bob")
        client.add_application("shop", queue="root.prod", user="ann")
        ask(client, "crawl", "page", 1000)
        client.allocations(1)
        ask(client, "shop", "large", 2001)
        (large,) = application(served, "prod", has_tried)["requests"]
        assert (large["finding"]["gate"], large["finding"]["subject"]) == ("queue quota", "root")
        assert large["finding"]["preemption"] == "Preemption queue guarantees check failed"
        assert "preemption" not in large
