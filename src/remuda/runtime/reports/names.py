"""How names appear in a report: as they are, or as pseudonyms.

A pseudonym is a word and a random number, such as ``queue-417``. A digest of a name would tell
those who can guess the name that they are right; a number tells nothing.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from remuda.config.schema import DEFAULT_PARTITION, RECOVERY_QUEUE, ROOT, WILDCARD

# Types of resources that everybody has.
KNOWN_TYPES: Final = frozenset(
    {
        "vcore",
        "memory",
        "pods",
        "gpu",
        "ephemeral-storage",
        "nvidia.com/gpu",
        "amd.com/gpu",
        "hugepages-2Mi",
        "hugepages-1Gi",
    }
)

# The kinds of names, which are the words in front of the numbers.
APPLICATION: Final = "application"
ASK: Final = "ask"
GROUP: Final = "group"
NODE: Final = "node"
OBJECT: Final = "object"
PARTITION: Final = "partition"
PATTERN: Final = "pattern"
POLICY_GROUP: Final = "policy-group"
PROPERTY: Final = "property"
QUEUE: Final = "queue"
RESOURCE: Final = "resource"
RM: Final = "rm"
TAG: Final = "tag"
USER: Final = "user"
VALUE: Final = "value"

_FIRST_NUMBERS: Final = 1_000

_NUMBER: Final = re.compile(
    r"(-?(\d{1,20}(\.\d{1,20})?(ns|us|ms|s|m|h|%)?){1,6}|true|false|)", re.IGNORECASE
)

# Stands behind the pseudonym of an expression, because a filter takes a text without such letters
# for a name (CFG-83).
_NO_NAME: Final = ".*"


class Names(Protocol):
    """Turns names of the files into names of the report."""

    @property
    def hidden(self) -> bool:
        """Whether names are replaced; then texts that may hold names are left out."""
        ...

    def of(self, kind: str, name: str) -> str:
        """Return the name in the report of an object of a kind; "" stays."""
        ...


class OwnNames:
    """Leaves all names as they are."""

    hidden: Final = False

    def of(self, kind: str, name: str) -> str:
        """Return the name."""
        return name


class Pseudonyms:
    """Replaces each name by a word and a random number, the same one wherever the name stands.

    The number depends on the name only, so a user and the queue of that user have the same one.
    ``root``, the recovery queue, the partition ``default``, the name for everybody (``*``) and
    usual types of resources stay. ``draw``: returns a random number below its argument.

    Implements: EXT-146.
    """

    hidden: Final = True

    def __init__(self, draw: Callable[[int], int] = secrets.randbelow) -> None:
        self._draw = draw
        self._numbers: dict[str, int] = {}
        self._taken: set[int] = set()

    def of(self, kind: str, name: str) -> str:
        """Return the pseudonym of a name."""
        if _stays(kind, name):
            return name
        if kind == QUEUE:
            return ".".join([self._element(each) for each in name.split(".")])
        text = f"{kind}-{self._number(name)}"
        return f"{text}{_NO_NAME}" if kind == PATTERN else text

    def _element(self, element: str) -> str:
        """Return one element of the path of a queue."""
        if element in ("", ROOT) or f"{ROOT}.{element}" == RECOVERY_QUEUE:
            return element
        return f"{QUEUE}-{self._number(element)}"

    def _number(self, name: str) -> int:
        """Return the number of a name; a new one is drawn from at least twice as many as needed."""
        found = self._numbers.get(name)
        if found is not None:
            return found
        most = _FIRST_NUMBERS
        while most < 2 * len(self._numbers) + 2:
            most *= 10
        number = 1 + self._draw(most)
        while number in self._taken:
            number = number % most + 1
        self._taken.add(number)
        self._numbers[name] = number
        return number


def _stays(kind: str, name: str) -> bool:
    """Whether a name is one that every scheduler has."""
    if name in ("", WILDCARD):
        return True
    if kind == PARTITION:
        return name == DEFAULT_PARTITION
    if kind == RESOURCE:
        return name in KNOWN_TYPES
    return kind == QUEUE and name in (ROOT, RECOVERY_QUEUE)


def amounts(names: Names, resource: Mapping[str, int] | None) -> dict[str, int]:
    """Return amounts by the names that their types have in the report."""
    found = resource or {}
    return {names.of(RESOURCE, kind): amount for kind, amount in sorted(found.items())}


def is_number(text: str) -> bool:
    """Whether a text is a number, a duration, a percentage or a truth value, and so no name."""
    return _NUMBER.fullmatch(text) is not None
