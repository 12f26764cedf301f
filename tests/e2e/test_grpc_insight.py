"""Why, what would help, what would happen and when, asked of a served process over gRPC."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import grpc
import pytest
from google.protobuf.message import Message

from remuda.client import Client, Security
from remuda.edges.grpc.shaped import mapping
from remuda.edges.questions.submission import SUBMISSION_LIMIT
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import InsightStub
from remuda.si.wire import resource
from tests.e2e.open_calls import bearer, metadata
from tests.e2e.serving import FREE_PORTS, PARTITION, Served
from tests.e2e.test_scopes import identity
from tests.waiting import wait

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies take /proc")

# Long, for a copy has 30 s to answer.
SECONDS: Final = 60.0

WHOLE, TEAM, OWN, OTHER = "correct horse", "battery staple", "own jobs", "other jobs"
DAY_ONLY, OPERATOR, ADMIN = "jobs by day", "on call", "root of all"
ACCESS: Final = "".join(
    [
        identity("whole", WHOLE, "read = true"),
        identity(
            "team", TEAM, "role = 'reader'", "partitions = ['default']", "queues = ['root.day']"
        ),
        identity("cluster", OWN, "rm-ids = ['rm']"),
        identity("elsewhere", OTHER, "rm-ids = ['other']"),
        identity("operations", OPERATOR, "role = 'operator'", "queues = ['root.night']"),
        identity("owner", ADMIN, "role = 'administrator'"),
        identity("day", DAY_ONLY, "role = 'rm'", "rm-ids = ['rm']", "queues = ['root.day']"),
    ]
)
QUEUES: Final = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - {name: day, resources: {guaranteed: {vcore: 2}}}
          - {name: night, properties: {preemption.delay: 1s}}
"""
# One queue goes, and the other may use less than it does.
CONFIG: Final = QUEUES.replace(
    "          - {name: day, resources: {guaranteed: {vcore: 2}}}\n", ""
).replace("{name: night,", "{name: night, resources: {max: {vcore: 2}},")

# A node that is reserved for the ask that waits would be taken from the others.
NO_RESERVATIONS: Final = ("--reservation-delay", "off")

PAGE: Final[dict[str, Any]] = {"application_id": "report", "allocation_key": "page"}
PAGE_PATH: Final = f"{PARTITION}/application/report/ask/page"

# What differs from one moment to the next, and the lines that name it.
_MOMENTARY: Final = ("timestamp", "atNs", "waitingSeconds", "log", "belowSince")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A full node, a draining one, and two applications: one that runs, and one whose ask waits."""
    home = tmp_path_factory.mktemp("served")
    (home / "queues.yaml").write_text(QUEUES)
    (home / "access.toml").write_text(ACCESS)
    access = str(home / "access.toml")
    options = ("--grpc-access", access, "--rest-access", access)
    with (
        Served(
            *FREE_PORTS, *options, "--config", str(home / "queues.yaml"), *NO_RESERVATIONS
        ) as running,
        Client(running.grpc, "rm", security=Security(token=OWN)) as client,
    ):
        client.register()
        client.add_nodes({"n1": {"vcore": 4_000}, "n2": {"vcore": 4_000}})
        client.send(si.NodeRequest(nodes=[si.NodeInfo(nodeID="n2", action=si.NodeInfo.DRAIN_NODE)]))
        client.add_application("train", queue="root.night", user="bo")
        client.ask("train", "worker", {"vcore": 2_000}, count=2)
        assert len(client.allocations(2)) == 2
        client.add_application("report", queue="root.day", user="ada")
        client.ask("report", "page", {"vcore": 2_000})
        running.client.timeout = SECONDS
        running.client.headers = bearer(WHOLE)
        wait(lambda: "nodes" in running.client.get(f"{PAGE_PATH}/explain").text)
        yield running
        assert "Traceback" not in running.log


@pytest.fixture(scope="module")
def insight(served: Served) -> Iterator[InsightStub]:
    with grpc.insecure_channel(served.grpc) as channel:
        yield InsightStub(channel)


def asked(method: Any, request: Message, token: str = WHOLE) -> Any:
    """Return the answer to a question."""
    return method(request, timeout=SECONDS, metadata=metadata(token))


def refused(method: Any, request: Message, token: str = WHOLE) -> tuple[grpc.StatusCode, str]:
    """Return the status of a question that is not answered."""
    with pytest.raises(grpc.RpcError) as error:
        asked(method, request, token)
    call: Any = error.value
    return call.code(), call.details()


def camel(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


def facts(found: object) -> Any:
    """Return what is told, without what is nothing and what changes by itself."""
    if isinstance(found, Mapping):
        told = {camel(name): facts(each) for name, each in found.items()}
        lines = isinstance(told.get("text"), list)
        left_out = (*_MOMENTARY, "text") if lines else _MOMENTARY
        return {name: each for name, each in told.items() if each and name not in left_out}
    return [facts(each) for each in found] if isinstance(found, list) else found


def same(grpc_answer: Callable[[], Message], rest_answer: Callable[[], object]) -> Any:
    """Return the facts, when both have told the same ones about the same state."""
    found: list[Any] = []

    def equal() -> bool:
        found[:] = [facts(mapping(grpc_answer())), facts(rest_answer())]
        return bool(found[0] == found[1])

    wait(equal)
    return found[0]


def submission(**more: Any) -> ext.DryRunRequest:
    ask = ext.DryRunRequest.Ask(allocation_key="k", resource=resource({"vcore": 2_000}))
    fields = {"application_id": "new", "queue": "root.day", "user": "ada", "asks": [ask], **more}
    return ext.DryRunRequest(**fields)


BODY: Final = {
    "applicationId": "new",
    "queue": "root.day",
    "user": "ada",
    "asks": [{"allocationKey": "k", "resource": {"vcore": 2_000}}],
}


@pytest.mark.remuda_rule("EXT-157", "EXT-62")
def test_an_explanation_has_the_facts_of_the_http_api(served: Served, insight: InsightStub) -> None:
    request = ext.ExplainRequest(**PAGE)
    found = same(
        lambda: asked(insight.Explain, request),
        lambda: served.client.get(f"{PAGE_PATH}/explain").json(),
    )
    assert (found["waits"], found["gate"], found["pending"]) == (True, "nodes", 1)
    assert found["requested"] == {"vcore": 2_000}
    answer: ext.AskExplanation = asked(insight.Explain, request)
    assert answer.text[0] == "report/page waits: 1 pending, each vcore 2"
    (failed,) = [each for each in answer.gates if not each.passed]
    assert (failed.gate, failed.HasField("available")) == ("nodes", False)
    root = next(each for each in answer.gates if each.subject == "root")
    assert root.used == resource({"vcore": 4_000})
    assert [each.kind for each in answer.levels] == ["queues", "applications", "asks"]
    assert (answer.nodes_now.total, answer.nodes_now.no_room) == (2, 1)
    assert answer.nearest[0].lacking == resource({"vcore": 2_000})
    assert answer.timestamp > 0 < answer.state_version


@pytest.mark.remuda_rule("EXT-157", "EXT-63")
def test_ways_out_have_the_facts_of_the_http_api(served: Served, insight: InsightStub) -> None:
    found = same(
        lambda: asked(insight.WaysOut, ext.WaysOutRequest(**PAGE, within=1.5)),
        lambda: served.client.get(f"{PAGE_PATH}/ways-out?within=1.5").json(),
    )
    assert (found["waits"], found["within"]) == (True, 1.5)
    assert "application train ends" in [each["text"] for each in found["ways"]]


@pytest.mark.remuda_rule("EXT-157", "EXT-158", "EXT-64")
def test_a_dry_run_has_the_facts_of_the_http_api(served: Served, insight: InsightStub) -> None:
    def rest(**more: object) -> object:
        return served.client.post(f"{PARTITION}/dry-run", json={**BODY, **more}).json()

    waits = same(lambda: asked(insight.DryRun, submission()), rest)
    assert (waits["outcome"], waits["queueName"]) == ("waits", "root.day")
    assert waits["waiting"] == [{"allocationKey": "k", "pending": 1, "gate": "nodes"}]
    wanted = submission(allow_preempt_other=True, within=60)
    placed = same(
        lambda: asked(insight.DryRun, wanted),
        lambda: rest(allowPreemptOther=True, within=60),
    )
    assert placed["outcome"] == "placed"
    assert placed["victims"][0]["applicationId"] == "train"
    group = ext.DryRunRequest.TaskGroup(
        name="w", min_member=3, min_resource=resource({"vcore": 500})
    )
    gang = same(
        lambda: asked(insight.DryRun, submission(asks=[], task_groups=[group])),
        lambda: rest(
            asks=[], taskGroups=[{"name": "w", "minMember": 3, "minResource": {"vcore": 500}}]
        ),
    )
    assert gang["waitingCount"] == 3
    refusal = same(
        lambda: asked(insight.DryRun, submission(queue="root.none")),
        lambda: rest(queue="root.none"),
    )
    assert (refusal["outcome"], len(refusal["refusals"])) == ("refused", 1)


@pytest.mark.remuda_rule("EXT-157", "EXT-70")
def test_the_impact_of_a_configuration_has_the_facts_of_the_http_api(
    served: Served, insight: InsightStub
) -> None:
    request = ext.ConfigImpactRequest(config=CONFIG, within=1)
    found = same(
        lambda: asked(insight.ConfigImpact, request),
        lambda: served.client.post("/ws/v1/config/impact?within=1", content=CONFIG).json(),
    )
    assert [each["queue"] for each in found["impact"]["queuesGone"]] == ["root.day"]
    (quota,) = asked(insight.ConfigImpact, request).impact.quotas_below_usage
    assert (quota.HasField("before"), quota.after, quota.against) == (False, 2_000, 4_000)
    usual = asked(insight.ConfigImpact, ext.ConfigImpactRequest(config=CONFIG, rm_id="rm"))
    assert usual.impact.within_seconds == 60.0


@pytest.mark.remuda_rule("EXT-157", "EXT-124")
def test_forecasts_have_the_facts_of_the_http_api(served: Served, insight: InsightStub) -> None:
    of_application = same(
        lambda: asked(insight.Forecast, ext.ForecastRequest(application_id="report")),
        lambda: served.client.get(f"{PARTITION}/application/report/forecast").json(),
    )
    assert of_application["forecasts"][0]["applicationId"] == "report"
    wanted = ext.ForecastRequest(queue="root.day", within=60, without_arrivals=True)
    path = f"{PARTITION}/queue/root.day/forecast?within=60&arrivals=false"
    of_queue = same(lambda: asked(insight.Forecast, wanted), lambda: served.client.get(path).json())
    assert of_queue["forecasts"][0]["queueName"] == "root.day"


@pytest.mark.remuda_rule("EXT-157", "EXT-60", "EXT-61")
def test_fair_shares_have_the_facts_of_the_http_api(served: Served, insight: InsightStub) -> None:
    path = f"{PARTITION}/fairshare"
    found = same(
        lambda: asked(insight.ListFairShares, ext.ListFairSharesRequest()),
        lambda: {"queues": served.client.get(path).json()},
    )
    assert [each["queueName"] for each in found["queues"]] == ["root", "root.day", "root.night"]
    assert found["queues"][1]["owed"] == {"vcore": 2_000}
    names: list[list[str]] = []
    token = ""
    while not names or token:
        request = ext.ListFairSharesRequest(page_size=2, page_token=token)
        page: ext.ListFairSharesResponse = asked(insight.ListFairShares, request)
        names.append([each.queue_name for each in page.queues])
        token = page.next_page_token
    assert names == [["root", "root.day"], ["root.night"]]
    one = same(
        lambda: asked(insight.GetFairShare, ext.GetFairShareRequest(queue="ROOT.day")),
        lambda: served.client.get(f"{PARTITION}/queue/root.day/fairshare").json(),
    )
    assert one["queue"]["queueName"] == "root.day"


UNKNOWN: Final[list[tuple[str, Message, str]]] = [
    (
        "Explain",
        ext.ExplainRequest(application_id="none", allocation_key="k"),
        "Application not found",
    ),
    ("Explain", ext.ExplainRequest(application_id="report", allocation_key="k"), "Ask not found"),
    ("Explain", ext.ExplainRequest(**PAGE, partition="none"), "Partition not found"),
    ("Explain", ext.ExplainRequest(**PAGE, rm_id="none"), "Partition not found"),
    (
        "WaysOut",
        ext.WaysOutRequest(application_id="none", allocation_key="k"),
        "Application not found",
    ),
    ("WaysOut", ext.WaysOutRequest(application_id="report", allocation_key="k"), "Ask not found"),
    ("DryRun", submission(partition="none"), "Partition not found"),
    ("ConfigImpact", ext.ConfigImpactRequest(rm_id="none"), "Resource manager not found"),
    ("Forecast", ext.ForecastRequest(application_id="none"), "Application not found"),
    ("Forecast", ext.ForecastRequest(queue="root.none"), "Queue not found"),
    ("GetFairShare", ext.GetFairShareRequest(queue="root.none"), "Queue not found"),
    ("GetFairShare", ext.GetFairShareRequest(queue="no queue"), "Queue not found"),
    ("ListFairShares", ext.ListFairSharesRequest(partition="none"), "Partition not found"),
]


@pytest.mark.remuda_rule("EXT-160")
@pytest.mark.parametrize("number", range(len(UNKNOWN)))
def test_what_does_not_exist_is_named(insight: InsightStub, number: int) -> None:
    method, request, text = UNKNOWN[number]
    assert refused(getattr(insight, method), request) == (grpc.StatusCode.NOT_FOUND, text)


NO_AMOUNT: Final = ext.DryRunRequest.Ask(allocation_key="k", resource=resource({"vcore": -1}))
WRONG: Final[list[tuple[str, Message, str]]] = [
    ("Explain", ext.ExplainRequest(application_id="report"), "allocation_key are needed"),
    ("WaysOut", ext.WaysOutRequest(allocation_key="page"), "allocation_key are needed"),
    ("WaysOut", ext.WaysOutRequest(**PAGE, within=-1), '-1 is not a valid value for "within"'),
    ("WaysOut", ext.WaysOutRequest(**PAGE, within=math.nan), "nan is not a valid value"),
    ("WaysOut", ext.WaysOutRequest(**PAGE, within=86_401), "86401 is not a valid value"),
    ("DryRun", ext.DryRunRequest(), "The submission is wrong: Object missing required field"),
    ("DryRun", submission(asks=[NO_AMOUNT]), "vcore has to be from 0 to"),
    ("DryRun", submission(asks=[ext.DryRunRequest.Ask(allocation_key="k")]), "`$.asks[0]`"),
    ("DryRun", submission(within=math.nan), "$.within"),
    ("DryRun", submission(within=math.inf), "$.within"),
    ("DryRun", submission(gang_scheduling_style="soft"), "$.gangSchedulingStyle"),
    ("DryRun", submission(user="x" * 2_000), "$.user"),
    ("ConfigImpact", ext.ConfigImpactRequest(config="partitions: 7"), "config:1:13"),
    (
        "ConfigImpact",
        ext.ConfigImpactRequest(
            config=CONFIG.replace("{name: night,", "{name: night, parent: true,")
        ),
        "cannot become a parent",
    ),
    ("ConfigImpact", ext.ConfigImpactRequest(config=CONFIG, within=-0.5), "-0.5 is not a valid"),
    ("Forecast", ext.ForecastRequest(), "application_id or queue is needed"),
    ("Forecast", ext.ForecastRequest(application_id=""), "application_id or queue is needed"),
    ("Forecast", ext.ForecastRequest(queue=""), "application_id or queue is needed"),
    ("GetFairShare", ext.GetFairShareRequest(), "queue is needed"),
    ("Forecast", ext.ForecastRequest(queue="root", within=1e300), "1e+300 is not a valid value"),
]


@pytest.mark.remuda_rule("EXT-160", "EXT-158")
@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_question_is_refused_with_what_is_wrong(insight: InsightStub, number: int) -> None:
    method, request, text = WRONG[number]
    code, said = refused(getattr(insight, method), request)
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert text in said
    assert "\n" not in said


@pytest.mark.remuda_rule("EXT-160")
def test_a_request_that_is_too_long_is_refused(insight: InsightStub) -> None:
    long = submission(tags={"t": "x" * SUBMISSION_LIMIT})
    code, said = refused(insight.DryRun, long)
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert said.endswith(f"at most {SUBMISSION_LIMIT} are taken")


# ------------------------------------------------------------------------------ access

METHODS: Final[Mapping[str, Message]] = {
    "Explain": ext.ExplainRequest(**PAGE),
    "WaysOut": ext.WaysOutRequest(**PAGE),
    "DryRun": submission(),
    "ConfigImpact": ext.ConfigImpactRequest(config=CONFIG, within=1),
    "Forecast": ext.ForecastRequest(application_id="report"),
    "ListFairShares": ext.ListFairSharesRequest(),
    "GetFairShare": ext.GetFairShareRequest(queue="root.day"),
}


@pytest.mark.remuda_rule("EXT-159")
@pytest.mark.parametrize("method", METHODS)
def test_each_call_needs_somebody_who_may_ask(insight: InsightStub, method: str) -> None:
    call, request = getattr(insight, method), METHODS[method]
    with pytest.raises(grpc.RpcError) as error:
        call(request, timeout=SECONDS)
    nobody: Any = error.value
    assert nobody.code() is grpc.StatusCode.UNAUTHENTICATED
    assert asked(call, request, OWN).ByteSize() > 0
    # An RM that is somebody else's does not exist, and may not be named.
    assert refused(call, request, OTHER)[0] is grpc.StatusCode.NOT_FOUND
    named = type(request).FromString(request.SerializeToString())
    setattr(named, "rm_id", "rm")  # noqa: B010 - all of these requests have the field
    code, text = refused(call, named, OTHER)
    assert code is grpc.StatusCode.PERMISSION_DENIED
    assert "may not act for resource manager 'rm'" in text


@pytest.mark.remuda_rule("EXT-159", "EXT-32", "EXT-65")
def test_a_reader_with_a_scope_asks_about_what_is_in_it(insight: InsightStub) -> None:
    own: ext.AskExplanation = asked(insight.Explain, METHODS["Explain"], TEAM)
    assert (own.waits, own.queue_name, list(own.nearest)) == (True, "root.day", [])
    ways: ext.WaysOutAnswer = asked(insight.WaysOut, METHODS["WaysOut"], TEAM)
    assert "train" not in " ".join([way.text for way in ways.ways])
    wanted = submission(allow_preempt_other=True, within=60)
    tried: ext.DryRunAnswer = asked(insight.DryRun, wanted, TEAM)
    assert (tried.outcome, list(tried.victims), tried.hidden) == ("placed", [], 1)
    share: ext.FairShareHistory = asked(insight.GetFairShare, METHODS["GetFairShare"], TEAM)
    assert share.queue.queue_name == "root.day"
    assert asked(insight.Forecast, ext.ForecastRequest(queue="root.day"), TEAM).forecasts


@pytest.mark.remuda_rule("EXT-159")
@pytest.mark.parametrize("token", [OPERATOR, ADMIN])
@pytest.mark.parametrize("method", METHODS)
def test_operators_and_administrators_ask_about_everything(
    insight: InsightStub, method: str, token: str
) -> None:
    assert asked(getattr(insight, method), METHODS[method], token).ByteSize() > 0


@pytest.mark.remuda_rule("EXT-158", "EXT-33")
def test_a_submission_is_tried_in_the_queues_that_the_caller_may_place_in(
    insight: InsightStub,
) -> None:
    own: ext.DryRunAnswer = asked(insight.DryRun, submission(), DAY_ONLY)
    assert own.outcome == "waits"
    other: ext.DryRunAnswer = asked(insight.DryRun, submission(queue="root.night"), DAY_ONLY)
    assert other.outcome == "refused"
    assert "beyond the scope of its RM (queues root.day)" in other.refusals[0].reason
    assert asked(insight.DryRun, submission(queue="root.night"), OWN).outcome == "waits"


BEYOND: Final[list[tuple[str, Message, grpc.StatusCode, str]]] = [
    (
        "Explain",
        ext.ExplainRequest(application_id="train", allocation_key="worker"),
        grpc.StatusCode.NOT_FOUND,
        "Application not found",
    ),
    (
        "Forecast",
        ext.ForecastRequest(application_id="train"),
        grpc.StatusCode.NOT_FOUND,
        "Application not found",
    ),
    (
        "Explain",
        ext.ExplainRequest(**PAGE, partition="gpu"),
        grpc.StatusCode.PERMISSION_DENIED,
        "The scope of the caller does not include partition gpu",
    ),
    (
        "Forecast",
        ext.ForecastRequest(queue="root.night"),
        grpc.StatusCode.PERMISSION_DENIED,
        "The scope of the caller does not include queue root.night of partition default",
    ),
    (
        "GetFairShare",
        ext.GetFairShareRequest(queue="root.none"),
        grpc.StatusCode.PERMISSION_DENIED,
        "The scope of the caller does not include queue root.none of partition default",
    ),
    (
        "ListFairShares",
        ext.ListFairSharesRequest(partition="default"),
        grpc.StatusCode.PERMISSION_DENIED,
        "The scope of the caller does not include partition default as a whole",
    ),
    (
        "ConfigImpact",
        METHODS["ConfigImpact"],
        grpc.StatusCode.PERMISSION_DENIED,
        "'team' may read within its scope only: over HTTP, or by remuda.v1.Insight",
    ),
]


@pytest.mark.remuda_rule("EXT-159", "EXT-32")
@pytest.mark.parametrize("number", range(len(BEYOND)))
def test_what_is_beyond_the_scope_is_refused(insight: InsightStub, number: int) -> None:
    method, request, code, text = BEYOND[number]
    assert refused(getattr(insight, method), request, TEAM) == (code, text)
