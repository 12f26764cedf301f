"""Questions about victims on their way to an RM, and the verdicts on their way back (EXT-18).

A question of the core is a batch of nodes, each with its victims. A batch too long for a frame
becomes several calls. A node without victims goes to the ordinary predicates instead (SI-81). The
core gets the answer to a question once, when all of it is answered or overdue. Event loop of the
server.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, takewhile
from typing import Final, Protocol

from remuda.base.message import message
from remuda.core.messages.commands import PredicateVerdict
from remuda.core.ports import NodesQuestion, PreemptionItem, PreemptionVerdict
from remuda.edges.grpc.bindings.changes import Changes
from remuda.edges.grpc.bindings.questions import STALE_LIMIT, nodes_limit
from remuda.edges.grpc.bindings.victims import args_of, groups, verdict_of
from remuda.runtime.answers import OpenPreemptionQuestion, OpenQuestion
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.protocol import frames
from remuda.si.protocol.calls import Call, CallLoad, CallTable
from remuda.si.protocol.conversation import Conversation
from remuda.si.protocol.terms import MILLISECOND_NS, PREDICATES, SessionLimits, Terms

_log = logging.getLogger("remuda.si")

_FAILURE: Final = PreemptionVerdict(False)
_NOBODY: Final = PreemptionVerdict(True)


class GiveAboutVictims(Protocol):
    """Gives the core the verdicts on a question."""

    def __call__(
        self, question: OpenPreemptionQuestion, verdicts: Sequence[PreemptionVerdict], /
    ) -> object:
        """Take verdicts on its items, from the first one on; none: no answer came."""
        ...


class _Whole:
    """A question of the core that is not answered yet.

    ``verdicts``: of each item, None: there is none. ``parts``: that are still to be answered.
    """

    __slots__ = ("asked", "parts", "verdicts")

    def __init__(self, asked: OpenPreemptionQuestion) -> None:
        self.asked = asked
        self.verdicts: list[PreemptionVerdict | None] = [None] * len(asked.question.items)
        self.parts = 1

    @property
    def items(self) -> tuple[PreemptionItem, ...]:
        """All items."""
        return self.asked.question.items

    @property
    def first(self) -> bool:
        """Whether nothing is wanted after the first success."""
        return self.asked.question.first_success

    def judged(self) -> list[PreemptionVerdict]:
        """Return the verdicts up to the last one; what is missing between them is a failure."""
        told = [_FAILURE if verdict is None else verdict for verdict in self.verdicts]
        while told and self.verdicts[len(told) - 1] is None:
            told.pop()
        return told


@message
class _Part:
    """Some items of a question, by their places; ``tries``: how often they were asked about.

    ``args``: the items as they are sent, none if they are asked about as nodes.
    """

    whole: _Whole
    places: tuple[int, ...]
    tries: int
    args: tuple[si.PreemptionPredicatesArgs, ...] = ()

    def items(self) -> list[PreemptionItem]:
        """Return the items."""
        return [self.whole.items[place] for place in self.places]


class Preemption:
    """The calls about victims of one session.

    Args: conversation: what sends them. terms: the terms of the session. budget_ms: how long an RM
        has for an answer. give: takes verdicts to the core. load: which the calls count for.
        changes: which frame told of which node last. ask_nodes: asks about nodes; the tickets of
        these questions are below zero. wake: called when there is something to send.

    Rules: EXT-5, EXT-6, EXT-8, EXT-10, EXT-17, EXT-18, SI-81, PRE-26.
    """

    def __init__(
        self,
        conversation: Conversation[ext.RMFrame],
        terms: Terms,
        *,
        budget_ms: int,
        give: GiveAboutVictims,
        load: CallLoad,
        changes: Changes,
        ask_nodes: Callable[[Sequence[OpenQuestion]], None],
        wake: Callable[[], None],
    ) -> None:
        self._conversation = conversation
        self._limits = terms.limits
        self._predicates = terms.has(PREDICATES)
        self._budget_ms = budget_ms
        self._give = give
        self._changes = changes
        self._ask_nodes = ask_nodes
        self._wake = wake
        self.calls: CallTable[_Part] = CallTable(load, conversation.call_ids)
        self._waiting: deque[_Part] = deque()
        self._about_nodes: dict[int, _Part] = {}
        self._last_ticket = 0

    def ask(self, questions: Iterable[OpenPreemptionQuestion]) -> None:
        """Send questions; without a stream they end unanswered.

        Implements: EXT-18. Rules: EXT-10.
        """
        for question in questions:
            whole = _Whole(question)
            self._divide(whole, range(len(whole.items)), 1)
            self._end(_Part(whole, (), 1), ())
        if not self._conversation.open:
            self.drop()

    def give_none(self, questions: Iterable[OpenPreemptionQuestion]) -> None:
        """Tell the core that some questions were not answered. Rules: EXT-17."""
        for question in questions:
            self._give(question, ())

    def send(self, now_ns: int) -> None:
        """Send as many calls as may be in flight. Rules: EXT-6."""
        while self._waiting and not self.calls.load.full():
            part = self._waiting.popleft()
            call_id = self.calls.next_id()
            content = ext.PreemptionPredicates(
                call_id=call_id,
                budget_millis=self._budget_ms,
                items=part.args,
                first_success=part.whole.first,
            )
            body = frames.body(ext.CoreFrame, "preemption_predicates", content)
            number = self._conversation.send(body)
            self.calls.put(Call(call_id, number, now_ns + self._budget_ms * MILLISECOND_NS, part))
            self._wake()

    def answer(self, result: ext.PreemptionPredicatesResult) -> None:
        """Take an answer; a late answer counts as none. Rules: EXT-5, EXT-17, EXT-18."""
        call = self.calls.answered(result.call_id)
        if call is None:
            return
        part = call.what
        void = self._changes.after([args.nodeID for args in part.args], result.applied_seq)
        again: list[int] = []
        told = () if result.error else result.items
        for place, args, response in zip(part.places, part.args, told, strict=False):
            if args.nodeID in void:
                again.append(place)
            else:
                part.whole.verdicts[place] = verdict_of(args, response)
        self._end(part, again)

    def answer_about_nodes(self, verdict: PredicateVerdict) -> None:
        """Take an RM's verdict on nodes without victims. Rules: EXT-5, PRE-26, SI-81."""
        part = self._about_nodes.pop(verdict.ticket)
        refused = dict(verdict.refused)
        again: list[int] = []
        for place, item in zip(part.places, part.items(), strict=True):
            if item.node_id in verdict.void:
                again.append(place)
            elif item.node_id in verdict.passed:
                part.whole.verdicts[place] = _NOBODY
            elif item.node_id in refused:
                part.whole.verdicts[place] = _FAILURE
        self._end(part, again)

    def miss(self, now_ns: int) -> None:
        """End what is overdue. Rules: EXT-17."""
        for call in self.calls.overdue(now_ns):
            self._conversation.send(self._blot(call))
            self._wake()
            self._end(call.what, ())

    def drop(self) -> None:
        """The stream is over, and with it all calls. Rules: EXT-10."""
        for call in self.calls.drop():
            self._blot(call)
            self._end(call.what, ())
        waiting = list(self._waiting)
        self._waiting.clear()
        for part in waiting:
            self._end(part, ())

    def retune(self, limits: SessionLimits) -> None:
        """Keep to other limits from now on. Rules: EXT-8."""
        self._limits = limits

    def _divide(self, whole: _Whole, places: Iterable[int], tries: int) -> None:
        """Make parts of some items that can be sent, and queue them. Rules: EXT-18.

        A question for the first success is cut to the items that fit into one call.
        """
        wanted = list(places)
        if whole.first and wanted:
            some = bool(whole.items[wanted[0]].victims)
            wanted = list(takewhile(lambda at: bool(whole.items[at].victims) is some, wanted))
        free_ones = [place for place in wanted if not whole.items[place].victims]
        self._divide_free(whole, free_ones, tries)
        self._divide_victims(whole, [at for at in wanted if whole.items[at].victims], tries)

    def _divide_free(self, whole: _Whole, places: Sequence[int], tries: int) -> None:
        """Ask about nodes without victims. Rules: EXT-13, EXT-20, PRE-26."""
        if not self._predicates:
            for place in places:
                whole.verdicts[place] = _NOBODY
            return
        most = nodes_limit(self._limits)
        for _, run in groupby(places, lambda place: _ask_of(whole.items[place])):
            alike = tuple(run)
            for start in range(0, len(alike), most):
                self._ask_about_free(_Part(whole, alike[start : start + most], tries))
                if whole.first:
                    return

    def _ask_about_free(self, part: _Part) -> None:
        """Put some items of one ask as a question about nodes. Rules: EXT-13, PRE-26."""
        whole, items = part.whole, part.items()
        application_id, allocation_key = _ask_of(items[0])
        want = 1 if whole.first else len(items)
        question = NodesQuestion(
            whole.asked.question.rm_id,
            application_id,
            allocation_key,
            True,
            tuple([item.node_id for item in items]),
            want,
        )
        whole.parts += 1
        self._last_ticket -= 1
        self._about_nodes[self._last_ticket] = part
        self._ask_nodes([OpenQuestion(self._last_ticket, question, len(items))])

    def _divide_victims(self, whole: _Whole, places: Sequence[int], tries: int) -> None:
        """Queue calls, each short enough for a frame. Rules: EXT-8."""
        limit = self._conversation.body_bytes_limit
        fitting: dict[int, si.PreemptionPredicatesArgs] = {}
        for place in places:
            args = args_of(whole.items[place], limit)
            if args is not None:
                fitting[place] = args
                continue
            whole.verdicts[place] = _FAILURE
            item = whole.items[place]
            _log.warning(
                "resource manager %r is not asked about node %r: %d victims do not fit a frame",
                whole.asked.question.rm_id,
                item.node_id,
                item.start_index + 1,
            )
        for group in groups(fitting, limit):
            whole.parts += 1
            args_of_group = tuple([fitting[place] for place in group])
            self._waiting.append(_Part(whole, group, tries, args_of_group))
            if whole.first:
                return

    def _end(self, part: _Part, again: Sequence[int]) -> None:
        """Note that a part has its last answer; void items are asked again. EXT-5."""
        whole = part.whole
        if again and part.tries < STALE_LIMIT:
            self._divide(whole, again, part.tries + 1)
        whole.parts -= 1
        if not whole.parts:
            self._give(whole.asked, whole.judged())

    def _blot(self, call: Call[_Part]) -> bytes:
        """Replace the frame of a call by a cancelled one, in case it is sent again."""
        cancel = frames.body(ext.CoreFrame, "cancel", ext.CancelCall(call_id=call.call_id))
        self._conversation.outgoing.replace(call.number, cancel)
        return cancel


def _ask_of(item: PreemptionItem) -> tuple[str, str]:
    return item.application_id, item.allocation_key
