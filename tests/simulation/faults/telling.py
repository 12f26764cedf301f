"""What an RM tells the core, one thing at a time, and what it remembers of having told it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from remuda.base.resources import Resource
from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages.tags import (
    CREATION_TIME,
    EXECUTION_TIMEOUT,
    FORCE_CREATE,
    NODE_PARTITION,
    REQUIRED_NODE,
)
from tests.simulation.faults.clock import MILLI, SECOND
from tests.simulation.faults.host import Host
from tests.simulation.faults.link import Link
from tests.simulation.faults.outbox import Outbox
from tests.simulation.faults.truth import App, Container, Name, Node, Task, Truth

# How far an object got with the core in the present registration.
SENT: Final = 1
LIVE: Final = 2

# Phases of a replay; DONE is everyday life.
NODES: Final = "nodes"
APPS: Final = "applications"
REST: Final = "rest"
DONE: Final = "done"
BULK: Final = (NODES, APPS, REST, DONE)
PER_NODE: Final = (APPS, NODES, REST, DONE)

# How long a real ask of a gang is held back at most.
PATIENCE: Final = 60 * SECOND


@dataclass
class Unanswered:
    """A release by the RM that was not acknowledged yet; ``again``: report it anew then."""

    home: str
    tries: int = 0
    again: bool = False


class Telling:
    """The half of an RM that speaks.

    ``nodes``, ``apps``: how far each got, by name. ``asked``: tasks the core was told of, and when
    the last time.
    ``told``: what the core knows to run, with the node whose create request said so, "" for
    others. ``reported``: what was told by itself and not answered yet. ``way``: the order of a
    replay. ``eager``: real asks of a gang are sent at once. ``insists``: asks are sent again as
    long as they wait. ``forgiving``: a stale request may have made the core place more than is
    wanted now.
    """

    def __init__(self, rm_id: str, host: Host, dice: random.Random) -> None:
        self.rm_id = rm_id
        self.host = host
        self.clock = host.clock
        self.counts = host.counts
        self.dice = dice
        self.config: Configuration
        self.extra: dict[str, str] = {}
        self.predicates = False
        self.judges = False
        self.truth = Truth()
        self.box = Outbox(rm_id, dice)
        self.link: Link
        self.up = True
        self.registered = False
        self.insists = False
        self.forgiving = False
        self.eager = dice.random() < 0.5
        self.way = PER_NODE
        self._flushing = False
        self.forget()

    def forget(self) -> None:
        """Nothing was told yet: a new life begins."""
        self.box.clear()
        self.phase = DONE
        self.nodes: dict[str, int] = {}
        self.apps: dict[str, int] = {}
        self.asked: dict[tuple[str, str], int] = {}
        self.told: dict[Name, str] = {}
        self.unanswered: dict[Name, Unanswered] = {}
        self.reported: dict[Name, None] = {}
        self.began: set[str] = set()

    # ------------------------------------------------------------------ what is told

    def send_app(self, app: App) -> None:
        """Submit an application; one that runs already must be taken (SI-25, REC-4)."""
        if self.apps.get(app.name) is None:
            app.submitted = self.clock.now
            self.apps[app.name] = SENT
        tags = dict(app.tags)
        if self.truth.of(app):
            tags[FORCE_CREATE] = "true"
        self.box.new.append(
            c.NewApplication(
                app.name,
                app.queue,
                app.home,
                app.user,
                app.members,
                tags,
                execution_timeout_ms=app.timeout_ms,
                placeholder_ask=app.placeholder_ask(),
                gang_scheduling_style=app.style,
            )
        )
        self.flush_soon()

    def remove_app(self, name: str, home: str) -> None:
        """Remove an application, whatever the core knows of it."""
        self.apps.pop(name, None)
        self.box.remove.append(c.ApplicationRemoval(name, home))
        self.flush_soon()

    def send_node(self, node: Node) -> None:
        """Create a node, in the way of the replay (REC-3)."""
        existing: list[c.ExistingAllocation] = []
        draining = node.draining
        if self.phase != DONE and self.way == BULK:
            draining = True
        elif self.phase != DONE:
            for container in self.truth.on(node.name):
                existing.append(self._existing(container))
                self.told[container.name] = node.name
        if self.nodes.get(node.name) is None:
            self.nodes[node.name] = SENT
        self.box.nodes.append(
            c.NodeUpdate(
                node.name,
                c.CREATE_DRAIN if draining else c.CREATE,
                node.capacity,
                attributes=self._attributes(node),
                existing=tuple(existing),
            )
        )
        self.flush_soon()

    def change_node(self, node: Node, action: int) -> None:
        """Tell of a change of a node; DECOMISSION is the end of it."""
        if node.name not in self.nodes:
            return
        if action == c.DECOMISSION:
            del self.nodes[node.name]
        capacity = node.capacity if action == c.UPDATE else None
        update = c.NodeUpdate(node.name, action, capacity, attributes=self._attributes(node))
        self.box.nodes.append(update)
        self.flush_soon()

    def send_ask(self, task: Task) -> None:
        """Ask for a task, or again, if its application is live there.

        Not before the core counts all that runs of it: it would place what is there already.
        """
        app = task.app
        if self.phase != DONE or self.apps.get(app.name) != LIVE or not task.waiting():
            return
        if any(each.task is task and not self.is_known(each) for each in self.truth.of(app)):
            return
        self.asked[app.name, task.key] = self.clock.now
        self.box.asks.append(self.ask_of(task, task.resource, task.total))
        self.flush_soon()

    def holds_back(self, task: Task) -> bool:
        """Whether a real ask of a gang waits until the gang works, as 1.5.1 shims do."""
        app = task.app
        if self.eager or not app.groups or task.placeholder or app.name in self.began:
            return False
        return self.clock.now - task.born < PATIENCE

    def is_known(self, container: Container) -> bool:
        """Whether the core has taken note of a container."""
        name = container.name
        return self.told.get(name) == "" and name not in self.reported

    def release_ask(self, task: Task, kind: int = c.STOPPED_BY_RM) -> None:
        """Take an ask back, or confirm that the core did."""
        release = c.AskRelease(task.app.name, task.key, task.app.home, kind)
        self.box.ask_releases.append(release)
        self.flush_soon()

    def report(self, container: Container) -> None:
        """Tell of something that runs."""
        self.told[container.name] = ""
        self.reported[container.name] = None
        self.box.allocations.append(self._existing(container))
        self.flush_soon()

    def release(self, name: Name, home: str, kind: int = c.STOPPED_BY_RM) -> None:
        """End an allocation that the core may know, or confirm an order.

        What a create request of a node told, that was not answered yet, is not released before.
        """
        node = self.told.get(name, "")
        if node and self.nodes.get(node) == SENT:
            return
        app, identity = name
        self.box.releases.append(
            c.AllocationRelease(app, identity, partition=home, termination_type=kind)
        )
        if kind == c.STOPPED_BY_RM:
            self.unanswered.setdefault(name, Unanswered(home))
        self.flush_soon()

    def ended(
        self, container: Container, kind: int = c.STOPPED_BY_RM, *, tell: bool = True
    ) -> None:
        """A container is no more: say so if the core knows of it and there is a connection."""
        name, task = container.name, container.task
        self.truth.end(container)
        if not self.registered:
            return
        if name not in self.told:
            task.heard.discard(container.identity)
            task.total -= 1
            return
        if name in self.reported or self.told[name]:
            task.uncertain = True
        if tell:
            self.release(name, task.app.home, kind)

    def ask_of(self, task: Task, resource: Resource, total: int) -> c.Ask:
        """The ask of a task, as it is sent and as it was answered."""
        tags = {CREATION_TIME: str(task.born // SECOND)}
        if task.required:
            tags[REQUIRED_NODE] = task.required
        if task.timeout_ms:
            tags[EXECUTION_TIMEOUT] = str(task.timeout_ms)
        return c.Ask(
            task.app.name,
            task.key,
            resource,
            task.app.home,
            total,
            task.priority,
            tags,
            task.timeout_ms,
            task.group,
            task.placeholder,
            task.originator,
            not task.spared,
            task.preempts,
        )

    def _existing(self, container: Container) -> c.ExistingAllocation:
        ask = self.ask_of(container.task, container.resource, 1)
        container.task.heard.add(container.identity)
        return c.ExistingAllocation(ask, container.identity, container.node)

    @staticmethod
    def _attributes(node: Node) -> dict[str, str]:
        return {NODE_PARTITION: node.home, "ready": "true" if node.ready else "false"}

    # --------------------------------------------------------------------- sending

    def flush_soon(self) -> None:
        """Send what is in the box in a moment, with what comes until then."""
        if self._flushing or not self.registered:
            return
        self._flushing = True
        self.clock.after(self.dice.randrange(100 * MILLI), self.flush)

    def flush(self) -> None:
        """Send what is in the box, unless there is no connection."""
        self._flushing = False
        if self.registered and self.link.open:
            for command in self.box.take():
                self.link.request(command)
