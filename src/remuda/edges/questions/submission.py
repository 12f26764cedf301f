"""Reads the submission of a dry run: one ask, an application or a gang (EXT-64, EXT-158).

It is read strictly: an unknown key is refused, because a client that mistypes one would get
the answer to another question. Everything has a limit, those of the wire format where it has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from remuda.base.duration import SECOND
from remuda.base.message import message
from remuda.base.quantity import QuantityError, parse_quantity
from remuda.base.resources import MAX
from remuda.base.scopes import Scope
from remuda.config.findings import cut, one_line
from remuda.core.messages.commands import (
    Ask,
    Command,
    NewApplication,
    UpdateAllocations,
    UpdateApplications,
)
from remuda.core.messages.tags import PREDICATE_CLASS
from remuda.edges.questions.refusals import Cause, UnansweredError
from remuda.si.limits import (
    GROUPS_LIMIT,
    ID_LENGTH_LIMIT,
    TEXTS_LENGTH_LIMIT,
    TEXTS_LIMIT,
    TYPES_LIMIT,
)

# Bytes of a submission; so many need no place among the large bodies.
SUBMISSION_LIMIT: Final = 64 * 1024

# Placeholders of a gang, which are made of its task groups.
MEMBERS_LIMIT: Final = 10_000

# How long a trial may look ahead, in seconds.
WITHIN_LIMIT: Final = 86_400

# Who submits if nobody is named.
_NOBODY: Final = "nobody"

_Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=ID_LENGTH_LIMIT)]
_Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=ID_LENGTH_LIMIT)]
_Groups: TypeAlias = Annotated[list[_Name], msgspec.Meta(max_length=GROUPS_LIMIT)]
_LongText: TypeAlias = Annotated[str, msgspec.Meta(max_length=TEXTS_LENGTH_LIMIT)]
_Tags: TypeAlias = Annotated[dict[_Text, _LongText], msgspec.Meta(max_length=TEXTS_LIMIT)]
_Amounts: TypeAlias = Annotated[
    dict[_Name, int | str], msgspec.Meta(min_length=1, max_length=TYPES_LIMIT)
]
_Priority: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
_Members: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=MEMBERS_LIMIT)]
_Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=WITHIN_LIMIT)]


class _Strict(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Base of what is read: an unknown key is an error."""


class _AskBody(_Strict):
    allocation_key: _Name
    resource: _Amounts
    max_allocations: _Count = 1
    priority: _Priority = 0
    task_group: _Text = ""
    placeholder: bool = False
    tags: _Tags = msgspec.field(default_factory=dict)


class _TaskGroupBody(_Strict):
    name: _Name
    min_member: _Members
    min_resource: _Amounts
    priority: _Priority = 0
    tags: _Tags = msgspec.field(default_factory=dict)


class _Body(_Strict):
    application_id: _Name
    queue: _Text = ""
    user: _Text = _NOBODY
    groups: _Groups = msgspec.field(default_factory=list)
    tags: _Tags = msgspec.field(default_factory=dict)
    asks: list[_AskBody] = msgspec.field(default_factory=list)
    task_groups: list[_TaskGroupBody] = msgspec.field(default_factory=list)
    gang_scheduling_style: Literal["Soft", "Hard"] = "Soft"
    allow_preempt_other: bool = False
    within: _Seconds = 0.0


_decoder = msgspec.json.Decoder(_Body, strict=True)

# The keys that a submission may have.
SUBMISSION_FIELDS: Final = frozenset(_Body.__struct_encode_fields__)


@message
class Wanted:
    """What a client wants to try in a partition of an RM.

    ``placeholders``: those of the gang. ``within_ns``: how long to look ahead.
    """

    rm_id: str
    application: NewApplication
    asks: tuple[Ask, ...]
    placeholders: tuple[Ask, ...]
    within_ns: int

    def commands(self, *, known: bool) -> tuple[Command, ...]:
        """Return the requests of it; of an application that is known only its asks would come."""
        asks = self.asks if known else self.placeholders + self.asks
        found: list[Command] = []
        if not known:
            found.append(UpdateApplications(self.rm_id, (self.application,)))
        if asks:
            found.append(UpdateAllocations(self.rm_id, asks=asks))
        return tuple(found)


def json_submission(content: bytes, partition: str, rm_id: str, scope: Scope | None) -> Wanted:
    """Return the submission in a JSON text; ``scope``: the queues that may take it (EXT-65).

    Raises: UnansweredError, which says what is wrong and where. Implements: EXT-64.
    """
    try:
        body = _decoder.decode(content)
    except msgspec.ValidationError as error:
        raise _wrong(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _wrong(f"it is not JSON: {error}") from None
    return _wanted(body, partition, rm_id, scope)


def submission(
    found: Mapping[str, object], partition: str, rm_id: str, scope: Scope | None
) -> Wanted:
    """Return the submission in a mapping with the keys of the JSON text.

    Raises: UnansweredError. Rules: EXT-64.
    """
    try:
        body = msgspec.convert(found, _Body, strict=True)
    except msgspec.ValidationError as error:
        raise _wrong(str(error)) from None
    return _wanted(body, partition, rm_id, scope)


def _wanted(body: _Body, partition: str, rm_id: str, scope: Scope | None) -> Wanted:
    placeholders = _placeholders(body, partition)
    both = {each.allocation_key for each in placeholders} & {a.allocation_key for a in body.asks}
    if both:
        raise _wrong(f"a placeholder has the allocationKey {min(both)!r} already; choose another")
    application = NewApplication(
        body.application_id,
        queue=body.queue,
        partition=partition,
        user=body.user,
        groups=tuple(body.groups),
        tags=body.tags,
        placeholder_ask=_total(placeholders),
        gang_scheduling_style=body.gang_scheduling_style if placeholders else "",
        within=scope,
    )
    return Wanted(
        rm_id,
        application,
        tuple(_asks(body, partition)),
        placeholders,
        round(body.within * SECOND),
    )


def _asks(body: _Body, partition: str) -> Iterable[Ask]:
    if len({each.allocation_key for each in body.asks}) < len(body.asks):
        raise _wrong("two asks have the same allocationKey; give each a key of its own")
    for number, each in enumerate(body.asks):
        yield Ask(
            body.application_id,
            each.allocation_key,
            _size(each.resource, f"asks[{number}].resource"),
            partition,
            each.max_allocations,
            each.priority,
            each.tags,
            0,
            each.task_group,
            each.placeholder,
            allow_preempt_other=body.allow_preempt_other,
            equivalence=each.tags.get(PREDICATE_CLASS, ""),
        )


def _placeholders(body: _Body, partition: str) -> tuple[Ask, ...]:
    groups = body.task_groups
    if len({group.name for group in groups}) < len(groups):
        raise _wrong("two task groups have the same name; give each a name of its own")
    if sum([group.min_member for group in groups]) > MEMBERS_LIMIT:
        raise _wrong(f"its task groups have more than {MEMBERS_LIMIT} members together")
    found: list[Ask] = []
    for number, group in enumerate(groups):
        resource = _size(group.min_resource, f"taskGroups[{number}].minResource")
        found += [
            Ask(
                body.application_id,
                f"tg-{group.name}-{member}",
                resource,
                partition,
                1,
                group.priority,
                group.tags,
                0,
                group.name,
                placeholder=True,
                equivalence=group.tags.get(PREDICATE_CLASS, ""),
            )
            for member in range(group.min_member)
        ]
    return tuple(found)


def _total(placeholders: Sequence[Ask]) -> dict[str, int]:
    """Return what all placeholders take together."""
    total: dict[str, int] = {}
    for placeholder in placeholders:
        for name, amount in placeholder.resource.items():
            total[name] = total.get(name, 0) + amount
            if total[name] > MAX:
                raise _wrong(f"its gang needs more than {MAX} of {cut(name)}")
    return total


def _size(amounts: Mapping[str, int | str], where: str) -> dict[str, int]:
    """Return amounts in base units, of which one is above 0."""
    found: dict[str, int] = {}
    for name, value in amounts.items():
        amount = value
        if isinstance(amount, str):
            try:
                amount = parse_quantity(name, amount)
            except QuantityError as error:
                raise _wrong(f"{cut(name)} is {cut(str(value))!r}: {error} - at {where}") from None
        if not 0 <= amount <= MAX:
            raise _wrong(f"{cut(name)} has to be from 0 to {MAX} - at {where}")
        found[name] = amount
    if not any(found.values()):
        raise _wrong(f"an ask needs more than nothing - at {where}")
    return found


def _wrong(text: str) -> UnansweredError:
    return UnansweredError(Cause.WRONG, f"The submission is wrong: {one_line(text)}")
