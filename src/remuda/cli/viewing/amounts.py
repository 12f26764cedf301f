"""Amounts and times in the units of people; data for programs keeps the exact integers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Final

NOTHING: Final = "-"

_MEMORY: Final = "memory"
_CORES: Final = "vcore"

# Memory is in bytes, the largest unit first.
_BYTES: Final = (
    (1 << 60, "EiB"),
    (1 << 50, "PiB"),
    (1 << 40, "TiB"),
    (1 << 30, "GiB"),
    (1 << 20, "MiB"),
    (1 << 10, "KiB"),
)

# An amount and its unit or name, of which the part before a slash is left out.
_AMOUNT: Final = re.compile(r"^(-?[\d.,]+) (?:\S*/)?(\S+)$")
_SHORT: Final = {"core": "c", "cores": "c", "B": "B"}

_UNITS: Final = {unit for _, unit in _BYTES}
_SECOND: Final = 1_000_000_000
_AGES: Final = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def amounts(resources: object) -> str:
    """Return amounts by resource type in one line: cores, then memory, then the others by name.

    ``-`` if there are none, ``0`` if all are 0.
    """
    if not isinstance(resources, Mapping) or not resources:
        return NOTHING
    told = [amount(name, resources[name]) for name in in_order(resources) if resources[name]]
    return ", ".join(told) or "0"


def smaller(own: Mapping[str, int], above: Mapping[str, int]) -> dict[str, int]:
    """Return the smaller amount of each type; of a type that only one of them has, that one."""
    return {
        name: min(own.get(name, above.get(name, 0)), above.get(name, own.get(name, 0)))
        for name in {**above, **own}
    }


def in_order(names: Iterable[str]) -> list[str]:
    """Return resource types as people list them: cores, memory, then the others by name."""
    return sorted(names, key=lambda name: (name != _CORES, name != _MEMORY, name))


def amount(name: str, number: object) -> str:
    """Return one amount with its unit: ``1.5 cores``, ``4 GiB``, ``2 gpu``."""
    if not isinstance(number, int):
        return f"{number} {name}"
    if name == _CORES:
        text = _rounded(number, 1_000)
        return f"{text} core" if text == "1" else f"{text} cores"
    if name == _MEMORY:
        return memory(number)
    return f"{number:,} {name}"


def memory(number: int) -> str:
    """Return bytes in the largest unit of which there is one at least."""
    for size, unit in _BYTES:
        if abs(number) >= size:
            return f"{_rounded(number, size)} {unit}"
    return f"{number:,} B"


def compact(text: str) -> str:
    """Return amounts as ``amounts`` wrote them in a short form: ``1.5c 4Gi 2gpu``."""
    return " ".join(_AMOUNT.sub(_short, each) for each in text.split(", "))


def exact(resources: object) -> str:
    """Return amounts in base units, by name: ``memory=1024 vcore=500``."""
    if not isinstance(resources, Mapping):
        return ""
    return " ".join(f"{name}={resources[name]}" for name in sorted(resources))


def age(then_ns: object, now_ns: int) -> str:
    """Return how long ago a time was, in its two largest units at most: ``45s``, ``3h12m``."""
    if not isinstance(then_ns, int) or then_ns <= 0:
        return NOTHING
    seconds = max(now_ns - then_ns, 0) // _SECOND
    for place, (size, unit) in enumerate(_AGES):
        if seconds >= size or size == 1:
            text = f"{seconds // size}{unit}"
            if place + 1 < len(_AGES) and seconds // size < 10:
                smaller, name = _AGES[place + 1]
                rest = seconds % size // smaller
                text += f"{rest}{name}" if rest else ""
            return text
    return NOTHING


def moment(then_ns: object) -> str:
    """Return a time to the second, in the time zone of the process."""
    if not isinstance(then_ns, int) or then_ns <= 0:
        return NOTHING
    return _date(then_ns).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def moment_utc(then_ns: object) -> str:
    """Return a time in UTC to the nanosecond, as RFC 3339 has it; "" for none."""
    if not isinstance(then_ns, int) or then_ns <= 0:
        return ""
    return f"{_date(then_ns):%Y-%m-%dT%H:%M:%S}.{then_ns % _SECOND:09d}Z"


def _short(found: re.Match[str]) -> str:
    unit = found[2]
    return found[1] + _SHORT.get(unit, unit.removesuffix("B") if unit in _UNITS else unit)


def _date(then_ns: int) -> datetime:
    try:
        return datetime.fromtimestamp(then_ns // _SECOND, timezone.utc)  # noqa: UP017
    except (ValueError, OverflowError):
        return datetime.max.replace(tzinfo=timezone.utc)  # noqa: UP017


def _rounded(number: int, unit: int) -> str:
    """Return ``number / unit``: exact to three digits, with a tenth below 100."""
    whole = (abs(number) * 10 + unit // 2) // unit
    sign = "-" if number < 0 else ""
    if abs(number) < unit:
        return f"{sign}{abs(number) / unit:.3g}"
    tens, tenth = divmod(whole, 10)
    if tens >= 100 or not tenth:
        return f"{sign}{(abs(number) + unit // 2) // unit if tens >= 100 else tens:,}"
    return f"{sign}{tens}.{tenth}"
