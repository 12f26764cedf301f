"""Amounts of resources as people write them.

Whole numbers are base units, as in the scheduler interface; texts are those of a queue file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.base.quantity import QuantityError, parse_quantity
from remuda.base.resources import MAX
from remuda.library.errors import RequestError
from remuda.si.limits import ID_LENGTH_LIMIT, TYPES_LIMIT

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
