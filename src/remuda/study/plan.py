"""What a study consists of, and the runs that it expands into.

A run is determined by its content: the files, options, variation and seed. Its ID holds a digest of
all that, so that a result is used again only for the very same run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import remuda
from remuda.base.errors import UsageError
from remuda.base.message import message

# The form of the results; another one makes all runs new.
_FORM: Final = 1
_DIGEST_CHARACTERS: Final = 12
_PIECE_BYTES: Final = 1 << 20


@message
class TraceEntry:
    """A workload and its cluster. ``nodes``: a shape or a file; ``place``: where it is written."""

    name: str
    workload: Path
    nodes: str | None
    format: str
    queue_by: str | None
    from_seconds: str | None
    to_seconds: str | None
    place: str


@message
class ConfigurationEntry:
    """A queue configuration; ``file`` None: one queue for each value of the trace's column."""

    name: str
    file: Path | None
    place: str


@message
class Variant:
    """Options of the simulator; ``gangs``: a style, or ``off``."""

    name: str
    node_sort: str | None
    reservation_delay: str
    preemption: bool
    gangs: str
    place: str


@message
class Failures:
    """How often each node fails, on average, and how long it is away; in seconds."""

    every_seconds: int
    repair_seconds: int


@message
class Variation:
    """What differs between seeds. ``noise``: a part of the run time, from 0 to below 1."""

    jitter_ns: int = 0
    noise: float = 0.0
    failures: Failures | None = None


@message
class Alternative:
    """One thing to compare: a configuration with a variant, by their names."""

    configuration: str
    variant: str

    def label(self) -> str:
        """Return how results call it."""
        return f"{self.configuration} / {self.variant}"


@message
class Study:
    """A study file that was accepted."""

    source: str
    title: str
    traces: tuple[TraceEntry, ...]
    configurations: tuple[ConfigurationEntry, ...]
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    variation: Variation
    baseline: Alternative
    confidence: float

    def alternatives(self) -> list[Alternative]:
        """Return all alternatives, the baseline first, the others in the order of the file."""
        found = [
            Alternative(configuration.name, variant.name)
            for configuration in self.configurations
            for variant in self.variants
        ]
        found.sort(key=lambda each: each != self.baseline)
        return found


@message
class Run:
    """One simulation of a study. ``run_id``: its name in the output folder."""

    run_id: str
    trace: TraceEntry
    configuration: ConfigurationEntry
    variant: Variant
    variation: Variation
    seed: int


Digest: TypeAlias = Callable[[Path], str]


def runs_of(study: Study) -> list[Run]:
    """Return the runs of a study; those that differ in the seed alone follow each other.

    Raises: UsageError, if a file cannot be read. Implements: EXT-56.
    """
    digest = cache(_file_digest)
    return [
        _run(study, trace, configuration, variant, seed, digest=digest)
        for trace in study.traces
        for configuration in study.configurations
        for variant in study.variants
        for seed in study.seeds
    ]


def _run(
    study: Study,
    trace: TraceEntry,
    configuration: ConfigurationEntry,
    variant: Variant,
    seed: int,
    *,
    digest: Digest,
) -> Run:
    run = Run("", trace, configuration, variant, study.variation, seed)
    return replace(run, run_id=content_id(run, digest))


def content_id(run: Run, digest: Digest | None = None) -> str:
    """Return the ID of a run by the content that its files have now. Raises: UsageError."""
    names = f"{run.trace.name}.{run.configuration.name}.{run.variant.name}.{run.seed}"
    variation = run.variation
    failures = variation.failures
    content = {
        **_scene(run, digest or _file_digest),
        "variation": [variation.jitter_ns, variation.noise],
        "failures": failures and [failures.every_seconds, failures.repair_seconds],
        "seed": run.seed,
    }
    return f"{names}.{_digest_of(content)[:_DIGEST_CHARACTERS]}"


def scene_id(run: Run) -> str:
    """Return what runs have in common that differ in seed and variation alone.

    Raises: UsageError.
    """
    return _digest_of(_scene(run, _file_digest))


def _scene(run: Run, digest: Digest) -> dict[str, object]:
    trace, variant = run.trace, run.variant
    nodes = trace.nodes
    if nodes is not None and Path(nodes).is_file():
        nodes = digest(Path(nodes))
    return {
        "form": _FORM,
        "version": remuda.__version__,
        "workload": digest(trace.workload),
        "nodes": nodes,
        "trace": [trace.format, trace.queue_by, trace.from_seconds, trace.to_seconds],
        "configuration": run.configuration.file and digest(run.configuration.file),
        "variant": [
            variant.node_sort,
            variant.reservation_delay,
            variant.preemption,
            variant.gangs,
        ],
    }


def _digest_of(content: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _file_digest(path: Path) -> str:
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                found.update(piece)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    return found.hexdigest()
