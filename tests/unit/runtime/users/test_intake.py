"""Requests that wait for the groups of their users, and those that need not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from remuda.config.schema import Configuration, PartitionConfig, QueueConfig
from remuda.core.messages.commands import (
    NewApplication,
    RegisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
    UpdateConfiguration,
)
from remuda.core.messages.effects import ApplicationsAnswered, Effect
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.requests import Request
from remuda.runtime.users.cache import GroupCache
from remuda.runtime.users.line import Line
from remuda.runtime.users.lookups import Lookups
from tests.unit.runtime.fakes import Factory, Sink, asks
from tests.unit.runtime.users.barriers import Barrier, Barriers
from tests.waiting import wait

LOOKUP_THREAD = "remuda-users"


@pytest.fixture
def barriers() -> Barriers:
    return Barriers()


@pytest.fixture
def loop(factory: Factory, barriers: Barriers) -> Iterator[SchedulerLoop]:
    running = SchedulerLoop(factory, resolvers=barriers, line_capacity=20)
    running.start()
    yield running
    for barrier in barriers.barriers.values():
        barrier.open()
    running.stop()


def configuration(**partitions: str) -> Configuration:
    """Partitions with their resolvers."""
    root = QueueConfig("root", parent=True)
    return Configuration(
        tuple(
            PartitionConfig(name, root, user_group_resolver=resolver)
            for name, resolver in partitions.items()
        )
    )


def register(
    loop: SchedulerLoop, rm_id: str = "rm", sink: Sink | None = None, **partitions: str
) -> None:
    config = configuration(**(partitions or {"default": "slow"}))
    assert not loop.register(RegisterResourceManager(rm_id, config), sink).result(60).reason


def new(
    *users: str, rm_id: str = "rm", partition: str = "", groups: tuple[str, ...] = ()
) -> UpdateApplications:
    """One application per user, named after it."""
    return UpdateApplications(
        rm_id,
        new=tuple(
            NewApplication(f"app-{user}", partition=partition, user=user, groups=groups)
            for user in users
        ),
    )


def arrived(factory: Factory) -> list[tuple[str, tuple[str, ...], str]]:
    """User, groups and fault of all applications that reached the core, in order."""
    return [
        (application.user, application.groups, application.user_fault)
        for command in factory.scheduler.handled
        if isinstance(command, UpdateApplications)
        for application in command.new
    ]


@pytest.mark.remuda_rule("UGR-22", "SI-24")
def test_without_a_resolver_the_group_is_the_user_and_nothing_waits(
    loop: SchedulerLoop, factory: Factory
) -> None:
    register(loop, default="")
    assert loop.try_submit(new("bob"))
    loop.barrier().result(60)
    assert arrived(factory) == [("bob", ("bob",), "")]


@pytest.mark.remuda_rule("UGR-5", "UGR-7", "D-R3", "SI-24")
def test_groups_that_are_given_are_taken_as_they_are_and_teach_nobody(
    loop: SchedulerLoop, factory: Factory, barriers: Barriers
) -> None:
    register(loop)
    barrier = barriers.barriers["slow"]
    barrier.groups["bob"] = ("dev",)
    barrier.open()
    loop.submit(new("bob"))
    loop.submit(new("bob", groups=("admins",)))
    loop.submit(new("bob"))
    loop.idle().result(60)
    assert arrived(factory) == [
        ("bob", ("dev",), ""),
        ("bob", ("admins",), ""),
        ("bob", ("dev",), ""),
    ]
    assert barrier.asked == ["bob"]


@pytest.mark.remuda_rule("UGR-6", "UGR-30", "UGR-2")
def test_a_failure_travels_with_the_application(
    loop: SchedulerLoop, factory: Factory, barriers: Barriers
) -> None:
    register(loop)
    barriers.barriers["slow"].open()
    loop.submit(new("unknown"))
    loop.barrier("rm").result(60)
    loop.submit(new("unknown"))
    loop.barrier("rm").result(60)
    first, second = arrived(factory)
    assert first == ("unknown", (), "no unknown")
    assert second[2].startswith("user resolution failed, cached data returned: ")


@pytest.mark.remuda_rule("UGR-3", "UGR-8")
@pytest.mark.parametrize("user", ["", "no such*", "a)(b"])
def test_nobody_is_asked_about_a_user_that_the_core_refuses_anyway(
    loop: SchedulerLoop, factory: Factory, barriers: Barriers, user: str
) -> None:
    register(loop)
    loop.submit(new(user))
    loop.barrier().result(60)
    assert arrived(factory) == [(user, (), "")]
    assert barriers.barriers["slow"].asked == []


@pytest.mark.remuda_rule("SI-2", "SI-24")
def test_requests_of_a_manager_keep_their_order_while_one_waits(
    loop: SchedulerLoop, factory: Factory, barriers: Barriers
) -> None:
    sink = Sink()
    register(loop, sink=sink)
    barrier = barriers.barriers["slow"]
    barrier.groups = {"ann": ("qa",), "bob": ("dev",)}
    loop.submit(new("ann", "bob"))
    loop.submit(asks("k0"))
    loop.submit(new("cid", groups=("x",)))
    loop.submit(asks("k1"))
    barrier.wait_until_asked(2)
    loop.barrier().result(60)
    assert len(factory.scheduler.handled) == 1
    barrier.open()
    loop.idle().result(60)
    kinds = [type(command) for command in factory.scheduler.handled[1:]]
    assert kinds == [UpdateApplications, UpdateAllocations, UpdateApplications, UpdateAllocations]
    assert arrived(factory) == [
        ("ann", ("qa",), ""),
        ("bob", ("dev",), ""),
        ("cid", ("x",), ""),
    ]
    assert sink.keys() == ["k0", "k1"]
    assert barrier.threads == {LOOKUP_THREAD}


@pytest.mark.remuda_rule("SI-2")
def test_answers_that_come_in_another_order_do_not_change_that_of_the_requests(
    loop: SchedulerLoop, factory: Factory, barriers: Barriers
) -> None:
    register(loop, default="slow", fast="fast")
    barriers.barriers["fast"].groups = {"ann": ("qa",)}
    barriers.barriers["fast"].open()
    barriers.barriers["slow"].groups = {"bob": ("dev",)}
    loop.submit(new("bob"))
    loop.submit(new("ann", partition="fast"))
    barriers.barriers["fast"].wait_until_asked(1)
    loop.barrier().result(60)
    assert arrived(factory) == []
    barriers.barriers["slow"].open()
    loop.idle().result(60)
    assert arrived(factory) == [("bob", ("dev",), ""), ("ann", ("qa",), "")]


@pytest.mark.remuda_rule("SI-2", "SI-6")
def test_a_manager_that_waits_does_not_hold_others_up(
    loop: SchedulerLoop, factory: Factory, barriers: Barriers
) -> None:
    other = Sink()
    register(loop)
    register(loop, "other", other, default="other")
    barriers.barriers["other"].groups = {"ann": ("qa",)}
    barriers.barriers["other"].open()
    loop.submit(new(*[f"user{number}" for number in range(8)]))
    loop.submit(asks("mine"))
    loop.submit(new("ann", rm_id="other"))
    loop.submit(asks("theirs", rm_id="other"))
    loop.barrier("other").result(60)
    other.wait(2)
    assert other.keys() == ["theirs"]
    assert arrived(factory) == [("ann", ("qa",), "")]


@pytest.mark.remuda_rule("UGR-21", "D-R4")
def test_each_partition_has_its_own_resolver_and_memory(
    loop: SchedulerLoop, factory: Factory, barriers: Barriers
) -> None:
    register(loop, default="one", lab="two", plain="")
    barriers.barriers["one"].groups = {"bob": ("dev",)}
    barriers.barriers["two"].groups = {"bob": ("lab",)}
    for barrier in barriers.barriers.values():
        barrier.open()
    for partition in ("", "default", "[rm]lab", "lab", "plain"):
        loop.submit(new("bob", partition=partition))
    loop.idle().result(60)
    assert [groups for _, groups, _ in arrived(factory)] == [
        ("dev",),
        ("dev",),
        ("lab",),
        ("lab",),
        ("bob",),
    ]
    assert (
        barriers.barriers["one"].asked.count("bob")
        == barriers.barriers["two"].asked.count("bob")
        == 1
    )


@pytest.mark.remuda_rule("UGR-20")
def test_a_new_configuration_brings_its_resolvers_and_keeps_those_that_stay(
    loop: SchedulerLoop, factory: Factory, barriers: Barriers
) -> None:
    register(loop, default="one", lab="two")
    for barrier in barriers.barriers.values():
        barrier.groups = {"bob": ("old",)}
        barrier.open()
    loop.submit(new("bob"))
    loop.submit(new("bob", partition="lab"))
    loop.barrier("rm").result(60)
    update = UpdateConfiguration("rm", configuration(default="one", lab=""))
    assert not loop.configurations.update(update).result(60).refused
    barriers.barriers["one"].groups = {"bob": ("new",)}
    loop.submit(new("bob"))
    loop.submit(new("bob", partition="lab"))
    loop.barrier("rm").result(60)
    assert [groups for _, groups, _ in arrived(factory)[2:]] == [("old",), ("bob",)]
    assert barriers.barriers["two"].closed.wait(10)
    assert not barriers.barriers["one"].closed.is_set()


@pytest.mark.remuda_rule("SI-6")
def test_too_much_in_line_makes_the_sender_wait_and_nobody_else(
    loop: SchedulerLoop, factory: Factory, barriers: Barriers
) -> None:
    register(loop)
    register(loop, "other", default="")
    barrier = barriers.barriers["slow"]
    barrier.groups = {"bob": ("dev",)}
    loop.submit(new("bob"))
    for number in range(9):
        assert loop.try_submit(asks(f"k{number}"))
    assert not loop.try_submit(asks("k9"))
    room = loop.intake.room("rm")
    assert room is not None
    assert not room.done()
    blocked = threading.Thread(target=loop.submit, args=(asks("k9"),))
    blocked.start()
    assert loop.try_submit(asks("theirs", rm_id="other"))
    assert loop.intake.room("other") is None
    barrier.open()
    room.result(60)
    blocked.join(10)
    assert not blocked.is_alive()
    loop.idle().result(60)
    keys = [
        ask.allocation_key
        for command in factory.scheduler.handled
        if isinstance(command, UpdateAllocations) and command.rm_id == "rm"
        for ask in command.asks
    ]
    assert keys == [f"k{number}" for number in range(10)]


@pytest.mark.remuda_rule("SI-9", "SI-6")
def test_a_callback_is_not_kept_waiting_by_a_full_line(
    loop: SchedulerLoop, factory: Factory, barriers: Barriers
) -> None:
    sent: Future[None] = Future()

    def react(effects: object) -> None:
        if not sent.done():
            for number in range(30):
                loop.submit(new(f"user{number}"))
            sent.set_result(None)

    register(loop)
    register(loop, "other", Sink(react), default="")
    loop.submit(new("ann", rm_id="other"))
    sent.result(60)
    loop.barrier().result(60)
    barriers.barriers["slow"].open()
    loop.idle().result(60)
    assert len(arrived(factory)) == 31


@pytest.mark.remuda_rule("RM-9")
def test_what_waits_is_dropped_when_its_manager_starts_anew(
    loop: SchedulerLoop, factory: Factory, barriers: Barriers
) -> None:
    register(loop)
    barrier = barriers.barriers["slow"]
    loop.submit(new("bob"))
    loop.submit(asks("k0"))
    barrier.wait_until_asked(1)
    waiting = loop.barrier("rm")
    register(loop)
    waiting.result(60)
    barrier.open()
    loop.submit(new("cid", groups=("x",)))
    loop.idle().result(60)
    assert arrived(factory) == [("cid", ("x",), "")]
    assert not any(isinstance(c, UpdateAllocations) for c in factory.scheduler.handled)
    assert barrier.closed.wait(10)


def test_a_resolver_that_breaks_is_a_failure_like_any_other(
    loop: SchedulerLoop, factory: Factory, barriers: Barriers
) -> None:
    register(loop)
    barriers.barriers["slow"].open()
    loop.submit(new("odd"))
    loop.barrier("rm").result(60)
    assert arrived(factory) == [
        ("odd", (), "user resolution failed: RuntimeError: something broke")
    ]


def test_idle_includes_what_waits_for_users(
    loop: SchedulerLoop, factory: Factory, barriers: Barriers
) -> None:
    register(loop)
    loop.submit(new("bob"))
    idle = loop.idle()
    loop.barrier().result(60)
    assert not idle.done()
    barriers.barriers["slow"].open()
    idle.result(60)
    assert len(arrived(factory)) == 1


def test_stopping_drops_what_waits_and_closes_the_resolvers(
    loop: SchedulerLoop, barriers: Barriers
) -> None:
    register(loop)
    loop.submit(new("bob"))
    passed = loop.barrier("rm")
    loop.stop()
    assert passed.exception(10) is not None
    assert barriers.barriers["slow"].closed.is_set()


@pytest.mark.remuda_rule("UGR-6", "SI-2")
def test_a_request_waits_for_lookups_only_so_long() -> None:
    put: list[Request] = []
    barrier = Barrier()
    hurried = Lookups(patience_seconds=0.05)
    line = Line("rm", lambda request, _: put.append(request), lambda _: hurried)
    cache = GroupCache(barrier)
    line.use({"default": cache})
    users = [f"user{number}" for number in range(9)]
    for user in users:
        assert line.admit(new(user)) is None
    wait(lambda: len(put) == 9)
    assert [
        (application.user, application.user_fault)
        for request in put
        if isinstance(request, UpdateApplications)
        for application in request.new
    ] == [(user, "user resolution failed: no answer within 30 s") for user in users]
    assert line.empty()
    assert set(barrier.asked) == set(users[:4])
    # An answer that comes later is kept for the next request.
    barrier.groups = dict.fromkeys(users, ("dev",))
    barrier.open()
    wait(lambda: len(cache) == 4)
    repeated = line.admit(new("user0"))
    assert isinstance(repeated, UpdateApplications)
    (again,) = repeated.new
    assert (again.groups, again.user_fault) == (("dev",), "")
    assert len(put) == 9
    hurried.close()


@pytest.mark.remuda_rule("SI-7")
def test_the_answers_come_in_the_order_of_the_requests(
    loop: SchedulerLoop, barriers: Barriers
) -> None:
    sink = Sink()
    register(loop, sink=sink)
    barriers.barriers["slow"].groups = {f"u{n}": ("g",) for n in range(20)}
    for number in range(3):
        loop.submit(new(f"u{number}"))
    barriers.barriers["slow"].open()
    for number in range(3, 20):
        loop.submit(new(f"u{number}"))
    loop.idle().result(60)
    assert accepted(sink.effects) == [f"app-u{number}" for number in range(20)]


def accepted(effects: list[Effect]) -> list[str]:
    return [e.accepted[0] for e in effects if isinstance(e, ApplicationsAnswered)]
