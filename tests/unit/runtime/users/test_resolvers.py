"""The resolvers that need no server, and which of them a partition gets."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Callable

import pytest

from remuda.config.load import load_configuration
from remuda.runtime.users.choice import Resolvers
from remuda.runtime.users.resolver import (
    OsResolver,
    ResolutionError,
    SampleResolver,
    default_groups,
)

NAMES = {100: "users", 27: "sudo", 50: "staff"}


def account(gid: int) -> Callable[[str], pwd.struct_passwd]:
    """Bob's account, whose primary group is ``gid``; nobody else has one."""

    def find(name: str) -> pwd.struct_passwd:
        if name != "bob":
            raise KeyError(name)
        return pwd.struct_passwd(("bob", "x", 1001, gid, "", "/", "/bin/sh"))

    return find


def group(number: int) -> grp.struct_group:
    return grp.struct_group((NAMES[number], "x", number, []))


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(pwd, "getpwnam", account(100))
    monkeypatch.setattr(grp, "getgrgid", group)
    monkeypatch.setattr(os, "getgrouplist", lambda user, gid: [27, gid, 50, 4242])
    return monkeypatch


@pytest.mark.remuda_rule("UGR-22")
def test_by_default_every_user_is_in_the_group_of_its_name() -> None:
    assert default_groups("bob") == ("bob",)


@pytest.mark.remuda_rule("UGR-23")
@pytest.mark.usefixtures("system")
def test_the_system_gives_the_primary_group_first_and_once() -> None:
    assert OsResolver().groups_of("bob") == ("users", "sudo", "staff", "4242")


@pytest.mark.remuda_rule("UGR-23")
def test_a_primary_group_without_a_name_is_its_number(system: pytest.MonkeyPatch) -> None:
    system.setattr(pwd, "getpwnam", account(777))
    assert OsResolver().groups_of("bob") == ("777", "sudo", "staff", "4242")


@pytest.mark.remuda_rule("UGR-23")
@pytest.mark.usefixtures("system")
def test_an_unknown_account_is_a_failure() -> None:
    with pytest.raises(ResolutionError, match="user: unknown user ann"):
        OsResolver().groups_of("ann")


@pytest.mark.remuda_rule("UGR-23")
def test_a_list_of_groups_that_cannot_be_had_is_a_failure(system: pytest.MonkeyPatch) -> None:
    def fail(user: str, gid: int) -> list[int]:
        raise OSError(5, "Input/output error")

    system.setattr(os, "getgrouplist", fail)
    with pytest.raises(ResolutionError, match="groups of bob failed: Input/output error"):
        OsResolver().groups_of("bob")


@pytest.mark.remuda_rule("UGR-23")
def test_names_that_no_system_can_have_are_unknown_to_the_real_one_too() -> None:
    for name in ("nul\0byte", "\udcff"):
        with pytest.raises(ResolutionError, match="unknown user"):
            OsResolver().groups_of(name)


@pytest.mark.remuda_rule("UGR-24")
def test_the_resolver_named_test_knows_three_users() -> None:
    resolver = SampleResolver()
    assert resolver.groups_of("testuser1") == ("group1000", "group1001")
    assert resolver.groups_of("testuser2") == ("100", "group1001", "group1002")
    assert resolver.groups_of("testuser3") == (
        "group1001",
        "group1002",
        "group1003",
        "group1004",
    )
    with pytest.raises(ResolutionError, match="unknown"):
        resolver.groups_of("unknown")


@pytest.mark.remuda_rule("UGR-20")
@pytest.mark.parametrize(
    "kind,made",
    [
        ("os", OsResolver),
        ("test", SampleResolver),
        ("", type(None)),
        ("something", type(None)),
    ],
)
def test_the_type_chooses_the_resolver_and_anything_else_the_default(kind: str, made: type) -> None:
    text = f"""
partitions:
  - name: default
    usergroupresolver:
      type: "{kind}"
    queues:
      - name: root
"""
    (partition,) = load_configuration(text).partitions
    cache = Resolvers().make(partition.user_group_resolver)
    assert isinstance(None if cache is None else cache.resolver, made)


@pytest.mark.remuda_rule("UGR-20")
def test_without_the_key_the_default_resolver_is_used() -> None:
    (partition,) = load_configuration("").partitions
    assert Resolvers().make(partition.user_group_resolver) is None


def test_a_resolver_that_stays_keeps_what_it_knows() -> None:
    resolvers = Resolvers()
    old = resolvers.make("test")
    assert resolvers.make("test", old) is old
    assert resolvers.make("os", old) is not old
    assert resolvers.make("test") is not old


@pytest.mark.remuda_rule("UGR-26")
def test_ldap_without_its_settings_never_turns_into_another_resolver() -> None:
    cache = Resolvers().make("ldap")
    assert cache is not None
    assert "settings were not read" in cache.resolve("bob").fault
    cache.resolver.close()
