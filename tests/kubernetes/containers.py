"""How much an object keeps: the lengths of all containers that it holds, by the way to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import Enum
from typing import Any

from remuda_kubernetes.objects.values import Value


def lengths(root: object) -> Counter[str]:
    """The lengths of all containers below an object; those at the same kind of place are summed.

    Objects of Kubernetes are left out: what they hold is theirs.
    """
    found: Counter[str] = Counter()
    seen: set[int] = set()
    ways: list[tuple[str, Any]] = [("", root)]
    while ways:
        way, each = ways.pop()
        if id(each) in seen or isinstance(each, Value | Enum | str):
            continue
        seen.add(id(each))
        if isinstance(each, dict | list | set):
            found[way] += len(each)
        ways += [(way + step, part) for step, part in _parts(each)]
    return +found


def _parts(each: object) -> Iterator[tuple[str, object]]:
    if isinstance(each, dict):
        yield from (("[key]", key) for key in each)
        yield from (("[]", part) for part in each.values())
    elif isinstance(each, list | tuple | set | frozenset):
        yield from (("[]", part) for part in each)
    elif type(each).__module__.startswith("remuda_kubernetes."):
        for kind in type(each).__mro__:
            for name in kind.__dict__.get("__slots__", ()):
                if hasattr(each, name):
                    yield f".{name}", getattr(each, name)
        yield from ((f".{name}", part) for name, part in getattr(each, "__dict__", {}).items())
