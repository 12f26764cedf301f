"""The resolvers that need nothing but this process and its operating system.

A resolver turns a user name into the user's groups, in order. It may be slow, so it is only
called through a cache and on a thread of its own; see intake.py. The default one is the
exception: its answer needs no lookup, so whoever builds a command gives it at once.
"""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Mapping
from typing import Final, Protocol


class ResolutionError(Exception):
    """The groups of a user could not be found; the text says why, in one line."""


class Resolver(Protocol):
    """Looks up the groups of a user. Any number of threads may call at once."""

    def groups_of(self, user: str) -> tuple[str, ...]:
        """Return the groups. Raises: ResolutionError."""
        ...

    def close(self) -> None:
        """Give back what is held; later calls fail."""
        ...


def default_groups(user: str) -> tuple[str, ...]:
    """Return the groups by the default resolver: every user exists, in the group of its name.

    Implements: UGR-22.
    """
    return (user,)


class OsResolver:
    """Asks the operating system's account database. Implements: UGR-23."""

    def groups_of(self, user: str) -> tuple[str, ...]:
        """Return the primary group first, then the others as the system lists them.

        Raises: ResolutionError for an unknown account, or if the list cannot be had.
        """
        try:
            account = pwd.getpwnam(user)
        except (KeyError, ValueError):
            raise ResolutionError(f"user: unknown user {user}") from None
        try:
            numbers = os.getgrouplist(user, account.pw_gid)
        except OSError as error:
            raise ResolutionError(
                f"user: listing the groups of {user} failed: {error.strerror}"
            ) from None
        others = [number for number in numbers if number != account.pw_gid]
        return tuple([_group_name(number) for number in (account.pw_gid, *others)])

    def close(self) -> None:
        """Do nothing, since no resources are held."""


def _group_name(number: int) -> str:
    """Return the name of a group, or its number as text if it has none."""
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


_SAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "testuser1": ("group1000", "group1001"),
    "testuser2": ("100", "group1001", "group1002"),
    "testuser3": ("group1001", "group1002", "group1003", "group1004"),
}


class SampleResolver:
    """The resolver named ``test``: three users with fixed groups. Implements: UGR-24."""

    def groups_of(self, user: str) -> tuple[str, ...]:
        """Return the fixed groups. Raises: ResolutionError for everybody else."""
        groups = _SAMPLES.get(user)
        if groups is None:
            raise ResolutionError(f"lookup failed for user: {user}")
        return groups

    def close(self) -> None:
        """Do nothing, since no resources are held."""
