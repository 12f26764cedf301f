"""What tests of reload ask for: all there is to see, and the states of the queues."""

from __future__ import annotations

from remuda.config.schema import QueueConfig
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from tests.unit.core.door import Caller, events, refusal

ONE = {"vcore": 1}
NODE = {"vcore": 100, "memory": 100}
SORT, OFFSET = "application.sort.policy", "priority.offset"


def caller(*queues: QueueConfig, **other: object) -> Caller:
    """A large node and these queues."""
    door = Caller(*queues, **other)  # type: ignore[arg-type]
    door.node("n1", NODE)
    return door


def start(door: Caller, app: str, queue: str = "root.a", count: int = 1) -> None:
    """A new application that holds ``count`` allocations of one core."""
    door.app(app, queue)
    door.ask(app, f"{app}.k", ONE, count)
    assert len(door.place()) == count


def views(door: Caller, *homes: str) -> list[q.View]:
    """Everything that can be seen of these partitions, all of their configuration included."""
    found: list[q.View] = [
        door.scheduler.view(q.PartitionsQuery()),
        door.scheduler.view(q.ConfigurationsQuery()),
    ]
    for home in homes or ("default",):
        queries: tuple[q.Query, ...] = (
            q.QueuesQuery(home, door.rm),
            q.NodesQuery(home, door.rm),
            q.ApplicationsQuery(home, "", door.rm),
            q.PlacementRulesQuery(home, door.rm),
            q.UsageQuery(home, False, door.rm),
            q.UsageQuery(home, True, door.rm),
        )
        found += [door.scheduler.view(query) for query in queries]
    return found


def change(door: Caller, *queues: QueueConfig, **other: object) -> list[tuple[int, str, int, int]]:
    """Reload, see that it was accepted and left all counters right; the event records."""
    effects = door.reload(*queues, **other)
    assert refusal(effects) == ""
    door.scheduler.check()
    return events(effects)


def statuses(door: Caller, home: str = "default") -> dict[str, str]:
    """The state of every queue by path."""
    found: dict[str, str] = {}
    waiting = [door.queue("root", home)]
    while waiting:
        queue = waiting.pop()
        found[queue.path] = queue.status
        waiting += queue.children
    return found


def verdict(effects: list[e.Effect]) -> str:
    """Why the one application of a request was rejected, "" if it was accepted."""
    (answer,) = [x for x in effects if isinstance(x, e.ApplicationsAnswered)]
    return answer.rejected[0].reason if answer.rejected else ""


def configuration(door: Caller) -> q.ConfigurationView:
    """What is said to be in force."""
    found = door.scheduler.view(q.ConfigurationsQuery())
    assert isinstance(found, tuple)
    (view,) = found
    assert isinstance(view, q.ConfigurationView)
    return view


def home_view(door: Caller, home: str = "default") -> q.PartitionView | None:
    """One partition, None if it is not there."""
    found = door.scheduler.view(q.PartitionsQuery())
    assert isinstance(found, tuple)
    chosen = [view for view in found if isinstance(view, q.PartitionView) and view.name == home]
    return chosen[0] if chosen else None
