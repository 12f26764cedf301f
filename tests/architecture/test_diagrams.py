"""The pictures of states are those of the tables, and what has no place in them is noticed."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from remuda.core.model import states
from tools import gen_diagrams
from tools.drawing import Arrow, Layout, Machine, Route, draw, faults

TWO = Machine("test", "A test", "A", (Arrow("A", "go", "B"), Arrow("B", "go", "B")))
PLACES = Layout((300, 100), {"A": (60, 50), "B": (240, 50)}, kinds={"go": "bad"})
SVG = "{http://www.w3.org/2000/svg}"


def test_every_picture_is_up_to_date() -> None:
    for name, (make, layout) in gen_diagrams.PICTURES.items():
        assert faults(make(), layout) == []
        assert (gen_diagrams.IMAGES / name).read_text() == draw(make(), layout), name


def test_the_page_shows_every_picture() -> None:
    page = (gen_diagrams.ROOT / "docs/explanation/lifecycles.md").read_text()
    assert set(re.findall(r"images/([\w-]+-states\.svg)", page)) == set(gen_diagrams.PICTURES)


def test_a_picture_has_an_arrow_and_a_word_for_each_row_of_the_table() -> None:
    machine = gen_diagrams.application()
    assert {(a.source, f"{a.event}Application"): a.target for a in machine.arrows} == (
        states.APPLICATION
    )
    assert {(a.source, a.event.title()): a.target for a in gen_diagrams.queue().arrows} == (
        states.OBJECT
    )
    root = ET.fromstring(draw(machine, gen_diagrams.APPLICATION))
    boxes = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "head"]
    assert boxes == machine.states()
    words = [text.text for text in root.iter(f"{SVG}text") if text.get("class") != "head"]
    assert sorted(map(str, words)) == sorted(arrow.event for arrow in machine.arrows)
    heads = [path for path in root.iter(f"{SVG}path") if path.get("marker-end")]
    assert len(heads) == len(machine.arrows) + 1  # and the one that leads in


def test_the_states_of_managers_are_read_from_the_chapter() -> None:
    arrows = gen_diagrams.manager().arrows
    assert Arrow("RUNNING", "connection loss", "PAUSED") in arrows
    assert Arrow("PAUSED", "register again", "INIT") in arrows
    assert {arrow.target for arrow in arrows} == {
        "INIT",
        "RUNNING",
        "PAUSED",
        "STOPPED",
        "not known",
    }


@pytest.mark.parametrize(
    "layout, fault",
    [
        (replace(PLACES, places={"A": (60, 50)}), "the test picture has no place for B"),
        (
            replace(PLACES, places={**PLACES.places, "C": (0, 0)}),
            "the test picture speaks of C, no state",
        ),
        (replace(PLACES, over=frozenset("C")), "the test picture speaks of C, no state"),
        (replace(PLACES, kinds={"come": "go"}), "the test picture speaks of come, no event"),
        (replace(PLACES, words={"come": "x"}), "the test picture speaks of come, no event"),
        (
            replace(PLACES, routes={("B", "A"): Route(("top", 0), ("top", 0))}),
            "the test picture has a way from B to A, which the table has not",
        ),
    ],
)
def test_table_and_layout_must_name_the_same(layout: Layout, fault: str) -> None:
    assert faults(TWO, PLACES) == []
    assert faults(TWO, layout) == [fault]
