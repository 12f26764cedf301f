"""The routes about the scheduler's health: checks, history, and plain probes.

None of them waits for the core, so they answer also while it is busy or stopped.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from remuda.base.go_text import parse_bool
from remuda.edges.rest.requests.asking import Asked, Views, require_partition
from remuda.edges.rest.requests.endpoint import Body, Endpoint, Routes
from remuda.edges.rest.requests.errors import HEALTH_NOT_FOUND, HISTORY_OFF, ApiError
from remuda.edges.rest.shapes import dao
from remuda.telemetry.health.checker import HealthChecker
from remuda.telemetry.health.findings import Health
from remuda.telemetry.history import History, Sample
from remuda.telemetry.pulse import DEAD_SECONDS, UNREADY_SECONDS, Pulse

# The logger that the specification calls core.scheduler.health (KV-2).
_log = logging.getLogger("remuda.runtime.health")

_TEXT: Final = "text/plain; charset=utf-8"
_FRESH: Final = {"Cache-Control": "no-store"}


class HealthCheckShape(msgspec.Struct, rename="pascal"):
    """One check of a result (REST-93)."""

    name: str
    succeeded: bool
    description: str
    diagnosis_message: str


class HealthShape(msgspec.Struct, rename="pascal"):
    """The result of the last run (REST-93)."""

    healthy: bool
    health_checks: list[HealthCheckShape]


class AppHistoryItem(msgspec.Struct, rename="camel"):
    """Applications at one moment; the number is text (REST-62)."""

    timestamp: int
    total_applications: str


class ContainerHistoryItem(msgspec.Struct, rename="camel"):
    """Containers at one moment; the number is text (REST-62)."""

    timestamp: int
    total_containers: str


def alone() -> bool:
    """Return that a process is no standby."""
    return False


def health_routes(
    checker: HealthChecker,
    history: History,
    pulse: Pulse,
    standing_by: Callable[[], bool] = alone,
) -> Routes:
    """Return the routes over the health checks, the history and the pulse of the core.

    ``standing_by``: whether this process is a standby, which probes are told.

    Implements: REST-43. Rules: REST-26, REST-27, REST-62, REST-93, REST-123.
    """

    async def healthcheck(_: Views, asked: Asked) -> object:
        """The last stored result; with ``strict`` 503 if that is bad (REST-93)."""
        latest = checker.latest
        if latest is None:
            raise ApiError(404, HEALTH_NOT_FOUND)
        _log.debug("health check is read: healthy %s", latest.healthy)
        strict = parse_bool(asked.options.get("strict", "")) or False
        content = dao.encode(health(latest))
        status = 503 if strict and not latest.healthy else 200
        return Body(content, dao.JSON_TYPE, headers=_FRESH, status=status)

    async def applications(views: Views, asked: Asked) -> object:
        """Running applications over time. Implements: REST-26."""
        found = await _samples(history, views, asked)
        return application_history(found)

    async def containers(views: Views, asked: Asked) -> object:
        """Running containers over time. Implements: REST-27."""
        found = await _samples(history, views, asked)
        return container_history(found)

    return {
        "/ws/v1/scheduler/healthcheck": Endpoint(healthcheck),
        "/ws/v1/history/apps": Endpoint(applications),
        "/ws/v1/history/containers": Endpoint(containers),
        "/livez": Endpoint(_probe(pulse, DEAD_SECONDS, standing_by)),
        "/readyz": Endpoint(_probe(pulse, UNREADY_SECONDS, standing_by)),
        "/healthz": Endpoint(_probe(pulse, UNREADY_SECONDS, standing_by)),
    }


def health(latest: Health) -> HealthShape:
    """Return the shape of a result. Implements: REST-93."""
    checks = [
        HealthCheckShape(each.name, each.succeeded, each.description, each.diagnosis)
        for each in latest.findings
    ]
    return HealthShape(latest.healthy, checks)


def application_history(samples: Sequence[Sample]) -> list[AppHistoryItem]:
    """Return the shape of the counts of what ran over time. Implements: REST-62."""
    return [AppHistoryItem(each.taken_ns, str(each.applications)) for each in samples]


def container_history(samples: Sequence[Sample]) -> list[ContainerHistoryItem]:
    """Return the shape of the containers over time. Rules: REST-62."""
    return [ContainerHistoryItem(each.taken_ns, str(each.containers)) for each in samples]


async def _samples(history: History, views: Views, asked: Asked) -> list[Sample]:
    """Return the samples that are asked for. Raises: ApiError. Rules: MET-44, MET-46, REST-62."""
    if not history.enabled:
        raise ApiError(500, HISTORY_OFF)
    partition = asked.options.get("partition", "")
    if not partition:
        return history.samples()
    found = history.samples_of(asked.rm_id, partition)
    if not found:
        named = Asked(path={"partition": partition}, options=asked.options)
        await require_partition(views, named)
    return found


def _probe(
    pulse: Pulse, still_seconds: float, standing_by: Callable[[], bool]
) -> Callable[[Views, Asked], Awaitable[object]]:
    """Return what answers a probe in one word, or with what is wrong.

    Implements: REST-123. Rules: EXT-35.
    """

    async def answer(_views: Views, _asked: Asked) -> object:
        fault = pulse.fault(still_seconds)
        status = 503 if fault else 200
        text = f"{fault or ('standby' if standing_by() else 'ok')}\n"
        return Body(text.encode(), _TEXT, cors=False, headers=_FRESH, status=status)

    return answer
