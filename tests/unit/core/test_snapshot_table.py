"""The table of snapshots lists every class of the state, with every field."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest

from remuda.core import model
from remuda.core.model import decision
from remuda.core.snapshot.blanks import Blanks
from remuda.core.snapshot.layout import Layout
from remuda.core.snapshot.table import LAYOUTS

# Decisions, answers and bases: no state refers to an instance of them.
NO_STATE = {
    "remuda.core.model.applications.submission.Submission",
    "remuda.core.model.asks.past_asks.PastAsk",
    "remuda.core.model.lending.Lender",
    "remuda.core.model.nodes.node_blocks.Part",
    "remuda.core.model.queues.bound.Bound",
    "remuda.core.model.refusal.Refusal",
}


def name(cls: type) -> str:
    """The full name of a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


def classes() -> Iterator[type]:
    """Every class of the model."""
    for found in pkgutil.walk_packages(model.__path__, f"{model.__name__}."):
        module = importlib.import_module(found.name)
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == found.name:
                yield value


def fields(cls: type) -> set[str]:
    """The names of all attributes that an instance has, in either build."""
    compiled = getattr(cls, "__mypyc_attrs__", None)
    if compiled is not None:
        return {each for each in compiled if each != "__dict__"}
    return {each for base in cls.__mro__ for each in getattr(base, "__slots__", ())}


@pytest.mark.remuda_rule("EXT-40")
def test_every_class_of_the_model_is_listed_or_is_known_to_be_no_state() -> None:
    listed = {name(layout.cls) for layout in LAYOUTS}
    known = {name(cls) for cls in classes() if cls.__module__ != decision.__name__}
    assert known - listed == NO_STATE
    assert len(listed) == len(LAYOUTS)


@pytest.mark.remuda_rule("EXT-40")
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.cls.__name__)
def test_every_field_of_a_class_is_listed(layout: Layout) -> None:
    names = [name for name, _ in layout.fields]
    assert set(names) == fields(layout.cls)
    assert len(set(names)) == len(names)


@pytest.mark.remuda_rule("EXT-40")
def test_every_class_can_be_made_blank() -> None:
    blanks = Blanks()
    for layout in LAYOUTS:
        assert type(layout.make(blanks)) is layout.cls
