"""Patches: JSON merge patch (RFC 7386), JSON patch (RFC 6902), strategic merge patch.

None of the functions changes what it is given; what a patch does not touch is shared with the
result. Lists that strategic merge joins, and by which field, are from the API reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from remuda_kubernetes.testing.statuses import Json, Refusal, bad_request

# A list's name -> the field that tells its members apart; "" joins lists of plain values.
_MERGE_KEYS: Final[Mapping[str, str]] = {
    "conditions": "type",
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "schedulingGates": "name",
    "resourceClaims": "name",
    "resourceClaimStatuses": "name",
    "ownerReferences": "uid",
    "addresses": "type",
    "podIPs": "ip",
    "secrets": "name",
    "finalizers": "",
    "podCIDRs": "",
}
_PORT_KEYS: Final = ("containerPort", "port")
# What one JSON patch may have, and one of its operations may copy.
_PATCH_LIMIT: Final = 1_000
_COPY_LIMIT: Final = 100_000


def merge_patch(target: Any, patch: Any) -> Any:
    """Return a value changed by a JSON merge patch."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def strategic_patch(target: Any, patch: Any) -> Any:
    """Return an object changed by a strategic merge patch. Raises: Refusal 400."""
    if not isinstance(patch, dict):
        raise bad_request("a strategic merge patch must be a JSON object")
    return _strategic(target if isinstance(target, dict) else {}, patch)


def _strategic(target: Json, patch: Json) -> Json:
    directive = patch.get("$patch")
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != "$patch"}
    if directive == "delete":
        return {}
    merged = dict(target)
    if retained := patch.get("$retainKeys"):
        merged = {name: value for name, value in merged.items() if name in retained}
    for name, value in patch.items():
        if name.startswith("$deleteFromPrimitiveList/"):
            _remove_values(merged, name.partition("/")[2], value)
        elif not name.startswith("$"):
            _set(merged, name, value)
    return merged


def _remove_values(merged: Json, name: str, values: Any) -> None:
    if isinstance(values, list) and isinstance(merged.get(name), list):
        merged[name] = [each for each in merged[name] if each not in values]


def _set(merged: Json, name: str, value: Any) -> None:
    if value is None:
        merged.pop(name, None)
        return
    current = merged.get(name)
    if isinstance(value, dict):
        merged[name] = _strategic(current if isinstance(current, dict) else {}, value)
    elif isinstance(value, list):
        merged[name] = _joined(name, current if isinstance(current, list) else [], value)
    else:
        merged[name] = value


def _joined(name: str, current: list[Any], patch: list[Any]) -> list[Any]:
    key = _merge_key(name, patch)
    if key is None:
        return patch
    if key == "":
        return [*current, *(value for value in patch if value not in current)]
    if any(isinstance(each, dict) and each.get("$patch") == "replace" for each in patch):
        return [each for each in patch if each.get("$patch") != "replace"]
    return _joined_by(key, current, patch)


def _merge_key(name: str, patch: list[Any]) -> str | None:
    if name != "ports":
        return _MERGE_KEYS.get(name)
    for key in _PORT_KEYS:
        if any(isinstance(each, dict) and key in each for each in patch):
            return key
    return None


def _joined_by(key: str, current: list[Any], patch: list[Any]) -> list[Any]:
    """Join lists of objects. Members that are new come before those that the patch leaves alone."""
    for each in patch:
        if not isinstance(each, dict) or key not in each:
            raise bad_request(f"map: {_shown(each)} does not contain declared merge key: {key}")
    changes = {each[key]: each for each in patch}
    places = {each.get(key): place for place, each in enumerate(current)}
    gone = {value for value, each in changes.items() if each.get("$patch") == "delete"}
    kept = [each for each in current if each.get(key) not in changes]
    changed = [
        _strategic(current[places[value]] if value in places else {}, each)
        for value, each in changes.items()
        if value not in gone
    ]
    joined: list[Any] = []
    for each in changed:
        place = places.get(each[key])
        while place is not None and kept and places[kept[0].get(key)] < place:
            joined.append(kept.pop(0))
        joined.append(each)
    return [*joined, *kept]


def json_patch(target: Any, operations: Any) -> Any:
    """Return an object changed by a JSON patch. Raises: Refusal 400, 422 if it does not apply."""
    if not isinstance(operations, list):
        raise bad_request("a JSON patch must be a list of operations")
    if len(operations) > _PATCH_LIMIT:
        raise Refusal(413, f"a JSON patch has at most {_PATCH_LIMIT} operations", reason="")
    # Operations change their object in place, so they get one of their own.
    changed = msgspec.json.decode(msgspec.json.encode(target))
    for operation in operations:
        try:
            changed = _operate(changed, operation)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
            raise Refusal(
                422,
                f"the server rejected our request due to an error in our request: "
                f"{_shown(operation)}: {error}",
                reason="Invalid",
                details={},
            ) from None
    return changed


def _operate(target: Any, operation: Json) -> Any:
    name, path = operation["op"], _steps(operation["path"])
    if name == "test":
        if _read(target, path) != operation.get("value"):
            raise ValueError("testing the value failed")
        return target
    if name in {"add", "replace"}:
        if name == "replace":
            _read(target, path)
        return _write(target, path, operation.get("value"), insert=name == "add")
    if name == "remove":
        _remove(target, path)
        return target
    if name in {"move", "copy"}:
        source = _steps(operation["from"])
        value = _read(target, source)
        if name == "move":
            _remove(target, source)
        else:
            value = _copied(value)
        return _write(target, path, value, insert=True)
    raise ValueError(f"unknown operation {name!r}")


def _copied(value: Any) -> Any:
    """Return a copy of a value, if it is small: copies of copies grow quickly."""
    text = msgspec.json.encode(value)
    if len(text) > _COPY_LIMIT:
        raise ValueError(f"copying more than {_COPY_LIMIT} bytes")
    return msgspec.json.decode(text)


def _steps(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"{pointer!r} does not begin with /")
    return [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]


def _read(target: Any, path: list[str]) -> Any:
    for step in path:
        target = target[int(step)] if isinstance(target, list) else target[step]
    return target


def _write(target: Any, path: list[str], value: Any, *, insert: bool) -> Any:
    if not path:
        return value
    holder = _read(target, path[:-1])
    if not isinstance(holder, list):
        holder[path[-1]] = value
    elif path[-1] == "-":
        holder.append(value)
    elif insert:
        place = int(path[-1])
        if not 0 <= place <= len(holder):
            raise IndexError(f"index {place} is out of range")
        holder.insert(place, value)
    else:
        holder[int(path[-1])] = value
    return target


def _remove(target: Any, path: list[str]) -> None:
    holder = _read(target, path[:-1])
    if isinstance(holder, list):
        del holder[int(path[-1])]
    else:
        del holder[path[-1]]


def _shown(value: object) -> str:
    return msgspec.json.encode(value).decode()[:200]
