"""Changing objects over HTTP: create, update, patch, delete, and the sub-resources of pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
import yaml

from remuda_kubernetes.testing import deletion, owners, patches, pods
from remuda_kubernetes.testing.cluster import Cluster, Writer
from remuda_kubernetes.testing.forms import Answer, Form
from remuda_kubernetes.testing.lists import Query, page
from remuda_kubernetes.testing.resources import NAMESPACE
from remuda_kubernetes.testing.selectors import matcher
from remuda_kubernetes.testing.statuses import Json, Refusal, bad_request, not_found
from remuda_kubernetes.testing.store import Record

_APPLY: Final = "application/apply-patch+yaml"
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A request to change something. ``manager``: who asks, for server-side apply.

    ``user``, ``groups``: who asks, for admission webhooks; "" is the administrator.
    """

    verb: str
    form: Form
    namespace: str
    name: str
    subresource: str
    body: bytes
    query: Mapping[str, str]
    content_type: str
    manager: str
    user: str = ""
    groups: tuple[str, ...] = ()

    @property
    def writer(self) -> Writer:
        """Return the author of a write."""
        patched = self.verb == "patch"
        writer = Writer(self.manager, self.form.api_version, self.dry_run, patched)
        return replace(writer, user=self.user, groups=self.groups) if self.user else writer

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be kept."""
        return self.query.get("dryRun") == "All"


class Verbs:
    """Carries requests out."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def answer(self, ask: Ask) -> Answer:
        """Carry out a request. Raises: Refusal."""
        if ask.verb == "create":
            return self._create(ask)
        if ask.verb == "delete":
            return self._delete(ask)
        if ask.verb == "deletecollection":
            return self._delete_collection(ask)
        if ask.verb == "patch":
            return self._patch(ask)
        return self._update(ask)

    def _create(self, ask: Ask) -> Answer:
        body = _object(ask)
        if ask.subresource:
            act = pods.bind if ask.subresource == "binding" else pods.evict
            done = act(self._cluster, ask.namespace, ask.name, body, dry_run=ask.dry_run)
            return Answer(_encode(done), 201)
        _check_kind(ask.form, body)
        resource = ask.form.resource
        if resource.namespaced and not ask.namespace:
            raise bad_request("an empty namespace may not be set during creation")
        item = ask.form.stored(body)
        record = self._cluster.create(resource, ask.namespace, item, ask.writer)
        return Answer(ask.form.whole(record), 201)

    def _update(self, ask: Ask) -> Answer:
        body = _object(ask)
        _check_kind(ask.form, body)
        record = self._cluster.get(ask.form.resource, ask.namespace, ask.name)
        if ask.subresource == "finalize":
            return Answer(ask.form.whole(self._finalize(record, body)))
        return self._changed(ask, record, ask.form.stored(body))

    def _changed(
        self, ask: Ask, record: Record, after: Json, then: owners.Owners | None = None
    ) -> Answer:
        if ask.subresource == "resize":
            changed = pods.resize(self._cluster, record, after, ask.writer)
        else:
            changed = self._cluster.change(
                ask.form.resource, record, after, ask.writer, part=ask.subresource, owners=then
            )
        return Answer(ask.form.whole(changed))

    def _finalize(self, record: Record, body: Json) -> Record:
        """Take a namespace's finalizers away; it goes when it has none."""
        spec = {"finalizers": (body.get("spec") or {}).get("finalizers") or []}
        changed = self._cluster.modify(NAMESPACE, record, lambda item: {**item, "spec": spec})
        if deletion.is_due(NAMESPACE, changed.item):
            self._cluster.store.delete(NAMESPACE.storage, record.key)
        return changed

    def _patch(self, ask: Ask) -> Answer:
        if ask.content_type == _APPLY:
            return self._apply(ask)
        change = _PATCHES.get(ask.content_type)
        if change is None:
            raise Refusal(415, "415: Unsupported Media Type", details={})
        try:
            patch = msgspec.json.decode(ask.body)
        except msgspec.DecodeError as error:
            raise bad_request(f"the patch is no JSON: {error}") from None
        record = self._cluster.get(ask.form.resource, ask.namespace, ask.name)
        before = ask.form.stored(record.item)
        after = change(before, ask.form.stored(patch) if isinstance(patch, dict) else patch)
        if not isinstance(after, dict) or not isinstance(after.get("metadata"), dict):
            raise bad_request("the patch leaves no object")
        return self._changed(ask, record, after)

    def _apply(self, ask: Ask) -> Answer:
        """Carry out server-side apply; creates what does not exist."""
        if not ask.query.get("fieldManager"):
            raise bad_request("fieldManager is required for apply patch")
        intent = _yaml(ask.body)
        _check_kind(ask.form, intent)
        resource = ask.form.resource
        try:
            record = self._cluster.get(resource, ask.namespace, ask.name)
        except Refusal:
            if ask.subresource:
                raise not_found(resource.plural, resource.group, ask.name) from None
            record = self._cluster.create(resource, ask.namespace, intent, ask.writer)
            return Answer(ask.form.whole(record), 201)
        force = ask.query.get("force") == "true"
        after, then = owners.applied(record.item, intent, record.owners, ask.manager, force=force)
        return self._changed(ask, record, after, then)

    def _delete(self, ask: Ask) -> Answer:
        resource = ask.form.resource
        record = self._cluster.get(resource, ask.namespace, ask.name)
        how = deletion.options(_options(ask), dict(ask.query))
        deleted, gone = deletion.delete(self._cluster, resource, record, how)
        status = deletion.answer(resource, deleted, gone=gone)
        return Answer(ask.form.whole(deleted) if status is None else _encode(status))

    def _delete_collection(self, ask: Ask) -> Answer:
        resource = ask.form.resource
        prefix = f"{ask.namespace}/" if ask.namespace else ""
        matches = matcher(
            resource.plural,
            ask.query.get("labelSelector", ""),
            ask.query.get("fieldSelector", ""),
        )
        how = deletion.options(_options(ask), dict(ask.query))
        collection = self._cluster.store.collection(resource.storage)
        found = page(collection, self._cluster.store.version, Query(prefix=prefix, matches=matches))
        deleted = [
            deletion.delete(self._cluster, resource, record, how)[0] for record in found.records
        ]
        return Answer(ask.form.list(found.metadata, deleted))


_PATCHES: Final = {
    "application/merge-patch+json": patches.merge_patch,
    "application/strategic-merge-patch+json": patches.strategic_patch,
    "application/json-patch+json": patches.json_patch,
}


def _object(ask: Ask) -> Json:
    """Return the body as an object. Raises: Refusal 400."""
    try:
        if ask.content_type in {"application/yaml", "text/yaml"}:
            return _yaml(ask.body)
        return msgspec.json.decode(ask.body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise bad_request(f"the body is no JSON object: {error}") from None


def _options(ask: Ask) -> Json:
    return _object(ask) if ask.body.strip() else {}


class _PlainLoader(yaml.SafeLoader):
    """Reads YAML without aliases, with which a few lines can stand for any amount."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the next node. Raises: ComposerError if it is an alias."""
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases are not read", mark)
        return super().compose_node(parent, index)


def _yaml(text: bytes) -> Json:
    """Return an object from YAML or JSON. Raises: Refusal 400."""
    try:
        # Most clients send JSON, which is read much faster.
        read = msgspec.json.decode(text)
    except msgspec.DecodeError:
        try:
            read = yaml.load(text, _PlainLoader)  # noqa: S506 - a safe loader
        except yaml.YAMLError as error:
            raise bad_request(f"error decoding YAML: {error}") from None
    if not isinstance(read, dict):
        raise bad_request("the body is no object")
    return read


def _check_kind(form: Form, body: Json) -> None:
    """Refuse an object of another kind than the path's. Raises: Refusal 400."""
    kind, version = body.get("kind"), body.get("apiVersion")
    metadata = body.get("metadata")
    if kind not in {None, form.resource.kind} or version not in {None, form.api_version}:
        raise bad_request(
            f"{kind} in version {version} cannot be handled as a {form.resource.kind} "
            f"of {form.api_version}"
        )
    if metadata is not None and not isinstance(metadata, dict):
        raise bad_request("metadata must be a JSON object")
