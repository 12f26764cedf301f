"""Quantities as a server writes them back, and what a pod's quantities say about its quality.

Source of the normal form: the documentation of Kubernetes, "Quantity": no fraction, the largest
suffix that allows it.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from remuda_kubernetes.objects.quantities import scaled
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.testing.statuses import Json, bad_request

_FORM: Final = re.compile(r"([+-]?[0-9.]+)(?:([numkKMGTPE]i?)?|[eE]([+-]?[0-9]+))")
_BINARY: Final = {f"{letter}i": 2 ** (10 * place) for place, letter in enumerate("KMGTPE", 1)}
_DECIMAL: Final = {"": 0, **{letter: 3 * place for place, letter in enumerate("kMGTPE", 1)}}
_SMALL: Final = {"m": -3, "u": -6, "n": -9}
_THOUSAND: Final = 1000


def normal(quantity: Any) -> str:
    """Return a quantity in its normal form. Raises: Refusal 400."""
    if isinstance(quantity, bool) or not isinstance(quantity, str | int | float):
        raise _unreadable()
    return _normal(str(quantity))


@lru_cache(maxsize=8192)
def _normal(text: str) -> str:
    try:
        scaled(text, 1)
    except ObjectError:
        raise _unreadable() from None
    found = _FORM.fullmatch(text)
    if found is None:
        raise _unreadable()
    number, suffix, exponent = found.groups()
    if suffix in _BINARY:
        return _binary(Fraction(number) * _BINARY[suffix])
    if exponent is not None and not number.lstrip("+-").startswith("."):
        return text
    power = {**_DECIMAL, **_SMALL}[suffix or ""]
    return _decimal(Fraction(number) * Fraction(10) ** power)


def _binary(value: Fraction) -> str:
    if value.denominator != 1 or abs(value) < 2**10:
        return _decimal(value)
    for suffix, size in reversed(_BINARY.items()):
        if value % size == 0:
            return f"{value // size}{suffix}"
    return str(value.numerator)


def _decimal(value: Fraction) -> str:
    if value.denominator != 1:
        for suffix, power in _SMALL.items():
            larger = value * Fraction(10) ** -power
            if larger.denominator == 1 or suffix == "n":
                return f"{-(-larger.numerator // larger.denominator)}{suffix}"
    suffix = ""
    for longer in list(_DECIMAL)[1:]:
        if value == 0 or value % _THOUSAND:
            break
        value, suffix = value / _THOUSAND, longer
    return f"{value.numerator}{suffix}"


def _unreadable() -> Exception:
    return bad_request(
        "the object cannot be handled: quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


def normal_list(amounts: Any) -> Any:
    """Return quantities by name in their normal form. Raises: Refusal 400."""
    if not isinstance(amounts, dict):
        raise bad_request("quantities must be a JSON object")
    return {name: normal(quantity) for name, quantity in amounts.items()}


def quality_class(spec: Json) -> str:
    """Return the quality-of-service class of a pod: Guaranteed, Burstable or BestEffort."""
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    resources = [container.get("resources") or {} for container in containers]
    if spec.get("resources"):
        resources = [spec["resources"]]
    if not any(_main(each.get(part)) for each in resources for part in ("requests", "limits")):
        return "BestEffort"
    if all(_is_guaranteed(each) for each in resources):
        return "Guaranteed"
    return "Burstable"


def _main(amounts: Json | None) -> dict[str, int]:
    """Return cpu and memory in thousandths, as far as they are there and not 0."""
    found = {name: (amounts or {}).get(name) for name in ("cpu", "memory")}
    scaled_amounts = {name: scaled(text, _THOUSAND) for name, text in found.items() if text}
    return {name: amount for name, amount in scaled_amounts.items() if amount}


def _is_guaranteed(resources: Json) -> bool:
    limits = _main(resources.get("limits"))
    requests = {**limits, **_main(resources.get("requests"))}
    return len(limits) == 2 and requests == limits
