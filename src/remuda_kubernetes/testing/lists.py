"""Lists: pages of one version, tokens to continue them, versions too old or too new.

Source: recordings of a real server, release 1.20.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from remuda_kubernetes.testing.selectors import Matcher
from remuda_kubernetes.testing.statuses import Json, Refusal, bad_request
from remuda_kubernetes.testing.store import Collection, Expired, Record, Snapshot

_FORMAT: Final = "meta.k8s.io/v1"
_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, kw_only=True)
class Query:
    """What a list is to have. ``prefix``: of the keys, "NAMESPACE/" or ""."""

    prefix: str = ""
    matches: Matcher | None = None
    limit: int = 0
    token: str = ""
    version: str = ""
    match: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A list or a part of one, and the metadata to send with it."""

    records: list[Record]
    metadata: Json


def page(collection: Collection, current: int, query: Query) -> Page:
    """Return what a query finds; ``current``: the version of the store. Raises: Refusal."""
    if query.token:
        version, start = _opened(query, collection)
        snapshot = collection.now if version < 0 else _as_of(collection, version)
        return _cut(snapshot, current if version < 0 else version, query, start)
    if query.match == "Exact":
        version = int(query.version)
        return _cut(_as_of(collection, version), version, query, "")
    # A list that takes any version comes from the cache of the server, which knows no limit.
    limited = query if query.version != "0" else replace(query, limit=0)
    return _cut(collection.now, current, limited, "")


def check_options(version: str, match: str, token: str) -> None:
    """Refuse options that contradict each other. Raises: Refusal 400, 422."""
    if match and not version:
        raise _bad_option(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        )
    if match and token:
        raise _bad_option(
            "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"
        )
    if match == "Exact" and version == "0":
        raise _bad_option(
            "resourceVersionMatch",
            'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        )
    if version and token and version != "0":
        raise bad_request("specifying resource version is not allowed when using continue")


def _bad_option(field: str, message: str) -> Refusal:
    text = f"Forbidden: {message}"
    cause = {"reason": "FieldValueForbidden", "message": text, "field": field}
    return Refusal(
        422,
        f'ListOptions.meta.k8s.io "" is invalid: {field}: {text}',
        details={"group": "meta.k8s.io", "kind": "ListOptions", "causes": [cause]},
    )


def too_new(version: int, current: int) -> Refusal:
    """Refuse a version that does not exist yet."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return Refusal(
        504,
        f"Timeout: Too large resource version: {version}, current: {current}",
        details={"causes": [cause], "retryAfterSeconds": 1},
    )


def token(version: int, start: str) -> str:
    """Return what continues a list at a key as of a version; -1: as it is then."""
    text = msgspec.json.encode({"v": _FORMAT, "rv": version, "start": start})
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def _opened(query: Query, collection: Collection) -> tuple[int, str]:
    """Return version and first key of a token. Raises: Refusal 400 or 410."""
    padded = query.token + "=" * (-len(query.token) % 4)
    try:
        read = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=dict[str, object])
        version, start = read["rv"], read["start"]
    except (binascii.Error, ValueError, KeyError, msgspec.DecodeError):
        raise bad_request("invalid continue token: continue key is not valid") from None
    if not isinstance(version, int) or not isinstance(start, str) or ".." in start:
        raise bad_request("invalid continue token: continue key is not valid")
    if 0 <= version < collection.compacted:
        raise Refusal(410, _TOO_OLD, metadata={"continue": token(-1, start)})
    return version, query.prefix + start


def _as_of(collection: Collection, version: int) -> Snapshot:
    try:
        return collection.at(version)
    except Expired:
        raise Refusal(410, "The resourceVersion for the provided list is too old.") from None


def _cut(snapshot: Snapshot, version: int, query: Query, start: str) -> Page:
    first, last = snapshot.range(query.prefix, start)
    keys, records, matches = snapshot.keys, snapshot.records, query.matches
    metadata: Json = {"resourceVersion": str(version)}
    if matches is None:
        until = min(last, first + query.limit) if query.limit else last
        found = [records[key] for key in keys[first:until]]
    else:
        found, until = _matching(snapshot, (first, last), query)
    if until < last:
        # The token names the last key that was sent, and a character that comes after it.
        metadata["continue"] = token(version, keys[until - 1].removeprefix(query.prefix) + "\0")
        if matches is None:
            metadata["remainingItemCount"] = last - until
    return Page(found, metadata)


def _matching(
    snapshot: Snapshot, bounds: tuple[int, int], query: Query
) -> tuple[list[Record], int]:
    """Return the matching records, and where the next page begins; at the end if none follows."""
    first, last = bounds
    matches = query.matches
    assert matches is not None
    found: list[Record] = []
    until = first
    for place in range(first, last):
        record = snapshot.records[snapshot.keys[place]]
        if not matches(record.item):
            continue
        if query.limit and len(found) == query.limit:
            return found, until
        found.append(record)
        until = place + 1
    return found, last
