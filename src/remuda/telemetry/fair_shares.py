"""The share of each queue and what it is owed, every 10 seconds for an hour (rules: EXT-61).

A thread asks the core for some queues at a time; readers get copies.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import TimeoutError as LateError
from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.core.messages.queries import PartitionsQuery, PartitionView
from remuda.core.messages.rows import rows
from remuda.core.messages.share_queries import FairSharesQuery, FairShareView
from remuda.runtime.errors import LoopStoppedError
from remuda.telemetry.health.survey import Questions

_log = logging.getLogger("remuda.metrics")

# Samples of a queue that are kept: an hour.
SAMPLES: Final = 360

_EVERY_SECONDS: Final = 10.0

# Queues that are followed, the first by RM, partition and path; memory is bounded.
QUEUES: Final = 2_000

# How long the core may take for one answer before the sample is left out.
_ANSWER_SECONDS: Final = 30.0

# (RM ID, partition, queue path).
Place: TypeAlias = tuple[str, str, str]


@message
class ShareSample:
    """The share of a queue at one moment, and the largest part of a guarantee that it is owed.

    ``owed``: 0 to 1, over the types of its guarantee.
    """

    taken_ns: int
    share: float
    owed: float


@message
class _Followed:
    """What is kept of one queue. ``below_ns``: since when it is owed something, 0: it is not."""

    samples: deque[ShareSample]
    below_ns: int


class FairShares:
    """The samples of the last hour, and since when each queue is owed something.

    Args:
        questions: answers questions about the core.
        size: samples that are kept of each queue.
        now_ns: reads the clock, Unix nanoseconds.

    Any thread may read. Rules: EXT-61.
    """

    def __init__(
        self,
        questions: Questions,
        size: int = SAMPLES,
        *,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._questions = questions
        self._size = size
        self._now_ns = now_ns
        self._followed: dict[Place, _Followed] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="remuda-shares", daemon=True)

    def start(self) -> None:
        """Take samples from now on, the first after 10 seconds."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more samples. Repeating is harmless."""
        self._stopping.set()

    def sample(self) -> None:
        """Take a sample of each queue; none if the core does not answer. Raises: LoopStoppedError.

        Queues that went are forgotten. Implements: EXT-61.
        """
        taken_ns = self._now_ns()
        try:
            found = dict(self._views())
        except LateError:
            _log.warning("a sample of the shares is missing: the scheduler does not answer")
            return
        with self._lock:
            self._followed = {
                place: self._with(self._followed.get(place), view, taken_ns)
                for place, view in found.items()
            }

    def samples(self, rm_id: str, partition: str, queue: str) -> list[ShareSample]:
        """Return the samples of one queue, oldest first; none if it is not followed."""
        with self._lock:
            followed = self._followed.get((rm_id, partition, queue))
            return [] if followed is None else list(followed.samples)

    def below_since(self, rm_id: str, partition: str) -> dict[str, int]:
        """Return since when queues of a partition are owed something, by path; Unix nanoseconds."""
        with self._lock:
            return {
                queue: followed.below_ns
                for (owner, name, queue), followed in self._followed.items()
                if (owner, name) == (rm_id, partition) and followed.below_ns
            }

    def _views(self) -> Iterator[tuple[Place, FairShareView]]:
        """Ask for all queues that are followed. Raises: LoopStoppedError, TimeoutError."""
        left = QUEUES
        partitions = self._questions.query(PartitionsQuery()).result(_ANSWER_SECONDS)
        places = sorted((each.rm_id, each.name) for each in rows(PartitionView, partitions))
        for rm_id, partition in places:
            after = ""
            while left:
                query = FairSharesQuery(partition, after, rm_id=rm_id)
                answer = self._questions.query(query).result(_ANSWER_SECONDS)
                found = rows(FairShareView, answer or ())[:left]
                if not found:
                    break
                left -= len(found)
                after = found[-1].path
                for view in found:
                    yield (rm_id, partition, view.path), view

    def _with(self, known: _Followed | None, view: FairShareView, taken_ns: int) -> _Followed:
        """Return what is kept of a queue, with one sample more."""
        samples = deque[ShareSample](maxlen=self._size) if known is None else known.samples
        samples.append(ShareSample(taken_ns, view.share, owed_part(view)))
        below_ns = 0 if known is None else known.below_ns
        return _Followed(samples, (below_ns or taken_ns) if view.owed else 0)

    def _work(self) -> None:
        while not self._stopping.wait(_EVERY_SECONDS):
            try:
                self.sample()
            except LoopStoppedError:
                return


def owed_part(view: FairShareView) -> float:
    """Return the largest part of a guarantee, over its types, that a queue is owed."""
    guaranteed = view.guaranteed or {}
    parts: Sequence[float] = [amount / guaranteed[name] for name, amount in view.owed.items()]
    return max(parts, default=0.0)
