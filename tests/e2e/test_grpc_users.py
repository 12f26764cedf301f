"""Requests over gRPC while users are looked up: order, room, and who does not notice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.config.schema import AccessList, Configuration, PartitionConfig, QueueConfig
from remuda.si.pb import si_pb2 as si
from tests.e2e.grpc_service import Service
from tests.unit.runtime.users.barriers import Barriers


def load(text: str) -> Configuration:
    """One leaf, root.a, for everybody; the text names the resolver."""
    everybody = AccessList(everybody=True)
    root = QueueConfig("root", parent=True, queues=(QueueConfig("a"),), submit_acl=everybody)
    return Configuration((PartitionConfig("default", root, user_group_resolver=text),))


@pytest.fixture
def barriers() -> Barriers:
    return Barriers()


@pytest.fixture
def service(barriers: Barriers) -> Iterator[Service]:
    with Service(load=load, resolvers=barriers, line_capacity=20) as running:
        yield running
        for barrier in barriers.barriers.values():
            barrier.open()


def application(name: str, user: str) -> si.ApplicationRequest:
    ugi = si.UserGroupInformation(user=user)
    entry = si.AddApplicationRequest(applicationID=name, queueName="root.a", ugi=ugi)
    return si.ApplicationRequest(new=[entry])


@pytest.mark.remuda_rule("SI-2", "SI-6", "SI-24", "UGR-6")
def test_a_stream_whose_users_are_looked_up_waits_and_others_do_not(
    service: Service, barriers: Barriers
) -> None:
    service.register("slow", "barrier")
    service.register("quick", "")
    barrier = barriers.barriers["barrier"]
    barrier.groups = {f"user{number}": ("dev",) for number in range(0, 60, 2)}
    stream = service.applications("slow")
    for number in range(60):
        stream.send(application(f"app{number}", f"user{number}"))
    stream.half_close()
    barrier.wait_until_asked(1)
    other = service.applications("quick")
    for number in range(30):
        other.send(application(f"app{number}", "ann"))
    other.half_close()
    accepted = [entry.applicationID for each in other.rest() for entry in each.accepted]
    assert accepted == [f"app{number}" for number in range(30)]
    barrier.open()
    responses = stream.rest()
    accepted = [entry.applicationID for each in responses for entry in each.accepted]
    rejected = [entry for each in responses for entry in each.rejected]
    assert accepted == [f"app{number}" for number in range(0, 60, 2)]
    assert [entry.applicationID for entry in rejected] == [
        f"app{number}" for number in range(1, 60, 2)
    ]
    assert "no user1" in rejected[0].reason


@pytest.mark.remuda_rule("RM-9", "SI-102")
def test_a_stream_that_waits_for_room_ends_when_its_manager_starts_anew(
    service: Service, barriers: Barriers
) -> None:
    service.register("slow", "barrier")
    stream = service.applications("slow")
    for number in range(60):
        stream.send(application(f"app{number}", f"user{number}"))
    barriers.barriers["barrier"].wait_until_asked(4)
    service.register("slow", "")
    stream.refusal()
    fresh = service.applications("slow")
    fresh.send(application("app0", "ann"))
    fresh.half_close()
    (response,) = fresh.rest()
    assert [entry.applicationID for entry in response.accepted] == ["app0"]
