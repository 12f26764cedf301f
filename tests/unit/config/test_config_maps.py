"""Merging config maps, for adapters (KV-3, CFG-1)."""

from __future__ import annotations

import gzip

import pytest

from remuda.config.config_maps import (
    ConfigMap,
    ConfigMapError,
    merge_config_maps,
    split_config_map,
)

NOTHING = ConfigMap()


@pytest.mark.remuda_rule("KV-3")
def test_the_second_map_wins() -> None:
    defaults = ConfigMap({"a": "1", "b": "1"})
    configs = ConfigMap({"b": "2", "c": "2"})
    assert merge_config_maps(defaults, configs) == {"a": "1", "b": "2", "c": "2"}


@pytest.mark.remuda_rule("KV-3")
def test_packed_entries_are_unpacked_and_win_over_texts() -> None:
    packed = gzip.compress(b"partitions: ") + gzip.compress(b"[]")
    one = ConfigMap({"queues.yaml": "text", "log.level": "WARN"}, {"queues.yaml.gz": packed})
    whole = {"queues.yaml": "partitions: []", "log.level": "WARN"}
    assert merge_config_maps(NOTHING, one) == whole
    assert merge_config_maps(one, NOTHING) == whole


@pytest.mark.remuda_rule("KV-3")
def test_a_text_of_the_second_map_wins_over_a_packed_one_of_the_first() -> None:
    first = ConfigMap(binaries={"queues.yaml.GZ": gzip.compress(b"packed")})
    assert merge_config_maps(first, ConfigMap({"queues.yaml": "text"})) == {"queues.yaml": "text"}


@pytest.mark.remuda_rule("KV-3")
def test_another_binary_entry_loses_its_ending_and_its_value() -> None:
    one = ConfigMap(binaries={"queues.yaml.bz2": b"\0", "plain": b"\1"})
    assert merge_config_maps(NOTHING, one) == {"queues.yaml": "", "plain": ""}


@pytest.mark.parametrize(
    "data, reason",
    [
        (b"not packed", "entry k.gz is not packed with gzip"),
        (gzip.compress(b"x" * 100, mtime=0)[:-9], "entry k.gz is cut off"),
        (gzip.compress(b"\xff", mtime=0), "entry k.gz is not UTF-8 text"),
        (gzip.compress(bytes(10**8), mtime=0), "entry k.gz unpacks to more than 1000 bytes"),
    ],
)
def test_what_cannot_be_unpacked_is_an_error(data: bytes, reason: str) -> None:
    with pytest.raises(ConfigMapError) as caught:
        merge_config_maps(NOTHING, ConfigMap(binaries={"k.gz": data}), limit=1000)
    assert str(caught.value) == reason


def test_the_bound_is_for_all_entries_together() -> None:
    packed = gzip.compress(b"x" * 600)
    one = ConfigMap(binaries={"a.gz": packed, "b.gz": packed})
    with pytest.raises(ConfigMapError):
        merge_config_maps(NOTHING, one, limit=1000)
    assert merge_config_maps(NOTHING, one, limit=1200) == {"a": "x" * 600, "b": "x" * 600}


@pytest.mark.remuda_rule("CFG-1")
def test_the_queue_file_is_taken_out_and_other_files_are_dropped() -> None:
    merged = {"queues.yaml": "partitions: []", "other.yaml": "x", "log.level": "WARN"}
    assert split_config_map(merged, "queues") == ("partitions: []", {"log.level": "WARN"})
    assert split_config_map(merged, "absent") == ("", {"log.level": "WARN"})
