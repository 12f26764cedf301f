"""Leader election in turned time: two replicas, crashes, partitions, lost answers, clean ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda_kubernetes.api.connection import JSON, Answer
from remuda_kubernetes.api.election import Election, ElectionSettings, LeadershipLostError
from remuda_kubernetes.api.errors import ApiError, refusal
from tests.kubernetes.api.scripted import TurnedClock, run, settle

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


class Store:
    """The lease as an API server keeps it: a stale write is a conflict."""

    def __init__(self, clock: TurnedClock) -> None:
        self.clock = clock
        self.lease: dict[str, Any] | None = None
        self.version = 100
        self.writes: list[tuple[float, str]] = []

    def answer(self, method: str, body: bytes | None) -> tuple[int, dict[str, Any]]:
        if method == "GET":
            if self.lease is None:
                return 404, {"reason": "NotFound", "message": "not found", "code": 404}
            return 200, self.lease
        assert body is not None
        wanted = json.loads(body)
        if method == "POST" and self.lease is not None:
            return 409, {"reason": "AlreadyExists", "message": "exists", "code": 409}
        if method == "PUT":
            if self.lease is None:
                return 404, {"reason": "NotFound", "message": "not found", "code": 404}
            if wanted["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
                return 409, {"reason": "Conflict", "message": "modified", "code": 409}
        self.version += 1
        wanted["metadata"]["resourceVersion"] = str(self.version)
        self.lease = wanted
        self.writes.append((self.clock.now(), wanted["spec"]["holderIdentity"]))
        return 200, wanted

    @property
    def holder(self) -> str:
        return str(self.lease["spec"]["holderIdentity"]) if self.lease else ""


@dataclass
class Line:
    """The way of one replica to the store; a test may cut it, or lose its answers."""

    store: Store
    cut: bool = False
    lose_answers: bool = False
    seen: list[tuple[str, bytes | None]] = field(default_factory=list)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = 30.0,  # noqa: ASYNC109
        paced: bool = True,
        limit: int = 0,
    ) -> Answer:
        assert not paced
        assert path in {LEASES, f"{LEASES}/remuda-kubernetes"}
        if self.cut:
            await self.store.clock.sleep(timeout)
            raise ApiError(f"no answer in {timeout} s")
        self.seen.append((method, body))
        status, found = self.store.answer(method, body)
        if self.lose_answers and method != "GET":
            raise ApiError("the connection broke")
        content = json.dumps(found).encode()
        if status >= 300:
            raise refusal(f"{method} {path}", status, content, {})
        return Answer(status, content, {})

    def stream(
        self, path: str, query: Mapping[str, str], *, idle: float = 300.0
    ) -> AsyncGenerator[list[bytes]]:
        raise NotImplementedError


class Replica:
    """A process that works while it leads, and notes each write it would make."""

    def __init__(self, name: str, store: Store, chance: Callable[[], float] = lambda: 0.5) -> None:
        self.name = name
        self.line = Line(store)
        self.clock = store.clock
        self.election = Election(
            self.line,
            ElectionSettings(namespace="kube-system", identity=name),
            clock=store.clock,
            chance=chance,
            wall=lambda: 1_764_000_000.0,
        )
        self.led: list[float] = []
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = asyncio.create_task(self.election.lead(self.work))

    async def work(self) -> None:
        self.led.append(self.clock.now())
        await asyncio.Event().wait()

    @property
    def acts(self) -> bool:
        return self.election.leadership.leads

    async def kill(self) -> None:
        """End as kill -9 does: nothing is given back."""
        self.line.cut = True
        self.election.leadership.end()
        await self.stop()

    async def stop(self) -> None:
        assert self.task is not None
        self.task.cancel()
        with suppress(asyncio.CancelledError, LeadershipLostError):
            await self.task


async def two(store: Store) -> tuple[Replica, Replica]:
    """Return a leader and a follower."""
    a, b = Replica("a", store), Replica("b", store)
    a.start()
    await settle()
    b.start()
    await store.clock.advance(5.0)
    assert (a.acts, b.acts) == (True, False)
    return a, b


def test_the_first_replica_creates_the_lease_and_renews_it() -> None:
    async def test() -> None:
        store = Store(TurnedClock())
        a = Replica("a", store)
        a.start()
        await store.clock.advance(60.0)
        assert store.lease is not None
        assert store.lease["spec"] == {
            "holderIdentity": "a",
            "leaseDurationSeconds": 10,
            "acquireTime": "2025-11-24T16:00:00.000000Z",
            "renewTime": "2025-11-24T16:00:00.000000Z",
            "leaseTransitions": 1,
        }
        assert a.acts
        assert len(store.writes) == 31
        assert a.election.leader == "a"
        await a.stop()

    run(test())


def test_a_follower_leads_within_12_seconds_of_a_crash() -> None:
    async def test() -> None:
        store = Store(TurnedClock())
        a, b = await two(store)
        killed = store.clock.now()
        await a.kill()
        await store.clock.advance(30.0)
        assert b.acts
        assert 8.0 < b.led[0] - killed < 12.0
        assert store.lease is not None
        assert store.lease["spec"]["leaseTransitions"] == 2
        await b.stop()

    run(test())


def test_a_follower_leads_within_a_second_of_a_clean_end() -> None:
    async def test() -> None:
        store = Store(TurnedClock())
        a, b = await two(store)
        ended = store.clock.now()
        await a.stop()
        assert store.holder == ""
        await store.clock.advance(5.0)
        assert b.acts
        assert b.led[0] - ended < 1.0
        await b.stop()

    run(test())


def test_a_leader_that_cannot_renew_stops_before_another_may_lead() -> None:
    async def test() -> None:
        store = Store(TurnedClock())
        a, b = await two(store)
        a.line.cut = True
        stopped = 0.0
        while not b.acts:
            await store.clock.advance(0.1)
            assert not (a.acts and b.acts)
            if not stopped and not a.acts:
                stopped = store.clock.now()
        assert b.led[0] - stopped >= 1.9
        assert a.task is not None
        with pytest.raises(LeadershipLostError, match="not renewed in time: no answer"):
            await a.task
        await b.stop()

    run(test())


def test_a_leader_that_slept_does_not_act_when_it_wakes() -> None:
    async def test() -> None:
        store = Store(TurnedClock())
        a, b = await two(store)
        await b.kill()
        # The machine is suspended: time passes, and nothing runs.
        store.clock.time += 3600.0
        assert not a.acts
        await store.clock.advance(1.0)
        assert a.task is not None
        assert a.task.done()
        await a.stop()

    run(test())


def test_a_short_break_is_outlasted() -> None:
    async def test() -> None:
        store = Store(TurnedClock())
        a, b = await two(store)
        a.line.cut = True
        await store.clock.advance(4.0)
        a.line.cut = False
        for _ in range(300):
            await store.clock.advance(0.1)
            assert a.acts
        assert a.election.problem == ""
        assert b.led == []
        await a.stop()
        await b.stop()

    run(test())


def test_renewals_whose_answers_are_lost_do_not_end_the_leadership_at_once() -> None:
    async def test() -> None:
        store = Store(TurnedClock())
        a, b = await two(store)
        a.line.lose_answers = True
        await store.clock.advance(3.0)
        a.line.lose_answers = False
        await store.clock.advance(30.0)
        assert a.acts
        assert b.led == []
        await a.stop()
        await b.stop()

    run(test())


def test_a_lease_that_another_took_ends_the_work() -> None:
    async def test() -> None:
        store = Store(TurnedClock())
        a, b = await two(store)
        await b.kill()
        assert store.lease is not None
        store.version += 1
        store.lease["spec"]["holderIdentity"] = "x"
        store.lease["metadata"]["resourceVersion"] = str(store.version)
        await store.clock.advance(2.1)
        assert not a.acts
        assert a.task is not None
        with pytest.raises(LeadershipLostError, match="taken by x"):
            await a.task
        assert store.holder == "x"

    run(test())


def test_a_deleted_lease_is_created_anew_by_its_holder() -> None:
    async def test() -> None:
        store = Store(TurnedClock())
        a, b = await two(store)
        store.lease = None
        for _ in range(300):
            await store.clock.advance(0.1)
            assert a.acts
            assert not b.acts
        assert store.holder == "a"
        await a.stop()
        await b.stop()

    run(test())


def test_work_that_ends_gives_the_lease_back_and_work_that_fails_raises() -> None:
    async def test() -> None:
        store = Store(TurnedClock())
        a = Replica("a", store)

        async def short() -> None:
            await store.clock.sleep(1.0)

        async def failing() -> None:
            raise ZeroDivisionError

        task = asyncio.create_task(a.election.lead(short))
        await store.clock.advance(2.0)
        await task
        assert store.holder == ""
        assert not a.acts
        with pytest.raises(ZeroDivisionError):
            await a.election.lead(failing)
        assert store.holder == ""

    run(test())


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["cut a", "cut b", "heal a", "heal b", "lose a", "lose b", "wait"]),
            st.floats(0.05, 6.0),
        ),
        max_size=12,
    ),
    st.randoms(use_true_random=False),
)
def test_whatever_the_network_does_two_never_act_at_once(
    steps: list[tuple[str, float]], chance: Any
) -> None:
    async def test() -> None:
        store = Store(TurnedClock())
        replicas = {name: Replica(name, store, chance.random) for name in "ab"}
        for each in replicas.values():
            each.start()
        for step, seconds in steps:
            what, _, name = step.partition(" ")
            if name:
                line = replicas[name].line
                line.cut = what == "cut"
                line.lose_answers = what == "lose"
            for _ in range(4):
                await store.clock.advance(seconds / 4)
                assert sum(each.acts for each in replicas.values()) <= 1
                for each in replicas.values():
                    if each.task is not None and each.task.done():
                        with suppress(LeadershipLostError):
                            each.task.result()
                        each.start()
        for each in replicas.values():
            each.line.cut = each.line.lose_answers = False
        await store.clock.advance(40.0)
        for each in replicas.values():
            await each.stop()
        assert store.writes

    run(test())
