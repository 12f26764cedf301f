"""From protobuf requests to the commands of the core.

One request becomes one command, so that its lists keep the order of SI-3 and its verdicts one
answer. The messages themselves are not kept: they are larger than the records and live outside
Python's memory. This is on the path of every ask (about 3 us each), hence the cache of
resources: asks are mostly alike, and reading a protobuf map costs more than a dictionary
lookup by its bytes. Equal resources thereby share one mapping.

Protobuf lists hold no unset elements in Python, so there is nothing to skip for SI-5.
Implements: SI-3.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from remuda.base.errors import ProtocolError
from remuda.base.names import name_fault
from remuda.base.resources import Resource
from remuda.config.schema import Load
from remuda.core.messages.commands import (
    CREATE_DRAIN,
    PLACEHOLDER_REPLACED,
    UNKNOWN_ACTION,
    UNKNOWN_TERMINATION_TYPE,
    AllocationRelease,
    ApplicationRemoval,
    Ask,
    AskRelease,
    ExistingAllocation,
    NewApplication,
    NodeUpdate,
    RegisterResourceManager,
    Tags,
    Unreadable,
    UpdateAllocations,
    UpdateApplications,
    UpdateConfiguration,
    UpdateNodes,
)
from remuda.core.messages.tags import PREDICATE_CLASS
from remuda.si.codec_elements import read
from remuda.si.generation import Generation, is_ask
from remuda.si.limits import (
    GROUPS_LIMIT,
    ID_LENGTH_LIMIT,
    TEXTS_LENGTH_LIMIT,
    TEXTS_LIMIT,
    TYPES_LIMIT,
    MessageTooLargeError,
)
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.predicate_classes import put_into_classes

_log = logging.getLogger("remuda.si")

E = TypeVar("E")
T = TypeVar("T")

_NO_TAGS: Final[Tags] = {}

# The most resources remembered per RM; beyond it the memory is cleared. One whose encoding is
# longer than this many bytes, some 40 types, is not remembered: it would take kilobytes.
_RESOURCES_LIMIT: Final = 4_096
_REMEMBERED_BYTES_LIMIT: Final = 1_024

# Names of applications and predicate classes remembered per RM, likewise.
_NAMES_LIMIT: Final = 65_536


def registration(
    request: si.RegisterResourceManagerRequest,
    load: Load,
    *,
    predicates: bool = False,
    preemption: bool = False,
) -> RegisterResourceManager:
    """Translate a registration; ``load`` turns its configuration text, maybe empty, into records.

    ``predicates``, ``preemption``: whether the RM is asked about nodes, and about victims.

    Raises: ConfigError from ``load`` (RM-6), ProtocolError for a policy group that is no name and
        for maps that are too large.
    Implements: RM-3, RM-8, CFG-1. Rules: RM-1, RM-4, RM-5, RM-6, RM-7.
    """
    fault = name_fault("policyGroup", request.policyGroup)
    if fault:
        raise ProtocolError(fault)
    return RegisterResourceManager(
        rm_id=request.rmID,
        config=load(request.config),
        version=request.version,
        policy_group=request.policyGroup,
        build_info=texts(request.buildInfo),
        extra_config=texts(request.extraConfig),
        predicates=predicates,
        preemption_predicates=preemption,
    )


def configuration_update(request: si.UpdateConfigurationRequest, load: Load) -> UpdateConfiguration:
    """Translate a configuration update; its policy group does not count.

    Raises: ConfigError from ``load``, ProtocolError for a map that is too large.
    Implements: CFG-3. Rules: SI-85, CFG-4.
    """
    return UpdateConfiguration(
        rm_id=request.rmID,
        config=load(request.config),
        extra_config=texts(request.extraConfig),
    )


class RequestReader:
    """Translates the requests of one RM.

    ``level``: the interface level it registered with, see generation.py.

    Implements: SI-5. Rules: SI-3, SI-13, SI-36, SI-61, SI-111, RES-11.
    """

    def __init__(self, rm_id: str, level: str = "") -> None:
        self.rm_id = rm_id
        self.generation = Generation(level)
        self._resources: dict[bytes, Resource] = {}
        self._names: dict[str, str] = {}

    def applications(self, request: si.ApplicationRequest) -> UpdateApplications:
        """Translate an ApplicationRequest.

        An element with an identifier, a resource or a map that is too large is unreadable; a
        removal is ignored then.
        """
        unreadable: list[Unreadable] = []
        return UpdateApplications(
            self.rm_id,
            new=tuple(read(self._new_application, request.new, unreadable)),
            remove=tuple(self._read_or_ignore(_removal, request.remove)),
            unreadable=tuple(unreadable),
        )

    def allocations(
        self, request: si.AllocationRequest, classes: Sequence[ext.PredicateClass] = ()
    ) -> UpdateAllocations:
        """Translate an AllocationRequest; ``classes``: those that a session names beside it.

        An ask or allocation with an identifier, a resource or a map that is too large is
        unreadable; a release is ignored then.
        Raises: ProtocolError for classes that make no sense, and for an unreadable ask beside them.
        """
        self.generation.note(request)
        asks: list[Ask] = []
        existing: list[ExistingAllocation] = []
        unreadable: list[Unreadable] = []
        unreadable_existing: list[Unreadable] = []
        # Most requests are one short list of asks, so empty lists must cost nothing.
        given = request.allocations
        if given:
            wanted = [entry for entry in given if is_ask(entry)]
            running = [entry for entry in given if not is_ask(entry)] if wanted else given
            asks = read(self._wanted, wanted, unreadable)
            existing = read(self._existing_one, running, unreadable_existing)
        asks += read(self._ask, request.asks, unreadable)
        if classes:
            if unreadable:
                raise ProtocolError(unreadable[0].reason)
            put_into_classes(asks, request, classes)
        ended: tuple[AllocationRelease, ...] = ()
        dropped: list[AskRelease] = []
        if request.HasField("releases"):
            ended = self._releases(request.releases.allocationsToRelease)
            dropped = self._read_or_ignore(_ask_release, request.releases.allocationAsksToRelease)
            if self.generation.unified:
                dropped += [_of_both(release) for release in ended if release.by_rm()]
        return UpdateAllocations(
            self.rm_id,
            allocations=tuple(existing),
            asks=tuple(asks),
            ask_releases=tuple(dropped),
            releases=ended,
            unreadable=tuple(unreadable),
            unreadable_existing=tuple(unreadable_existing),
        )

    def nodes(self, request: si.NodeRequest) -> UpdateNodes:
        """Translate a NodeRequest.

        A node with an identifier, a resource or a map that is too large is unreadable, also if that
        is in an allocation on it.
        """
        unreadable: list[Unreadable] = []
        nodes = tuple(read(self._node, request.nodes, unreadable))
        return UpdateNodes(self.rm_id, nodes, unreadable=tuple(unreadable))

    def _read_or_ignore(self, translate: Callable[[E], T], entries: Sequence[E]) -> list[T]:
        """Translate removals or releases; those that cannot be read have no answer."""
        unreadable: list[Unreadable] = []
        found = read(translate, entries, unreadable)
        if unreadable:
            text = "%.80r: %d removals or releases ignored: %s"
            _log.warning(text, self.rm_id, len(unreadable), unreadable[0].reason)
        return found

    def _releases(self, entries: Sequence[si.AllocationRelease]) -> tuple[AllocationRelease, ...]:
        """Translate releases, without those that name two different identities (SI-61)."""
        right = [entry for entry in entries if not _contradicts(entry)]
        releases = tuple(self._read_or_ignore(_release, right))
        ignored = len(entries) - len(right)
        if ignored:
            _log.warning(
                "%.80r: %d releases ignored, their UUID and allocationID differ; "
                "send one of the two, or both equal",
                self.rm_id,
                ignored,
            )
        return releases

    def _new_application(self, entry: si.AddApplicationRequest) -> NewApplication:
        if len(entry.ugi.groups) > GROUPS_LIMIT:
            raise MessageTooLargeError(f"a user has more than {GROUPS_LIMIT} groups")
        return NewApplication(
            application_id=_id(entry.applicationID),
            queue=_id(entry.queueName),
            partition=_id(entry.partitionName),
            user=_id(entry.ugi.user),
            groups=tuple([_id(group) for group in entry.ugi.groups]),
            tags=texts(entry.tags),
            execution_timeout_ms=entry.executionTimeoutMilliSeconds,
            placeholder_ask=self._resource(entry.placeholderAsk),
            gang_scheduling_style=_id(entry.gangSchedulingStyle),
        )

    def _ask(self, entry: si.AllocationAsk) -> Ask:
        key, application_id = entry.allocationKey, entry.applicationID
        partition, task_group = entry.partitionName, entry.taskGroupName
        # One comparison for the usual case, where all of them together are short.
        if len(key) + len(application_id) + len(partition) + len(task_group) > ID_LENGTH_LIMIT:
            for text in (key, application_id, partition, task_group):
                _id(text)
        victim, preemptor = True, False
        if entry.HasField("preemptionPolicy"):
            victim, preemptor = _preemption(entry)
        tags = texts(entry.tags)
        application_id = self._shared(application_id)
        # The dictionary here and not in a call, positional arguments: each is a twentieth of it.
        resource = entry.resourceAsk
        amounts = self._resources.get(resource.SerializeToString())
        return Ask(
            application_id,
            key,
            self._resource(resource) if amounts is None else amounts,
            partition,
            entry.maxAllocations,
            entry.priority,
            tags,
            entry.executionTimeoutMilliSeconds,
            task_group,
            entry.placeholder,
            entry.Originator,
            victim,
            preemptor,
            self._predicate_class(tags) if tags else "",
        )

    def _predicate_class(self, tags: Tags) -> str:
        """Return the predicate class that tags name, one text for all asks of it; "" for none.

        Rules: EXT-15.
        """
        text = tags.get(PREDICATE_CLASS, "")
        return self._shared(_id(text)) if text else ""

    def _shared(self, text: str) -> str:
        """Return one shared copy of a text, which saves memory."""
        known = self._names
        found = known.get(text)
        if found is None:
            if len(known) >= _NAMES_LIMIT:
                known.clear()
            found = known[text] = text
        return found

    def _existing(self, entries: Iterable[si.Allocation]) -> tuple[ExistingAllocation, ...]:
        return tuple([self._existing_one(entry) for entry in entries])

    def _existing_one(self, entry: si.Allocation) -> ExistingAllocation:
        """Translate a running allocation; two different identities are none (SI-40)."""
        node_id = _id(entry.nodeID)
        if _contradicts(entry):
            fault = "its UUID and allocationID differ; send one of the two, or both equal"
            return ExistingAllocation(self._wanted(entry), "", node_id, fault)
        identity = _id(entry.allocationID or entry.UUID)
        return ExistingAllocation(self._wanted(entry), identity, node_id)

    def _wanted(self, entry: si.Allocation) -> Ask:
        """Translate the ask of an allocation, for one allocation only (SI-41, SI-111)."""
        victim, preemptor = _preemption(entry)
        tags = texts(entry.allocationTags)
        return Ask(
            application_id=_id(entry.applicationID),
            allocation_key=_id(entry.allocationKey),
            resource=self._resource(entry.resourcePerAlloc),
            partition=_id(entry.partitionName),
            priority=entry.priority,
            tags=tags,
            task_group=_id(entry.taskGroupName),
            placeholder=entry.placeholder,
            originator=entry.originator,
            allow_preempt_self=victim,
            allow_preempt_other=preemptor,
            equivalence=self._predicate_class(tags) if tags else "",
            key_is_identity=self.generation.unified,
        )

    def _node(self, entry: si.NodeInfo) -> NodeUpdate:
        action = int(entry.action)
        has = entry.HasField
        return NodeUpdate(
            node_id=_id(entry.nodeID),
            action=action if 0 <= action <= CREATE_DRAIN else UNKNOWN_ACTION,
            capacity=self._resource(entry.schedulableResource)
            if has("schedulableResource")
            else None,
            occupied=self._resource(entry.occupiedResource) if has("occupiedResource") else None,
            attributes=texts(entry.attributes),
            existing=self._existing(entry.existingAllocations),
        )

    def _resource(self, resource: si.Resource) -> Resource:
        """Return the amounts of a Resource; an unset one is empty (RES-11).

        Implements: RES-3, SI-13.
        """
        wire = resource.SerializeToString()
        amounts = self._resources.get(wire)
        if amounts is None:
            types = resource.resources
            if len(types) > TYPES_LIMIT:
                raise MessageTooLargeError(f"a resource has more than {TYPES_LIMIT} types")
            amounts = {_id(name): quantity.value for name, quantity in types.items()}
            if len(wire) <= _REMEMBERED_BYTES_LIMIT:
                if len(self._resources) >= _RESOURCES_LIMIT:
                    self._resources.clear()
                self._resources[wire] = amounts
        return amounts


def _removal(entry: si.RemoveApplicationRequest) -> ApplicationRemoval:
    return ApplicationRemoval(_id(entry.applicationID), _id(entry.partitionName))


def texts(entries: Mapping[str, str]) -> Tags:
    """Copy a map of texts. Raises: MessageTooLargeError. Rules: SI-105."""
    if not entries:
        return _NO_TAGS
    if len(entries) > TEXTS_LIMIT:
        raise MessageTooLargeError(f"a map has more than {TEXTS_LIMIT} entries")
    copied = dict(entries.items())
    length = 0
    for name, text in copied.items():
        length += len(name) + len(text)
    if length > TEXTS_LENGTH_LIMIT:
        raise MessageTooLargeError(f"a map has more than {TEXTS_LENGTH_LIMIT} characters")
    return copied


def _preemption(entry: si.AllocationAsk | si.Allocation) -> tuple[bool, bool]:
    """Return whether an ask may be a victim and may preempt; the default if not given.

    Implements: SI-36.
    """
    if not entry.HasField("preemptionPolicy"):
        return True, False
    policy = entry.preemptionPolicy
    return policy.allowPreemptSelf, policy.allowPreemptOther


def _contradicts(entry: si.AllocationRelease | si.Allocation) -> bool:
    """Whether the two fields for the identity are both set and differ. Rules: SI-61, SI-110."""
    uuid, allocation_id = entry.UUID, entry.allocationID
    return bool(uuid and allocation_id and uuid != allocation_id)


def _ask_release(entry: si.AllocationAskRelease) -> AskRelease:
    return AskRelease(
        application_id=_id(entry.applicationID),
        allocation_key=_id(entry.allocationKey),
        partition=_id(entry.partitionName),
        termination_type=_termination(entry.terminationType),
    )


def _of_both(release: AllocationRelease) -> AskRelease:
    """Return the release of the ask that goes with one of its allocation. Rules: SI-111."""
    return AskRelease(
        release.application_id, release.allocation_key, release.partition, release.termination_type
    )


def _release(entry: si.AllocationRelease) -> AllocationRelease:
    """Translate a release; in the newer form it names a key only (SI-61, SI-111)."""
    return AllocationRelease(
        application_id=_id(entry.applicationID),
        allocation_id=_id(entry.allocationID or entry.UUID),
        allocation_key=_id(entry.allocationKey),
        partition=_id(entry.partitionName),
        termination_type=_termination(entry.terminationType),
        message=entry.message,
    )


def _termination(number: int) -> int:
    """Return the termination type; an unknown number means UNKNOWN (SI-60)."""
    return number if 0 <= number <= PLACEHOLDER_REPLACED else UNKNOWN_TERMINATION_TYPE


def _id(text: str) -> str:
    if len(text) > ID_LENGTH_LIMIT:
        raise _too_long()
    return text


def _too_long() -> ProtocolError:
    return ProtocolError(f"an identifier has more than {ID_LENGTH_LIMIT} characters")
