"""How many applications and containers ran, once a minute for a day (rules: chapter 97 section 5).

A thread takes the samples from the live counters of the partitions; readers get copies.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import TimeoutError as LateError
from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.core.messages.health_queries import PartitionCountsQuery, PartitionCountsView
from remuda.core.messages.rows import rows
from remuda.runtime.errors import LoopStoppedError
from remuda.telemetry.health.survey import Questions

_log = logging.getLogger("remuda.metrics")

# Samples kept: a day of minutes (MET-43).
SAMPLES: Final = 1_440

_MINUTE_SECONDS: Final = 60.0

# How long the core may take to answer before the sample counts as failed.
_ANSWER_SECONDS: Final = 30.0

# The value of a sample that could not be taken (MET-45).
FAILED: Final = -1

# Partitions that have a history of their own, the first by name and RM; memory is bounded.
PARTITIONS: Final = 100

# (RM ID, name) of a partition.
Place: TypeAlias = tuple[str, str]


@message
class Sample:
    """Applications in Starting or Running and allocations, of one moment; FAILED: unknown."""

    taken_ns: int
    applications: int
    containers: int


@message
class _Moment:
    """One sample of the cluster with its parts; ``parts`` None: it could not be taken."""

    whole: Sample
    parts: Mapping[Place, tuple[int, int]] | None


class History:
    """The samples of the last day.

    Args:
        questions: answers questions about the core.
        size: samples that are kept; 0: none are taken (MET-44).
        now_ns: reads the clock, Unix nanoseconds.
        every_seconds: time between samples; the first comes after that time.

    Any thread may read. Rules: MET-43, MET-44, MET-45, MET-46.
    """

    def __init__(
        self,
        questions: Questions,
        size: int = SAMPLES,
        *,
        now_ns: Callable[[], int] = time.time_ns,
        every_seconds: float = _MINUTE_SECONDS,
    ) -> None:
        self._questions = questions
        self._now_ns = now_ns
        self._every_seconds = every_seconds
        self._lock = threading.Lock()
        self._moments: deque[_Moment] = deque(maxlen=size)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="remuda-history", daemon=True)
        self.enabled: Final = size > 0

    def start(self) -> None:
        """Take samples from now on, the first after a minute. Implements: MET-43."""
        if self.enabled:
            self._thread.start()

    def stop(self) -> None:
        """Take no more samples. Repeating is harmless."""
        self._stopping.set()

    def sample(self) -> None:
        """Take one sample; if the core does not answer it counts as failed.

        Raises: LoopStoppedError. Rules: MET-43, MET-45 (Ours).
        """
        taken_ns = self._now_ns()
        try:
            view = self._questions.query(PartitionCountsQuery()).result(_ANSWER_SECONDS)
        except LateError:
            _log.warning("a sample of the history is missing: the scheduler does not answer")
            moment = _Moment(Sample(taken_ns, FAILED, FAILED), None)
        else:
            moment = _moment(taken_ns, rows(PartitionCountsView, view))
        with self._lock:
            self._moments.append(moment)

    def samples(self) -> list[Sample]:
        """Return the samples of the whole cluster, oldest first.

        Implements: MET-44. Rules: MET-46.
        """
        return [each.whole for each in self._copy()]

    def samples_of(self, rm_id: str, partition: str) -> list[Sample]:
        """Return the samples of one partition, as far as it existed, oldest first.

        ``rm_id`` empty: the partition of the first RM by ID that had it. Implements: MET-46 (Ours).
        Rules: REST-21.
        """
        moments = self._copy()
        places = {place for each in moments for place in each.parts or ()}
        owners = sorted(owner for owner, name in places if name == partition)
        chosen = rm_id or (owners[0] if owners else "")
        found = [_part(each, (chosen, partition)) for each in moments]
        return [each for each in found if each is not None]

    def _copy(self) -> list[_Moment]:
        with self._lock:
            return list(self._moments)

    def _work(self) -> None:
        due = time.monotonic()
        while True:
            due = max(due + self._every_seconds, time.monotonic())
            if self._stopping.wait(due - time.monotonic()):
                return
            try:
                self.sample()
            except LoopStoppedError:
                return


def _moment(taken_ns: int, counts: Sequence[PartitionCountsView]) -> _Moment:
    """Add up the counts of partitions. Implements: MET-45 (Ours)."""
    running = sum(each.running for each in counts)
    allocations = sum(each.allocations for each in counts)
    parts = {
        (each.rm_id, each.name): (each.running, each.allocations) for each in counts[:PARTITIONS]
    }
    return _Moment(Sample(taken_ns, running, allocations), parts)


def _part(moment: _Moment, place: Place) -> Sample | None:
    """Return a sample of one partition; None: it was not there."""
    if moment.parts is None:
        return moment.whole
    found = moment.parts.get(place)
    return None if found is None else Sample(moment.whole.taken_ns, *found)
