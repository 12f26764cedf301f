"""Finds a placeholder that a real ask can replace (rules: CYC-23, chapter 80 section 3).

Asks are tried in ask order, and the placeholders of their task group oldest first. On the
placeholder's own node only the predicates are checked, since usage does not grow there. If no pair
works, the first pair is tried on the other nodes. Placeholders that are too small for an ask are
discarded.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, final

from remuda.core.cycle.search import BATCH, BATCH_LIMIT, Search
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.gang import Gang
from remuda.core.model.asks.request import Request
from remuda.core.model.decision import AwaitPredicates, PostponePredicates, Replacement, Swap
from remuda.core.model.partition import Partition
from remuda.core.model.ranking import SortKey
from remuda.core.model.vectors import fits, smaller
from remuda.core.pending.head import first_leaf
from remuda.core.ports import Predicates

# At most so many placeholders are looked at in one decision; the next decision continues there.
PLACEHOLDERS_LIMIT: Final = 4_096


def decide_swap(
    partition: Partition, predicates: Predicates
) -> Swap | AwaitPredicates | PostponePredicates:
    """Return the next replacement of the application that is served next in the swap pass.

    Implements: CYC-23. Rules: GANG-10, GANG-13, GANG-15, GANG-16, EXT-14, EXT-17.
    """
    application = first_leaf(partition, partition.waiting.swapping).swaps.first()
    attempt = _Attempt(partition, application, predicates)
    swap = attempt.result()
    if attempt.waits is not None:
        attempt.waits.application = application
        return attempt.waits
    if attempt.skipped and swap.replacement is None:
        return PostponePredicates(None, application)
    return AwaitPredicates(None, application) if partition.waiting.questions.waiting() else swap


@final
class _Attempt:
    """One attempt to replace a placeholder of one application.

    ``_gone``: IDs of discarded placeholders. ``_first``: the first ask with a large enough
    placeholder, on any node. ``_ask_classes``: numbers of the ask classes that were tried; further
    asks of them get the same answers and are skipped. ``_looked``: how many placeholders were
    looked at, for all asks. ``waits``: the question that the RM has not answered yet; ``skipped``:
    the RM gave no answer about some nodes.
    """

    __slots__ = (
        "_ask_classes",
        "_first",
        "_gang",
        "_gone",
        "_looked",
        "_partition",
        "_predicates",
        "_swap",
        "skipped",
        "waits",
    )

    def __init__(
        self, partition: Partition, application: Application, predicates: Predicates
    ) -> None:
        assert application.gang is not None
        self._partition = partition
        self._predicates = predicates
        self._gang: Gang = application.gang
        self._swap = Swap(application)
        self._gone: dict[str, None] = {}
        self._first: tuple[Request, Allocation] | None = None
        self._ask_classes: dict[int, None] = {}
        self._looked: int = 0
        self.waits: AwaitPredicates | None = None
        self.skipped: bool = False

    def result(self) -> Swap:
        """Try the asks in order, then another node for the first pair. Rules: GANG-10, GANG-16."""
        for request in _asks_in_order(self._gang):
            if self._looked >= PLACEHOLDERS_LIMIT:
                break
            self._swap.looked_until = request.sort_key
            group = request.group
            assert group is not None
            if group.limit_group.class_queue.ask_class.number not in self._ask_classes:
                self._ask_classes[group.limit_group.class_queue.ask_class.number] = None
                self._try(request)
            if self._swap.replacement is not None or self.waits is not None:
                return self._swap
        else:
            self._swap.looked_until = ()
        first = self._first
        if first is not None and first[1].allocation_id not in self._gone and not self.skipped:
            self._try_elsewhere(*first)
        return self._swap

    def _try(self, request: Request) -> None:
        """Look for a placeholder that an ask can replace on the placeholder's own node.

        Rules: GANG-13, GANG-15, SI-39.
        """
        search = self._search(request)
        asked: dict[str, None] = {}
        for chunk in self._chunks(request):
            fitting = [each for each in chunk if not smaller(each.amounts, request.amounts)]
            if self._first is None and fitting:
                self._first = (request, fitting[0])
            found = _on_new_nodes(fitting, request.required_node(), asked)
            passed = search.first_agreeing([each.node for each in found])
            if self._note_answers(search):
                return
            self._looked += len(chunk)
            taken = found[passed] if passed >= 0 else None
            self._discard(request, chunk, taken)
            if taken is not None:
                self._swap.replacement = Replacement(request, taken, taken.node)
                return
        self._swap.reasons += [(request, reason) for reason in search.reasons]

    def _chunks(self, request: Request) -> Iterator[list[Allocation]]:
        """Yield the placeholders of an ask's task group, oldest first, in growing chunks.

        One question to the RM names the nodes of a chunk. Without predicates the first placeholder
        that is large enough is taken, so chunks have one element. Rules: GANG-10, EXT-13.
        """
        free = self._gang.groups[request.ask.task_group].free
        left = (each for each in free.values() if each.allocation_id not in self._gone)
        size, limit = (BATCH, BATCH_LIMIT) if self._partition.settings.predicates else (1, 1)
        while chunk := list(islice(left, size)):
            yield chunk
            size = min(size * 4, limit)

    def _discard(self, request: Request, chunk: list[Allocation], taken: Allocation | None) -> None:
        """Discard the placeholders that are too small for an ask, up to the one it takes.

        Implements: GANG-15.
        """
        for placeholder in chunk:
            if placeholder is taken:
                return
            if smaller(placeholder.amounts, request.amounts):
                self._swap.discarded.append((request, placeholder))
                self._gone[placeholder.allocation_id] = None

    def _try_elsewhere(self, request: Request, placeholder: Allocation) -> None:
        """Look for another node for the first pair; room there is allocated at once.

        Implements: GANG-16. Rules: SI-39, NOD-8.
        """
        search = self._search(request)
        required = request.required_node()
        node = self._partition.nodes.get(required) if required else search.open_node()
        if required and node is not None:
            fitting = [node] if fits(node.available, request.amounts) else []
            node = search.first_accepted(fitting)
        if self._note_answers(search):
            return
        self._swap.tried, self._swap.refusals = request, search.refusals
        if node is not None:
            self._swap.replacement = Replacement(request, placeholder, node)

    def _note_answers(self, search: Search) -> bool:
        """Note missing answers; return whether one is still to come. Rules: EXT-14, EXT-17."""
        if search.class_queue.ask_class.predicate_class.judged:
            self._swap.judged.append(search.class_queue)
        self.skipped = self.skipped or search.skipped
        self.waits = search.waits
        return self.waits is not None

    def _search(self, request: Request) -> Search:
        group = request.group
        assert group is not None
        return Search(self._partition, group.limit_group.class_queue, request, self._predicates)


def _on_new_nodes(
    placeholders: list[Allocation], required: str, asked: dict[str, None]
) -> list[Allocation]:
    """Return the first placeholder on each node that is not in ``asked``; add these nodes to it.

    ``required``: the ID of the required node, "" for any node. Rules: SI-39 (decision 67 of
    docs/spec).
    """
    found: list[Allocation] = []
    for placeholder in placeholders:
        node_id = placeholder.node.node_id
        if required in ("", node_id) and node_id not in asked:
            asked[node_id] = None
            found.append(placeholder)
    return found


def _asks_in_order(gang: Gang) -> Iterator[Request]:
    """Yield the real asks of groups with a free placeholder, in ask order. Implements: GANG-10.

    Usually only the first ask is needed, so the others are sorted only after it. Asks that the last
    decision tried without success are skipped.
    """
    able = [gang.groups[name] for name in gang.able]
    if not gang.looked_until:
        yield min([group.order.first() for group in able], key=_sort_key)
    asks = [each for group in able for each in group.order.asks()]
    if gang.looked_until:
        asks = [each for each in asks if each.sort_key > gang.looked_until]
    yield from sorted(asks, key=_sort_key)


def _sort_key(request: Request) -> SortKey:
    return request.sort_key
