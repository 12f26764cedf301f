"""The bounds of tasks: each is held to the memory that its command asked for.

Where the machine lets this service make control groups (version 2), each task has one of its own,
which bounds all of its processes together. Elsewhere each process of a task has a limit.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.local.keeper import remove_group
from remuda.local.records import GPU, MEMORY, VCORE, Command, Task

# The settings besides the directory of a control group.
AUTO: Final = "auto"
OFF: Final = "off"

_OWN_GROUPS: Final = Path("/proc/self/cgroup")
_ROOT: Final = Path("/sys/fs/cgroup")

# How systemd marks a group whose inside belongs to the service.
_MARKS: Final = ("user.delegate", "trusted.delegate")

_CONTROLLERS: Final = "cgroup.controllers"
_ENABLED: Final = "cgroup.subtree_control"

# Shares of the processors: a core has as much as a group has that says nothing.
_WEIGHT_OF_CORE: Final = 100
_WEIGHTS: Final = (1, 10_000)


@message
class Bound:
    """How a task is bound. ``group``: its control group, "" for none.

    ``data_limit``: bytes of private memory that each of its processes may have; 0 for any.
    """

    group: str = ""
    data_limit: int = 0


class Bounds:
    """Binds the tasks of one state directory.

    ``parent``: the control group in which tasks get theirs; None: processes have limits instead,
    if ``limits`` is true. ``told``: how tasks are bound, for people. Rules: EXT-135, EXT-136.
    """

    def __init__(
        self, owner: Path, parent: Path | None = None, *, limits: bool = False, told: str = OFF
    ) -> None:
        # Several services may share a parent; their commands may have the same names.
        digest = hashlib.sha256(os.fsencode(owner.absolute())).hexdigest()[:8]
        self._prefix = f"remuda-{digest}-"
        self._parent = parent
        self._limits = limits
        self._left: dict[Path, None] = {}
        self.told = told

    def bind(self, command: Command, task: Task) -> Bound:
        """Return the bound of a task that is about to start. Raises: OSError.

        A task with GPUs has no limit for its processes, since their runtimes take private
        addresses for memory of devices. Implements: EXT-135.
        """
        resources = command.wanted.resources
        memory = resources.get(MEMORY, 0)
        if self._parent is None:
            limited = self._limits and not resources.get(GPU, 0)
            return Bound(data_limit=memory if limited else 0)
        group = self._group(command.identity, task.index)
        with suppress(FileExistsError):
            group.mkdir()
        if memory:
            (group / "memory.max").write_text(str(memory), "ascii")
            # A kernel that has no swap, or is older, does not have them.
            for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
                with suppress(OSError):
                    (group / name).write_text(value, "ascii")
        low, high = _WEIGHTS
        weight = resources.get(VCORE, 0) * _WEIGHT_OF_CORE // 1_000
        with suppress(OSError):  # without the controller there are no shares
            (group / "cpu.weight").write_text(str(min(max(weight, low), high)), "ascii")
        return Bound(group=str(group))

    def drop(self, identity: str, index: int) -> None:
        """Remove the group of a task that has ended, with what is left in it.

        Its keeper has removed it already, unless it was killed. Rules: EXT-110.
        """
        if self._parent is not None:
            self._left[self._group(identity, index)] = None
            self._remove_left()

    def drop_others(self, running: Collection[tuple[str, int]]) -> None:
        """Remove the groups of all tasks of this directory but those that run."""
        if self._parent is None:
            return
        kept = {self._group(identity, index) for identity, index in running}
        for each in self._parent.glob(f"{self._prefix}*"):
            if each not in kept:
                self._left[each] = None
        self._remove_left()

    def _remove_left(self) -> None:
        for each in list(self._left):
            if remove_group(each):
                del self._left[each]

    def _group(self, identity: str, index: int) -> Path:
        assert self._parent is not None
        return self._parent / f"{self._prefix}{identity}.{index}"


def bounds_of(
    setting: str,
    owner: Path,
    *,
    own: Path = _OWN_GROUPS,
    root: Path = _ROOT,
    delegated: Callable[[Path], bool] | None = None,
) -> Bounds:
    """Return how tasks are bound. ``owner``: the state directory.

    ``setting``: auto, off, or the directory of a control group in which this service may make
    groups. ``own``: the file with the groups of this process, ``root``: where groups are.

    Raises: UsageError for a directory that cannot be used. Implements: EXT-136.
    """
    if setting == OFF:
        return Bounds(owner)
    if setting != AUTO:
        parent = Path(setting)
        if not parent.is_absolute():
            text = f"--local-bounds: '{setting}' is neither auto nor off nor an absolute path"
            raise UsageError(text)
        lacking = _lacking(parent)
        if lacking:
            raise UsageError(f"--local-bounds {parent}: {lacking}")
        return _grouped(owner, parent)
    found = _parent_group(own, root, delegated or _is_delegated)
    lacking = "no control group is delegated to this service" if found is None else _lacking(found)
    if found is not None and not lacking:
        return _grouped(owner, found)
    told = f"each process by RLIMIT_DATA, tasks with GPUs by nothing ({lacking})"
    return Bounds(owner, limits=True, told=told)


def _grouped(owner: Path, parent: Path) -> Bounds:
    return Bounds(owner, parent, told=f"each task by a control group in {parent}")


def _parent_group(own: Path, root: Path, delegated: Callable[[Path], bool]) -> Path | None:
    """Return the delegated group in a subgroup of which this process is; None if there is none."""
    try:
        lines = own.read_text("utf-8").splitlines()
    except OSError:
        return None
    path = next((line[3:] for line in lines if line.startswith("0::")), "").strip("/")
    for base in (root, root / "unified"):
        if path and (base / _CONTROLLERS).exists():
            parent = (base / path).parent
            return parent if delegated(parent) else None
    return None


def _is_delegated(group: Path) -> bool:
    """Whether systemd says that the inside of a group is the service's."""
    for mark in _MARKS:
        with suppress(OSError):
            if os.getxattr(group, mark) == b"1":
                return True
    return False


def _lacking(parent: Path) -> str:
    """Enable memory and processors for the groups in one; return why that cannot be, else ""."""
    try:
        there = set((parent / _CONTROLLERS).read_text("ascii").split())
        if "memory" not in there:
            return f"{parent} has no controller of memory"
        enabled = set((parent / _ENABLED).read_text("ascii").split())
        missing = sorted(({"memory", "cpu"} & there) - enabled)
        if missing:
            text = " ".join(f"+{name}" for name in missing)
            (parent / _ENABLED).write_text(text, "ascii")
        if not os.access(parent, os.W_OK):
            return f"{parent} cannot be written to"
    except OSError as error:
        if error.errno == errno.EBUSY:
            return f"{parent} has processes of its own; they have to be in a group below it"
        return f"{parent} is no control group that can be used: {error.strerror}"
    return ""
