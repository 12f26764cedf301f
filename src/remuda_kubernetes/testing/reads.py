"""Getting, listing and watching: in the form that a client accepts (objects, tables, metadata)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

import msgspec

from remuda_kubernetes.testing.cluster import Cluster
from remuda_kubernetes.testing.faults import Faults
from remuda_kubernetes.testing.forms import Answer, Form, event_line, partial
from remuda_kubernetes.testing.lists import Query, check_options, page, too_new
from remuda_kubernetes.testing.selectors import Matcher, matcher
from remuda_kubernetes.testing.settings import sleep_until
from remuda_kubernetes.testing.statuses import Json, Refusal, bad_request
from remuda_kubernetes.testing.store import Collection, Record
from remuda_kubernetes.testing.tables import table
from remuda_kubernetes.testing.watches import Wanted, Watch

# Numbers of 64 bits have no more.
_DIGITS: Final = 19
_TRUE: Final = frozenset({"1", "true"})
_encode: Final = msgspec.json.Encoder().encode
# What selectors of events.k8s.io call the fields of events.
_EVENT_FIELDS: Final = {"regarding": "involvedObject", "reportingController": "reportingComponent"}


class Reads:
    """Answers questions about objects."""

    def __init__(self, cluster: Cluster, faults: Faults) -> None:
        self._cluster = cluster
        self._faults = faults

    def get(self, form: Form, namespace: str, name: str, accept: str) -> Answer:
        """Return one object. Raises: Refusal 404."""
        record = self._cluster.get(form.resource, namespace, name)
        if _is_table(accept):
            metadata = {"resourceVersion": str(record.version)}
            return Answer(_encode(table(form.resource.kind, metadata, [record])))
        if _is_partial(accept):
            return Answer(_encode(partial(record.item)))
        return Answer(form.whole(record))

    def list(self, form: Form, namespace: str, query: Mapping[str, str], accept: str) -> Answer:
        """Return a list or a page of one. Raises: Refusal."""
        version, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
        token = query.get("continue", "")
        check_options(version, match, token)
        found = page(
            self._collection(form),
            self._cluster.store.version,
            Query(
                prefix=_prefix(form, namespace),
                matches=_matches(form, query),
                limit=_number(query.get("limit", "")),
                token=token,
                version=version,
                match=match,
            ),
        )
        if _is_table(accept):
            full = query.get("includeObject") == "Object"
            shown = table(form.resource.kind, found.metadata, found.records, full=full)
            return Answer(_encode(shown))
        if _is_partial(accept):
            return Answer(_encode(_partial_list(found.metadata, found.records)))
        return Answer(form.list(found.metadata, found.records))

    async def wait_for(self, form: Form, version: str) -> None:
        """Wait until a version exists. Raises: Refusal 504 if that takes too long."""
        wanted = _version(version)
        store, clock = self._cluster.store, self._cluster.settings.clock
        if wanted <= store.version:
            return
        await sleep_until(clock, clock.now() + self._cluster.settings.too_new_wait)
        if wanted > store.version:
            raise too_new(wanted, self._collection(form).last_version)

    def watch(
        self,
        form: Form,
        namespace: str,
        query: Mapping[str, str],
        accept: str,
    ) -> AsyncIterator[bytes]:
        """Return the lines of a watch. Raises: Refusal 400, 500."""
        version = query.get("resourceVersion", "")
        _version(version)
        settings = self._cluster.settings
        seconds = _number(query.get("timeoutSeconds", ""))
        wanted = Wanted(
            form=form,
            prefix=_prefix(form, namespace),
            matches=_matches(form, query),
            version=version,
            bookmarks=query.get("allowWatchBookmarks") in _TRUE,
            seconds=float(seconds or settings.watch_seconds),
            initial_events=query.get("sendInitialEvents") in _TRUE,
            render=_rendering(form, accept),
        )
        store = self._cluster.store
        watch = Watch(
            wanted, self._collection(form), settings.clock, self._faults, lambda: store.version
        )
        return watch.lines()

    def _collection(self, form: Form) -> Collection:
        return self._cluster.store.collection(form.resource.storage)


def _prefix(form: Form, namespace: str) -> str:
    return f"{namespace}/" if form.resource.namespaced and namespace else ""


def _matches(form: Form, query: Mapping[str, str]) -> Matcher | None:
    fields = query.get("fieldSelector", "")
    if form.names is not None:
        for new, core in _EVENT_FIELDS.items():
            fields = fields.replace(new, core)
    return matcher(form.resource.plural, query.get("labelSelector", ""), fields)


def _version(text: str) -> int:
    """Return a version that a client names. Raises: Refusal 500."""
    if text and not (text.isascii() and text.isdigit()):
        raise _bad_version(text, "invalid syntax")
    if len(text) > _DIGITS:
        raise _bad_version(text, "value out of range")
    return int(text or 0)


def _bad_version(text: str, why: str) -> Refusal:
    quoted = f'"{text[:100]}"'
    message = (
        f"resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: {why}"
    )
    return Refusal(500, message, reason="")


def _number(text: str) -> int:
    """Return a number of an option; negative ones count as none. Raises: Refusal 400."""
    digits = text.removeprefix("-")
    if not text:
        return 0
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
        raise bad_request(f'strconv.ParseInt: parsing "{text[:40]}": invalid syntax')
    return max(0, int(text))


def _is_table(accept: str) -> bool:
    return "as=Table" in accept


def _is_partial(accept: str) -> bool:
    return "as=PartialObjectMetadata" in accept


def _partial_list(metadata: Json, records: list[Record]) -> Json:
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "items": [partial(each.item) for each in records],
    }


def _rendering(form: Form, accept: str) -> Callable[[str, Record], bytes] | None:
    """Return how objects are shown, if not as they are."""
    if _is_table(accept):

        def as_table(kind: str, record: Record) -> bytes:
            metadata = {"resourceVersion": str(record.version)}
            shown = table(form.resource.kind, metadata, [record])
            return event_line(kind, _encode(shown))

        return as_table
    if _is_partial(accept):
        return lambda kind, record: event_line(kind, _encode(partial(record.item)))
    return None
