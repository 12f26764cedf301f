"""Compares what the shadow decided for each pod with where the scheduler in charge put it.

All of it is bounded: pods that wait are followed up to a number, queues are told apart up to a
number, and of each kind of difference the first examples are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

# Pods that wait and are followed at one time.
FOLLOWED_LIMIT: Final = 10_000
# Queues that are told apart; all others are one.
QUEUES_LIMIT: Final = 200
OTHER_QUEUES: Final = "(other queues)"
# Examples that are kept of each kind.
EXAMPLES_LIMIT: Final = 100
# Evictions that are remembered, so that each is counted once.
_EVICTIONS_LIMIT: Final = 10_000


class Kind(StrEnum):
    """How the two decisions about a pod compare.

    SAME, ANOTHER: both gave it a node. LATER: the scheduler in charge gave it one, and the shadow
    had none for it. EARLIER: the other way round. REFUSED: the shadow would not take it at all.
    EVICTED: it runs, and the shadow would end it to make room.
    """

    SAME = "same_node"
    ANOTHER = "another_node"
    LATER = "later"
    EARLIER = "earlier"
    REFUSED = "refused"
    EVICTED = "would_evict"


# Pods for which both had the chance to decide.
COMPARED: Final = (Kind.SAME, Kind.ANOTHER, Kind.LATER, Kind.REFUSED)


@dataclass(slots=True)
class Example:
    """One pod. ``there``: its node; ``here``: that of the shadow; "" where there is none.

    ``ahead_ns``: how long the shadow had decided before. ``at_ns``: when it was found.
    """

    pod: str
    queue: str
    there: str
    here: str
    reason: str
    ahead_ns: int
    at_ns: int


@dataclass(slots=True)
class Followed:
    """A pod that waits. ``node``: what the shadow decided last; ``refused``: why it would not."""

    pod: str
    queue: str
    gang: bool
    node: str = ""
    decided_ns: int = 0
    refused: str = ""
    refused_ns: int = 0


@dataclass(slots=True)
class Ahead:
    """How long the shadow had decided before, of pods that it decided first."""

    pods: int = 0
    sum_ns: int = 0
    max_ns: int = 0

    def add(self, nanoseconds: int) -> None:
        """Count one pod."""
        self.pods += 1
        self.sum_ns += nanoseconds
        self.max_ns = max(self.max_ns, nanoseconds)


@dataclass(slots=True)
class Left:
    """Pods that are not compared, by the reason.

    ``ran``: they had a node when they were first seen. ``gone``: they ended before either decided.
    ``too_many``: more waited than are followed. ``not_ready``: the shadow could not decide yet.
    """

    ran: int = 0
    gone: int = 0
    too_many: int = 0
    not_ready: int = 0


@dataclass(slots=True)
class Totals:
    """What was found, at one moment."""

    queues: dict[str, Counter[Kind]]
    examples: dict[Kind, list[Example]]
    kinds: Counter[Kind] = field(default_factory=Counter)


class Ledger:
    """The pods that wait, and what was found about the others.

    Implements: EXT-171.
    """

    def __init__(self) -> None:
        self.left: Final = Left()
        self.ahead: Final = Ahead()
        self.gang_pods = 0
        self.seen = 0
        self._followed: dict[str, Followed] = {}
        self._queues: dict[str, Counter[Kind]] = {}
        self._examples: dict[Kind, list[Example]] = {kind: [] for kind in Kind}
        # Examples whose reason the scheduler has not told yet, by uid.
        self._unexplained: dict[str, Example] = {}
        self._evictions: dict[tuple[str, str], None] = {}

    # ------------------------------------------------------------------ what happens

    def waits(self, uid: str, pod: str, queue: str, *, gang: bool) -> None:
        """Take in a new pod without a node. One that is not followed is left out for good."""
        if uid in self._followed:
            return
        self.seen += 1
        if len(self._followed) >= FOLLOWED_LIMIT:
            self.left.too_many += 1
            return
        self._followed[uid] = Followed(pod, queue, gang)

    def follows(self, uid: str) -> bool:
        """Whether a pod waits and is compared."""
        return uid in self._followed

    def has_decided(self, uid: str) -> bool:
        """Whether the shadow has given a node to a pod that waits."""
        found = self._followed.get(uid)
        return found is not None and bool(found.node)

    def decided(self, uid: str, node: str, now_ns: int) -> None:
        """Take in a decision of the shadow; a later one takes its place."""
        found = self._followed.get(uid)
        if found is not None:
            found.decided_ns = found.decided_ns or now_ns
            found.node = node
            found.refused = ""

    def refused(self, uid: str, why: str, now_ns: int) -> None:
        """Take in that the shadow would not take a pod."""
        found = self._followed.get(uid)
        if found is not None:
            found.refused, found.refused_ns = why, now_ns
            found.node, found.decided_ns = "", 0

    def bound(self, uid: str, node: str, now_ns: int, why: Callable[[], str]) -> Kind | None:
        """Compare: the scheduler in charge gave a pod its node. None if the pod is not followed.

        ``why``: returns why the shadow has none for it; it is asked for examples only, as it may
        look at all nodes.
        """
        found = self._followed.pop(uid, None)
        if found is None:
            return None
        self.gang_pods += found.gang
        ahead = max(0, now_ns - found.decided_ns) if found.node else 0
        if found.node:
            kind = Kind.SAME if found.node == node else Kind.ANOTHER
            if ahead:
                self.ahead.add(ahead)
        else:
            kind = Kind.REFUSED if found.refused else Kind.LATER
        example = Example(found.pod, found.queue, node, found.node, found.refused, ahead, now_ns)
        if self._count(kind, example) and kind is Kind.LATER:
            example.reason = why()
            self._unexplained[uid] = example
        return kind

    def found(self, uid: str, why: str) -> None:
        """Take in what the scheduler says about a pod that was compared shortly before."""
        example = self._unexplained.pop(uid, None) if why else None
        if example is not None:
            example.reason = f"{example.reason}; {why}" if example.reason else why

    def evicted(self, uid: str, example: Example) -> None:
        """Take in that the shadow would end a pod; the same for the same reason counts once."""
        key = (uid, example.reason)
        if key in self._evictions:
            return
        self._evictions[key] = None
        if len(self._evictions) > _EVICTIONS_LIMIT:
            del self._evictions[next(iter(self._evictions))]
        self._count(Kind.EVICTED, example)

    def gone(self, uid: str, now_ns: int) -> None:
        """Take in that a pod has ended; if it never had a node, that is all there is to say."""
        found = self._followed.pop(uid, None)
        if found is None:
            return
        kind, example = _open(found, now_ns)
        if kind is None:
            self.left.gone += 1
        else:
            self._count(kind, example)

    def not_ready(self, uid: str) -> None:
        """Leave a pod out that has its node before the shadow could say anything about it."""
        found = self._followed.get(uid)
        if found is not None and not found.node and not found.refused:
            del self._followed[uid]
            self.left.not_ready += 1

    # ------------------------------------------------------------------ what was found

    @property
    def waiting(self) -> int:
        """How many pods wait and are followed."""
        return len(self._followed)

    def totals(self, now_ns: int) -> Totals:
        """Return what was found, with the pods that wait and that only the shadow has decided."""
        queues = {queue: Counter(counts) for queue, counts in self._queues.items()}
        examples = {kind: list(found) for kind, found in self._examples.items()}
        for followed in self._followed.values():
            kind, example = _open(followed, now_ns)
            if kind is not None:
                _add(queues, examples, kind, example)
        totals = Totals(queues, examples)
        for counts in queues.values():
            totals.kinds.update(counts)
        return totals

    def counts(self) -> Iterator[tuple[Kind, int]]:
        """Yield how often each kind was found among pods that wait no more; these only grow."""
        for kind in Kind:
            yield kind, sum(counts[kind] for counts in self._queues.values())

    def _count(self, kind: Kind, example: Example) -> bool:
        """Count one pod; return whether it is kept as an example."""
        return _add(self._queues, self._examples, kind, example)


def _open(found: Followed, now_ns: int) -> tuple[Kind | None, Example]:
    """Return what a pod that has no node is, None if the shadow has nothing to say, either."""
    kind = Kind.EARLIER if found.node else Kind.REFUSED if found.refused else None
    ahead = now_ns - found.decided_ns if found.node else 0
    at_ns = found.decided_ns or found.refused_ns
    return kind, Example(found.pod, found.queue, "", found.node, found.refused, ahead, at_ns)


def _add(
    queues: dict[str, Counter[Kind]],
    examples: dict[Kind, list[Example]],
    kind: Kind,
    example: Example,
) -> bool:
    queue = example.queue
    if queue not in queues and len(queues) >= QUEUES_LIMIT:
        queue = OTHER_QUEUES
    queues.setdefault(queue, Counter())[kind] += 1
    kept = len(examples[kind]) < EXAMPLES_LIMIT
    if kept:
        examples[kind].append(example)
    return kept
