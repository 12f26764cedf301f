"""Kubernetes quantities as exact integers: thousandths for cpu, whole units for all others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Final

from remuda_kubernetes.objects.values import ObjectError

_FORM: Final = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([numkKMGTPE]i?)?|[eE]([+-]?[0-9]+))"
)
_LENGTH_LIMIT: Final = 64
_EXPONENT_LIMIT: Final = 30
_SUFFIXES: Final = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{letter: Fraction(10 ** (3 * power)) for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Fraction(2 ** (10 * power)) for power, letter in enumerate("KMGTPE", 1)},
}
# The largest amount that the scheduler interface can carry.
LARGEST: Final = 2**63 - 1
CPU: Final = "cpu"


def amount(name: str, quantity: str | float) -> int:
    """Return a quantity of a resource in its base unit, rounded up like kube-scheduler does.

    cpu counts thousandths. More than fits into 63 bits is the largest amount.
    Raises: ObjectError.
    """
    return scaled(quantity, 1000 if name == CPU else 1)


def whole(quantity: str | float) -> int:
    """Return a quantity in whole units, rounded up. Raises: ObjectError."""
    return scaled(quantity, 1)


@lru_cache(maxsize=4096)
def scaled(quantity: str | float, scale: int) -> int:
    """Return a multiple of a quantity, rounded away from zero. Raises: ObjectError."""
    if isinstance(quantity, int):
        return _limited(quantity * scale)
    text = str(quantity)
    found = _FORM.fullmatch(text) if len(text) <= _LENGTH_LIMIT else None
    if found is None:
        raise ObjectError(f"{text[:80]!r} is no quantity: write a number such as 4, 500m or 8Gi")
    number, suffix, exponent = found.groups()
    if suffix is not None and suffix not in _SUFFIXES:
        raise ObjectError(f"{text[:80]!r}: there is no suffix {suffix!r}, try Mi, Gi, M or G")
    value = Fraction(number) * scale
    if exponent is None:
        value *= _SUFFIXES[suffix or ""]
    else:
        value *= Fraction(10) ** max(-_EXPONENT_LIMIT, min(_EXPONENT_LIMIT, int(exponent)))
    magnitude = -(-abs(value.numerator) // value.denominator)
    return _limited(magnitude if value > 0 else -magnitude)


def _limited(value: int) -> int:
    return max(-LARGEST, min(LARGEST, value))


def amounts(quantities: Mapping[str, str | int | float] | None) -> dict[str, int]:
    """Return quantities by resource in base units. Raises: ObjectError naming the resource."""
    found = {}
    for name, quantity in (quantities or {}).items():
        try:
            found[name] = amount(name, quantity)
        except ObjectError as error:
            raise ObjectError(f"{name}: {error}") from None
    return found
