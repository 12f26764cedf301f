"""The queues of a scheduler: a queue file, or a tree of ``Queue`` that is written as one.

The reader of queue files reads both, so the same checks apply to both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import yaml

from remuda.base.amount_text import quantity_text
from remuda.base.errors import ConfigError
from remuda.config.load import load_configuration
from remuda.config.schema import (
    DEFAULT_PARTITION,
    QUEUE_DEPTH_LIMIT,
    ROOT,
    Configuration,
    PartitionConfig,
)
from remuda.library import inputs
from remuda.library.amounts import base_units
from remuda.library.errors import RequestError
from remuda.library.records import Amounts


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue with those below it; a scheduler with such queues lets everybody submit.

    ``properties``: those of a queue file. Other keys of a queue file need a queue file.
    """

    name: str
    guaranteed: Amounts | None = None
    maximum: Amounts | None = None
    max_applications: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    queues: Sequence[Queue] = ()


# The text of a queue file, the file itself, or queues; "" for the built-in configuration.
Config: TypeAlias = str | Path | Queue | Sequence[Queue]


def configuration_of(config: Config) -> Configuration:
    """Read the configuration of a scheduler.

    Raises: ConfigError with all errors; RequestError for a file that cannot be read, for another
    type of value, and unless there is exactly one partition.
    """
    text, source = _text(config)
    try:
        configuration = load_configuration(text, source)
    except ConfigError as error:
        if isinstance(config, str | Path):
            raise
        # Nobody has seen the text that the queues were written as.
        problems = [replace(each, line=0, column=0) for each in error.problems]
        raise ConfigError(problems, source) from None
    if len(configuration.partitions) != 1:
        count = len(configuration.partitions)
        raise RequestError(
            f"config has {count} partitions; this API serves exactly one: "
            "use remuda.edges.inproc.InProcessScheduler for several"
        )
    return configuration


def partition_of(configuration: Configuration) -> PartitionConfig:
    """Return the one partition."""
    return configuration.partitions[0]


def _text(config: object) -> tuple[str, str]:
    """Return the text of a configuration and what errors call it."""
    if isinstance(config, str):
        return config, "config"
    if isinstance(config, Path):
        inputs.file(config, "config")
        try:
            return config.read_text(encoding="utf-8"), str(config)
        except (OSError, UnicodeDecodeError) as error:
            raise RequestError(f"config {config}: it cannot be read: {error}") from None
    queues = [config] if isinstance(config, Queue) else config
    if not isinstance(queues, Sequence) or not queues:
        raise RequestError(
            f"config is {config!r:.80}; pass the text of a queue file, a Path to one, or queues"
        )
    return yaml.safe_dump(_document(queues), sort_keys=False), "config"


def _document(queues: Sequence[object]) -> dict[str, object]:
    """Return the queue file that says what these queues say, root on top of them."""
    described = [_queue(each, ROOT, 1) for each in queues]
    if len(described) == 1 and str(described[0]["name"]).lower() == ROOT:
        root = described[0]
    else:
        root = {"name": ROOT, "queues": described}
    partition = {"name": DEFAULT_PARTITION, "queues": [root | {"submitacl": "*"}]}
    return {"partitions": [partition]}


def _queue(queue: object, above: str, depth: int) -> dict[str, object]:
    if not isinstance(queue, Queue):
        raise RequestError(f"below {above}: {queue!r:.80} is no Queue")
    where = f"queue {above}.{inputs.name(queue.name, f'the name of a queue below {above}')}"
    if depth > QUEUE_DEPTH_LIMIT:
        raise RequestError(f"below {above}: more than {QUEUE_DEPTH_LIMIT} levels of queues")
    below: object = queue.queues
    if isinstance(below, str) or not isinstance(below, Sequence):
        raise RequestError(f"{where}: its queues have to be a list of Queue")
    described: dict[str, object] = {"name": queue.name}
    resources = {
        key: _quantities(given, f"{where}, {key}")
        for key, given in (("guaranteed", queue.guaranteed), ("max", queue.maximum))
        if given is not None
    }
    if resources:
        described["resources"] = resources
    count = inputs.whole(queue.max_applications, f"{where}, max_applications", 0, inputs.INT64_MAX)
    if count:
        described["maxapplications"] = count
    if properties := inputs.texts(queue.properties, f"{where}, properties"):
        described["properties"] = properties
    path = f"{above}.{queue.name}"
    if below:
        described["queues"] = [_queue(each, path, depth + 1) for each in below]
    return described


def _quantities(given: Amounts, where: str) -> dict[str, str]:
    return {name: quantity_text(name, amount) for name, amount in base_units(given, where).items()}
