"""Owners of fields, for server-side apply: conflicts, and fields that an applier gives up.

The creator of an object owns every field that nobody else owns, so that only changes by others cost
something. `metadata.managedFields` is not shown.
Source: the documentation of Kubernetes, "Server-Side Apply".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from remuda_kubernetes.testing.patches import strategic_patch
from remuda_kubernetes.testing.statuses import Json, Refusal

Path: TypeAlias = tuple[str, ...]

# Fields that say which object this is; an applier names them, and owns none of them.
_IDENTITY = frozenset({"apiVersion", "kind"})
_IDENTITY_METADATA = frozenset({"name", "namespace", "uid", "resourceVersion", "managedFields"})


@dataclass(frozen=True, slots=True)
class Owners:
    """``creator`` wrote everything but the paths of ``others`` (manager -> paths).

    ``appliers``: managers that own their fields by apply, not by update.
    """

    creator: str
    version: str
    others: dict[str, frozenset[Path]]
    appliers: frozenset[str] = frozenset()

    def owner(self, path: Path) -> tuple[str, ...]:
        """Return everybody who owns a field."""
        found = tuple(name for name, paths in self.others.items() if path in paths)
        return found or (self.creator,)

    def taken(self, manager: str, paths: frozenset[Path], *, applied: bool) -> Owners:
        """Return the owners after a manager has written fields; nobody else has them then."""
        others = {
            name: left
            for name, owned in self.others.items()
            if (left := owned if name == manager else owned - paths)
        }
        if manager != self.creator:
            others[manager] = paths if applied else others.get(manager, frozenset()) | paths
        appliers = self.appliers | {manager} if applied else self.appliers
        return Owners(self.creator, self.version, others, appliers)


def leaves(value: Any, at: Path = ()) -> dict[Path, Any]:
    """Return the fields of an object that are no objects themselves, by path."""
    if not isinstance(value, dict) or not value:
        return {at: value}
    found: dict[Path, Any] = {}
    for name, inner in value.items():
        found.update(leaves(inner, (*at, name)))
    return found


def changed_paths(before: Any, after: Any, at: Path = ()) -> frozenset[Path]:
    """Return the fields that differ. Parts that both share are skipped."""
    if before is after:
        return frozenset()
    if not isinstance(before, dict) or not isinstance(after, dict):
        return frozenset() if before == after else frozenset(leaves(after, at))
    found: frozenset[Path] = frozenset()
    for name in {*before, *after}:
        found |= changed_paths(before.get(name), after.get(name), (*at, name))
    return found


def applied(
    current: Json, intent: Json, owners: Owners, manager: str, *, force: bool
) -> tuple[Json, Owners]:
    """Return an object and its owners after server-side apply. Raises: Refusal 409.

    Fields that the manager applied before and names no longer are removed.
    """
    wanted = {path: value for path, value in leaves(intent).items() if not _identity(path)}
    contested = [
        (name, path)
        for path, value in wanted.items()
        for name in owners.owner(path)
        if name != manager and _at(current, path) != value and _at(current, path) is not None
    ]
    if contested and not force:
        raise _conflict(contested, owners.version)
    given_up = owners.others.get(manager, frozenset()) - set(wanted)
    result = strategic_patch(current, intent)
    if manager in owners.appliers:
        for path in given_up:
            result = _without(result, path)
    return result, owners.taken(manager, frozenset(wanted), applied=True)


def _identity(path: Path) -> bool:
    return path[0] in _IDENTITY or (path[0] == "metadata" and path[-1] in _IDENTITY_METADATA)


def _at(value: Any, path: Path) -> Any:
    for step in path:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def _without(value: Json, path: Path) -> Json:
    if path[0] not in value:
        return value
    rest = {name: inner for name, inner in value.items() if name != path[0]}
    if len(path) > 1 and isinstance(value[path[0]], dict):
        rest[path[0]] = _without(value[path[0]], path[1:])
    return rest


def _conflict(contested: list[tuple[str, Path]], version: str) -> Refusal:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{name}" using {version}',
            "field": "".join(f".{step}" for step in path),
        }
        for name, path in contested
    ]
    first = f"{causes[0]['message']}: {causes[0]['field']}"
    count = f"{len(causes)} conflict{'s' if len(causes) > 1 else ''}"
    text = first if len(causes) == 1 else "; ".join(f"{c['message']}: {c['field']}" for c in causes)
    return Refusal(409, f"Apply failed with {count}: {text}", details={"causes": causes})
