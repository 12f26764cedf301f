"""Calls that ask an RM whether a node would take an ask without some of what is there (EXT-18)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from remuda.core.ports import PreemptionAnswer, PreemptionQuestion, PreemptionVerdict
from remuda.edges.grpc.session.outlet import now_ns
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.session import frames
from remuda.si.session.calls import Call, CallTable
from remuda.si.session.conversation import Conversation
from remuda.si.session.terms import MILLISECOND_NS

# Calls in flight; PRE-25 sends a batch only after the answer to the one before it.
_CALLS: Final = 8

_NO_ANSWER: Final = PreemptionAnswer()


class Preemption:
    """The calls about victims of one session. Event loop of the server.

    Args:
        conversation: what sends them.
        budget_ms: how long an RM has for an answer.
        wake: called when there is something to send.

    Rules: EXT-10, EXT-17, EXT-18, SI-81.
    """

    def __init__(
        self,
        conversation: Conversation[ext.RMFrame],
        budget_ms: int,
        wake: Callable[[], None],
    ) -> None:
        self._conversation = conversation
        self._budget_ms = budget_ms
        self._wake = wake
        self._questions: dict[int, PreemptionQuestion] = {}
        self.calls: CallTable[asyncio.Future[PreemptionAnswer]] = CallTable(
            _CALLS, conversation.call_ids
        )

    def ask(self, question: PreemptionQuestion) -> asyncio.Future[PreemptionAnswer]:
        """Send a question; the answer has no verdicts if none comes in time. Rules: EXT-17."""
        told: asyncio.Future[PreemptionAnswer] = asyncio.get_running_loop().create_future()
        if not self._conversation.open or self.calls.full():
            told.set_result(_NO_ANSWER)
            return told
        call_id = self.calls.next_id()
        content = ext.PreemptionPredicates(
            call_id=call_id,
            budget_millis=self._budget_ms,
            items=[
                si.PreemptionPredicatesArgs(
                    allocationKey=item.allocation_key,
                    nodeID=item.node_id,
                    preemptAllocationKeys=item.victims,
                    startIndex=item.start_index,
                )
                for item in question.items
            ],
            first_success=question.first_success,
        )
        body = frames.body(ext.CoreFrame, "preemption_predicates", content)
        number = self._conversation.send(body)
        due_ns = now_ns() + self._budget_ms * MILLISECOND_NS
        self._questions[call_id] = question
        self.calls.put(Call(call_id, number, due_ns, told))
        self._wake()
        return told

    def answer(self, result: ext.PreemptionPredicatesResult) -> None:
        """Take an answer; one that comes too late is none, and so is one without sense."""
        call = self.calls.answered(result.call_id)
        if call is not None:
            question = self._questions.pop(call.call_id)
            _tell(call, _NO_ANSWER if result.error else answer_of(question, result))

    def miss(self, at_ns: int) -> None:
        """End what is overdue. Rules: EXT-17."""
        for call in self.calls.overdue(at_ns):
            self._conversation.send(self._end(call))
            self._wake()

    def drop(self) -> None:
        """The stream is over, and with it all calls. Rules: EXT-10."""
        for call in self.calls.drop():
            self._end(call)

    def _end(self, call: Call[asyncio.Future[PreemptionAnswer]]) -> bytes:
        cancel = frames.body(ext.CoreFrame, "cancel", ext.CancelCall(call_id=call.call_id))
        self._conversation.outgoing.replace(call.number, cancel)
        self._questions.pop(call.call_id, None)
        _tell(call, _NO_ANSWER)
        return cancel


def answer_of(
    question: PreemptionQuestion, result: ext.PreemptionPredicatesResult
) -> PreemptionAnswer:
    """Return the verdicts in an answer; an index beyond the victims is a failure. Rules: SI-81."""
    verdicts = [
        PreemptionVerdict(True, verdict.index)
        if verdict.success and -1 <= verdict.index < len(item.victims)
        else PreemptionVerdict(False)
        for item, verdict in zip(question.items, result.items, strict=False)
    ]
    return PreemptionAnswer(tuple(verdicts))


def _tell(call: Call[asyncio.Future[PreemptionAnswer]], answer: PreemptionAnswer) -> None:
    if not call.what.done():
        call.what.set_result(answer)
