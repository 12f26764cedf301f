"""Applications and tasks as the shim knows them, and what it knows of all objects."""

from __future__ import annotations

from dataclasses import dataclass, field

from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Response
from remuda_kubernetes.objects.kinds import NAMESPACE, NODE, POD, Kind
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.outcomes import Outcome
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.predicates.volumes import VolumeDecision
from remuda_kubernetes.shim.states import (
    APPLICATIONS,
    TASKS,
    ApplicationEvent,
    ApplicationState,
    TaskEvent,
    TaskState,
    after,
)
from remuda_kubernetes.translation import applications, metadata


@dataclass(slots=True, eq=False)
class Task:
    """One pod of an application; its uid is the key of its ask and its allocation.

    ``facts``: what it says of itself. ``node``: where it is, or is about to be. ``termination``:
    why the scheduler wants it gone, as a TerminationType, to be told when it is gone.
    ``predicate_class``: of its ask. ``finding``: the scheduler's words on why it waits;
    ``homeless``: more nodes would help; ``over_quota``: not while its user has too much.
    ``told``: what its condition says. ``tries``: bindings that failed, in a row. ``volumes``: what
    its binding waits for. The three times are when it was seen, asked for, and given a node.
    """

    pod: Pod
    facts: metadata.Task
    application: Application
    state: TaskState = TaskState.WAITING
    node: str = ""
    allocation_id: str = ""
    termination: si.TerminationType.ValueType = si.STOPPED_BY_RM
    predicate_class: str = ""
    finding: str = ""
    homeless: bool = False
    over_quota: bool = False
    told: tuple[str, str] = ("", "")
    told_at_ns: int = 0
    tries: int = 0
    volumes: VolumeDecision | None = None
    seen_ns: int = 0
    asked_ns: int = 0
    allocated_ns: int = 0

    @property
    def key(self) -> str:
        """The allocation key."""
        return self.facts.key

    @property
    def placeholder(self) -> bool:
        """Whether it only keeps room for a member of a gang."""
        return self.facts.placeholder

    def move(self, event: TaskEvent) -> bool:
        """Go where an event leads; False if it means nothing in this state."""
        found = after(TASKS, self.state, event)
        if found is not None:
            self.state = found
        return found is not None


@dataclass(slots=True, eq=False)
class Application:
    """What the pods with one application ID are.

    ``facts``: what its originator, the pod it was learned from, says of it.
    """

    facts: applications.Application
    originator: Pod
    state: ApplicationState = ApplicationState.NEW
    tasks: dict[str, Task] = field(default_factory=dict)
    # Placeholders that were asked for and are not seen yet, by name.
    creating: set[str] = field(default_factory=set)
    # Names of placeholders that have ended and are still there.
    spent: set[str] = field(default_factory=set)
    # At least so many placeholders have no node yet.
    lacking: int = 0
    # It is looked for missing placeholders after a while.
    looks_again: bool = False
    # No placeholders are made any more: the gang has begun, or its time is over.
    reserved: bool = False
    # The scheduler was sent an ask or an allocation of it.
    asked: bool = False
    # The object of its workload is being read; it is not submitted before.
    looks_up: bool = False
    # It is not submitted yet because its namespace is unknown.
    waits: bool = False

    @property
    def identity(self) -> str:
        """The application ID."""
        return self.facts.application_id

    def move(self, event: ApplicationEvent) -> bool:
        """Go where an event leads; False if it means nothing in this state."""
        found = after(APPLICATIONS, self.state, event)
        if found is not None:
            self.state = found
        return found is not None


@dataclass(slots=True, eq=False)
class Recovery:
    """The work that is left after a registration.

    ``untold``: uids of pods that the scheduler is not told of yet, in their order. ``decided``:
    tasks of before the registration that have a node only the shim knows of. ``answers``: those of
    the scheduler, and ``outcomes``: those of calls by number, wait until all pods were told.
    """

    untold: dict[str, None]
    decided: list[Task]
    answers: list[Response] = field(default_factory=list)
    outcomes: list[tuple[int, Outcome]] = field(default_factory=list)
    all_told: bool = False


class Objects:
    """All objects by kind, namespace and name; pods by uid, too."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, dict[str, KubernetesObject]]] = {}
        self.pods: dict[str, Pod] = {}

    def put(self, kind: Kind, found: KubernetesObject) -> None:
        """Keep an object, in place of an older version of it."""
        of_kind = self._kinds.setdefault(kind.name, {})
        of_kind.setdefault(found.namespace, {})[found.name] = found
        if isinstance(found, Pod):
            self.pods[found.uid] = found

    def drop(self, kind: Kind, gone: KubernetesObject) -> None:
        """Forget an object, unless another one has its name by now."""
        of_kind = self._kinds.get(kind.name, {})
        neighbours = of_kind.get(gone.namespace, {})
        known = neighbours.get(gone.name)
        if known is not None and known.uid == gone.uid:
            del neighbours[gone.name]
            if not neighbours:
                del of_kind[gone.namespace]
        if kind is POD:
            self.pods.pop(gone.uid, None)

    def get(self, kind: Kind, namespace: str, name: str) -> KubernetesObject | None:
        """Return an object by name."""
        return self._kinds.get(kind.name, {}).get(namespace, {}).get(name)

    def within(self, kind: Kind, namespace: str) -> list[KubernetesObject]:
        """Return the objects of a kind in a namespace ("": of the cluster), as they arrived."""
        return list(self._kinds.get(kind.name, {}).get(namespace, {}).values())

    def count(self, kind: Kind) -> int:
        """Return how many objects of a kind there are."""
        return sum(map(len, self._kinds.get(kind.name, {}).values()))

    def node(self, name: str) -> KubernetesObject | None:
        """Return a node."""
        return self.get(NODE, "", name)

    def namespace(self, name: str) -> KubernetesObject | None:
        """Return a namespace."""
        return self.get(NAMESPACE, "", name)
