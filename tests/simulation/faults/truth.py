"""What really runs in the cluster of one RM: the truth that its shim tells the core about.

The nodes and the containers are as they are, whatever the protocol says of them. What outlives a
restart of the RM is here; what does not is in the shim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from remuda.base.resources import Resource

# Application and identity of an allocation; identities are unique per application (SI-12).
Name: TypeAlias = tuple[str, str]


@dataclass
class Node:
    """A machine. ``draining``: nothing new is to be placed there."""

    name: str
    home: str
    capacity: Resource
    draining: bool = False
    ready: bool = True


@dataclass(eq=False)
class App:
    """An application. ``over``: it ended, was refused or removed.

    ``groups``: members and size of each task group of a gang. ``submitted``: when it was sent
    last; what the core said before that was about another of its name.
    """

    name: str
    home: str
    queue: str
    user: str
    members: tuple[str, ...]
    tags: Mapping[str, str]
    style: str = ""
    timeout_ms: int = 0
    groups: dict[str, tuple[int, Resource]] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    over: bool = False
    submitted: int = 0

    def placeholder_ask(self) -> Resource:
        """What all members of all groups need."""
        total: dict[str, int] = {}
        for count, size in self.groups.values():
            for name, amount in size.items():
                total[name] = total.get(name, 0) + count * amount
        return total


@dataclass(eq=False)
class Task:
    """What an ask stands for: up to ``total`` containers in the present registration.

    ``heard``: the identities it got in it, those that ended included. ``gone``: nobody wants it
    any more; what runs of it may go on. ``timeout_ms``: how long a container of it may run, 0: for
    ever. ``uncertain``: whether the core counted one of those that
    ended cannot be known. ``preempts``: others may be ended for it; ``spared``: it is to be ended
    for others only if nothing else helps, and so is the ``originator`` of its application.
    """

    app: App
    key: str
    resource: Resource
    total: int
    born: int
    priority: int = 0
    group: str = ""
    placeholder: bool = False
    required: str = ""
    timeout_ms: int = 0
    preempts: bool = False
    spared: bool = False
    originator: bool = False
    heard: set[str] = field(default_factory=set)
    gone: bool = False
    uncertain: bool = False

    def waiting(self) -> int:
        """How many containers it still wants."""
        return 0 if self.gone or self.app.over else max(0, self.total - len(self.heard))


@dataclass(eq=False)
class Container:
    """Something that runs. ``ordered``: the core wants its end, and why; it is being ended."""

    task: Task
    identity: str
    node: str
    resource: Resource
    ordered: int = 0

    @property
    def name(self) -> Name:
        """What identifies it among all of the RM."""
        return (self.task.app.name, self.identity)


class Truth:
    """Everything of one RM. ``removed``: names of nodes that are gone, to be used again."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.removed: dict[str, str] = {}
        self.apps: dict[str, App] = {}
        self.containers: dict[Name, Container] = {}

    def live(self) -> list[App]:
        """The applications that are not over."""
        return [app for app in self.apps.values() if not app.over]

    def waiting(self) -> list[Task]:
        """The tasks that still want something, oldest first."""
        return [task for app in self.live() for task in app.tasks.values() if task.waiting()]

    def on(self, node: str) -> list[Container]:
        """What runs on a node."""
        return [each for each in self.containers.values() if each.node == node]

    def of(self, app: App) -> list[Container]:
        """What runs of an application."""
        return [each for each in self.containers.values() if each.task.app is app]

    def tasks(self) -> Iterator[Task]:
        """All tasks of all applications there ever were."""
        for app in self.apps.values():
            yield from app.tasks.values()

    def begin_life(self) -> None:
        """Let a new registration begin: what ended before it is not asked for again (REC-9)."""
        for task in self.tasks():
            running = {i for i in task.heard if (task.app.name, i) in self.containers}
            task.total -= len(task.heard) - len(running)
            task.heard = running
            task.uncertain = False

    def end(self, container: Container) -> None:
        """A container is no more."""
        self.containers.pop(container.name, None)

    def finish(self, app: App) -> list[Container]:
        """An application is over with all it has; what ran of it until now."""
        app.over = True
        ended = self.of(app)
        for container in ended:
            self.end(container)
        return ended
