"""Reading the lists of a server page by page, so that a long one needs little memory.

A page that is too large for one answer is asked for again in smaller parts. Elements that come or
go between two pages may be missing, but none is there twice. Implements: EXT-78.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from remuda.base.texts import shown
from remuda.cli.failures import NotThereError, about
from remuda.cli.server import (
    AnswerTooLargeError,
    NotReachableError,
    Server,
    odd_answer,
    path_of,
)
from remuda.cli.viewing.columns import OneReader, Question, Reader, Row

# Elements of a page.
PAGE: Final = 500

# Applications of a page that come with their asks or allocations.
_LADEN_PAGE: Final = 50

_ENDED: Final = ("rejected", "completed", "failed", "expired")


def answer(server: Server, path: str, options: Mapping[str, str] | None = None) -> Any:
    """Return the JSON at a path, with the types that the route has (EXT-114).

    Raises: those of ``Server.get``, NotReachableError.
    """
    from remuda.cli.viewing.shapes import check_shape  # noqa: PLC0415 - keeps help fast

    content = server.get(path, options)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise NotReachableError(f"the answer to {path} is no JSON; is it a scheduler?") from None
    check_shape(found, path)
    return found


def listed(
    server: Server, path: str, identity: str, options: Mapping[str, str], page: int = PAGE
) -> Iterator[Row]:
    """Yield the elements of a list of the server, of which a page at a time is in memory.

    ``identity``: the key that tells them apart, "" for none. ``page``: how many an answer has.
    """
    offset = 0
    before: frozenset[object] = frozenset()
    while True:
        asked = {**options, "limit": str(page), "offset": str(offset)}
        try:
            found = answer(server, path, asked)
        except AnswerTooLargeError:
            if page == 1:
                raise
            page = max(page // 4, 1)
            continue
        new = [row for row in found if row.get(identity) not in before]
        yield from new
        if len(found) > page or (found and not new):
            raise odd_answer(f"the answer to {path} is no page")
        if len(found) < page:
            return
        offset += page
        before = frozenset(row[identity] for row in found if identity in row)


def pages(*parts: str, identity: str, partition: bool = True) -> Reader:
    """Return what reads the list at a path, of a partition if that is said."""

    def read(server: Server, question: Question) -> Iterator[Row]:
        place = ("partition", question.partition) if partition else ()
        return listed(server, path_of(*place, *parts), identity, _options(question))

    return read


def single(*parts: str, options: Mapping[str, str] | None = None) -> OneReader:
    """Return what reads the one object of a name. ``parts``: the path before that name."""

    def read(server: Server, question: Question, name: str) -> Iterator[Row]:
        path = path_of("partition", question.partition, *parts, name)
        found = answer(server, path, {**_options(question, fields=False), **(options or {})})
        yield found

    return read


def queue_tree(server: Server, question: Question) -> Iterator[Row]:
    """Yield all queues, each before those below it."""
    path = path_of("partition", question.partition, "queues")
    found = answer(server, path, _options(question, fields=False))
    yield from below(found)


def below(queue: Row) -> Iterator[Row]:
    """Yield a queue and all below it, without the lists of their children."""
    stack = [queue]
    while stack:
        each = stack.pop()
        yield {name: value for name, value in each.items() if name != "children"}
        stack.extend(reversed(each.get("children") or ()))


def applications(server: Server, question: Question) -> Iterator[Row]:
    """Yield applications: the live ones, or those in states that are named."""
    states = question.states
    ended = [state for state in states if state in _ENDED]
    active = [state for state in states if state not in _ENDED]
    if active or not ended:
        # One state that the server knows is left to it; of several all are read.
        narrow = {"status": active[0]} if len(active) == 1 else {}
        yield from _applications(server, question, "active", narrow)
    if set(ended) - {"rejected"}:
        yield from _applications(server, question, "completed", {})
    if "rejected" in ended:
        yield from _applications(server, question, "rejected", {})


def inside(member: str, *, carried: Mapping[str, str]) -> Reader:
    """Return what reads the elements of a list that each live application has.

    ``carried``: keys of the application -> keys under which the element has them, too.
    """

    def read(server: Server, question: Question) -> Iterator[Row]:
        fields = (*carried, member) if question.fields else ()
        asked = Question(question.partition, question.rm, fields)
        for application in _applications(server, asked, "active", {}, _LADEN_PAGE):
            shared = {new: application[old] for old, new in carried.items() if old in application}
            for each in application.get(member) or ():
                yield {**shared, **(_pair(each) if isinstance(each, str) else each)}

    return read


def preemptions(server: Server, question: Question) -> Iterator[Row]:
    """Yield the preemptions that are known still, newest first."""
    path = path_of("partition", question.partition, "preemptions")
    options = {**_options(question, fields=False), "limit": str(min(question.last or 1000, 1000))}
    yield from answer(server, path, options)["preemptions"]


def events(server: Server, question: Question) -> Iterator[Row]:
    """Yield the event records that are kept, oldest first; the last ones if a number is said."""
    path = path_of("events", "batch")
    options = {"format": "v2", **question.options}
    if question.last:
        options |= {"start": "latest", "count": str(question.last)}
        yield from _of_partition(_records(answer(server, path, options)), question)
        return
    start = "oldest"
    last = -1
    while records := _records(answer(server, path, {**options, "start": start})):
        if records[-1]["id"] <= last:
            raise odd_answer(f"the answer to {path} is older than the one before")
        yield from _of_partition(records, question)
        last = records[-1]["id"]
        start = str(last + 1)


def history(server: Server, question: Question) -> Iterator[Row]:
    """Yield how many applications and allocations ran, a row a minute, oldest first."""
    options = {**_options(question, fields=False), "partition": question.partition}
    numbers: dict[int, dict[str, int]] = {}
    for path, member, name in (
        ("apps", "totalApplications", "applications"),
        ("containers", "totalContainers", "allocations"),
    ):
        where = path_of("history", path)
        for each in answer(server, where, options):
            numbers.setdefault(each["timestamp"], {})[name] = int(each[member])
    for then in sorted(numbers)[-question.last :]:
        yield {"timestamp": then, **numbers[then]}


def events_about(server: Server, question: Question, name: str) -> Iterator[Row]:
    """Yield the event records about one object."""
    options = {**question.options, "objectID": name}
    return events(server, Question(question.partition, last=question.last, options=options))


def one(kind_singular: str, read: OneReader, server: Server, question: Question, name: str) -> Row:
    """Return the one object of a name. Raises: NotThereError if there is none."""
    with about(kind_singular, name):
        found = next(read(server, question, name), None)
    if found is None:
        raise NotThereError(f"{kind_singular} '{shown(name)}' is not there")
    return found


def _applications(
    server: Server, question: Question, which: str, narrow: Mapping[str, str], page: int = PAGE
) -> Iterator[Row]:
    path = path_of("partition", question.partition, "applications", which)
    return listed(server, path, "applicationID", {**_options(question), **narrow}, page)


def _options(question: Question, *, fields: bool = True) -> dict[str, str]:
    found = dict(question.options)
    if question.rm:
        found["rm"] = question.rm
    if fields and question.fields:
        found["fields"] = ",".join(question.fields)
    return found


def _records(found: Any) -> list[Row]:
    return found.get("EventRecords") or []


def _of_partition(records: list[Row], question: Question) -> Iterator[Row]:
    return (each for each in records if each.get("partition", "") in ("", question.partition))


def _pair(text: object) -> dict[str, str]:
    node, _, ask = str(text).partition("|")
    return {"nodeID": node, "allocationKey": ask}
