"""The questions the core may ask outward: about nodes, and about victims (SI-80, SI-81, EXT-22).

They are synchronous and free of side effects; whoever supplies the answers records them, so that a
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


@message
class PreemptionItem:
    """Would a node take an ask if allocations there ended?

    ``victims``: allocation keys in the order of removal; those up to ``start_index`` go together,
    the others one by one (SI-81). ``application_id``: of the ask; where no victim has to go the
    ordinary predicates are asked, and they want to know (PRE-26).
    """

    allocation_key: str
    node_id: str
    victims: tuple[str, ...]
    start_index: int
    application_id: str = ""


@message
class PreemptionQuestion:
    """Which nodes would do? Best first; with ``first_success`` nothing after the first that does.

    Rules: PRE-24, PRE-25, EXT-18.
    """

    rm_id: str
    items: tuple[PreemptionItem, ...]
    first_success: bool = True


@message
class PreemptionVerdict:
    """``index``: of the last victim that has to go, -1 if none has to, or nothing helps."""

    success: bool
    index: int = -1


@message
class PreemptionAnswer:
    """The verdicts on the items, from the first one on; those that are missing were not judged.

    ``ticket``: 0, or the number under which the verdicts follow, as in NodesAnswer.
    """

    verdicts: tuple[PreemptionVerdict, ...] = ()
    ticket: int = 0


class PreemptionPredicates(Protocol):
    """Asks the owner of an ask which nodes would take it without some of what is there."""

    def __call__(self, question: PreemptionQuestion) -> PreemptionAnswer:
        """Return verdicts on a question. Rules: SI-81, EXT-18."""
        ...


def first_will_do(question: PreemptionQuestion) -> PreemptionAnswer:
    """The answer for RMs without such predicates: the first node does. Rules: PRE-28."""
    verdicts = [PreemptionVerdict(True, item.start_index) for item in question.items[:1]]
    return PreemptionAnswer(tuple(verdicts))
