"""The scripts that are tried in every order: up to six messages of one manager."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from tests.simulation.small.model import ONE, RM, History, Message, created
from tests.unit.core.door import leaf, partition

TWO_QUEUES: Final = Configuration((partition(leaf("a"), leaf("b")),), checksum="1", text="1")
ONE_AT_A_TIME: Final = Configuration(
    (partition(leaf("a", {"vcore": 1}), leaf("b")),), checksum="2", text="2"
)


def node(node_id: str) -> Message:
    """A new node."""

    def send(history: History) -> None:
        history.manager.nodes[node_id] = None
        history.send(c.UpdateNodes(RM, (created(node_id),)))

    return send


def lost(node_id: str) -> Message:
    """A node is gone."""

    def send(history: History) -> None:
        history.lose(node_id)
        history.send(c.UpdateNodes(RM, (c.NodeUpdate(node_id, c.DECOMISSION),)))

    return send


def application(name: str, queue: str, *, gang: int = 0) -> Message:
    """A new application, a gang if it has members."""

    def send(history: History) -> None:
        size = {"vcore": gang} if gang else {}
        new = c.NewApplication(name, queue, user="ann", groups=("g",), placeholder_ask=size)
        history.manager.applications[name] = new
        history.send(c.UpdateApplications(RM, (new,)))

    return send


def removed(name: str) -> Message:
    """An application is removed."""

    def send(history: History) -> None:
        history.finish(name, "removed")
        removal = c.ApplicationRemoval(name)
        history.send(c.UpdateApplications(RM, remove=(removal,)))

    return send


def asks(name: str, *keys: str, group: str = "", placeholder: bool = False) -> Message:
    """Asks for one core each; they may come before their application, or after its end."""

    def send(history: History) -> None:
        wanted = tuple(
            [c.Ask(name, key, ONE, task_group=group, placeholder=placeholder) for key in keys]
        )
        if name not in history.manager.over:
            for ask in wanted:
                history.manager.asks[name, ask.allocation_key] = ask
        history.send(c.UpdateAllocations(RM, asks=wanted))

    return send


def stopped(name: str, key: str) -> Message:
    """The manager stops what has a key, whether it runs yet or not."""

    def send(history: History) -> None:
        for each in history.live():
            if each.name == (name, key):
                history.stop(each)
        history.manager.asks.pop((name, key), None)
        history.send(
            c.UpdateAllocations(
                RM,
                ask_releases=(c.AskRelease(name, key),),
                releases=(c.AllocationRelease(name, allocation_key=key),),
            )
        )

    return send


Script = Mapping[str, Sequence[Message]]

GANG: Final[Script] = {
    "nodes": [node("n1"), node("n2")],
    "applications": [application("gang", "root.a", gang=2)],
    "asks": [
        asks("gang", "p1", "p2", group="g", placeholder=True),
        asks("gang", "r1", "r2", group="g"),
    ],
}
GANG_REMOVED: Final[Script] = {
    "nodes": [node("n1")],
    "applications": [application("gang", "root.a", gang=2), removed("gang")],
    "asks": GANG["asks"],
}
GANG_LOSES_A_NODE: Final[Script] = {
    "nodes": [node("n1"), node("n2"), lost("n1")],
    "applications": GANG["applications"],
    "asks": GANG["asks"],
}
TWO_APPLICATIONS: Final[Script] = {
    "nodes": [node("n1")],
    "applications": [application("one", "root.a"), application("two", "root.b")],
    "asks": [asks("one", "k1", "k2"), asks("two", "k1"), stopped("one", "k1")],
}
STOPPED_TWICE: Final[Script] = {
    "nodes": [node("n1")],
    "applications": [application("one", "root.a")],
    "asks": [asks("one", "k1"), stopped("one", "k1"), stopped("one", "k1"), asks("one", "k2")],
}

SCRIPTS: Final[Mapping[str, tuple[Script, Configuration]]] = {
    "a gang": (GANG, TWO_QUEUES),
    "a gang that is removed": (GANG_REMOVED, TWO_QUEUES),
    "a gang that loses a node": (GANG_LOSES_A_NODE, TWO_QUEUES),
    "two applications": (TWO_APPLICATIONS, TWO_QUEUES),
    "an ask that is stopped twice": (STOPPED_TWICE, ONE_AT_A_TIME),
}
