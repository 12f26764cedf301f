"""What a server gives an object: identity, times, generated names; and which names it accepts."""

from __future__ import annotations

import random
import re
import time
import uuid
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from remuda_kubernetes.testing.statuses import Cause, Json, invalid_value, required

_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_NAME_LIMIT: Final = 253
_LABEL_LIMIT: Final = 63
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_random: Final = random.Random()  # noqa: S311 - names, not secrets


def new_uid() -> str:
    """Return an identity that no other object has."""
    return str(uuid.uuid4())


def generated_name(prefix: str) -> str:
    """Return a name made of a prefix and five characters."""
    letters = _random.choices(_SUFFIX_LETTERS, k=_SUFFIX_LENGTH)
    return prefix[: _LABEL_LIMIT - _SUFFIX_LENGTH] + "".join(letters)


def timestamp(seconds_from_now: float = 0.0) -> str:
    """Return a moment as RFC 3339 in whole seconds."""
    return _written(int(time.time() + seconds_from_now))


@lru_cache(maxsize=64)
def _written(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def metadata_causes(metadata: Json, kind: str) -> list[Cause]:
    """Return what is wrong with the names and labels of an object."""
    name = metadata.get("name") or ""
    if not name:
        return [required("metadata.name", "name or generateName is required")]
    found: list[Cause] = []
    if not _good_name(name, kind):
        rule = _LABEL_RULE if kind in {"Namespace", "Service"} else _SUBDOMAIN_RULE
        found.append(invalid_value("metadata.name", name, rule))
    found += [
        invalid_value("metadata.labels", value, _VALUE_RULE)
        for value in (metadata.get("labels") or {}).values()
        if not _good_label_value(value)
    ]
    return found


@lru_cache(maxsize=4096)
def _good_name(name: str, kind: str) -> bool:
    if kind in {"Namespace", "Service"}:
        return len(name) <= _LABEL_LIMIT and _LABEL.fullmatch(name) is not None
    return len(name) <= _NAME_LIMIT and _SUBDOMAIN.fullmatch(name) is not None


@lru_cache(maxsize=4096)
def _good_label_value(value: object) -> bool:
    return (
        isinstance(value, str)
        and len(value) <= _LABEL_LIMIT
        and _VALUE.fullmatch(value) is not None
    )
