"""Admission reviews, version v1: what the API server asks, and what it is answered.

The server sends an object before it is stored, and who wants it stored. The answer allows or
refuses it, and may carry a JSON patch (RFC 6902).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from remuda.base.errors import RemudaError
from remuda.base.texts import shortened
from remuda_kubernetes.objects.values import UNDECODABLE, ObjectError, Value
from remuda_kubernetes.translation import names

VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"

FORBIDDEN: Final = 403
INVALID: Final = 422
# Characters of a message, and of a warning, of which servers show 256.
_MESSAGE_LIMIT: Final = 16_000
_WARNING_LIMIT: Final = 256
_WARNINGS_LIMIT: Final = 16
_UID_LIMIT: Final = 256
_REASONS: Final = {FORBIDDEN: "Forbidden", INVALID: "Invalid"}
_NOTHING: Final = msgspec.Raw(b"null")

Json = dict[str, Any]


class RefusedError(RemudaError):
    """The object may not be stored. ``code``: the HTTP status that the author of it gets."""

    def __init__(self, message: str, code: int = FORBIDDEN) -> None:
        super().__init__(message)
        self.code = code


class ObjectKind(Value, frozen=True):
    """Group, version and kind of the object."""

    group: str = ""
    version: str = ""
    kind: str = ""


class Requester(Value, frozen=True):
    """Who wants the object stored, as the API server has identified them."""

    username: str = ""
    groups: tuple[str, ...] | None = None


class Request(Value, frozen=True):
    """One question. ``object`` and ``old_object`` are JSON, null if there is none."""

    uid: str = ""
    kind: ObjectKind = ObjectKind()
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    operation: str = ""
    user_info: Requester = Requester()
    object: msgspec.Raw = _NOTHING
    old_object: msgspec.Raw = _NOTHING

    @property
    def space(self) -> str:
        """The namespace; objects without one are in ``default``."""
        return self.namespace or names.DEFAULT_NAMESPACE


class _Review(Value, frozen=True):
    api_version: str = ""
    kind: str = ""
    request: Request | None = None


class Operation(msgspec.Struct, frozen=True):
    """One step of a JSON patch."""

    op: str
    path: str
    value: object


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one request.

    ``message`` and ``code`` say why it is refused. ``warnings`` are shown to the author of the
    object, whether it is refused or not.
    """

    allowed: bool = True
    patch: tuple[Operation, ...] = ()
    message: str = ""
    code: int = 0
    warnings: tuple[str, ...] = ()


def read_request(body: bytes) -> Request:
    """Return the request of a review.

    Raises: ObjectError if the body is no review of version v1 with a request.
    """
    try:
        review = msgspec.json.decode(body, type=_Review)
    except UNDECODABLE as error:
        raise ObjectError(str(error)) from None
    if (review.api_version, review.kind) != (VERSION, KIND):
        raise ObjectError(
            f"this is {shortened(repr(review.kind), 80)} of "
            f"{shortened(repr(review.api_version), 80)}; send {KIND} of {VERSION}"
        )
    request = review.request
    if request is None or not 0 < len(request.uid) <= _UID_LIMIT:
        raise ObjectError("the review has no request with a uid")
    return request


def content_of(raw: msgspec.Raw) -> Json:
    """Return an object of a request as dictionaries and lists. Raises: RefusedError."""
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except UNDECODABLE as error:
        raise RefusedError(f"the object cannot be read: {error}", INVALID) from None


def response_of(uid: str, answer: Answer) -> bytes:
    """Return the review that answers the request with this uid."""
    response: Json = {"uid": uid, "allowed": answer.allowed}
    if answer.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = msgspec.json.encode(answer.patch)
    if not answer.allowed:
        response["status"] = {
            "status": "Failure",
            "message": shortened(answer.message, _MESSAGE_LIMIT),
            "reason": _REASONS.get(answer.code, "Forbidden"),
            "code": answer.code or FORBIDDEN,
        }
    if answer.warnings:
        found = answer.warnings[:_WARNINGS_LIMIT]
        response["warnings"] = [shortened(each, _WARNING_LIMIT) for each in found]
    return msgspec.json.encode({"apiVersion": VERSION, "kind": KIND, "response": response})
