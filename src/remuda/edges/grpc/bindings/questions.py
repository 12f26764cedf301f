"""Questions about nodes on their way to an RM, and the verdicts on their way back.

Questions wait while as many calls as allowed are in flight; those that waited are sent in one frame
(EXT-14). The core gets questions that are not answered in time as not evaluated, and an RM that
never answers is paused (EXT-17). Event loop of the server.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final, Protocol

from remuda.core.messages.commands import PredicateVerdict
from remuda.edges.grpc.bindings.changes import Changes
from remuda.edges.grpc.bindings.verdicts import verdict_of
from remuda.runtime.answers import OpenQuestion
from remuda.si.limits import ID_LENGTH_LIMIT
from remuda.si.pb import extension_pb2 as ext
from remuda.si.protocol import frames
from remuda.si.protocol.calls import Call, CallLoad, CallTable
from remuda.si.protocol.conversation import Conversation
from remuda.si.protocol.terms import MILLISECOND_NS, NODE_HANDLES, SessionLimits, Terms

# Questions of one call, so that a slow ask holds few others up.
ITEMS_PER_CALL: Final = 32

# Answers in a row that were older than their question, until they count as no answers.
STALE_LIMIT: Final = 3

# What a call, an item, and a node of it take besides their texts, at most.
_CALL_BYTES: Final = 64
_ITEM_BYTES: Final = 64
_NODE_BYTES: Final = 16

# Bytes of an identifier, at most: none of its characters takes more than four.
_ID_BYTES: Final = 4 * ID_LENGTH_LIMIT


def nodes_limit(limits: SessionLimits) -> int:
    """Return how many candidates an item may have, so that it fits a frame.

    At least eleven, with the smallest frames and the longest names.

    Rules: EXT-8, EXT-13.
    """
    room = limits.max_frame_bytes - frames.HEAD_BYTES - _CALL_BYTES - _ITEM_BYTES - 2 * _ID_BYTES
    return min(limits.max_nodes_per_call, room // (_ID_BYTES + _NODE_BYTES))


class Handles:
    """The handles of one session: short numbers for nodes.

    With them a call about a thousand nodes is a few kilobytes. A number is never given to a second
    node. Rules: EXT-19.
    """

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._removed: list[int] = []
        self._last = 0

    def table_for(self, node_ids: Iterable[str]) -> ext.NodeTable | None:
        """Return the table that the RM needs before these nodes are named, None if it has all."""
        table = ext.NodeTable(removed=self._removed)
        for node_id in node_ids:
            if node_id not in self._known:
                self._last += 1
                self._known[node_id] = self._last
                table.added[self._last] = node_id
        self._removed = []
        return table if table.added or table.removed else None

    def of(self, node_ids: Iterable[str]) -> list[int]:
        """Return the handles of nodes that were in a table."""
        return [self._known[node_id] for node_id in node_ids]

    def forget(self, node_id: str) -> None:
        """A node is gone; the RM is told with the next table. A later one gets another handle."""
        handle = self._known.pop(node_id, None)
        if handle is not None:
            self._removed.append(handle)


class Give(Protocol):
    """Gives the verdicts to the owner of the questions."""

    def __call__(self, verdicts: Sequence[PredicateVerdict]) -> object:
        """Take verdicts."""
        ...


class Questions:
    """The calls about nodes of one session.

    Args: conversation: what sends them. terms: the terms of the session. budget_ms: how long an RM
        has for an answer. give: takes verdicts to the questions' owner. load: which the calls count
        for. wake: called when there is something to send.

    ``changes``: which frame told of which node last. ``unknown``: asks the RM did not know.
    Rules: EXT-5, EXT-6, EXT-10, EXT-13, EXT-14, EXT-15, EXT-17, EXT-19.
    """

    def __init__(
        self,
        conversation: Conversation[ext.RMFrame],
        terms: Terms,
        *,
        budget_ms: int,
        give: Give,
        load: CallLoad,
        wake: Callable[[], None],
    ) -> None:
        self._conversation = conversation
        self._budget_ms = budget_ms
        self._give = give
        self._wake = wake
        self.calls: CallTable[list[OpenQuestion]] = CallTable(load, conversation.call_ids)
        self.handles = Handles() if terms.has(NODE_HANDLES) else None
        self.changes = Changes()
        self.unknown = 0
        self._waiting: deque[OpenQuestion] = deque()
        self._stale = 0

    def ask(self, questions: Sequence[OpenQuestion]) -> None:
        """Send questions; without a stream they end unanswered. Rules: EXT-10, EXT-14."""
        self._waiting.extend(questions)
        if not self._conversation.open:
            self.drop()

    def send(self, now_ns: int) -> None:
        """Send as many calls as may be in flight. Rules: EXT-6, EXT-14."""
        while self._waiting and not self.calls.load.full():
            questions = [self._waiting.popleft() for _ in range(self._fitting())]
            call_id = self.calls.next_id()
            number = self._send_call(call_id, questions)
            due_ns = now_ns + self._budget_ms * MILLISECOND_NS
            self.calls.put(Call(call_id, number, due_ns, questions))
            self._wake()

    def _fitting(self) -> int:
        """Return how many of those that wait fit one call, at least one. Rules: EXT-8, EXT-14."""
        left = self._conversation.body_bytes_limit - _CALL_BYTES
        count = 0
        for count, each in enumerate(islice(self._waiting, ITEMS_PER_CALL)):
            left -= _size(each)
            if left < 0 and count:
                return count
        return count + 1

    def answer(self, result: ext.NodesPredicatesResult) -> None:
        """Take an answer to who asked; one that comes too late is none.

        Implements: EXT-5. Rules: EXT-17.
        """
        call = self.calls.answered(result.call_id)
        if call is None:
            return
        stale = result.applied_seq < call.number - 1
        self._stale = self._stale + 1 if stale else 0
        if self._stale >= STALE_LIMIT:
            self.give_none(call.what)
        else:
            self._give(self._verdicts(call, result))

    def miss(self, now_ns: int) -> None:
        """End what is overdue. Rules: EXT-17."""
        for call in self.calls.overdue(now_ns):
            self._conversation.send(self._blot(call))
            self._wake()
            self.give_none(call.what)

    def forget_node(self, node_id: str) -> None:
        """A node is gone. Rules: EXT-19."""
        self.changes.forget(node_id)
        if self.handles is not None:
            self.handles.forget(node_id)

    def drop(self) -> None:
        """The stream is over, and with it all calls. Implements: EXT-10.

        The frames of calls that the RM may not have yet say now that they are cancelled.
        """
        for call in self.calls.drop():
            self._blot(call)
            self.give_none(call.what)
        waiting = list(self._waiting)
        self._waiting.clear()
        self.give_none(waiting)

    def _verdicts(
        self, call: Call[list[OpenQuestion]], result: ext.NodesPredicatesResult
    ) -> list[PredicateVerdict]:
        """Translate an answer; items that are missing were not evaluated. Rules: EXT-5, EXT-17."""
        verdicts: list[PredicateVerdict] = []
        for place, open_question in enumerate(call.what):
            if place >= len(result.items):
                verdicts.append(PredicateVerdict(open_question.ticket))
                continue
            node_ids = open_question.question.node_ids[: open_question.asked]
            void = self.changes.after(node_ids, result.applied_seq)
            verdict = verdict_of(open_question.ticket, node_ids, result.items[place], void)
            self.unknown += verdict.unknown
            verdicts.append(verdict)
        return verdicts

    def give_none(self, questions: Sequence[OpenQuestion]) -> None:
        """Tell who asked that some questions were not answered. Rules: EXT-17."""
        if questions:
            self._give([PredicateVerdict(each.ticket) for each in questions])

    def _blot(self, call: Call[list[OpenQuestion]]) -> bytes:
        """Replace the frame of a call by a cancelled one, in case it is sent again."""
        cancel = frames.body(ext.CoreFrame, "cancel", ext.CancelCall(call_id=call.call_id))
        self._conversation.outgoing.replace(call.number, cancel)
        return cancel

    def _send_call(self, call_id: int, questions: Sequence[OpenQuestion]) -> int:
        """Queue a call, after the handles it needs, and return its number. Implements: EXT-19."""
        if self.handles is not None:
            named = [n for each in questions for n in each.question.node_ids[: each.asked]]
            table = self.handles.table_for(named)
            if table is not None:
                self._conversation.send(frames.body(ext.CoreFrame, "node_table", table))
        classes: dict[str, int] = {}
        content = ext.NodesPredicates(
            call_id=call_id,
            budget_millis=self._budget_ms,
            items=[self._item(each, classes) for each in questions],
        )
        return self._conversation.send(frames.body(ext.CoreFrame, "nodes_predicates", content))

    def _item(
        self, open_question: OpenQuestion, classes: dict[str, int]
    ) -> ext.NodesPredicatesItem:
        """Translate a question; ``classes``: the numbers that stand for classes in this call.

        Implements: EXT-13. Rules: EXT-15, EXT-19.
        """
        question = open_question.question
        node_ids = question.node_ids[: open_question.asked]
        several = question.want > 1
        item = ext.NodesPredicatesItem(
            application_id=question.application_id,
            allocation_key=question.allocation_key,
            allocate=question.allocate,
            mode=ext.NodesPredicatesItem.FIRST_N if several else ext.NodesPredicatesItem.FIRST_FIT,
            want=question.want if several else 0,
        )
        if question.equivalence:
            item.equivalence = classes.setdefault(question.equivalence, len(classes) + 1)
        if self.handles is None:
            item.node_ids.extend(node_ids)
        else:
            item.handles.extend(self.handles.of(node_ids))
        return item


def _size(open_question: OpenQuestion) -> int:
    """Return how many bytes an item takes in a frame at most, or its nodes in a table."""
    question = open_question.question
    names = question.node_ids[: open_question.asked]
    own = len(question.application_id.encode()) + len(question.allocation_key.encode())
    return own + _ITEM_BYTES + sum([len(name.encode()) + _NODE_BYTES for name in names])
