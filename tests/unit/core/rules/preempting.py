"""A crowd in which one queue is owed everything, so that tests decide who is evicted, and when."""

from __future__ import annotations

from remuda.base.resources import Resource
from remuda.core.messages import commands as c
from remuda.core.messages import preemption_queries as pq
from remuda.core.messages.effects import Effect
from tests.unit.core.door import Caller, leaf

ONE: Resource = {"vcore": 1}
MILLISECOND = 1_000_000


class Evictor(Caller):
    """Queue ``a`` is owed a thousand cores, ``b`` nothing; the application ``owed`` is in ``a``."""

    def __init__(self, size: int = 1, **maximum: Resource) -> None:
        """``size``: cores of the only node; ``a`` and ``b``: maxima of the queues."""
        delay = {"preemption.delay": "1ms"}
        owed = leaf("a", maximum.get("a"), {"vcore": 1000}, delay)
        super().__init__(owed, leaf("b", maximum.get("b")))
        self.node("n1", {"vcore": size})
        self.app("owed")
        self.serial = 0

    def run(self, application: str, key: str = "", node_id: str = "n1") -> str:
        """Let one more allocation of a core run, in queue ``b``; its identity."""
        if application not in self.apps():
            self.app(application, "root.b")
        self.serial += 1
        identity = f"{application}-{self.serial}"
        self.existing(application, identity, node_id, ONE, key or identity)
        return identity

    def want(self, size: int, key: str = "k") -> list[Effect]:
        """Ask for cores, and let the time pass after which others may go for it."""
        self.ask("owed", key, {"vcore": size}, allow_preempt_other=True)
        self.step()
        self.now += MILLISECOND
        return self.step()

    def confirm(self, *identities: str) -> list[Effect]:
        """Say that victims have ended; what follows."""
        effects: list[Effect] = []
        for identity in identities:
            application = identity.rpartition("-")[0]
            effects += self.release(application, identity, kind=c.PREEMPTED_BY_SCHEDULER)
        return effects + self.step()

    def evict(self, *victims: tuple[str, str]) -> list[Effect]:
        """Run (application, key), evict all of them, and end what they went for."""
        running = [self.run(*victim) for victim in victims]
        effects = self.want(len(victims))
        self.confirm(*running)
        self.release("owed")
        self.release_ask("owed")
        return effects

    def preemptions(
        self, application: str = "", *, number: int = 0, last: int = 0
    ) -> list[pq.PreemptionView]:
        """What is known of preemptions."""
        query = pq.PreemptionsQuery("default", application, number, last, self.rm)
        found = self.scheduler.view(query)
        assert isinstance(found, tuple)
        return [each for each in found if isinstance(each, pq.PreemptionView)]

    def repeated(self) -> list[pq.EvictionView]:
        """What is evicted too often now."""
        found = self.scheduler.view(pq.EvictionsQuery("default", self.now, self.rm))
        assert isinstance(found, tuple)
        return [each for each in found if isinstance(each, pq.EvictionView)]
