"""The impact of a configuration on the scheduler in a snapshot, worked out on copies."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec

from remuda.base.errors import RemudaError, UsageError
from remuda.config.schema import Configuration
from remuda.core.messages.queries import ConfigurationsQuery, ConfigurationView
from remuda.core.scheduler import Scheduler
from remuda.insight.impact import ImpactAnswer, ImpactQuestion, config_impact
from remuda.insight.impact_result import ConfigImpact
from remuda.runtime import snapshots
from remuda.runtime.forks.fork import fork, on_copies, possible


def snapshot_impact(
    file: Path, configuration: Configuration, source: str, *, rm_id: str, within_ns: int
) -> ConfigImpact:
    """Return what a configuration would change for the scheduler in a snapshot.

    ``source``: the name of the configuration in errors. ``rm_id`` "": the only RM.
    Raises: UsageError, ConfigError; RemudaError if no copy can be made or gives an answer.
    """
    header, scheduler = snapshots.read(file)
    question = ImpactQuestion(_manager(scheduler, rm_id, file), configuration, within_ns)
    if not possible():
        raise RemudaError("copies of the process can be made on Linux only; ask there")
    answer = fork(partial(answer_impact, question, scheduler, header.at_ns)).result()
    return msgspec.json.decode(answer, type=ImpactAnswer).unless_refused(source)


def answer_impact(question: ImpactQuestion, scheduler: Scheduler, now_ns: int) -> bytes:
    """Return an ImpactAnswer as JSON, for use in a copy. Rules: EXT-43, EXT-67."""
    return msgspec.json.encode(config_impact(scheduler, now_ns, question, on_copies))


def _manager(scheduler: Scheduler, rm_id: str, file: Path) -> str:
    """Return the RM that is meant. Raises: UsageError."""
    found = scheduler.view(ConfigurationsQuery())
    assert isinstance(found, tuple)
    known = [each.rm_id for each in found if isinstance(each, ConfigurationView)]
    if rm_id in known:
        return rm_id
    names = ", ".join(known[:10]) or "none"
    if rm_id:
        raise UsageError(f"{file}: no resource manager {rm_id!r:.80}; it has: {names}")
    if len(known) != 1:
        raise UsageError(f"{file}: choose the resource manager with --rm; it has: {names}")
    return known[0]
