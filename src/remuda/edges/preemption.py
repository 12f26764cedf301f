"""How a resource manager in this process is asked about victims (SI-81, EXT-18).

A callback may have the member ``preemption_predicates(args)``: it gets a PreemptionPredicatesArgs
and returns a PreemptionPredicatesResponse. No error of a callback stops the scheduler: after an
error or an invalid answer the node counts as refused, and the error is logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from remuda.core.ports import (
    NodesQuestion,
    Predicates,
    PreemptionAnswer,
    PreemptionItem,
    PreemptionPredicates,
    PreemptionQuestion,
    PreemptionVerdict,
    always_true,
)
from remuda.edges.predicates import port_of
from remuda.si.pb import si_pb2 as si
from remuda.si.predicates import text_of

_log = logging.getLogger("remuda.si")

_FAILURE: Final = PreemptionVerdict(False)


def preemption_port_of(callback: object) -> PreemptionPredicates | None:
    """Return the port that asks a callback about victims, None if it has no member for that.

    If no victim is needed, its ordinary predicates are asked instead. The port never raises. Rules:
    SI-81, EXT-18, PRE-26.
    """
    ask = getattr(callback, "preemption_predicates", None)
    return None if ask is None else _OneByOne(ask, port_of(callback) or always_true)


class _OneByOne:
    """Asks about one node after another. Rules: SI-81, EXT-18.

    ``_complaint``: what was wrong with the last wrong answer, so that it is logged once, not each
    time.
    """

    def __init__(
        self, ask: Callable[[si.PreemptionPredicatesArgs], object], ordinary: Predicates
    ) -> None:
        self._ask = ask
        self._ordinary = ordinary
        self._complaint = ""

    def __call__(self, question: PreemptionQuestion) -> PreemptionAnswer:
        """Return verdicts, up to the first success if no more is wanted."""
        verdicts: list[PreemptionVerdict] = []
        for item in question.items:
            verdicts.append(self._verdict(question.rm_id, item))
            if question.first_success and verdicts[-1].success:
                break
        return PreemptionAnswer(tuple(verdicts))

    def _verdict(self, rm_id: str, item: PreemptionItem) -> PreemptionVerdict:
        if not item.victims:
            key, nodes = item.allocation_key, (item.node_id,)
            ask = NodesQuestion(rm_id, item.application_id, key, True, nodes)
            return PreemptionVerdict(self._ordinary(ask).passed == 0)
        args = si.PreemptionPredicatesArgs(
            allocationKey=item.allocation_key,
            nodeID=item.node_id,
            preemptAllocationKeys=item.victims,
            startIndex=item.start_index,
        )
        try:
            response = self._ask(args)
        except Exception as error:  # noqa: BLE001 - theirs, not ours (SI-8)
            return self._failure(rm_id, f"it raised {text_of(error)}")
        if not isinstance(response, si.PreemptionPredicatesResponse):
            found = type(response).__name__
            return self._failure(rm_id, f"it returned {found}, no PreemptionPredicatesResponse")
        if not response.success:
            return _FAILURE
        if not 0 <= response.index < len(item.victims):
            count = len(item.victims)
            return self._failure(rm_id, f"{response.index} is no index of {count} victims")
        return PreemptionVerdict(True, response.index)

    def _failure(self, rm_id: str, complaint: str) -> PreemptionVerdict:
        """Return the verdict in the place of an answer that is none."""
        if complaint != self._complaint:
            self._complaint = complaint
            text = "preemption_predicates of resource manager %r gave no answer, a node fails: %s"
            _log.error(text, rm_id, complaint)
        return _FAILURE
