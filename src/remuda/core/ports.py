"""The one question the core may ask outward (SI-80, EXT-22).

It is synchronous and free of side effects; whoever supplies it records the answers, so that a
replay can give the same ones. Who cannot answer at once, because the RM is elsewhere, says so: the
verdicts follow in a command, ``PredicateVerdicts``, and the core goes on meanwhile (EXT-14).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from remuda.base.message import message


@message
class NodesQuestion:
    """Which is the first of these nodes that an ask may go to?

    ``allocate``: to run there; False: to reserve it. ``node_ids``: in the order of preference, all
    with room (to run) or large enough (to reserve). ``want``: so many of them are of use, since the
    ask wants more than one allocation.
    """

    rm_id: str
    application_id: str
    allocation_key: str
    allocate: bool
    node_ids: tuple[str, ...]
    want: int = 1


@message
class NodesAnswer:
    """``passed``: the index of the first node that is acceptable, -1 if none is.

    ``refusals``: why each node before that was refused, in the order of the question.

    ``ticket``: 0, or the number, unique per RM, under which the verdicts follow; then nothing is
    known yet, and ``asked`` of the nodes, from the first one on, are asked about.
    """

    passed: int
    refusals: tuple[str, ...] = ()
    ticket: int = 0
    asked: int = 0


class Predicates(Protocol):
    """Asks the owner of an ask which nodes it may go to."""

    def __call__(self, question: NodesQuestion) -> NodesAnswer:
        """Return the first acceptable node of a question, with the refusals before it."""
        ...


def always_true(question: NodesQuestion) -> NodesAnswer:
    """The answer for RMs without predicates: every node is acceptable (SI-106)."""
    return NodesAnswer(0)


def one_by_one(question: NodesQuestion, refusal: Callable[[str], str]) -> NodesAnswer:
    """Return the answer of a judge of single nodes, asked until one passes (EXT-22).

    ``refusal``: node ID -> why it is refused, "" if it is not.
    """
    refusals: list[str] = []
    for index, node_id in enumerate(question.node_ids):
        reason = refusal(node_id)
        if not reason:
            return NodesAnswer(index, tuple(refusals))
        refusals.append(reason)
    return NodesAnswer(-1, tuple(refusals))
