"""The questions that the core asks its caller, about nodes and victims, and what it tells it.

A question is a synchronous call without side effects. The caller of the core records its answers,
so that a replay can give the same ones. If the RM is remote, the caller answers with a ticket; the
verdicts follow in a command, ``PredicateVerdicts``, and the core goes on meanwhile.
Rules: SI-80, SI-81, EXT-22, EXT-14.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from remuda.base.message import message


@message
class NodesQuestion:
    """A question for the first of some nodes that an ask may go to.

    ``allocate``: to run there; False: to reserve the node. ``node_ids``: in the order of
    preference, all with room (to run) or large enough (to reserve). ``want``: how many of the nodes
    the core can use, since the ask wants more than one allocation or equal asks wait behind it.
    ``equivalence``: the predicate class of the ask, "" if it named none (EXT-15).
    """

    rm_id: str
    application_id: str
    allocation_key: str
    allocate: bool
    node_ids: tuple[str, ...]
    want: int = 1
    equivalence: str = ""


@message
class NodesAnswer:
    """The answer: ``passed`` is the index of the first accepted node, -1 if none is accepted.

    ``refusals``: why each node before that one was refused, in the order of the question.

    ``ticket``: 0, or a number, unique per RM, that the later verdicts carry. Then no verdict is
    known yet, and ``asked`` is how many nodes, from the first one on, the RM was asked about.
    """

    passed: int
    refusals: tuple[str, ...] = ()
    ticket: int = 0
    asked: int = 0


class Predicates(Protocol):
    """Asks the owner of an ask which nodes it may go to."""

    def __call__(self, question: NodesQuestion) -> NodesAnswer:
        """Return the first accepted node of a question, with the refusals before it."""
        ...


def always_true(question: NodesQuestion) -> NodesAnswer:
    """Answer for RMs without predicates: every node is accepted. Implements: SI-106."""
    return NodesAnswer(0)


def one_by_one(question: NodesQuestion, refusal: Callable[[str], str]) -> NodesAnswer:
    """Return the answer for a predicate of single nodes; call it until one passes.

    ``refusal``: node ID -> why it is refused, "" if it is not.
    Implements: EXT-22.
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
    """Asks whether a node would accept an ask if some allocations on it ended.

    ``victims``: allocation keys in the order of removal; those up to ``start_index`` are removed
    together, the others one by one (SI-81). ``application_id``: that of the ask. If no victim has
    to end, the ordinary predicates are asked, and they need it (PRE-26).
    """

    allocation_key: str
    node_id: str
    victims: tuple[str, ...]
    start_index: int
    application_id: str = ""


@message
class PreemptionQuestion:
    """Asks about nodes, best first; ``first_success``: the RM may stop at the first success.

    Rules: PRE-24, PRE-25, EXT-18.
    """

    rm_id: str
    items: tuple[PreemptionItem, ...]
    first_success: bool = True


@message
class PreemptionVerdict:
    """``index``: that of the last victim that has to end, -1 if none has to or nothing helps."""

    success: bool
    index: int = -1


@message
class PreemptionAnswer:
    """The verdicts on the items, from the first one on; items without a verdict were not judged.

    ``ticket``: 0, or the number that the later verdicts carry, as in NodesAnswer.
    """

    verdicts: tuple[PreemptionVerdict, ...] = ()
    ticket: int = 0


class PreemptionPredicates(Protocol):
    """Asks the owner of an ask which nodes would accept it without some allocations."""

    def __call__(self, question: PreemptionQuestion) -> PreemptionAnswer:
        """Return verdicts on a question. Implements: SI-81. Rules: EXT-18."""
        ...


class AttemptWatch(Protocol):
    """Is called when the core begins and ends a search for victims.

    It returns nothing, so that no decision depends on it. The core reads no clock; the caller
    measures with it how long an attempt takes. It is called on the core's thread and must return at
    once.
    """

    def __call__(self, *, begins: bool) -> None:
        """Note the begin or the end of one attempt. Rules: MET-13."""
        ...


class FaultWatch(Protocol):
    """Is called with a fault of the core before everything of an RM is dropped because of it.

    It may read the scheduler, whose state of that RM may be wrong. It is called on the core's
    thread, and returns nothing, so that no decision depends on it.
    """

    def __call__(self, rm_id: str, fault: Exception) -> None:
        """Note a fault in work for an RM. Rules: SI-15."""
        ...


# Is called wherever the core reports something, so that tests can raise a fault there.
FaultPoint: TypeAlias = Callable[[], None]


def nobody_watches(*, begins: bool) -> None:
    """Ignore attempts; the default where the caller measures nothing."""


def first_will_do(question: PreemptionQuestion) -> PreemptionAnswer:
    """Answer for RMs without such predicates: the first node succeeds. Implements: PRE-28."""
    verdicts = [PreemptionVerdict(True, item.start_index) for item in question.items[:1]]
    return PreemptionAnswer(tuple(verdicts))
