"""Records of the audit log about calls: a deed with its outcome, and the lives of registrations.

A registration is more than the call that made it: it can end another one, and it can end by itself
when its connection stays away. So this module remembers from where each resource manager came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from remuda.edges.grpc.access import caller
from remuda.runtime.roster import RmState, Roster
from remuda.telemetry.audit.records import (
    DONE,
    REFUSED,
    REGISTER,
    REPLACE,
    UNKNOWN,
    UNREGISTER,
    Audit,
    Record,
)


@dataclass(slots=True)
class Deed:
    """A deed in progress; the code that performs it fills in the fields.

    ``target``: the object; "" for the method that was called. ``refusal``: "" if it succeeds.
    """

    what: str
    target: str = ""
    refusal: str = ""
    replaced: str = ""


@contextmanager
def recorded(what: str, *, rm_id: str = "", target: str = "") -> Iterator[Deed]:
    """Record what the caller does inside, when it is over: done, or refused by an error.

    Rules: EXT-26.
    """
    deed = Deed(what, target)
    outcome = UNKNOWN
    try:
        yield deed
        outcome = REFUSED if deed.refusal else DONE
    except asyncio.CancelledError:
        raise
    except Exception as error:
        outcome, deed.refusal = REFUSED, str(error)
        raise
    finally:
        caller().record(
            deed.what,
            outcome,
            rm_id=rm_id,
            target=deed.target,
            reason=deed.refusal,
            replaced=deed.replaced,
        )


class Lives:
    """Records how registrations begin and end. Event loop, but for ``over``.

    Args:
        roster: knows who is registered.
        audit: takes the records.

    Rules: EXT-26, RM-9, RM-13, RM-17, RM-18.
    """

    def __init__(self, roster: Roster, audit: Audit) -> None:
        self._roster = roster
        self._audit = audit
        self._connections: dict[str, str] = {}
        self._changing: dict[str, None] = {}

    @contextmanager
    def registering(self, rm_id: str, transport: str) -> Iterator[None]:
        """An RM registers inside; it may replace another registration, even if it is refused."""
        with self._change(rm_id), recorded(REGISTER, rm_id=rm_id) as deed:
            deed.replaced = self._present(rm_id)
            if deed.replaced:
                deed.what = REPLACE
            self._connections.pop(rm_id, None)
            yield
            self.carried(rm_id, transport)

    @contextmanager
    def unregistering(self, rm_id: str) -> Iterator[None]:
        """An RM is removed inside."""
        with self._change(rm_id), recorded(UNREGISTER, rm_id=rm_id) as deed:
            deed.replaced = self._present(rm_id)
            yield
            self._connections.pop(rm_id, None)

    def carried(self, rm_id: str, transport: str) -> None:
        """Remember that the caller carries a registration from now on."""
        now = caller()
        who = f" of {now.who!r}" if now.who else ""
        self._connections[rm_id] = f"{transport}{who} from {now.origin}"

    def over(self, rm_id: str) -> None:
        """A registration is over; record it unless a call of this edge ended it. Core thread."""
        if rm_id in self._changing:
            return
        connection = self._connections.pop(rm_id, "")
        status = self._roster.find(rm_id)
        reason = "ended inside this process"
        if status is not None and status.state is RmState.PAUSED:
            reason = f"stayed away: {status.cause}"
        elif status is not None and status.state is RmState.STOPPED:
            reason = status.cause
        self._audit(Record(UNREGISTER, rm_id=rm_id, reason=reason, replaced=connection))

    def _present(self, rm_id: str) -> str:
        """Return the connection of a registration that is in force, "" if there is none."""
        status = self._roster.find(rm_id)
        if status is None or status.state not in (RmState.RUNNING, RmState.PAUSED):
            return ""
        return self._connections.get(rm_id, status.transport)

    @contextmanager
    def _change(self, rm_id: str) -> Iterator[None]:
        """Calls of this edge begin or end a registration inside, one at a time."""
        self._changing[rm_id] = None
        try:
            yield
        finally:
            self._changing.pop(rm_id, None)
