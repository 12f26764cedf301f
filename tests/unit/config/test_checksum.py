"""The checksum of a configuration text: chapter 10, section 11."""

from __future__ import annotations

import hashlib

import pytest

from remuda.config.checksum import checksum
from remuda.config.load import load_configuration

RECORDED = "checksum: " + "0123456789ABCDEF" * 4
TEXT = "\npartitions:\n  - name: default\n    queues:\n      - name: root\n"


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest().upper()


@pytest.mark.remuda_rule("CHK-1")
def test_the_checksum_is_over_the_raw_text() -> None:
    # The digest of the text "abc" is that of the standard's own example.
    assert checksum("abc") == "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"
    assert checksum(TEXT) != checksum(TEXT + " ")
    assert checksum(TEXT) != checksum(TEXT + "# a comment\n")


@pytest.mark.remuda_rule("CHK-1")
def test_a_loaded_configuration_carries_it() -> None:
    assert load_configuration(TEXT).checksum == sha256(TEXT)
    assert load_configuration(" ").checksum == sha256(" ")


@pytest.mark.remuda_rule("CHK-2", "CHK-3")
def test_a_recorded_checksum_does_not_count_wherever_it_stands() -> None:
    head, tail = TEXT[:13], TEXT[13:]
    assert checksum(RECORDED + TEXT) == sha256(TEXT)
    assert checksum(TEXT + RECORDED) == sha256(TEXT)
    assert checksum(head + RECORDED + "\n" + tail) == sha256(head + "\n" + tail)
    assert checksum(TEXT + "checksum: ") == sha256(TEXT)


@pytest.mark.remuda_rule("CHK-3")
def test_a_text_with_its_checksum_loads_to_the_same_configuration() -> None:
    plain, recorded = load_configuration(TEXT), load_configuration(TEXT + RECORDED)
    assert recorded.partitions == plain.partitions
    assert recorded.checksum == plain.checksum
    assert recorded.text == TEXT + RECORDED


@pytest.mark.remuda_rule("CHK-4", "D-C14")
def test_a_checksum_of_something_else_counts() -> None:
    def text(value: str) -> str:
        return TEXT + f"        properties:\n          my.checksum: {value}\n"

    assert checksum(text("v1")) == sha256(text("v1"))
    assert checksum(text("v1")) != checksum(text("v2"))
    inner = TEXT + "        properties: {checksum: v1}\n"
    assert checksum(inner) == sha256(inner)


@pytest.mark.remuda_rule("CHK-4")
def test_what_follows_on_the_next_line_counts() -> None:
    assert checksum("checksum: v1\na: b\n") == sha256("\na: b\n")
    assert checksum("checksum: v1\r\na: b\n") == sha256("\r\na: b\n")
