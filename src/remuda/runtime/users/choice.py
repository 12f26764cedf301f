"""Chooses the resolver of a partition, and checks its requirements.

A configuration that names a resolver whose library or settings are missing is refused before
anything of it is in force (UGR-26), so that no application meets a resolver that cannot work.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from remuda.base.errors import ConfigError, Problem, UsageError
from remuda.config.schema import (
    RESOLVER_LDAP,
    RESOLVER_OS,
    RESOLVER_TEST,
    Configuration,
    Load,
)
from remuda.runtime.users.cache import CLEAN_SECONDS, SAMPLE_CLEAN_SECONDS, GroupCache
from remuda.runtime.users.ldap import MISSING_LIBRARY, LdapResolver, library_present
from remuda.runtime.users.ldap_settings import DIRECTORY, LdapSettings, read_settings
from remuda.runtime.users.resolver import OsResolver, ResolutionError, Resolver, SampleResolver

_CLEAN: Final = {RESOLVER_TEST: SAMPLE_CLEAN_SECONDS}


class Resolvers:
    """Makes the resolvers of partitions.

    Args:
        ldap_settings: the directory with the settings of the LDAP resolver.

    Implements: UGR-20, UGR-21 (Ours). Rules: UGR-26.
    """

    def __init__(self, ldap_settings: Path = DIRECTORY) -> None:
        self._directory = ldap_settings
        self._ldap: LdapSettings | None = None
        self._makers: dict[str, Callable[[], Resolver]] = {
            RESOLVER_OS: OsResolver,
            RESOLVER_LDAP: self._make_ldap,
            RESOLVER_TEST: SampleResolver,
        }

    def require(self, configuration: Configuration, source: str = "<config>") -> None:
        """Read what the resolvers of a configuration need. Reads files: not on the core thread.

        Raises: ConfigError if something is missing.
        """
        for index, partition in enumerate(configuration.partitions):
            if partition.user_group_resolver != RESOLVER_LDAP:
                continue
            try:
                self._read_ldap()
            except UsageError as error:
                path = f"partitions[{index}].usergroupresolver.type"
                raise ConfigError([Problem(path, "UGR-26", str(error))], source) from None

    def guarded(self, load: Load) -> Load:
        """Return ``load`` with ``require`` after it."""

        def load_and_require(text: str) -> Configuration:
            configuration = load(text)
            self.require(configuration)
            return configuration

        return load_and_require

    def make(self, name: str, old: GroupCache | None = None) -> GroupCache | None:
        """Return the resolver of this name with its cache; None: the default one has neither.

        ``old`` is returned if it was made from the same. Never waits.
        """
        maker = self._makers.get(name)
        if maker is None:
            return None
        origin = (name, self._ldap if name == RESOLVER_LDAP else None)
        if old is not None and old.origin == origin:
            return old
        clean_seconds = _CLEAN.get(name, CLEAN_SECONDS)
        return GroupCache(maker(), clean_seconds=clean_seconds, kind=name, origin=origin)

    def _read_ldap(self) -> None:
        if not library_present():
            raise UsageError(MISSING_LIBRARY)
        self._ldap = read_settings(self._directory)

    def _make_ldap(self) -> Resolver:
        """Use the settings that were read last, when a configuration was accepted."""
        return _Unprepared() if self._ldap is None else LdapResolver(self._ldap)


class _Unprepared:
    """Takes the place of LDAP if ``require`` was not called: it knows no user."""

    def groups_of(self, user: str) -> tuple[str, ...]:
        """Fail. Raises: ResolutionError."""
        raise ResolutionError("the LDAP settings were not read when the configuration was loaded")

    def close(self) -> None:
        """Do nothing: there is nothing to close."""
