"""Names from outside that can be kept and shown as they are."""

from __future__ import annotations

import pytest

from remuda.base.names import name_fault


@pytest.mark.remuda_rule("RM-1", "RM-4")
@pytest.mark.parametrize(
    "name, fault",
    [
        ("", ""),
        ("queues", ""),
        ("[a] b\N{GREEK SMALL LETTER ALPHA}", ""),
        ("a" * 256, ""),
        ("a" * 257, "rmID is longer than 256 characters"),
        ("a\nb", "rmID must not contain control characters"),
        ("\x1b[0m", "rmID must not contain control characters"),
        ("\x7f", "rmID must not contain control characters"),
        ("\x9b", "rmID must not contain control characters"),
    ],
)
def test_a_name_is_short_and_on_one_line(name: str, fault: str) -> None:
    assert name_fault("rmID", name) == fault
