"""Amounts of resources as a queue file has them, for people; each text reads back as the amount."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.base.quantity import VCORE

_BYTES: Final = ("memory", "ephemeral-storage")
_BINARY: Final = ((2**60, "Ei"), (2**50, "Pi"), (2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"))


def quantity_text(name: str, amount: int) -> str:
    """Return an amount as a queue file has it: cores for ``vcore``, binary suffixes for bytes."""
    if name == VCORE:
        whole, rest = divmod(amount, 1000)
        return f"{amount}m" if rest else str(whole)
    if name in _BYTES and amount:
        for factor, suffix in _BINARY:
            if amount % factor == 0:
                return f"{amount // factor}{suffix}"
    return str(amount)


def amounts_text(amounts: Mapping[str, int]) -> str:
    """Return amounts for a sentence, by name of the type; "nothing" if there are none."""
    texts = [f"{name} {quantity_text(name, amounts[name])}" for name in sorted(amounts)]
    return ", ".join(texts) or "nothing"
