"""What a shadow remembers is bounded, and its report is the same for programs and for people."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from remuda_kubernetes.api.connection import Answer, Requests
from remuda_kubernetes.shadow import ledger as module
from remuda_kubernetes.shadow.door import ReadOnly
from remuda_kubernetes.shadow.ledger import Example, Kind, Ledger
from remuda_kubernetes.shadow.report import About, as_object, as_text

SECOND = 10**9


def nothing() -> str:
    return ""


def compared(ledger: Ledger, number: int, queue: str = "root.a") -> None:
    """Let a pod be on another node."""
    uid = f"u{number}"
    ledger.waits(uid, f"default/p{number}", queue, gang=False)
    ledger.decided(uid, "n1", SECOND)
    ledger.bound(uid, "n2", 3 * SECOND, nothing)


@pytest.mark.remuda_rule("EXT-174")
def test_the_first_examples_are_kept_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXAMPLES_LIMIT", 3)
    ledger = Ledger()
    for number in range(5):
        compared(ledger, number)
    totals = ledger.totals(SECOND)
    assert totals.kinds[Kind.ANOTHER] == 5
    assert [each.pod for each in totals.examples[Kind.ANOTHER]] == [
        "default/p0",
        "default/p1",
        "default/p2",
    ]


@pytest.mark.remuda_rule("EXT-174")
def test_queues_beyond_a_number_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUEUES_LIMIT", 2)
    ledger = Ledger()
    for number in range(4):
        compared(ledger, number, f"root.q{number}")
    found = ledger.totals(SECOND).queues
    assert {queue: counts[Kind.ANOTHER] for queue, counts in found.items()} == {
        "root.q0": 1,
        "root.q1": 1,
        "(other queues)": 2,
    }


@pytest.mark.remuda_rule("EXT-174")
def test_pods_beyond_a_number_are_not_followed_and_said_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "FOLLOWED_LIMIT", 2)
    ledger = Ledger()
    for number in range(3):
        ledger.waits(f"u{number}", f"default/p{number}", "root.a", gang=False)
    assert (ledger.waiting, ledger.left.too_many) == (2, 1)
    assert ledger.bound("u2", "n1", SECOND, nothing) is None
    ledger.gone("u0", SECOND)
    ledger.waits("u3", "default/p3", "root.a", gang=False)
    assert ledger.waiting == 2


@pytest.mark.remuda_rule("EXT-171")
def test_the_last_word_of_the_shadow_counts() -> None:
    ledger = Ledger()
    for uid in ("u0", "u1"):
        ledger.waits(uid, f"default/{uid}", "root.a", gang=False)
    ledger.refused("u0", "no such queue", SECOND)
    ledger.decided("u0", "n1", 2 * SECOND)
    ledger.decided("u1", "n1", SECOND)
    ledger.refused("u1", "no such queue", 2 * SECOND)
    assert ledger.bound("u0", "n1", 3 * SECOND, nothing) is Kind.SAME
    assert ledger.bound("u1", "n1", 3 * SECOND, nothing) is Kind.REFUSED


@pytest.mark.remuda_rule("EXT-171")
def test_what_the_scheduler_says_afterwards_is_the_reason_of_a_pod_that_waits() -> None:
    ledger = Ledger()
    ledger.waits("u", "default/p", "root.a", gang=False)
    assert ledger.bound("u", "n1", SECOND, lambda: "2/2 nodes would do") is Kind.LATER
    for why in ("", "queue root.a lacks 1 CPU", "something else"):
        ledger.found("u", why)
    (example,) = ledger.totals(SECOND).examples[Kind.LATER]
    assert example.reason == "2/2 nodes would do; queue root.a lacks 1 CPU"


@pytest.mark.remuda_rule("EXT-171")
def test_an_eviction_for_the_same_reason_counts_once() -> None:
    ledger = Ledger()
    for reason in ("for pod default/a", "for pod default/a", "for pod default/b"):
        ledger.evicted("u", Example("default/v", "root.a", "n1", "", reason, 0, SECOND))
    assert ledger.totals(SECOND).kinds[Kind.EVICTED] == 2


@pytest.mark.remuda_rule("EXT-174")
def test_the_report_says_the_same_to_programs_and_to_people() -> None:
    ledger = Ledger()
    compared(ledger, 0)
    ledger.waits("u1", "default/late", "root.b", gang=True)
    ledger.bound("u1", "n3", SECOND, lambda: "queue root.b lacks 1 CPU\x1b[2J")
    about = About("https://10.0.0.1", "v1.34.0", ("default-scheduler",), 61.0)
    found = as_object(ledger, about)
    assert (found["compared"], found["same_node_percent"]) == (2, 0.0)
    assert found["both_placed_percent"] == 50.0
    assert found["queues"]["root.a"]["another_node"] == 1
    assert found["ahead"] == {"pods": 1, "mean_seconds": 2.0, "max_seconds": 2.0}
    text = as_text(found)
    assert "Kubernetes v1.34.0 at https://10.0.0.1, pods of default-scheduler, 61 s\n" in text
    assert "2 pods compared: 0.0 % got the same node, 50.0 % a node in both" in text
    assert "  default/p0: n2 there, n1 here\n" in text
    assert "  default/late: n3 there: queue root.b lacks 1 CPU\\x1b[2J\n" in text
    assert "1 of them belong to gangs" in text


class Counting:
    """A connection that counts what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def request(self, method: str, path: str, **_: Any) -> Answer:
        self.asked.append(f"{method} {path}")
        return cast("Answer", None)


@pytest.mark.remuda_rule("EXT-169")
@pytest.mark.parametrize(
    "method,body",
    [("POST", None), ("PUT", None), ("PATCH", b"{}"), ("DELETE", None), ("GET", b"{}")],
)
def test_the_door_lets_nothing_pass_but_reads(method: str, body: bytes | None) -> None:
    inner = Counting()
    door = ReadOnly(cast("Requests", inner))
    with pytest.raises(AssertionError):
        asyncio.run(door.request(method, "/api/v1/pods", body=body))
    assert inner.asked == []
    asyncio.run(door.request("GET", "/api/v1/pods"))
    assert inner.asked == ["GET /api/v1/pods"]
