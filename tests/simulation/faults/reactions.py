"""What a shim does with each answer, order and notice of the core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect, Rejection, ReleasedAllocation
from remuda.core.messages.tags import NODE_PARTITION
from tests.simulation.faults.clock import MILLI, SECOND
from tests.simulation.faults.link import CONFIRMATIONS
from tests.simulation.faults.shim import Shim
from tests.simulation.faults.telling import DONE, LIVE, SENT, Unanswered
from tests.simulation.faults.truth import App, Container, Task

# The states in which an application has ended for the core, and those in which it starts work.
ENDED: Final = ("Completed", "Failed")
WORKING: Final = ("Starting", "Running")

# No request is under way for longer.
UNDER_WAY: Final = 15 * SECOND


def hear(shim: Shim, effect: Effect) -> None:
    """Take in one answer; a shim that is down or about to register hears nothing."""
    if not shim.up:
        return
    if isinstance(effect, e.RequestRefused):
        shim.counts["request refused"] += 1
        shim.register()
        return
    if shim.registered:
        _EARS[type(effect)](shim, effect)
        shim.advance()


def _applications(shim: Shim, effect: e.ApplicationsAnswered) -> None:
    for name in effect.accepted:
        app = shim.truth.apps.get(name)
        if app is None or app.over:
            shim.counts["an unwanted application was accepted"] += 1
            shim.remove_app(name, app.home if app else "")
        else:
            _is_live(shim, app)
    for refused in effect.rejected:
        app = shim.truth.apps.get(refused.subject)
        if app is None or app.over:
            continue
        if refused.rule == "SI-20" and "already existed" in refused.reason:
            shim.counts["application was there already"] += 1
            _is_live(shim, app)
        elif shim.apps.get(app.name) != LIVE:
            shim.counts["application refused"] += 1
            shim.truth.finish(app)
            shim.remove_app(app.name, app.home)  # an earlier copy may have been accepted


def _is_live(shim: Shim, app: App) -> None:
    if shim.apps.get(app.name) == LIVE:
        return
    shim.apps[app.name] = LIVE
    for task in app.tasks.values():
        if not shim.holds_back(task):
            shim.send_ask(task)


def _updated(shim: Shim, effect: e.ApplicationUpdated) -> None:
    app = shim.truth.apps.get(effect.application_id)
    if app is None or app.over or effect.timestamp_ns < app.submitted:
        return
    shim.counts[f"application {effect.state}"] += 1
    if effect.state in ENDED:
        _end_app(shim, app)
    elif effect.state in ("Failing", "Resuming"):
        shim.counts[f"{effect.state}: {effect.message}"] += 1
        for task in app.tasks.values():
            if not task.gone and (task.placeholder or effect.state == "Failing"):
                task.gone = True
                shim.release_ask(task)
    elif effect.state in WORKING and app.name not in shim.began:
        shim.began.add(app.name)
        for task in app.tasks.values():
            shim.send_ask(task)


def _end_app(shim: Shim, app: App) -> None:
    """The core has no such application any more; what still runs of it is ended here too."""
    shim.apps.pop(app.name, None)
    if shim.truth.finish(app):
        shim.counts["containers outlived their application"] += 1
        shim.remove_app(app.name, app.home)


def _new(shim: Shim, effect: e.AllocationNew) -> None:
    truth = shim.truth
    name = (effect.ask.application_id, effect.allocation_id)
    running = truth.containers.get(name)
    app = truth.apps.get(effect.ask.application_id)
    task = app.tasks.get(effect.ask.allocation_key) if app is not None else None
    shim.reported.pop(name, None)
    if running is not None:
        _same(shim, running, effect)
    elif task is None or not task.waiting() or not _is_there(shim, effect):
        _bounce(shim, effect, task)
    elif effect.allocation_id in task.heard:
        shim.counts["an ended allocation came again"] += 1
        shim.release(name, effect.partition)
    else:
        task.heard.add(effect.allocation_id)
        started = Container(task, effect.allocation_id, effect.node_id, effect.ask.resource)
        truth.containers[name] = started
        shim.told[name] = ""


def _is_there(shim: Shim, effect: e.AllocationNew) -> bool:
    node = shim.truth.nodes.get(effect.node_id)
    return node is not None and node.home == effect.partition


def _same(shim: Shim, running: Container, effect: e.AllocationNew) -> None:
    """Something that runs is answered, or the core has another idea of it."""
    shim.told.setdefault(running.name, "")
    if (running.task.app.name, running.task.key) not in shim.asked:
        shim.send_ask(running.task)
    if running.node != effect.node_id:
        _take_back(shim, running)
    elif dict(running.resource) != dict(effect.ask.resource) and not running.ordered:
        shim.counts["the core has it in another size"] += 1
        shim.report(running)


def _take_back(shim: Shim, container: Container) -> None:
    """The core has something where it is not: release it there, then report it anew."""
    shim.counts["the core has it elsewhere"] += 1
    home = container.task.app.home
    shim.told[container.name] = ""
    shim.unanswered[container.name] = Unanswered(home, again=True)
    shim.release(container.name, home)


def _bounce(shim: Shim, effect: e.AllocationNew, task: Task | None) -> None:
    """Something was placed that cannot be started: give it back, and ask again if need be."""
    name = (effect.ask.application_id, effect.allocation_id)
    heard = task is not None and effect.allocation_id in task.heard
    doubled = task is not None and not task.gone and not task.app.over and not heard
    if doubled and task is not None and not task.waiting():
        shim.counts["placed more than asked for"] += 1
        assert shim.forgiving or task.uncertain, f"{name} is one more than was asked for"
    shim.counts["gave an allocation back"] += 1
    if effect.node_id not in shim.truth.nodes:
        _drop_node(shim, effect.node_id, effect.partition)
    shim.release(name, effect.partition)
    if task is None or task.gone:
        app, key = effect.ask.application_id, effect.ask.allocation_key
        shim.box.ask_releases.append(c.AskRelease(app, key, effect.partition))
    elif task.waiting() and not heard:
        task.heard.add(effect.allocation_id)
        task.total += 1
        shim.send_ask(task)


def _released(shim: Shim, effect: e.AllocationsReleased) -> None:
    for gone in effect.released:
        if gone.termination_type in CONFIRMATIONS:
            _ordered(shim, gone)
        else:
            _ended(shim, gone)


def _ordered(shim: Shim, gone: ReleasedAllocation) -> None:
    """The core wants something ended: do it, and then say so with the same type (SI-69)."""
    name = (gone.application_id, gone.allocation_id)
    container = shim.truth.containers.get(name)
    kind = gone.termination_type
    if container is None:
        shim.counts["order for something that ended"] += 1
        shim.release(name, gone.partition, kind)
        return
    if container.ordered:
        shim.counts["order heard again"] += 1
        return
    container.ordered = kind
    container.task.gone = container.task.gone or container.task.placeholder
    delay = shim.dice.choice((10 * MILLI, SECOND, 5 * SECOND, 15 * SECOND))
    shim.clock.after(shim.dice.randrange(delay), lambda: killed(shim, container))


def killed(shim: Shim, container: Container) -> None:
    """A container that was to be ended is no more; now, or when the RM is back, that is told."""
    if shim.truth.containers.get(container.name) is not container:
        return
    kind, task = container.ordered, container.task
    shim.ended(container, kind)
    if kind == c.PREEMPTED_BY_SCHEDULER and not (task.gone or task.app.over):
        shim.counts["asked again after a preemption"] += 1
        task.total += 1
        shim.send_ask(task)


def _ended(shim: Shim, gone: ReleasedAllocation) -> None:
    """The core knows it no more: an answer, or the consequence of something else (SI-68)."""
    name = (gone.application_id, gone.allocation_id)
    waiting = shim.unanswered.pop(name, None)
    container = shim.truth.containers.get(name)
    if container is None:
        return
    if waiting is not None and waiting.again:
        shim.counts["reported after a conflict"] += 1
        shim.report(container)
        return
    shim.counts["the core ended a container"] += 1
    shim.truth.end(container)


def _asks_released(shim: Shim, effect: e.AsksReleased) -> None:
    for dropped in effect.released:
        app = shim.truth.apps.get(dropped.application_id)
        task = app.tasks.get(dropped.allocation_key) if app is not None else None
        if task is not None:
            shim.counts["ask dropped by the core"] += 1
            task.gone = True
            confirms = shim.dice.random() < 0.5
            if shim.clock.now - shim.asked.get((task.app.name, task.key), 0) < UNDER_WAY:
                shim.release_ask(task)  # it may have been asked for again meanwhile
            elif confirms:
                shim.release_ask(task, c.TIMEOUT)


def _asks_rejected(shim: Shim, effect: e.AsksRejected) -> None:
    for refused in effect.rejected:
        app = shim.truth.apps.get(refused.application_id)
        if app is None or app.over or refused.subject not in app.tasks or shim.phase != DONE:
            continue
        shim.counts["ask refused"] += 1
        if "is not known" in refused.reason:
            _end_app(shim, app)
        else:
            task = app.tasks[refused.subject]
            task.gone = True
            if refused.rule == "SI-14":
                shim.counts["ask beyond a limit"] += 1
                shim.release_ask(task)  # a copy of it may be taken later


def _allocations_rejected(shim: Shim, effect: e.AllocationsRejected) -> None:
    for refused in effect.rejected:
        shim.counts["existing allocation refused"] += 1
        _make_good(shim, refused, refused.application_id)


def _make_good(shim: Shim, refused: Rejection, app_name: str) -> None:
    """The core does not take what runs: tell it again with its application and node (REC-2)."""
    app = shim.truth.apps.get(app_name)
    if app is None or app.over:
        return
    running = [x for x in shim.truth.of(app) if x.task.key == refused.subject]
    for container in running:
        if refused.rule == "SI-43":
            _take_back(shim, container)
            continue
        if container.node in shim.truth.nodes and "node" in refused.reason.split("'")[0]:
            shim.send_node(shim.truth.nodes[container.node])
        else:
            shim.send_app(app)
        shim.reported[container.name] = None


def _nodes(shim: Shim, effect: e.NodesAnswered) -> None:
    for name in effect.accepted:
        if name not in shim.truth.nodes:
            shim.counts["an unwanted node was accepted"] += 1
            _drop_node(shim, name, shim.truth.removed.get(name, ""))
        else:
            _node_is_there(shim, name)
    for refused in effect.rejected:
        _node_refused(shim, refused)


def _drop_node(shim: Shim, name: str, home: str) -> None:
    update = c.NodeUpdate(name, c.DECOMISSION, attributes={NODE_PARTITION: home})
    shim.box.nodes.append(update)
    shim.flush_soon()


def _node_is_there(shim: Shim, name: str) -> None:
    """A node is in the core; what was told with it and ended meanwhile can be released now."""
    shim.nodes[name] = LIVE
    for told, node in list(shim.told.items()):
        if node == name:
            shim.told[told] = ""
            if told not in shim.truth.containers:
                shim.release(told, shim.truth.nodes[name].home)
            else:
                shim.send_ask(shim.truth.containers[told].task)


def _node_refused(shim: Shim, refused: Rejection) -> None:
    node = shim.truth.nodes.get(refused.subject)
    if node is None:
        return
    if refused.rule == "NODE-1":
        shim.counts["node was there already"] += 1
        if shim.nodes.get(node.name) != LIVE:
            _node_is_there(shim, node.name)
            for container in shim.truth.on(node.name):
                shim.report(container)
    elif refused.rule == "NODE-10" and "is not known" in refused.reason:
        shim.counts["node was lost in the core"] += 1
        shim.nodes[node.name] = SENT
        shim.send_node(node)
    elif refused.rule != "NODE-9":
        shim.counts["node refused"] += 1
        for container in shim.truth.on(node.name):
            if refused.rule == "SI-43" and f"'{container.identity}'" in refused.reason:
                _take_back(shim, container)
            elif shim.apps.get(container.task.app.name) != SENT:
                shim.send_app(container.task.app)


def _ignore(shim: Shim, effect: Effect) -> None:
    """What a shim has no use for."""


_EARS: Final[dict[type, Callable[[Shim, Any], None]]] = {
    e.ApplicationsAnswered: _applications,
    e.ApplicationUpdated: _updated,
    e.AllocationNew: _new,
    e.AllocationsReleased: _released,
    e.AsksReleased: _asks_released,
    e.AsksRejected: _asks_rejected,
    e.AllocationsRejected: _allocations_rejected,
    e.NodesAnswered: _nodes,
    e.ContainerStateUpdated: _ignore,
}
