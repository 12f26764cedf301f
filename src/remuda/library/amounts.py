"""Amounts of resources as people write and read them.

Whole numbers are base units, as in the scheduler interface; texts are those of a queue file. A
text that is returned here reads back as the same amount.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.base.quantity import VCORE, QuantityError, parse_quantity
from remuda.base.resources import MAX
from remuda.library.errors import RequestError
from remuda.si.limits import ID_LENGTH_LIMIT, TYPES_LIMIT

_BYTES: Final = ("memory", "ephemeral-storage")
_BINARY: Final = ((2**60, "Ei"), (2**50, "Pi"), (2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"))
_FORM: Final = "write whole base units as a number, or a text such as '4', '500m' or '8Gi'"


def base_units(given: object, where: str) -> dict[str, int]:
    """Return amounts in base units, whichever way each of them is written.

    Raises: RequestError, which begins with ``where``.
    """
    if not isinstance(given, Mapping):
        example = "{'vcore': '4', 'memory': '8Gi'}"
        raise RequestError(f"{where}: a resource is a mapping such as {example}, not {given!r:.80}")
    if len(given) > TYPES_LIMIT:
        raise RequestError(f"{where}: a resource has at most {TYPES_LIMIT} types")
    return {_name(name, where): _amount(name, value, where) for name, value in given.items()}


def _name(name: object, where: str) -> str:
    if not isinstance(name, str) or not name or len(name) > ID_LENGTH_LIMIT:
        raise RequestError(f"{where}: {name!r:.80} is no name of a resource type")
    return name


def _amount(name: str, value: object, where: str) -> int:
    if isinstance(value, str):
        try:
            return parse_quantity(name, value)
        except QuantityError as error:
            raise RequestError(f"{where}: {name} is {value!r:.80}: {error}; {_FORM}") from None
    if isinstance(value, bool) or not isinstance(value, int):
        raise RequestError(f"{where}: {name} is {value!r:.80}; {_FORM}")
    if not 0 <= value <= MAX:
        raise RequestError(f"{where}: {name} is {value}; amounts are from 0 to {MAX}")
    return value


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
