"""The tree of queues with a bar for each: what is used, waits, is guaranteed and may be used.

A queue may use at most what it and all queues above it may; the bar is as long as that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from remuda.cli.viewing.amounts import smaller
from remuda.cli.viewing.columns import Column, Form, Row, key

_LENGTH: Final = 20


@dataclass(frozen=True)
class Marks:
    """The characters of a tree and its bars."""

    used: str = "\N{FULL BLOCK}"
    waits: str = "\N{LIGHT SHADE}"
    free: str = "\N{MIDDLE DOT}"
    guaranteed: str = "\N{BOX DRAWINGS LIGHT VERTICAL}"
    branch: str = "\N{BOX DRAWINGS LIGHT VERTICAL AND RIGHT}\N{BOX DRAWINGS LIGHT HORIZONTAL} "
    last: str = "\N{BOX DRAWINGS LIGHT UP AND RIGHT}\N{BOX DRAWINGS LIGHT HORIZONTAL} "
    beside: str = "\N{BOX DRAWINGS LIGHT VERTICAL}  "
    under: str = "   "


ASCII: Final = Marks("#", "-", ".", "|", "|- ", "`- ", "|  ", "   ")


def marks_for(encoding: str | None) -> Marks:
    """Return the characters that an output can write."""
    return Marks() if (encoding or "").lower().replace("-", "") == "utf8" else ASCII


def tree_rows(root: Row, resource: str, marks: Marks) -> Iterator[Row]:
    """Yield a row for each queue below ``root``, in the order of the tree.

    ``resource``: the type of the bars; "" takes for each queue the one that is nearest to its
    maximum.
    """
    stack: list[tuple[Row, str, str, Mapping[str, int]]] = [(root, "", "", {})]
    while stack:
        queue, lead, below, above = stack.pop()
        most = smaller(queue.get("maxResource") or {}, above)
        yield _row(queue, lead, most, resource, marks)
        children = queue.get("children") or ()
        for at in range(len(children) - 1, -1, -1):
            last = at == len(children) - 1
            own, under = (marks.last, marks.under) if last else (marks.branch, marks.beside)
            stack.append((children[at], below + own, below + under, most))


def _row(
    queue: Row, lead: str, most: Mapping[str, int], resource: str, marks: Marks
) -> dict[str, Any]:
    used, guaranteed = queue.get("allocatedResource") or {}, queue.get("guaranteedResource") or {}
    pending = queue.get("pendingResource") or {}
    name = resource or nearest(used, pending, most)
    parts = {
        "used": used.get(name, 0),
        "guaranteed": guaranteed.get(name, 0),
        "pending": pending.get(name, 0),
    }
    bound = most.get(name, 0)
    path = str(queue.get("queuename", ""))
    return {
        "queue": path,
        "name": lead + (path.rpartition(".")[2] if lead else path),
        "state": queue.get("status"),
        "bar": bar(parts, bound, marks),
        "percent": parts["used"] * 100 // bound if bound > 0 else None,
        **{part: {name: number} if number else {} for part, number in parts.items()},
        "maximum": {name: bound} if bound else {},
        "running": queue.get("runningApps"),
    }


def bar(parts: Mapping[str, int], bound: int, marks: Marks, length: int = _LENGTH) -> str:
    """Return a bar that is ``bound`` long: what is used, what waits, and a mark at the guarantee.

    Without a bound it is empty.
    """
    if bound <= 0:
        return ""
    used = min(-(-parts["used"] * length // bound), length) if parts["used"] > 0 else 0
    waits = min(-(-parts["pending"] * length // bound), length - used)
    cells = list(marks.used * used + marks.waits * waits + marks.free * (length - used - waits))
    if 0 < parts["guaranteed"] <= bound:
        cells[min(parts["guaranteed"] * length // bound, length - 1)] = marks.guaranteed
    return "".join(cells)


def nearest(used: Mapping[str, int], pending: Mapping[str, int], most: Mapping[str, int]) -> str:
    """Return the type of which most is used relative to the maximum; then what waits counts."""

    def rank(name: str) -> tuple[float, float, str]:
        bound = most[name]
        return -used.get(name, 0) / bound, -pending.get(name, 0) / bound, name

    return min((name for name in most if most[name] > 0), key=rank, default="")


COLUMNS: Final = (
    Column("QUEUE", "name", key("name")),
    Column("STATE", "state", key("state"), Form.STATE),
    Column("USED OF MAXIMUM", "bar", key("bar"), flexible=False),
    Column("USE", "use", key("percent"), Form.PERCENT),
    Column("USED", "used", key("used"), Form.AMOUNTS),
    Column("PENDING", "pending", key("pending"), Form.AMOUNTS),
    Column("GUARANTEED", "guaranteed", key("guaranteed"), Form.AMOUNTS),
    Column("MAXIMUM", "maximum", key("maximum"), Form.AMOUNTS),
    Column("APPS", "applications", key("running"), Form.NUMBER),
)
