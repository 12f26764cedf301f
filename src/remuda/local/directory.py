"""The state directory: what is kept of commands, so that they outlast the service.

    DIR/lock                    taken while a service uses the directory
    DIR/address                 where the service listens
    DIR/token                   the secret that it lets in, another one after each start
    DIR/commands/NAME/          one directory for each command, made complete and then renamed
        wanted.json             what was submitted
        outcome.json            how the command ended
        0/, 1/, ...             one for each task, which its keeper shares

All is for its owner only. Files are there as a whole or not at all, so a cut at any moment leaves
what can be read. What cannot be read is left where it is, and told in the log.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from remuda.base.errors import UsageError
from remuda.local.keeper import BEGUN, ENDED, LOCK, ORDER, write_json
from remuda.local.records import (
    FAILED,
    TERMINATED,
    Command,
    Outcome,
    Stage,
    Task,
    Wanted,
    new_command,
)

T = TypeVar("T")

_log = logging.getLogger("remuda.local")

_WANTED: Final = "wanted.json"
_OUTCOME: Final = "outcome.json"
_DEVICES: Final = "devices.json"
_TO_END: Final = "end"
_COMMANDS: Final = "commands"
_ADDRESS: Final = "address"
_SECRET: Final = "token"  # noqa: S105 - the name of its file
_NEW: Final = ".new"

_PRIVATE: Final = 0o700

_KEEPER_GONE: Final = (
    "its keeper is gone: the machine was restarted, the disk was full, or it was killed"
)


class StateDirectory:
    """The state directory of one service at a time.

    ``last``: the highest number of a command that it has, readable or not.
    Raises: UsageError if it cannot be used, or another service uses it. Implements: EXT-108.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            path.chmod(_PRIVATE)
            (path / _COMMANDS).mkdir(mode=_PRIVATE, exist_ok=True)
            self._lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise UsageError(f"--local-dir {path}: cannot be used: {error.strerror}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise UsageError(
                f"--local-dir {path}: another service uses it; stop that one, or name another"
            ) from None
        for half in (path / _COMMANDS).glob(f"*{_NEW}"):
            shutil.rmtree(half, ignore_errors=True)
        numbers = [each.name.rpartition("-")[2] for each in (path / _COMMANDS).iterdir()]
        self.last = max((int(each) for each in numbers if each.isdecimal()), default=0)

    def close(self) -> None:
        """Let another service use the directory."""
        for each in (_ADDRESS, _SECRET):
            with suppress(OSError):
                (self.path / each).unlink(missing_ok=True)
        os.close(self._lock)

    def write_door(self, address: str, secret: str) -> None:
        """Write down where the service listens and what it lets in; for its owner only.

        ``secret``: "" if there is none. Raises: OSError.
        """
        (self.path / _SECRET).unlink(missing_ok=True)
        if secret:
            write_private(self.path / _SECRET, secret + "\n")
        write_private(self.path / _ADDRESS, address + "\n")

    # ------------------------------------------------------------------------ commands

    def task(self, identity: str, index: int) -> Path:
        """Return the directory of a task."""
        return self.path / _COMMANDS / identity / str(index)

    def add(self, wanted: Wanted) -> None:
        """Write down a command before anybody is told that it was taken. Raises: OSError."""
        final = self.path / _COMMANDS / wanted.identity
        made = final.with_name(final.name + _NEW)
        try:
            made.mkdir(mode=_PRIVATE)
            for index in range(wanted.gang):
                (made / str(index)).mkdir(mode=_PRIVATE)
            write_private_json(made / _WANTED, msgspec.to_builtins(wanted))
            made.rename(final)
        except OSError:
            # The next command may have the same name and number.
            shutil.rmtree(made, ignore_errors=True)
            raise
        self.last = max(self.last, wanted.number)
        _flush(final.parent)

    def write_outcome(self, command: Command) -> None:
        """Write down how a command ended; its environment is not kept any longer.

        Raises: OSError.
        """
        own = self.path / _COMMANDS / command.identity
        assert command.outcome is not None
        write_json(own / _OUTCOME, msgspec.to_builtins(command.outcome))
        self._drop_environment(command)

    def _drop_environment(self, command: Command) -> None:
        """Remove the environment of a command that has ended, last from what was submitted.

        The order of a task has it too, if its keeper did not come so far as to remove it.
        """
        own = self.path / _COMMANDS / command.identity
        for task in command.tasks:
            for name in (ORDER, ORDER + _NEW):
                (own / str(task.index) / name).unlink(missing_ok=True)
        plain = msgspec.structs.replace(command.wanted, environment={})
        write_private_json(own / _WANTED, msgspec.to_builtins(plain))

    def forget(self, identity: str) -> None:
        """Remove what is kept of a command; one that is removed in part counts as half written."""
        own = self.path / _COMMANDS / identity
        half = own.with_name(own.name + _NEW)
        with suppress(OSError):
            own.rename(half)
        shutil.rmtree(half, ignore_errors=True)

    def write_order(self, command: Command, task: Task, order: dict[str, object]) -> None:
        """Write down what a task was given, and what its keeper is to do. Raises: OSError."""
        own = self.task(command.identity, task.index)
        write_json(own / _DEVICES, {"cores": task.cores, "gpus": task.gpus})
        write_private_json(own / ORDER, order)

    def order_end(self, identity: str, index: int) -> None:
        """Note that a task is to be ended, in case the service ends before its keeper begins."""
        with suppress(OSError):  # a full disk must not keep a task from ending
            (self.task(identity, index) / _TO_END).touch()

    def is_to_end(self, identity: str, index: int) -> bool:
        """Whether a task is to be ended."""
        return (self.task(identity, index) / _TO_END).exists()

    def outcome_of(self, command: Command, task: Task) -> Outcome | None:
        """Return how a task that was started has ended; None while its keeper lives."""
        own = self.task(command.identity, task.index)
        alive = keeper_lives(own)
        # Looked at after the keeper, which writes it last.
        found = _read(own / ENDED, Outcome)
        if found is not None or alive:
            return found
        return Outcome(FAILED, _KEEPER_GONE)

    def load(self) -> list[Command]:
        """Return all commands, in the order of their submission."""
        found = []
        for own in (self.path / _COMMANDS).iterdir():
            wanted = _read(own / _WANTED, Wanted)
            if wanted is None or wanted.identity != own.name:
                _log.warning("%s has no command that can be read; it is left alone", own)
                continue
            command = new_command(wanted)
            command.outcome = _read(own / _OUTCOME, Outcome)
            if command.outcome is not None and wanted.environment:
                # The service was killed as it wrote the outcome down.
                with suppress(OSError):
                    self._drop_environment(command)
            for task in command.tasks:
                self._load_task(command, task)
            found.append(command)
        return sorted(found, key=lambda each: each.wanted.number)

    def _load_task(self, command: Command, task: Task) -> None:
        """Find out how far a task is. Implements: EXT-110."""
        own = self.task(command.identity, task.index)
        outcome = self.outcome_of(command, task)
        # Looked at after the lock: a keeper that is dead now writes no more.
        begun = (own / BEGUN).exists()
        if outcome is None or begun or (own / ENDED).exists():
            devices = _read(own / _DEVICES, _Devices) or _Devices()
            task.cores, task.gpus = tuple(devices.cores), tuple(devices.gpus)
            task.outcome = outcome
            task.stage = Stage.RUNNING if outcome is None else Stage.OVER
        elif self.is_to_end(command.identity, task.index):
            task.outcome = Outcome(TERMINATED, "it was ended before it began")
            task.stage = Stage.OVER


class _Devices(msgspec.Struct):
    """The devices that a task was given."""

    cores: list[int] = []
    gpus: list[str] = []


def keeper_lives(own: Path) -> bool:
    """Whether the keeper of a task lives: its lock is taken."""
    try:
        lock = os.open(own / LOCK, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def take_lock(own: Path) -> int:
    """Return an open file with the lock of a task, for its keeper to hold. Raises: OSError."""
    lock = os.open(own / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def write_private_json(path: Path, content: object) -> None:
    """Write JSON for its owner only. Raises: OSError."""
    write_private(path, json.dumps(content))


def write_private(path: Path, content: str) -> None:
    """Write a file for its owner only, whole or not at all. Raises: OSError."""
    beside = path.with_name(path.name + _NEW)
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    _flush(path.parent)


def _flush(directory: Path) -> None:
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _read(path: Path, kind: type[T]) -> T | None:
    """Return what is in a file, None if it is not there or cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        _log.warning("%s cannot be read: %s", path, error)
        return None
