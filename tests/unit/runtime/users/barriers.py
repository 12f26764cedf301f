"""Resolvers whose answers wait until a test lets them go."""

from __future__ import annotations

import threading

from remuda.runtime.users.cache import GroupCache
from remuda.runtime.users.choice import Resolvers
from remuda.runtime.users.resolver import ResolutionError, Resolver


class Barrier:
    """A resolver whose lookups wait until the test lets them go."""

    def __init__(self) -> None:
        self.groups: dict[str, tuple[str, ...]] = {}
        self.asked: list[str] = []
        self.threads: set[str] = set()
        self.closed = threading.Event()
        self._open = threading.Event()
        self._asked = threading.Condition()

    def groups_of(self, user: str) -> tuple[str, ...]:
        with self._asked:
            self.asked.append(user)
            self.threads.add(threading.current_thread().name)
            self._asked.notify_all()
        assert self._open.wait(10)
        if user == "odd":
            raise RuntimeError("something broke")
        if user not in self.groups:
            raise ResolutionError(f"no {user}")
        return self.groups[user]

    def close(self) -> None:
        self.closed.set()

    def open(self) -> None:
        self._open.set()

    def wait_until_asked(self, count: int) -> None:
        with self._asked:
            assert self._asked.wait_for(lambda: len(self.asked) >= count, timeout=60)


class Barriers(Resolvers):
    """Every name of a resolver but the default is a barrier of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.barriers: dict[str, Barrier] = {}

    def make(self, name: str, old: GroupCache | None = None) -> GroupCache | None:
        if not name:
            return None
        resolver: Resolver = self.barriers.setdefault(name, Barrier())
        return old if old is not None and old.origin == name else GroupCache(resolver, origin=name)
