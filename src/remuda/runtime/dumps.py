"""Collects the parts of resource managers for a state dump (SI-84).

Every edge offers the RMs that can be asked; the writer of a dump asks all of them. An RM without a
valid answer in time adds one line with the reason.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as LateError
from time import monotonic
from typing import Final, TypeAlias

import msgspec

from remuda.runtime.roster import RmState, Roster

# Asks an RM for its part within a time in seconds; returns JSON text, or an error with the reason.
DumpSource: TypeAlias = Callable[[float], Future[str]]

# Characters of one RM's part; a longer one is an error.
PART_LIMIT: Final = 16 * 1024 * 1024

# The default time for the answer of an RM.
BUDGET_SECONDS: Final = 5.0

_NOTHING: Final = {"empty": "Resource Manager did not register callback"}


class DumpSources:
    """The sources of the RMs' parts. Any thread.

    Args:
        roster: knows which RMs are registered.

    Rules: SI-84, DMP-11.
    """

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._lock = threading.Lock()
        self._sources: dict[str, DumpSource] = {}

    def offer(self, rm_id: str, source: DumpSource | None) -> None:
        """Use ``source`` for an RM from now on; None: it has none."""
        with self._lock:
            self._sources.pop(rm_id, None)
            if source is not None:
                self._sources[rm_id] = source

    def withdraw(self, rm_id: str, source: DumpSource | None) -> None:
        """Remove ``source``, unless another one replaced it."""
        with self._lock:
            if source is not None and self._sources.get(rm_id) == source:
                del self._sources[rm_id]

    def gather(self, budget_seconds: float = BUDGET_SECONDS) -> dict[str, object]:
        """Ask all registered RMs at once and return their answers by ID. Waits for them.

        Implements: SI-84, DMP-11.
        """
        with self._lock:
            sources = dict(self._sources)
        present = [each.rm_id for each in self._roster.all() if each.state is not RmState.STOPPED]
        deadline = monotonic() + budget_seconds
        asked = {rm_id: _ask(sources.get(rm_id), budget_seconds) for rm_id in present}
        return {rm_id: _part(asked[rm_id], deadline) for rm_id in present}


def diagnostics(parts: Mapping[str, object]) -> object:
    """Return the parts as a dump shows them: a single part as it is, several by RM ID.

    Implements: DMP-16 (Ours). Rules: DMP-11, SI-84.
    """
    if not parts:
        return _NOTHING
    return next(iter(parts.values())) if len(parts) == 1 else dict(parts)


def _ask(source: DumpSource | None, budget_seconds: float) -> Future[str] | None:
    if source is None:
        return None
    try:
        return source(budget_seconds)
    except Exception as error:  # noqa: BLE001 - theirs, not ours (SI-8)
        failed: Future[str] = Future()
        failed.set_exception(error)
        return failed


def _part(answer: Future[str] | None, deadline: float) -> object:
    """Return the answer of an RM as a JSON object, or the reason why there is none.

    Rules: DMP-11.
    """
    if answer is None:
        return _NOTHING
    try:
        text = answer.result(max(0.0, deadline - monotonic()))
        if len(text) > PART_LIMIT:
            return _error(f"the dump has more than {PART_LIMIT} characters")
        found = msgspec.json.decode(text)
    except LateError:
        return _error("no answer in time")
    except Exception as error:  # noqa: BLE001 - theirs, not ours (SI-8)
        return _error(str(error) or type(error).__name__)
    return found if isinstance(found, dict) else _error("the dump is no JSON object")


def _error(text: str) -> Mapping[str, str]:
    return {"Error": text}


def call_on_thread(call: Callable[[], object], name: str) -> Future[str]:
    """Call code of an RM on its own thread, so that a hanging call delays no other work."""
    future: Future[str] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(_as_text(call()))
        except Exception as error:  # noqa: BLE001 - theirs, not ours (SI-8)
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


def _as_text(found: object) -> str:
    if not isinstance(found, str):
        raise TypeError(f"the dump is {type(found).__name__}, not text")
    return found
