"""What is wrong in the state of a scheduler: all that the self-audit finds, and ``check``."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from remuda.core.messages import events
from remuda.core.messages.queries import PartitionsQuery, PartitionView
from remuda.core.messages.rows import rows
from remuda.core.messages.self_audit import (
    PARTS,
    START,
    SelfAuditQuery,
    SelfAuditView,
    SlicePlace,
    Violation,
)
from remuda.core.scheduler import Scheduler
from remuda.runtime.reports import names as kinds
from remuda.runtime.reports.names import Names

# So many violations are told.
TOLD: Final = 100

_KINDS: Final = {
    events.NODE: kinds.NODE,
    events.APP: kinds.APPLICATION,
    events.QUEUE: kinds.QUEUE,
    events.USERGROUP: kinds.USER,
}

# The words that name a value; a value with another word may hold a name.
_WORDS: Final = frozenset(
    (
        *("all", "allocated", "allocations", "applications", "asks", "audit", "available"),
        *("capacity", "counted", "early", "held", "limit", "listed", "nodes", "occupied", "of"),
        *(
            "characters",
            "parent",
            "partition",
            "path",
            "pending",
            "placeholders",
            "preempting",
            "preemption",
            "on",
        ),
        *("promised", "queue", "queues", "reservation", "reservations", "running", "set"),
        *("shared", "state", "states", "tags", "the", "to", "totals", "wanted", "waiting"),
    )
)
_IN_QUEUE: Final = re.compile(r"(allocated|applications|promised|running) in (.+)", re.DOTALL)
_SOURCE: Final = re.compile(
    r"(?:.*/)?remuda/(core/[a-z_]{1,40}(?:/[a-z_]{1,40}){0,4}\.py)", re.DOTALL
)
_ALLOCATION: Final = re.compile(r"allocation (.+)", re.DOTALL)
_DIFFERENCE: Final = re.compile(
    r"(?:^|, )(.+?) is (-?\d{1,40}), not (-?\d{1,40})(?=, |$)", re.DOTALL
)


def violations(scheduler: Scheduler, names: Names) -> list[dict[str, Any]]:
    """Return what differs from its parts, and the first invariant that ``check`` finds broken.

    Each has ``object``, ``value`` and ``text``; of the broken invariant also ``at``, the place of
    the check in the source. Where names are hidden, texts are built anew from their parts.
    """
    found = list(islice(_audited(scheduler, names), TOLD))
    try:
        scheduler.check()
    except Exception as error:  # noqa: BLE001 - the state may be wrong in any way
        text = "" if names.hidden else f"{type(error).__name__}: {error}"
        found.append(
            {
                "object": "the whole state",
                "value": "invariant",
                "text": text
                or f"{type(error).__name__}; its words may hold names and are left out",
                "at": place_of(error),
            }
        )
    return found


def place_of(error: BaseException) -> str:
    """Return where in the source a fault was raised, as ``module.py:line (function)``.

    "" if it was raised outside of the core. Nothing is told of folders, whose names may be secret.
    """
    places = [
        (found[1], each)
        for each in traceback.extract_tb(error.__traceback__)
        if (found := _SOURCE.fullmatch(each.filename.replace("\\", "/"))) is not None
    ]
    last = [place for place in places if not place[0].endswith("require.py")] or places
    if not last:
        return ""
    file, frame = last[-1]
    return f"{file}:{frame.lineno} ({frame.name})"


def _audited(scheduler: Scheduler, names: Names) -> Iterator[dict[str, Any]]:
    try:
        partitions = rows(PartitionView, scheduler.view(PartitionsQuery()))
    except Exception as error:  # noqa: BLE001 - as above
        yield _failed("the whole state", "partitions", error, names)
        return
    for view in partitions:
        whole = f"partition {names.of(kinds.PARTITION, view.name)}"
        for part in PARTS:
            place: SlicePlace | None = START
            while place is not None:
                try:
                    found = scheduler.view(SelfAuditQuery(view.name, view.rm_id, part, place))
                except Exception as error:  # noqa: BLE001 - as above
                    yield _failed(whole, part, error, names)
                    break
                if not isinstance(found, SelfAuditView):
                    break
                for each in found.violations:
                    yield _told(view, each, names)
                place = found.next


def _failed(whole: str, part: str, error: Exception, names: Names) -> dict[str, Any]:
    why = type(error).__name__ if names.hidden else f"{type(error).__name__}: {error}"
    return {
        "object": whole,
        "value": part,
        "text": f"the audit of it failed: {why}",
        "at": place_of(error),
    }


def _told(view: PartitionView, violation: Violation, names: Names) -> dict[str, Any]:
    kind = _KINDS.get(violation.kind, kinds.OBJECT)
    found = {
        "partition": names.of(kinds.PARTITION, view.name),
        "object": f"{kind} {names.of(kind, violation.name)}",
        "value": _value(violation.what, names),
        "text": _text(violation, names),
    }
    if violation.reference:
        found["reference"] = names.of(kinds.ASK, violation.reference)
    return found


def _value(what: str, names: Names) -> str:
    """Return which value is wrong; what is no known word is a name."""
    if not names.hidden:
        return what
    placed = _IN_QUEUE.fullmatch(what)
    if placed is not None:
        return f"{placed[1]} in {names.of(kinds.QUEUE, placed[2])}"
    words = what.split(" ")
    if all(word in _WORDS or word.isdecimal() for word in words):
        return what
    allocation = _ALLOCATION.fullmatch(what)
    return names.of(kinds.OBJECT, what if allocation is None else allocation[1])


def _text(violation: Violation, names: Names) -> str:
    """Return what differs: with hidden names only the numbers, by type of resource."""
    if not names.hidden:
        return violation.text
    rest = violation.text.removeprefix(violation.what)
    single = re.fullmatch(r" is (-?\d{1,40}), not (-?\d{1,40})", rest)
    if single is not None:
        return f"it is {single[1]}, not {single[2]}"
    told = [
        f"{names.of(kinds.RESOURCE, each[1])} is {each[2]}, not {each[3]}"
        for each in _DIFFERENCE.finditer(rest.removeprefix(": "))
        if rest.startswith(": ")
    ]
    return ", ".join(told) or "its words may hold names and are left out"
