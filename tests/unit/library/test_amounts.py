"""Amounts: what is written, and what is amounts_text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.base.amount_text import amounts_text, quantity_text
from remuda.base.quantity import parse_quantity
from remuda.base.resources import MAX
from remuda.library.amounts import base_units


@pytest.mark.remuda_rule("RES-4", "RES-5")
def test_numbers_are_base_units_and_texts_are_those_of_a_queue_file() -> None:
    written = {"vcore": "4", "memory": "8Gi", "gpu": 2}
    assert base_units(written, "node") == {"vcore": 4_000, "memory": 8 * 2**30, "gpu": 2}
    assert base_units({"vcore": 4, "memory": "500"}, "node") == {"vcore": 4, "memory": 500}
    assert base_units({"vcore": "500m"}, "node") == {"vcore": 500}


@given(
    name=st.sampled_from(["vcore", "memory", "ephemeral-storage", "gpu"]),
    amount=st.one_of(st.integers(0, MAX), st.integers(0, 2**13).map(lambda n: n * 2**30)),
)
def test_what_is_told_reads_back(name: str, amount: int) -> None:
    assert parse_quantity(name, quantity_text(name, amount)) == amount


def test_amounts_are_told_as_people_write_them() -> None:
    assert amounts_text({"vcore": 1_500, "memory": 3 * 2**29, "gpu": 1_024}) == (
        "gpu 1024, memory 1536Mi, vcore 1500m"
    )
    assert amounts_text({}) == "nothing"
    assert amounts_text({"memory": 0, "vcore": 0}) == "memory 0, vcore 0"
