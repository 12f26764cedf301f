"""Sums of many amounts at one moment, for views of thousands of objects (rules: HLT-18, HLT-21)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import zip_longest
from typing import Final

from remuda.core.model.vectors import Amounts, Vector, add_times

# Up to so many amounts it is faster to add each than to count equal ones first.
_FEW: Final = 24


def column_sums(rows: Sequence[list[int]]) -> list[int]:
    """Return the sum of each column of rows, which may differ in length."""
    return [sum(column) for column in zip_longest(*rows, fillvalue=0)]


def total(sizes: Collection[Amounts]) -> list[int]:
    """Return the sum of many amounts, of which mostly only a few are different."""
    if len(sizes) <= _FEW:
        return _plain_total(sizes)
    found = Vector()
    for size, count in Counter(sizes).items():
        add_times(found, size, count)
    return found.amounts


def _plain_total(sizes: Collection[Amounts]) -> list[int]:
    types = 0
    for size in sizes:
        types |= size.types
    found = [0] * types.bit_length()
    for size in sizes:
        for index, amount in size.pairs:
            found[index] += amount
    return found
