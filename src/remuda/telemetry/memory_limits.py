"""What memory the process uses, and what it may use by each limit of the system (rule EXT-39)."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from remuda.base.message import message

_STATM: Final = Path("/proc/self/statm")
_OWN_GROUPS: Final = Path("/proc/self/cgroup")
_GROUPS: Final = Path("/sys/fs/cgroup")

# The first version of control groups has no word for no limit, but a number close to this.
_NO_LIMIT: Final = 1 << 60

# A parameter of ``mallopt``, and its value where addresses are limited: the allocator of glibc
# reserves 64 MiB of addresses for each of its arenas, and makes up to 8 for each processor.
_ARENA_MAX: Final = -8
_FEW: Final = 2

# The fields of ``struct mallinfo2``.
_STATES: Final = (
    *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
    *("usmblks", "fsmblks", "uordblks", "free", "keepcost"),
)


@message
class Use:
    """Bytes that the process has, for good or for the moment.

    ``resident``: memory; ``addresses``: of any kind; ``private``: those it alone may write to.
    """

    resident: int
    addresses: int
    private: int


@message
class Bound:
    """A limit in bytes. ``kind``: the field of Use that it bounds; ``name`` says whose it is."""

    kind: str
    name: str
    limit: int


RESIDENT: Final = "resident"
ADDRESSES: Final = "addresses"
PRIVATE: Final = "private"


class _MallocState(ctypes.Structure):
    """What the allocator of glibc says about itself; ``free`` bytes are taken and not in use."""

    _fields_ = [(name, ctypes.c_size_t) for name in _STATES]  # type: ignore[mutable-override]


def memory_used() -> Use | None:
    """Return what the process uses; None where the system does not say it."""
    try:
        fields = _STATM.read_text(encoding="ascii").split()
    except OSError:
        return None
    page = os.sysconf("SC_PAGE_SIZE")
    return Use(int(fields[1]) * page, int(fields[0]) * page, int(fields[5]) * page)


def memory_bounds(own: int | None) -> list[Bound]:
    """Return the limits in force. ``own``: bytes of memory that an option allows."""
    found = [] if own is None else [Bound(RESIDENT, "--memory-limit", own)]
    group = group_limit()
    if group is not None:
        found.append(Bound(RESIDENT, "control group", group))
    for kind, name, which in (
        (ADDRESSES, "RLIMIT_AS", resource.RLIMIT_AS),
        (PRIVATE, "RLIMIT_DATA", resource.RLIMIT_DATA),
    ):
        soft, _ = resource.getrlimit(which)
        if soft != resource.RLIM_INFINITY:
            found.append(Bound(kind, name, soft))
    return found


def group_limit(own: Path = _OWN_GROUPS, root: Path = _GROUPS) -> int | None:
    """Return the lowest memory limit of the process's control groups; None if there is none.

    Both versions of control groups are read, and the groups above its own. A container sees its own
    group as the root.
    """
    return min(_group_limits(own, root), default=None)


def _group_limits(own: Path, root: Path) -> Iterator[int]:
    try:
        lines = [line.split(":", 2) for line in own.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return
    for _, controllers, path in lines:
        if controllers and "memory" not in controllers.split(","):
            continue
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        for base in (root, root / ("memory" if controllers else "unified")):
            here = base / path.strip("/")
            for group in (here, *[each for each in here.parents if each.is_relative_to(base)]):
                limit = _number(group / name)
                if limit is not None and limit < _NO_LIMIT:
                    yield limit


def _number(path: Path) -> int | None:
    """Return the number in a file; None if there is none, as in one that says ``max``."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def objects() -> int:
    """Return how many small blocks of memory Python has in use. Takes up to some milliseconds."""
    return sys.getallocatedblocks()


def give_back() -> None:
    """Give freed memory back to the system, as far as the allocator of C can.

    Takes up to a tenth of a second.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        return


def reusable() -> int:
    """Return the bytes of addresses that are freed, and used again before new ones are.

    0 where the allocator of C does not say it.
    """
    try:
        state = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        return 0
    state.restype = _MallocState
    return int(state().free)


def save_addresses() -> None:
    """Let the allocator of C reserve few addresses if they are limited. Before threads start."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY or "MALLOC_ARENA_MAX" in os.environ:
        return
    try:
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _FEW)
    except (AttributeError, OSError):
        return
