"""Gangs: the task groups that one pod of an application defines for all of it.

Source: the user's guide of Apache YuniKorn on gang scheduling. The groups stand as a JSON list in
the annotation ``yunikorn.apache.org/task-groups``. Names of fields are read without regard to case,
as the reference reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from remuda.base.go_text import parse_whole
from remuda_kubernetes.objects.pods import Affinity, Toleration, TopologySpreadConstraint
from remuda_kubernetes.objects.quantities import LARGEST, amount
from remuda_kubernetes.objects.values import ObjectError, convert
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.findings import Finding, shown
from remuda_kubernetes.translation.metadata import NAME_LIMIT
from remuda_kubernetes.translation.resources import (
    TYPES_LIMIT,
    Amounts,
    check_types,
    scheduler_amounts,
)

T = TypeVar("T")

# Members of all groups of an application. Each gets a placeholder pod.
MEMBERS_LIMIT: Final = 10_000
GROUPS_LIMIT: Final = 256
# Seconds that fit the milliseconds of the scheduler interface.
_TIMEOUT_LIMIT_S: Final = LARGEST // 1000
_FINDINGS_LIMIT: Final = 10

_FIELDS: Final = (
    "name",
    "minMember",
    "minResource",
    "labels",
    "annotations",
    "nodeSelector",
    "tolerations",
    "affinity",
    "topologySpreadConstraints",
)
_BY_LOWER: Final = {each.lower(): each for each in _FIELDS}
_TOLERATION_OPERATORS: Final = ("", "Equal", "Exists")
_TOLERATION_EFFECTS: Final = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")


class TaskGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One group.

    ``min_resource``: quantities as written. The fields after it are parts of a pod's manifest as
    written; they were checked only as far as they decide about nodes.
    """

    name: str
    min_member: int
    min_resource: dict[str, str | int | float]
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[dict[str, Any], ...] = ()
    affinity: dict[str, Any] = {}
    topology_spread_constraints: tuple[dict[str, Any], ...] = ()

    def amounts(self) -> Amounts:
        """Return what one member takes, under the scheduler's names."""
        requests = {key: amount(key, value) for key, value in self.min_resource.items()}
        return scheduler_amounts(requests, 1)


class Policy(msgspec.Struct, frozen=True):
    """How long placeholders are kept, 0 for the scheduler's default, and what happens then."""

    timeout_s: int = 0
    style: str = names.SOFT


def task_groups(text: str) -> tuple[tuple[TaskGroup, ...], tuple[Finding, ...]]:
    """Return the groups that an annotation defines, and fields in it that nobody reads.

    Raises: ObjectError naming the group and the field, and what to write there.
    """
    try:
        given = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _wrong("", f"{shown(text)} is no JSON ({error})", _LIST_ADVICE) from None
    if not isinstance(given, list):
        raise _wrong("", f"{shown(text)} is no list", _LIST_ADVICE)
    if len(given) > GROUPS_LIMIT:
        raise _wrong("", f"{len(given)} groups are too many", f"define at most {GROUPS_LIMIT}")
    findings: list[Finding] = []
    groups: dict[str, TaskGroup] = {}
    for index, each in enumerate(given):
        group = _group(f"[{index}]", each, findings)
        if group.name in groups:
            raise _wrong(f"[{index}].name", f"{shown(group.name)} comes twice", "rename one")
        groups[group.name] = group
    types = {name for each in groups.values() for name in each.min_resource}
    if len(types) > TYPES_LIMIT:
        raise _wrong("", f"{len(types)} resources are too many", f"name at most {TYPES_LIMIT}")
    members = sum(each.min_member for each in groups.values())
    if members > MEMBERS_LIMIT:
        raise _wrong("", f"{members} members are too many", f"ask for at most {MEMBERS_LIMIT}")
    return tuple(groups.values()), tuple(findings[:_FINDINGS_LIMIT])


def total_amounts(groups: Iterable[TaskGroup]) -> Amounts:
    """Return what all members of all groups take together."""
    total: Amounts = {}
    for group in groups:
        for name, value in group.amounts().items():
            total[name] = min(LARGEST, total.get(name, 0) + value * group.min_member)
    return total


def policy(text: str) -> tuple[Policy, tuple[Finding, ...]]:
    """Return what an annotation ``schedulingPolicyParameters`` says, and what is wrong with it.

    It has words KEY=VALUE, separated by blanks. A wrong word does not count.
    """
    timeout, style = 0, names.SOFT
    findings = []
    for word in text.split():
        key, _, value = word.partition("=")
        if key == names.TIMEOUT_PARAMETER:
            seconds = parse_whole(value)
            if seconds is not None and 0 <= seconds <= _TIMEOUT_LIMIT_S:
                timeout = seconds
                continue
            advice = f"write {names.TIMEOUT_PARAMETER}=60 for a minute"
        elif key == names.STYLE_PARAMETER:
            if value in (names.SOFT, names.HARD):
                style = value
                continue
            advice = f"write {names.STYLE_PARAMETER}=Soft or {names.STYLE_PARAMETER}=Hard"
        else:
            advice = f"write {names.TIMEOUT_PARAMETER}=SECONDS or {names.STYLE_PARAMETER}=STYLE"
        findings.append(
            Finding(
                f"annotation {names.POLICY_PARAMETERS}",
                f"{shown(word)} means nothing and does not count",
                advice,
            )
        )
    return Policy(timeout, style), tuple(findings[:_FINDINGS_LIMIT])


def _group(where: str, given: object, findings: list[Finding]) -> TaskGroup:
    if not isinstance(given, dict):
        raise _wrong(where, f"{shown(given)} is no group", _LIST_ADVICE)
    fields: dict[str, Any] = {}
    for key, value in given.items():
        name = _BY_LOWER.get(key.lower())
        if name is None:
            findings.append(
                Finding(
                    f"annotation {names.TASK_GROUPS}{where}",
                    f"there is no field {shown(key)}",
                    f"the fields are {', '.join(_FIELDS)}",
                )
            )
        elif value is not None:
            fields[name] = value
    return TaskGroup(
        name=_group_name(where, fields.get("name")),
        min_member=_members(where, fields.get("minMember")),
        min_resource=_minimum(where, fields.get("minResource")),
        labels=_texts(where, "labels", fields),
        annotations=_texts(where, "annotations", fields),
        node_selector=_texts(where, "nodeSelector", fields),
        tolerations=_records(where, "tolerations", fields, _check_toleration),
        affinity=_affinity(where, fields.get("affinity", {})),
        topology_spread_constraints=_records(
            where, "topologySpreadConstraints", fields, _check_constraint
        ),
    )


def _group_name(where: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise _wrong(f"{where}.name", _problem(value, "no name"), 'write a text such as "workers"')
    if len(value) > NAME_LIMIT or not value.isprintable():
        raise _wrong(
            f"{where}.name",
            f"{shown(value)} is too long or not printable",
            f"write at most {NAME_LIMIT} printable characters",
        )
    return value


def _members(where: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise _wrong(
            f"{where}.minMember",
            _problem(value, "no number of members"),
            "write a whole number above 0, without quotes",
        )
    return value


def _minimum(where: str, value: object) -> dict[str, str | int | float]:
    if not isinstance(value, dict):
        raise _wrong(
            f"{where}.minResource",
            _problem(value, "no object of quantities"),
            'write what one member needs, such as {"cpu": "500m", "memory": "1Gi"}',
        )
    try:
        check_types(value)
    except ObjectError as error:
        raise ObjectError(f"annotation {names.TASK_GROUPS}{where}.minResource: {error}") from None
    for name, quantity in value.items():
        at = f"{where}.minResource.{name}"
        if isinstance(quantity, bool) or not isinstance(quantity, str | int | float):
            raise _wrong(at, _problem(quantity, "no quantity"), "write one such as 4, 500m or 8Gi")
        try:
            least = amount(name, quantity)
        except ObjectError as error:
            raise ObjectError(f"annotation {names.TASK_GROUPS}{at}: {error}") from None
        if least < 0:
            raise _wrong(at, f"{shown(quantity)} is negative", "write 0 or more")
    return value


def _texts(where: str, field: str, fields: Mapping[str, Any]) -> dict[str, str]:
    value = fields.get(field, {})
    if not isinstance(value, dict):
        raise _wrong(
            f"{where}.{field}", _problem(value, "no object of texts"), 'write {"key": "value"}'
        )
    for key, text in value.items():
        if not isinstance(text, str):
            raise _wrong(
                f"{where}.{field}.{_part(key)}",
                _problem(text, "no text"),
                "write it in quotes",
            )
    return value


def _records(
    where: str, field: str, fields: Mapping[str, Any], check: Callable[[str, Any], None]
) -> tuple[dict[str, Any], ...]:
    value = fields.get(field, [])
    if not isinstance(value, list):
        raise _wrong(
            f"{where}.{field}", _problem(value, "no list"), "write a list as in a pod's spec"
        )
    for index, each in enumerate(value):
        check(f"{where}.{field}[{index}]", each)
    return tuple(value)


def _check_toleration(where: str, value: object) -> None:
    found = _checked(where, Toleration, value)
    if found.operator not in _TOLERATION_OPERATORS:
        raise _wrong(
            f"{where}.operator",
            f"{shown(found.operator)} is no operator",
            "write Equal or Exists",
        )
    if found.effect not in _TOLERATION_EFFECTS:
        raise _wrong(
            f"{where}.effect",
            f"{shown(found.effect)} is no effect",
            "write NoSchedule, PreferNoSchedule or NoExecute, or leave it out for all",
        )


def _check_constraint(where: str, value: object) -> None:
    found = _checked(where, TopologySpreadConstraint, value)
    if found.max_skew < 1:
        raise _wrong(f"{where}.maxSkew", f"{found.max_skew} is too small", "write 1 or more")
    if not found.topology_key:
        raise _wrong(
            f"{where}.topologyKey", "is missing", "write the label of nodes that names the domain"
        )


def _affinity(where: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(
            f"{where}.affinity", _problem(value, "no object"), "write it as in a pod's spec"
        )
    if value:
        _checked(f"{where}.affinity", Affinity, value)
    return value


def _checked(where: str, kind: type[T], value: object) -> T:
    try:
        return convert(kind, value)
    except (ObjectError, RecursionError) as error:
        raise _wrong(where, str(error), "write it as in a pod's spec") from None


def _part(key: str) -> str:
    """Return a key as a part of a path."""
    return key if key.isprintable() and len(key) <= NAME_LIMIT else shown(key)


def _problem(value: object, what: str) -> str:
    return "is missing" if value is None else f"{shown(value)} is {what}"


def _wrong(where: str, problem: str, advice: str) -> ObjectError:
    return ObjectError(f"annotation {names.TASK_GROUPS}{where}: {problem}; {advice}")


_LIST_ADVICE: Final = (
    'write a list such as [{"name": "workers", "minMember": 4, "minResource": {"cpu": "1"}}]'
)
