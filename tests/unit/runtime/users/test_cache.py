"""How long an answer about a user counts."""

from __future__ import annotations

import pytest

from remuda.runtime.users.cache import CLEAN_SECONDS, Answer, GroupCache
from remuda.runtime.users.choice import Resolvers
from remuda.runtime.users.resolver import ResolutionError

# 2026-01-02 03:04:05 UTC
START = 1_767_323_045.0


class Clock:
    """Time as the test tells it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def wall(self) -> float:
        return START + self.seconds


class Directory:
    """A resolver with groups that change, and a note of every lookup."""

    def __init__(self) -> None:
        self.groups: dict[str, tuple[str, ...]] = {"bob": ("dev", "ops")}
        self.asked: list[str] = []

    def groups_of(self, user: str) -> tuple[str, ...]:
        self.asked.append(user)
        if user not in self.groups:
            raise ResolutionError(f"{user} is not here")
        return self.groups[user]

    def close(self) -> None:
        self.asked.append("closed")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def directory() -> Directory:
    return Directory()


@pytest.fixture
def cache(clock: Clock, directory: Directory) -> GroupCache:
    return GroupCache(directory, now=clock, wall=clock.wall)


@pytest.mark.remuda_rule("UGR-30")
def test_what_was_found_is_returned_without_a_lookup(
    cache: GroupCache, directory: Directory
) -> None:
    assert cache.resolve("bob") == Answer(("dev", "ops"))
    assert cache.resolve("bob") == Answer(("dev", "ops"))
    assert directory.asked == ["bob"]


@pytest.mark.remuda_rule("UGR-30", "UGR-6")
def test_after_a_failure_the_next_ones_hear_of_its_time_without_a_lookup(
    cache: GroupCache, directory: Directory, clock: Clock
) -> None:
    assert cache.resolve("unknown") == Answer(fault="unknown is not here")
    clock.seconds = 7
    known = Answer(fault="user resolution failed, cached data returned: 2026-01-02T03:04:05Z")
    assert cache.resolve("unknown") == known
    assert cache.recall("unknown") == known
    assert directory.asked == ["unknown"]


@pytest.mark.remuda_rule("UGR-31", "UGR-32", "D-R1")
@pytest.mark.parametrize("seconds,asked", [(299, 1), (301, 2)])
def test_what_was_found_counts_for_300_seconds(
    cache: GroupCache, directory: Directory, clock: Clock, seconds: float, asked: int
) -> None:
    cache.resolve("bob")
    directory.groups["bob"] = ("new",)
    clock.seconds = seconds
    assert cache.resolve("bob").groups == (("dev", "ops") if asked == 1 else ("new",))
    assert len(directory.asked) == asked


@pytest.mark.remuda_rule("UGR-31", "UGR-32", "D-R1")
@pytest.mark.parametrize("seconds,asked", [(29, 1), (31, 2)])
def test_a_failure_counts_for_30_seconds(
    cache: GroupCache, directory: Directory, clock: Clock, seconds: float, asked: int
) -> None:
    cache.resolve("ann")
    directory.groups["ann"] = ("qa",)
    clock.seconds = seconds
    assert cache.resolve("ann").groups == (() if asked == 1 else ("qa",))
    assert len(directory.asked) == asked


@pytest.mark.remuda_rule("UGR-31")
def test_the_time_counts_from_the_resolution_not_from_the_last_use(
    cache: GroupCache, directory: Directory, clock: Clock
) -> None:
    for clock.seconds in (0, 150, 290):
        cache.resolve("bob")
    assert directory.asked == ["bob"]
    clock.seconds = 301
    cache.resolve("bob")
    assert directory.asked == ["bob", "bob"]


@pytest.mark.remuda_rule("UGR-33", "UGR-31")
def test_the_cleaner_drops_what_is_too_old_every_60_seconds(
    cache: GroupCache, clock: Clock
) -> None:
    clock.seconds = 35
    cache.resolve("gone")
    clock.seconds = 60
    cache.recall("bob")
    assert len(cache) == 1
    clock.seconds = 119
    cache.recall("bob")
    assert len(cache) == 1
    clock.seconds = 120
    cache.recall("bob")
    assert len(cache) == 0


@pytest.mark.remuda_rule("UGR-24")
def test_the_resolver_named_test_is_cleaned_every_second(clock: Clock) -> None:
    made = Resolvers().make("test")
    assert made is not None
    cache = GroupCache(made.resolver, now=clock, clean_seconds=made.clean_seconds)
    cache.resolve("unknown")
    clock.seconds = 30.5
    cache.recall("testuser1")
    assert len(cache) == 0
    assert made.clean_seconds == 1
    assert CLEAN_SECONDS == 60


def test_users_beyond_the_capacity_push_the_oldest_out(clock: Clock, directory: Directory) -> None:
    cache = GroupCache(directory, now=clock, capacity=3)
    for name in ("a", "b", "c"):
        cache.resolve(name)
    clock.seconds = 31
    cache.resolve("a")
    cache.resolve("d")
    assert len(cache) == 3
    clock.seconds = 32
    assert cache.recall("a") is not None
    assert cache.recall("b") is None
