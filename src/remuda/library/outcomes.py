"""Translates effects of the core into outcomes for callers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, Literal

from remuda.core.messages import effects as e
from remuda.library.records import (
    Allocation,
    ApplicationUpdate,
    Outcome,
    Rejection,
    Release,
    TerminationType,
)

Kind = Literal["node", "application", "ask", "release"]

_REJECTING: Final[Mapping[type[e.Effect], Kind]] = MappingProxyType(
    {e.NodesAnswered: "node", e.ApplicationsAnswered: "application", e.AsksRejected: "ask"}
)


def outcomes(effects: Iterable[e.Effect]) -> Iterator[Outcome]:
    """Yield the outcomes that callers get, in the order in which they happened."""
    for effect in effects:
        if isinstance(effect, e.AllocationNew):
            yield _allocation(effect)
        elif isinstance(effect, e.AllocationsReleased):
            for ended in effect.released:
                yield _release(ended, ended.allocation_id)
        elif isinstance(effect, e.AsksReleased):
            for dropped in effect.released:
                yield _release(dropped, "")
        elif isinstance(effect, e.ApplicationUpdated):
            yield ApplicationUpdate(effect.application_id, effect.state, effect.message)
        else:
            yield from rejections([effect])


def rejections(effects: Iterable[e.Effect]) -> Iterator[Rejection]:
    """Yield the refusals."""
    for effect in effects:
        if isinstance(effect, e.NodesAnswered | e.ApplicationsAnswered | e.AsksRejected):
            kind = _REJECTING[type(effect)]
            for refused in effect.rejected:
                application = refused.application_id if kind == "ask" else ""
                yield Rejection(kind, refused.subject, refused.reason, refused.rule, application)
        elif isinstance(effect, e.ReleaseRefused):
            yield Rejection("release", "", effect.reason, effect.rule)


def _allocation(effect: e.AllocationNew) -> Allocation:
    ask = effect.ask
    return Allocation(
        application_id=ask.application_id,
        allocation_key=ask.allocation_key,
        allocation_id=effect.allocation_id,
        node_id=effect.node_id,
        resource=dict(ask.resource),
        priority=ask.priority,
        task_group=ask.task_group,
        placeholder=ask.placeholder,
        tags=dict(ask.tags),
    )


def _release(ended: e.ReleasedAllocation | e.ReleasedAsk, allocation_id: str) -> Release:
    return Release(
        application_id=ended.application_id,
        allocation_key=ended.allocation_key,
        allocation_id=allocation_id,
        termination_type=TerminationType(ended.termination_type),
        message=ended.message,
    )
