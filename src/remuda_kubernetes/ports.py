"""What the running shim asks to be done, whoever does it: the API server, or nobody (a shadow)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from remuda_kubernetes.objects.metadata import ObjectReference
from remuda_kubernetes.objects.outcomes import Outcome
from remuda_kubernetes.objects.pods import Pod, PodCondition
from remuda_kubernetes.objects.storage import PersistentVolume, PersistentVolumeClaim


class Doing(Protocol):
    """Calls about objects; each returns how it ended."""

    async def bind(self, pod: Pod, node: str) -> Outcome:
        """Give a pod its node."""

    async def create_pod(self, namespace: str, body: Mapping[str, Any]) -> Outcome:
        """Create a pod."""

    async def delete_pod(self, pod: Pod, *, grace_seconds: int | None = None) -> Outcome:
        """Delete a pod."""

    async def evict(self, pod: Pod) -> Outcome:
        """Evict a pod."""

    async def patch_pod_conditions(self, pod: Pod, conditions: tuple[PodCondition, ...]) -> Outcome:
        """Set conditions of a pod."""

    async def fail_pod(self, pod: Pod, reason: str, message: str) -> Outcome:
        """Mark a pod as failed."""

    async def annotate_pod(self, pod: Pod, annotations: Mapping[str, str]) -> Outcome:
        """Add annotations to a pod."""

    async def give_volume(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> Outcome:
        """Reserve a volume for a claim."""

    async def select_node(self, claim: PersistentVolumeClaim, node: str) -> Outcome:
        """Say on which node the volume of a claim is needed."""

    async def read(self, path: str) -> Outcome:
        """Read an object."""


class Posting(Protocol):
    """Where events for people go."""

    def post(
        self,
        regarding: ObjectReference,
        reason: str,
        note: str,
        *,
        type: str = "Normal",  # noqa: A002 - the word of the API
        action: str = "Scheduling",
    ) -> None:
        """Tell what happened to an object."""
