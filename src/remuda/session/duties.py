"""Handles the frames of the scheduler for a resource manager, by calling its callback.

The callback is the one of ``remuda.edges.inproc``. Frames are handled one after the other, on one
thread, so the callback knows all earlier decisions when it judges a question (EXT-4).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from remuda.session.judge import Judge
from remuda.si.pb import extension_pb2 as ext
from remuda.si.predicates import text_of
from remuda.si.protocol.terms import (
    CONFIGURATION,
    CONTAINER_STATES,
    EVENTS,
    NODE_HANDLES,
    PREDICATES,
    PREEMPTION_PREDICATES,
    RESPONSES,
    STATE_DUMP,
)

_log = logging.getLogger("remuda.session")

# A frame to send: the name of its body, and what goes into it.
Reply: TypeAlias = tuple[str, Any]

# Bytes of a piece of a dump.
_PIECE_BYTES: Final = 1024 * 1024

_FEATURES_OF: Final = {
    "predicates": PREDICATES,
    "nodes_predicates": PREDICATES,
    "preemption_predicates": PREEMPTION_PREDICATES,
    "send_event": EVENTS,
    "update_container_scheduling_state": CONTAINER_STATES,
    "get_state_dump": STATE_DUMP,
}

_RESPONSES: Final = {
    "allocation": "update_allocation",
    "application": "update_application",
    "node": "update_node",
}


class Duties:
    """Calls a callback and sends its answers. One thread.

    Args:
        callback: an object with some of the members of ``remuda.edges.inproc``, and maybe
            ``request_error(error)`` for requests that could not be taken at all.

    Rules: EXT-4, EXT-5, EXT-19, EXT-21, SI-8, SI-80, SI-81, SI-82, SI-83, SI-84.
    """

    def __init__(self, callback: object) -> None:
        self._callback = callback
        self._judge = Judge(callback)
        self._nodes: dict[int, str] = {}

    def features(self) -> tuple[str, ...]:
        """Return what the callback can do, by the members it has. Rules: EXT-20."""
        found = {RESPONSES: None, CONFIGURATION: None, NODE_HANDLES: None}
        for member, feature in _FEATURES_OF.items():
            if hasattr(self._callback, member):
                found[feature] = None
        return tuple(found)

    def begin(self) -> None:
        """Begin a new session and forget the earlier one. Rules: EXT-19."""
        self._nodes.clear()

    def do(self, frame: ext.CoreFrame) -> Iterator[Reply]:
        """Carry out a frame and yield the answers. Rules: EXT-4."""
        name = frame.WhichOneof("body")
        if name in _RESPONSES:
            self._call(_RESPONSES[name], getattr(frame, name))
        elif name == "nodes_predicates":
            yield "nodes_predicates", self._judged(frame.nodes_predicates, frame.seq)
        elif name == "preemption_predicates":
            result = self._judge.about_victims(frame.preemption_predicates)
            result.applied_seq = frame.seq
            yield "preemption_predicates", result
        elif name == "state_dump":
            yield from self._dump(frame.state_dump)
        else:
            self._take_note(name, frame)

    def _take_note(self, name: str | None, frame: ext.CoreFrame) -> None:
        """Handle frames that need no answer; unknown ones are ignored. Rules: EXT-21."""
        if name == "events":
            self._call("send_event", list(frame.events.records))
        elif name == "container_states":
            for state in frame.container_states.states:
                self._call("update_container_scheduling_state", state)
        elif name == "node_table":
            self._nodes.update(frame.node_table.added)
            for handle in frame.node_table.removed:
                self._nodes.pop(handle, None)
        elif name == "request_error":
            error = frame.request_error
            _log.warning("request %d was not taken: %s", error.request_seq, error.message)
            self._call("request_error", error)

    def _judged(self, call: ext.NodesPredicates, number: int) -> ext.NodesPredicatesResult:
        """Return the verdicts on a call, current up to the frame that brought it. Rules: EXT-5."""
        result = ext.NodesPredicatesResult(call_id=call.call_id, applied_seq=number)
        result.items.extend(self._judge.verdicts(call.items, self._nodes))
        return result

    def _dump(self, call: ext.StateDumpCall) -> Iterator[Reply]:
        """Yield the dump in pieces. Rules: SI-84."""
        dump: Callable[[], object] | None = getattr(self._callback, "get_state_dump", None)
        try:
            text = "{}" if dump is None else dump()
            if not isinstance(text, str):
                raise TypeError(f"the dump is {type(text).__name__}, not text")  # noqa: TRY301
            data = text.encode()
        except Exception as error:  # noqa: BLE001 - theirs, not ours (SI-8)
            part = ext.StateDumpPart(call_id=call.call_id, error=text_of(error), last=True)
            yield "state_dump", part
            return
        for start in range(0, max(1, len(data)), _PIECE_BYTES):
            last = start + _PIECE_BYTES >= len(data)
            piece = data[start : start + _PIECE_BYTES]
            part = ext.StateDumpPart(call_id=call.call_id, data=piece, last=last)
            yield "state_dump", part

    def _call(self, member: str, argument: object) -> None:
        """Call a member of the callback, if it has it; an error is logged and ignored.

        Rules: SI-8.
        """
        call = getattr(self._callback, member, None)
        if call is None:
            return
        try:
            call(argument)
        except Exception as error:  # noqa: BLE001 - theirs, not ours (SI-8)
            _log.error("%s of the callback failed, ignored: %r", member, error)
            _log.debug("traceback of the callback", exc_info=True)
