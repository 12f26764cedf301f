"""Collects effects in their order; neighbouring asks travel together, and so do releases."""

from __future__ import annotations

from typing import Final

from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.shim.effects import Effect, PostEvent, ToScheduler

# Entries of one request.
_PER_REQUEST: Final = 1_000


class Outbox:
    """Effects to come, in order. ``rm_id``: in whose name requests are made."""

    def __init__(self, rm_id: str) -> None:
        self.rm_id = rm_id
        self._effects: list[Effect] = []
        self._open: si.AllocationRequest | None = None

    def put(self, effect: Effect) -> None:
        """Add an effect. An event for people does not part requests that can travel together."""
        if not isinstance(effect, PostEvent):
            self._close()
        self._effects.append(effect)

    def allocation(self, entry: si.Allocation) -> None:
        """Add an ask, or the report of an allocation that runs."""
        self._request(releases=False).allocations.append(entry)

    def release(self, entry: si.AllocationRelease) -> None:
        """Add a release, or the confirmation of one."""
        self._request(releases=True).releases.allocationsToRelease.append(entry)

    def take(self) -> list[Effect]:
        """Return the effects and forget them."""
        self._close()
        taken, self._effects = self._effects, []
        return taken

    def _request(self, *, releases: bool) -> si.AllocationRequest:
        """Return the open request, if it takes such entries, or a new one.

        A release and a new ask may have one key, so their order counts.
        """
        request = self._open
        if request is not None:
            released = len(request.releases.allocationsToRelease)
            full = released + len(request.allocations) >= _PER_REQUEST
            if full or releases != bool(released):
                self._close()
        if self._open is None:
            self._open = si.AllocationRequest(rmID=self.rm_id)
        return self._open

    def _close(self) -> None:
        if self._open is not None:
            self._effects.append(ToScheduler(self._open))
            self._open = None
