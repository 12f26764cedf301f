"""The recordings of a real API server (1.20), and what of them cannot be the same twice."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

DATA: Final = Path(os.environ.get("REMUDA_DATA") or Path(__file__).parents[4] / "shared" / "data")
FOLDER: Final = DATA / "k8s-apiserver-recordings"
MANAGER: Final = "python-httpx/0.28.1"

# The days of the recording; other times were written by its client and are the same again.
_RECORDED_DAY: Final = "2026-11-21T"
_NOW: Final = re.compile(r"20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_TIMES: Final = frozenset(
    {"creationTimestamp", "deletionTimestamp", "lastTransitionTime", "lastProbeTime"}
)
needs_recordings: Final = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"the recordings are not there: {FOLDER}"
)


@cache
def exchanges() -> list[dict[str, Any]]:
    """All requests and their answers, in order."""
    lines = (FOLDER / "requests.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@cache
def watches() -> dict[str, list[dict[str, Any]]]:
    """The events of each watch, in order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in (FOLDER / "watches.jsonl").read_text().splitlines():
        entry = json.loads(line)
        events = found.setdefault(entry["watch"], [])
        if "event" in entry:
            events.append(entry["event"])
    return found


def left_over() -> list[dict[str, Any]]:
    """What an earlier run had left on the server: the watch from version 0 begins with it."""
    old = "alicorn-rec"
    begun = [each["object"] for each in watches()["pods-watch-rv0"]]
    pods = [each for each in begun if each["metadata"].get("namespace") == old]
    namespace = {"kind": "Namespace", "metadata": {"name": old, "resourceVersion": "200"}}
    return [namespace, *pods]


class Names:
    """What the recorded run called things, and what they are called now."""

    def __init__(self) -> None:
        self._now: dict[str, str] = {}

    def learn(self, recorded: Any, answered: Any) -> None:
        """Note identity, generated name and token of an answer."""
        if not isinstance(recorded, dict) or not isinstance(answered, dict):
            return
        old, new = recorded.get("metadata"), answered.get("metadata")
        if isinstance(old, dict) and isinstance(new, dict):
            for field in ("uid", "name", "continue"):
                if old.get(field) and new.get(field):
                    self._now.setdefault(old[field], new[field])
        uid = (recorded.get("details") or {}).get("uid")
        if uid:
            self._now.setdefault(uid, answered["details"]["uid"])

    def translated(self, value: Any) -> Any:
        """Return a recorded value with the names of now."""
        if isinstance(value, dict):
            return {name: self.translated(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.translated(inner) for inner in value]
        if isinstance(value, str):
            for old, new in self._now.items():
                if old != new and old in value:
                    value = value.replace(old, new)
        return value


def comparable(value: Any, field: str = "") -> Any:
    """Return a value without field owners, and with moments of the run replaced by a word."""
    if isinstance(value, dict):
        return {
            name: comparable(inner, name)
            for name, inner in value.items()
            if name not in {"managedFields", "storageVersionHash"}
        }
    if isinstance(value, list):
        return [comparable(inner, field) for inner in value]
    if field in _TIMES and isinstance(value, str) and not value.startswith("2026-01-01"):
        assert _NOW.fullmatch(value), value
        return "a moment of the run"
    return value
