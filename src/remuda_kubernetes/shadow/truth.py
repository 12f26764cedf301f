"""When the shadow hears where a pod really is.

The scheduler in charge mostly binds a pod before a shadow could decide, and a pod that has a node
is decided. So the shadow hears of the node when it has decided itself, or after a while in which it
did not. From then on the pod counts where it really is, whatever the shadow decided: each
decision is judged from the state of the cluster as it was, and differences do not add up.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from msgspec import structs

from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.kinds import POD
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.shadow.ledger import Kind, Ledger
from remuda_kubernetes.shim.records import Task
from remuda_kubernetes.shim.state import Phase
from remuda_kubernetes.shim.states import TaskState
from remuda_kubernetes.translation import metadata, names
from remuda_kubernetes.translation.selection import Side, side_of

# No scheduler has this name. Pods that the shadow refused and that run all the same have it for
# the state machine, which counts the room of pods of other schedulers.
_NOT_OURS: Final = "remuda/refused"
_OTHERS_LIMIT: Final = 20


class Look(Protocol):
    """What the state machine knows."""

    @property
    def phase(self) -> Phase:
        """How far it is."""

    @property
    def tasks(self) -> Mapping[str, Task]:
        """The pods of ours by uid."""

    def why(self, uid: str) -> str:
        """Return why a pod waits."""


@dataclass(slots=True)
class _Held:
    """A pod with a node that the state machine has not heard of.

    ``old``: as the state machine knows it. ``at_ns``: when the node was seen.
    """

    old: Pod | None
    new: Pod
    at_ns: int


class Truth:
    """Stands between the watches and the state machine.

    Args:
        look: the state machine.
        ledger: compares.
        scheduler_names: those of the scheduler in charge.
        grace_ns: how long the shadow may decide after the scheduler in charge has.

    Implements: EXT-170.
    """

    def __init__(
        self, look: Look, ledger: Ledger, scheduler_names: Container[str], grace_ns: int
    ) -> None:
        self._look = look
        self._ledger = ledger
        self._names = scheduler_names
        self._grace_ns = grace_ns
        # In the order in which their time comes.
        self._held: dict[str, _Held] = {}
        self._refused: set[str] = set()
        # Scheduler names of other pods: some, to be named if no pod is of the scheduler in charge.
        self.others: set[str] = set()

    @property
    def held(self) -> int:
        """How many pods the state machine will hear of later."""
        return len(self._held)

    def due_ns(self) -> int | None:
        """Return when the state machine has to hear of a pod, None if there is none."""
        for held in self._held.values():
            return held.at_ns + self._grace_ns
        return None

    def take_in(self, changes: Iterable[Change], now_ns: int) -> list[Change]:
        """Take in what the watches tell; return what the state machine is told now."""
        found: list[Change] = []
        for change in changes:
            if change.kind is POD:
                found += self._pod(change, now_ns)
            else:
                found.append(change)
        return found

    def decided(self, uid: str, node: str, now_ns: int) -> list[Change]:
        """Take in a decision; return what the state machine is told now. Implements: EXT-175."""
        self._ledger.decided(uid, node, now_ns)
        held = self._held.pop(uid, None)
        return [] if held is None else list(self._settled(held))

    def over(self, now_ns: int) -> list[Change]:
        """Return what the state machine is told because the time for a decision is over."""
        found: list[Change] = []
        for uid, held in list(self._held.items()):
            if now_ns < held.at_ns + self._grace_ns:
                break
            del self._held[uid]
            found += self._settled(held)
        return found

    def _pod(self, change: Change, now_ns: int) -> list[Change]:
        old, new = change.old, change.new
        assert old is None or isinstance(old, Pod)
        assert new is None or isinstance(new, Pod)
        pod = new or old
        assert pod is not None
        if new is None or new.ended:
            return self._ended(pod.uid, old, new, now_ns)
        held = self._held.get(pod.uid)
        if held is not None:
            held.new = new
            return []
        if new.spec.scheduler_name not in self._names and len(self.others) < _OTHERS_LIMIT:
            self.others.add(new.spec.scheduler_name)
        if side_of(new, self._names) is Side.OURS:
            if not new.assigned:
                self._waits(old, new)
            elif self._ledger.follows(pod.uid):
                return self._bound(_Held(old, new, now_ns))
            elif old is None:
                self._ledger.left.ran += 1
        return [self._shown(old, new)]

    def _waits(self, old: Pod | None, new: Pod) -> None:
        """Take in a pod that waits, once: later changes of it say nothing new."""
        if old is None or side_of(old, self._names) is not Side.OURS:
            self._ledger.waits(new.uid, new.key, queue_of(new), gang=_in_gang(new))

    def _ended(self, uid: str, old: Pod | None, new: Pod | None, now_ns: int) -> list[Change]:
        held = self._held.pop(uid, None)
        found: list[Change] = []
        if held is not None:
            found += self._settled(held)
        self._ledger.gone(uid, now_ns)
        found.append(self._shown(old, new))
        self._refused.discard(uid)
        return found

    def _bound(self, held: _Held) -> list[Change]:
        """Compare at once if the shadow has decided, or cannot."""
        uid = held.new.uid
        if self._look.phase is Phase.RUNNING and not self._ledger.has_decided(uid):
            self._held[uid] = held
            return []
        return list(self._settled(held))

    def _settled(self, held: _Held) -> Iterator[Change]:
        """Compare, and yield the changes by which the state machine learns where the pod is."""
        old, new = held.old, held.new
        uid, node = new.uid, new.spec.node_name
        task = self._look.tasks.get(uid)
        if task is None or self._look.phase is not Phase.RUNNING:
            self._ledger.not_ready(uid)
        kind = self._ledger.bound(uid, node, held.at_ns, partial(self._look.why, uid))
        unknown = kind is Kind.REFUSED and task is None
        if unknown or (task is not None and task.state is TaskState.REJECTED):
            yield Change(POD, old, None)
            self._refused.add(uid)
            yield self._shown(None, new)
        elif task is not None and task.state is TaskState.LEAVING and task.node != node:
            # It was a victim on a node where it never ran.
            yield Change(POD, old, None)
            yield Change(POD, None, new)
        else:
            yield Change(POD, old, new)

    def _shown(self, old: Pod | None, new: Pod | None) -> Change:
        """Return a change as the state machine has to see it."""
        pod = new or old
        if pod is None or pod.uid not in self._refused:
            return Change(POD, old, new)
        return Change(POD, old and _not_ours(old), new and _not_ours(new))


def queue_of(pod: Pod) -> str:
    """Return the queue that a pod names, or its namespace if it names none."""
    return metadata.named_queue(pod)[: metadata.NAME_LIMIT] or f"namespace {pod.namespace}"


def _in_gang(pod: Pod) -> bool:
    annotations = pod.annotations
    groups = annotations.get(names.TASK_GROUP_NAME) or annotations.get(names.TASK_GROUPS)
    return bool(groups) or metadata.is_placeholder(pod)


def _not_ours(pod: Pod) -> Pod:
    return structs.replace(pod, spec=structs.replace(pod.spec, scheduler_name=_NOT_OURS))
