"""Build a drawn cluster in the real scheduler, and see whom it preempts."""

from __future__ import annotations

from dataclasses import dataclass, field

from remuda.config.schema import AccessList, Configuration, PartitionConfig, QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.ports import (
    PreemptionAnswer,
    PreemptionQuestion,
    PreemptionVerdict,
)
from remuda.core.scheduler import Scheduler
from tests.port import one_by_one
from tests.reference.preemption_facts import ROOT, Ask, Check, Queue, Running, Scene
from tests.reference.preemption_scenes import Sketch

SECOND = 1_000_000_000
START = 1_700_000_000
HOUR = 3_600
REQUIRED_NODE = "yunikorn.apache.org/requiredNode"
ROUNDS = 200


@dataclass
class Outcome:
    """What the scheduler did for one ask: whom it ordered out, and which nodes it has reserved.

    ``batches``: what the RM was asked about victims. ``placed``: the node it went to at once.
    """

    victims: list[str] = field(default_factory=list)
    reserved: tuple[str, ...] = ()
    batches: list[list[Check]] = field(default_factory=list)
    placed: str = ""

    @property
    def node(self) -> str:
        """Where the ask is, or is to be."""
        (found,) = (self.placed,) if self.placed else self.reserved
        return found


class Stage:
    """A scheduler with the cluster of a sketch; ``now`` is in seconds."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.scene = sketch.scene
        self.now = START - sketch.waited
        self.asked: list[list[Check]] = []
        delay = 2 * SECOND if sketch.manner.reserves else None
        self.scheduler = Scheduler(
            one_by_one(self.refusal), preemption=self.judge, reservation_delay_ns=delay
        )
        self.send(
            c.RegisterResourceManager(
                "rm",
                configuration(self.scene),
                extra_config={"scheduler.parity": "1.5"} if self.scene.parity else {},
                predicates=self.scene.room is not None,
                preemption_predicates=self.scene.judge is not None,
            )
        )
        self.set_up()

    # ---------------------------------------------------------------------------- commands

    def send(self, command: c.Command) -> list[e.Effect]:
        """One command; nothing of it may be refused."""
        effects = self.scheduler.handle(command, self.now * SECOND)
        refused = (e.Rejection, e.AsksRejected, e.AllocationsRejected, e.RequestRefused)
        assert not [one for one in effects if isinstance(one, refused)], effects
        self.scheduler.check()
        return effects

    def settle(self) -> list[e.Effect]:
        """Decide until nothing is left to decide now."""
        effects = self.scheduler.step(self.now * SECOND, 0)
        for _ in range(ROUNDS):
            if not self.scheduler.has_work():
                return effects
            effects += self.scheduler.step(self.now * SECOND, 1)
            self.scheduler.check()
        raise AssertionError("there is always something to decide")

    def set_up(self) -> None:
        """Nodes, applications, what runs, and what waits."""
        nodes = [
            c.NodeUpdate(
                node.name,
                c.CREATE if node.schedulable else c.CREATE_DRAIN,
                node.total,
                node.occupied,
            )
            for node in self.scene.nodes
        ]
        self.send(c.UpdateNodes("rm", tuple(nodes)))
        homes = {one.app: one.queue for one in self.scene.running}
        homes |= {ask.app: ask.queue for ask in (*self.sketch.asks, *self.sketch.blockers)}
        new = [
            c.NewApplication(app, queue, user="u", groups=("g",)) for app, queue in homes.items()
        ]
        self.send(c.UpdateApplications("rm", tuple(new)))
        running = tuple(existing(one) for one in self.scene.running)
        self.send(c.UpdateAllocations("rm", allocations=running))

    def want(self, ask: Ask) -> Outcome:
        """Send an ask that is an hour old and see what comes of it."""
        self.asked = []
        tags = {"creationTime": str(self.now - HOUR)}
        if ask.required:
            tags[REQUIRED_NODE] = ask.required
        message = c.Ask(
            ask.app,
            ask.key,
            ask.resource,
            priority=ask.priority,
            tags=tags,
            allow_preempt_other=ask not in self.sketch.blockers,
        )
        effects = self.send(c.UpdateAllocations("rm", asks=(message,))) + self.settle()
        outcome = Outcome(reserved=self.reserved(ask), batches=self.asked)
        for effect in effects:
            if isinstance(effect, e.AllocationNew):
                outcome.placed = effect.node_id
            if isinstance(effect, e.AllocationsReleased):
                assert {r.termination_type for r in effect.released} == {c.PREEMPTED_BY_SCHEDULER}
                outcome.victims += [released.allocation_id for released in effect.released]
        return outcome

    # --------------------------------------------------------------------------- questions

    def refusal(self, rm_id: str, key: str, node_id: str, allocate: bool) -> str:
        """The ordinary predicates."""
        room = self.scene.room
        return "" if room is None or room(node_id) else "no"

    def judge(self, question: PreemptionQuestion) -> PreemptionAnswer:
        """The predicates about victims."""
        assert self.scene.judge is not None
        checks = [Check(item.node_id, item.victims, item.start_index) for item in question.items]
        self.asked.append(checks)
        return PreemptionAnswer(tuple(self.verdict(check) for check in checks))

    def verdict(self, check: Check) -> PreemptionVerdict:
        """What the RM says of one node; without victims, what it says of any ask (SI-81)."""
        assert self.scene.judge is not None
        if check.victims:
            return PreemptionVerdict(*self.scene.judge(check))
        return PreemptionVerdict(self.scene.room is None or self.scene.room(check.node))

    def reserved(self, ask: Ask) -> tuple[str, ...]:
        """The nodes that are reserved for an ask."""
        found = self.scheduler.view(q.NodesQuery("default", "rm"))
        assert isinstance(found, tuple)
        views = [view for view in found if isinstance(view, q.NodeView)]
        mine = (ask.app, ask.key)
        return tuple(view.node_id for view in views if mine in view.reservations)


def existing(one: Running) -> c.ExistingAllocation:
    """What runs already, as an RM reports it."""
    tags = {"creationTime": str(START - 10 * HOUR + one.created)}
    if one.required:
        tags[REQUIRED_NODE] = one.node
    ask = c.Ask(
        one.app,
        one.key,
        one.resource,
        priority=one.priority,
        tags=tags,
        originator=one.originator,
        allow_preempt_self=not one.opted_out,
    )
    return c.ExistingAllocation(ask, one.identity, one.node)


def configuration(scene: Scene) -> Configuration:
    """The queues of a scene; everybody may submit everywhere."""
    return Configuration((PartitionConfig("default", queue_config(scene, ROOT)),))


def queue_config(scene: Scene, path: str) -> QueueConfig:
    """One queue with those below it."""
    queue = scene.queues[path]
    below = [one for one in scene.queues if one.rpartition(".")[0] == path]
    return QueueConfig(
        path.rpartition(".")[2],
        bool(below),
        queue.maximum,
        queue.guaranteed,
        properties(queue),
        tuple(queue_config(scene, one) for one in below),
        submit_acl=AccessList(everybody=path == ROOT),
    )


def properties(queue: Queue) -> dict[str, str]:
    """The properties of a queue that are set."""
    found = {
        "preemption.policy": queue.policy,
        "priority.policy": "fence" if queue.fenced else "",
        "priority.offset": str(queue.offset) if queue.offset else "",
    }
    return {name: value for name, value in found.items() if value}
