"""Whether a core keeps anything of work that is over (I20).

All that a core refers to is counted by type. After everything ended and the core had time to forget
it, there may be no more of it than in a core that has only just been configured the same way. What
grows by one object for each ask, allocation, application, node or queue is found in this way.
"""

from __future__ import annotations

import gc
from collections import Counter
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Final

from remuda.core.messages import commands as c
from remuda.core.messages.commands import Command
from remuda.core.messages.tags import NODE_PARTITION
from remuda.core.scheduler import Scheduler
from tests.simulation.faults.clock import MINUTE, SECOND
from tests.simulation.faults.host import LIMITS, Host
from tests.simulation.faults.shim import Shim
from tests.simulation.faults.verdict import homes_of, queues

HOUR: Final = 60 * MINUTE

# In so many steps the core forgets what it keeps for some days (APP-19).
DAYS: Final = 4
JUMP: Final = 12 * HOUR

# What is kept on purpose: settings of the configuration before, counts that go on when a queue
# comes back (MET-27), the latest preemptions (PRE-91), vectors that were needed once, classes in
# a heap from which ended ones are removed only when there are many (EXT-15).
KEPT: Final = frozenset(
    {
        "AccessList",
        "Amounts",
        "Candidates",
        "Configuration",
        "EvictionTimes",
        "LeafCounts",
        "LimitConfig",
        "PartitionConfig",
        "PlacementRuleConfig",
        "PredicateClass",
        "Preemption",
        "QueueConfig",
        "Scale",
        "TemplateConfig",
        "Vector",
        "Victim",
    }
)

# Objects that belong to the program and not to a core.
_PROGRAM: Final = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)


def check_leftovers(host: Host, shims: list[Shim]) -> None:
    """Raise if a core keeps anything of all that was; in the end it has no work and no node."""
    for shim in shims:
        for command in _farewell(host, shim):
            host.handle(command)
    for _ in range(DAYS * 24 * HOUR // JUMP):
        host.clock.stand_still(JUMP)
        host.clock.run(host.clock.now + SECOND)
    fresh = _fresh(host, shims)
    if _started_by_operators(host.scheduler, fresh, shims):
        return
    for kind, number in (_counted(host.scheduler) - _counted(fresh)).items():
        assert kind in KEPT, f"{number} {kind} are left after everything ended (I20)"
    host.counts["leftovers counted"] += 1


def _farewell(host: Host, shim: Shim) -> list[Command]:
    """What an RM sends that has no application and no node any more."""
    apps = [c.ApplicationRemoval(app.name, app.home) for app in shim.truth.apps.values()]
    nodes = {node.name: node.home for node in shim.truth.nodes.values()}
    gone = [
        c.NodeUpdate(name, c.DECOMISSION, attributes={NODE_PARTITION: home})
        for name, home in nodes.items()
    ]
    return [
        c.UpdateApplications(shim.rm_id, remove=tuple(apps)),
        c.UpdateNodes(shim.rm_id, tuple(gone)),
    ]


def _fresh(host: Host, shims: list[Shim]) -> Scheduler:
    """A core that was configured the same way, and has done nothing."""
    scheduler = Scheduler(host.predicates, preemption=host.preemption, limits=LIMITS)
    for shim in shims:
        scheduler.handle(shim.registration(), host.clock.now)
    scheduler.step(host.clock.now, 1)
    return scheduler


def _started_by_operators(scheduler: Scheduler, fresh: Scheduler, shims: list[Shim]) -> bool:
    """Whether queues are left that are configured no more, but that an operator started (OBJ-2)."""
    found = False
    for shim in shims:
        for home in homes_of(scheduler, shim.rm_id):
            configured = {queue.path for queue in queues(fresh, shim.rm_id, home)}
            for queue in queues(scheduler, shim.rm_id, home):
                if queue.path not in configured:
                    left = (queue.managed, queue.status)
                    assert left == (True, "Active"), f"{queue.path} is left, {left} (I39)"
                    found = True
    return found


def _counted(scheduler: Scheduler) -> Counter[str]:
    """How many objects of each type of ours a core refers to."""
    found: Counter[str] = Counter()
    seen = {id(scheduler)}
    ahead: list[object] = [scheduler]
    while ahead:
        one = ahead.pop()
        kind = type(one)
        if kind.__module__.startswith("remuda."):
            found[kind.__name__] += 1
        for other in gc.get_referents(one):
            if id(other) not in seen and not isinstance(other, _PROGRAM):
                seen.add(id(other))
                ahead.append(other)
    return found
