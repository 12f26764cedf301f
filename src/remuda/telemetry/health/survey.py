"""Asks the core about all partitions, slice by slice, and keeps the findings.

Each slice is of one moment, and a check compares only values of one slice. So a change between two
slices never looks like a fault (rules: HLT-18).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass, field
from typing import Final, Protocol

from remuda.base.message import message
from remuda.core.messages.health_queries import (
    ApplicationAuditQuery,
    ApplicationAuditView,
    AuditedAllocation,
    BalanceQuery,
    BalanceView,
    NodeAuditQuery,
    NodeAuditView,
    PartitionCountsQuery,
    PartitionCountsView,
)
from remuda.core.messages.measures import TotalsQuery, TotalsView
from remuda.core.messages.preemption_queries import EvictionsQuery, EvictionView
from remuda.core.messages.queries import Query, View
from remuda.core.messages.rows import rows
from remuda.runtime.errors import LoopStoppedError

# How long one answer may take: the core may have many requests before it.
ANSWER_SECONDS: Final = 60.0

# The logger that the specification calls core.scheduler.health (KV-2).
_log = logging.getLogger("remuda.runtime.health")


def attempted(what: str, work: Callable[[], object]) -> bool:
    """Do some work that asks the core; log why there is no result. False if the core has stopped.

    ``what``: its name in the log.
    """
    try:
        work()
    except LoopStoppedError:
        return False
    except LateError:
        _log.warning("no %s: the scheduler does not answer", what)
    except Exception as error:  # noqa: BLE001 - a fault of ours must not end what is done again
        _log.error("no %s: it failed itself: %r", what, error)
    return True


class Questions(Protocol):
    """Answers read-only queries; SchedulerLoop in production."""

    def query(self, query: Query) -> Future[View]:
        """Return the future answer to a question."""
        ...


@message
class Share:
    """How many reservations a partition has, and how many nodes (HLT-12)."""

    reservations: int
    nodes: int


@message
class Trouble:
    """The two counts that only grow: ``error`` of MET-6 and ``failed`` of MET-9."""

    errors: int = 0
    failed_nodes: int = 0


@dataclass
class Survey:
    """The findings in all partitions: names of partitions, node IDs, texts that name objects.

    Partitions are called ``[rmID]name`` (HLT-16). ``negative_nodes`` names a node once for each
    kind of amount that is negative (HLT-7). Only ``shares`` has an order, that of the partitions.
    """

    trouble: Trouble = field(default_factory=Trouble)
    shares: list[Share] = field(default_factory=list)
    negative: list[str] = field(default_factory=list)
    misallocated: list[str] = field(default_factory=list)
    missized: list[str] = field(default_factory=list)
    negative_nodes: list[str] = field(default_factory=list)
    unbalanced_nodes: list[str] = field(default_factory=list)
    overcommitted_nodes: list[str] = field(default_factory=list)
    orphans_on_nodes: list[str] = field(default_factory=list)
    orphans_of_applications: list[str] = field(default_factory=list)
    unconfirmed: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)


class Surveyor:
    """Makes one survey.

    Args:
        questions: answers them.
        now_ns: Unix time of this run.
        pause: called between two questions, so that the core can schedule meanwhile.

    A partition that is removed meanwhile is left out from then on. Implements: HLT-18.
    """

    def __init__(self, questions: Questions, now_ns: int, pause: Callable[[], None]) -> None:
        self._questions = questions
        self._now_ns = now_ns
        self._pause = pause
        self._found = Survey()

    def survey(self) -> Survey:
        """Look at everything.

        Raises: LoopStoppedError; TimeoutError if the core does not answer.

        Cost: a question for each 250 nodes, 1,000 applications and 2,000 allocations.
        """
        self._totals()
        counts = self._questions.query(PartitionCountsQuery()).result(ANSWER_SECONDS)
        for each in rows(PartitionCountsView, counts):
            self._found.shares.append(Share(each.reservations, each.nodes))
            label = f"[{each.rm_id}]{each.name}"
            self._sums(each.name, each.rm_id, label)
            self._nodes(each.name, each.rm_id)
            self._applications(each.name, each.rm_id, label)
            self._evictions(each.name, each.rm_id, label)
        return self._found

    def _ask(self, query: Query) -> View:
        self._pause()
        return self._questions.query(query).result(ANSWER_SECONDS)

    def _totals(self) -> None:
        """Note the counts of errors and failed nodes so far. Rules: HLT-4, HLT-5."""
        totals = self._questions.query(TotalsQuery()).result(ANSWER_SECONDS)
        if isinstance(totals, TotalsView):
            self._found.trouble = Trouble(totals.errors, totals.bad_nodes)

    def _sums(self, name: str, rm_id: str, label: str) -> None:
        """Compare the sums of a partition. Rules: HLT-6, HLT-8, HLT-9."""
        found = self._found
        negative = False
        for capacity, wrong in ((False, found.misallocated), (True, found.missized)):
            view = self._ask(BalanceQuery(name, rm_id, capacity))
            if not isinstance(view, BalanceView):
                return
            negative = negative or any(amount < 0 for amount in view.booked.values())
            if view.booked != view.on_nodes:
                wrong.append(label)
        if negative:
            found.negative.append(label)

    def _nodes(self, name: str, rm_id: str) -> None:
        """Look at all nodes. Rules: HLT-7, HLT-10, HLT-11, HLT-13."""
        found = self._found
        start: int | None = 0
        while start is not None:
            view = self._ask(NodeAuditQuery(name, rm_id, start))
            if not isinstance(view, NodeAuditView):
                return
            found.negative_nodes += view.negative
            found.unbalanced_nodes += view.unbalanced
            found.overcommitted_nodes += view.overcommitted
            found.orphans_on_nodes += [_text(each) for each in view.orphans]
            start = view.next_start

    def _applications(self, name: str, rm_id: str, label: str) -> None:
        """Look at all applications. Rules: HLT-14, HLT-20."""
        found = self._found
        start: int | None = 0
        within = 0
        while start is not None:
            query = ApplicationAuditQuery(name, rm_id, self._now_ns, start, within)
            view = self._ask(query)
            if not isinstance(view, ApplicationAuditView):
                return
            found.orphans_of_applications += [_text(each) for each in view.orphans]
            found.unconfirmed += [_text(each) for each in view.unconfirmed]
            found.waiting += [
                f"applicationID={each.application_id}, partition={label}, state={each.state}"
                for each in view.waiting
            ]
            start, within = view.next_start, view.next_within

    def _evictions(self, name: str, rm_id: str, label: str) -> None:
        """Note the asks and applications that preemption evicts repeatedly.

        Rules: HLT-20, PRE-92.
        """
        view = self._ask(EvictionsQuery(name, self._now_ns, rm_id))
        if view is None:
            return
        self._found.evicted += [
            f"applicationID={each.application_id}, allocationKey={each.allocation_key}, "
            f"partition={label}, evictions={each.count}"
            for each in rows(EvictionView, view)
        ]


def _text(allocation: AuditedAllocation) -> str:
    """Return the name of an allocation in a message. Rules: HLT-16."""
    return (
        f"applicationID={allocation.application_id}, allocationID={allocation.allocation_id}, "
        f"allocationKey={allocation.allocation_key}, Node={allocation.node_id}, "
        f"result={allocation.result}"
    )
