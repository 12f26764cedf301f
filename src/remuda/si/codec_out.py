"""From the effects of the core to protobuf responses of one RM, in the order of the effects.

Neighbouring placements become one response: a message costs its receiver about 90 us, an
allocation in it 3 us. Nothing is moved past an effect of another kind, so an RM sees "updated"
and "new" in the order in which they were decided (SI-7, SI-79).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias, assert_never

from remuda.core.messages.effects import (
    AllocationNew,
    AllocationsRejected,
    AllocationsReleased,
    ApplicationsAnswered,
    ApplicationUpdated,
    AsksRejected,
    AsksReleased,
    ConfigurationAnswered,
    ContainerStateUpdated,
    Effect,
    EventRecord,
    NodesAnswered,
    ObjectStateAnswered,
    RegistrationAnswered,
    ReleaseRefused,
    RequestRefused,
    ResourceManagerFailed,
    ResourceManagerStopped,
)
from remuda.si.generation import Generation
from remuda.si.pb import si_pb2 as si
from remuda.si.placements import PlacementEncoder
from remuda.si.wire import Response, resource

_log = logging.getLogger("remuda.si")

# Allocations or application updates in one response.
COALESCED_LIMIT: Final = 1_000


class ResponseWriter:
    """Builds the responses of one RM, in the form that it speaks.

    Implements: SI-75, SI-7. Rules: SI-4, SI-76, SI-77, SI-110, SI-111.
    """

    def __init__(self, generation: Generation | None = None) -> None:
        self._generation = generation or Generation()
        self._placements = PlacementEncoder()

    def responses(self, effects: Sequence[Effect]) -> list[Response]:
        """Translate effects of one RM, without those that have no response here.

        These are event records, container states, and answers sent by other modules.
        """
        return [
            si.AllocationResponse.FromString(piece) if isinstance(piece, bytes) else piece
            for piece in self._pieces(effects)
        ]

    def encoded(
        self, effects: Sequence[Effect], bytes_limit: int
    ) -> list[tuple[type[Response], bytes]]:
        """Translate as ``responses`` does, but into bytes; the type says of which message.

        A message above ``bytes_limit`` is cut, see ``split_encoded``.
        """
        encoded: list[tuple[type[Response], bytes]] = []
        for piece in self._pieces(effects):
            if not isinstance(piece, bytes):
                encoded += [(type(piece), part) for part in split_encoded(piece, bytes_limit)]
            elif len(piece) <= bytes_limit:
                encoded.append((si.AllocationResponse, piece))
            else:
                whole = si.AllocationResponse.FromString(piece)
                parts = split_encoded(whole, bytes_limit)
                encoded += [(si.AllocationResponse, part) for part in parts]
        return encoded

    def _pieces(self, effects: Sequence[Effect]) -> list[Response | bytes]:
        """Translate effects; placements, of which there are many, are encoded already."""
        pieces: list[Response | bytes] = []
        run: list[AllocationNew] = []
        updates: list[ApplicationUpdated] = []
        for effect in effects:
            kind = type(effect)
            if kind is EventRecord or kind is ContainerStateUpdated:
                continue
            if updates and (kind is not ApplicationUpdated or len(updates) == COALESCED_LIMIT):
                pieces.append(_application_updates(updates))
                updates = []
            if run and (kind is not AllocationNew or len(run) == COALESCED_LIMIT):
                pieces.append(self._placements.encode(run))
                run = []
            if isinstance(effect, AllocationNew):
                run.append(effect)
            elif isinstance(effect, ApplicationUpdated):
                updates += self._updates(effect)
            elif (response := self._other(effect)) is not None:
                pieces.append(response)
        if updates:
            pieces.append(_application_updates(updates))
        if run:
            pieces.append(self._placements.encode(run))
        return pieces

    def _updates(self, effect: ApplicationUpdated) -> tuple[ApplicationUpdated, ...]:
        """Return the update for an application's state in the RM's form, None if it gets none.

        Rules: SI-111.
        """
        state = self._generation.state_shown(effect.application_id, effect.state)
        if state == effect.state:
            return (effect,)
        return (replace(effect, state=state),) if state else ()

    def _other(self, effect: _Single) -> Response | None:
        """Build the response for an effect that is never coalesced. Rules: SI-111."""
        response = _single(effect)
        if self._generation.unified and isinstance(response, si.AllocationResponse):
            _unify(response)
        return response


def container_state(effect: ContainerStateUpdated) -> si.UpdateContainerSchedulingStateRequest:
    """Build the container state of an ask, for the RM's users. Rules: SI-82."""
    return si.UpdateContainerSchedulingStateRequest(
        applicartionID=effect.application_id,
        allocationKey=effect.allocation_key,
        state=si.UpdateContainerSchedulingStateRequest.SchedulingState.ValueType(effect.state),
        reason=effect.reason,
    )


def event_message(event: EventRecord) -> si.EventRecord:
    """Return one event record as the wire has it (EVT-1)."""
    return si.EventRecord(
        type=si.EventRecord.Type.ValueType(event.kind),
        objectID=event.object_id,
        message=event.message,
        timestampNano=event.timestamp_ns,
        eventChangeType=si.EventRecord.ChangeType.ValueType(event.change),
        eventChangeDetail=si.EventRecord.ChangeDetail.ValueType(event.detail),
        referenceID=event.reference_id,
        resource=resource(event.resource),
    )


def split_encoded(response: Response, bytes_limit: int) -> list[bytes]:
    """Encode a response, cut into several of the same kind where it exceeds ``bytes_limit``.

    A receiver must accept several responses for one cause (SI-75); one that takes 4 MiB, the
    usual limit of clients, could not take a long list in one piece. A single element is never
    cut, however long.
    """
    encoded = response.SerializeToString()
    fields = response.ListFields()
    if len(encoded) <= bytes_limit or sum(len(entries) for _, entries in fields) <= 1:
        return [encoded]
    halves: list[bytes] = []
    if len(fields) > 1:
        parts = [(field.name, entries) for field, entries in fields]
    else:
        field, entries = fields[0]
        middle = len(entries) // 2
        parts = [(field.name, entries[:middle]), (field.name, entries[middle:])]
    for name, entries in parts:
        part = type(response)()
        getattr(part, name).extend(entries)
        halves += split_encoded(part, bytes_limit)
    return halves


_Single: TypeAlias = (
    RegistrationAnswered
    | RequestRefused
    | ReleaseRefused
    | ApplicationsAnswered
    | AllocationsReleased
    | AsksReleased
    | AsksRejected
    | AllocationsRejected
    | NodesAnswered
    | ConfigurationAnswered
    | ObjectStateAnswered
    | ResourceManagerStopped
    | ResourceManagerFailed
    | ContainerStateUpdated
    | EventRecord
)


def _single(effect: _Single) -> Response | None:
    """Build the response for an effect that is never coalesced; None if it has none."""
    match effect:
        case ApplicationsAnswered():
            return _application_verdicts(effect)
        case NodesAnswered():
            return _node_verdicts(effect)
        case AllocationsReleased():
            return _released(effect)
        case AsksReleased():
            return _released_asks(effect)
        case AsksRejected():
            return _rejected_asks(effect)
        case AllocationsRejected():
            return _rejected_allocations(effect)
        case RequestRefused() | ReleaseRefused():
            _log.warning("request of %r refused: %s (%s)", effect.rm_id, effect.reason, effect.rule)
            return None
        case (
            RegistrationAnswered()
            | ConfigurationAnswered()
            | ObjectStateAnswered()
            | ContainerStateUpdated()
        ):
            return None
        case ResourceManagerStopped() | ResourceManagerFailed() | EventRecord():
            return None
        case _:
            assert_never(effect)


def _unify(response: si.AllocationResponse) -> None:
    """Tell of asks as of the allocations they are in the newer form. Rules: SI-111."""
    for ask in response.releasedAsks:
        response.released.add(
            partitionName=ask.partitionName,
            applicationID=ask.applicationID,
            allocationKey=ask.allocationKey,
            terminationType=ask.terminationType,
            message=ask.message,
        )
    for refused in response.rejected:
        response.rejectedAllocations.add(
            allocationKey=refused.allocationKey,
            applicationID=refused.applicationID,
            reason=refused.reason,
        )
    response.ClearField("releasedAsks")
    response.ClearField("rejected")


def _application_updates(effects: Sequence[ApplicationUpdated]) -> si.ApplicationResponse:
    response = si.ApplicationResponse()
    for effect in effects:
        response.updated.add(
            applicationID=effect.application_id,
            state=effect.state,
            stateTransitionTimestamp=effect.timestamp_ns,
            message=effect.message,
        )
    return response


def _application_verdicts(effect: ApplicationsAnswered) -> si.ApplicationResponse:
    return si.ApplicationResponse(
        accepted=[si.AcceptedApplication(applicationID=name) for name in effect.accepted],
        rejected=[
            si.RejectedApplication(applicationID=rejection.subject, reason=rejection.reason)
            for rejection in effect.rejected
        ],
    )


def _node_verdicts(effect: NodesAnswered) -> si.NodeResponse:
    return si.NodeResponse(
        accepted=[si.AcceptedNode(nodeID=name) for name in effect.accepted],
        rejected=[
            si.RejectedNode(nodeID=rejection.subject, reason=rejection.reason)
            for rejection in effect.rejected
        ],
    )


def _released(effect: AllocationsReleased) -> si.AllocationResponse:
    response = si.AllocationResponse()
    for released in effect.released:
        response.released.add(
            partitionName=released.partition,
            applicationID=released.application_id,
            UUID=released.allocation_id,
            allocationID=released.allocation_id,
            allocationKey=released.allocation_key,
            terminationType=si.TerminationType.ValueType(released.termination_type),
            message=released.message,
        )
    return response


def _released_asks(effect: AsksReleased) -> si.AllocationResponse:
    response = si.AllocationResponse()
    for released in effect.released:
        response.releasedAsks.add(
            partitionName=released.partition,
            applicationID=released.application_id,
            allocationKey=released.allocation_key,
            terminationType=si.TerminationType.ValueType(released.termination_type),
            message=released.message,
        )
    return response


def _rejected_asks(effect: AsksRejected) -> si.AllocationResponse:
    return si.AllocationResponse(
        rejected=[
            si.RejectedAllocationAsk(
                allocationKey=rejection.subject,
                applicationID=rejection.application_id,
                reason=rejection.reason,
            )
            for rejection in effect.rejected
        ]
    )


def _rejected_allocations(effect: AllocationsRejected) -> si.AllocationResponse:
    return si.AllocationResponse(
        rejectedAllocations=[
            si.RejectedAllocation(
                allocationKey=rejection.subject,
                applicationID=rejection.application_id,
                reason=rejection.reason,
            )
            for rejection in effect.rejected
        ]
    )
