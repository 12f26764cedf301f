"""Answers the scheduler's questions about nodes and victims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from remuda.si.pb import si_pb2 as si
from remuda.si.predicates import (
    NodesPredicatesItem,
    NodesPredicatesItemResult,
    PredicateFailure,
)
from remuda_kubernetes.objects.cluster import PodDisruptionBudget
from remuda_kubernetes.objects.kinds import BUDGET
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.selectors import matches
from remuda_kubernetes.predicates.refusals import Refusal
from remuda_kubernetes.shim.state import SECOND, State

# How long choices of victims that break a budget are refused for a pod, so that the scheduler looks
# at all nodes for a choice that breaks none; and how long they are let pass after that.
_STRICT_SECONDS: Final = 5.0
_LENIENT_SECONDS: Final = 60.0


class Judge:
    """Judges with the predicates of the cluster.

    ``_strict``: since when a pod's choices of victims are refused for a budget, by key.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._strict: dict[str, int] = {}

    def nodes(self, items: Sequence[NodesPredicatesItem]) -> list[NodesPredicatesItemResult]:
        """Judge nodes for asks; one result for each item."""
        return [self._item(item) for item in items]

    def _item(self, item: NodesPredicatesItem) -> NodesPredicatesItemResult:
        task = self._state.tasks.get(item.allocation_key)
        if task is None:
            return NodesPredicatesItemResult(error="the pod is gone")
        verdicts = self._state.cluster.judge(
            task.pod, item.node_ids, allocate=item.allocate, want=item.want
        )
        groups: dict[str, list[int]] = {}
        for index, refusal in verdicts.refusals:
            groups.setdefault(refusal.text, []).append(index)
        return NodesPredicatesItemResult(
            fit=verdicts.fits,
            failures=[PredicateFailure(reason, indexes) for reason, indexes in groups.items()],
        )

    def victims(self, args: si.PreemptionPredicatesArgs) -> si.PreemptionPredicatesResponse:
        """Judge which victims have to go so that a pod fits on a node."""
        no = si.PreemptionPredicatesResponse(success=False, index=-1)
        task = self._state.tasks.get(args.allocationKey)
        if task is None:
            return no
        victims = list(args.preemptAllocationKeys)
        index = self._state.cluster.victims(task.pod, args.nodeID, victims, args.startIndex)
        if index < 0:
            return no
        if self._is_strict(args.allocationKey) and self._breaks_budgets(victims[: index + 1]):
            return no
        return si.PreemptionPredicatesResponse(success=True, index=index)

    def _is_strict(self, key: str) -> bool:
        """Whether budgets count for a pod now: in the first seconds of each minute it preempts."""
        now = self._state.now_ns
        since = self._strict.get(key)
        if since is None or now - since > (_STRICT_SECONDS + _LENIENT_SECONDS) * SECOND:
            self._strict = {
                each: at
                for each, at in self._strict.items()
                if now - at <= (_STRICT_SECONDS + _LENIENT_SECONDS) * SECOND
            }
            self._strict[key] = since = now
        return now - since <= _STRICT_SECONDS * SECOND

    def _breaks_budgets(self, victims: Sequence[str]) -> bool:
        """Whether evicting these pods would need more than some budget allows."""
        wanted: dict[tuple[str, str], int] = {}
        for uid in victims:
            pod = self._state.objects.pods.get(uid)
            for budget in () if pod is None else self._budgets_of(pod):
                key = (budget.namespace, budget.name)
                wanted[key] = wanted.get(key, 0) + 1
                if wanted[key] > budget.status.disruptions_allowed:
                    return True
        return False

    def _budgets_of(self, pod: Pod) -> list[PodDisruptionBudget]:
        return [
            budget
            for budget in self._state.objects.within(BUDGET, pod.namespace)
            if isinstance(budget, PodDisruptionBudget) and matches(budget.spec.selector, pod.labels)
        ]


def summary(refusals: Sequence[tuple[int, Refusal]], count: int) -> str:
    """Return how many of so many nodes were refused for which reasons, the commonest first."""
    totals = Counter([reason for _, refusal in refusals for reason in refusal.reasons])
    fitting = count - len(refusals)
    if fitting and fitting == count:
        return f"{count}/{count} nodes would do"
    head = f"{fitting}/{count} nodes are available"
    parts = sorted(totals.items(), key=lambda each: (-each[1], each[0]))
    listed = ", ".join([f"{number} {reason}" for reason, number in parts])
    return f"{head}: {listed}" if listed else head
