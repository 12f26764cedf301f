"""The resource managers and the states of their connections (70, "RM states").

Kept by the core thread, read by any: an edge has to know whether requests are taken, an operator
wants to see who is away since when.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import field, replace
from enum import Enum
from typing import Final

from remuda.base.message import message
from remuda.core.messages.commands import RegisterResourceManager

# How an RM is connected, as extension.proto calls it.
IN_PROCESS: Final = "in-process"
STREAMS: Final = "streams"
SESSION: Final = "session"

# RMs that are gone and still shown; of more the first that went is forgotten.
STOPPED_LIMIT: Final = 64


class RmState(Enum):
    """The state of an RM; the names are those of extension.proto."""

    INIT = "INIT"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


@message
class RmStatus:
    """One RM as it is now, or was when it stopped.

    ``since_ns``: Unix time of the last change of ``state``. ``cause``: why it is PAUSED or STOPPED,
    in words. ``transport``: one of the three above.
    """

    rm_id: str
    state: RmState
    since_ns: int
    transport: str
    cause: str = ""
    version: str = ""
    policy_group: str = ""
    build_info: Mapping[str, str] = field(default_factory=dict)


class Roster:
    """All RMs that are registered, are about to be, or were.

    Only ``announce`` and ``settle`` may change it on any thread. Rules: RM-2, RM-14, RM-15, RM-16,
    RM-17, RM-18, RM-19.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, RmStatus] = {}
        self._coming: dict[str, tuple[int, RmStatus]] = {}

    # ------------------------------------------------------------------ any thread

    def announce(self, rm_id: str, transport: str, now_ns: int) -> None:
        """A registration is on its way: requests are refused until it is answered.

        Implements: RM-2.
        """
        with self._lock:
            count = self._coming[rm_id][0] if rm_id in self._coming else 0
            self._coming[rm_id] = (count + 1, RmStatus(rm_id, RmState.INIT, now_ns, transport))

    def settle(self, rm_id: str) -> None:
        """A registration announced before was answered, or will never be."""
        with self._lock:
            if rm_id in self._coming:
                count, status = self._coming.pop(rm_id)
                if count > 1:
                    self._coming[rm_id] = (count - 1, status)

    def registered(self, rm_id: str) -> bool:
        """Whether requests of this RM are taken now. Implements: SI-1. Rules: RM-2."""
        with self._lock:
            return rm_id not in self._coming and self._connected(rm_id)

    def find(self, rm_id: str) -> RmStatus | None:
        """Return what is known of an RM, None if it never registered or that is forgotten."""
        with self._lock:
            return self._find(rm_id)

    def all(self) -> tuple[RmStatus, ...]:
        """Return what is known of each RM, by ID."""
        with self._lock:
            names = sorted({*self._known, *self._coming})
            found = [self._find(rm_id) for rm_id in names]
        return tuple(status for status in found if status is not None)

    # ------------------------------------------------------------------ core thread

    def run(self, command: RegisterResourceManager, transport: str, now_ns: int) -> None:
        """A registration succeeded."""
        status = RmStatus(
            rm_id=command.rm_id,
            state=RmState.RUNNING,
            since_ns=now_ns,
            transport=transport,
            version=command.version,
            policy_group=command.policy_group,
            build_info=command.build_info,
        )
        with self._lock:
            self._known[command.rm_id] = status

    def pause(self, rm_id: str, cause: str, now_ns: int) -> bool:
        """The connection is lost; False if that is known or there was none. Rules: RM-15."""
        return self._move(rm_id, (RmState.RUNNING,), RmState.PAUSED, cause, now_ns)

    def resume(self, rm_id: str, now_ns: int) -> bool:
        """The connection is back; False if it was not lost. Rules: RM-15."""
        return self._move(rm_id, (RmState.PAUSED,), RmState.RUNNING, "", now_ns)

    def stop(self, rm_id: str, cause: str, now_ns: int) -> bool:
        """The RM is gone and stays visible; False if it was before. Rules: RM-17."""
        moved = self._move(rm_id, (RmState.RUNNING, RmState.PAUSED), RmState.STOPPED, cause, now_ns)
        if moved:
            self._forget_old()
        return moved

    def _move(
        self, rm_id: str, left: tuple[RmState, ...], entered: RmState, cause: str, now_ns: int
    ) -> bool:
        with self._lock:
            status = self._known.get(rm_id)
            if status is None or status.state not in left:
                return False
            # To the end, so that those that stopped stand in the order in which they did.
            del self._known[rm_id]
            self._known[rm_id] = replace(status, state=entered, since_ns=now_ns, cause=cause)
            return True

    def _forget_old(self) -> None:
        with self._lock:
            gone = [each for each in self._known.values() if each.state is RmState.STOPPED]
            for status in gone[:-STOPPED_LIMIT]:
                del self._known[status.rm_id]

    def _connected(self, rm_id: str) -> bool:
        status = self._known.get(rm_id)
        return status is not None and status.state is not RmState.STOPPED

    def _find(self, rm_id: str) -> RmStatus | None:
        """Return the state to show: one that is about to register is INIT, whatever it was."""
        known = self._known.get(rm_id)
        if rm_id not in self._coming:
            return known
        coming = self._coming[rm_id][1]
        if known is None:
            return coming
        return replace(
            known, state=RmState.INIT, since_ns=coming.since_ns, transport=coming.transport
        )
