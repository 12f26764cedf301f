"""Answers what the state machine wants to be done, and does nothing.

A binding is not answered before the pod has a node, as if the API server were slow. The state
machine keeps the room of the decision meanwhile, and asks again when it has waited in vain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.pods import Pod, PodCondition
from remuda_kubernetes.objects.storage import PersistentVolume, PersistentVolumeClaim

# How long a decision keeps its room if the scheduler in charge does not make it.
HOLD_SECONDS: Final = 30.0

_NOT_BOUND: Final = Outcome(Result.CONFLICT, "the scheduler in charge has not bound it")
_NOTHING: Final = Outcome(Result.REFUSED, "a shadow does nothing")
_DONE: Final = Outcome(Result.DONE)


class Imagined:
    """Calls that are never made.

    Args:
        refused: is told the uid of a pod that would be marked as failed, and why.
        read: reads an object, which changes nothing.
        hold_seconds: how long a binding waits for the scheduler in charge.

    Implements: EXT-172.
    """

    def __init__(
        self,
        refused: Callable[[str, str], None],
        read: Callable[[str], Awaitable[Outcome]],
        *,
        hold_seconds: float,
    ) -> None:
        self._refused = refused
        self._read = read
        self._hold_seconds = hold_seconds
        self._settled: dict[str, asyncio.Event] = {}

    def settle(self, uid: str) -> None:
        """Answer what waits for a pod: it has a node, or is gone."""
        event = self._settled.pop(uid, None)
        if event is not None:
            event.set()

    async def bind(self, pod: Pod, node: str) -> Outcome:
        """Wait until the scheduler in charge has bound a pod."""
        try:
            async with asyncio.timeout(self._hold_seconds):
                await self._settles(pod)
        except TimeoutError:
            return _NOT_BOUND
        return _DONE

    async def evict(self, pod: Pod) -> Outcome:
        """Wait until a pod that was to go has changed: it stays, and nobody asks again."""
        await self._settles(pod)
        return _DONE

    async def delete_pod(self, pod: Pod, *, grace_seconds: int | None = None) -> Outcome:
        """Wait as for an eviction."""
        return await self.evict(pod)

    async def fail_pod(self, pod: Pod, reason: str, message: str) -> Outcome:
        """Tell that a pod would be marked as failed."""
        self._refused(pod.uid, message)
        return _DONE

    async def give_volume(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> Outcome:
        """Let a volume wait for the scheduler in charge."""
        await asyncio.sleep(self._hold_seconds)
        return _NOT_BOUND

    async def select_node(self, claim: PersistentVolumeClaim, node: str) -> Outcome:
        """Let a claim wait for the scheduler in charge."""
        await asyncio.sleep(self._hold_seconds)
        return _NOT_BOUND

    async def create_pod(self, namespace: str, body: Mapping[str, Any]) -> Outcome:
        """Create nothing: the placeholders of a gang are made by the scheduler in charge."""
        return _NOTHING

    async def patch_pod_conditions(self, pod: Pod, conditions: tuple[PodCondition, ...]) -> Outcome:
        """Write nothing."""
        return _DONE

    async def annotate_pod(self, pod: Pod, annotations: Mapping[str, str]) -> Outcome:
        """Write nothing."""
        return _DONE

    async def read(self, path: str) -> Outcome:
        """Read the object of a workload."""
        return await self._read(path)

    async def _settles(self, pod: Pod) -> None:
        await self._settled.setdefault(pod.uid, asyncio.Event()).wait()
