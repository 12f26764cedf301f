"""Requests of resource managers as protobuf messages: counted, cut, unpacked, translated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from google.protobuf.message import DecodeError, Message

from remuda.base.errors import ConfigError, ProtocolError
from remuda.config.load import load_configuration
from remuda.runtime import requests
from remuda.si import codec_in, limits, slices
from remuda.si.codec_in import RequestReader
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from tools.fuzz.target import Target

_REFUSALS: Final = (ProtocolError, DecodeError, ConfigError)

# Few, so that short inputs reach them.
_ELEMENTS: Final = 8


class _Format(NamedTuple):
    """How requests of one kind are counted, cut, unpacked and translated."""

    kind: type[Any]
    countable: limits.Countable
    lists: slices.Lists
    read: Callable[[RequestReader, Any], requests.Request]


_FORMATS: Final = (
    _Format(
        si.AllocationRequest,
        limits.ALLOCATION_REQUEST,
        slices.ALLOCATION_REQUEST,
        RequestReader.allocations,
    ),
    _Format(
        si.ApplicationRequest,
        limits.APPLICATION_REQUEST,
        slices.APPLICATION_REQUEST,
        RequestReader.applications,
    ),
    _Format(si.NodeRequest, limits.NODE_REQUEST, slices.NODE_REQUEST, RequestReader.nodes),
)

_Read: TypeAlias = Callable[[bytes], object]


def take(data: bytes) -> None:
    """Read a message; its first byte says of which kind it is."""
    with suppress(*_REFUSALS):
        _READERS[data[0] % len(_READERS) if data else 0](data[1:])


def _stream(form: _Format, level: str, data: bytes) -> None:
    """Read a request of a stream, as a whole and in slices, which have to say the same."""
    with suppress(ProtocolError):
        limits.refuse_too_many(data, form.countable, _ELEMENTS, _ELEMENTS)
    limits.refuse_too_many(data, form.countable)
    whole = _translated(form, level, data)
    reader = RequestReader("rm", level)
    parts = [
        form.read(reader, form.kind.FromString(part)) for part in slices.slices(data, form.lists)
    ]
    if parts:
        assert requests.joined(parts) == whole, "the slices of a request say something else"


def _translated(form: _Format, level: str, data: bytes) -> requests.Request:
    return form.read(RequestReader("rm", level), form.kind.FromString(data))


def _registration(data: bytes) -> None:
    limits.refuse_too_many(data, limits.REGISTRATION)
    codec_in.registration(
        si.RegisterResourceManagerRequest.FromString(data), load_configuration, predicates=True
    )


def _update(data: bytes) -> None:
    limits.refuse_too_many(data, limits.CONFIGURATION_UPDATE)
    codec_in.configuration_update(
        si.UpdateConfigurationRequest.FromString(data), load_configuration
    )


def _classed(data: bytes) -> None:
    """Read a request with predicate classes beside it, as sessions have them."""
    request = ext.ClassedAllocationRequest.FromString(data)
    RequestReader("rm").allocations(request.request, request.classes)


_READERS: Final[Sequence[_Read]] = (
    *(partial(_stream, form, level) for form in _FORMATS for level in ("1.5", "1.6")),
    _registration,
    _update,
    _classed,
)


def allocation_request() -> si.AllocationRequest:
    """Return a request with an element of each kind."""
    amounts = si.Resource(resources={"memory": si.Quantity(value=5), "vcore": si.Quantity()})
    return si.AllocationRequest(
        rmID="rm",
        asks=[
            si.AllocationAsk(
                allocationKey="ask",
                applicationID="app",
                partitionName="default",
                resourceAsk=amounts,
                maxAllocations=2,
                priority=-1,
                tags={"remuda/predicateClass": "class"},
                taskGroupName="group",
                placeholder=True,
                preemptionPolicy=si.PreemptionPolicy(allowPreemptOther=True),
            )
        ],
        allocations=[
            si.Allocation(
                allocationKey="running",
                applicationID="app",
                nodeID="node",
                resourcePerAlloc=amounts,
                UUID="running",
                allocationTags={"kind": "x"},
            ),
            si.Allocation(allocationKey="new", applicationID="app"),
        ],
        releases=si.AllocationReleasesRequest(
            allocationsToRelease=[
                si.AllocationRelease(applicationID="app", UUID="a", allocationID="a")
            ],
            allocationAsksToRelease=[
                si.AllocationAskRelease(applicationID="app", allocationKey="ask")
            ],
        ),
    )


def application_request() -> si.ApplicationRequest:
    """Return a request that adds an application and removes another one."""
    return si.ApplicationRequest(
        rmID="rm",
        new=[
            si.AddApplicationRequest(
                applicationID="app",
                queueName="root.a",
                partitionName="default",
                ugi=si.UserGroupInformation(user="user", groups=["group"]),
                tags={"namespace.resourcequota": '{"resources":{"memory":{"value":5}}}'},
                executionTimeoutMilliSeconds=1_000,
                gangSchedulingStyle="Soft",
            )
        ],
        remove=[si.RemoveApplicationRequest(applicationID="old", partitionName="default")],
    )


def node_request() -> si.NodeRequest:
    """Return a request that adds a node with a running allocation."""
    amounts = si.Resource(resources={"memory": si.Quantity(value=2**62)})
    return si.NodeRequest(
        rmID="rm",
        nodes=[
            si.NodeInfo(
                nodeID="node",
                action=si.NodeInfo.CREATE,
                attributes={"si/instance-type": "large"},
                schedulableResource=amounts,
                occupiedResource=amounts,
                existingAllocations=[si.Allocation(allocationKey="a", applicationID="app")],
            )
        ],
    )


def registration_request() -> si.RegisterResourceManagerRequest:
    """Return the registration of a resource manager."""
    return si.RegisterResourceManagerRequest(
        rmID="rm",
        version="1",
        policyGroup="group",
        buildInfo={"si_level": "1.6"},
        config="partitions:\n  - name: default\n    queues:\n      - name: root\n",
        extraConfig={"log.level": "INFO"},
    )


def classed_request() -> ext.ClassedAllocationRequest:
    """Return a request with predicate classes beside it."""
    classes = [ext.PredicateClass(name="class", asks=[0], allocations=[1])]
    return ext.ClassedAllocationRequest(request=allocation_request(), classes=classes)


def _seeds() -> list[bytes]:
    update = si.UpdateConfigurationRequest(rmID="rm", config="partitions: []")
    messages: tuple[Message, ...] = (
        allocation_request(),
        allocation_request(),
        application_request(),
        application_request(),
        node_request(),
        node_request(),
        registration_request(),
        update,
        classed_request(),
    )
    return [bytes((kind,)) + each.SerializeToString() for kind, each in enumerate(messages)]


# Long and odd numbers, groups, and texts that are not UTF-8.
WORDS: Final = (
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x80\x00",
    b"\x0b\x0c",
    b"\x0a\x02\xed\xa0",
    b"\x12\x00",
    b"\x0a\x00",
)

WIRE: Final = Target(take, _seeds, WORDS)
