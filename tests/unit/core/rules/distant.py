"""A resource manager that is asked about nodes over a distance: its answers come later."""

from __future__ import annotations

from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect
from remuda.core.ports import NodesAnswer, NodesQuestion
from tests.unit.core.door import Caller, leaf, of


class Distant(Caller):
    """The caller, who writes questions down instead of answering them.

    ``open``: questions without an answer, by ticket; ``asked``: all there ever were. ``most``:
    candidates one question may have.
    """

    def __init__(self, *queues: QueueConfig, nodes: int = 2, most: int = 1024) -> None:
        self.open: dict[int, NodesQuestion] = {}
        self.asked: list[NodesQuestion] = []
        self.most = most
        super().__init__(*(queues or (leaf("a"),)), predicates=self._later)
        for number in range(1, nodes + 1):
            self.node(f"n{number}", {"vcore": 10})
        self.app("app")

    def _later(self, question: NodesQuestion) -> NodesAnswer:
        self.asked.append(question)
        ticket = len(self.asked)
        self.open[ticket] = question
        return NodesAnswer(-1, ticket=ticket, asked=min(self.most, len(question.node_ids)))

    def run(self, after_ns: int = 0) -> list[Effect]:
        """Let time pass and decide all that can be; every counter is right then."""
        self.now += after_ns
        effects = self.step()
        assert not self.scheduler.has_work()
        self.scheduler.check()
        return effects

    def want(self, *keys: str, count: int = 1, **other: object) -> list[Effect]:
        """Asks of one core, and what comes of them before anything is answered."""
        for key in keys:
            self.ask("app", key, {"vcore": 1}, count=count, **other)
        return self.run()

    def key_of(self, ticket: int) -> str:
        return self.open[ticket].allocation_key

    def answer(self, *verdicts: c.PredicateVerdict) -> list[Effect]:
        """Answer questions, and what is decided then."""
        for verdict in verdicts:
            self.open.pop(verdict.ticket, None)
        effects = self.send(c.PredicateVerdicts(self.rm, verdicts))
        return effects + self.run()

    def accept(self, *tickets: int) -> list[Effect]:
        """Accept every node of some questions."""
        return self.answer(
            *[c.PredicateVerdict(each, passed=self.open[each].node_ids) for each in tickets]
        )

    def refuse(self, ticket: int, reason: str = "tainted") -> list[Effect]:
        """Refuse every node of a question."""
        refused = tuple((node_id, reason) for node_id in self.open[ticket].node_ids)
        return self.answer(c.PredicateVerdict(ticket, refused=refused))

    def silence(self, ticket: int) -> list[Effect]:
        """The time for an answer has run out."""
        return self.answer(c.PredicateVerdict(ticket))

    def log(self, key: str) -> list[tuple[str, int]]:
        """The allocation log of an ask: each message and how often it was noted."""
        requests = {each.allocation_key: each for each in self.apps()["app"].requests}
        return [(entry.message, entry.count) for entry in requests[key].log]


def placed(effects: list[Effect]) -> list[tuple[str, str]]:
    """What went where, in order."""
    return [(new.allocation_id, new.node_id) for new in of(effects, e.AllocationNew)]
