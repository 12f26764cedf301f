"""The server answers a recorded script of requests as the real server did (Kubernetes 1.20).

Compared are whole answers and whole events of watches, versions of objects included. Left out are
identities, moments, the owners of fields, and texts that a Go program makes of its own types.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any, Final

import httpx2
import pytest

from remuda_kubernetes.testing.server import ApiServer
from remuda_kubernetes.testing.settings import ManualClock, Settings
from tests.kubernetes.testing.recordings import (
    MANAGER,
    Names,
    comparable,
    exchanges,
    left_over,
    needs_recordings,
    watches,
)
from tests.waiting import wait

pytestmark = needs_recordings

TOKEN: Final = "of-the-recording"
FIRST_VERSION: Final = 250
# The path, the query and the start (in the server's seconds) of each recorded watch. The server
# looks for bookmarks once a second, so the start decides whether one or two come before the end.
WATCHES: Final[dict[str, tuple[str, dict[str, str], float]]] = {
    "pods-watch-from-rv": (
        "/api/v1/namespaces/alicorn-rec2/pods",
        {"resourceVersion": "250", "timeoutSeconds": "80", "allowWatchBookmarks": "true"},
        0.0,
    ),
    "pods-watch-rv0": (
        "/api/v1/pods",
        {"resourceVersion": "0", "timeoutSeconds": "20", "allowWatchBookmarks": "true"},
        0.125,
    ),
    "pods-watch-fieldsel-unscheduled": (
        "/api/v1/namespaces/alicorn-rec2/pods",
        {"resourceVersion": "250", "timeoutSeconds": "20", "fieldSelector": "spec.nodeName="},
        0.125,
    ),
    "nodes-watch": ("/api/v1/nodes", {"resourceVersion": "250", "timeoutSeconds": "20"}, 0.125),
}
ACCEPT: Final = {
    "pod-list-table": "application/json;as=Table;v=v1;g=meta.k8s.io",
    "pod-list-partial-metadata": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
}
AUTHORIZATION: Final[dict[str, dict[str, str]]] = {
    "unauthorized": {"authorization": "Bearer wrong"},
    "forbidden-anonymous": {},
}
# Before these steps others had written so often, and the history had been forgotten.
COMPACTED: Final = {"watch-rv-compacted": 297, "list-continue-expired": 430}
WRITTEN: Final = {"watch-timeout-empty": 540}
# The rest of these texts shows Go types, or bytes of a Go decoder.
GO_TEXTS: Final = {
    "pod-create-bad-quantity": "",
    "pod-patch-nodeName-forbidden": 'Pod "p1" is invalid: spec: Forbidden: pod updates may not',
    "pod-patch-resources-forbidden": 'Pod "p1" is invalid: spec: Forbidden: pod updates may not',
    "pod-list-continue-bad": "invalid continue token: continue key is not valid",
    "evict-no-pdb-v1-body": 'Eviction in version "v1" cannot be handled as a Eviction: no kind',
}
DISCOVERY: Final = frozenset(
    {"version", "discovery-api", "discovery-apis", "discovery-core-v1", "discovery-policy-v1beta1"}
)


class Replay:
    """One run of the script: what was answered and what the watches saw."""

    def __init__(self, server: ApiServer, clock: ManualClock) -> None:
        self.server = server
        self.clock = clock
        self.names = Names()
        self.answers: dict[str, tuple[int, Any]] = {}
        self.expected: dict[str, Any] = {}
        self.events: dict[str, list[dict[str, Any]]] = {name: [] for name in WATCHES}
        self._ended: set[str] = set()
        self.client = httpx2.Client(base_url=server.address, timeout=60)

    def run(self) -> None:
        """Play the script as it was recorded: watches first, what was compacted at the end."""
        for name in WATCHES:
            self._open(name)
        script = exchanges()
        late = next(n for n, each in enumerate(script) if each["step"] in COMPACTED)
        for exchange in script[:late]:
            self._step(exchange)
        while len(self._ended) < len(WATCHES):
            self.clock.advance(0.125)
            self.server.settle()
        for exchange in script[late:]:
            self._step(exchange)

    def _headers(self, step: str = "") -> dict[str, str]:
        own = {"authorization": f"Bearer {TOKEN}"}
        return {
            "user-agent": MANAGER,
            "accept": ACCEPT.get(step, "application/json"),
            **AUTHORIZATION.get(step, own),
        }

    def _open(self, name: str) -> None:
        path, query, start = WATCHES[name]
        self.clock.advance(max(0.0, start - self.clock.now()))
        begun = threading.Event()

        def read() -> None:
            with self.client.stream(
                "GET", path, params={**query, "watch": "1"}, headers=self._headers()
            ) as stream:
                assert stream.status_code == 200
                assert stream.headers["content-type"] == "application/json"
                assert stream.headers["transfer-encoding"] == "chunked"
                begun.set()
                for line in stream.iter_lines():
                    self.events[name].append(json.loads(line))
            self._ended.add(name)

        threading.Thread(target=read, name=name, daemon=True).start()
        assert begun.wait(60)
        self.server.settle()

    def _step(self, exchange: dict[str, Any]) -> None:
        step = exchange["step"]
        self._history(step)
        recorded = exchange["response"]["body"]
        if step == "watch-timeout-empty":
            answer = self._timed_watch(exchange["request"])
        else:
            answer = self._send(step, exchange["request"])
        text = answer.text
        read = json.loads(text) if text else []
        self.names.learn(recorded, read)
        self.answers[step] = (answer.status_code, read)
        self.expected[step] = self.names.translated(recorded)

    def _send(self, step: str, request: dict[str, Any]) -> httpx2.Response:
        body = self.names.translated(request["body"])
        headers = self._headers(step)
        if request["content_type"]:
            headers["content-type"] = request["content_type"]
        return self.client.request(
            request["method"],
            self.names.translated(request["path"]),
            params=self.names.translated(request["query"]),
            content=body if body is None or isinstance(body, str) else json.dumps(body),
            headers=headers,
        )

    def _timed_watch(self, request: dict[str, Any]) -> httpx2.Response:
        found: list[httpx2.Response] = []
        reader = threading.Thread(
            target=lambda: found.append(self._send("", request)), name="timed", daemon=True
        )
        reader.start()
        wait(lambda: bool(self.server.run(lambda: len(self.server.faults.watches))))
        self.clock.advance(2.0)
        reader.join(60)
        return found[0]

    def _history(self, step: str) -> None:
        """Let others write, and the server forget, what they had when the step was recorded."""
        until = COMPACTED.get(step) or WRITTEN.get(step)
        if until is None:
            return
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
        number = 0
        while self.server.run(lambda: self.server.cluster.store.version) < until:
            number += 1
            body = {"metadata": {"name": f"of-others-{until}-{number}"}}
            self.client.post(path, json=body, headers=self._headers()).raise_for_status()
        if step in COMPACTED:
            self.server.faults.compact()


@pytest.fixture(scope="module", name="replay")
def _replay() -> Iterator[Replay]:
    clock = ManualClock()
    settings = Settings(minor=20, token=TOKEN, clock=clock, too_new_wait=0.0)
    with ApiServer(settings) as server:
        server.load(left_over(), keep_versions=True)
        server.run(lambda: setattr(server.cluster.store, "version", FIRST_VERSION))
        replay = Replay(server, clock)
        with replay.client:
            replay.run()
        yield replay


def steps() -> list[str]:
    """The recorded steps, if the recordings are there."""
    try:
        return [each["step"] for each in exchanges()]
    except FileNotFoundError:
        return []


def test_all_recorded_exchanges_and_events_are_replayed(replay: Replay) -> None:
    assert len(replay.answers) == 87
    assert sum(map(len, watches().values())) == 77


@pytest.mark.parametrize("step", steps())
def test_a_recorded_request_gets_the_recorded_status(replay: Replay, step: str) -> None:
    recorded = next(each for each in exchanges() if each["step"] == step)
    assert replay.answers[step][0] == recorded["response"]["status"]


@pytest.mark.parametrize("step", [each for each in steps() if each not in DISCOVERY])
def test_a_recorded_request_gets_the_recorded_answer(replay: Replay, step: str) -> None:
    expected, found = comparable(replay.expected[step]), comparable(replay.answers[step][1])
    if step in GO_TEXTS:
        expected, found = without_go_texts(expected), without_go_texts(found)
        assert replay.answers[step][1]["message"].startswith(GO_TEXTS[step])
    if step == "pod-list-table":
        # Descriptions are paragraphs of the API reference, ages depend on the moment.
        expected, found = without_prose(expected), without_prose(found)
    assert found == expected


def test_discovery_has_what_was_recorded_of_the_kinds_that_the_server_keeps(
    replay: Replay,
) -> None:
    for step in ("discovery-core-v1", "discovery-policy-v1beta1"):
        expected, found = comparable(replay.expected[step]), comparable(replay.answers[step][1])
        recorded = {each["name"]: each for each in expected.pop("resources")}
        offered = {each["name"]: each for each in found.pop("resources")}
        assert found == expected
        assert offered == {name: recorded[name] for name in offered}


def test_discovery_has_the_recorded_groups_and_versions(replay: Replay) -> None:
    recorded = {each["name"]: each for each in replay.expected["discovery-apis"]["groups"]}
    for group in replay.answers["discovery-apis"][1]["groups"]:
        expected = recorded[group["name"]]
        assert group["preferredVersion"] == expected["preferredVersion"]
        assert [each for each in group["versions"] if each not in expected["versions"]] == []
    assert replay.answers["discovery-api"][1]["versions"] == ["v1"]
    assert replay.answers["version"][1].keys() == replay.expected["version"].keys()


@pytest.mark.parametrize("name", WATCHES)
def test_a_recorded_watch_sees_the_recorded_events(replay: Replay, name: str) -> None:
    expected = [event_of(replay.names.translated(each)) for each in watches()[name]]
    assert [event_of(each) for each in replay.events[name]] == expected


def event_of(event: dict[str, Any]) -> tuple[str, Any]:
    """A watch event to compare; of a bookmark the version counts."""
    if event["type"] == "BOOKMARK":
        return "BOOKMARK", event["object"]["metadata"]["resourceVersion"]
    return event["type"], comparable(event["object"])


def without_go_texts(status: dict[str, Any]) -> dict[str, Any]:
    """A Status without its messages, apart from the fields that they are about."""
    kept = {name: value for name, value in status.items() if name != "message"}
    details = dict(kept.get("details") or {})
    if "causes" in details:
        details["causes"] = [
            {name: value for name, value in each.items() if name != "message"}
            for each in details["causes"]
        ]
        kept["details"] = details
    return kept


def without_prose(table: dict[str, Any]) -> dict[str, Any]:
    """A table without descriptions of columns and without ages."""
    columns = [{**each, "description": ""} for each in table["columnDefinitions"]]
    age = [each["name"] for each in columns].index("Age")
    rows = [
        {**row, "cells": [cell for place, cell in enumerate(row["cells"]) if place != age]}
        for row in table["rows"]
    ]
    return {**table, "columnDefinitions": columns, "rows": rows}
