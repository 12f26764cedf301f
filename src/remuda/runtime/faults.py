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
from dataclasses import field, replace
from typing import Any, Final, TypeAlias

from remuda.base.message import message
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

# The most elements that are watched or kept out, of all RMs; beyond it the oldest are forgotten.
_WATCHED_LIMIT: Final = 100_000

# How many faults within this time an RM may have without having to wait, and how long it waits
# then: doubling with each fault.
_WINDOW_NS: Final = 300_000_000_000
_FREE: Final = 3
_WAIT_NS: Final = 1_000_000_000
_WAIT_NS_LIMIT: Final = 60_000_000_000

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
    """All faults so far: their number by RM, the latest one, and what is kept out now.

    ``latest_ns``: Unix time of the latest, 0 if there was none. ``kept_out``: elements by kind and
    ID.
    """

    counts: dict[str, int] = field(default_factory=dict)
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
        # The RM, what is suspected, and whether it failed when it was alone.
        self._watched: dict[tuple[str, Name], bool] = {}
        self._times_ns: dict[str, list[int]] = {}
        self._counts: dict[str, int] = {}
        self._view = FaultsView()
        self.command: Command | None = None
        self.failed: dict[str, None] = {}

    def view(self) -> FaultsView:
        """Return what happened so far. Any thread."""
        return self._view

    def note(self, scheduler: Door, rm_id: str, fault: Exception) -> None:
        """Note a fault of the core; it drops the RM after this."""
        lines = traceback.format_exception(fault)
        text = str(fault).partition("\n")[0][:300]
        told = Fault(
            rm_id, type(fault).__name__, text, "".join(lines), self.command, self._wall_ns()
        )
        self.failed[rm_id] = None
        self._count(told)
        if isinstance(self.command, Request):
            self._suspect(rm_id, self.command)
        _log.critical(
            "a fault of the scheduler ends the registration of resource manager %r, which may"
            " register again: %s: %s",
            rm_id,
            told.kind,
            text,
            exc_info=fault,
        )
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
        return bool(self._watched) and request.rm_id in self._counts

    def parts(self, request: Request) -> list[Request]:
        """Return a request without what is kept out, with each suspect in a part of its own."""
        kept_out: dict[int, None] = {}
        suspects: dict[int, None] = {}
        for _, element in elements_of(request):
            failed_alone = self._watched.get((request.rm_id, name_of(element)))
            if failed_alone is not None:
                (kept_out if failed_alone else suspects)[id(element)] = None
        if kept_out:
            request = _without(request, kept_out)
        return single_parts(request, suspects) if suspects else [request]

    def passed(self, part: Request) -> None:
        """Suspect the elements of a part no more, since it was handled without a fault."""
        for _, element in elements_of(part):
            self._watched.pop((part.rm_id, name_of(element)), None)

    def _count(self, fault: Fault) -> None:
        self._counts[fault.rm_id] = self._counts.get(fault.rm_id, 0) + 1
        times_ns = self._times_ns.setdefault(fault.rm_id, [])
        times_ns.append(fault.at_ns)
        times_ns[:] = [at_ns for at_ns in times_ns if at_ns > fault.at_ns - _WINDOW_NS][-100:]

    def _suspect(self, rm_id: str, request: Request) -> None:
        """Suspect all elements of a request; keep the only one out if it was suspected before."""
        names = [name_of(element) for _, element in elements_of(request)]
        for name in names:
            self._watched[rm_id, name] = len(names) == 1 and (rm_id, name) in self._watched
        while len(self._watched) > _WATCHED_LIMIT:
            del self._watched[next(iter(self._watched))]

    def _written(self, fault: Fault, scheduler: Door) -> str:
        try:
            return self._report(fault, scheduler)
        except Exception as error:  # noqa: BLE001 - a full disk must not end the process
            _log.error("no report about this fault could be written: %s", error)
            return ""

    def _show(self, latest: str, at_ns: int) -> None:
        kept_out = tuple([name for (_, name), alone in self._watched.items() if alone])
        self._view = FaultsView(dict(self._counts), latest, at_ns, kept_out)


def name_of(element: Element) -> Name:
    """Return what identifies an element of a request, whatever else is in it."""
    match element:
        case ExistingAllocation():
            ask = element.ask
            key = element.allocation_id or ask.allocation_key
            return ("allocation", ask.partition, ask.application_id, key)
        case AskRelease():
            key = element.allocation_key
            return ("ask release", element.partition, element.application_id, key)
        case AllocationRelease():
            key = element.allocation_id or element.allocation_key
            return ("release", element.partition, element.application_id, key)
        case NewApplication():
            return ("application", element.partition, element.application_id)
        case ApplicationRemoval():
            return ("removal", element.partition, element.application_id)
        case NodeUpdate():
            return ("node", element.node_id)
        case Ask():
            return ("ask", element.partition, element.application_id, element.allocation_key)


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
    match element:
        case ExistingAllocation():
            subject = element.allocation_id or element.ask.allocation_key
            return Unreadable(subject, REASON, element.ask.application_id)
        case Ask():
            return Unreadable(element.allocation_key, REASON, element.application_id)
        case NewApplication():
            return Unreadable(element.application_id, REASON)
        case _:
            return Unreadable(name_of(element)[-1], REASON)
