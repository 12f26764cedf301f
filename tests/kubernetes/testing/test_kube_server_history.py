"""Laws of the store: a watch leads from any list to any later one, and the past can be listed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remuda_kubernetes.testing.discovery import Discovery
from remuda_kubernetes.testing.faults import Faults
from remuda_kubernetes.testing.owners import Owners
from remuda_kubernetes.testing.selectors import matcher
from remuda_kubernetes.testing.settings import Settings
from remuda_kubernetes.testing.store import Store
from remuda_kubernetes.testing.watches import Wanted, Watch

NAME = ("", "configmaps")
NOBODY = Owners("test", "v1", {})
# A write (key, content) or, without content, a deletion.
operations = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from([None, "0", "1"]), st.integers(0, 2)),
    max_size=30,
)
State = dict[str, Any]


def played(store: Store, steps: list[tuple[str, str | None, int]]) -> dict[int, State]:
    """What there was at each version."""
    collection = store.collection(NAME)
    states = {store.version: state(store)}
    for name, label, number in steps:
        key = f"x/{name}"
        if label is not None:
            metadata = {"name": name, "namespace": "x", "labels": {"l": label}}
            store.write(NAME, key, {"metadata": metadata, "data": {"n": str(number)}}, NOBODY)
        elif collection.get(key) is not None:
            store.delete(NAME, key)
        states[store.version] = state(store)
    return states


def state(store: Store) -> State:
    now = store.collection(NAME).now
    assert now.keys == sorted(now.records)
    return {key: now.records[key].item for key in now.keys}


def watched(store: Store, version: int, selector: str) -> list[dict[str, Any]]:
    """All events of a watch from a version until now."""
    settings = Settings()
    form = Discovery(settings).forms["", "v1", "configmaps"]
    wanted = Wanted(
        form=form,
        prefix="x/",
        matches=matcher("configmaps", selector, ""),
        version=str(version),
        seconds=0.0,
    )
    collection = store.collection(NAME)
    watch = Watch(wanted, collection, settings.clock, Faults(store), lambda: store.version)

    async def read() -> bytes:
        return b"".join([chunk async for chunk in watch.lines()])

    return [json.loads(line) for line in asyncio.run(read()).splitlines()]


@given(operations)
def test_every_state_can_be_listed_as_it_was(steps: list[tuple[str, str | None, int]]) -> None:
    store = Store(history=1000)
    for version, expected in played(store, steps).items():
        then = store.collection(NAME).at(version)
        assert {key: then.records[key].item for key in then.keys} == expected


@given(operations, st.integers(0, 30), st.sampled_from(["", "l=1", "l!=1"]))
def test_a_watch_leads_from_any_list_to_the_last(
    steps: list[tuple[str, str | None, int]], begin: int, selector: str
) -> None:
    store = Store(history=1000)
    states = played(store, steps)
    versions = sorted(states)
    version = versions[min(begin, len(versions) - 1)]
    matches = matcher("configmaps", selector, "") or (lambda item: True)
    now = {key: item for key, item in states[version].items() if matches(item)}
    last = version
    for event in watched(store, version, selector):
        item = event["object"]
        key = f"x/{item['metadata']['name']}"
        assert int(item["metadata"]["resourceVersion"]) > last
        last = int(item["metadata"]["resourceVersion"])
        assert (key in now) is (event["type"] != "ADDED")
        if event["type"] == "DELETED":
            # The content is the last that the watcher knew.
            assert item["data"] == now.pop(key)["data"]
        else:
            now[key] = {name: item[name] for name in ("metadata", "data")}
    assert now == {key: item for key, item in state(store).items() if matches(item)}


@given(operations)
def test_a_forgotten_past_is_said_to_be_forgotten(
    steps: list[tuple[str, str | None, int]],
) -> None:
    store = Store(history=1000)
    states = played(store, steps)
    store.compact()
    store.write(NAME, "x/new", {"metadata": {"name": "new", "namespace": "x"}}, NOBODY)
    for version in states:
        events = watched(store, version, "")
        forgotten = version < max(states)
        assert (events[0]["type"] == "ERROR") is forgotten
        assert len(events) == 1
