"""Chooses the queue of each task of a trace, and the configuration that has these queues.

Without a configuration of the user there is one first-in-first-out leaf per value of the chosen
label and no limit, so that results show the order of the queues and the nodes alone. All resource
types weigh 1 in the node order, because the scheduler's default (vcore and memory) would not see
GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.config.schema import AccessList, Configuration, PartitionConfig, QueueConfig
from remuda.sim.workload import NodeSpec, Task, Workload

PARTITION: Final = "default"
ROOT: Final = "root"
NONE: Final = "none"
ONE_LEAF: Final = "default"
GANGS_BELOW: Final = "cluster"

_FIFO: Final = {"application.sort.policy": "fifo"}
_ILLEGAL: Final = re.compile(r"[^a-z0-9_-]")
_NAME_LIMIT: Final = 64


@message
class QueuePlan:
    """A configuration, and per task (by place) the full path of its queue."""

    configuration: Configuration
    paths: tuple[str, ...]


def own_queues(
    workload: Workload,
    queue_by: str,
    nodes: Sequence[NodeSpec],
    node_sort: str,
    *,
    gangs: bool = False,
    preemption: bool = False,
) -> QueuePlan:
    """Return one FIFO leaf per value of a label, or a single one for NONE.

    ``preemption``: each leaf is guaranteed an equal share of the cluster, because without
    guarantees no ask may preempt (PRE-85). ``gangs``: they are below a parent whose maximum is the
    size of the cluster, because a gang takes room as soon as the maxima above it leave enough for
    all its members (GANG-4).

    Raises: UsageError, when the trace does not have the label.
    """
    values = _values(workload, queue_by)
    names = legal_names(values)
    due = None
    if preemption:
        leaves = len(set(names.values()))
        due = {name: amount // leaves for name, amount in _total(nodes).items()}
    queues = tuple(
        QueueConfig(name, guaranteed=due, properties=_FIFO) for name in sorted(set(names.values()))
    )
    top = ROOT
    if gangs:
        top = f"{ROOT}.{GANGS_BELOW}"
        queues = (QueueConfig(GANGS_BELOW, parent=True, maximum=_total(nodes), queues=queues),)
    partition = PartitionConfig(
        PARTITION,
        QueueConfig(ROOT, parent=True, queues=queues, submit_acl=AccessList(everybody=True)),
        node_sort_policy=node_sort,
        node_sort_weights=_equal_weights(nodes, workload.tasks),
    )
    paths = tuple(f"{top}.{names[value]}" for value in values)
    return _plan(Configuration((partition,)), workload, paths)


def given_queues(
    workload: Workload,
    queue_by: str,
    configuration: Configuration,
    node_sort: str | None,
    *,
    preemption: bool = False,
) -> QueuePlan:
    """Return a user's configuration, with each task sent to the queue its label names.

    A label is a full path, with or without ``root.``. With NONE all tasks go to the one leaf
    the configuration has. ``node_sort`` overrides the configuration's node order.

    Raises: UsageError, when a task has no queue that is a leaf of the configuration, or when
    ``preemption`` is wanted and the configuration allows none.
    """
    partition = _partition(configuration)
    if preemption and not partition.preemption:
        raise UsageError("--preemption on: --config says 'preemption: {enabled: false}'")
    if preemption and not _guarantees(partition.root):
        raise UsageError("--preemption on: no queue of --config has anything guaranteed")
    leaves = sorted(_leaves(partition.root, ROOT))
    if node_sort is not None:
        partition = replace(partition, node_sort_policy=node_sort)
        configuration = replace(configuration, partitions=(partition,))
    if queue_by == NONE:
        return QueuePlan(configuration, (_only(leaves),) * len(workload.tasks))
    known = set(leaves)
    paths = tuple(_path(value) for value in _values(workload, queue_by))
    for task, path in zip(workload.tasks, paths, strict=True):
        if path not in known:
            where = f"{workload.source}:{task.line}: task '{task.task_id}'"
            raise UsageError(f"{where}: the configuration has no leaf queue '{path}'")
    return _plan(configuration, workload, paths)


def legal_names(values: Sequence[str]) -> dict[str, str]:
    """Return a queue name for every value, different ones for different values (CFG-30).

    Other characters become ``_``, no value at all ``none``; where that makes two values alike,
    the later one gets a number.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for value in values:
        if value in names:
            continue
        name = plain = _ILLEGAL.sub("_", value.lower())[:_NAME_LIMIT] or NONE
        number = 1
        while name in taken:
            number += 1
            name = f"{plain[: _NAME_LIMIT - 1 - len(str(number))]}-{number}"
        taken.add(name)
        names[value] = name
    return names


def _values(workload: Workload, queue_by: str) -> list[str]:
    if queue_by == NONE:
        return [ONE_LEAF] * len(workload.tasks)
    if queue_by not in workload.labels:
        has = ", ".join(workload.labels) or "no such column"
        what = f"{workload.source} ({workload.format}) has {has}"
        raise UsageError(f"--queue-by {queue_by}: {what}; use --queue-by none")
    return [task.labels[queue_by] for task in workload.tasks]


def _plan(configuration: Configuration, workload: Workload, paths: tuple[str, ...]) -> QueuePlan:
    """Return the plan, once every application is known to be in one queue only."""
    queue_of: dict[str, str] = {}
    for task, path in zip(workload.tasks, paths, strict=True):
        other = queue_of.setdefault(task.application_id, path)
        if other != path:
            where = f"{workload.source}:{task.line}: application '{task.application_id}'"
            raise UsageError(f"{where} is in queue '{path}' and in '{other}'; it can be in one")
    return QueuePlan(configuration, paths)


def _total(nodes: Sequence[NodeSpec]) -> dict[str, int]:
    """Return the size of the cluster, without types that no node has."""
    total: dict[str, int] = {}
    for node in nodes:
        for name, amount in node.capacity.items():
            total[name] = total.get(name, 0) + amount
    return {name: amount for name, amount in total.items() if amount}


def _equal_weights(nodes: Sequence[NodeSpec], tasks: Sequence[Task]) -> dict[str, float]:
    types = {name for node in nodes for name in node.capacity}
    types.update(name for task in tasks for name in task.resource)
    return dict.fromkeys(sorted(types), 1.0)


def _partition(configuration: Configuration) -> PartitionConfig:
    for partition in configuration.partitions:
        if partition.name == PARTITION:
            return partition
    raise UsageError(f"--config: no partition named '{PARTITION}'")


def _leaves(queue: QueueConfig, path: str) -> list[str]:
    if not queue.queues:
        return [] if queue.parent else [path]
    return [leaf for child in queue.queues for leaf in _leaves(child, f"{path}.{child.name}")]


def _guarantees(queue: QueueConfig) -> bool:
    """Whether a queue or one below has a guarantee, or one that is made later may have it."""
    template = queue.template
    if queue.guaranteed or (template is not None and template.guaranteed):
        return True
    return any(_guarantees(child) for child in queue.queues)


def _only(leaves: Sequence[str]) -> str:
    if len(leaves) != 1:
        raise UsageError(f"--config: {len(leaves)} leaf queues to choose from; say --queue-by")
    return leaves[0]


def _path(value: str) -> str:
    name = value.lower()
    return name if name == ROOT or name.startswith(f"{ROOT}.") else f"{ROOT}.{name}"
