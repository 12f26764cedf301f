"""Objects of a kind, kept equal to those of a server: listed once, then watched for ever."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeAlias

import httpx2

from remuda_kubernetes.testing.client import Api, ApiFailure
from remuda_kubernetes.testing.statuses import Json

# What happened (ADDED, MODIFIED, DELETED) and the object.
Listener: TypeAlias = Callable[[str, Json], None]

_PAGE: Final = "500"
_RETRY_SECONDS: Final = 0.2
_REMEMBERED: Final = 10_000


def key_of(item: Json) -> str:
    """Return the key of an object within its kind: NAMESPACE/NAME, or the name."""
    metadata = item["metadata"]
    return (
        f"{metadata['namespace']}/{metadata['name']}"
        if "namespace" in metadata
        else metadata["name"]
    )


class Mirror:
    """The objects at a path. Listeners are told of changes after ``items`` has them."""

    def __init__(self, api: Api, path: str, **query: str) -> None:
        self._api = api
        self._path = path
        self._query = query
        self._gone: OrderedDict[str, None] = OrderedDict()
        self.items: dict[str, Json] = {}
        self.listeners: list[Listener] = []
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """Follow the server until cancelled; what it refuses or breaks is tried again."""
        while True:
            with contextlib.suppress(ApiFailure, httpx2.HTTPError):
                version = await self._listed()
                self.synced.set()
                await self._watch(version)
            await asyncio.sleep(_RETRY_SECONDS)

    def put(self, item: Json) -> None:
        """Take over what the server answered to a write, before the watch delivers it."""
        known = self.items.get(key_of(item))
        if item["metadata"]["uid"] in self._gone or (known and _version(known) > _version(item)):
            return
        self.items[key_of(item)] = item

    async def _listed(self) -> str:
        """Read everything, pass on what is different, and return the version to go on from."""
        found: dict[str, Json] = {}
        token = ""
        while True:
            page = {"limit": _PAGE, **({"continue": token} if token else {})}
            listed = await self._api.get(self._path, **self._query, **page)
            found.update((key_of(each), each) for each in listed["items"])
            token = listed["metadata"].get("continue", "")
            if not token:
                break
        for key in self.items.keys() - found.keys():
            self._tell("DELETED", self.items[key])
        for key, item in found.items():
            known = self.items.get(key)
            if known is None or _version(known) != _version(item):
                self._tell("ADDED" if known is None else "MODIFIED", item)
        return str(listed["metadata"]["resourceVersion"])

    async def _watch(self, version: str) -> None:
        """Tell every change. A watch that ends is begun again where it was."""
        while True:
            async for event in self._api.watch(self._path, version, **self._query):
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self._tell(event["type"], event["object"])
            await asyncio.sleep(0)

    def _tell(self, kind: str, item: Json) -> None:
        key = key_of(item)
        if kind == "DELETED":
            self.items.pop(key, None)
            self._gone[item["metadata"]["uid"]] = None
            if len(self._gone) > _REMEMBERED:
                self._gone.popitem(last=False)
        else:
            self.items[key] = item
        for listener in self.listeners:
            listener(kind, item)


def _version(item: Json) -> int:
    """Return the version of an object, for comparing two of the same server."""
    return int(item["metadata"]["resourceVersion"])


class Loop:
    """Keys to look at again, each once however often it was named.

    Errors of the server put a key back, after a while.
    """

    def __init__(self) -> None:
        self._keys: OrderedDict[str, None] = OrderedDict()
        self._ready = asyncio.Event()

    def add(self, key: str) -> None:
        """Look at a key as soon as possible."""
        self._keys[key] = None
        self._ready.set()

    async def take(self) -> str:
        """Return the next key."""
        while not self._keys:
            self._ready.clear()
            await self._ready.wait()
        return self._keys.popitem(last=False)[0]

    def later(self, key: str, seconds: float = _RETRY_SECONDS) -> None:
        """Look at a key after a while."""
        asyncio.get_running_loop().call_later(seconds, self.add, key)
