"""The predicate classes that a session names beside a request (EXT-15)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remuda.base.errors import ProtocolError
from remuda.core.messages.ask import Ask
from remuda.si.generation import is_ask
from remuda.si.limits import ID_LENGTH_LIMIT
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si


def put_into_classes(
    asks: Sequence[Ask], request: si.AllocationRequest, classes: Sequence[ext.PredicateClass]
) -> None:
    """Set the predicate classes of the asks of a request.

    Those among the allocations of the request come first in ``asks``. Raises: ProtocolError for a
    name that is too long, an index that is none, and an ask in two classes. Rules: EXT-15.
    """
    places = [place for place, entry in enumerate(request.allocations) if is_ask(entry)]
    among = {index: place for place, index in enumerate(places)}
    seen: set[int] = set()
    for each in classes:
        if len(each.name) > ID_LENGTH_LIMIT:
            raise ProtocolError(f"a predicate class has more than {ID_LENGTH_LIMIT} characters")
        for place in _places(each, among, len(asks)):
            if place in seen:
                raise ProtocolError(
                    f"ask '{asks[place].allocation_key}' is in two predicate classes"
                )
            seen.add(place)
            asks[place].equivalence = each.name


def _places(each: ext.PredicateClass, among: dict[int, int], count: int) -> Iterator[int]:
    """Yield where the asks of a class are. Raises: ProtocolError."""
    for index in each.allocations:
        if index not in among:
            raise ProtocolError(f"predicate class '{each.name:.80}': allocation {index} is no ask")
        yield among[index]
    for index in each.asks:
        if index >= count - len(among):
            raise ProtocolError(f"predicate class '{each.name:.80}': there is no ask {index}")
        yield len(among) + index
