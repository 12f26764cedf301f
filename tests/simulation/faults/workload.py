"""What users and machines do in the cluster of an RM, whether the core hears of it or not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from remuda.core.messages import commands as c
from tests.simulation.faults.configurations import BATCH, DEFAULT, LEAVES, USERS
from tests.simulation.faults.profiles import Profile
from tests.simulation.faults.shim import Shim
from tests.simulation.faults.telling import SENT
from tests.simulation.faults.truth import App, Container, Node, Task

SIZES: Final = (
    {"vcore": 1, "memory": 1},
    {"vcore": 1, "memory": 3},
    {"vcore": 2, "memory": 2},
    {"vcore": 3, "memory": 4},
    {"vcore": 6, "memory": 8, "gpu": 1},
)

# More live applications, waiting tasks and nodes than this are not begun.
APPLICATIONS: Final = 8
WAITING: Final = 24
MACHINES: Final = 6


class Workload:
    """Draws one thing after another that happens to one RM.

    ``homes``: the partitions that are configured. ``gangs``: applications may be gangs. ``reuses``:
    names of applications that ended are used again, where no ask of the earlier one can arrive
    after the later one was submitted. ``quarrels``: draws who may preempt whom.
    ``unanswered``: nodes that were lost before the core answered that it has them. The answer may
    come yet, and would be taken for that of a node with the same name.
    """

    def __init__(
        self, shim: Shim, dice: random.Random, quarrels: random.Random, profile: Profile
    ) -> None:
        self.shim = shim
        self.truth = shim.truth
        self.dice = dice
        self.quarrels = quarrels
        self.preempts = profile.preempts
        self.counts = shim.counts
        self.gangs = profile.gangs
        self.reuses = profile.strict and not profile.streams
        self.homes: tuple[str, ...] = (DEFAULT,)
        self.unanswered: set[str] = set()
        self._number = 0

    def act(self) -> None:
        """Let one thing happen."""
        weights = [weight for _, weight in ACTIONS]
        (action,) = self.dice.choices([what for what, _ in ACTIONS], weights)
        action(self)

    def churn(self) -> None:
        """Let one thing happen to a node."""
        self.dice.choice(CHURN)(self)

    def number(self) -> int:
        """The next number, for names that nobody had before."""
        self._number += 1
        return self._number

    # ------------------------------------------------------------------- applications

    def new_app(self) -> None:
        """An application with its first tasks; sometimes under a name that ended (SI-23)."""
        live = self.truth.live()
        if len(live) >= APPLICATIONS:
            return
        ended = [app for app in self.truth.apps.values() if app.over and app.home in self.homes]
        name, home = f"app-{self.number()}", self.dice.choice(self.homes)
        if ended and self.reuses and self.dice.random() < 0.2:
            # In the same partition: updates of the SI name none, so names of an RM are its own.
            earlier = self.dice.choice(ended)
            name, home = earlier.name, earlier.home
            self.counts["application submitted again"] += 1
        user = self.dice.choice(tuple(USERS))
        tags = {"application.stateaware.disable": "true"} if self.dice.random() < 0.5 else {}
        app = App(name, home, self.dice.choice(LEAVES), user, USERS[user], tags)
        self.truth.apps[name] = app
        if self.gangs and self.dice.random() < 0.5:
            self._gang(app)
        else:
            app.timeout_ms = self.dice.choice((0, 0, 0, 20_000, 40_000))
            for _ in range(self.dice.randint(1, 3)):
                self._task(app)
        if self.shim.registered:
            self.shim.apps.pop(name, None)
            self.shim.send_app(app)

    def _gang(self, app: App) -> None:
        """Members of one or two groups, and real tasks: fewer, as many or more (GANG-9)."""
        app.style = self.dice.choice(("Hard", "Soft"))
        app.timeout_ms = self.dice.choice((3, 10, 30)) * 1000
        self.counts[f"gang {app.style}"] += 1
        for group in ("g", "h")[: self.dice.randint(1, 2)]:
            size = self.dice.choice(SIZES[:3])
            count = self.dice.choice((1, 1, 2, 3))
            app.groups[group] = (count, size)
            for _ in range(count):
                self.add_task(app, size, group=group, placeholder=True)
            for _ in range(max(0, count + self.dice.choice((-1, 0, 0, 1)))):
                self._member(app, group)

    def _member(self, app: App, group: str) -> None:
        """A real task of a group, as a rule of its size, sometimes smaller or larger (GANG-15)."""
        size = dict(app.groups[group][1])
        change = self.dice.choice((0, 0, 0, 0, -1, 1))
        size["memory"] = max(1, size["memory"] + change)
        self.add_task(app, size, group=group)

    def _task(self, app: App) -> None:
        total = self.dice.choice((1, 1, 1, 2, 3))
        required = ""
        if self.dice.random() < 0.08 and self.truth.nodes:
            required = self.dice.choice(sorted(self.truth.nodes))
        task = self.add_task(app, self.dice.choice(SIZES), total=total, required=required)
        task.timeout_ms = self.dice.choice((0, 0, 0, 0, 20_000, 60_000))

    def add_task(self, app: App, size: dict[str, int], **fields: object) -> Task:
        """A task of an application; ``fields`` are those of Task."""
        key = f"task-{self.number()}"
        total = fields.pop("total", 1)
        assert isinstance(total, int)
        task = Task(app, key, size, total, self.shim.clock.now, self.dice.choice((0, 0, 0, 5)))
        for field, value in fields.items():
            setattr(task, field, value)
        if self.preempts:
            task.preempts = self.quarrels.random() < 0.6
            task.spared = self.quarrels.random() < 0.2
            task.originator = self.quarrels.random() < 0.1
        app.tasks[key] = task
        return task

    def more_tasks(self) -> None:
        """A live application wants more."""
        live = self.truth.live()
        if not live or len(self.truth.waiting()) >= WAITING:
            return
        app = self.dice.choice(live)
        before = set(app.tasks)
        if app.groups and self.dice.random() < 0.7:
            self._member(app, self.dice.choice(sorted(app.groups)))
        else:
            self._task(app)
        for key, task in app.tasks.items():
            if key not in before and not self.shim.holds_back(task):
                self.shim.send_ask(task)

    def remove_app(self) -> None:
        """A user deletes an application with all it has."""
        live = self.truth.live()
        if live:
            app = self.dice.choice(live)
            self.counts["application removed"] += 1
            self.truth.finish(app)
            if self.shim.registered:
                self.shim.remove_app(app.name, app.home)

    # -------------------------------------------------------------------------- tasks

    def delete_waiting(self) -> None:
        """A task is deleted before it got all it wanted."""
        waiting = self.truth.waiting()
        if waiting:
            swapped = [task for task in waiting if self._is_swapped(task)]
            if swapped and self.dice.random() < 0.5:
                waiting = swapped
                self.counts["waiting task deleted during a replacement"] += 1
            task = self.dice.choice(waiting)
            self.counts["waiting task deleted"] += 1
            task.gone = True
            if (task.app.name, task.key) in self.shim.asked:
                self.shim.release_ask(task)

    def _is_swapped(self, task: Task) -> bool:
        """Whether a placeholder may be making room for a task at this moment (GANG-14)."""
        return bool(task.group) and any(
            each.ordered == c.PLACEHOLDER_REPLACED and each.task.group == task.group
            for each in self.truth.of(task.app)
        )

    def change_ask(self) -> None:
        """A waiting task gets another size or wants one more (SI-33, SI-34)."""
        waiting = [task for task in self.truth.waiting() if not task.group]
        if waiting:
            task = self.dice.choice(waiting)
            self.counts["ask changed"] += 1
            if self.dice.random() < 0.5:
                task.total += 1
            else:
                task.resource = self.dice.choice(SIZES)
            if (task.app.name, task.key) in self.shim.asked:
                self.shim.send_ask(task)

    def end_container(self) -> None:
        """A container ends by itself."""
        running = list(self.truth.containers.values())
        if running:
            self._end(self.dice.choice(running))

    def end_task(self) -> None:
        """An application ends all it runs, placeholders too."""
        live = [app for app in self.truth.live() if self.truth.of(app)]
        if live:
            for container in self.truth.of(self.dice.choice(live)):
                self._end(container)

    def _end(self, container: Container) -> None:
        self.counts["container ended"] += 1
        if container.ordered:
            self.counts["container ended before its order was carried out"] += 1
        self.shim.ended(container)

    def resize_container(self) -> None:
        """A container grows or shrinks where it is (CYC-28)."""
        running = [
            each
            for each in self.truth.containers.values()
            if not each.task.placeholder and not each.ordered
        ]
        if running:
            container = self.dice.choice(running)
            self.counts["container resized"] += 1
            container.resource = self.dice.choice(SIZES[:4])
            if self.shim.registered and container.name in self.shim.told:
                self.shim.report(container)

    # -------------------------------------------------------------------------- nodes

    def add_node(self) -> None:
        """A machine joins; often one that was here before."""
        if len(self.truth.nodes) >= MACHINES:
            return
        back = sorted(self.truth.removed.keys() - self.unanswered)
        name, home = f"node-{self.number()}", self.dice.choice(self.homes)
        if back and self.dice.random() < 0.6:
            name = self.dice.choice(back)
            if self.truth.removed[name] not in self.homes:
                return
            self.counts["node added again"] += 1
            home = self.truth.removed.pop(name)
        size = self.dice.choice((4, 8, 12))
        capacity = {"vcore": size, "memory": size + 4, "gpu": 1}
        self.counts["node added"] += 1
        node = Node(name, home, capacity)
        self.truth.nodes[name] = node
        if self.shim.registered:
            self.shim.send_node(node)

    def lose_node(self) -> None:
        """A machine is gone."""
        node = self._some_node()
        if node is not None:
            self.lose(node)

    def lose_swapping_node(self) -> None:
        """A machine is gone on which a placeholder is being replaced (GANG-18)."""
        swap = c.PLACEHOLDER_REPLACED
        busy = [x.node for x in self.truth.containers.values() if x.ordered == swap]
        if busy:
            self.lose(self.truth.nodes[self.dice.choice(busy)])

    def lose(self, node: Node) -> None:
        """All that ran there is gone, too; users start their work anew."""
        self.counts["node lost"] += 1
        del self.truth.nodes[node.name]
        self.truth.removed[node.name] = node.home
        if self.shim.nodes.get(node.name) == SENT:
            self.unanswered.add(node.name)
        lost = self.truth.on(node.name)
        tells = self.dice.random() < 0.3
        for container in lost:
            self.shim.ended(container, tell=tells)
        self.shim.change_node(node, c.DECOMISSION)
        for container in lost:
            self._start_anew(container.task)

    def _start_anew(self, task: Task) -> None:
        if task.app.over or task.gone or task.placeholder:
            return
        if task.total > 1:
            task.total += 1
            again = task
        else:
            again = self.add_task(task.app, dict(task.resource), group=task.group)
        self.shim.send_ask(again)

    def drain(self) -> None:
        """A machine is to get nothing new."""
        node = self._some_node()
        if node is not None and not node.draining:
            self.counts["node drained"] += 1
            node.draining = True
            self.shim.change_node(node, c.DRAIN_NODE)

    def undrain(self) -> None:
        """A machine is used again."""
        drained = [node for node in self.truth.nodes.values() if node.draining]
        if drained:
            self.counts["node undrained"] += 1
            node = self.dice.choice(drained)
            node.draining = False
            self.shim.change_node(node, c.DRAIN_TO_SCHEDULABLE)

    def resize_node(self) -> None:
        """A machine changes its size, or stops being ready for a while (NODE-7, NODE-12)."""
        node = self._some_node()
        if node is None:
            return
        self.counts["node resized"] += 1
        if self.dice.random() < 0.3:
            node.ready = not node.ready
        else:
            size = self.dice.choice((2, 4, 8, 12))
            node.capacity = {"vcore": size, "memory": size + 4, "gpu": 1}
        self.shim.change_node(node, c.UPDATE)

    def _some_node(self) -> Node | None:
        names = sorted(self.truth.nodes)
        return self.truth.nodes[self.dice.choice(names)] if names else None

    # --------------------------------------------------------------------------- rest

    def drop_home(self) -> None:
        """The second partition is configured no more: all it has ends (OBJ-9)."""
        for app in self.truth.live():
            if app.home == BATCH:
                self.truth.finish(app)
                self.shim.apps.pop(app.name, None)
        for name in [name for name, node in self.truth.nodes.items() if node.home == BATCH]:
            self.truth.removed[name] = self.truth.nodes.pop(name).home
            self.shim.nodes.pop(name, None)

    def end_everything(self) -> None:
        """Every container ends and nobody wants another."""
        for task in self.truth.waiting():
            task.gone = True
            self.shim.release_ask(task)
        for container in list(self.truth.containers.values()):
            self._end(container)


Action = Callable[[Workload], None]

ACTIONS: Final[tuple[tuple[Action, int], ...]] = (
    (Workload.new_app, 8),
    (Workload.more_tasks, 8),
    (Workload.remove_app, 2),
    (Workload.delete_waiting, 3),
    (Workload.change_ask, 2),
    (Workload.end_container, 8),
    (Workload.end_task, 2),
    (Workload.resize_container, 2),
    (Workload.lose_swapping_node, 2),
)

CHURN: Final[tuple[Action, ...]] = (
    Workload.add_node,
    Workload.add_node,
    Workload.lose_node,
    Workload.drain,
    Workload.undrain,
    Workload.undrain,
    Workload.resize_node,
)
