"""How a resource manager in this process is asked about victims (SI-81, EXT-18).

A callback may have the member ``preemption_predicates(args)``: it gets a PreemptionPredicatesArgs
and returns a PreemptionPredicatesResponse. Whatever it does, the scheduler goes on: an error, and
an answer that makes no sense, are a failure.
"""

from __future__ import annotations

from collections.abc import Callable

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

_FAILURE = PreemptionVerdict(False)


def preemption_port_of(callback: object) -> PreemptionPredicates | None:
    """Return the port that asks a callback about victims, None if it has no member for that.

    Where no victim has to go, its ordinary predicates are asked instead. The port never raises.
    Rules: SI-81, EXT-18, PRE-26.
    """
    ask = getattr(callback, "preemption_predicates", None)
    return None if ask is None else _OneByOne(ask, port_of(callback) or always_true)


class _OneByOne:
    """Asks about one node after another. Rules: SI-81, EXT-18."""

    def __init__(
        self, ask: Callable[[si.PreemptionPredicatesArgs], object], ordinary: Predicates
    ) -> None:
        self._ask = ask
        self._ordinary = ordinary

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
            ask = NodesQuestion(rm_id, "", item.allocation_key, True, (item.node_id,))
            return PreemptionVerdict(self._ordinary(ask).passed == 0)
        args = si.PreemptionPredicatesArgs(
            allocationKey=item.allocation_key,
            nodeID=item.node_id,
            preemptAllocationKeys=item.victims,
            startIndex=item.start_index,
        )
        try:
            response = self._ask(args)
        except Exception:  # noqa: BLE001 - theirs, not ours (SI-8)
            return _FAILURE
        if not isinstance(response, si.PreemptionPredicatesResponse) or not response.success:
            return _FAILURE
        in_list = 0 <= response.index < len(item.victims)
        return PreemptionVerdict(True, response.index) if in_list else _FAILURE
