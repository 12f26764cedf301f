"""What operators see and do over gRPC: who is there, what is stopped, what there is at all."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.roster import RmState
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import AdminStub, SchedulerExtensionStub
from tests.e2e.grpc_service import SECONDS, Service, load
from tests.e2e.test_grpc_connections import wait_for
from tests.e2e.test_grpc_streams import application, asks, node, placed, prepare

Info = ext.ResourceManagerInfo
START, STOP = ext.ChangeObjectStateRequest.START, ext.ChangeObjectStateRequest.STOP
UNDRAIN, DRAIN = ext.ChangeNodeStateRequest.UNDRAIN, ext.ChangeNodeStateRequest.DRAIN


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


@pytest.fixture
def admin(service: Service) -> AdminStub:
    return AdminStub(service.channel)


def listed(admin: AdminStub) -> dict[str, Info]:
    answer = admin.ListResourceManagers(ext.ListResourceManagersRequest(), timeout=SECONDS)
    return {entry.rm_id: entry for entry in answer.resource_managers}


def dumped(service: Service, *, include_rm: bool = False, budget_ms: int = 0) -> dict[str, Any]:
    stub = SchedulerExtensionStub(service.channel)
    request = ext.StateDumpRequest(include_rm=include_rm, rm_budget_millis=budget_ms)
    text = b"".join(chunk.data for chunk in stub.GetStateDump(request, timeout=SECONDS))
    assert text.endswith(b"}\n")
    assert text.decode() == pretty(json.loads(text))
    found: dict[str, Any] = json.loads(text)
    return found


def pretty(found: object) -> str:
    """JSON with two blanks per level, and three characters escaped (REST-11, DMP-1)."""
    text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    for plain, escaped in (("&", "\\u0026"), ("<", "\\u003c"), (">", "\\u003e")):
        text = text.replace(plain, escaped)
    return text


@pytest.mark.remuda_rule("RM-14", "RM-17", "RM-19")
def test_the_states_of_all_resource_managers_are_listed(service: Service, admin: AdminStub) -> None:
    streams = prepare(service)
    asking = service.allocations("rm")
    asking.send(asks(1))
    placed(asking, 1)
    service.register("idle")
    service.register("left", extra={"secret": "s3cret"})
    stub = SchedulerExtensionStub(service.channel)
    stub.UnregisterResourceManager(ext.UnregisterRequest(rm_id="left"), timeout=SECONDS)
    found = listed(admin)
    assert {name: Info.State.Name(entry.state) for name, entry in found.items()} == {
        "idle": "RUNNING",
        "left": "STOPPED",
        "rm": "RUNNING",
    }
    assert list(found["left"].partitions) == []
    before = found["rm"].state_since_unix_nano
    streams.cancel()
    asking.cancel()
    wait_for(service, RmState.PAUSED)
    paused = listed(admin)["rm"]
    assert (paused.state, paused.transport) == (Info.PAUSED, "streams")
    assert paused.state_since_unix_nano > before
    assert list(paused.partitions) == ["default"]


@pytest.mark.remuda_rule("RM-15")
def test_what_waits_for_a_resource_manager_is_counted(service: Service, admin: AdminStub) -> None:
    prepare(service).cancel()
    asking = service.allocations("rm")
    asking.send(asks(1))
    placed(asking, 1)  # what it did to the application cannot be told: that stream is closed
    assert listed(admin)["rm"].queued_messages >= 1


@pytest.mark.remuda_rule("RM-17", "RM-19")
def test_an_operator_stops_a_resource_manager(service: Service, admin: AdminStub) -> None:
    streams = prepare(service)
    request = ext.StopResourceManagerRequest(rm_id="rm", reason="broken\nand more")
    answer = admin.StopResourceManager(request, timeout=SECONDS)
    removed = (answer.removed_partitions, answer.removed_applications, answer.removed_nodes)
    assert removed == (1, 1, 1)
    assert streams.refusal()[0] is grpc.StatusCode.ABORTED
    assert listed(admin)["rm"].state == Info.STOPPED
    with pytest.raises(grpc.RpcError) as caught:
        admin.StopResourceManager(request, timeout=SECONDS)
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.remuda_rule("EXT-25", "OBJ-4", "OBJ-8")
def test_an_operator_stops_and_starts_a_queue_and_a_partition(
    service: Service, admin: AdminStub
) -> None:
    prepare(service)
    asking = service.allocations("rm")
    for queue in ("root.a", ""):
        stop = ext.ChangeObjectStateRequest(rm_id="rm", queue=queue, action=STOP)
        answer = admin.ChangeObjectState(stop, timeout=SECONDS)
        assert (answer.previous, answer.current) == ("Active", "Stopped")
        more = asks(1)
        more.asks[0].allocationKey = f"in {queue}"
        asking.send(more)
        service.core.barrier("rm").result(SECONDS)
        service.core.idle().result(SECONDS)
        listing = admin.ListPartitions(ext.ListPartitionsRequest(), timeout=SECONDS)
        (partition,) = listing.partitions
        assert partition.state == ("Active" if queue else "Stopped")
        start = ext.ChangeObjectStateRequest(rm_id="rm", queue=queue, action=START)
        answer = admin.ChangeObjectState(start, timeout=SECONDS)
        assert (answer.previous, answer.current) == ("Stopped", "Active")
        assert placed(asking, 1) == [f"in {queue}"]


@pytest.mark.remuda_rule("EXT-25")
@pytest.mark.parametrize(
    "request_, code, detail",
    [
        (
            ext.ChangeObjectStateRequest(rm_id="no", action=STOP),
            grpc.StatusCode.FAILED_PRECONDITION,
            "resource manager 'no' is not registered",
        ),
        (
            ext.ChangeObjectStateRequest(rm_id="rm", partition="gpu", action=STOP),
            grpc.StatusCode.NOT_FOUND,
            "partition 'gpu' doesn't exist",
        ),
        (
            ext.ChangeObjectStateRequest(rm_id="rm", queue="root.b", action=STOP),
            grpc.StatusCode.NOT_FOUND,
            "queue 'root.b' doesn't exist in partition default",
        ),
        (
            ext.ChangeObjectStateRequest(rm_id="rm", queue="root.a"),
            grpc.StatusCode.INVALID_ARGUMENT,
            "action 0 is none: 1 starts, 2 stops",
        ),
    ],
)
def test_what_cannot_be_changed_is_refused(
    service: Service,
    admin: AdminStub,
    request_: ext.ChangeObjectStateRequest,
    code: grpc.StatusCode,
    detail: str,
) -> None:
    service.register()
    with pytest.raises(grpc.RpcError) as caught:
        admin.ChangeObjectState(request_, timeout=SECONDS)
    assert (caught.value.code(), caught.value.details()) == (code, detail)


@pytest.mark.remuda_rule("EXT-176")
def test_an_operator_drains_a_node_and_what_waits_comes_there_afterwards(
    service: Service, admin: AdminStub
) -> None:
    prepare(service)
    asking = service.allocations("rm")
    drain = ext.ChangeNodeStateRequest(rm_id="rm", node_id="n", action=DRAIN)
    answer = admin.ChangeNodeState(drain, timeout=SECONDS)
    assert (answer.previous, answer.current) == ("Schedulable", "Draining")
    asking.send(asks(1))
    service.core.barrier("rm").result(SECONDS)
    service.core.idle().result(SECONDS)
    (partition,) = admin.ListPartitions(ext.ListPartitionsRequest(), timeout=SECONDS).partitions
    assert partition.allocations == 0
    undrain = ext.ChangeNodeStateRequest(rm_id="rm", node_id="n", action=UNDRAIN)
    answer = admin.ChangeNodeState(undrain, timeout=SECONDS)
    assert (answer.previous, answer.current) == ("Draining", "Schedulable")
    assert len(placed(asking, 1)) == 1


@pytest.mark.remuda_rule("EXT-176")
@pytest.mark.parametrize(
    "request_, code, detail",
    [
        (
            ext.ChangeNodeStateRequest(rm_id="no", node_id="n1", action=DRAIN),
            grpc.StatusCode.FAILED_PRECONDITION,
            "resource manager 'no' is not registered",
        ),
        (
            ext.ChangeNodeStateRequest(rm_id="rm", partition="gpu", node_id="n1", action=DRAIN),
            grpc.StatusCode.NOT_FOUND,
            "partition 'gpu' doesn't exist",
        ),
        (
            ext.ChangeNodeStateRequest(rm_id="rm", node_id="n1", action=DRAIN),
            grpc.StatusCode.NOT_FOUND,
            "node 'n1' doesn't exist in partition default",
        ),
        (
            ext.ChangeNodeStateRequest(rm_id="rm", action=DRAIN),
            grpc.StatusCode.INVALID_ARGUMENT,
            "node_id is empty",
        ),
        (
            ext.ChangeNodeStateRequest(rm_id="rm", node_id="n1"),
            grpc.StatusCode.INVALID_ARGUMENT,
            "action 0 is none: 1 undrains, 2 drains",
        ),
    ],
)
def test_a_drain_that_cannot_be_is_refused(
    service: Service,
    admin: AdminStub,
    request_: ext.ChangeNodeStateRequest,
    code: grpc.StatusCode,
    detail: str,
) -> None:
    service.register()
    with pytest.raises(grpc.RpcError) as caught:
        admin.ChangeNodeState(request_, timeout=SECONDS)
    assert (caught.value.code(), caught.value.details()) == (code, detail)


@pytest.mark.remuda_rule("KV-2")
def test_an_operator_changes_what_a_logger_says(admin: AdminStub) -> None:
    logger = logging.getLogger("remuda.runtime")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        request = ext.SetLogLevelRequest(logger="core.scheduler", level="DEBUG")
        assert admin.SetLogLevel(request, timeout=SECONDS).previous == "warn"
        assert logger.level == logging.DEBUG
        request = ext.SetLogLevelRequest(logger="remuda.runtime", level="1")
        assert admin.SetLogLevel(request, timeout=SECONDS).previous == "debug"
        assert logger.level == logging.WARNING
    finally:
        logger.setLevel(before)


@pytest.mark.remuda_rule("KV-2")
@pytest.mark.parametrize(
    "logger, level, detail",
    [
        ("core.scheduler", "loud", "'loud' is no level; use debug, info, warn or error"),
        ("core.scheduler", "", "'' is no level; use debug, info, warn or error"),
        ("asyncio", "debug", "logger 'asyncio' is not one of the scheduler"),
        ("core.never.heard", "debug", "there is no logger 'core.never.heard'"),
    ],
)
def test_a_logger_or_level_that_is_none_is_refused(
    admin: AdminStub, logger: str, level: str, detail: str
) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        admin.SetLogLevel(ext.SetLogLevelRequest(logger=logger, level=level), timeout=SECONDS)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details() == detail
    assert "core.never.heard" not in logging.Logger.manager.loggerDict


@pytest.mark.remuda_rule("DMP-1", "DMP-3", "DMP-4", "DMP-6", "DMP-8")
def test_a_dump_shows_what_there_is(service: Service) -> None:
    assert list(dumped(service)) == ["timestamp", "config", "version"]
    prepare(service)
    asking = service.allocations("rm")
    asking.send(asks(300))
    placed(asking, 300)
    found = dumped(service)
    assert list(found) == [
        *("timestamp", "partitions", "applications", "nodes", "queues", "config"),
        *("placementRules", "users", "version"),
    ]
    assert [(each["clusterId"], each["name"]) for each in found["partitions"]] == [
        ("rm", "default")
    ]
    (app,) = found["applications"]
    assert (app["applicationID"], len(app["allocations"])) == ("a", 300)
    (nodes,) = found["nodes"]
    assert nodes["partitionName"] == "default"
    assert [each["nodeID"] for each in nodes["nodesInfo"]] == ["n"]
    (root,) = found["queues"]
    assert (root["queuename"], root["partition"]) == ("root", "default")
    assert [each["queuename"] for each in root["children"]] == ["root.a"]


@pytest.mark.remuda_rule("DMP-1")
def test_a_dump_of_many_objects_is_one_document(service: Service) -> None:
    service.register()
    service.register("empty")
    nodes, applications = service.nodes("rm"), service.applications("rm")
    for number in range(300):
        nodes.send(node(f"n{number}"))
        applications.send(application(f'a{number} <"&\u00e9\n'))
    service.core.barrier("rm").result(SECONDS)
    for stream in (nodes, applications):
        stream.half_close()
        stream.rest()
    found = dumped(service)
    assert len(found["applications"]) == 300
    assert found["applications"][7]["applicationID"].endswith('<"&\u00e9\n')
    by_name = [len(each.get("nodesInfo", [])) for each in found["nodes"]]
    assert sorted(by_name) == [0, 300]


class Rm:
    """A resource manager in this process that tells about itself, or does not."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def get_state_dump(self) -> object:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.mark.remuda_rule("SI-84", "DMP-11", "DMP-16")
@pytest.mark.parametrize(
    "answer, shown",
    [
        ('{"pods": 3}', {"pods": 3}),
        ("{}", {}),
        (ValueError("no pods"), {"Error": "no pods"}),
        ("[]", {"Error": "the dump is no JSON object"}),
        (7, {"Error": "the dump is int, not text"}),
    ],
)
def test_a_dump_has_what_the_rm_says_about_itself(
    service: Service, answer: object, shown: object
) -> None:
    with InProcessScheduler(core=service.core, load=load) as inside:
        inside.register_resource_manager(si.RegisterResourceManagerRequest(rmID="in"), Rm(answer))
        assert dumped(service, include_rm=True)["rmDiagnostics"] == shown
        assert "rmDiagnostics" not in dumped(service)


@pytest.mark.remuda_rule("SI-84", "SI-106", "DMP-16")
def test_a_dump_of_several_rms_has_an_object_for_each(service: Service) -> None:
    service.register("out")
    empty = {"empty": "Resource Manager did not register callback"}
    assert dumped(service, include_rm=True)["rmDiagnostics"] == empty
    with InProcessScheduler(core=service.core, load=load) as inside:
        for name, callback in (("bad", Rm("{")), ("good", Rm('{"a": 1}')), ("mute", object())):
            request = si.RegisterResourceManagerRequest(rmID=name)
            inside.register_resource_manager(request, callback)
        found = dumped(service, include_rm=True)["rmDiagnostics"]
        assert sorted(found) == ["bad", "good", "mute", "out"]
        assert (found["good"], found["mute"], found["out"]) == ({"a": 1}, empty, empty)
        assert list(found["bad"]) == ["Error"]
    assert dumped(service, include_rm=True)["rmDiagnostics"] == empty


@pytest.mark.remuda_rule("SI-84")
def test_an_rm_that_hangs_costs_a_dump_its_budget_and_no_more(service: Service) -> None:
    leave = threading.Event()

    class Hanging:
        def get_state_dump(self) -> str:
            leave.wait(SECONDS)
            return "{}"

    with InProcessScheduler(core=service.core, load=load) as inside:
        inside.register_resource_manager(si.RegisterResourceManagerRequest(rmID="in"), Hanging())
        late = {"Error": "no answer in time"}
        assert dumped(service, include_rm=True, budget_ms=20)["rmDiagnostics"] == late
        again = dumped(service, include_rm=True, budget_ms=20)["rmDiagnostics"]
        assert again == {"Error": "the last call of get_state_dump has not returned yet"}
        leave.set()


@pytest.mark.remuda_rule("EXT-23")
def test_secrets_are_in_no_dump_no_list_and_no_log(
    service: Service, admin: AdminStub, caplog: pytest.LogCaptureFixture
) -> None:
    """Edge case 23."""
    with caplog.at_level(logging.DEBUG):
        service.register("rm", extra={"token": "s3cret", "log.level": "s3cret"})
        texts = [
            json.dumps(dumped(service, include_rm=True)),
            str(listed(admin)["rm"]),
            str(admin.ListPartitions(ext.ListPartitionsRequest(), timeout=SECONDS)),
        ]
    assert "s3cret" not in "".join([*texts, caplog.text])


def test_two_dumps_at_once_both_succeed(service: Service) -> None:
    prepare(service)
    stub = SchedulerExtensionStub(service.channel)
    calls = [stub.GetStateDump(ext.StateDumpRequest(), timeout=SECONDS) for _ in range(3)]
    found = [json.loads(b"".join(chunk.data for chunk in call)) for call in calls]
    assert [len(each["partitions"]) for each in found] == [1, 1, 1]
