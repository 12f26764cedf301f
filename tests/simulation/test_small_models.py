"""Everything that can happen between a small manager and the core, in every order (see ``small``).

Each history ends with the same verdict: counters add up, nothing ran twice, the core has what the
cluster runs, and what is wanted and fits runs.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

import pytest

from remuda.core import scheduler
from remuda.core.apply.requests import nodes
from tests.long_runs import usual
from tests.package import replaces_functions
from tests.simulation.small.explore import Choices, histories
from tests.simulation.small.model import History
from tests.simulation.small.scripts import SCRIPTS

LARGEST: Final = "a gang that loses a node"


def explore(script: str, *, death: bool = True) -> int:
    """How many histories a script has; raises AssertionError with the events of one that fails."""
    messages, config = SCRIPTS[script]
    count = 0

    def run(choices: Choices) -> None:
        history = History(messages, config, choices, death=death)
        try:
            history.run()
        except AssertionError as fault:
            raise AssertionError(f"{script}: {', '.join(history.events)}: {fault}") from fault

    for _ in histories(run):
        count += 1
    return count


# The numbers are counted by hand from the orders of the streams: 6!/(2! 1! 2!) and so on have to be
# at least reached, or something was left out.
@pytest.mark.remuda_rule("REC-1", "REC-2", "REC-3", "RM-9", "SI-104", "GANG-6", "GANG-20", "SI-62")
@pytest.mark.parametrize(
    "script,orders",
    usual(
        [
            ("a gang that is removed", 30),  # 5!/(1! 2! 2!)
            ("an ask that is stopped twice", 30),  # 6!/(1! 1! 4!)
            ("a gang", 30),  # 5!/(2! 1! 2!)
            ("two applications", 60),  # 6!/(1! 2! 3!)
        ]
    ),
)
def test_both_sides_agree_after_every_history(script: str, orders: int) -> None:
    assert explore(script, death=False) >= orders
    assert explore(script) > 10 * orders


@pytest.mark.remuda_rule("NODE-13", "GANG-6", "GANG-20")
def test_both_sides_agree_after_every_history_with_a_lost_node() -> None:
    assert explore(LARGEST, death=False) >= 60  # 6!/(3! 1! 2!)


@pytest.mark.long
@pytest.mark.remuda_rule("NODE-13", "GANG-6", "GANG-20", "REC-1", "RM-9")
def test_both_sides_agree_after_every_history_with_a_lost_node_and_a_death() -> None:
    assert explore(LARGEST) > 5_000


def test_every_sequence_of_choices_is_made_once() -> None:
    def run(choices: Choices) -> None:
        if choices.of("ab") == "a":
            choices.of("xyz")

    assert list(histories(run)) == [[0, 0], [0, 1], [0, 2], [1]]


def nothing(*_: Any, **__: Any) -> None:
    """Do nothing."""


@replaces_functions
@pytest.mark.parametrize(
    "where,name,script,found",
    [
        (scheduler, "release_allocations", "an ask that is stopped twice", "the core has"),
        (nodes, "recover", "two applications", "the core has"),
        (scheduler, "release_asks", "an ask that is stopped twice", "was not asked for"),
    ],
)
def test_a_core_that_forgets_a_part_of_a_message_is_found(
    where: ModuleType,
    name: str,
    script: str,
    found: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(where, name, nothing)
    with pytest.raises(AssertionError, match=found):
        explore(script)
