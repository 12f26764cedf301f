"""The nodes of the demo, and its jobs, which arrive at random but reproducibly.

Pure: time is an argument in seconds since the start and randomness comes from one seeded generator,
so equal seeds give equal jobs. The load is sometimes above and sometimes below the capacity of the
cluster, so that queues fill up and drain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from remuda.base.message import message

GIB: Final = 1 << 30
GPU: Final = "nvidia.com/gpu"

# Mean demand for CPU as a share of what the nodes have, the size of its swing, its period.
LOAD: Final = 0.9
SWING: Final = 0.5
PERIOD_SECONDS: Final = 60.0

# Jobs that wait when the demo starts.
FIRST_JOBS: Final = 40


def _resource(cores: int, gib: int, gpus: int = 0) -> dict[str, int]:
    resource = {"memory": gib * GIB, "vcore": cores * 1_000}
    return {**resource, GPU: gpus} if gpus else resource


@message
class NodeShape:
    """Equal nodes: their number, their names and their capacity in base units."""

    name: str
    count: int
    capacity: Mapping[str, int]


NODES: Final[Sequence[NodeShape]] = (
    NodeShape("small", 70, _resource(32, 128)),
    NodeShape("large", 20, _resource(64, 256)),
    NodeShape("gpu", 10, _resource(48, 384, gpus=8)),
)


@message
class JobKind:
    """Jobs of one sort: their queue and user, and the number, size and duration of their tasks.

    ``tasks`` and ``seconds`` are (smallest, largest); ``weight`` is the share of all jobs.
    """

    queue: str
    users: Sequence[str]
    tasks: tuple[int, int]
    sizes: Sequence[Mapping[str, int]]
    seconds: tuple[float, float]
    weight: float

    def mean_work(self) -> float:
        """Return the CPU time of a mean job, in core milliseconds of ``vcore`` times seconds."""
        cores = sum(size["vcore"] for size in self.sizes) / len(self.sizes)
        return sum(self.tasks) / 2 * cores * sum(self.seconds) / 2


KINDS: Final[Sequence[JobKind]] = (
    JobKind("root.production.web", ("ann", "ben"), (2, 12), (_resource(1, 2),), (20.0, 40.0), 0.25),
    JobKind(
        "root.production.etl",
        ("etl",),
        (4, 40),
        (_resource(4, 16), _resource(2, 8)),
        (6.0, 14.0),
        0.25,
    ),
    JobKind(
        "root.research.training",
        ("carla", "dmitri"),
        (1, 4),
        (_resource(8, 64, gpus=1), _resource(8, 64, gpus=2), _resource(16, 96, gpus=4)),
        (15.0, 45.0),
        0.05,
    ),
    JobKind(
        "root.research.notebooks",
        ("carla", "emil", "fatima"),
        (1, 1),
        (_resource(2, 8),),
        (10.0, 60.0),
        0.15,
    ),
    JobKind(
        "root.batch",
        ("ben", "emil", "fatima", "gita"),
        (10, 60),
        (_resource(2, 4), _resource(1, 2)),
        (3.0, 10.0),
        0.30,
    ),
)


@message
class Job:
    """One application with ``tasks`` equal tasks that run about ``seconds`` each."""

    application_id: str
    kind: JobKind
    user: str
    tasks: int
    resource: Mapping[str, int]
    seconds: float


class Workload:
    """The stream of jobs of one demo."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - a simulation, nothing secret
        self._next_seconds = 0.0
        self._count = 0
        capacity = sum(shape.count * shape.capacity["vcore"] for shape in NODES)
        work = sum(kind.weight * kind.mean_work() for kind in KINDS)
        self._jobs_per_second = LOAD * capacity * sum(kind.weight for kind in KINDS) / work

    def arrivals(self, now: float) -> list[Job]:
        """Return the jobs that arrived up to ``now`` and were not returned before."""
        jobs = []
        while self._next_seconds <= now:
            jobs.append(self._job())
            if self._count >= FIRST_JOBS:
                self._next_seconds += self._random.expovariate(self._rate(self._next_seconds))
        return jobs

    def task_seconds(self, job: Job) -> float:
        """Return how long one task of a job runs; the tasks of a job run about equally long."""
        return job.seconds * self._random.uniform(0.8, 1.2)

    def _rate(self, now: float) -> float:
        return self._jobs_per_second * (1 + SWING * math.sin(math.tau * now / PERIOD_SECONDS))

    def _job(self) -> Job:
        self._count += 1
        kind = self._random.choices(KINDS, [kind.weight for kind in KINDS])[0]
        return Job(
            application_id=f"{kind.queue.rpartition('.')[2]}-{self._count:05d}",
            kind=kind,
            user=self._random.choice(kind.users),
            tasks=self._random.randint(*kind.tasks),
            resource=self._random.choice(kind.sizes),
            seconds=self._random.uniform(*kind.seconds),
        )
