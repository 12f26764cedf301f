"""Refusals, as the Status objects that a server answers with.

Source of texts, reasons and details: recordings of a real server, release 1.20.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]

_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Refusal(Exception):  # noqa: N818 - an answer, not a fault of the program
    """An answer that is no success. ``status`` is its Status object."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        reason: str | None = None,
        details: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = failure(code, message, reason=reason, details=details, metadata=metadata)


def failure(
    code: int,
    message: str,
    *,
    reason: str | None = None,
    details: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Json:
    """Return a Status that says no. ``reason`` None: that of the code, "" none."""
    chosen = _REASONS.get(code, "") if reason is None else reason
    status: Json = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": dict(metadata or {}),
        "status": "Failure",
        "message": message,
    }
    if chosen:
        status["reason"] = chosen
    if details is not None:
        status["details"] = dict(details)
    return {**status, "code": code}


def success() -> Json:
    """Return the Status of something that was created."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }


def qualified(plural: str, group: str) -> str:
    """Return the name of a resource with its group, as messages have it."""
    return f"{plural}.{group}" if group else plural


def details_of(name: str, group: str, kind: str) -> Json:
    """Return details that name an object."""
    given = (("name", name), ("group", group), ("kind", kind))
    return {key: value for key, value in given if value}


def no_such_path() -> Refusal:
    """Refuse a path that the server does not have."""
    return Refusal(404, "the server could not find the requested resource", details={})


def wrong_method() -> Refusal:
    """Refuse a verb that a resource does not have."""
    return Refusal(
        405, "the server does not allow this method on the requested resource", details={}
    )


def not_found(plural: str, group: str, name: str) -> Refusal:
    """Refuse because an object does not exist."""
    return Refusal(
        404,
        f'{qualified(plural, group)} "{name}" not found',
        details=details_of(name, group, plural),
    )


def exists(plural: str, group: str, name: str) -> Refusal:
    """Refuse because an object of this name is there already."""
    return Refusal(
        409,
        f'{qualified(plural, group)} "{name}" already exists',
        reason="AlreadyExists",
        details=details_of(name, group, plural),
    )


def conflict(plural: str, group: str, name: str, why: str = "") -> Refusal:
    """Refuse a write that is based on an old state."""
    text = why or (
        "the object has been modified; please apply your changes to the latest version and try "
        "again"
    )
    return Refusal(
        409,
        f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {text}',
        details=details_of(name, group, plural),
    )


def forbidden(plural: str, group: str, name: str, why: str) -> Refusal:
    """Refuse what admission does not let through."""
    return Refusal(
        403,
        f'{qualified(plural, group)} "{name}" is forbidden: {why}',
        details=details_of(name, group, plural),
    )


def bad_request(message: str) -> Refusal:
    """Refuse what cannot be understood."""
    return Refusal(400, message)


Cause: TypeAlias = tuple[str, str, str]


def required(field: str, message: str = "") -> Cause:
    """Return the cause of a field that is missing."""
    return "FieldValueRequired", field, f"Required value: {message}".removesuffix(": ")


def invalid_value(field: str, value: str, message: str) -> Cause:
    """Return the cause of a field with a wrong value."""
    return "FieldValueInvalid", field, f'Invalid value: "{value}": {message}'


def forbidden_value(field: str, message: str) -> Cause:
    """Return the cause of a field that may not be set so."""
    return "FieldValueForbidden", field, f"Forbidden: {message}"


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> Refusal:
    """Refuse an object that breaks rules of its kind, each rule with the field it is about."""
    texts = [f"{field}: {message}" for _, field, message in causes]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    listed = [
        {"reason": reason, "message": message, "field": field} for reason, field, message in causes
    ]
    return Refusal(
        422,
        f'{qualified(kind, group)} "{name}" is invalid: {text}',
        details={**details_of(name, group, kind), "causes": listed},
    )
