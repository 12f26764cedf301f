"""The notebooks of the documentation run, and have the outputs that they show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.notebooks import NOTEBOOKS, as_markdown, executed, outputs_of, text_of


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_has_the_outputs_of_a_run(notebook: Path) -> None:
    before = notebook.read_text()
    assert text_of(executed(json.loads(before))) == before


def test_a_cell_has_what_it_prints_and_the_picture_of_its_last_expression() -> None:
    names: dict[str, object] = {}
    source = (
        "class Picture:\n    def _repr_html_(self): return '<b>x</b>'\n    __repr__ = lambda s: 'x'"
    )
    assert outputs_of(source, names, 1) == []
    printed, shown = outputs_of("print('one')\nPicture()", names, 2)
    assert printed["text"] == ["one\n"]
    assert shown["data"] == {"text/plain": ["x"], "text/html": ["<b>x</b>"]}


def test_the_site_has_text_code_and_outputs() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title"]},
        {"cell_type": "code", "source": ["print(1)\n", "2"], "outputs": []},
    ]
    page = as_markdown(executed({"cells": cells}))
    assert page == "# Title\n\n```python\nprint(1)\n2\n```\n\n```text\n1\n```\n\n```text\n2\n```\n"


def test_the_site_has_a_drawing_as_an_image_whose_colours_are_its_own() -> None:
    source = (
        "class Drawing:\n    def _repr_svg_(self): return '<svg/>'\n"
        "    __repr__ = lambda s: '<x>'\n"
        "Drawing()"
    )
    page = as_markdown(executed({"cells": [{"cell_type": "code", "source": [source]}]}))
    assert page.endswith('<img alt="&lt;x&gt;" src="data:image/svg+xml;base64,PHN2Zy8+">\n')
