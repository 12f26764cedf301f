"""Questions about applications: what is placed, what is pending, and why one ask waits."""

from __future__ import annotations

from remuda.core.messages.application_queries import ApplicationQuery
from remuda.core.messages.application_views import AllocationView, ApplicationView
from remuda.core.messages.ask_views import RequestView
from remuda.core.messages.rows import ApplicationRowsQuery, rows
from remuda.core.messages.share_queries import FairSharesQuery, FairShareView
from remuda.insight.explanation import AskName, Explanation, Look, explain, waiting_asks
from remuda.library import inputs
from remuda.library.engine import RM_ID
from remuda.library.errors import RequestError
from remuda.library.records import Allocation, Ask, FairShare


def known(look: Look, partition: str, application_id: str) -> bool:
    """Whether there is such an application, or was one that is remembered."""
    query = ApplicationQuery(partition, application_id, completed=True, rejected=True, rm_id=RM_ID)
    return bool(rows(ApplicationView, look(query)))


def pending(look: Look, partition: str, application_id: str, rm_id: str = RM_ID) -> list[Ask]:
    """Return the asks that wait, by application and key; "": those of all applications."""
    return [
        _ask(request)
        for application in _applications(look, partition, application_id, rm_id)
        for request in waiting_asks(look, application)
    ]


def allocations(
    look: Look, partition: str, application_id: str, rm_id: str = RM_ID
) -> list[Allocation]:
    """Return what is placed, by application and ID; "": of all applications."""
    return [
        _allocation(view)
        for application in _applications(look, partition, application_id, rm_id)
        for view in application.allocations
    ]


def fair_shares(look: Look, partition: str, rm_id: str = RM_ID) -> list[FairShare]:
    """Return the share of each queue, by path. Rules: EXT-60."""
    found: list[FairShare] = []
    after = ""
    while some := rows(FairShareView, look(FairSharesQuery(partition, after, rm_id=rm_id)) or ()):
        found += [
            FairShare(
                view.path,
                view.leaf,
                dict(view.allocated),
                dict(view.pending),
                None if view.guaranteed is None else dict(view.guaranteed),
                None if view.maximum is None else dict(view.maximum),
                view.share,
                view.priority,
                dict(view.owed),
            )
            for view in some
        ]
        after = found[-1].queue
    return found


def explanation(
    look: Look, partition: str, ask: object, now_ns: int, rm_id: str = RM_ID
) -> Explanation:
    """Return why an ask waits, or that it does not. Raises: RequestError."""
    if not isinstance(ask, Ask):
        raise RequestError(f"{ask!r:.80} is no Ask; pass one that ask() or pending() returned")
    application_id = inputs.name(ask.application_id, "application_id of the ask")
    key = inputs.name(ask.allocation_key, "allocation_key of the ask")
    return explain(look, AskName(partition, application_id, key, rm_id), now_ns)


def _applications(
    look: Look, partition: str, application_id: str, rm_id: str
) -> list[ApplicationView]:
    if application_id:
        query = ApplicationQuery(partition, application_id, rm_id=rm_id)
        return rows(ApplicationView, look(query) or ())
    return rows(ApplicationView, look(ApplicationRowsQuery(partition, rm_id=rm_id)) or ())


def _ask(view: RequestView) -> Ask:
    return Ask(
        view.application_id,
        view.allocation_key,
        dict(view.resource),
        view.pending_count,
        view.priority,
        view.task_group,
        view.placeholder,
        dict(view.tags),
    )


def _allocation(view: AllocationView) -> Allocation:
    return Allocation(
        view.application_id,
        view.allocation_key,
        view.allocation_id,
        view.node_id,
        dict(view.resource),
        view.priority,
        view.task_group,
        view.placeholder,
        dict(view.tags),
    )
