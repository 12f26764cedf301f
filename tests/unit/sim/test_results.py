"""Texts that spreadsheets would take for formulas."""

from __future__ import annotations

import pytest

from remuda.sim.results import plain_cell


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_what_would_begin_a_formula_gets_an_apostrophe(text: str) -> None:
    assert plain_cell(text) == "'" + text


@pytest.mark.parametrize("text", ["", "a=1", "root.a-b", "1+1", "'=1"])
def test_all_else_stays_as_it_is(text: str) -> None:
    assert plain_cell(text) == text
