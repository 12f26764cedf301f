"""A checker that watches all pods of a server while a test troubles whoever schedules them."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx2

from remuda_kubernetes.objects.quantities import amounts
from tests.kubernetes.end_to_end.calls import Api, Refused
from tests.kubernetes.end_to_end.grounds import wait_until

_ENDED: Final = frozenset({"Succeeded", "Failed"})
_PAUSE_SECONDS: Final = 0.1
_PODS: Final = "/api/v1/pods"
# An event is never further away than this; the server's watch ends by itself then.
_WATCH_SECONDS: Final = 5


class Watchman:
    """Follows each pod from the version at which the context begins.

    ``faults``: what must never be, in words. ``bound``: the node of each pod ever bound, by uid.
    ``ended``: uids of pods that succeeded. ``names``: the name of each pod, by uid.
    """

    def __init__(self, kubeconfig: Path, rooms: dict[str, str]) -> None:
        self._api = Api(kubeconfig, seconds=_WATCH_SECONDS + 10.0)
        self._rooms = {name: amounts({"cpu": cpu})["cpu"] for name, cpu in rooms.items()}
        self._used: dict[str, dict[str, int]] = {name: {} for name in rooms}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchman", daemon=True)
        self._version = ""
        self.failures = 0
        self.faults: list[str] = []
        self.bound: dict[str, str] = {}
        self.ended: set[str] = set()
        self.names: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._list()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._api.close()

    def await_bound(self, count: int) -> None:
        """Wait until so many pods were bound."""
        wait_until(f"{count} pods are bound", lambda: len(self.bound) >= count)

    def await_ended(self, count: int) -> None:
        """Wait until so many pods succeeded."""
        wait_until(f"{count} pods have ended", lambda: len(self.ended) >= count)

    def await_trouble(self) -> None:
        """Wait until the server has failed this watcher, too."""
        before = self.failures
        wait_until("the server fails", lambda: self.failures > before)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if not self._version:
                    self._list()
                self._follow()
            except (httpx2.HTTPError, Refused, ValueError) as error:
                if isinstance(error, Refused) and error.code == 410:
                    self._version = ""
                self.failures += 1
                self._stopping.wait(_PAUSE_SECONDS)

    def _list(self) -> None:
        listed = self._api.get(_PODS)
        there = {pod["metadata"]["uid"] for pod in listed["items"]}
        for of_node in self._used.values():
            for uid in set(of_node) - there:
                del of_node[uid]
        for pod in listed["items"]:
            self._saw("MODIFIED", pod)
        self._version = listed["metadata"]["resourceVersion"]

    def _follow(self) -> None:
        version, seconds = self._version, _WATCH_SECONDS
        with self._api.watch(_PODS, resourceVersion=version, timeoutSeconds=seconds) as events:
            for event in events:
                if self._stopping.is_set():
                    return
                if event["type"] == "ERROR":
                    self._version = ""
                    return
                self._saw(event["type"], event["object"])
                self._version = event["object"]["metadata"]["resourceVersion"]

    def _saw(self, kind: str, pod: dict[str, Any]) -> None:
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName", "")
        self.names[uid] = pod["metadata"]["name"]
        before = self.bound.get(uid, node)
        if before != node:
            self.faults.append(f"{self.names[uid]} was on {before} and is on {node!r}")
        if not node:
            return
        self.bound[uid] = node
        phase = pod["status"].get("phase")
        of_node = self._used[node]
        if kind == "DELETED" or phase in _ENDED:
            of_node.pop(uid, None)
            if phase == "Succeeded":
                self.ended.add(uid)
            return
        of_node[uid] = _cores(pod)
        used = sum(of_node.values())
        if used > self._rooms[node]:
            self.faults.append(f"{node} has {self._rooms[node]}m cores, and {used}m are used")


def _cores(pod: dict[str, Any]) -> int:
    """Return the thousandths of cores that a pod asks for."""
    return sum(
        amounts((each.get("resources") or {}).get("requests")).get("cpu", 0)
        for each in pod["spec"]["containers"]
    )
