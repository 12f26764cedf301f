"""What the process does about faults of the core: it blames an RM, and goes on without it (SI-15).

The core drops all that the RM had, and the RM registers again and reports what runs. So a fault
costs one RM a recovery, and the others nothing. If the fault came from a request, its elements are
suspects: each of them is handled alone from then on. A suspect that makes the core fail again, and
alone, is kept out, and refused with the reason. An RM that fails again and again has to wait longer
and longer before it may register.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import islice
from typing import Any, Final, TypeAlias

from remuda.base.message import message
from remuda.config.schema import DEFAULT_PARTITION
from remuda.core.messages.commands import (
    AllocationRelease,
    ApplicationRemoval,
    Ask,
    AskRelease,
    Command,
    ExistingAllocation,
    NewApplication,
    NodeUpdate,
    Unreadable,
)
from remuda.runtime.ports import Door
from remuda.runtime.requests import Request, elements_of, single_parts

_log = logging.getLogger("remuda.runtime")

Element: TypeAlias = (
    Ask
    | ExistingAllocation
    | AskRelease
    | AllocationRelease
    | NewApplication
    | ApplicationRemoval
    | NodeUpdate
)
# What an element is, and which.
Name: TypeAlias = tuple[str, ...]

# The most elements that are suspected, and that are kept out, of all RMs, and the most RMs that are
# remembered; beyond it the oldest are forgotten.
_SUSPECTS_LIMIT: Final = 100_000
_KEPT_OUT_LIMIT: Final = 10_000
_MANAGERS_LIMIT: Final = 1_000

# How many faults within this time an RM may have without having to wait, and how long it waits
# then: doubling with each fault.
_WINDOW_NS: Final = 300_000_000_000
_FREE: Final = 3
_WAIT_NS: Final = 1_000_000_000
_WAIT_NS_LIMIT: Final = 60_000_000_000
_REMEMBERED: Final = 100

# Characters of a traceback.
_TRACE_LIMIT: Final = 20_000

REASON: Final = (
    "the scheduler failed twice when it handled this, which is a fault of the scheduler: it is kept"
    " out until the scheduler starts again; its log has the fault"
)


@message
class Fault:
    """A fault of the core in work for an RM.

    ``kind``: the type of the exception; ``text``: its first line. ``command``: what was being
    handled, None if the core was deciding or a timer ran out. ``at_ns``: Unix time.
    """

    rm_id: str
    kind: str
    text: str
    trace: str
    command: Command | None
    at_ns: int


# Writes a report about a fault and the state of the core, and returns where it is, "" if nowhere.
# Core thread.
Reporter: TypeAlias = Callable[[Fault, Door], str]


def no_report(fault: Fault, scheduler: Door) -> str:
    """Write nothing."""
    return ""


@message
class FaultsView:
    """All faults so far: their number, the latest one, and what is kept out now.

    ``latest_ns``: Unix time of the latest, 0 if there was none. ``kept_out``: elements by kind and
    ID.
    """

    count: int = 0
    latest: str = ""
    latest_ns: int = 0
    kept_out: tuple[Name, ...] = ()


class Faults:
    """Knows what failed, and keeps it from failing again. Core thread, but for ``view``.

    Rules: SI-15.
    """

    def __init__(self, wall_ns: Callable[[], int], report: Reporter = no_report) -> None:
        self._wall_ns = wall_ns
        self._report = report
        self._suspects: dict[tuple[str, Name], None] = {}
        self._kept_out: dict[tuple[str, Name], None] = {}
        self._times_ns: dict[str, list[int]] = {}
        self._total = 0
        self._view = FaultsView()
        self.command: Command | None = None
        self.failed: dict[str, None] = {}

    def view(self) -> FaultsView:
        """Return what happened so far. Any thread."""
        return self._view

    def note(self, scheduler: Door, rm_id: str, fault: Exception) -> None:
        """Note a fault of the core; it drops the RM after this."""
        text = _text_of(fault)
        own = self.command if self.command is not None and self.command.rm_id == rm_id else None
        told = Fault(rm_id, type(fault).__name__, text, _trace_of(fault), own, self._wall_ns())
        self.failed[rm_id] = None
        self._count(told)
        if isinstance(own, Request):
            self._suspect(rm_id, own)
        _log.critical(
            "a fault of the scheduler ends the registration of resource manager %r, which may"
            " register again: %s: %s",
            rm_id,
            told.kind,
            text,
        )
        _log.critical("%s", told.trace)
        where = self._written(told, scheduler)
        if where:
            _log.critical("the report about this fault is in %s", where)
        self._show(f"{told.kind}: {text}" + (f" (report: {where})" if where else ""), told.at_ns)

    def refusal(self, rm_id: str) -> str:
        """Return why an RM may not register yet, "" if it may."""
        times_ns = self._times_ns.get(rm_id, [])
        beyond = len(times_ns) - _FREE
        if beyond < 0:
            return ""
        wait_ns = min(_WAIT_NS << min(beyond, 10), _WAIT_NS_LIMIT)
        left_ns = times_ns[-1] + wait_ns - self._wall_ns()
        if left_ns <= 0 or left_ns > wait_ns:
            return ""
        return (
            f"the scheduler failed {len(times_ns)} times in the last minutes in work for"
            f" '{rm_id}'; register again in {-(-left_ns // 1_000_000_000)} s"
        )

    def watches(self, request: Request) -> bool:
        """Whether some element of a request may be suspected or kept out."""
        return bool(self._suspects or self._kept_out) and request.rm_id in self._times_ns

    def parts(self, request: Request) -> list[Request]:
        """Return a request without what is kept out, with each suspect in a part of its own."""
        kept_out: dict[int, None] = {}
        suspects: dict[int, None] = {}
        for _, element in elements_of(request):
            name = (request.rm_id, name_of(element))
            if name in self._kept_out:
                kept_out[id(element)] = None
            elif name in self._suspects:
                suspects[id(element)] = None
        if kept_out:
            request = _without(request, kept_out)
        return single_parts(request, suspects) if suspects else [request]

    def passed(self, part: Request) -> None:
        """Suspect the elements of a part no more, since it was handled without a fault."""
        for _, element in elements_of(part):
            self._suspects.pop((part.rm_id, name_of(element)), None)

    def _count(self, fault: Fault) -> None:
        rm_id = fault.rm_id
        times_ns = [*self._times_ns.pop(rm_id, ()), fault.at_ns]
        recent = [at_ns for at_ns in times_ns if at_ns > fault.at_ns - _WINDOW_NS]
        self._times_ns[rm_id] = recent[-_REMEMBERED:]
        self._total += 1
        _shorten(self._times_ns, _MANAGERS_LIMIT)

    def _suspect(self, rm_id: str, request: Request) -> None:
        """Suspect all elements of a request; keep the only one out if it was suspected before."""
        names = [(rm_id, name_of(element)) for _, element in elements_of(request)]
        if len(names) == 1 and names[0] in self._suspects:
            del self._suspects[names[0]]
            self._kept_out[names[0]] = None
            _shorten(self._kept_out, _KEPT_OUT_LIMIT)
        else:
            self._suspects.update(dict.fromkeys(names))
            _shorten(self._suspects, _SUSPECTS_LIMIT)

    def _written(self, fault: Fault, scheduler: Door) -> str:
        try:
            return self._report(fault, scheduler)
        except Exception as error:  # noqa: BLE001 - a full disk must not end the process
            _log.error("no report about this fault could be written: %s", error)
            return ""

    def _show(self, latest: str, at_ns: int) -> None:
        kept_out = tuple([name for _, name in self._kept_out])
        self._view = FaultsView(self._total, latest, at_ns, kept_out)


def _shorten(table: dict[Any, Any], most: int) -> None:
    """Forget the oldest entries beyond so many."""
    for key in list(islice(table, max(0, len(table) - most))):
        del table[key]


def _text_of(fault: Exception) -> str:
    """Return the first line of what an exception says, cut; it may not be able to say it."""
    try:
        return str(fault).partition("\n")[0][:300]
    except Exception:  # noqa: BLE001 - any exception may be wrong itself
        return "it does not say why"


def _trace_of(fault: Exception) -> str:
    """Return the traceback of an exception, cut."""
    try:
        return "".join(traceback.format_exception(fault))[-_TRACE_LIMIT:]
    except Exception as error:  # noqa: BLE001 - as above, or too little memory
        return f"no traceback: {type(error).__name__}"


def name_of(element: Element) -> Name:
    """Return what identifies an element of a request: kind, place and, last, its ID or key."""
    if isinstance(element, NodeUpdate):
        return ("node", element.node_id)
    owner = element.ask if isinstance(element, ExistingAllocation) else element
    place = (owner.partition or DEFAULT_PARTITION, owner.application_id)
    match element:
        case NewApplication():
            return ("application", *place)
        case ApplicationRemoval():
            return ("removal", *place)
        case Ask():
            return ("ask", *place, element.allocation_key)
        case AskRelease():
            return ("ask release", *place, element.allocation_key)
        case ExistingAllocation():
            return ("allocation", *place, element.allocation_id or element.ask.allocation_key)
        case AllocationRelease():
            return ("release", *place, element.allocation_id or element.allocation_key)


# By the list of an element: in which list it is refused. Others cannot be refused, only left out.
_REFUSED_IN: Final = {
    "asks": "unreadable",
    "allocations": "unreadable_existing",
    "new": "unreadable",
    "nodes": "unreadable",
}


def _without(request: Request, kept_out: Collection[int]) -> Request:
    """Return a request in which the elements with these ``id`` are refused, or left out."""
    lists: dict[str, Any] = {}
    for name, element in elements_of(request):
        lists.setdefault(name, [])
        if id(element) not in kept_out:
            lists[name].append(element)
        elif name in _REFUSED_IN:
            refused_in = _REFUSED_IN[name]
            lists.setdefault(refused_in, list(getattr(request, refused_in)))
            lists[refused_in].append(_refused(element))
        else:
            _log.warning("left out for %r: %s", request.rm_id, " ".join(name_of(element)))
    changed: dict[str, Any] = {name: tuple(some) for name, some in lists.items()}
    return replace(request, **changed)


def _refused(element: Element) -> Unreadable:
    """Return the refusal of an element."""
    name = name_of(element)
    of_application = isinstance(element, Ask | ExistingAllocation)
    return Unreadable(name[-1], REASON, name[2] if of_application else "")
