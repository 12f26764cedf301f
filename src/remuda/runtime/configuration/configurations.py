"""The configuration of each resource manager, and its changes while everything runs.

The core replaces the configuration of one RM, wholly or not at all. This module knows which RM sent
its own configuration and which uses the document of its policy group, so that a new document
reaches all its users or none (EXT-24). Everything here runs on the core thread between two inputs,
so a registration never meets half of a change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeAlias

from remuda.base.errors import ConfigError, InvariantViolation, Problem, ProtocolError
from remuda.base.message import message
from remuda.base.names import name_fault
from remuda.config.findings import cut
from remuda.config.schema import Configuration
from remuda.core.messages.commands import Command, RegisterResourceManager, UpdateConfiguration
from remuda.core.messages.effects import ConfigurationAnswered, Effect
from remuda.runtime.configuration.documents import DOCUMENTS_LIMIT, Document, StoredDocuments
from remuda.runtime.configuration.needs import unmet
from remuda.runtime.configuration.process_keys import ProcessKeys
from remuda.runtime.errors import NotRegisteredError

_log = logging.getLogger("remuda.runtime")

# Called with what came into force for an RM: its ID, its configuration, and the extra map if that
# was replaced. The call is on the core thread, after the change and before its success is reported.
ConfigurationWatcher: TypeAlias = Callable[[str, Configuration, Mapping[str, str] | None], None]


@message
class Registered:
    """One registered RM and what is in force for it.

    ``stored``: its configuration is the document of its policy group.
    Implements: RM-4.
    """

    rm_id: str
    version: str
    policy_group: str
    build_info: Mapping[str, str]
    since_ns: int
    stored: bool
    configuration: Configuration


@message
class NewDocument:
    """A document to store, and to put in force for every RM that uses it (EXT-24).

    ``configuration`` None: the group goes back to the default document. ``policy_group`` None: the
    default document itself. ``extra_config`` None leaves the extra maps as they are. A non-empty
    ``expected_checksum`` must be that of the document it replaces. ``origin``: its name in the log,
    if that is not its policy group.
    """

    configuration: Configuration | None
    policy_group: str | None = None
    extra_config: Mapping[str, str] | None = None
    expected_checksum: str = ""
    dry_run: bool = False
    origin: str = ""


@message
class ConfigurationChange:
    """The result of a change; with a ``reason`` or ``refusals`` nothing was changed.

    ``refusals``: the answers of the RMs that refused it, by RM ID. ``rm_ids``: the RMs it concerns.
    ``before`` and ``after``: the configurations, equal if the checksum was the same and no queue
    was changed (CHK-5); after a refusal ``after`` is the one that stays in force. ``origin``: the
    name in the log of the configuration put in force, "" after a trial.
    """

    before: Configuration
    after: Configuration
    rm_ids: tuple[str, ...]
    refusals: Mapping[str, ConfigurationAnswered] = field(default_factory=dict)
    reason: str = ""
    origin: str = ""

    @property
    def refused(self) -> bool:
        """Whether it was refused."""
        return bool(self.reason or self.refusals)

    @property
    def changed(self) -> bool:
        """Whether another text is in force now, or would be after a trial."""
        return self.before.checksum != self.after.checksum

    def raise_if_refused(self, source: str = "<config>", *, name_rms: bool = False) -> None:
        """Raise ConfigError with all faults, RM by RM.

        ``source`` names the refused text. ``name_rms``: also name the RMs that cannot accept it.
        """
        problems = [Problem("", "EXT-24", self.reason)] if self.reason else []
        for rm_id, answer in self.refusals.items():
            path = f"resource manager {rm_id!r}" if name_rms else ""
            texts = answer.problems or (answer.reason,)
            problems.extend(Problem(path, answer.rule, text) for text in texts)
        if problems:
            raise ConfigError(problems, source)


class Configurations:
    """The configuration of every registered RM. Core thread only, except for two attributes.

    Any thread may read ``documents`` and ``latest``, the configuration that came into force last,
    of any RM.

    Args: handle: applies a command to the core and returns its effects. documents: the stored
        documents; only this object changes them.

    Rules: RM-4, RM-5, RM-7, SI-85, SI-86, SI-87, SI-88, EXT-24.
    """

    def __init__(
        self, handle: Callable[[Command], Sequence[Effect]], documents: StoredDocuments
    ) -> None:
        self._handle = handle
        self.documents = documents
        self.latest = documents.default
        self._registered: dict[str, Registered] = {}
        self._watchers: tuple[ConfigurationWatcher, ...] = ()
        self._process_keys = ProcessKeys()

    def watch(self, watcher: ConfigurationWatcher) -> None:
        """Call ``watcher`` from now on for each configuration that comes into force. Any thread."""
        self._watchers = (*self._watchers, watcher)

    def registered(self) -> tuple[Registered, ...]:
        """All registered RMs, by ID."""
        return tuple(self._registered[rm_id] for rm_id in sorted(self._registered))

    def complete(self, command: RegisterResourceManager) -> RegisterResourceManager:
        """Give a registration the document in force for its policy group.

        Implements: RM-5.
        """
        document = self.documents.find(command.policy_group)
        return replace(command, config=document.configuration)

    def limited(self, command: RegisterResourceManager) -> RegisterResourceManager:
        """Take the settings of the process from a registration without the right. Rules: KV-6."""
        extra = self._process_keys.without_right(command.rm_id, command.extra_config)
        return replace(command, extra_config=extra)

    def enter(self, command: RegisterResourceManager, now_ns: int, *, stored: bool) -> None:
        """Note the configuration of an RM that registered."""
        self._registered[command.rm_id] = Registered(
            rm_id=command.rm_id,
            version=command.version,
            policy_group=command.policy_group,
            build_info=command.build_info,
            since_ns=now_ns,
            stored=stored,
            configuration=command.config,
        )
        self._tell(command.rm_id, command.config, command.extra_config)

    def leave(self, rm_id: str) -> None:
        """Forget the configuration of an RM that is no longer registered."""
        self._registered.pop(rm_id, None)

    def update(
        self, command: UpdateConfiguration, *, stored: bool, process_wide: bool = True
    ) -> ConfigurationChange:
        """Replace the configuration of one RM; ``stored``: by the document of its group.

        ``process_wide`` off: its extra map changes only what is its own (KV-6).

        Raises: NotRegisteredError. Implements: CHK-5. Rules: SI-85, RM-5, CFG-3.
        """
        known = self._registered.get(command.rm_id)
        if known is None:
            raise NotRegisteredError(command.rm_id)
        if stored:
            document = self.documents.find(known.policy_group)
            command = replace(command, config=document.configuration)
        if not process_wide and command.extra_config is not None:
            extra = self._process_keys.without_right(command.rm_id, command.extra_config)
            command = replace(command, extra_config=extra)
        before = known.configuration
        refusals = self._apply([command])
        if not refusals and not command.dry_run:
            self._note(command, stored=stored)
        after = before if refusals else command.config
        origin = "" if command.dry_run else f"update of resource manager {command.rm_id!r}"
        return ConfigurationChange(before, after, (command.rm_id,), refusals, origin=origin)

    def store(self, new: NewDocument) -> ConfigurationChange:
        """Replace a stored document and put it in force for all RMs that use it, or for none.

        Rules: EXT-24, SI-86, SI-88.
        """
        group = None if new.policy_group is None else self.group(new.policy_group)
        before = (
            self.documents.default if group is None else self.documents.find(group).configuration
        )
        reason = self._obstacle(group, new, before)
        if reason:
            return ConfigurationChange(before, before, (), {}, reason)
        after = new.configuration or self.documents.default
        commands = [
            UpdateConfiguration(rm_id, after, new.extra_config, new.dry_run)
            for rm_id in self._users_of(group)
        ]
        refusals = self._apply(commands)
        if not refusals and not new.dry_run:
            for command in commands:
                self._note(command, stored=True)
            self._keep(group, new)
        rm_ids = tuple(command.rm_id for command in commands)
        origin = "" if new.dry_run else new.origin or f"document of policy group {group!r}"
        in_force = before if refusals else after
        return ConfigurationChange(before, in_force, rm_ids, refusals, origin=origin)

    def _obstacle(self, group: str | None, new: NewDocument, before: Configuration) -> str:
        """Return why a document cannot be stored, apart from refusals of RMs; "" if it can."""
        if new.expected_checksum.upper() not in ("", before.checksum):
            return (
                f"the checksum of the document in force is {before.checksum}, "
                f"not {cut(new.expected_checksum)}; look at it again"
            )
        if group is None or new.configuration is None:
            return ""
        own = self.documents.groups()
        if group not in own and len(own) >= DOCUMENTS_LIMIT:
            return f"{DOCUMENTS_LIMIT} policy groups have a document already; take one away first"
        return name_fault("policy_group", group)

    def group(self, named: str) -> str:
        """Return the named group, or without a name the only group there is (EXT-24).

        Raises: ProtocolError if no name is given and there are several groups.
        """
        groups = {known.policy_group for known in self._registered.values()}
        groups.update(self.documents.groups())
        if named or named in groups or not groups:
            return named
        if len(groups) > 1:
            names = ", ".join(sorted(groups))
            raise ProtocolError(f"there are several policy groups, name one of: {names}")
        return groups.pop()

    def _users_of(self, group: str | None) -> list[str]:
        """Return the RMs that use the document of a group; None: the default document."""
        own = self.documents.groups()
        return [
            known.rm_id
            for known in self.registered()
            if known.stored
            and (known.policy_group not in own if group is None else known.policy_group == group)
        ]

    def _keep(self, group: str | None, new: NewDocument) -> None:
        """Store a document that is in force."""
        if group is None:
            assert new.configuration is not None
            self.documents.replace_default(new.configuration)
        elif new.configuration is None:
            self.documents.replace(group, None)
        else:
            extra = new.extra_config
            if extra is None:
                extra = self.documents.find(group).extra_config
            self.documents.replace(group, Document(new.configuration, extra))

    def _apply(self, commands: Sequence[UpdateConfiguration]) -> dict[str, ConfigurationAnswered]:
        """Put all commands in force, or change nothing and return which RMs refuse.

        The core changes one RM wholly or not at all, so that one needs no trial. Rules: EXT-191.
        """
        lacking = {
            command.rm_id: ConfigurationAnswered(command.rm_id, reason, "EXT-191")
            for command in commands
            if (reason := unmet(self._registered[command.rm_id].build_info, command.config))
        }
        if lacking:
            return lacking
        if len(commands) > 1:
            trials = [replace(command, dry_run=True) for command in commands]
            refusals = self._refusals(trials)
            if refusals or commands[0].dry_run:
                return refusals
        refusals = self._refusals(commands)
        if refusals and len(commands) > 1:
            raise InvariantViolation(f"refused after an accepted trial: {sorted(refusals)}")
        return refusals

    def _refusals(
        self, commands: Sequence[UpdateConfiguration]
    ) -> dict[str, ConfigurationAnswered]:
        answers = [
            effect
            for command in commands
            for effect in self._handle(command)
            if isinstance(effect, ConfigurationAnswered)
        ]
        return {answer.rm_id: answer for answer in answers if answer.reason}

    def _note(self, command: UpdateConfiguration, *, stored: bool) -> None:
        """Note a configuration that came into force."""
        rm_id, config = command.rm_id, command.config
        known = self._registered[rm_id]
        self._registered[rm_id] = replace(known, stored=stored, configuration=config)
        self._tell(rm_id, config, command.extra_config)

    def _tell(
        self, rm_id: str, configuration: Configuration, extra_config: Mapping[str, str] | None
    ) -> None:
        """Note what came into force, and tell the watchers."""
        self.latest = configuration
        if extra_config is not None:
            self._process_keys.note(extra_config)
        for watcher in self._watchers:
            try:
                watcher(rm_id, configuration, extra_config)
            except Exception as error:  # noqa: BLE001 - a setting must not end the scheduling
                _log.error("a watcher of configurations failed, ignored: %r", error)
