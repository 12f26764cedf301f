"""A scheduler under observation: a questioner of it, and its health."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from remuda.core.messages.queries import Query, View
from remuda.core.model.applications.application import Application
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.scheduler import Scheduler
from remuda.telemetry.health.checker import HealthChecker
from remuda.telemetry.health.findings import ExtraFindings, Finding, Health
from tests.unit.core.door import Caller

CORES = {"vcore": 10}

# The names of the checks, in the order of chapter 97.
NAMES = (
    "Scheduling errors",
    "Failed nodes",
    "Negative resources",
    "Negative resources",
    "Consistency of data",
    "Consistency of data",
    "Consistency of data",
    "Consistency of data",
    "Reservation check",
    "Orphan allocation on node check",
    "Orphan allocation on app check",
)


class Direct:
    """Answers at once, on the thread that asks; remembers the questions."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.asked: list[Query] = []

    def query(self, query: Query) -> Future[View]:
        self.asked.append(query)
        future: Future[View] = Future()
        future.set_result(self.scheduler.view(query))
        return future


class Ward:
    """The health of what a caller calls, at the caller's time."""

    def __init__(self, caller: Caller, extra: Sequence[ExtraFindings] = ()) -> None:
        self.caller = caller
        self.direct = Direct(caller.scheduler)
        self.checker = HealthChecker(self.direct, extra, lambda: caller.now)

    def run(self) -> Health:
        """One run of all checks."""
        return self.checker.run()

    def failed(self) -> list[int]:
        """The numbers of the checks that fail in a run, from 1 on."""
        return [number for number, each in enumerate(self.run().findings, 1) if not each.succeeded]

    def diagnosis(self, number: int) -> str:
        """What check ``number`` found in the last run."""
        return self.finding(number).diagnosis

    def finding(self, number: int) -> Finding:
        """The entry ``number`` of the last run, from 1 on."""
        assert self.checker.latest is not None
        return self.checker.latest.findings[number - 1]

    def news(self) -> dict[str, Finding]:
        """The entries of a run that come after the checks, by name."""
        return {each.name: each for each in self.run().findings[len(NAMES) :]}

    # What a test breaks by force; nothing else can.

    def partition(self) -> Partition:
        """The state of the first partition."""
        return self.caller.scheduler._cluster.partitions()[0]

    def node(self, node_id: str) -> Node:
        """The state of one node."""
        return self.partition().nodes[node_id]

    def application(self, application_id: str) -> Application:
        """The state of one application."""
        return self.partition().applications[application_id]


def ward(extra: Sequence[ExtraFindings] = ()) -> Ward:
    """Two nodes of ten cores, and an application with an allocation ``k-0`` of 3 cores on n1."""
    caller = Caller()
    caller.node("n1", CORES)
    caller.app("app")
    caller.ask("app", "k", {"vcore": 3})
    caller.step()
    caller.node("n2", CORES)
    return Ward(caller, extra)
