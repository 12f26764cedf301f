"""The part of an RM that speaks with the core, written from chapters 70 and 80 of the spec.

It behaves as the shim of Kubernetes does: the cluster is the truth, the core is told about it, and
orders of the core are carried out in the cluster and then confirmed. Whatever is not answered is
sent again after a while; after a registration everything is (REC-2, REC-3). What it remembers is
lost when it restarts; what it can see in the cluster is not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.tags import NODE_PARTITION
from tests.simulation.faults.clock import SECOND
from tests.simulation.faults.telling import (
    APPS,
    BULK,
    DONE,
    LIVE,
    NODES,
    PER_NODE,
    REST,
    SENT,
    Telling,
)
from tests.simulation.faults.truth import Task

# How often something is sent again that is never answered because it was done long ago (SI-62).
TRIES: Final = 6
TICK: Final = 10 * SECOND


class Shim(Telling):
    """One RM's side of the protocol: its lives, its replays, and what it does again and again."""

    # ------------------------------------------------------------- lives and replays

    def register(self) -> None:
        """Begin a new life: register and tell everything (RM-9, REC-2)."""
        if not self.up:
            return
        self.counts["registered"] += 1
        self.forget()
        self.link.begin_life()
        self.truth.begin_life()
        effects = self.host.handle(self.registration())
        assert e.RegistrationAnswered(self.rm_id, "") in effects
        self.registered = True
        for app in self.truth.live():
            if not self.truth.of(app) and not any(t.waiting() for t in app.tasks.values()):
                app.over = True
        self.way = BULK if self.dice.random() < 0.5 else PER_NODE
        self.counts["replayed in bulk" if self.way == BULK else "replayed per node"] += 1
        self._enter(self.way[0])

    def registration(self) -> c.RegisterResourceManager:
        """What it registers with."""
        return c.RegisterResourceManager(
            self.rm_id,
            self.config,
            extra_config=self.extra,
            predicates=self.predicates,
            preemption_predicates=self.judges,
        )

    def stop(self) -> None:
        """The RM goes down; containers run on."""
        self.up = False
        self.registered = False
        self.forget()

    def advance(self) -> None:
        """Go on with the replay if the answers are there."""
        while self.phase != DONE and self._is_answered():
            self._enter(self.way[self.way.index(self.phase) + 1])

    def _enter(self, phase: str) -> None:
        self.phase = phase
        if phase == NODES:
            for node in self.truth.nodes.values():
                self.send_node(node)
        elif phase == APPS:
            for app in self.truth.live():
                self.send_app(app)
        elif phase == REST:
            self._send_rest()
        self.advance()

    def _is_answered(self) -> bool:
        if self.phase == NODES:
            return all(self.nodes.get(name) == LIVE for name in self.truth.nodes)
        if self.phase == APPS:
            return all(self.apps.get(app.name) == LIVE for app in self.truth.live())
        return True

    def _send_rest(self) -> None:
        for container in self.truth.containers.values():
            if container.name not in self.told:
                self.report(container)
        self.phase = DONE
        for task in self.truth.waiting():
            if not self.holds_back(task):
                self.send_ask(task)
        if self.way == BULK:
            for node in self.truth.nodes.values():
                if not node.draining:
                    self.change_node(node, c.DRAIN_TO_SCHEDULABLE)

    def refresh(self) -> None:
        """Tell everything again within one registration (REC-8), and what is no more."""
        self.counts["told everything again"] += 1
        for app in self.truth.apps.values():
            if app.over:
                self.box.remove.append(c.ApplicationRemoval(app.name, app.home))
            else:
                self.send_app(app)
        for node in self.truth.nodes.values():
            self.send_node(node)
            self.change_node(node, c.UPDATE)
            self.change_node(node, c.DRAIN_NODE if node.draining else c.DRAIN_TO_SCHEDULABLE)
        for name, home in self.truth.removed.items():
            attributes = {NODE_PARTITION: home}
            self.box.nodes.append(c.NodeUpdate(name, c.DECOMISSION, attributes=attributes))
        for task in [task for task in self.truth.tasks() if not task.app.over]:
            self._tell_again(task)
        for container in self.truth.containers.values():
            self.report(container)
        self.flush_soon()

    def _tell_again(self, task: Task) -> None:
        """An ask as it is wanted now, be it fulfilled (REC-6); what ended of it is ended."""
        ended = [i for i in sorted(task.heard) if (task.app.name, i) not in self.truth.containers]
        for identity in ended:
            self.release((task.app.name, identity), task.app.home)
        if task.gone or not task.total:
            self.release_ask(task)
        elif ended:
            self.renew(task)
        else:
            self.box.asks.append(self.ask_of(task, task.resource, task.total))

    def renew(self, task: Task) -> None:
        """Ask under another key for what is still wanted, where counts may have parted."""
        wanted = task.waiting()
        task.gone = True
        self.release_ask(task)
        if wanted:
            self.counts["asked anew under another key"] += 1
            again = replace(task, key=f"{task.key}x", total=wanted, heard=set())
            again.gone = again.uncertain = False
            task.app.tasks[again.key] = again
            self.send_ask(again)

    def tick(self) -> None:
        """Send again what was not answered, and begin anew where answers are missing."""
        if not self.up or not self.link.open:
            return
        if not self.registered or (self.link.gaps and self.dice.random() < 0.2):
            self.counts["noticed a gap" if self.link.gaps else "noticed a lost core"] += 1
            self.register()
            return
        self._repeat_creations()
        self._repeat_releases()
        self._repeat_reports()
        self._repeat_asks()
        self.advance()

    def _repeat_releases(self) -> None:
        for name, waiting in list(self.unanswered.items()):
            waiting.tries += 1
            runs = name in self.truth.containers
            if waiting.tries > TRIES or (runs and not waiting.again):
                del self.unanswered[name]
                continue
            self.counts["release sent again"] += 1
            self.release(name, waiting.home)

    def _repeat_reports(self) -> None:
        for name in list(self.reported):
            container = self.truth.containers.get(name)
            if container is None:
                del self.reported[name]
            else:
                self.counts["report sent again"] += 1
                self.report(container)

    def _repeat_creations(self) -> None:
        for name, stage in list(self.apps.items()):
            app = self.truth.apps.get(name)
            if stage == SENT and app is not None and not app.over:
                self.counts["application sent again"] += 1
                self.send_app(app)
        for name, stage in list(self.nodes.items()):
            if stage == SENT and name in self.truth.nodes:
                self.counts["node sent again"] += 1
                self.send_node(self.truth.nodes[name])

    def _repeat_asks(self) -> None:
        for task in [task for task in self.truth.tasks() if task.uncertain and not task.gone]:
            self.renew(task)
        for task in self.truth.waiting():
            if (task.app.name, task.key) not in self.asked:
                if not self.holds_back(task):
                    self.send_ask(task)
            elif self.dice.random() < (0.3 if self.insists else 0.03):
                self.counts["ask sent again"] += 1
                self.send_ask(task)
