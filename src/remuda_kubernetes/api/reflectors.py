"""All reflectors of the shim: which kinds, from where, with which selectors; and their barrier."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from remuda_kubernetes.api.connection import Requests
from remuda_kubernetes.api.discovery import Served
from remuda_kubernetes.api.pace import Chance, Clock, SystemClock, system_chance
from remuda_kubernetes.api.reflector import Deliver, Reflector, ReflectorSettings
from remuda_kubernetes.api.telling import Telling
from remuda_kubernetes.objects.kinds import CONFIG_MAP, POD, WATCHED, Kind
from remuda_kubernetes.objects.metadata import KubernetesObject

# How often it is looked whether a reflector has ended by a fault.
_LOOK_SECONDS: Final = 1.0
# What the server knew when a watch began comes at once: it is over when nothing comes for so long,
# or, where something always comes, after some tries.
_QUIET_SECONDS: Final = 0.1
_QUIET_TRIES: Final = 10

# Pods that ended need no room; a pod that ends while it is watched comes as deleted.
LIVE_PODS: Final = MappingProxyType(
    {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
)


class Reflectors:
    """A reflector for each kind that the server has, all delivering to one callback.

    ConfigMaps are read from ``namespace`` only: those of others are none of the shim's business.
    """

    def __init__(
        self,
        requests: Requests,
        served: Served,
        deliver: Deliver,
        *,
        namespace: str,
        kinds: Iterable[Kind] = WATCHED,
        ended_pods: bool = False,
        settings: ReflectorSettings | None = None,
        clock: Clock | None = None,
        chance: Chance | None = None,
    ) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._clock: Final = clock or SystemClock()
        telling = Telling(self._clock)
        self.by_kind: Final[Mapping[Kind, Reflector[KubernetesObject]]] = {
            kind: Reflector(
                requests,
                kind,
                served.path(kind, namespace if kind is CONFIG_MAP else ""),
                deliver,
                clock=self._clock,
                chance=chance or system_chance(),
                selectors=LIVE_PODS if kind is POD and not ended_pods else None,
                settings=settings,
                telling=telling,
            )
            for kind in kinds
            if served.has(kind)
        }

    def start(self) -> None:
        """Begin; the kinds are read at the same time."""
        assert not self._tasks
        self._tasks = [
            asyncio.create_task(each.run(), name=f"reflector of {each.kind.name}")
            for each in self.by_kind.values()
        ]

    async def wait_synced(self) -> None:
        """Wait until the first list of every kind was delivered.

        Raises: what a reflector raised, which is a fault of ours or of the callback.
        """
        await self._all([each.synced for each in self.by_kind.values()])

    async def refresh(self) -> None:
        """Open all watches anew, and wait until they have told what the server knows.

        A watch that is open for long may have been silent for a while without our knowing it. From
        the answer to a new one on, the changes since the last known version come at once. Is
        called after ``wait_synced``. Raises: what a reflector raised.
        """
        await self.aclose()
        for each in self.by_kind.values():
            each.heard.clear()
        self.start()
        await self._all([each.heard for each in self.by_kind.values()])
        for _ in range(_QUIET_TRIES):
            before = self._events()
            await self._clock.sleep(_QUIET_SECONDS)
            if self._events() == before:
                break

    def _events(self) -> int:
        return sum([each.figures.events for each in self.by_kind.values()])

    async def _all(self, wanted: Iterable[asyncio.Event]) -> None:
        """Wait for all of these. Raises: what a reflector raised."""

        async def wait() -> None:
            for each in wanted:
                await each.wait()

        waiting = asyncio.create_task(wait())
        try:
            await asyncio.wait([waiting, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
            self.check()
        finally:
            waiting.cancel()

    async def watch_over(self) -> None:
        """Wait for ever. Raises: what a reflector raised."""
        while True:
            self.check()
            await self._clock.sleep(_LOOK_SECONDS)

    def check(self) -> None:
        """Raise what a reflector raised, if one did."""
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.result()

    @property
    def unsynced(self) -> dict[str, str]:
        """The kinds whose first list is not complete, and why, for readiness."""
        return {
            kind.name: each.problem or "is being listed"
            for kind, each in self.by_kind.items()
            if not each.synced.is_set()
        }

    @property
    def problems(self) -> dict[str, str]:
        """What fails at the moment, by name of kind."""
        return {k.name: each.problem for k, each in self.by_kind.items() if each.problem}

    async def aclose(self) -> None:
        """End all; nothing is delivered afterwards."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
