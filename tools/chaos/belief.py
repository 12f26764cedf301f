"""What a resource manager believes, kept in a file that survives a kill -9 of it.

Each fact is a line of JSON, written before anybody is told and after the scheduler told it. The
kernel keeps what a killed process wrote, so nothing that was acknowledged is lost; a line that the
kill tore is dropped, because nobody was told of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

Fact: TypeAlias = "list[str | int]"


class Task(msgspec.Struct):
    """An ask, and later the allocation it became: then it has a node.

    ``cores``: thousandths. ``role``: empty, `member` of a gang, or `placeholder` for one.
    """

    key: str
    application: str
    cores: int
    role: str = ""
    node: str = ""


class Belief(msgspec.Struct):
    """Everything that one resource manager believes.

    ``nodes``: thousandths of cores, by name. ``applications``: the queue of each. ``asks``: by key.
    ``running`` and ``ending`` (released, not acknowledged): by identity of the allocation.
    ``withdrawn``: keys of asks it does not want any more. ``over``: keys of tasks that ended.
    ``violations``: what the scheduler must not have done. ``starts``: how many allocations it was
    told of.
    """

    nodes: dict[str, int] = {}
    applications: dict[str, str] = {}
    asks: dict[str, Task] = {}
    running: dict[str, Task] = {}
    ending: dict[str, Task] = {}
    withdrawn: dict[str, bool] = {}
    over: dict[str, bool] = {}
    violations: list[str] = []
    starts: int = 0

    def apply(self, fact: Fact) -> None:
        """Take one fact in."""
        _FACTS[str(fact[0])](self, *fact[1:])

    def node(self, name: str, cores: int) -> None:
        """It has a node."""
        self.nodes[name] = cores

    def application(self, name: str, queue: str) -> None:
        """It submits an application."""
        self.applications[name] = queue

    def gone(self, name: str) -> None:
        """An application is over, with all it had."""
        self.applications.pop(name, None)
        for key in [key for key, task in self.asks.items() if task.application == name]:
            self.withdraw(key)
        for tasks in (self.running, self.ending):
            for identity in [i for i, task in tasks.items() if task.application == name]:
                self.over[tasks.pop(identity).key] = True

    def ask(self, key: str, application: str, cores: int, role: str) -> None:
        """It wants a task to run."""
        self.asks[key] = Task(key, application, cores, role)

    def withdraw(self, key: str) -> None:
        """It does not want a task any more that did not start yet."""
        if self.asks.pop(key, None) is not None:
            self.withdrawn[key] = True

    def start(self, key: str, identity: str, node: str) -> None:
        """It was told to start a task that it wanted."""
        task = self.asks.pop(key)
        task.node = node
        self.running[identity] = task
        self.starts += 1

    def end(self, identity: str) -> None:
        """A task has ended; the scheduler is told next."""
        task = self.running.pop(identity)
        self.ending[identity] = task
        self.over[task.key] = True

    def forget(self, identity: str) -> None:
        """The scheduler knows that a task has ended."""
        self.ending.pop(identity, None)

    def violate(self, text: str) -> None:
        """The scheduler did what it must not do."""
        self.violations.append(text)


_FACTS: Final[Mapping[str, Callable[..., None]]] = {
    "node": Belief.node,
    "application": Belief.application,
    "gone": Belief.gone,
    "ask": Belief.ask,
    "withdraw": Belief.withdraw,
    "start": Belief.start,
    "end": Belief.end,
    "forget": Belief.forget,
    "violate": Belief.violate,
}


class Diary:
    """A belief and the file of its facts. Not for two processes at a time."""

    def __init__(self, file: Path) -> None:
        self.belief = Belief()
        whole = 0
        content = file.read_bytes() if file.exists() else b""
        for line in content.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break
            self.belief.apply(json.loads(line))
            whole += len(line)
        self.facts = content[:whole].count(b"\n")
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT, 0o644)
        os.ftruncate(self._file, whole)
        os.lseek(self._file, whole, os.SEEK_SET)

    def note(self, *fact: str | int) -> None:
        """Write a fact down, then believe it."""
        os.write(self._file, json.dumps(fact).encode() + b"\n")
        self.belief.apply(list(fact))
        self.facts += 1
