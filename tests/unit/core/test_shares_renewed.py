"""Shares that are worked out anew when queues or their limits come (chapter 50, A.7)."""

from __future__ import annotations

import json

import pytest

from remuda.config.schema import TemplateConfig
from tests.unit.core.door import CREATING, Caller, leaf, parent

ONE = {"vcore": 1}
QUOTA, GUARANTEED = "namespace.resourcequota", "namespace.resourceguaranteed"


def amount(vcore: int) -> str:
    """So many cores as a tag holds them."""
    return json.dumps({"resources": {"vcore": {"value": vcore}}})


def caller(**settings: object) -> Caller:
    """Queues are made on demand below root.p; twelve cores."""
    door = Caller(parent("p", **settings), placement_rules=(CREATING,))  # type: ignore[arg-type]
    door.node("n1", {"vcore": 12})
    return door


def ask(door: Caller, name: str, **tags: str) -> None:
    """An application in root.p.<name> that wants all there is."""
    names = {"quota": QUOTA, "guaranteed": GUARANTEED}
    door.app(name, f"root.p.{name}", tags={names[tag]: text for tag, text in tags.items()})
    door.ask(name, name, ONE, 12)


@pytest.mark.remuda_rule("QUE-38", "RES-52", "PLC-66")
@pytest.mark.parametrize("template", [None, TemplateConfig(maximum={"vcore": 24})])
def test_a_queue_made_later_counts_by_its_own_share(template: TemplateConfig | None) -> None:
    # Both are measured by the same total: y gets three, then they take turns, x by its name.
    door = caller(template=template)
    ask(door, "x")
    assert len(door.place(3)) == 3
    ask(door, "y")
    assert door.order() == list("yyyxyxyxy")


@pytest.mark.remuda_rule("QUE-38", "RES-52", "TPL-4")
def test_a_queue_made_later_counts_by_the_guarantee_of_its_template() -> None:
    # x holds 4 of 8; y is made with 8, too: both have half with 4 each, then they take turns.
    door = caller(template=TemplateConfig(guaranteed={"vcore": 8}))
    ask(door, "x")
    assert len(door.place(4)) == 4
    ask(door, "y")
    assert door.order() == list("yyyyxyxy")


@pytest.mark.remuda_rule("PLC-81", "QUE-38", "RES-52")
def test_a_guarantee_by_tag_counts_at_once() -> None:
    # Two each, both at twice their guarantee; with 6 x is at a third and gets there with 12.
    door = caller()
    for name in "xy":
        ask(door, name, guaranteed=amount(1))
    assert len(door.place(4)) == 4
    door.app("more", "root.p.x", tags={GUARANTEED: amount(6)})
    assert door.queue("root.p.x").guaranteed == {"vcore": 6}
    assert door.order() == ["x"] * 8


@pytest.mark.remuda_rule("PLC-81", "QUE-38", "RES-52")
def test_a_quota_by_tag_counts_at_once() -> None:
    # Two of 12 each; then x may have 6 only: its third equals four of y.
    door = caller()
    for name in "xy":
        ask(door, name, quota=amount(12))
    assert len(door.place(4)) == 4
    door.app("more", "root.p.x", tags={QUOTA: amount(6)})
    assert door.order() == list("yyxyyxyy")


@pytest.mark.remuda_rule("PLC-83", "QUE-38", "RES-52")
def test_a_quota_in_place_of_a_guarantee_counts_at_once() -> None:
    # x was at a third of its guarantee; without it at 2 of its maximum of 4, y at 2 of 12.
    door = caller()
    ask(door, "x", guaranteed=amount(6))
    ask(door, "y", quota=amount(12))
    for name in "xy":
        door.existing(name, f"old-{name}", "n1", {"vcore": 2})
    door.app("more", "root.p.x", tags={QUOTA: amount(4)})
    assert door.queue("root.p.x").guaranteed is None
    assert door.order()[:4] == list("yyyy")


@pytest.mark.remuda_rule("RLD-20", "QUE-38", "RES-52", "QUE-35")
def test_a_queue_that_a_change_adds_counts_by_its_own_share() -> None:
    door = Caller(leaf("x"))
    door.node("n1", {"vcore": 12})
    door.app("x", "root.x")
    door.ask("x", "x", ONE, 12)
    assert len(door.place(3)) == 3
    door.reload(leaf("x"), leaf("y", guaranteed={"vcore": 4}))
    door.app("y", "root.y")
    door.ask("y", "y", ONE, 12)
    # By turns of 1/4 and 1/12; where they are equal y has more to come (QUE-35).
    assert door.order() == list("yyxxxyxxx")
