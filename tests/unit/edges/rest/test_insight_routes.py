"""Why an ask waits, what would help, and what would happen, asked over HTTP."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from starlette.testclient import TestClient

from remuda.base.scopes import Scope
from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import gates
from remuda.core.messages.trace_queries import DRAINING, NO_ROOM
from remuda.core.scheduler import Scheduler
from remuda.edges.callers import KnownCallers
from remuda.edges.questions.questions import Questions
from remuda.edges.questions.submission import MEMBERS_LIMIT, SUBMISSION_LIMIT
from remuda.edges.rest.routes.insight import InsightRoutes
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rights import Identity
from remuda.runtime.driver import AskedAt
from remuda.runtime.forks.limits import FORK_LIMITS
from remuda.runtime.loop import SchedulerLoop
from tests.unit.core.door import leaf, partition
from tests.unit.edges.rest.schema import assert_valid
from tests.unit.edges.rest.test_access import bearer, digest
from tests.waiting import wait

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies take /proc")

TOKEN: Final = "correct horse"
P: Final = "/ws/v1/partition/default"
PAGE: Final = f"{P}/application/report/ask/page"
WORKER: Final = f"{P}/application/train/ask/worker"
DAY: Final = Scope((), ("root.day",))


@pytest.fixture(scope="module")
def core() -> Iterator[SchedulerLoop]:
    """A full node, a draining one, an application that runs and one that waits.

    The queue that waits is owed its guarantee, so its asks may preempt the other's work.
    """
    running = SchedulerLoop(reservation_delay_ns=None)
    running.start()
    night = leaf("night", properties={"preemption.delay": "1s"})
    home = partition(leaf("day", None, {"vcore": 2_000}), night)
    answer = running.register(c.RegisterResourceManager("rm", Configuration((home,)))).result(60)
    assert answer.reason == ""
    nodes = [c.NodeUpdate(name, c.CREATE, {"vcore": 4_000}) for name in ("n1", "n2")]
    worker = c.Ask("train", "worker", {"vcore": 2_000}, max_allocations=2)
    for command in (
        c.UpdateNodes("rm", (*nodes, c.NodeUpdate("n2", c.DRAIN_NODE))),
        c.UpdateApplications("rm", new=(c.NewApplication("train", "root.night", user="bo"),)),
        c.UpdateAllocations("rm", asks=(worker,)),
    ):
        assert running.try_submit(command)
    wait(lambda: "n1" in client_of(running).get(f"{WORKER}/explain").text)
    for late in (
        c.UpdateApplications("rm", new=(c.NewApplication("report", "root.day", user="ada"),)),
        c.UpdateAllocations("rm", asks=(c.Ask("report", "page", {"vcore": 2_000}),)),
    ):
        assert running.try_submit(late)
    wait(lambda: gates.NODES in client_of(running).get(f"{PAGE}/explain").text)
    yield running
    running.stop()


def client_of(core: SchedulerLoop, scope: Scope | None = None) -> TestClient:
    """Return a client for a reader with a scope."""
    reader = Identity("team", (), (digest(TOKEN),), (), read=True, reads=scope)
    app = build_app(
        core, more=InsightRoutes(Questions(core)).routes(), callers=KnownCallers([reader])
    )
    return TestClient(app, "http://remuda", headers=bearer(TOKEN))


def explained(client: TestClient, path: str = PAGE) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"{path}/explain").json()
    assert_valid("AskExplanation", found)
    return found


def submission(**changes: object) -> dict[str, object]:
    """Return a submission of an application with one ask, which the day's queue would take."""
    ask = {"allocationKey": "k", "resource": {"vcore": "2"}}
    return {"applicationId": "new", "queue": "root.day", "asks": [ask], **changes}


def tried(client: TestClient, body: Mapping[str, object]) -> dict[str, Any]:
    answer = client.post(f"{P}/dry-run", content=json.dumps(body))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert_valid("DryRun", found)
    return found


@pytest.mark.remuda_rule("EXT-62")
def test_an_explanation_has_the_finding_and_everything_that_decides(core: SchedulerLoop) -> None:
    found = explained(client_of(core))
    assert (found["waits"], found["pending"], found["queueName"]) == (True, 1, "root.day")
    assert found["text"][0] == "report/page waits: 1 pending, each vcore 2"
    assert (found["gate"], found["requested"]) == (gates.NODES, {"vcore": 2_000})
    names = [each["gate"] for each in found["gates"]]
    assert names == sorted(names, key=gates.ORDER.index)
    assert [each["gate"] for each in found["gates"] if not each["passed"]] == [gates.NODES]
    (root,) = [each for each in found["gates"] if each.get("subject") == "root"]
    assert (root["used"], root["requested"]) == ({"vcore": 4_000}, {"vcore": 2_000})
    assert [(each["kind"], each["name"]) for each in found["levels"]] == [
        ("queues", "day"),
        ("applications", "report"),
        ("asks", "page"),
    ]
    assert found["nodesNow"] == {"total": 2, "draining": 1, "noRoom": 1}
    assert [(each["nodeId"], each["verdict"]) for each in found["nearest"]] == [
        ("n1", NO_ROOM),
        ("n2", DRAINING),
    ]
    assert found["nearest"][0]["lacking"] == {"vcore": 2_000}


@pytest.mark.remuda_rule("EXT-62")
def test_an_ask_that_is_placed_does_not_wait(core: SchedulerLoop) -> None:
    found = explained(client_of(core), WORKER)
    assert not found["waits"]
    assert len(found["placed"]) == 2
    assert found["text"][0].startswith("train/worker does not wait: ")
    assert "gates" not in found


@pytest.mark.remuda_rule("EXT-62")
def test_the_version_of_the_state_changes_with_an_input_only(core: SchedulerLoop) -> None:
    client = client_of(core)

    def settled() -> bool:
        """Whether no timer of the core was due between two questions."""
        one, two = explained(client), explained(client)
        assert two["timestamp"] >= one["timestamp"]
        return bool(one["stateVersion"] == two["stateVersion"] > 0)

    wait(settled)
    first = explained(client)
    assert core.try_submit(c.UpdateNodes("rm", (c.NodeUpdate("n2", c.DRAIN_NODE),)))
    core.barrier("rm").result(60)
    assert explained(client)["stateVersion"] > first["stateVersion"]


@pytest.mark.parametrize("what", ["explain", "ways-out"])
@pytest.mark.parametrize(
    "path, text",
    [
        (f"{P}/application/none/ask/page", "Application not found"),
        (f"{P}/application/report/ask/none", "Ask not found"),
        (PAGE.replace("default", "other"), "Partition not found"),
    ],
)
@pytest.mark.remuda_rule("REST-13")
def test_what_does_not_exist_is_named(core: SchedulerLoop, path: str, text: str, what: str) -> None:
    answer = client_of(core).get(f"{path}/{what}")
    assert (answer.status_code, answer.json()["message"]) == (404, text)


@pytest.mark.remuda_rule("EXT-63")
def test_ways_out_name_the_changes_that_place_the_ask(core: SchedulerLoop) -> None:
    found = client_of(core).get(f"{PAGE}/ways-out").json()
    assert_valid("WaysOut", found)
    assert found["waits"]
    ways = [(each["text"], each["nodeId"]) for each in found["ways"]]
    assert ("use node n2 again", "n2") in ways
    assert ("application train ends", "n1") in ways
    costs = [each["cost"] for each in found["ways"]]
    assert costs == sorted(costs)
    assert found["text"][0] == f"{len(ways)} changes would place report/page"
    placed = client_of(core).get(f"{WORKER}/ways-out").json()
    assert (placed["waits"], placed["ways"]) == (False, [])


@pytest.mark.remuda_rule("EXT-63")
@pytest.mark.parametrize("within", ["-1", "x", "1e3", "86401", "86400.000000001", "1.", "0" * 10])
def test_a_time_that_is_none_is_refused(core: SchedulerLoop, within: str) -> None:
    answer = client_of(core).get(f"{PAGE}/ways-out", params={"within": within})
    assert answer.status_code == 400
    assert answer.json()["message"] == f'{within} is not a valid value for "within"'


@pytest.mark.remuda_rule("EXT-64")
def test_a_dry_run_says_what_would_happen_and_nothing_does(core: SchedulerLoop) -> None:
    client = client_of(core)
    found = tried(client, submission())
    assert (found["outcome"], found["queueName"]) == ("waits", "root.day")
    assert found["waiting"] == [{"allocationKey": "k", "pending": 1, "gate": gates.NODES}]
    small = {"applicationId": "new", "queue": "root.none"}
    assert tried(client, small)["outcome"] == "refused"
    assert client.get(f"{P}/application/new/ask/k/explain").status_code == 404


@pytest.mark.remuda_rule("EXT-64")
def test_a_dry_run_names_the_victims_and_why(core: SchedulerLoop) -> None:
    body = submission(allowPreemptOther=True, within=60)
    found = tried(client_of(core), body)
    assert (found["outcome"], found["within"]) == ("placed", 60.0)
    (victim,) = found["victims"]
    assert (victim["applicationId"], victim["queueName"]) == ("train", "root.night")
    assert victim["preemptor"] == "new"
    assert victim["reasons"] == ["below 'root' queue 'root.day' is owed map[vcore:2000]"]
    assert found["placed"][0]["after"] > 0


@pytest.mark.remuda_rule("EXT-64")
def test_an_application_that_runs_gets_only_the_new_asks(core: SchedulerLoop) -> None:
    body = submission(applicationId="report", queue="root.none")
    found = tried(client_of(core), body)
    assert (found["outcome"], found["queueName"]) == ("waits", "root.day")
    assert [each["allocationKey"] for each in found["waiting"]] == ["k", "page"]


@pytest.mark.remuda_rule("EXT-64")
def test_a_gang_is_a_number_of_placeholders(core: SchedulerLoop) -> None:
    group = {"name": "w", "minMember": 3, "minResource": {"vcore": "500m"}}
    found = tried(client_of(core), submission(asks=[], taskGroups=[group]))
    assert found["waitingCount"] == 3
    assert [each["allocationKey"] for each in found["waiting"]] == ["tg-w-0", "tg-w-1", "tg-w-2"]


WRONG: Final[list[tuple[object, str]]] = [
    ({}, "required field `applicationId`"),
    (submission(que="x"), "unknown field `que`"),
    (submission(applicationId=""), "length >= 1 - at `$.applicationId`"),
    (submission(asks=[{"allocationKey": "k"}]), "required field `resource` - at `$.asks[0]`"),
    (submission(asks=[{"allocationKey": "k", "resource": {}}]), "$.asks[0].resource"),
    (submission(asks=[{"allocationKey": "k", "resource": {"vcore": 0}}]), "more than nothing"),
    (submission(asks=[{"allocationKey": "k", "resource": {"vcore": -1}}]), "from 0 to"),
    (submission(asks=[{"allocationKey": "k", "resource": {"vcore": 2**63}}]), "from 0 to"),
    (submission(asks=[{"allocationKey": "k", "resource": {"gpu": "1m"}}]), "gpu is '1m'"),
    (submission(asks=[{"allocationKey": "k", "resource": {"vcore": 1.5}}]), "got `float`"),
    (submission(asks=[{"allocationKey": "k", "resource": {"a": 1}}] * 2), "same allocationKey"),
    (
        submission(
            asks=[{"allocationKey": "tg-a-1", "resource": {"a": 1}}],
            taskGroups=[{"name": "a", "minMember": 2, "minResource": {"a": 1}}],
        ),
        "a placeholder has the allocationKey 'tg-a-1' already",
    ),
    (submission(within=-1), "$.within"),
    (submission(within=86_401), "$.within"),
    (submission(user=7), "Expected `str`, got `int` - at `$.user`"),
    (submission(gangSchedulingStyle="soft"), "$.gangSchedulingStyle"),
    (
        submission(taskGroups=[{"name": "a", "minMember": 1, "minResource": {"a": 1}}] * 2),
        "two task groups have the same name",
    ),
    (
        submission(
            taskGroups=[
                {"name": name, "minMember": MEMBERS_LIMIT, "minResource": {"a": 1}}
                for name in ("a", "b")
            ]
        ),
        f"more than {MEMBERS_LIMIT} members",
    ),
    (
        submission(taskGroups=[{"name": "a", "minMember": 2, "minResource": {"a": 2**63 - 1}}]),
        "its gang needs more than",
    ),
]


@pytest.mark.remuda_rule("EXT-64")
@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_submission_is_refused_with_what_is_wrong(core: SchedulerLoop, number: int) -> None:
    body, text = WRONG[number]
    answer = client_of(core).post(f"{P}/dry-run", content=json.dumps(body))
    assert answer.status_code == 400
    said = answer.json()["message"]
    assert said.startswith("The submission is wrong: ")
    assert text in said


@pytest.mark.remuda_rule("EXT-64")
@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b'{"applicationId": "\\ud800"}', b"[" * 50_000]
)
def test_a_body_that_is_no_json_is_refused(core: SchedulerLoop, content: bytes) -> None:
    answer = client_of(core).post(f"{P}/dry-run", content=content)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("The submission is wrong: ")


@pytest.mark.remuda_rule("EXT-66")
def test_a_submission_that_is_too_large_is_refused(core: SchedulerLoop) -> None:
    answer = client_of(core).post(f"{P}/dry-run", content=b" " * (SUBMISSION_LIMIT + 1))
    assert answer.status_code == 413


CONFIGURATION: Final = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: night
            resources: {max: {vcore: 2}}
"""


def impact(core: SchedulerLoop, text: str, **options: str) -> Any:
    return client_of(core).post("/ws/v1/config/impact", params=options, content=text)


@pytest.mark.remuda_rule("EXT-70")
def test_the_impact_of_a_configuration_is_told_in_lines_and_in_fields(core: SchedulerLoop) -> None:
    found = impact(core, CONFIGURATION, within="1").json()
    assert_valid("ConfigImpactAnswer", found)
    assert found["impact"]["within_seconds"] == 1.0
    assert [each["queue"] for each in found["impact"]["queues_gone"]] == ["root.day"]
    (quota,) = found["impact"]["quotas_below_usage"]
    assert (quota["queue"], quota["before"]) == ("root.night", None)
    assert (quota["after"], quota["against"]) == (2_000, 4_000)
    assert found["text"][0] == "queues that go: 1"
    assert impact(core, CONFIGURATION, rm="rm").json()["impact"]["within_seconds"] == 60.0


@pytest.mark.remuda_rule("EXT-67")
def test_all_queues_of_a_partition_that_goes_go_with_it(core: SchedulerLoop) -> None:
    found = impact(core, "null", within="0").json()["impact"]
    assert [each["queue"] for each in found["queues_gone"]] == ["root", "root.day", "root.night"]
    assert {each["after"] for each in found["moved"]} == {""}


@pytest.mark.remuda_rule("EXT-70")
@pytest.mark.parametrize(
    "text, options, status, said",
    [
        ("partitions: 7", {}, 400, "config:1:13"),
        (CONFIGURATION + "            queues: [{name: x}]\n", {}, 400, "cannot become a parent"),
        (CONFIGURATION, {"within": "-1"}, 400, '-1 is not a valid value for "within"'),
        (CONFIGURATION, {"rm": "none"}, 404, "Resource manager not found"),
    ],
)
def test_a_configuration_that_would_be_refused_has_no_impact(
    core: SchedulerLoop, text: str, options: dict[str, str], status: int, said: str
) -> None:
    answer = impact(core, text, **options)
    assert answer.status_code == status
    assert said in answer.json()["message"]


class Held:
    """A question that is answered when ``file`` is there."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self, scheduler: Scheduler, at: AskedAt) -> bytes:
        """Wait; the limit of a copy's time ends it otherwise."""
        while not self.file.exists():
            time.sleep(0.01)
        return b"done"


@pytest.mark.remuda_rule("EXT-66")
def test_without_a_place_for_a_copy_a_client_is_told_to_come_again(
    core: SchedulerLoop, tmp_path: Path
) -> None:
    held = Held(tmp_path / "go on")
    taken = [core.operations.answer_on_copy(held) for _ in range(FORK_LIMITS.copies)]
    answer = client_of(core).get(f"{PAGE}/explain")
    held.file.touch()
    assert [each.result() for each in taken] == [b"done"] * FORK_LIMITS.copies
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "2 copies of the scheduler answer questions already" in answer.json()["message"]
    assert client_of(core).get(f"{PAGE}/explain").status_code == 200


@pytest.mark.remuda_rule("EXT-66")
def test_without_copies_of_the_process_the_answer_says_so(
    core: SchedulerLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRPC_ENABLE_FORK_SUPPORT", "1")
    answer = client_of(core).get(f"{PAGE}/explain")
    assert answer.status_code == 501
    assert answer.json()["message"].startswith("The scheduler cannot be copied on this machine")


# ------------------------------------------------------------------------------ scopes


@pytest.mark.remuda_rule("EXT-65")
def test_a_reader_of_a_queue_sees_its_ask_and_no_other_names(core: SchedulerLoop) -> None:
    whole, own = explained(client_of(core)), explained(client_of(core, DAY))
    assert own["gates"] == whole["gates"]
    assert own["nodesNow"] == whole["nodesNow"]
    assert "nearest" not in own
    for level in whole["levels"]:
        assert [rival["name"] for rival in level.get("ahead", ())] == []
    assert not {"night", "train", "n2"} & set(json.dumps(own).replace('"', " ").split())


@pytest.mark.remuda_rule("EXT-65")
def test_rivals_beyond_the_scope_are_counted_and_not_named(core: SchedulerLoop) -> None:
    body = c.UpdateApplications("rm", new=(c.NewApplication("late", "root.night", user="bo"),))
    assert core.try_submit(body)
    assert core.try_submit(c.UpdateAllocations("rm", asks=(c.Ask("late", "k", {"vcore": 3_000}),)))
    path = f"{P}/application/late/ask/k"
    wait(lambda: gates.NODES in client_of(core).get(f"{path}/explain").text)
    night = Scope((), ("root.night",))
    whole, own = explained(client_of(core), path), explained(client_of(core, night), path)
    # The day's queue is owed its guarantee, so it is served first.
    assert [each["name"] for each in whole["levels"][0]["ahead"]] == ["day"]
    assert whole["levels"][0]["place"] == own["levels"][0]["place"] == 2
    assert "ahead" not in own["levels"][0]
    assert own["levels"][0]["hidden"] == 1
    removal = c.ApplicationRemoval("late")
    assert core.try_submit(c.UpdateApplications("rm", remove=(removal,)))
    core.barrier("rm").result(60)


@pytest.mark.remuda_rule("EXT-65", "EXT-32")
@pytest.mark.parametrize("what", ["explain", "ways-out"])
def test_an_ask_beyond_the_scope_does_not_exist(core: SchedulerLoop, what: str) -> None:
    client = client_of(core, DAY)
    there = client.get(f"{WORKER}/{what}")
    nowhere = client.get(f"{WORKER.replace('train', 'none')}/{what}")
    assert (there.status_code, there.text) == (404, nowhere.text)


@pytest.mark.remuda_rule("EXT-65")
def test_ways_out_of_a_reader_of_a_queue_name_nothing_else(core: SchedulerLoop) -> None:
    found = client_of(core, DAY).get(f"{PAGE}/ways-out").json()
    texts = [each["text"] for each in found["ways"]]
    assert "one more node with vcore 4000" in texts
    assert not [text for text in texts if "n2" in text or "train" in text or "night" in text]


@pytest.mark.remuda_rule("EXT-65")
def test_victims_beyond_the_scope_are_counted_and_not_named(core: SchedulerLoop) -> None:
    body = submission(allowPreemptOther=True, within=60)
    found = tried(client_of(core, DAY), body)
    assert found["outcome"] == "placed"
    assert "victims" not in found
    assert found["hidden"] == 1
    assert "train" not in json.dumps(found)


@pytest.mark.remuda_rule("EXT-65")
@pytest.mark.parametrize("queue", ["root.night", "root.none"])
def test_a_queue_beyond_the_scope_takes_no_submission(core: SchedulerLoop, queue: str) -> None:
    found = tried(client_of(core, DAY), submission(queue=queue))
    assert found["outcome"] == "refused"
    (refusal,) = found["refusals"]
    text = "the placement rules give the application no queue in the scope of the caller"
    assert refusal["reason"] == text
    assert "queueName" not in found


@pytest.mark.remuda_rule("EXT-65")
def test_the_id_of_an_application_beyond_the_scope_shows_nothing_of_it(core: SchedulerLoop) -> None:
    found = tried(client_of(core, DAY), submission(applicationId="train"))
    assert found["outcome"] == "refused"
    assert "queueName" not in found
    assert "night" not in json.dumps(found)


def forecast_of(client: TestClient, path: str) -> dict[str, Any]:
    answer = client.get(f"{P}/{path}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert_valid("Forecasts", found)
    return found


@pytest.mark.remuda_rule("EXT-124")
def test_a_forecast_says_that_too_little_is_known(core: SchedulerLoop) -> None:
    found = forecast_of(client_of(core), "application/report/forecast?within=60")
    (one,) = found["forecasts"]
    assert (one["applicationId"], one["queueName"]) == ("report", "root.day")
    assert (one["outcome"], one["low"]) == ("unknown", None)
    assert one["reason"].startswith("the run time of 3 of 3 allocations that run or wait is not")
    assert found["text"] == [f"report: unknown: {one['reason']}"]
    assert found["calibration"] == {"forecasts": 0, "held": 0, "open": 0, "widened": 0.0}
    assert found["stateVersion"] > 0


@pytest.mark.remuda_rule("EXT-124")
def test_a_forecast_of_a_queue_has_those_that_wait_in_it_and_below(core: SchedulerLoop) -> None:
    client = client_of(core)
    names = {
        queue: [each["applicationId"] for each in forecast_of(client, path)["forecasts"]]
        for queue in ("root", "ROOT.Day", "root.night")
        for path in [f"queue/{queue}/forecast?arrivals=false"]
    }
    assert names == {"root": ["report"], "ROOT.Day": ["report"], "root.night": []}
    assert forecast_of(client, "queue/root.night/forecast")["text"] == ["nothing waits there"]


@pytest.mark.remuda_rule("EXT-124")
@pytest.mark.parametrize(
    "path, status",
    [
        ("application/nobody/forecast", 404),
        ("queue/root.nowhere/forecast", 404),
        ("application/report/forecast?within=2592001", 400),
        ("application/report/forecast?within=x", 400),
        ("application/report/forecast?arrivals=no", 400),
    ],
)
def test_a_wrong_question_for_a_forecast_is_refused(
    core: SchedulerLoop, path: str, status: int
) -> None:
    answer = client_of(core).get(f"{P}/{path}")
    assert answer.status_code == status, answer.text


@pytest.mark.remuda_rule("EXT-124", "EXT-32")
def test_a_reader_has_no_forecast_beyond_its_scope(core: SchedulerLoop) -> None:
    client = client_of(core, DAY)
    found = forecast_of(client, "application/report/forecast")
    assert found["forecasts"][0]["outcome"] == "unknown"
    assert client.get(f"{P}/application/train/forecast").status_code == 404
    assert client.get(f"{P}/queue/root.night/forecast").status_code == 403
