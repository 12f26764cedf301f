"""How an ask differs between both sides, by hand."""

from __future__ import annotations

import pytest

from remuda.insight.shadow import differences
from remuda.insight.shadow.differences import EARLIER, ELSEWHERE, LATER, Comparison
from remuda.insight.shadow.pairs import Made, Pairs

NAME = ("rm", "default", "app")


def compared(here: Made, there: Made, tolerance_ns: int, keys: int = 1) -> Comparison:
    """Both sides have made an allocation for each of some asks."""
    pairs = Pairs()
    for number in range(keys):
        pairs.hold(pairs.primary, NAME, f"k{number}", Made(f"a{number}", here.node_id, here.at_ns))
        pairs.hold(pairs.shadow, NAME, f"k{number}", Made(f"b{number}", there.node_id, there.at_ns))
    found = Comparison(pairs, tolerance_ns, lambda difference: None)
    found.look(1, 100, lambda name: "root.q")
    return found


@pytest.mark.remuda_rule("EXT-132")
@pytest.mark.parametrize(
    "node_id, at_ns, cause",
    [
        ("n1", 110, ""),
        ("n1", 90, ""),
        ("n1", 111, LATER),
        ("n1", 89, EARLIER),
        ("n2", 110, ELSEWHERE),
        ("n2", 111, LATER),
    ],
)
def test_times_within_the_tolerance_are_the_same(node_id: str, at_ns: int, cause: str) -> None:
    found = compared(Made("a", "n1", 100), Made("b", node_id, at_ns), 10)
    assert [each.cause for each in found.counts()] == ([cause] if cause else [])


@pytest.mark.remuda_rule("EXT-131")
def test_all_differences_count_and_the_first_ones_are_named() -> None:
    limit = differences.NAMED_LIMIT
    assert limit == 10_000
    found = compared(Made("a", "n1", 1), Made("b", "n2", 1), 0, keys=limit + 5)
    assert (found.total, len(found.named())) == (limit + 5, limit)
