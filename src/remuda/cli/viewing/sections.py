"""What the description of an object has beside its facts: the table ``SECTIONS``, by kind.

A section is a function from the object to lines; it may read more from the server. No lines: the
section is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from remuda.base.texts import shown
from remuda.cli.server import Server, path_of
from remuda.cli.viewing import amounts, reading, reasons
from remuda.cli.viewing.columns import NOTHING, Question, Row
from remuda.cli.viewing.kinds import kind_of
from remuda.cli.viewing.tables import Screen, Table

# Rows of a section, and event records.
_ROWS: Final = 20
_EVENTS: Final = 10

INDENT: Final = "  "


@dataclass(frozen=True)
class Scene:
    """What a section is made from: the object, and where more is read."""

    server: Server
    question: Question
    row: Row
    screen: Screen
    now_ns: int

    def path(self, *parts: str) -> str:
        """Return a path below the partition."""
        return path_of("partition", self.question.partition, *parts)

    def ask(self, *parts: str, **options: str) -> Row:
        """Return the object at a path below the partition."""
        rm = {"rm": self.question.rm} if self.question.rm else {}
        found: Row = reading.answer(self.server, self.path(*parts), {**rm, **options})
        return found

    def table(self, kind: str, rows: Iterable[Row], *keys: str) -> list[str]:
        """Return the first rows as a table with the columns of these keys, and how many more."""
        columns = [column for column in kind_of(kind).columns if column.key in keys]
        room = max(self.screen.room - len(INDENT), 0)
        table = Table(columns, Screen(room, 0, self.screen.colours), self.now_ns)
        first: list[list[str]] = []
        more = 0
        for row in rows:
            if len(first) < _ROWS:
                first.append(table.cells(row))
            else:
                more += 1
        lines = table.lines(first) if first else []
        return [*lines, f"... and {more:,} more"] if more else lines


Section: TypeAlias = Callable[[Scene], list[str]]


def _texts(member: str) -> Section:
    """Return the section of an object with texts by name."""

    def lines(scene: Scene) -> list[str]:
        found = scene.row.get(member) or {}
        return [shown(f"{name} = {found[name]}") for name in sorted(found)]

    return lines


def _events(name_of: str, about: str = "") -> Section:
    """Return the section of the latest records about an object; ``about``: what they refer to."""

    def lines(scene: Scene) -> list[str]:
        name = str(scene.row.get(name_of, ""))
        options = {"referenceID": str(scene.row.get(about, ""))} if about else {}
        asked = Question(scene.question.partition, last=_EVENTS, options=options)
        rows = reading.events_about(scene.server, asked, name)
        return scene.table("events", rows, "time", "what", "about", "amounts", "message")

    return lines


def _queues_below(scene: Scene) -> list[str]:
    name = scene.row["queuename"]
    queue = scene.ask("queue", str(name), subtree="")
    rows = [each for each in reading.below(queue) if each.get("queuename") != name]
    return scene.table("queues", rows, "name", "state", "used", "pending", "applications")


def _applications_of_queue(scene: Scene) -> list[str]:
    path = scene.path("queue", str(scene.row["queuename"]), "applications")
    keys = ("applicationID", "applicationState", "user", "usedResource", "pendingResource")
    options = {"fields": ",".join((*keys, "submissionTime")), "limit": "500"}
    rows: list[Row] = reading.answer(scene.server, path, options)
    return scene.table("applications", rows, "name", "state", "user", "used", "pending", "age")


def _waiting_in_queue(scene: Scene) -> list[str]:
    path = scene.path("queue", str(scene.row["queuename"]), "pending")
    found: list[Row] = reading.answer(scene.server, path, {"limit": str(_ROWS)})
    return [
        shown(
            f"{each.get('position')}. {each.get('applicationID')} of {each.get('user')}:"
            f" {reasons.count(each.get('pendingRequests'), 'ask')}, first"
            f" {each.get('allocationKey')}"
            f" ({reasons.gate(each)})"
        )
        for each in found
    ]


def _share(scene: Scene) -> list[str]:
    queue = scene.ask("queue", str(scene.row["queuename"]), "fairshare")["queue"]
    lines = [f"share {queue.get('share') or 0:.3g}, by which its parent compares it"]
    if queue.get("owed"):
        since = amounts.age(queue.get("belowSince"), scene.now_ns)
        below = f" since {since}" if since != NOTHING else ""
        lines.append(f"below its guarantee{below}; owed {amounts.amounts(queue['owed'])}")
    return [shown(line) for line in lines]


def _state_log(scene: Scene) -> list[str]:
    log: Sequence[Row] = scene.row.get("stateLog") or ()
    return [shown(f"{amounts.moment(e.get('time'))}  {e.get('applicationState')}") for e in log]


def _why_it_waits(scene: Scene) -> list[str]:
    """Return what each kind of waiting ask of an application waits for."""
    if not scene.row.get("requests"):
        return []
    found = scene.ask("application", str(scene.row.get("applicationID")), "pending")
    lines = []
    if found.get("position"):
        lines.append(
            f"served as {found['position']} of {found.get('of')} in {found.get('queueName')}"
        )
    requests: Sequence[Row] = found.get("requests") or ()
    for each in requests[:_ROWS]:
        since = amounts.age(each.get("since"), scene.now_ns)
        lines.append(f"{each.get('allocationKey')}: {reasons.gate(each)}, for {since}")
        lines.extend(f"{INDENT}{text}" for text in reasons.found(each.get("finding") or {}))
    if len(requests) > _ROWS:
        lines.append(f"... and {len(requests) - _ROWS:,} more")
    return [shown(line) for line in lines]


def _asks(scene: Scene) -> list[str]:
    rows: Sequence[Row] = scene.row.get("requests") or ()
    return scene.table("asks", rows, "name", "amounts", "count", "waits-for", "age")


def _allocations(scene: Scene) -> list[str]:
    rows: Sequence[Row] = scene.row.get("allocations") or ()
    return scene.table("allocations", rows, "name", "node", "amounts", "state", "age")


def _allocations_of_node(scene: Scene) -> list[str]:
    found: Sequence[Row] = scene.row.get("allocations") or ()
    rows = ({**each, "applicationID": each.get("applicationId")} for each in found)
    return scene.table("allocations", rows, "application", "name", "amounts", "state", "age")


def _gang(scene: Scene) -> list[str]:
    groups: Sequence[Row] = scene.row.get("placeholderData") or ()
    return [
        shown(
            f"{each.get('taskGroupName')}: {reasons.count(each.get('count', 0), 'member')} of"
            f" {amounts.amounts(each.get('minResource'))}; {each.get('replaced', 0)} replaced,"
            f" {each.get('timedout', 0)} timed out"
        )
        for each in groups
    ]


def _preempted(scene: Scene) -> list[str]:
    words = (("preemptions", "its asks caused"), ("evictions", "took allocations of it"))
    return [
        f"{', '.join(map(str, scene.row[key]))}: {text}"
        for key, text in words
        if scene.row.get(key)
    ]


def _by_queue(scene: Scene) -> list[str]:
    """Return usage and limits of a user or group, queue by queue."""
    lines = []
    stack: list[Row] = [scene.row.get("queues") or {}]
    while stack:
        queue = stack.pop()
        stack.extend(reversed(queue.get("children") or ()))
        running = len(queue.get("runningApplications") or ())
        text = f"{queue.get('queuePath')}: {amounts.amounts(queue.get('resourceUsage'))}"
        if queue.get("maxResources"):
            text += f" of {amounts.amounts(queue['maxResources'])}"
        most = f" of {queue['maxApplications']}" if queue.get("maxApplications") else ""
        lines.append(shown(f"{text}; {running}{most} applications"))
    return lines


def _states(scene: Scene) -> list[str]:
    found: Mapping[str, int] = scene.row.get("applications") or {}
    return [shown(f"{state}: {found[state]:,}") for state in sorted(found) if state != "total"]


def _victims(scene: Scene) -> list[str]:
    return [
        shown(
            f"{each.get('applicationId')}/{each.get('allocationID')} in {each.get('queueName')} on"
            f" {each.get('nodeId')}: {amounts.amounts(each.get('resource'))},"
            f" {'ended' if each.get('confirmed') else 'not ended yet'}"
        )
        for each in scene.row.get("victims") or ()
    ]


def _reasons(scene: Scene) -> list[str]:
    return [shown(str(text)) for text in scene.row.get("reasons") or ()]


def _finding(scene: Scene) -> list[str]:
    return [shown(text) for text in reasons.found(scene.row.get("finding") or {})]


SECTIONS: Final[Mapping[str, tuple[tuple[str, Section], ...]]] = {
    "queues": (
        ("Queues below", _queues_below),
        ("Properties", _texts("properties")),
        ("Fair share", _share),
        ("Applications", _applications_of_queue),
        ("Waiting, in the order of service", _waiting_in_queue),
        ("Latest events", _events("queuename")),
    ),
    "applications": (
        ("States", _state_log),
        ("Gang", _gang),
        ("Why it waits", _why_it_waits),
        ("Asks", _asks),
        ("Allocations", _allocations),
        ("Preemptions", _preempted),
        ("Latest events", _events("applicationID")),
    ),
    "asks": (
        ("Tags", _texts("allocationTags")),
        ("Why it waits", _finding),
        ("Latest events", _events("applicationID", "allocationKey")),
    ),
    "allocations": (
        ("Tags", _texts("allocationTags")),
        ("Latest events", _events("applicationID", "allocationID")),
    ),
    "nodes": (
        ("Attributes", _texts("attributes")),
        ("Allocations", _allocations_of_node),
        ("Latest events", _events("nodeID")),
    ),
    "users": (("By queue", _by_queue), ("Latest events", _events("userName"))),
    "groups": (("By queue", _by_queue), ("Latest events", _events("groupName"))),
    "preemptions": (("Victims", _victims), ("Reasons", _reasons)),
    "partitions": (("Applications by state", _states),),
}
