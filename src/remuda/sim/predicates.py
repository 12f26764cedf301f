"""Answers for the core's one outward question: may this task go to that node?

A trace may name the node models on which a task can run. The scheduler asks its RM through the
predicate port; here the answers come from a table of models.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final, final

from remuda.core.ports import NodesAnswer, NodesQuestion, Predicates, always_true, one_by_one
from remuda.sim.workload import NodeSpec, Task

ANY_MODEL: Final = "any"


def equivalence(task: Task) -> str:
    """Return the key under which tasks get equal answers: the models they accept."""
    return task.models or ANY_MODEL


def predicates_for(
    nodes: Iterable[NodeSpec], tasks: Iterable[Task], *, gangs: bool = False
) -> Predicates:
    """Return the port for a run; without constraints it is never asked.

    ``gangs``: a task is an application, not an ask.
    """
    constrained = [task for task in tasks if task.models]
    return ModelPredicates(nodes, constrained, gangs=gangs) if constrained else always_true


@final
class ModelPredicates:
    """Accepts a node when its model is among those a task names (SI-80)."""

    def __init__(
        self, nodes: Iterable[NodeSpec], constrained: Iterable[Task], *, gangs: bool = False
    ) -> None:
        self._gangs = gangs
        self._models = {node.node_id: node.model for node in nodes}
        sets: dict[str, frozenset[str]] = {}
        self._accepted: dict[str, frozenset[str]] = {}
        for task in constrained:
            models = sets.setdefault(task.models, frozenset(task.models.split("|")))
            self._accepted[task.task_id] = models

    def __call__(self, question: NodesQuestion) -> NodesAnswer:
        """Return the first node with an acceptable model, and why the earlier nodes are refused."""
        task_id = question.application_id if self._gangs else question.allocation_key
        accepted = self._accepted.get(task_id)
        if accepted is None:
            return always_true(question)
        return one_by_one(question, partial(self._refusal, accepted))

    def _refusal(self, accepted: frozenset[str], node_id: str) -> str:
        model = self._models[node_id]
        if model in accepted:
            return ""
        return f"node model '{model}' is not one of {', '.join(sorted(accepted))}"
