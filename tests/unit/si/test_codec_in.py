"""Requests of a resource manager become commands of the core."""

from __future__ import annotations

import logging
import tracemalloc

import pytest

from remuda.base.errors import ConfigError, Problem
from remuda.config.schema import Configuration, built_in
from remuda.core.messages import commands
from remuda.core.messages.commands import (
    Unreadable,
    UpdateAllocations,
    UpdateApplications,
    UpdateNodes,
)
from remuda.si.codec_in import RequestReader, configuration_update, registration
from remuda.si.limits import MessageTooLargeError
from remuda.si.pb import si_pb2 as si


def quantities(**amounts: int) -> si.Resource:
    return si.Resource(resources={name: si.Quantity(value=n) for name, n in amounts.items()})


@pytest.fixture
def reader() -> RequestReader:
    return RequestReader("rm-1")


def test_a_registration_carries_everything_and_the_parsed_configuration() -> None:
    texts: list[str] = []

    def load(text: str) -> Configuration:
        texts.append(text)
        return built_in()

    request = si.RegisterResourceManagerRequest(
        rmID="rm-1",
        version="1.2",
        policyGroup="queues",
        buildInfo={"buildDate": "today"},
        config="partitions: []",
        extraConfig={"log.level": "INFO"},
    )
    assert registration(request, load, predicates=True) == commands.RegisterResourceManager(
        rm_id="rm-1",
        config=built_in(),
        version="1.2",
        policy_group="queues",
        build_info={"buildDate": "today"},
        extra_config={"log.level": "INFO"},
        predicates=True,
    )
    assert texts == ["partitions: []"]


@pytest.mark.remuda_rule("CFG-3", "CFG-4", "SI-85")
def test_an_update_carries_text_and_extra_map_and_no_policy_group() -> None:
    request = si.UpdateConfigurationRequest(
        rmID="rm-1", policyGroup="ignored", config="x", extraConfig={"a": "b"}
    )
    expected = commands.UpdateConfiguration("rm-1", built_in(), {"a": "b"})
    assert configuration_update(request, lambda text: built_in()) == expected
    empty = si.UpdateConfigurationRequest(rmID="rm-1")
    assert configuration_update(empty, lambda text: built_in()).extra_config == {}


@pytest.mark.remuda_rule("RM-6")
def test_a_bad_configuration_ends_the_registration_before_it_reaches_the_core() -> None:
    def load(text: str) -> Configuration:
        raise ConfigError([Problem("", "CFG-1", f"cannot read {text}")])

    with pytest.raises(ConfigError, match="cannot read x"):
        registration(si.RegisterResourceManagerRequest(rmID="rm-1", config="x"), load)


def test_an_ask_keeps_all_its_fields(reader: RequestReader) -> None:
    ask = si.AllocationAsk(
        allocationKey="k",
        applicationID="a",
        partitionName="gpu",
        resourceAsk=quantities(vcore=1000, memory=5),
        maxAllocations=3,
        priority=-7,
        executionTimeoutMilliSeconds=60_000,
        tags={"kubernetes.io/meta/namespace": "dev"},
        taskGroupName="group",
        placeholder=True,
        Originator=True,
        preemptionPolicy=si.PreemptionPolicy(allowPreemptSelf=False, allowPreemptOther=True),
    )
    command = reader.allocations(si.AllocationRequest(asks=[ask], rmID="rm-1"))
    expected = commands.Ask(
        application_id="a",
        allocation_key="k",
        resource={"vcore": 1000, "memory": 5},
        partition="gpu",
        max_allocations=3,
        priority=-7,
        tags={"kubernetes.io/meta/namespace": "dev"},
        execution_timeout_ms=60_000,
        task_group="group",
        placeholder=True,
        originator=True,
        allow_preempt_self=False,
        allow_preempt_other=True,
    )
    assert command == commands.UpdateAllocations("rm-1", asks=(expected,))


@pytest.mark.remuda_rule("SI-36")
def test_without_a_preemption_policy_an_ask_may_be_preempted_but_not_preempt(
    reader: RequestReader,
) -> None:
    request = si.AllocationRequest(
        asks=[si.AllocationAsk(allocationKey="k")],
        allocations=[si.Allocation(allocationKey="k")],
    )
    command = reader.allocations(request)
    for ask in (command.asks[0], command.allocations[0].ask):
        assert ask.allow_preempt_self
        assert not ask.allow_preempt_other


@pytest.mark.remuda_rule("SI-36")
def test_an_empty_preemption_policy_allows_nothing(reader: RequestReader) -> None:
    ask = si.AllocationAsk(allocationKey="k", preemptionPolicy=si.PreemptionPolicy())
    translated = reader.allocations(si.AllocationRequest(asks=[ask])).asks[0]
    assert not translated.allow_preempt_self
    assert not translated.allow_preempt_other


@pytest.mark.remuda_rule("SI-13", "RES-11")
def test_a_missing_resource_is_an_empty_one_and_zeros_are_kept(reader: RequestReader) -> None:
    request = si.AllocationRequest(
        asks=[
            si.AllocationAsk(allocationKey="missing"),
            si.AllocationAsk(allocationKey="empty", resourceAsk=si.Resource()),
            si.AllocationAsk(allocationKey="zero", resourceAsk=quantities(gpu=0)),
            si.AllocationAsk(
                allocationKey="no quantity",
                resourceAsk=si.Resource(resources={"gpu": si.Quantity()}),
            ),
        ]
    )
    amounts = [ask.resource for ask in reader.allocations(request).asks]
    assert amounts == [{}, {}, {"gpu": 0}, {"gpu": 0}]


@pytest.mark.remuda_rule("SI-13", "RES-1")
def test_quantities_are_the_whole_signed_64_bit_range(reader: RequestReader) -> None:
    low, high = -(2**63), 2**63 - 1
    ask = si.AllocationAsk(allocationKey="k", resourceAsk=quantities(a=low, b=high))
    resource = reader.allocations(si.AllocationRequest(asks=[ask])).asks[0].resource
    assert resource == {"a": low, "b": high}


def test_equal_resources_share_one_mapping_and_different_ones_do_not(
    reader: RequestReader,
) -> None:
    asks = [
        si.AllocationAsk(allocationKey="1", resourceAsk=quantities(vcore=1)),
        si.AllocationAsk(allocationKey="2", resourceAsk=quantities(vcore=1)),
        si.AllocationAsk(allocationKey="3", resourceAsk=quantities(vcore=2)),
    ]
    first, second, third = reader.allocations(si.AllocationRequest(asks=asks)).asks
    assert first.resource is second.resource
    assert third.resource == {"vcore": 2}


@pytest.mark.remuda_rule("SI-5")
def test_an_empty_request_is_an_empty_command(reader: RequestReader) -> None:
    assert reader.allocations(si.AllocationRequest()) == commands.UpdateAllocations("rm-1")
    assert reader.applications(si.ApplicationRequest()) == commands.UpdateApplications("rm-1")
    assert reader.nodes(si.NodeRequest()) == commands.UpdateNodes("rm-1")


@pytest.mark.remuda_rule("SI-61", "SI-110")
@pytest.mark.parametrize(
    "uuid, allocation_id, expected",
    [("u", "", "u"), ("", "i", "i"), ("same", "same", "same"), ("", "", "")],
)
def test_a_release_is_named_by_either_of_the_two_identity_fields(
    reader: RequestReader, uuid: str, allocation_id: str, expected: str
) -> None:
    release = si.AllocationRelease(
        applicationID="a",
        UUID=uuid,
        allocationID=allocation_id,
        allocationKey="k",
        partitionName="p",
        terminationType=si.PREEMPTED_BY_SCHEDULER,
        message="done",
    )
    releases = si.AllocationReleasesRequest(allocationsToRelease=[release])
    command = reader.allocations(si.AllocationRequest(releases=releases))
    assert command.releases == (
        commands.AllocationRelease(
            application_id="a",
            allocation_id=expected,
            allocation_key="k",
            partition="p",
            termination_type=commands.PREEMPTED_BY_SCHEDULER,
            message="done",
        ),
    )


@pytest.mark.remuda_rule("SI-61")
def test_a_release_with_two_different_identities_is_ignored_and_logged_once(
    reader: RequestReader, caplog: pytest.LogCaptureFixture
) -> None:
    entries = [
        si.AllocationRelease(applicationID="a", UUID="1", allocationID="2"),
        si.AllocationRelease(applicationID="a", UUID="3"),
        si.AllocationRelease(applicationID="a", UUID="4", allocationID="5"),
    ]
    releases = si.AllocationReleasesRequest(allocationsToRelease=entries)
    with caplog.at_level(logging.WARNING, "remuda.si"):
        command = reader.allocations(si.AllocationRequest(releases=releases))
    assert [release.allocation_id for release in command.releases] == ["3"]
    assert len(caplog.records) == 1
    assert "2 releases ignored" in caplog.text


@pytest.mark.remuda_rule("SI-40", "SI-61")
def test_a_running_allocation_with_two_different_identities_has_none(
    reader: RequestReader,
) -> None:
    entries = [
        si.Allocation(allocationKey="k", UUID="1", allocationID="2"),
        si.Allocation(allocationKey="k", UUID="1"),
        si.Allocation(allocationKey="k", allocationID="2"),
    ]
    command = reader.allocations(si.AllocationRequest(allocations=entries))
    assert [entry.allocation_id for entry in command.allocations] == ["", "1", "2"]
    assert [entry.identity_fault for entry in command.allocations] == [
        "its UUID and allocationID differ; send one of the two, or both equal",
        "",
        "",
    ]


def test_a_running_allocation_becomes_an_ask_for_one_with_its_place(
    reader: RequestReader,
) -> None:
    allocation = si.Allocation(
        allocationKey="k",
        allocationTags={"creationTime": "12"},
        UUID="id",
        resourcePerAlloc=quantities(vcore=2),
        priority=4,
        nodeID="n",
        applicationID="a",
        partitionName="p",
        taskGroupName="g",
        placeholder=True,
        originator=True,
    )
    command = reader.allocations(si.AllocationRequest(allocations=[allocation]))
    ask = commands.Ask(
        application_id="a",
        allocation_key="k",
        resource={"vcore": 2},
        partition="p",
        max_allocations=1,
        priority=4,
        tags={"creationTime": "12"},
        task_group="g",
        placeholder=True,
        originator=True,
    )
    assert command.allocations == (commands.ExistingAllocation(ask, "id", "n"),)


def test_ask_releases_keep_their_fields_and_unknown_types_count_as_unknown(
    reader: RequestReader,
) -> None:
    release = si.AllocationAskRelease(
        partitionName="p", applicationID="a", allocationKey="k", terminationType=si.TIMEOUT
    )
    strange = si.AllocationAskRelease(applicationID="a")
    strange.MergeFromString(b"\x20\x63")  # terminationType = 99
    releases = si.AllocationReleasesRequest(allocationAsksToRelease=[release, strange])
    command = reader.allocations(si.AllocationRequest(releases=releases))
    assert command.ask_releases == (
        commands.AskRelease("a", "k", "p", commands.TIMEOUT),
        commands.AskRelease("a", "", "", commands.UNKNOWN_TERMINATION_TYPE),
    )


def test_applications_are_added_and_removed_with_all_their_fields(reader: RequestReader) -> None:
    request = si.ApplicationRequest(
        new=[
            si.AddApplicationRequest(
                applicationID="a",
                queueName="root.q",
                partitionName="p",
                ugi=si.UserGroupInformation(user="ann", groups=["bi", "dev"]),
                tags={"namespace": "x"},
                executionTimeoutMilliSeconds=5,
                placeholderAsk=quantities(vcore=9),
                gangSchedulingStyle="Hard",
            )
        ],
        remove=[si.RemoveApplicationRequest(applicationID="b", partitionName="p")],
    )
    assert reader.applications(request) == commands.UpdateApplications(
        "rm-1",
        new=(
            commands.NewApplication(
                application_id="a",
                queue="root.q",
                partition="p",
                user="ann",
                groups=("bi", "dev"),
                tags={"namespace": "x"},
                execution_timeout_ms=5,
                placeholder_ask={"vcore": 9},
                gang_scheduling_style="Hard",
            ),
        ),
        remove=(commands.ApplicationRemoval("b", "p"),),
    )


def test_a_node_tells_what_is_absent_from_what_is_empty(reader: RequestReader) -> None:
    request = si.NodeRequest(
        nodes=[
            si.NodeInfo(
                nodeID="n1",
                action=si.NodeInfo.CREATE_DRAIN,
                attributes={"ready": "false"},
                schedulableResource=quantities(vcore=8),
                existingAllocations=[si.Allocation(allocationKey="k", UUID="u")],
            ),
            si.NodeInfo(nodeID="n2", action=si.NodeInfo.UPDATE, occupiedResource=si.Resource()),
        ]
    )
    first, second = reader.nodes(request).nodes
    assert first == commands.NodeUpdate(
        node_id="n1",
        action=commands.CREATE_DRAIN,
        capacity={"vcore": 8},
        occupied=None,
        attributes={"ready": "false"},
        existing=(commands.ExistingAllocation(commands.Ask("", "k", {}), "u", ""),),
    )
    assert second.capacity is None
    assert second.occupied == {}


def test_an_unknown_node_action_counts_as_unknown(reader: RequestReader) -> None:
    node = si.NodeInfo(nodeID="n")
    node.MergeFromString(b"\x10\x2a")  # action = 42
    assert reader.nodes(si.NodeRequest(nodes=[node])).nodes[0].action == commands.UNKNOWN_ACTION


LONG = "x" * 1_025


@pytest.mark.parametrize(
    "request_",
    [
        si.AllocationRequest(asks=[si.AllocationAsk(allocationKey=LONG)]),
        si.AllocationRequest(asks=[si.AllocationAsk(applicationID=LONG)]),
        si.AllocationRequest(asks=[si.AllocationAsk(partitionName=LONG)]),
        si.AllocationRequest(asks=[si.AllocationAsk(taskGroupName=LONG)]),
        si.AllocationRequest(asks=[si.AllocationAsk(resourceAsk=quantities(**{LONG: 1}))]),
        si.AllocationRequest(allocations=[si.Allocation(nodeID=LONG)]),
        si.AllocationRequest(allocations=[si.Allocation(partitionName=LONG)]),
        si.AllocationRequest(allocations=[si.Allocation(taskGroupName=LONG)]),
        si.AllocationRequest(
            releases=si.AllocationReleasesRequest(
                allocationsToRelease=[si.AllocationRelease(partitionName=LONG)]
            )
        ),
        si.AllocationRequest(
            releases=si.AllocationReleasesRequest(
                allocationAsksToRelease=[si.AllocationAskRelease(partitionName=LONG)]
            )
        ),
        si.AllocationRequest(
            releases=si.AllocationReleasesRequest(
                allocationsToRelease=[si.AllocationRelease(UUID=LONG)]
            )
        ),
    ],
)
def test_an_identifier_of_more_than_1024_characters_makes_its_element_unreadable(
    reader: RequestReader, request_: si.AllocationRequest, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "remuda.si"):
        command = reader.allocations(request_)
    unreadable = (*command.unreadable, *command.unreadable_existing)
    # A release has no answer, so the log tells.
    told = [each.reason for each in unreadable] or [each.getMessage() for each in caplog.records]
    assert len(told) == 1
    assert "an identifier has more than 1024 characters" in told[0]
    assert all(len(each.subject) <= 1_024 for each in unreadable)
    left = (*command.asks, *command.allocations, *command.releases, *command.ask_releases)
    assert left == ()


@pytest.mark.parametrize(
    "request_",
    [
        si.ApplicationRequest(new=[si.AddApplicationRequest(applicationID=LONG)]),
        si.ApplicationRequest(new=[si.AddApplicationRequest(partitionName=LONG)]),
        si.ApplicationRequest(new=[si.AddApplicationRequest(queueName=LONG)]),
        si.ApplicationRequest(
            new=[si.AddApplicationRequest(ugi=si.UserGroupInformation(user=LONG))]
        ),
        si.ApplicationRequest(
            new=[si.AddApplicationRequest(ugi=si.UserGroupInformation(groups=["g", LONG]))]
        ),
        si.ApplicationRequest(new=[si.AddApplicationRequest(gangSchedulingStyle=LONG)]),
        si.ApplicationRequest(remove=[si.RemoveApplicationRequest(applicationID=LONG)]),
        si.ApplicationRequest(remove=[si.RemoveApplicationRequest(partitionName=LONG)]),
    ],
)
def test_an_application_whose_identifiers_are_too_long_is_unreadable(
    reader: RequestReader, request_: si.ApplicationRequest, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "remuda.si"):
        command = reader.applications(request_)
    told = [each.reason for each in command.unreadable]
    told = told or [each.getMessage() for each in caplog.records]
    assert len(told) == 1
    assert "an identifier has more than 1024 characters" in told[0]
    assert (*command.new, *command.remove) == ()


@pytest.mark.remuda_rule("SI-4", "SI-105")
def test_the_neighbours_of_unreadable_elements_are_read(reader: RequestReader) -> None:
    nodes = [si.NodeInfo(nodeID="a"), si.NodeInfo(nodeID=LONG), si.NodeInfo(nodeID="b")]
    command = reader.nodes(si.NodeRequest(nodes=nodes))
    assert [each.node_id for each in command.nodes] == ["a", "b"]
    reason = "an identifier has more than 1024 characters; send less of it (SI-105)"
    assert command.unreadable == (Unreadable(LONG[:1_021] + "...", reason),)
    bad = si.AllocationAsk(allocationKey="bad", applicationID="app", resourceAsk=types(1_025))
    asks = [si.AllocationAsk(allocationKey="good", applicationID="app"), bad]
    found = reader.allocations(si.AllocationRequest(asks=asks))
    assert [each.allocation_key for each in found.asks] == ["good"]
    reason = "a resource has more than 1024 types; send less of it (SI-105)"
    assert found.unreadable == (Unreadable("bad", reason, "app"),)


def test_long_identifiers_are_allowed_up_to_the_limit_each(reader: RequestReader) -> None:
    longest = LONG[:1_024]
    ask = si.AllocationAsk(
        allocationKey=longest, applicationID=longest, partitionName=longest, taskGroupName=longest
    )
    (translated,) = reader.allocations(si.AllocationRequest(asks=[ask])).asks
    assert translated.allocation_key == translated.partition == longest


def types(number: int, first: int = 0) -> si.Resource:
    return quantities(**{f"type-{n}": 1 for n in range(first, first + number)})


def test_a_resource_of_more_than_1024_types_makes_an_ask_unreadable(reader: RequestReader) -> None:
    most = si.AllocationAsk(resourceAsk=types(1_024))
    assert len(reader.allocations(si.AllocationRequest(asks=[most])).asks[0].resource) == 1_024
    beyond = si.AllocationAsk(resourceAsk=types(1_025))
    (found,) = reader.allocations(si.AllocationRequest(asks=[beyond])).unreadable
    assert found.reason.startswith("a resource has more than 1024 types")


@pytest.mark.remuda_rule("SI-4", "SI-105")
def test_a_user_in_more_than_1024_groups_makes_an_application_unreadable(
    reader: RequestReader,
) -> None:
    groups = [f"group-{number}" for number in range(1_025)]
    new = [
        si.AddApplicationRequest(applicationID=name, ugi=si.UserGroupInformation(groups=some))
        for name, some in (("most", groups[1:]), ("beyond", groups))
    ]
    found = reader.applications(si.ApplicationRequest(new=new))
    assert [(each.application_id, len(each.groups)) for each in found.new] == [("most", 1_024)]
    reason = "a user has more than 1024 groups; send less of it (SI-105)"
    assert found.unreadable == (Unreadable("beyond", reason, "beyond"),)


def names(number: int) -> dict[str, str]:
    return {f"name-{n}": "" for n in range(number)}


@pytest.mark.parametrize(
    "tags, told",
    [
        (names(1_024), None),
        ({"x": "y" * 1_048_575}, None),
        (names(1_025), "more than 1024 entries"),
        ({"x": "y" * 1_048_576}, "more than 1048576 characters"),
        ({"x" * 1_048_576: "y"}, "more than 1048576 characters"),
    ],
    ids=["most", "longest", "many", "long text", "long name"],
)
@pytest.mark.parametrize("where", ["ask", "allocation", "application", "node"])
def test_maps_of_texts_are_bounded(
    reader: RequestReader, where: str, tags: dict[str, str], told: str | None
) -> None:
    def read() -> UpdateAllocations | UpdateApplications | UpdateNodes:
        if where == "ask":
            return reader.allocations(si.AllocationRequest(asks=[si.AllocationAsk(tags=tags)]))
        if where == "allocation":
            running = si.Allocation(allocationTags=tags)
            return reader.allocations(si.AllocationRequest(allocations=[running]))
        if where == "application":
            new = si.AddApplicationRequest(tags=tags)
            return reader.applications(si.ApplicationRequest(new=[new]))
        return reader.nodes(si.NodeRequest(nodes=[si.NodeInfo(attributes=tags)]))

    command = read()
    unreadable = command.unreadable
    if isinstance(command, UpdateAllocations):
        unreadable += command.unreadable_existing
    if told is None:
        assert unreadable == ()
    else:
        (found,) = unreadable
        assert told in found.reason


@pytest.mark.parametrize("field", ["buildInfo", "extraConfig"])
def test_maps_of_a_registration_are_bounded(field: str) -> None:
    request = si.RegisterResourceManagerRequest(rmID="rm")
    getattr(request, field).update(names(1_025))
    with pytest.raises(MessageTooLargeError, match="more than 1024 entries"):
        registration(request, lambda _: built_in())


def remembers(reader: RequestReader, resource: si.Resource) -> bool:
    """Whether equal asks get one mapping."""
    ask = si.AllocationAsk(resourceAsk=resource)
    first, second = (
        reader.allocations(si.AllocationRequest(asks=[ask])).asks[0].resource for _ in range(2)
    )
    assert first == second
    return first is second


def test_only_small_resources_are_remembered(reader: RequestReader) -> None:
    assert remembers(reader, types(10))
    assert not remembers(reader, types(1_000))


def test_many_large_resources_leave_nothing_behind(reader: RequestReader) -> None:
    def ask_for(first: int) -> None:
        ask = si.AllocationAsk(resourceAsk=types(1_000, first))
        reader.allocations(si.AllocationRequest(asks=[ask]))

    ask_for(0)
    tracemalloc.start()
    for turn in range(1, 21):
        ask_for(turn * 1_000)
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 100_000


@pytest.mark.remuda_rule("SI-111", "SI-60")
@pytest.mark.parametrize(
    "level, kind, dropped",
    [
        ("1.6", "STOPPED_BY_RM", ["k"]),
        ("1.6", "UNKNOWN_TERMINATION_TYPE", ["k"]),
        # Confirmations of an order leave the ask as it is; so does everything in the older form.
        ("1.6", "TIMEOUT", []),
        ("1.6", "PREEMPTED_BY_SCHEDULER", []),
        ("1.6", "PLACEHOLDER_REPLACED", []),
        ("1.5", "STOPPED_BY_RM", []),
        ("", "STOPPED_BY_RM", []),
    ],
)
def test_only_in_the_newer_form_a_release_by_the_rm_drops_the_ask_too(
    level: str, kind: str, dropped: list[str]
) -> None:
    release = si.AllocationRelease(
        applicationID="a", allocationKey="k", terminationType=si.TerminationType.Value(kind)
    )
    request = si.AllocationRequest(
        releases=si.AllocationReleasesRequest(allocationsToRelease=[release])
    )
    command = RequestReader("rm-1", level).allocations(request)
    assert [each.allocation_key for each in command.releases] == ["k"]
    assert [each.allocation_key for each in command.ask_releases] == dropped
