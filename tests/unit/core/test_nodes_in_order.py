"""The node order against plain sorting: what it finds, where it puts nodes, what it drops."""

from __future__ import annotations

import random

import pytest

from remuda.core.model.nodes.first_fits import AMOUNTS_LIMIT, MOVES_LIMIT, NODES_LIMIT
from remuda.core.model.nodes.node import Node
from remuda.core.model.nodes.node_blocks import CREDIT, CREDIT_EARNED, REFUSED_LIMIT, Part
from remuda.core.model.nodes.node_order import NodeOrder
from remuda.core.model.vectors import Amounts, ResourceTypes, fits, move, shortage
from remuda.core.policy.node_score import effective_weights, score_weights, scorer

# Several shelves of blocks.
COUNT = 2_500

SIZES = (
    {"memory": 16, "vcore": 8},
    {"memory": 8, "vcore": 16, "gpu": 2},
    {"memory": 64, "vcore": 64},
)
ASK_SIZES: tuple[dict[str, int], ...] = (
    {"memory": 1, "vcore": 1},
    {"memory": 7, "vcore": 2},
    {"vcore": 9},
    {"gpu": 1},
    {"memory": 65},
    {},
)


class Nodes:
    """Nodes, the order of them, and what was placed."""

    def __init__(self, seed: int, policy: str, sizes: int) -> None:
        self.draw = random.Random(seed)
        self.types = ResourceTypes()
        self.order = NodeOrder(scorer(policy))
        self.wanted = [self.types.amounts(size) for size in ASK_SIZES]
        self.nodes = [self.node(number, SIZES[number % sizes]) for number in range(COUNT)]
        self.draw.shuffle(self.nodes)
        for node in self.nodes:
            self.order.put(node)
        self.inside = dict.fromkeys(self.nodes)
        self.placed: list[tuple[Node, Amounts]] = []

    def node(self, number: int, size: dict[str, int]) -> Node:
        """An empty node."""
        node = Node(f"n{number:05}", self.types.amounts(size), self.types.amounts({}), True)
        node.weights = score_weights(node, self.types, effective_weights({}))
        return node

    def sorted(self) -> list[Node]:
        """The nodes in the order they should have."""
        return sorted(self.inside, key=lambda node: (self.order.score(node), node.node_id))

    def fitting(self, amounts: Amounts) -> list[Node]:
        """All nodes that fit, in order."""
        return [node for node in self.sorted() if fits(node.available, amounts)]

    def place(self, node: Node, amounts: Amounts) -> None:
        """Let a node be used."""
        move(node.available, node.allocated, amounts)
        self.placed.append((node, amounts))
        self.put(node)

    def release(self) -> None:
        """Give back what one of those placed took."""
        node, amounts = self.placed.pop(self.draw.randrange(len(self.placed)))
        move(node.allocated, node.available, amounts)
        self.put(node)

    def put(self, node: Node) -> None:
        """Put a node that changed, if it is in the order."""
        if node in self.inside:
            self.order.put(node)

    def come_or_go(self, node: Node) -> None:
        """Take a node out, or back in."""
        if node in self.inside:
            del self.inside[node]
            self.order.drop(node.node_id)
        else:
            self.inside[node] = None
            self.order.put(node)

    def check(self) -> None:
        """Compare with plain sorting."""
        ordered = self.sorted()
        expected = [(self.order.score(node), node.node_id) for node in ordered]
        assert self.order.entries() == expected
        assert self.order.missed() == []
        assert len(self.order) == len(ordered)
        counts: dict[int, int] = {}
        for node in ordered:
            counts[node.total.number] = counts.get(node.total.number, 0) + 1
        kept = {number: count for number, (_, count) in self.order.sizes.items()}
        assert kept == counts


@pytest.mark.remuda_rule("NOD-15", "NOD-20", "CYC-15")
@pytest.mark.parametrize("policy", ["fair", "binpacking"])
@pytest.mark.parametrize("sizes", [1, 3])
def test_the_first_that_fits_is_that_of_plain_sorting(policy: str, sizes: int) -> None:
    nodes = Nodes(3, policy, sizes)
    draw = nodes.draw
    for turn in range(4_000):
        # Mostly equal asks, one after the other, as applications have them.
        amounts = nodes.wanted[0] if draw.random() < 0.8 else draw.choice(nodes.wanted)
        chance = draw.random()
        if chance < 0.15 and nodes.placed:
            nodes.release()
        elif chance < 0.3:
            nodes.come_or_go(draw.choice(nodes.nodes))
        elif chance < 0.4:
            nodes.place(draw.choice(nodes.nodes), amounts)  # reported, be there room or not
        else:
            found = nodes.order.first_fit(amounts)
            if turn % 40 == 0:
                fitting = nodes.fitting(amounts)
                assert found is (fitting[0] if fitting else None)
                after = draw.choice(ordered) if (ordered := nodes.sorted()) else None
                rest = fitting if after is None else behind(nodes.order, fitting, after)
                assert nodes.order.fitting(amounts, after, 50) == rest[:50]
                nodes.check()
            if found is not None:
                nodes.place(found, amounts)
    nodes.check()


def behind(order: NodeOrder, nodes: list[Node], after: Node) -> list[Node]:
    """Those of some nodes that are behind another."""
    least = (order.score(after), after.node_id)
    return [node for node in nodes if (order.score(node), node.node_id) > least]


@pytest.mark.parametrize("policy", ["fair", "binpacking"])
def test_nodes_fill_up_and_leave_one_by_one(policy: str) -> None:
    """Every place in the order is the first, the last and the only one at some time."""
    nodes = Nodes(4, policy, 1)
    for node in nodes.nodes[40:]:
        nodes.come_or_go(node)
    amounts = nodes.wanted[0]
    while (found := nodes.order.first_fit(amounts)) is not None:
        assert found is nodes.fitting(amounts)[0]
        nodes.place(found, amounts)
        nodes.check()
    assert not nodes.fitting(amounts)
    while nodes.inside:
        nodes.come_or_go(nodes.draw.choice(list(nodes.inside)))
        nodes.check()
    assert nodes.order.first_fit(nodes.wanted[-1]) is None
    nodes.come_or_go(nodes.nodes[0])
    nodes.check()


@pytest.mark.remuda_rule("NOD-15", "NOD-20", "CYC-15")
@pytest.mark.parametrize("kinds,largest", [(16, 8), (400, 32)])
def test_unequal_asks_on_packed_nodes_go_where_plain_sorting_says(kinds: int, largest: int) -> None:
    """Most nodes have some room left, of this type or of that, and few have enough of both."""
    nodes = Nodes(7, "binpacking", 3)
    draw = nodes.draw
    wanted = [
        nodes.types.amounts({name: draw.randint(1, largest) for name in ("memory", "vcore")})
        for _ in range(kinds)
    ]
    refused = fullest = known = 0
    for turn in range(6_000):
        amounts = draw.choice(wanted)
        found = nodes.order.first_fit(amounts)
        if turn % 100 == 0:
            fitting = nodes.fitting(amounts)
            assert found is (fitting[0] if fitting else None)
            nodes.check()
            remembered = refusals(nodes.order)
            refused += sum(remembered)
            fullest = max(fullest, *remembered)
            known = max(known, len(nodes.order._first_fits.known))
        if found is not None:
            nodes.place(found, amounts)
        if nodes.placed and draw.random() < 0.2:
            nodes.release()
        if draw.random() < 0.1:
            nodes.come_or_go(draw.choice(nodes.nodes))
    if kinds <= AMOUNTS_LIMIT:
        assert known == len({amounts.number for amounts in wanted})
        return  # each search begins where the last one for its amounts ended, past the full nodes
    assert AMOUNTS_LIMIT / 2 < known <= AMOUNTS_LIMIT
    assert refused > 1_000
    assert REFUSED_LIMIT / 2 < fullest <= REFUSED_LIMIT


@pytest.mark.remuda_rule("NOD-15", "NOD-20", "CYC-15")
def test_many_nodes_that_gained_room_are_found_in_order() -> None:
    nodes = Nodes(10, "binpacking", 1)
    amounts = nodes.wanted[1]
    while (found := nodes.order.first_fit(amounts)) is not None:
        nodes.place(found, amounts)
    nodes.come_or_go(nodes.nodes[0])
    nodes.come_or_go(nodes.nodes[0])
    # The search ends at the last node; then most nodes before it gain room.
    last = nodes.sorted()[-1]
    for node, placed in [each for each in nodes.placed if each[0] is last]:
        nodes.placed.remove((node, placed))
        move(node.allocated, node.available, placed)
        nodes.put(node)
    assert nodes.order.first_fit(amounts) is last
    most = 0
    for _ in range(2 * NODES_LIMIT):
        nodes.release()
        known = nodes.order._first_fits.known[amounts.number]
        most = max(most, len(known.entries))
    assert most == NODES_LIMIT
    nodes.check()
    for turn in range(2 * NODES_LIMIT):
        found = nodes.order.first_fit(amounts)
        assert found is not None
        if turn % 32 == 0:
            assert found is nodes.fitting(amounts)[0]
            nodes.check()
        nodes.place(found, amounts)


def test_amounts_that_nobody_asks_for_are_forgotten() -> None:
    nodes = Nodes(11, "binpacking", 1)
    full = nodes.order.first_fit(nodes.wanted[1])
    assert full is not None
    nodes.place(full, nodes.types.amounts(SIZES[0]))
    assert nodes.order.first_fit(nodes.wanted[1]) is not full
    known = nodes.order._first_fits.known
    assert list(known) == [nodes.wanted[1].number]
    for _ in range(MOVES_LIMIT):
        assert known
        nodes.put(full)
    nodes.put(full)
    assert not known
    assert nodes.order.first_fit(nodes.wanted[1]) is nodes.fitting(nodes.wanted[1])[0]


def refusals(order: NodeOrder) -> list[int]:
    """For how many amounts each shelf and block knows that it was searched in vain."""
    shelves = order._shelves
    kept = [each.refused for each in shelves]
    kept += [each.refused for shelf in shelves for each in shelf.blocks]
    return [len(each) for each in kept]


def lopsided() -> tuple[Nodes, Amounts]:
    """Nodes with room of one type or the other, and what wants both, searched for in vain."""
    nodes = Nodes(8, "binpacking", 1)
    types = nodes.types
    for number, node in enumerate(nodes.nodes):
        nodes.place(node, types.amounts({"vcore": 6} if number % 2 else {"memory": 12}))
    both = types.amounts({"memory": 5, "vcore": 3})
    assert nodes.order.first_fit(both) is None
    return nodes, both


@pytest.mark.remuda_rule("NOD-15")
def test_a_search_in_vain_is_remembered_until_a_node_has_room() -> None:
    nodes, both = lopsided()
    shelves = nodes.order._shelves
    assert all(both.number in shelf.refused for shelf in shelves)
    assert all(both.number in block.refused for shelf in shelves for block in shelf.blocks)
    nodes.release()
    found = nodes.order.first_fit(both)
    assert [found] == nodes.fitting(both)
    assert sum(both.number not in shelf.refused for shelf in shelves) == 1


def test_what_is_remembered_is_looked_at_no_more_than_it_spares() -> None:
    nodes, both = lopsided()
    order = nodes.order
    shelf = order._shelves[0]
    block = shelf.blocks[0]
    searches = 3
    for _ in range(searches):
        assert order.fitting(both, None, 1) == []
    assert puts_until_forgotten(nodes, block, both) == CREDIT + 1
    rest = searches * CREDIT_EARNED
    assert puts_until_forgotten(nodes, shelf, both) == rest
    others = [each for each in order._shelves if each is not shelf]
    assert others
    assert all(both.number in each.refused for each in others)
    assert order.fitting(both, None, 1) == []
    assert both.number in shelf.refused
    assert both.number in block.refused


def puts_until_forgotten(nodes: Nodes, part: Part, amounts: Amounts) -> int:
    """How often the first node is put again, as it is, before amounts are remembered no more."""
    first = nodes.sorted()[0]
    for count in range(10 * CREDIT):
        if amounts.number not in part.refused:
            return count
        nodes.put(first)
    raise AssertionError("they are remembered for ever")


@pytest.mark.remuda_rule("NOD-15")
@pytest.mark.parametrize("policy", ["fair", "binpacking"])
def test_a_node_that_left_is_not_found_again(policy: str) -> None:
    nodes = Nodes(9, policy, 1)
    found = nodes.order.first_fit(nodes.wanted[0])
    assert found is not None
    nodes.come_or_go(found)
    assert nodes.order.first_fit(nodes.wanted[0]) is nodes.fitting(nodes.wanted[0])[0]


@pytest.mark.remuda_rule("RSV-3", "RSV-5")
def test_the_nearest_is_the_one_that_lacks_least() -> None:
    nodes = Nodes(5, "fair", 3)
    for node in nodes.nodes:
        nodes.place(node, nodes.types.amounts({"memory": nodes.draw.randrange(9), "vcore": 7}))
    for amounts in nodes.wanted:
        large = [node for node in nodes.sorted() if node.holds(amounts)]
        nearest = min(large, key=lambda node: shortage(node.available, amounts), default=None)
        assert nodes.order.nearest(amounts) is nearest


def test_many_moves_leave_no_empty_blocks_behind() -> None:
    """What a search goes through does not grow with what happened before."""
    nodes = Nodes(6, "fair", 1)
    for _ in range(20_000):
        node = nodes.draw.choice(nodes.nodes)
        if nodes.draw.random() < 0.5 and nodes.placed:
            nodes.release()
        else:
            nodes.place(node, nodes.wanted[0])
    shelves = nodes.order._shelves
    assert all(block.entries for shelf in shelves for block in shelf.blocks)
    highs = [block.high for shelf in shelves for block in shelf.blocks]
    lows = [low for shelf in shelves for low in shelf.lows]
    assert highs[:-1] == lows[1:]
    assert len(lows) < COUNT / 4
