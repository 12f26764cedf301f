"""Readers with a scope see what lies in it, and no route shows them anything else (EXT-32)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any, Final

import pytest
from starlette.testclient import TestClient

from remuda.base.scopes import Scope
from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import events as ev
from remuda.core.messages.effects import EventRecord
from remuda.edges.callers import KnownCallers
from remuda.edges.observation import Observation, ObservationSettings
from remuda.edges.rest.requests.asking import Asked
from remuda.edges.rest.requests.endpoint import Endpoint, Routes
from remuda.edges.rest.routes.description import DESCRIPTION_ROUTES
from remuda.edges.rest.routes.table import ROUTES
from remuda.edges.rest.transport.access import is_open
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rights import Identity
from remuda.runtime.loop import SchedulerLoop
from remuda.telemetry.audit.records import AUTHORIZE, REFUSED, Audit, Record, no_audit
from remuda.telemetry.events.selection import Selection
from tests.unit.core.door import leaf, partition
from tests.unit.edges.rest.test_access import bearer, digest
from tests.waiting import wait

pytestmark = pytest.mark.remuda_rule("EXT-32")

TOKEN: Final = "correct horse"
STREAM: Final = "/ws/v1/events/stream"
P: Final = "/ws/v1/partition/{partition}"

# One queue of one partition. What it does not include has "hidden" in its name, or, if it is in the
# other partition, "secret".
QUEUE: Final = Scope(("p",), ("root.ours",))
PARTITION: Final = Scope(("p",))
ANY_PARTITION: Final = Scope((), ("root.ours",))

# All routes that are open to a reader with some scope. Any other is refused.
FOR_QUEUES: Final = {
    f"{P}/queue/{{queue}}",
    f"{P}/queue/{{queue}}/applications",
    f"{P}/queue/{{queue}}/applications/{{state}}",
    f"{P}/queue/{{queue}}/application/{{application}}",
    f"{P}/queue/{{queue}}/fairshare",
    f"{P}/queue/{{queue}}/pending",
    f"{P}/application/{{application}}",
    f"{P}/application/{{application}}/pending",
    f"{P}/application/{{application}}/ask/{{key}}/explain",
    f"{P}/application/{{application}}/ask/{{key}}/ways-out",
    f"{P}/application/{{application}}/forecast",
    f"{P}/queue/{{queue}}/forecast",
    f"{P}/dry-run",
    "/ws/v1/events/batch",
    STREAM,
}
FOR_PARTITIONS: Final = FOR_QUEUES | {
    f"{P}/applications/{{state}}",
    f"{P}/fairshare",
    f"{P}/node/{{node}}",
    f"{P}/nodes",
    f"{P}/placementrules",
    f"{P}/preemption/{{number}}",
    f"{P}/preemptions",
    f"{P}/queues",
    f"{P}/usage/group/{{name}}",
    f"{P}/usage/groups",
    f"{P}/usage/user/{{name}}",
    f"{P}/usage/users",
    "/ws/v1/clusters",
    "/ws/v1/partitions",
    "/ws/v1/scheduler/node-utilizations",
}

# Answers about what concerns others as well, of which a part is left out (EXT-65).
CUT: Final = {
    each for each in FOR_QUEUES if each.endswith(("/explain", "/ways-out", "/dry-run", "/forecast"))
}

# Values of the parameters of paths.
VALUES: Final = {
    "partition": ("p", "secret", "[rm]secret", "[rm]p"),
    "queue": ("root.ours", "ROOT.Ours", "root.hidden", "root", "root.ours_hidden"),
    "application": ("ours-app", "hidden-app", "secret-app"),
    "node": ("n1", "secret-node"),
    "state": ("active", "completed", "rejected"),
    "name": ("ann", "hidden-user"),
    "number": ("1",),
    "key": ("ours-app-large", "hidden-app-large", "secret-app-large"),
}


@pytest.fixture(scope="module")
def core() -> Iterator[SchedulerLoop]:
    running = SchedulerLoop()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def observed(core: SchedulerLoop) -> Iterator[Observation]:
    """Two partitions with an application in each of their queues, and what was recorded of them."""
    watching = Observation(core, ObservationSettings())
    core.start()
    watching.start()
    queues = (leaf("ours"), leaf("ours_hidden"), leaf("hidden"))
    homes = (partition(*queues, name="p"), partition(*queues, name="secret"))
    answer = core.register(c.RegisterResourceManager("rm", Configuration(homes))).result(60)
    assert answer.reason == ""
    for home, node, applications in (
        ("p", "n1", {"ours-app": "ours", "hidden-app": "hidden"}),
        ("secret", "secret-node", {"secret-app": "ours"}),
    ):
        attributes = {"si/node-partition": home}
        update = c.NodeUpdate(node, c.CREATE, {"vcore": 10}, attributes=attributes)
        new = [
            c.NewApplication(
                name, f"root.{queue}", home, "hidden-user" if home == "p" else "mallory"
            )
            for name, queue in applications.items()
        ]
        asks = [c.Ask(name, f"{name}-key", {"vcore": 1}, home) for name in applications]
        large = [c.Ask(name, f"{name}-large", {"vcore": 99}, home) for name in applications]
        for command in (
            c.UpdateNodes("rm", (update,)),
            c.UpdateApplications("rm", new=tuple(new)),
            c.UpdateAllocations("rm", asks=(*asks, *large)),
        ):
            assert core.try_submit(command)
    core.barrier("rm").result(60)
    everything = reader_of(core, watching)
    placed = "/ws/v1/partition/secret/applications/active"
    wait(lambda: "secret-node" in answered(everything, placed).text)
    wait(lambda: "secret-app" in answered(everything, "/ws/v1/events/batch").text)
    yield watching
    watching.stop()


def reader_of(
    core: SchedulerLoop,
    observed: Observation,
    scope: Scope | None = None,
    *,
    audit: Audit = no_audit,
    more: Routes | None = None,
) -> TestClient:
    """Return a client for the readers with a scope."""
    reader = Identity("team", (), (digest(TOKEN),), (), read=True, reads=scope)
    routes = {**observed.routes, **(more or {})}
    app = build_app(core, more=routes, callers=KnownCallers([reader]), audit=audit)
    return TestClient(app, "http://remuda", follow_redirects=False)


def paths_of(observed: Observation) -> list[str]:
    """Return the paths of all routes, but for those that are open to everybody."""
    paths = [*ROUTES, *DESCRIPTION_ROUTES, *observed.routes]
    return sorted({path for path in paths if not is_open(path)})


def filled(path: str) -> Iterator[str]:
    """Yield a path with all values of its parameters, those that are in all scopes first."""
    names = [name for name in VALUES if f"{{{name}}}" in path]
    for values in product(*(VALUES[name] for name in names)):
        yield path.format_map(dict(zip(names, values, strict=True)))


def answered(client: TestClient, path: str) -> Any:
    if path.startswith(("/ws/v1/validate-conf", "/ws/v1/config/impact")):
        return client.post(path, content=b"partitions: []", headers=bearer(TOKEN))
    if "/dry-run" in path:
        ask = {"allocationKey": "k", "resource": {"vcore": 99}}
        body = {"applicationId": "new", "queue": "root.ours", "asks": [ask], "within": 60}
        return client.post(path, content=json.dumps(body), headers=bearer(TOKEN))
    return client.get(path, headers=bearer(TOKEN))


@pytest.mark.parametrize("scope, for_it", [(QUEUE, FOR_QUEUES), (PARTITION, FOR_PARTITIONS)])
def test_every_route_but_those_of_the_table_is_refused(
    core: SchedulerLoop, observed: Observation, scope: Scope, for_it: set[str]
) -> None:
    client = reader_of(core, observed, scope)
    paths = paths_of(observed)
    assert for_it <= set(paths)
    for path in paths:
        if path == STREAM:
            continue  # it would not end
        answer = answered(client, next(filled(path)))
        assert (answer.status_code != 403) == (path in for_it), path
        if answer.status_code == 403 and not path.startswith(("/debug/", "/ws/v1/stack")):
            words = ("The scope of the caller does not include ", "The role of an administrator")
            assert answer.json()["message"].startswith(words)


@pytest.mark.parametrize(
    "scope, beyond",
    [
        (QUEUE, ("hidden-app", "root.hidden", "ours_hidden", "secret", "mallory")),
        (PARTITION, ("secret", "mallory")),
        (ANY_PARTITION, ("hidden-app", "root.hidden", "ours_hidden")),
    ],
)
@pytest.mark.parametrize("options", ["", "?subtree&include=completed,rejected&rm=rm&start=oldest"])
def test_no_route_shows_what_is_beyond_the_scope(
    core: SchedulerLoop, observed: Observation, scope: Scope, beyond: tuple[str, ...], options: str
) -> None:
    client = reader_of(core, observed, scope)
    shown = 0
    for path in paths_of(observed):
        for each in filled(path) if path != STREAM else ():
            answer = answered(client, each + options)
            if answer.status_code == 200:
                shown += len(answer.text) > 3
                assert not [word for word in beyond if word in answer.text], each
            elif answer.status_code != 403:
                # A refusal repeats the path; others tell nothing but that something is not there.
                assert answer.status_code in (400, 404, 500), each
    assert shown > 5


def test_what_is_in_the_scope_is_shown_as_to_a_reader_without_one(
    core: SchedulerLoop, observed: Observation
) -> None:
    scoped, plain = reader_of(core, observed, QUEUE), reader_of(core, observed)
    for path in FOR_QUEUES - {STREAM, "/ws/v1/events/batch"} - CUT:
        each = next(filled(path))
        answer = answered(scoped, each)
        assert answer.status_code == 200, each
        assert answer.text == answered(plain, each).text


@pytest.mark.parametrize(
    "path, missing",
    [
        ("/ws/v1/config", "the whole scheduler"),
        ("/ws/v1/metrics", "the whole scheduler"),
        ("/ws/v1/partitions", "partitions as a whole"),
        ("/ws/v1/scheduler/node-utilization", "partition default as a whole"),
        ("/ws/v1/partition/p/nodes", "partition p as a whole"),
        ("/ws/v1/partition/p/queue/root.hidden", "queue root.hidden of partition p"),
        ("/ws/v1/partition/secret/queue/root.ours", "queue root.ours of partition secret"),
        ("/ws/v1/partition/secret/application/secret-app", "partition secret"),
    ],
)
def test_a_refusal_says_what_the_scope_lacks_and_is_recorded(
    core: SchedulerLoop, observed: Observation, path: str, missing: str
) -> None:
    kept: list[Record] = []
    client = reader_of(core, observed, QUEUE, audit=kept.append)
    answer = answered(client, path)
    text = f"The scope of the caller does not include {missing}"
    assert answer.status_code == 403
    assert answer.json() == {"status_code": 403, "message": text, "description": text}
    (record,) = kept
    assert (record.what, record.outcome, record.who) == (AUTHORIZE, REFUSED, "team")
    assert (record.target, record.reason) == (path, text)


def test_an_application_beyond_the_scope_does_not_exist(
    core: SchedulerLoop, observed: Observation
) -> None:
    client = reader_of(core, observed, QUEUE)
    for end in ("", "/pending"):
        there = answered(client, f"/ws/v1/partition/p/application/hidden-app{end}")
        nowhere = answered(client, f"/ws/v1/partition/p/application/none{end}")
        assert (there.status_code, there.text) == (404, nowhere.text)


def test_lists_of_partitions_have_those_of_the_scope(
    core: SchedulerLoop, observed: Observation
) -> None:
    client = reader_of(core, observed, PARTITION)
    partitions = answered(client, "/ws/v1/partitions")
    assert [each["name"] for each in partitions.json()] == ["p"]
    assert partitions.headers["x-total-count"] == "1"
    assert [each["partition"] for each in answered(client, "/ws/v1/clusters").json()] == ["p"]
    loads = answered(client, "/ws/v1/scheduler/node-utilizations").json()
    assert [each["partition"] for each in loads] == ["p"]


def test_a_route_that_says_nothing_is_refused_before_its_body_is_read(
    core: SchedulerLoop, observed: Observation
) -> None:
    async def answer(_views: object, _asked: Asked) -> object:
        return {"all": True}

    more = {"/ws/v1/new": Endpoint(answer), "/ws/v1/newpost": Endpoint(answer, body_limit=10)}
    plain, scoped = [reader_of(core, observed, each, more=more) for each in (None, PARTITION)]
    assert plain.get("/ws/v1/new", headers=bearer(TOKEN)).status_code == 200
    assert scoped.get("/ws/v1/new", headers=bearer(TOKEN)).status_code == 403
    assert scoped.post("/ws/v1/newpost", content=b"x", headers=bearer(TOKEN)).status_code == 403


@pytest.mark.parametrize(
    "kind, home, name, queue, seen",
    [
        (ev.APP, "p", "a", "root.ours", True),
        (ev.NODE, "p", "n", "root.ours.below", True),
        (ev.NODE, "p", "n", "", False),
        (ev.APP, "p", "a", "root.hidden", False),
        (ev.APP, "secret", "a", "root.ours", False),
        (ev.QUEUE, "p", "root.ours", "", True),
        (ev.QUEUE, "p", "root", "", False),
        (ev.USERGROUP, "p", "ann", "root", False),
        (0, "", "", "", False),
    ],
)
def test_records_are_seen_by_partition_and_queue(
    kind: int, home: str, name: str, queue: str, seen: bool
) -> None:
    record = EventRecord("rm", home, kind, name, "", ev.ADD, 0, 1, queue=queue)
    assert Selection(scope=QUEUE).of(1, [record]) == (([1], [record]) if seen else ([], []))
    assert Selection(scope=PARTITION).takes(record) == (home == "p")
    assert not Selection(scope=Scope(("default",))).takes(record)
