"""Quantities as texts of a configuration file, such as ``10Gi`` or ``500m`` (chapter 40 section 2).

A quantity is an unsigned whole number and an optional suffix. The type ``vcore`` is counted in
milli-cores: its numbers are multiplied by 1000 unless the suffix ``m`` says they are milli-cores
already. No other type takes that suffix, and no other name means the same (RES-4).
"""

from __future__ import annotations

import re
from typing import Final

from remuda.base.errors import RemudaError
from remuda.base.resources import MAX

VCORE: Final = "vcore"

_GRAMMAR: Final = re.compile(r"([0-9]+)[ \t\n\f\r]*([A-Za-z]*)")

_FACTORS: Final = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "E": 10**18,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "Pi": 2**50,
    "Ei": 2**60,
}

# More digits than any 64-bit number has: no need to convert them to know they overflow.
_DIGITS_MAX: Final = 19


class QuantityError(RemudaError):
    """A text is not a quantity; the message is one of the texts of RES-8. Implements: RES-8."""


def parse_quantity(name: str, text: str) -> int:
    """Return the amount a text stands for, in base units of the type ``name``.

    Raises QuantityError: ``invalid quantity`` (not a number with letters behind it),
    ``invalid suffix`` (letters that are no suffix of this type), ``invalid quantity: overflow``.
    Implements: RES-4, RES-5, RES-6, RES-7, QTY-1, QTY-2, QTY-3, QTY-4, QTY-5, QTY-6. Rules: RES-8.
    """
    parts = _GRAMMAR.fullmatch(text.strip())
    if parts is None:
        raise QuantityError("invalid quantity")
    digits, suffix = parts.groups()
    factor = _factor(name, suffix)
    digits = digits.lstrip("0") or "0"
    amount = int(digits) * factor if len(digits) <= _DIGITS_MAX else MAX + 1
    if amount > MAX:
        raise QuantityError("invalid quantity: overflow")
    return amount


def _factor(name: str, suffix: str) -> int:
    if name == VCORE:
        if suffix == "m":
            return 1
        scale = 1000
    else:
        scale = 1
    if suffix not in _FACTORS:
        raise QuantityError("invalid suffix")
    return _FACTORS[suffix] * scale
