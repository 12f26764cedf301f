"""What a path and a method ask for: a kind, an object or a part of one, and a verb."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from remuda_kubernetes.testing.discovery import Discovery
from remuda_kubernetes.testing.faults import Call
from remuda_kubernetes.testing.forms import Form
from remuda_kubernetes.testing.resources import subresources
from remuda_kubernetes.testing.statuses import no_such_path, wrong_method

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_TRUE: Final = frozenset({"1", "true"})
# Questions about rights: the caller's own, and those of others.
REVIEWS: Final = ("selfsubjectaccessreviews", "subjectaccessreviews")


class UnknownGroup(Exception):  # noqa: N818 - an answer, not a fault of the program
    """A path is of a group that the server does not have: the answer is no JSON then."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a path names. ``form`` None: nothing that is kept."""

    form: Form | None
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def target(path: str, discovery: Discovery) -> Target:
    """Return what a path names. Raises: Refusal 404, UnknownGroup."""
    parts = path.strip("/").split("/")
    if parts[0] == "apis" and len(parts) > 1 and discovery.group(parts[1]) is None:
        raise UnknownGroup
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise no_such_path()
    if group == "authorization.k8s.io" and rest[0] in REVIEWS and len(rest) == 1:
        return Target(None, name=rest[0])
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in {"status", "finalize"}:
        namespace, rest = rest[1], rest[2:]
    form = discovery.forms.get((group, version, rest[0]))
    if form is None or len(rest) > 3 or (namespace and not form.resource.namespaced):
        raise no_such_path()
    name, subresource = [*rest[1:], "", ""][:2]
    if subresource and subresource not in subresources(form.resource, discovery.settings):
        raise no_such_path()
    return Target(form, namespace, name, subresource)


def verb_of(method: str, query: Mapping[str, str], target: Target) -> str:
    """Return what a request wants to do. Raises: Refusal 405."""
    if target.form is None:
        if method != "POST":
            raise wrong_method()
        return "create"
    if method == "GET":
        if target.name:
            return "get"
        return "watch" if query.get("watch") in _TRUE else "list"
    verb = _VERBS[method]
    if verb == "create":
        if bool(target.name) != (target.subresource in {"binding", "eviction"}):
            raise wrong_method()
        return verb
    if not target.name:
        if verb != "delete":
            raise wrong_method()
        return "deletecollection"
    return verb


def call_of(path: str, verb: str, target: Target, body: bytes) -> Call:
    """Return a request as faults are told of it."""
    resource = target.form.resource if target.form else None
    return Call(
        verb,
        path,
        resource.group if resource else "",
        resource.plural if resource else "",
        target.namespace,
        target.name,
        target.subresource,
        body,
    )
