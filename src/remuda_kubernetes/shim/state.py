"""What the parts of the state machine share."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from enum import Enum
from typing import Final, TypeAlias

from remuda_kubernetes.objects.cluster import PriorityClass
from remuda_kubernetes.objects.outcomes import Outcome
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.predicates.cluster import Cluster
from remuda_kubernetes.shim.effects import Call, PostEvent
from remuda_kubernetes.shim.outbox import Outbox
from remuda_kubernetes.shim.records import Application, Objects, Recovery, Task
from remuda_kubernetes.translation.events import Event
from remuda_kubernetes.translation.settings import Settings

SECOND: Final = 1_000_000_000
# Between two steps of a recovery.
_BETWEEN_NS: Final = 1_000_000

Then: TypeAlias = Callable[[Outcome], None]
Adapt: TypeAlias = Callable[[Settings], Settings]


class Phase(Enum):
    """How far the shim is."""

    # The objects of the cluster are being listed, or are kept up with while another replica leads.
    SYNCING = "syncing"
    # The scheduler was asked to take the shim in.
    REGISTERING = "registering"
    RUNNING = "running"
    # The scheduler is gone, or took another one in; registering again will help.
    LOST = "lost"


def _as_read(settings: Settings) -> Settings:
    return settings


class State:
    """All that the shim knows. Only the parts of this package change it.

    ``tasks``: by uid of the pod. ``foreign``: uids of pods of others whose room the scheduler was
    told of. ``placed``: nodes the scheduler knows. ``adapt``: returns the settings that count in
    place of those that were read. ``namespace``: where the shim itself is. ``now_ns``: of the
    moment; never goes back.
    """

    def __init__(self, settings: Settings, rm_id: str, namespace: str) -> None:
        self.settings = settings
        self.adapt: Adapt = _as_read
        self.namespace = namespace
        self.rm_id = rm_id
        self.phase = Phase.SYNCING
        # The settings that the scheduler was given: those it took, those of the registration under
        # way, and those of changes that it has not answered, in order.
        self.accepted: Settings | None = None
        self.registering = settings
        self.proposed: list[Settings] = []
        self.failed_registrations = 0
        self.objects = Objects()
        self.cluster = Cluster()
        self.applications: dict[str, Application] = {}
        self.tasks: dict[str, Task] = {}
        self.priority_classes: dict[str, PriorityClass] = {}
        # Applications of which some pod runs: they must be accepted, whatever the queues are now.
        self.begun: set[str] = set()
        # Task groups that placeholders of before a registration repeat, by application ID.
        self.reserving: dict[str, str] = {}
        self.recovery: Recovery | None = None
        self.foreign: set[str] = set()
        self.placed: set[str] = set()
        # Nodes of a large cluster that were told at the registration: nothing new for people.
        self.listed: set[str] = set()
        self.outbox = Outbox(rm_id)
        # Where pods are counted, by uid, and the pods by node and uid.
        self.node_of: dict[str, str] = {}
        self.on_node: dict[str, dict[str, Pod]] = {}
        self.now_ns = 0
        self.latencies: list[tuple[str, float]] = []
        # Pods whose ask the scheduler has, by predicate class.
        self.asked: dict[str, dict[str, Task]] = {}
        self._calls: dict[int, Then] = {}
        self._last_call = 0
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._last_timer = 0

    def name(self, rm_id: str) -> None:
        """Make all requests in this name."""
        self.rm_id = self.outbox.rm_id = rm_id

    # ------------------------------------------------------------------ calls and events

    def call(self, make: Callable[[int], Call], then: Then) -> None:
        """Have a call made, and go on with its outcome."""
        self._last_call += 1
        self._calls[self._last_call] = then
        self.outbox.put(make(self._last_call))

    def ended(self, number: int, outcome: Outcome) -> None:
        """Go on after a call. One that is not known is ignored."""
        then = self._calls.pop(number, None)
        if then is not None:
            then(outcome)

    @property
    def calls_open(self) -> int:
        """How many calls have no result yet."""
        return len(self._calls)

    def post(self, event: Event) -> None:
        """Publish an event for people."""
        self.outbox.put(PostEvent(event))

    def took(self, name: str, since_ns: int) -> None:
        """Note how long something took."""
        self.latencies.append((name, (self.now_ns - since_ns) / SECOND))

    # ------------------------------------------------------------------ time

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Act after some seconds."""
        self._last_timer += 1
        due = self.now_ns + int(seconds * SECOND)
        heapq.heappush(self._timers, (due, self._last_timer, act))

    @property
    def telling(self) -> bool:
        """Whether the scheduler took the shim in and has not been told all pods yet."""
        recovery = self.recovery
        return self.phase is Phase.RUNNING and recovery is not None and not recovery.all_told

    def due_ns(self) -> int | None:
        """Return when there is something to do, None if there is nothing."""
        if self.phase is Phase.RUNNING and self.recovery is not None:
            return self.now_ns + _BETWEEN_NS
        return self._timers[0][0] if self._timers else None

    def tick(self, now_ns: int) -> None:
        """Let the timers act whose time has come; not while pods are being told."""
        self.now_ns = max(self.now_ns, now_ns)
        while not self.telling and self._timers and self._timers[0][0] <= self.now_ns:
            heapq.heappop(self._timers)[2]()
