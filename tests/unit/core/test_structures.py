"""The ordered structures under the core, against plain sorting, and their memory."""

from __future__ import annotations

import random
import time
from collections.abc import Collection
from fractions import Fraction

import pytest

from remuda.core.messages.commands import Ask, NewApplication
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.submission import Submission
from remuda.core.model.asks.ages import Ages
from remuda.core.model.asks.ask_order import AskOrder
from remuda.core.model.asks.request import Request
from remuda.core.model.queues.child_order import ChildOrder
from remuda.core.model.queues.demand import Scale
from remuda.core.model.queues.priorities import MIN_PRIORITY, PriorityCount
from remuda.core.model.queues.queue import Queue
from remuda.core.model.ranking import Ranking
from remuda.core.model.vectors import (
    KNOWN_LIMIT,
    ResourceTypes,
    Vector,
    exceeds,
    same_limit,
    vector_of,
)


def test_a_ranking_always_knows_its_smallest() -> None:
    draw = random.Random(1)
    ranking = Ranking()
    plain: dict[int, tuple[int, int]] = {}
    for _ in range(5_000):
        number = draw.randrange(40)
        if draw.random() < 0.3:
            ranking.drop(number)
            plain.pop(number, None)
        else:
            plain[number] = (draw.randrange(9), number)
            ranking.put(plain[number])
        expected = min(plain, key=lambda each: plain[each]) if plain else -1
        assert ranking.first() == expected


def test_a_ranking_does_not_grow_with_its_history() -> None:
    ranking = Ranking()
    ranking.put((0, 0))
    for turn in range(10_000):
        ranking.put((1 + turn, 1 + turn % 10))
    assert len(ranking._heap) <= 100


def waiting(number: int, created_ns: int, priority: int = 0) -> Request:
    """An ask that came at a time."""
    leaf = Queue("a", None, leaf=True, managed=True)
    application = Application(Submission(1, NewApplication("app"), 0), leaf)
    resource = {"vcore": 1}
    amounts = ResourceTypes().amounts(resource)
    ask = Ask("app", f"ask-{number}", resource, priority=priority)
    return Request(number, ask, amounts, application, created_ns)


@pytest.mark.remuda_rule("CYC-18", "SI-61")
def test_the_allocations_of_a_key_are_listed_oldest_first_however_they_end() -> None:
    draw = random.Random(3)
    for most in (1, 2, 9):
        request, plain = waiting(1, 0), list[str]()
        for number in range(500):
            if len(plain) < most and draw.random() < 0.6:
                plain.append(f"k-{number}")
                request.note_allocation(plain[-1])
            elif plain:
                request.forget_allocation(plain.pop(draw.randrange(len(plain))))
            request.forget_allocation("k-x")  # is not on the list
            assert request.allocation_ids() == plain


def test_many_allocations_of_a_key_may_end_in_the_order_they_came() -> None:
    """Each costs the same, however many ended before it."""

    def seconds(count: int) -> float:
        request = waiting(1, 0)
        for number in range(count):
            request.note_allocation(f"k-{number}")
        began = time.process_time()
        for number in range(count):
            request.forget_allocation(f"k-{number}")
        return time.process_time() - began

    few, many = (min(seconds(count) for _ in range(5)) for count in (2_000, 20_000))
    assert many < 40 * few


def number_of(request: Request) -> int:
    return request.number


@pytest.mark.remuda_rule("QUE-44")
def test_asks_are_served_by_sort_key_however_they_come_and_go() -> None:
    dice = random.Random(7)
    for disorder in (0, 3, 100):
        order = AskOrder()
        there: dict[int, Request] = {}
        for number in range(600):
            there[number] = waiting(number, number + dice.randint(0, disorder))
            order.put(there[number])
            while there and dice.random() < 0.48:
                gone = order.first() if dice.random() < 0.7 else dice.choice([*there.values()])
                order.drop(gone)
                del there[gone.number]
                draw = dice.random()
                if draw < 0.2:  # it comes back, as it was or changed: younger or older
                    back = gone if draw < 0.1 else waiting(gone.number, dice.randint(0, 700))
                    there[gone.number] = back
                    order.put(back)
            assert sorted(order.asks(), key=number_of) == sorted(there.values(), key=number_of)
            assert order.count == len(there)
            assert list(order.in_order()) == sorted(there.values(), key=lambda each: each.sort_key)
            if there:
                assert order.first() is min(there.values(), key=lambda each: each.sort_key)


def test_an_order_of_asks_does_not_grow_with_its_history() -> None:
    order = AskOrder()
    stays = waiting(0, 0)
    order.put(stays)
    for number in range(1, 5_000):
        ask = waiting(number, number % 7)
        order.put(ask)
        order.drop(ask)
    assert order.first() is stays
    assert len(order._run) + len(order._heap) + len(order._late) < 100
    assert order._head <= 16


@pytest.mark.remuda_rule("RSV-3", "PRE-5")
def test_asks_that_have_to_move_are_taken_by_priority_and_arrival() -> None:
    draw = random.Random(4)
    ages = Ages()
    plain: list[Request] = []
    numbers = list(range(600))
    draw.shuffle(numbers)
    while numbers or plain:
        added = [waiting(numbers.pop(), 0, draw.randrange(3)) for _ in numbers[:40]]
        # An ask may come again before it was taken.
        again = added[:1]
        for each in (added, again):
            if each:
                ages.add_to_reclassify(each)
        plain = sorted(plain + added + again, key=lambda each: (-each.ask.priority, each.number))
        assert ages.take_to_reclassify(30) == plain[:30]
        del plain[:30]
    assert ages.take_to_reclassify(30) == []


@pytest.mark.remuda_rule("RSV-3", "PRE-5")
def test_asks_that_have_to_move_do_not_look_at_those_that_wait_already() -> None:
    one = waiting(0, 0)

    def seconds(already: int) -> float:
        ages = Ages()
        ages.add_to_reclassify([one] * (already + 1))
        began = time.process_time()
        for _ in range(1_000):
            ages.add_to_reclassify([one])
            assert len(ages.take_to_reclassify(1)) == 1
        return time.process_time() - began

    assert seconds(200_000) < 50 * seconds(0)


@pytest.mark.remuda_rule("QUE-27", "QUE-28")
def test_the_highest_priority_is_that_of_what_is_left() -> None:
    draw = random.Random(2)
    count = PriorityCount()
    held: list[int] = []
    for _ in range(5_000):
        if held and draw.random() < 0.5:
            gone = held.pop(draw.randrange(len(held)))
            count.remove(gone)
        else:
            held.append(draw.randrange(-5, 6))
            count.add(held[-1])
        assert count.highest == max(held, default=MIN_PRIORITY)


def test_priorities_that_come_and_go_leave_nothing_behind() -> None:
    count = PriorityCount()
    count.add(9)
    for _ in range(10_000):
        count.add(3)
        count.remove(3)
    assert len(count._heap) <= 100


def put(
    order: ChildOrder,
    name: str,
    numbers: tuple[float, float],
    pending: tuple[int, ...],
    ready: bool,
) -> None:
    """Put a child whose queue has so much pending."""
    vector = Vector()
    vector.amounts = [*pending, 0]
    order.put(name, (*numbers, name), vector, ready)


def scale_of(*totals: int, parity: bool = False) -> Scale:
    """What demands are measured by in a cluster that has so much of each type."""
    vector = Vector()
    vector.amounts = list(totals)
    return Scale(vector, parity=parity)


EVEN = scale_of(100, 100, 100)
PARITY = scale_of(100, 100, 100, parity=True)


@pytest.mark.remuda_rule("QUE-36", "KV-5")
def test_with_parity_equal_children_are_served_by_name_unless_another_has_more_pending() -> None:
    order = ChildOrder()
    put(order, "a", (0, 0.5), (1,), ready=True)
    put(order, "b", (0, 0.5), (0, 5), ready=True)
    put(order, "c", (0, 0.5), (2,), ready=True)
    assert order.first(PARITY) == "b"  # c has more than a, b and c cannot be compared
    put(order, "b", (0, 0.5), (0, 5), ready=False)
    assert order.first(PARITY) == "c"
    order.drop("c")
    assert order.first(PARITY) == "a"
    put(order, "d", (0, 0.4), (1,), ready=True)
    assert order.first(PARITY) == "d"


@pytest.mark.remuda_rule("QUE-36", "KV-5")
def test_with_parity_children_that_cannot_be_served_still_count_in_the_order() -> None:
    order = ChildOrder()
    put(order, "a", (0, 0.0), (1,), ready=True)
    put(order, "x", (0, 0.0), (3, 0, 1), ready=False)
    put(order, "c", (0, 0.0), (0, 9), ready=True)
    # Served in this order: c (nobody exceeds it, before x by name), x, a.
    assert order.first(PARITY) == "c"


@pytest.mark.remuda_rule("QUE-35", "QUE-36")
def test_equal_children_are_served_by_the_part_of_the_cluster_they_want() -> None:
    order = ChildOrder()
    put(order, "a", (0, 0.5), (20, 5), ready=True)
    put(order, "b", (0, 0.5), (5, 20), ready=True)
    put(order, "c", (0, 0.5), (0, 0, 0, 9), ready=True)
    even, more_of_the_first = scale_of(100, 100), scale_of(1000, 100)
    assert order.first(even) == "a"  # 25 % each
    assert order.first(more_of_the_first) == "b"  # 7 %, 20.5 %
    put(order, "b", (0, 0.5), (5, 20), ready=False)
    assert order.first(more_of_the_first) == "a"
    assert order.first_among("abc", more_of_the_first) == "b"
    order.drop("a")
    assert order.first(even) == "c"  # there is nothing of what it wants


def incomparable(number: int, count: int) -> tuple[int, ...]:
    """The pending of one of many children none of which exceeds another."""
    return (20 * number + 10, 20 * (count - number) + 10)


def seconds_per_choice(count: int, scale: Scale) -> float:
    """Processor time of a choice and the change after it, among so many equal children.

    They come last name first. The best of some rounds, so that what else the machine does
    hardly counts.
    """
    order = ChildOrder()
    for number in reversed(range(count)):
        put(order, f"q{number:05}", (0, 0.5), incomparable(number, count), ready=True)
    rounds: list[float] = []
    for _ in range(5):
        begun = time.process_time()
        for _ in range(3):
            name = order.first(scale)
            place = order.sort_data(name)
            assert place is not None
            _, pending, ready = place
            fewer = tuple(amount - 1 for amount in pending)
            put(order, name, (0, 0.5), fewer, ready)
        rounds.append(time.process_time() - begun)
    return min(rounds) / 3


@pytest.mark.remuda_rule("QUE-35", "QUE-36", "KV-5")
@pytest.mark.parametrize("scale", [EVEN, PARITY])
def test_a_choice_among_many_equal_children_hardly_looks_at_them(scale: Scale) -> None:
    few, many = seconds_per_choice(100, scale), seconds_per_choice(10_000, scale)
    # 100 times the children: linear would be 100, comparing all pairs 10,000.
    assert many < 20 * max(few, 5e-6), f"{few * 1e6:.0f} and {many * 1e6:.0f} us"


@pytest.mark.remuda_rule("QUE-36", "KV-5")
@pytest.mark.parametrize("count", [50, 64])
def test_with_parity_incomparable_children_are_served_by_name(count: int) -> None:
    order = ChildOrder()
    for number in range(count):
        put(order, f"q{number:05}", (0, 0.5), incomparable(number, count), ready=number % 3 == 2)
    served = []
    while order.ready:
        served.append(order.first(PARITY))
        order.drop(served[-1])
    assert served == [f"q{number:05}" for number in range(2, count, 3)]


@pytest.mark.remuda_rule("QUE-35", "QUE-36", "KV-5")
def test_with_parity_more_than_64_different_wishes_are_compared_by_their_parts() -> None:
    order = ChildOrder()
    for number in range(65):
        put(order, f"q{number:05}", (0, 0.5), incomparable(number, 65), ready=True)
    # The cluster has ten times as much of the second type: who wants most of the first is first.
    scale = scale_of(1_000, 10_000, parity=True)
    assert order.first(scale) == "q00064"
    assert order.first_among(["q00003", "q00002"], scale) == "q00003"
    order.drop("q00064")  # that leaves 64, none of which exceeds another
    assert order.first(scale) == "q00000"
    assert order.first_among(["q00003", "q00002"], scale) == "q00002"


class Plain:
    """Children with their numbers, pending amounts and whether they are ready, in no order."""

    def __init__(self) -> None:
        self.places: dict[str, tuple[tuple[float, float], tuple[int, ...], bool]] = {}

    def served(self, names: Collection[str]) -> list[str]:
        """All children in the order of QUE-36 with parity, of these only those named."""
        left = dict(self.places)
        found: list[str] = []
        while left:
            least = min(place[0] for place in left.values())
            equal = {name: place[1] for name, place in left.items() if place[0] == least}
            name = min(
                name
                for name, pending in equal.items()
                if not any(exceeds(other, pending) for other in equal.values())
            )
            del left[name]
            found.append(name)
        return [name for name in found if name in names]

    def by_parts(self, names: Collection[str], totals: tuple[int, ...]) -> list[str]:
        """Those named by their numbers, then by what they want (QUE-35), then by name."""

        def rank(name: str) -> tuple[tuple[float, float], Fraction, str]:
            numbers, pending, _ = self.places[name]
            parts = sum((Fraction(*pair) for pair in zip(pending, totals, strict=True)), Fraction())
            return numbers, -parts, name

        return sorted([name for name in names if name in self.places], key=rank)


@pytest.mark.remuda_rule("QUE-33", "QUE-35", "QUE-36", "CYC-19", "KV-5")
@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_children_are_served_in_the_order_of_their_definition(seed: int, parity: bool) -> None:
    """Few different numbers, so that children meet, stay together and part again."""
    draw = random.Random(seed)
    order, plain = ChildOrder(), Plain()
    totals = (3, 7)
    scale = scale_of(*totals, parity=parity)
    pending: dict[str, Vector] = {}
    names = [f"q{number}" for number in range(draw.choice((2, 5, 12)))]

    def served(wanted: Collection[str]) -> list[str]:
        return plain.served(wanted) if parity else plain.by_parts(wanted, totals)

    for _ in range(600):
        name = draw.choice(names)
        if draw.random() < 0.1:
            order.drop(name)
            plain.places.pop(name, None)
        else:
            numbers = (float(draw.randrange(2)), draw.choice((0.0, 0.25, 0.5)))
            amounts = (draw.randrange(3), draw.randrange(1, 3))
            ready = draw.random() < 0.7
            if name in plain.places and draw.random() < 0.7:
                numbers = plain.places[name][0]  # it stays, wants something else or is stopped
            pending.setdefault(name, Vector()).amounts = [*amounts, 0]
            plain.places[name] = (numbers, amounts, ready)
            order.put(name, (*numbers, name), pending[name], ready)
        if draw.random() < 0.1:  # nodes come and go
            totals = (draw.randint(1, 9), draw.randint(1, 9))
            scale = scale_of(*totals, parity=parity)
        able = [each for each, place in plain.places.items() if place[2]]
        if draw.random() < 0.5:
            assert order.first(scale) == next(iter(served(able)), "")
        if draw.random() < 0.2:
            some = draw.sample(names, draw.randint(1, len(names)))
            assert order.first_among(some, scale) == next(iter(served(some)), "")
        assert order.names() == sorted(plain.places)
        assert all(order.sort_data(each) == place for each, place in plain.places.items())
        assert not order.misplaced()


@pytest.mark.remuda_rule("QUE-35")
def test_what_children_want_is_compared_exactly() -> None:
    # 10**17 of 10**18 and of 10**18 + 1: floating point sees no difference.
    order, scale = ChildOrder(), scale_of(10**18 + 1, 10**18)
    put(order, "a", (0, 0.5), (10**17, 0), ready=True)
    put(order, "b", (0, 0.5), (0, 10**17), ready=True)
    assert order.first(scale) == "b"
    # A third and two sixths are the same, whatever floating point makes of them.
    order, scale = ChildOrder(), scale_of(3 * 10**17, 6 * 10**17 + 6)
    put(order, "b", (0, 0.5), (10**17, 0), ready=True)
    put(order, "a", (0, 0.5), (0, 2 * 10**17 + 2), ready=True)
    assert order.first(scale) == "a"


@pytest.mark.remuda_rule("RES-31", "RES-32", "EVT-74")
def test_a_limit_is_the_same_whichever_types_are_known_besides() -> None:
    types = ResourceTypes()
    early = vector_of(types.amounts({"vcore": 1}))
    types.amounts({"memory": 1})
    late = vector_of(types.amounts({"vcore": 1}))
    late.amounts.append(0)
    assert same_limit(early, late)
    assert same_limit(late, early)
    assert not same_limit(early, vector_of(types.amounts({"vcore": 1, "memory": 0})))
    assert not same_limit(early, vector_of(types.amounts({"vcore": 2})))
    assert not same_limit(early, None)
    assert same_limit(None, None)


@pytest.mark.remuda_rule("RES-11")
def test_amounts_are_named_in_the_order_of_names() -> None:
    types = ResourceTypes()
    types.amounts({"vcore": 1})
    vector = vector_of(types.amounts({"vcore": 1, "memory": 2, "gpu": 3}))
    assert list(types.named(vector.amounts, vector.types)) == ["gpu", "memory", "vcore"]


@pytest.mark.remuda_rule("RES-13")
def test_of_a_request_with_many_resources_each_is_read_as_it_is() -> None:
    types = ResourceTypes()
    each = [{"vcore": number} for number in range(KNOWN_LIMIT + 2)]
    assert [types.amounts(resource).pairs for resource in each] == [
        ((0, number),) for number in range(len(each))
    ]
    # A mapping that is gone leaves its identity to another one.
    for number in range(1, 100):
        assert types.amounts({"memory": number}).pairs == ((1, number),)
