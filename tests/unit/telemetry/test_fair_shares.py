"""What each queue is owed, since when, and its share over time, in the process and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from starlette.testclient import TestClient

from remuda.core.messages.queries import PartitionsQuery, Query, View
from remuda.core.messages.rows import rows
from remuda.core.messages.share_queries import PORTION, FairSharesQuery, FairShareView
from remuda.edges.rest.routes.fair_shares import fair_share_routes
from remuda.edges.rest.transport.app import build_app
from remuda.runtime.errors import LoopStoppedError
from remuda.telemetry import fair_shares as module
from remuda.telemetry.fair_shares import FairShares, ShareSample
from tests.unit.core.door import Caller, leaf
from tests.unit.edges.rest.schema import assert_valid
from tests.unit.edges.rest.serving import CoreViews
from tests.unit.telemetry.health.ward import Direct

SECOND = 1_000_000_000
BASE = "/ws/v1/partition/default"


class Watched:
    """A cluster of 10 cores that ``b`` fills, of which ``a`` is guaranteed 6, and its samples."""

    def __init__(self, size: int = 4) -> None:
        self.door = Caller(
            leaf("a", guaranteed={"vcore": 6}, maximum={"vcore": 8}), leaf("b"), leaf("idle")
        )
        self.door.node("n1", {"vcore": 10})
        for name in "ab":
            self.door.app(name, f"root.{name}")
        self.door.ask("b", "k", {"vcore": 1}, 10)
        self.door.step()
        self.now_ns = 100 * SECOND
        self.shares = FairShares(Direct(self.door.scheduler), size, now_ns=lambda: self.now_ns)

    def sample(self, seconds: int = 10) -> None:
        """Take a sample after some time."""
        self.now_ns += seconds * SECOND
        self.shares.sample()

    def view(self, queue: str) -> FairShareView:
        """What the core says of one queue."""
        query = FairSharesQuery("default", queue=queue, rm_id=self.door.rm)
        (found,) = rows(FairShareView, self.door.scheduler.view(query))
        return found

    def since(self) -> dict[str, int]:
        """Since which second queues are below."""
        found = self.shares.below_since(self.door.rm, "default")
        return {path: since // SECOND for path, since in found.items()}


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def client(watched: Watched) -> Iterator[TestClient]:
    app = build_app(CoreViews(watched.door.scheduler), more=fair_share_routes(watched.shares))
    with TestClient(app, "http://remuda") as client:
        yield client


@pytest.mark.remuda_rule("EXT-60")
@pytest.mark.parametrize("waiting, owed", [(0, {}), (2, {"vcore": 2}), (20, {"vcore": 6})])
def test_a_guarantee_is_owed_as_far_as_asks_wait_for_it(
    watched: Watched, waiting: int, owed: dict[str, int]
) -> None:
    if waiting:
        watched.door.ask("a", "k", {"vcore": 1}, waiting)
    found = watched.view("root.a")
    assert (found.owed, found.pending) == (owed, {"vcore": waiting} if waiting else {})
    assert (found.guaranteed, found.maximum) == ({"vcore": 6}, {"vcore": 8})


@pytest.mark.remuda_rule("EXT-60", "RES-52")
def test_what_is_used_is_not_owed_and_shares_are_of_guarantee_or_cluster(watched: Watched) -> None:
    watched.door.ask("a", "k", {"vcore": 1}, 20)
    watched.door.release("b", "k-0")
    watched.door.step()
    found = watched.view("root.a")
    assert (found.allocated, found.owed) == ({"vcore": 1}, {"vcore": 5})
    assert found.share == pytest.approx(1 / 6)
    assert [(each.resource, each.used, each.divisor) for each in found.terms] == [("vcore", 1, 6)]
    # Nothing waits in b, so its parent has it in no order; its share is told all the same.
    assert watched.view("root.b").share == pytest.approx(9 / 10)
    assert watched.view("root.b").owed == {}


@pytest.mark.remuda_rule("EXT-61")
def test_a_queue_is_below_since_the_first_sample_that_found_it_so(watched: Watched) -> None:
    watched.sample()
    assert watched.since() == {}
    watched.door.ask("a", "k", {"vcore": 1}, 20)
    watched.sample()
    watched.sample()
    assert watched.since() == {"root.a": 120}
    for number in range(10):
        watched.door.release("b", f"k-{number}")
    watched.door.step()
    watched.sample()
    assert watched.since() == {}


@pytest.mark.remuda_rule("EXT-61")
def test_the_last_samples_are_kept(watched: Watched) -> None:
    watched.door.ask("a", "k", {"vcore": 1}, 3)
    for _ in range(6):
        watched.sample()
    kept = watched.shares.samples(watched.door.rm, "default", "root.a")
    assert kept == [ShareSample(at * SECOND, 0.0, 0.5) for at in (130, 140, 150, 160)]
    assert watched.shares.samples(watched.door.rm, "default", "root.none") == []


@pytest.mark.remuda_rule("EXT-60", "EXT-61")
def test_many_queues_come_in_portions_and_only_so_many_are_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    door = Caller(*[leaf(f"q{number:03}") for number in range(2 * PORTION)])
    direct = Direct(door.scheduler)
    shares = FairShares(direct)
    shares.sample()
    asked = [each for each in direct.asked if isinstance(each, FairSharesQuery)]
    assert [each.after for each in asked] == ["", "root.q098", "root.q198", "root.q199"]
    assert len(shares.samples(door.rm, "default", "root.q199")) == 1
    monkeypatch.setattr(module, "QUEUES", PORTION + 1)
    shares.sample()
    assert len(shares.samples(door.rm, "default", "root.q099")) == 2
    assert shares.samples(door.rm, "default", "root.q100") == []


class Broken:
    """A scheduler that does not answer, or was stopped."""

    def __init__(self, failure: Exception) -> None:
        self.failure = failure

    def query(self, query: Query) -> Future[View]:
        assert isinstance(query, PartitionsQuery)
        future: Future[View] = Future()
        future.set_exception(self.failure)
        return future


@pytest.mark.remuda_rule("EXT-61")
def test_a_sample_without_an_answer_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    FairShares(Broken(TimeoutError())).sample()
    assert "a sample of the shares is missing" in caplog.text
    with pytest.raises(LoopStoppedError):
        FairShares(Broken(LoopStoppedError("over"))).sample()


@pytest.mark.remuda_rule("EXT-60")
def test_http_lists_all_queues_by_path(client: TestClient, watched: Watched) -> None:
    watched.door.ask("a", "k", {"vcore": 1}, 2)
    watched.sample()
    answer = client.get(f"{BASE}/fairshare")
    found = {each["queueName"]: each for each in answer.json()}
    assert list(found) == ["root", "root.a", "root.b", "root.idle"]
    for each in answer.json():
        assert_valid("FairShare", each)
    assert found["root.a"] == {
        "queueName": "root.a",
        "isLeaf": True,
        "pending": {"vcore": 2},
        "guaranteed": {"vcore": 6},
        "maximum": {"vcore": 8},
        "share": 0.0,
        "terms": [{"resource": "vcore", "used": 0, "divisor": 6, "ratio": 0.0}],
        "priority": 0,
        "owed": {"vcore": 2},
        "belowSince": 110 * SECOND,
    }
    assert "belowSince" not in found["root.b"]
    part = client.get(f"{BASE}/fairshare", params={"limit": "1", "offset": "2"})
    assert [each["queueName"] for each in part.json()] == ["root.b"]
    assert part.headers["x-total-count"] == "4"


@pytest.mark.remuda_rule("EXT-61")
def test_http_shows_one_queue_with_its_samples(client: TestClient, watched: Watched) -> None:
    watched.sample()
    found: Any = client.get(f"{BASE}/queue/ROOT.B/fairshare").json()
    assert_valid("FairShareHistory", found)
    assert found["queue"]["queueName"] == "root.b"
    assert found["samples"] == [{"timestamp": 110 * SECOND, "share": 1.0, "owed": 0.0}]


@pytest.mark.remuda_rule("EXT-60", "EXT-61")
@pytest.mark.parametrize(
    "path, status",
    [
        ("/ws/v1/partition/nope/fairshare", 404),
        ("/ws/v1/partition/nope/queue/root.a/fairshare", 404),
        (f"{BASE}/queue/root.nope/fairshare", 404),
        (f"{BASE}/queue/root..a/fairshare", 400),
        (f"{BASE}/fairshare?rm=other", 404),
    ],
)
def test_what_there_is_not_is_told(client: TestClient, path: str, status: int) -> None:
    assert client.get(path).status_code == status
