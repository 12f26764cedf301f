"""The tool that puts small faults into the code: which ones there are, and what it counts."""

from __future__ import annotations

import pytest

from tools.mutants.__main__ import interval
from tools.mutants.live import put
from tools.mutants.operators import functions, mutants, mutated

SOURCE = '''
"""A module."""


def most(given: list[int], least: int = 1) -> int:
    """Return the largest number."""
    assert least < 2
    best = least
    for each in given:
        if each > best and each != 7:
            best = each
    return best + 0
'''


def most(given: list[int], least: int = 1) -> int:
    raise AssertionError(given, least)


def test_faults_are_in_the_order_of_the_text_and_none_is_in_words_or_asserts() -> None:
    found = mutants(SOURCE)
    assert [(each.line, each.kind) for each in found] == [
        (10, "condition"),
        (10, "boolean"),
        (10, "comparison"),
        (10, "comparison"),
        (10, "constant"),
        (12, "return"),
        (12, "arithmetic"),
        (12, "constant"),
    ]
    assert found[2].text() == "most: comparison: each > best -> each >= best"


@pytest.mark.parametrize(
    "number, expected", [(0, 7), (1, 7), (2, 3), (3, 7), (4, 7), (5, None), (6, 3), (7, 4)]
)
def test_a_loaded_function_gets_the_code_of_a_fault(number: int, expected: object) -> None:
    (code,) = functions(mutated(SOURCE, "file", number))
    assert put([most], code)  # type: ignore[list-item]
    assert most([3, 7]) == expected


def test_a_share_has_bounds_that_narrow_with_its_number() -> None:
    assert interval(0, 0) == (0.0, 100.0)
    low, high = interval(85, 100)
    assert low == pytest.approx(76.72, abs=0.01)
    assert high == pytest.approx(90.69, abs=0.01)
    assert interval(850, 1_000)[0] > low
