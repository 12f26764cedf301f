"""What tests of limits ask for: usage somewhere in the tree, and how much room is left."""

from __future__ import annotations

from remuda.base.resources import Resource
from remuda.config.schema import QueueConfig
from remuda.core.messages import queries as q
from tests.unit.core.door import Caller

# More than any limit of these tests.
NODE = {"memory": 10_000, "vcore": 10_000}


def caller(*queues: QueueConfig, **root: object) -> Caller:
    """A large node, these queues, and the limits of root if given."""
    door = Caller(*queues, root=root)
    door.node("n1", NODE)
    return door


def memory(amount: int) -> Resource:
    """So much memory."""
    return {"memory": amount}


def below(view: q.QueueUsageView, path: str) -> q.QueueUsageView | None:
    """The node of a path in one tracker's tree."""
    if view.path == path:
        return view
    for child in view.children:
        found = below(child, path)
        if found is not None:
            return found
    return None


def node(
    door: Caller, name: str, path: str, *, of_groups: bool = False, home: str = "default"
) -> q.QueueUsageView | None:
    """The node of one user or group in one queue, None if there is none."""
    view = door.usage(of_groups=of_groups, home=home).get(name)
    return None if view is None else below(view.queues, path)


def used(
    door: Caller, name: str, path: str, *, of_groups: bool = False, home: str = "default"
) -> Resource:
    """What a user or group uses in and below a queue, without zeros."""
    found = node(door, name, path, of_groups=of_groups, home=home)
    return {} if found is None else {t: v for t, v in (found.used or {}).items() if v}


def counted(door: Caller, name: str, path: str, *, of_groups: bool = False) -> tuple[str, ...]:
    """The applications that count for a user or group in and below a queue."""
    found = node(door, name, path, of_groups=of_groups)
    return () if found is None else found.applications


def start(door: Caller, app: str, queue: str, amount: Resource, **who: object) -> bool:
    """Submit an application with one ask; whether it was placed at once."""
    door.app(app, queue, **who)
    door.ask(app, f"{app}.k", amount)
    return bool(door.place())


def fits(door: Caller, app: str, amount: Resource) -> bool:
    """Whether one more allocation of this size would be placed; afterwards all is as before.

    Only for applications that hold something, and while nothing else is pending.
    """
    door.ask(app, "probe", amount)
    placed = door.place()
    for identity, _ in placed:
        assert identity.startswith("probe-")
        door.release(app, identity)
    door.release_ask(app, "probe")
    return bool(placed)


def has_room(door: Caller, app: str, amount: int) -> bool:
    """Whether the application's headroom of memory is exactly this much, 0 for none or less."""
    return (amount == 0 or fits(door, app, memory(amount))) and not fits(
        door, app, memory(amount + 1)
    )
