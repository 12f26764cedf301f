"""The services that complete the scheduler interface, over a real connection."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import grpc
import pytest

import remuda
from remuda.client import Admin, Client, ClientError
from remuda.config.checksum import checksum
from remuda.config.load import load_configuration
from remuda.config.schema import BUILT_IN_TEXT
from remuda.core.messages.queries import ApplicationsQuery, ConfigurationsQuery, ConfigurationView
from remuda.core.messages.rows import rows
from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import AdminStub, SchedulerExtensionStub
from tests.e2e.grpc_service import SECONDS, Service
from tests.e2e.queue_files import THREE, TWO
from tests.waiting import wait

PARENT = TWO.replace("{name: a}", "{name: a, parent: true}")


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(load=load_configuration, stored=load_configuration(TWO)) as running:
        yield running
        running.core.check().result(SECONDS)


@pytest.fixture
def admin(service: Service) -> Iterator[Admin]:
    with Admin(service.address, timeout=SECONDS) as running:
        yield running


def in_force(service: Service) -> dict[str, str]:
    """RM ID -> text."""
    views = service.core.query(ConfigurationsQuery()).result(SECONDS)
    return {view.rm_id: view.text for view in rows(ConfigurationView, views)}


def extra(service: Service) -> dict[str, dict[str, str]]:
    """RM ID -> extra map."""
    views = service.core.query(ConfigurationsQuery()).result(SECONDS)
    return {view.rm_id: dict(view.extra_config) for view in rows(ConfigurationView, views)}


def register(service: Service, rm_id: str, group: str = "", config: str = "") -> None:
    request = si.RegisterResourceManagerRequest(
        rmID=rm_id,
        version="7",
        policyGroup=group,
        config=config,
        buildInfo={"arch": "any"},
        extraConfig={"of": rm_id},
    )
    service.stub.RegisterResourceManager(request, timeout=SECONDS)


@pytest.mark.remuda_rule("EXT-20")
def test_capabilities_name_what_there_is(service: Service) -> None:
    stub = SchedulerExtensionStub(service.channel)
    first = stub.GetCapabilities(ext.CapabilitiesRequest(), timeout=SECONDS)
    second = stub.GetCapabilities(ext.CapabilitiesRequest(), timeout=SECONDS)
    assert (first.version.major, first.version.minor) == (1, 0)
    assert (first.core_version, first.si_level) == (remuda.__version__, "1.5.1")
    assert set(first.features) == {
        "predicates",
        "preemption-predicates",
        "events",
        "container-states",
        "state-dump",
        "responses",
        "configuration",
        "node-handles",
    }
    assert first.core_uuid == second.core_uuid != ""
    with Service() as another:
        other = SchedulerExtensionStub(another.channel)
        answer = other.GetCapabilities(ext.CapabilitiesRequest(), timeout=SECONDS)
        assert answer.core_uuid != first.core_uuid


@pytest.mark.remuda_rule("SI-85", "SI-88", "CHK-5", "RM-5")
def test_an_rm_updates_its_configuration(service: Service) -> None:
    with Client(service.address, "rm") as client:
        client.register()
        client.add_nodes({"n": {"vcore": 10}})
        client.add_application("app", queue="root.a")
        client.ask("app", "k", {"vcore": 1})
        assert len(client.allocations(1)) == 1
        assert client.update_configuration(THREE, extra_config={"a": "b"})
        assert in_force(service) == {"rm": THREE}
        assert extra(service) == {"rm": {"a": "b"}}
        client.add_application("new", queue="root.c")
        assert not client.update_configuration(THREE)
        assert extra(service) == {"rm": {}}
        assert client.update_configuration()
        assert in_force(service) == {"rm": TWO}
        client.ask("app", "k2", {"vcore": 1})
        assert len(client.allocations(1)) == 1


@pytest.mark.remuda_rule("SI-85", "CFG-4", "RLD-26")
@pytest.mark.parametrize(
    "text, reason",
    [
        (THREE.replace("{name: b}", "{nam: b}"), "field nam not found"),
        (PARENT, "queue root.a cannot become a parent while it has 1 applications [RLD-26]"),
    ],
)
def test_a_refused_update_gives_the_reasons_and_changes_nothing(
    service: Service, text: str, reason: str
) -> None:
    with Client(service.address, "rm") as client:
        client.register(extra_config={"a": "b"})
        client.add_application("app", queue="root.a")
        with pytest.raises(ClientError) as caught:
            client.update_configuration(text, extra_config={"c": "d"})
        assert str(caught.value).startswith("configuration refused: <config>")
        assert reason in str(caught.value)
        assert in_force(service) == {"rm": TWO}
        assert extra(service) == {"rm": {"a": "b"}}
        request = si.UpdateConfigurationRequest(rmID="rm", config=text)
        stub = SchedulerExtensionStub(service.channel)
        answer = stub.UpdateConfiguration(request, timeout=SECONDS)
        assert (answer.success, answer.changed, answer.checksum) == (False, False, checksum(TWO))


@pytest.mark.remuda_rule("SI-85", "RM-19", "SI-100")
def test_calls_for_an_rm_that_is_not_registered_fail(service: Service) -> None:
    stub = SchedulerExtensionStub(service.channel)
    update = si.UpdateConfigurationRequest(rmID="nobody", config=THREE)
    for call in (
        lambda: stub.UpdateConfiguration(update, timeout=SECONDS),
        lambda: stub.UnregisterResourceManager(
            ext.UnregisterRequest(rm_id="nobody"), timeout=SECONDS
        ),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            call()
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert caught.value.details() == "resource manager 'nobody' is not registered"


def test_too_large_a_map_is_refused(service: Service) -> None:
    register(service, "rm")
    stub = SchedulerExtensionStub(service.channel)
    many = {str(number): "" for number in range(2_000)}
    update = si.UpdateConfigurationRequest(rmID="rm", extraConfig=many)
    document = ext.ConfigurationDocument(config=THREE, extra_config=many)
    request = ext.SetConfigurationRequest(document=document)
    for call in (
        lambda: stub.UpdateConfiguration(update, timeout=SECONDS),
        lambda: AdminStub(service.channel).SetConfiguration(request, timeout=SECONDS),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            call()
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert in_force(service) == {"rm": TWO}


@pytest.mark.remuda_rule("RM-19")
def test_an_rm_leaves_with_all_it_has_and_its_streams_end(service: Service) -> None:
    with Client(service.address, "rm") as client:
        client.register()
        client.add_nodes({"n": {"vcore": 10}, "m": {"vcore": 10}})
        client.add_application("app", queue="root.a")
        stub = SchedulerExtensionStub(service.channel)
        request = ext.UnregisterRequest(rm_id="rm", reason="moving")
        answer = stub.UnregisterResourceManager(request, timeout=SECONDS)
        counts = (answer.removed_partitions, answer.removed_applications, answer.removed_nodes)
        assert counts == (1, 1, 2)
        assert in_force(service) == {}
        with pytest.raises(ClientError, match="ABORTED: the registration of this stream has ended"):
            for _ in client.responses():
                pass


@pytest.mark.remuda_rule("RM-3", "RM-4", "RM-8")
def test_what_is_registered_is_listed(service: Service) -> None:
    register(service, "b", "science", THREE.replace("name: default", "name: gpu"))
    with InProcessScheduler(core=service.core) as inside:
        inside.register_resource_manager(si.RegisterResourceManagerRequest(rmID="a"))
        answer = AdminStub(service.channel).ListResourceManagers(
            ext.ListResourceManagersRequest(), timeout=SECONDS
        )
        first, second = answer.resource_managers
        assert (first.rm_id, first.transport, list(first.partitions)) == (
            "a",
            "in-process",
            ["default"],
        )
        assert (second.rm_id, second.version, second.policy_group) == ("b", "7", "science")
        assert (second.transport, list(second.partitions)) == ("streams", ["gpu"])
        assert dict(second.build_info) == {"arch": "any", "rmId": "b"}
        assert second.state == ext.ResourceManagerInfo.RUNNING
        assert 0 < first.state_since_unix_nano > second.state_since_unix_nano


def test_partitions_are_listed(service: Service) -> None:
    with Client(service.address, "rm") as client:
        client.register()
        client.add_nodes({"n": {"vcore": 10}})
        client.add_application("app", queue="root.a")
        client.ask("app", "k", {"vcore": 3}, count=2)
        assert len(client.allocations(2)) == 2
        register(service, "other")
        stub = AdminStub(service.channel)
        everything = stub.ListPartitions(ext.ListPartitionsRequest(), timeout=SECONDS)
        assert [entry.rm_id for entry in everything.partitions] == ["other", "rm"]
        request = ext.ListPartitionsRequest(rm_id="rm")
        (found,) = stub.ListPartitions(request, timeout=SECONDS).partitions
        assert (found.name, found.state, found.nodes, found.allocations) == (
            "default",
            "Active",
            1,
            2,
        )
        assert found.capacity.resources["vcore"].value == 10
        assert found.allocated.resources["vcore"].value == 6
        assert sum(found.applications_by_state.values()) == 1


@pytest.mark.remuda_rule("TOOL-2")
def test_a_configuration_is_checked_without_being_used(admin: Admin, service: Service) -> None:
    register(service, "rm")
    assert admin.validate(THREE) == ""
    assert admin.validate("") == ""
    reason = admin.validate(TWO.replace("{name: a}, {name: b}", "{name: a}, {name: A}, {x: 1}"))
    assert "[CFG-13]" in reason
    assert "[CFG-62]" in reason
    assert in_force(service) == {"rm": TWO}


@pytest.mark.remuda_rule("RM-4", "RM-5", "EXT-24")
def test_a_document_is_read_stored_and_taken_away(admin: Admin, service: Service) -> None:
    found = admin.get_configuration()
    assert (found.policy_group, found.config, found.checksum) == ("", TWO, checksum(TWO))
    register(service, "one", "science")
    assert admin.get_configuration().policy_group == "science"
    register(service, "two", "arts")
    with pytest.raises(ClientError, match="several policy groups, name one of: arts, science"):
        admin.get_configuration()
    with pytest.raises(ClientError, match="several policy groups, name one of: arts, science"):
        admin.set_configuration(THREE)
    assert admin.set_configuration(THREE, policy_group="science") == checksum(THREE)
    assert admin.get_configuration("science").config == THREE
    assert admin.get_configuration("arts").config == TWO
    assert in_force(service) == {"one": THREE, "two": TWO}
    register(service, "three", "science")
    assert in_force(service)["three"] == THREE
    assert admin.set_configuration("", policy_group="science") == checksum(TWO)
    assert set(in_force(service).values()) == {TWO}


@pytest.mark.remuda_rule("EXT-24", "RM-4", "SI-86")
def test_a_document_is_put_in_force_for_all_rms_of_the_group_or_for_none(
    admin: Admin, service: Service
) -> None:
    register(service, "free", "science")
    register(service, "inline", "science", BUILT_IN_TEXT)
    with Client(service.address, "busy") as busy:
        busy.register(policy_group="science", extra_config={"of": "busy"})
        busy.add_application("app", queue="root.a")
        before = in_force(service)
        assert before == {"free": TWO, "inline": BUILT_IN_TEXT, "busy": TWO}
        for dry_run in (True, False):
            with pytest.raises(ClientError) as caught:
                admin.set_configuration(
                    PARENT, policy_group="science", extra_config={"a": "b"}, dry_run=dry_run
                )
            assert str(caught.value) == (
                "configuration refused: 1 of 2 resource managers cannot take it; "
                "busy: queue root.a cannot become a parent while it has 1 applications"
            )
            assert in_force(service) == before
            assert extra(service)["free"] == {"of": "free"}
            assert admin.get_configuration("science").config == TWO
        busy.remove_application("app")
        running = ApplicationsQuery("default", "", "busy")
        wait(lambda: service.core.query(running).result(SECONDS) == ())
        in_science = partial(
            admin.set_configuration, PARENT, policy_group="science", extra_config={"a": "b"}
        )
        assert in_science(dry_run=True) == checksum(TWO)
        assert in_force(service) == before
        assert in_science() == checksum(PARENT)
        assert in_force(service) == {"free": PARENT, "inline": BUILT_IN_TEXT, "busy": PARENT}
        assert extra(service) == {
            "free": {"a": "b"},
            "inline": {"of": "inline"},
            "busy": {"a": "b"},
        }
        assert dict(admin.get_configuration("science").extra_config) == {"a": "b"}
        admin.set_configuration(THREE, policy_group="science")
        assert extra(service)["free"] == {"a": "b"}


@pytest.mark.remuda_rule("EXT-24")
def test_an_update_that_somebody_else_overtook_is_refused(admin: Admin, service: Service) -> None:
    register(service, "rm", "science")
    seen = admin.get_configuration().checksum
    admin.set_configuration(THREE, expected_checksum=seen)
    with pytest.raises(ClientError, match="the checksum of the document in force is"):
        admin.set_configuration(TWO, expected_checksum=seen)
    assert in_force(service) == {"rm": THREE}


@pytest.mark.remuda_rule("EXT-24", "CFG-5")
def test_a_bad_document_is_refused_with_all_its_faults(admin: Admin, service: Service) -> None:
    register(service, "rm")
    bad = TWO.replace("{name: a}, {name: b}", "{name: a}, {name: A}, {x: 1}")
    with pytest.raises(ClientError) as caught:
        admin.set_configuration(bad)
    assert "[CFG-13]" in str(caught.value)
    assert "[CFG-62]" in str(caught.value)
    assert in_force(service) == {"rm": TWO}
    assert admin.get_configuration().config == TWO


def test_an_administrator_hears_in_one_line_that_nobody_answers() -> None:
    with (
        Admin("127.0.0.1:1", timeout=0.5) as admin,
        pytest.raises(ClientError, match=r"^no scheduler answers at 127.0.0.1:1"),
    ):
        admin.get_configuration()
