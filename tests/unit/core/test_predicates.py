"""How long the refusal of a resource manager's predicates lasts (decision 3 of docs/spec)."""

from __future__ import annotations

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from tests.port import one_by_one
from tests.unit.core.door import Caller, leaf, partition

ONE = {"vcore": 1}


class Moods:
    """A resource manager that changes its mind; asks of one class are told by the key's first word.

    ``asked`` is every question, ``accepted`` the (class, node) pairs that are acceptable now.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.accepted: set[tuple[str, str]] = set()
        self.door = Caller(leaf("a"), predicates=one_by_one(self.answer))
        self.door.node("n1", {"vcore": 4})
        self.door.app("app")

    def answer(self, rm_id: str, allocation_key: str, node_id: str, allocate: bool) -> str:
        assert (rm_id, allocate) == ("rm", True)
        self.asked.append((allocation_key, node_id))
        kind = allocation_key.split(maxsplit=1)[0]
        return "" if (kind, node_id) in self.accepted else "not today"

    def ask(self, key: str, resource: dict[str, int], *, classed: bool) -> list[tuple[str, str]]:
        """One ask, and what is placed after it."""
        kind = key.split(maxsplit=1)[0]
        self.door.ask("app", key, resource, equivalence=kind if classed else "")
        return self.door.place()


@pytest.fixture
def moods() -> Moods:
    """One node that nothing may go to yet."""
    return Moods()


@pytest.mark.remuda_rule("NOD-13", "SI-80", "CYC-25")
def test_a_refusal_of_an_ask_without_class_lasts_until_the_next_request(moods: Moods) -> None:
    assert moods.ask("k", ONE, classed=False) == []
    assert moods.asked == [("k", "n1")]
    moods.accepted.add(("k", "n1"))
    moods.door.now += 1
    assert moods.door.place() == []
    stranger = c.RegisterResourceManager("other", Configuration((partition(leaf("a")),)))
    moods.door.send(stranger)
    moods.door.send(c.UpdateNodes("other"))
    assert moods.door.place() == []
    assert moods.asked == [("k", "n1")]
    moods.door.send(c.UpdateNodes(moods.door.rm))
    assert moods.door.place() == [("k-0", "n1")]
    assert moods.asked == [("k", "n1")] * 2


@pytest.mark.remuda_rule("NOD-13", "SI-80", "CYC-25")
def test_a_refusal_of_a_class_lasts_until_the_node_changes(moods: Moods) -> None:
    assert moods.ask("k", ONE, classed=True) == []
    moods.accepted.add(("k", "n1"))
    moods.door.node("n2", ONE, c.CREATE_DRAIN)
    assert moods.ask("k again", {"vcore": 2}, classed=True) == []
    assert moods.asked == [("k", "n1")]
    moods.door.node("n1", action=c.UPDATE, attributes={"label": "new"})
    assert moods.door.place() == [("k-0", "n1"), ("k again-0", "n1")]


@pytest.mark.remuda_rule("NOD-13", "SI-80")
def test_a_class_is_asked_again_once_something_left_the_node(moods: Moods) -> None:
    moods.accepted.add(("first", "n1"))
    assert moods.ask("first", ONE, classed=True) == [("first-0", "n1")]
    assert moods.ask("shy", ONE, classed=True) == []
    moods.accepted.add(("shy", "n1"))
    assert moods.door.place() == []
    moods.door.release("app", "first-0")
    assert moods.door.place() == [("shy-0", "n1")]


@pytest.mark.remuda_rule("NOD-13", "SI-80")
def test_a_class_is_asked_again_once_something_came_to_the_node(moods: Moods) -> None:
    assert moods.ask("shy", ONE, classed=True) == []
    moods.accepted |= {("first", "n1"), ("shy", "n1")}
    assert moods.ask("shy more", {"vcore": 2}, classed=True) == []
    assert moods.asked == [("shy", "n1")]
    assert moods.ask("first", ONE, classed=True) == [("first-0", "n1")]
    assert moods.ask("shy most", {"vcore": 3}, classed=True) == [("shy most-0", "n1")]
