"""The answer to each path: one table of routes over read-only queries to the core.

A handler asks for one view and returns its shape; it raises ApiError for the errors of the
catalogue. The order of checks is partition, syntax of the queue path, queue (REST-14). Long work,
such as reading a configuration, runs on a thread of its own, so the event loop can serve others
meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from remuda.base.errors import ERROR
from remuda.base.go_text import parse_bool
from remuda.config.schema import GROUP_NAME, USER_NAME, WILDCARD, PlacementRuleConfig
from remuda.config.settings import read_switches
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.preemption_queries import (
    EvictionsQuery,
    EvictionView,
    PreemptionsQuery,
    PreemptionView,
)
from remuda.core.messages.queries import (
    ConfigurationsQuery,
    ConfigurationView,
    NodeView,
    PlacementRulesQuery,
    QueuesQuery,
    QueueView,
    UsageQuery,
    UsageView,
)
from remuda.core.messages.rows import ApplicationRowsQuery, NodeRowsQuery
from remuda.edges.questions.reach import Reach
from remuda.edges.rest.requests.asking import (
    Asked,
    Views,
    ask,
    ask_many,
    ask_partitions,
    ask_rows,
    require_partition,
)
from remuda.edges.rest.requests.conditional import conditional
from remuda.edges.rest.requests.endpoint import Body, Endpoint
from remuda.edges.rest.requests.errors import (
    ACTIVE_ONLY,
    ACTIVE_STATUSES,
    BAD_GROUP_NAME,
    BAD_STATUS,
    BAD_USER_NAME,
    GROUP_NOT_FOUND,
    MANAGER_NOT_FOUND,
    PREEMPTION_NOT_FOUND,
    QUEUE_NOT_FOUND,
    USER_NOT_FOUND,
    ApiError,
    check_queue_path,
)
from remuda.edges.rest.requests.negotiation import prefers_json
from remuda.edges.rest.requests.numbers import count_option, whole_number
from remuda.edges.rest.requests.paging import page_of, paged
from remuda.edges.rest.routes.applications import APPLICATION_ROUTES, application_items
from remuda.edges.rest.routes.nodes import NODE_ROUTES
from remuda.edges.rest.shapes import configuration as config_shapes
from remuda.edges.rest.shapes import dao, usage
from remuda.edges.rest.shapes import preemptions as preemption_shapes
from remuda.edges.rest.shapes.objects import ValidateConfResponse
from remuda.edges.rest.shapes.placement import placement_rules as dressed_rules
from remuda.edges.rest.text import units as unit_text
from remuda.edges.rest.text.long_lists import long_list
from remuda.runtime.configuration.text import judge

# Bytes of a configuration that a client may send to be checked (REST-61).
VALIDATION_LIMIT: Final = 4 * 1024 * 1024

# The default and the highest number of preemptions in an answer (REST-125).
_USUAL: Final = 100
_MOST: Final = 1_000


async def partitions(views: Views, asked: Asked) -> object:
    """All partitions that the caller may see. Implements: REST-28. Rules: EXT-32."""
    return [dao.partition(view) for view in await ask_partitions(views) if asked.sees(view.name)]


async def queues(views: Views, asked: Asked) -> object:
    """The root queue with the whole tree. Implements: REST-29, REST-72."""
    return dao.queue(await _root(views, asked), subtree=True)


async def queue(views: Views, asked: Asked) -> object:
    """One queue; its children if the query has a key ``subtree``. Implements: REST-30, REST-73."""
    path = asked.path["queue"]
    root = await _root(views, asked)
    check_queue_path(path)
    found = _find(root, path.lower())
    if found is None:
        raise ApiError(404, QUEUE_NOT_FOUND)
    return dao.queue(found, subtree="subtree" in asked.options)


async def nodes(views: Views, asked: Asked) -> object:
    """All nodes of a partition. Implements: REST-31."""
    query = NodeRowsQuery(asked.partition, asked.rm_id)
    found = await ask_many(views, query, NodeView)
    return await long_list(views, page_of(asked), found, unit_text.nodes)


async def applications(views: Views, asked: Asked) -> object:
    """The active applications of one queue, none for a parent. Implements: REST-33, REST-76."""
    found = await _applications(views, asked)
    return await long_list(views, page_of(asked), found, application_items(views))


async def applications_by_state(views: Views, asked: Asked) -> object:
    """The same, if ``active`` is asked for, and restricted to one ``status``.

    Implements: REST-51, REST-84.
    """
    found = await _applications(views, asked)
    if asked.path["state"].lower() != "active":
        raise ApiError(400, ACTIVE_ONLY)
    status = asked.options.get("status", "").lower()
    if status and status not in ACTIVE_STATUSES:
        raise ApiError(400, BAD_STATUS)
    if status:
        found = await asyncio.to_thread(_in_state, found, status)
    return await long_list(views, page_of(asked), found, application_items(views))


def _in_state(found: Sequence[ApplicationView], status: str) -> list[ApplicationView]:
    return [view for view in found if view.state.lower() == status]


async def placement_rules(views: Views, asked: Asked) -> object:
    """The placement rules in force, the recovery rule last (REST-95). Implements: REST-50."""
    query = PlacementRulesQuery(asked.partition, asked.rm_id)
    return dressed_rules(await ask_rows(views, query, PlacementRuleConfig))


async def preemptions(views: Views, asked: Asked) -> object:
    """Preemptions, newest first, and what is evicted again and again (REST-125)."""
    repeated = EvictionsQuery(asked.partition, time.time_ns(), asked.rm_id)
    evictions = await ask_rows(views, repeated, EvictionView)
    last = count_option(asked.options.get("limit", ""), "limit", _USUAL, _MOST)
    application = asked.options.get("application", "")
    query = PreemptionsQuery(asked.partition, application, last=last, rm_id=asked.rm_id)
    found = await ask_rows(views, query, PreemptionView)
    return preemption_shapes.preemptions(found, evictions)


async def preemption(views: Views, asked: Asked) -> object:
    """One preemption (REST-126)."""
    await require_partition(views, asked)
    number = whole_number(asked.path["number"], "number")
    query = PreemptionsQuery(asked.partition, number=number, rm_id=asked.rm_id)
    for view in await ask_rows(views, query, PreemptionView) if number else ():
        return preemption_shapes.preemption(view)
    raise ApiError(404, PREEMPTION_NOT_FOUND)


async def users(views: Views, asked: Asked) -> object:
    """All users with usage or a limit (REST-65). Implements: REST-37."""
    return [usage.user(view) for view in await _usage(views, asked, groups=False)]


async def user(views: Views, asked: Asked) -> object:
    """One user. Implements: REST-38."""
    return usage.user(await _one_usage(views, asked, groups=False))


async def groups(views: Views, asked: Asked) -> object:
    """All groups with usage or a limit, ``*`` for the wildcard's (REST-65). Implements: REST-39."""
    return [usage.group(view) for view in await _usage(views, asked, groups=True)]


async def group(views: Views, asked: Asked) -> object:
    """One group. Implements: REST-40."""
    return usage.group(await _one_usage(views, asked, groups=True))


async def configuration(views: Views, asked: Asked) -> object:
    """The configuration in force of one RM, or with ``raw`` its text.

    Implements: TOOL-3, REST-24.
    """
    chosen = await _configuration(views, asked.rm_id)
    if parse_bool(asked.options.get("raw", "")):
        text = "" if chosen is None else chosen.text
        return Body(text.encode(), config_shapes.YAML_TYPE)
    switches = read_switches(os.environ)
    if prefers_json(asked.accept):
        content = await asyncio.to_thread(config_shapes.as_json, chosen, switches)
        return Body(content, dao.JSON_TYPE)
    content = await asyncio.to_thread(config_shapes.as_yaml, chosen, switches)
    return Body(content, config_shapes.YAML_TYPE)


async def validate(views: Views, asked: Asked) -> object:
    """Whether the body is a valid configuration; changes nothing.

    Implements: TOOL-2, REST-25, REST-61.
    """
    verdict = await asyncio.to_thread(judge, asked.body, "config")
    for problem in verdict.problems:
        if problem.severity == ERROR:
            return ValidateConfResponse(allowed=False, reason=problem.text("config"))
    return ValidateConfResponse(allowed=True)


_of_partition = partial(Endpoint, reach=Reach.PARTITION)
_of_queue = partial(Endpoint, reach=Reach.QUEUE)

ROUTES: Final[Mapping[str, Endpoint]] = {
    **APPLICATION_ROUTES,
    **NODE_ROUTES,
    "/ws/v1/config": Endpoint(conditional(configuration)),
    "/ws/v1/validate-conf": Endpoint(validate, body_limit=VALIDATION_LIMIT),
    "/ws/v1/partitions": Endpoint(paged(partitions), reach=Reach.PARTITIONS),
    "/ws/v1/partition/{partition}/placementrules": _of_partition(paged(placement_rules)),
    "/ws/v1/partition/{partition}/queues": _of_partition(conditional(queues)),
    "/ws/v1/partition/{partition}/queue/{queue}": _of_queue(conditional(queue)),
    "/ws/v1/partition/{partition}/nodes": _of_partition(nodes),
    "/ws/v1/partition/{partition}/queue/{queue}/applications": _of_queue(applications),
    "/ws/v1/partition/{partition}/queue/{queue}/applications/{state}": _of_queue(
        applications_by_state
    ),
    "/ws/v1/partition/{partition}/preemptions": _of_partition(preemptions),
    "/ws/v1/partition/{partition}/preemption/{number}": _of_partition(preemption),
    "/ws/v1/partition/{partition}/usage/users": _of_partition(paged(users)),
    "/ws/v1/partition/{partition}/usage/user/{name}": _of_partition(user),
    "/ws/v1/partition/{partition}/usage/groups": _of_partition(paged(groups)),
    "/ws/v1/partition/{partition}/usage/group/{name}": _of_partition(group),
}


async def _configuration(views: Views, rm_id: str) -> ConfigurationView | None:
    """Return the configuration of an RM, without one that of the first by ID (REST-21).

    None: no RM is registered, and none was asked for.
    """
    for view in await ask_rows(views, ConfigurationsQuery(), ConfigurationView):
        if rm_id in ("", view.rm_id):
            return view
    if rm_id:
        raise ApiError(404, MANAGER_NOT_FOUND)
    return None


async def _usage(views: Views, asked: Asked, *, groups: bool) -> list[UsageView]:
    return await ask_rows(views, UsageQuery(asked.partition, groups, asked.rm_id), UsageView)


async def _one_usage(views: Views, asked: Asked, *, groups: bool) -> UsageView:
    name = asked.path["name"]
    for view in await _usage(views, asked, groups=groups):
        if view.name == name:
            return view
    if groups:
        if name == WILDCARD or GROUP_NAME.fullmatch(name):
            raise ApiError(404, GROUP_NOT_FOUND)
        raise ApiError(400, BAD_GROUP_NAME)
    if USER_NAME.fullmatch(name):
        raise ApiError(404, USER_NOT_FOUND)
    raise ApiError(400, BAD_USER_NAME)


async def _applications(views: Views, asked: Asked) -> Sequence[ApplicationView]:
    path = asked.path["queue"]
    try:
        check_queue_path(path)
    except ApiError:
        await require_partition(views, asked)
        raise
    query = ApplicationRowsQuery(asked.partition, path.lower(), asked.rm_id)
    return await ask_many(views, query, ApplicationView)


async def _root(views: Views, asked: Asked) -> QueueView:
    found = await ask(views, QueuesQuery(asked.partition, asked.rm_id))
    assert isinstance(found, QueueView)
    return found


def _find(top: QueueView, path: str) -> QueueView | None:
    """Walk down to the queue with this lower-case path (REST-75); None if there is none.

    Implements: REST-75.
    """
    current: QueueView | None = top
    while current is not None and current.path.lower() != path:
        current = next(
            (child for child in current.children if _leads_to(child.path.lower(), path)), None
        )
    return current


def _leads_to(queue_path: str, wanted: str) -> bool:
    return wanted == queue_path or wanted.startswith(queue_path + ".")
