"""Our clients find the active scheduler, and do not listen to one that is not active any more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.base.duration import SECOND
from remuda.client import Client, ClientError, Security
from remuda.connection.routes import Routes, StaleSchedulerError
from remuda.runtime.lease.fence import Fence
from remuda.runtime.roster import RmState
from remuda.session.client import SessionClient
from remuda.si.pb import si_pb2 as si
from tests.e2e.grpc_service import Service
from tests.e2e.test_fenced import Time
from tests.e2e.test_session_client import Listener
from tests.waiting import wait

NODES = {"n-1": {"vcore": 1_000}}


@pytest.fixture
def time() -> Time:
    return Time()


class Pair:
    """Two schedulers, each with a fence, of which the test lets one or both be active."""

    def __init__(self, time: Time) -> None:
        self.time = time
        self.fences = [Fence(time.read), Fence(time.read)]
        self.services = [Service(fence=fence) for fence in self.fences]

    @property
    def addresses(self) -> str:
        return ",".join(each.address for each in self.services)

    def activate(self, which: int, token: int) -> None:
        assert self.fences[which].extend(token, self.time.now_ns + SECOND)

    def knows(self, which: int) -> bool:
        status = self.services[which].core.roster.find("rm")
        return status is not None and status.state is RmState.RUNNING


@pytest.fixture
def pair(time: Time) -> Iterator[Pair]:
    made = Pair(time)
    with made.services[0], made.services[1]:
        yield made


@pytest.mark.remuda_rule("EXT-37")
def test_registering_finds_the_active_scheduler_and_finds_the_next_one(pair: Pair) -> None:
    pair.activate(1, 7)
    lost: list[ClientError] = []
    with Client(pair.addresses, "rm", on_disconnect=lost.append, timeout=30) as client:
        client.register()
        client.add_nodes(NODES)
        assert (pair.knows(0), pair.knows(1)) == (False, True)
        pair.fences[1].shut()
        pair.activate(0, 8)
        client.send(si.ApplicationRequest(new=[si.AddApplicationRequest(applicationID="x")]))
        wait(lambda: bool(lost))
        client.register()
        client.add_nodes(NODES)
        assert pair.knows(0)


@pytest.mark.remuda_rule("EXT-37")
def test_a_session_is_told_that_its_scheduler_is_gone_and_begins_at_the_next_one(
    pair: Pair,
) -> None:
    pair.activate(0, 7)
    lost: list[ClientError] = []
    with SessionClient(pair.addresses, "rm", Listener(), on_lost=lost.append, timeout=30) as client:
        assert client.register().fencing_token == 7
        pair.fences[0].shut()
        pair.activate(1, 8)
        client.update_node(si.NodeRequest(nodes=[si.NodeInfo(nodeID="n")]))
        wait(lambda: bool(lost))
        assert "register again" in str(lost[0])
        assert client.register().fencing_token == 8
        assert pair.knows(1)


@pytest.mark.remuda_rule("EXT-37")
def test_nobody_active_is_told_when_the_time_is_over(pair: Pair) -> None:
    with Client(pair.addresses, "rm", timeout=1) as client:

        def told() -> bool:
            """On a busy machine the last try may have too little time for an answer."""
            with pytest.raises(ClientError) as caught:
                client.register()
            return "this scheduler is a standby; none is active" in str(caught.value)

        wait(told)


@pytest.mark.remuda_rule("EXT-37")
def test_other_refusals_are_not_taken_elsewhere(pair: Pair) -> None:
    pair.activate(0, 7)
    pair.activate(1, 8)
    with (
        Client(pair.addresses, "", timeout=30) as client,
        pytest.raises(ClientError, match="INVALID_ARGUMENT"),
    ):
        client.register()
    assert not pair.knows(1)


@pytest.mark.remuda_rule("EXT-37")
def test_answers_of_an_earlier_scheduler_are_refused_while_both_believe_to_be_active(
    pair: Pair,
) -> None:
    """F45: two schedulers for one manager, by mistake or because one stood still."""
    pair.activate(0, 7)
    pair.activate(1, 8)
    lost: list[ClientError] = []
    heard: list[object] = []
    with Client(
        pair.addresses, "rm", on_response=heard.append, on_disconnect=lost.append, timeout=30
    ) as client:
        client.register()
        client.add_nodes(NODES)
        assert pair.knows(0)
        # The client learns of the later one; the stream of the earlier one is still open.
        client._routes.require(8)
        heard.clear()
        client.send(si.ApplicationRequest(new=[si.AddApplicationRequest(applicationID="a")]))
        wait(lambda: bool(lost))
        assert "its fencing token is 7, and 8 was seen" in str(lost[0])
        assert heard == []
        # The earlier one refuses it as well, so the later one is found.
        client.register()
        assert pair.knows(1)


@pytest.mark.remuda_rule("EXT-37")
def test_a_session_hears_nothing_of_an_earlier_scheduler(pair: Pair) -> None:
    pair.activate(0, 7)
    pair.activate(1, 8)
    lost: list[ClientError] = []
    with SessionClient(pair.addresses, "rm", Listener(), on_lost=lost.append, timeout=30) as client:
        assert client.register().fencing_token == 7
        client._routes.require(8)
        client.update_node(si.NodeRequest(nodes=[si.NodeInfo(nodeID="n")]))
        wait(lambda: bool(lost))
        assert client.register().fencing_token == 8


@pytest.mark.remuda_rule("EXT-37")
def test_tokens_only_grow() -> None:
    routes = Routes("h:1, h:2", Security(token="secret"), ())
    assert routes.several
    assert dict(routes.metadata) == {"authorization": "Bearer secret"}
    routes.require(0)
    routes.require(5)
    routes.require(5)
    assert dict(routes.metadata)["remuda-fencing-token"] == "5"
    for token in (4, 0):
        with pytest.raises(StaleSchedulerError, match="5 was seen"):
            routes.require(token)
    assert routes.address == "h:1"
    routes.advance()
    assert routes.address == "h:2"
    routes.close()


def test_a_client_without_a_lease_sees_no_token() -> None:
    with Service() as service, Client(service.address, "rm") as client:
        client.register()
        client.add_nodes(NODES)
        assert not client._routes.metadata
