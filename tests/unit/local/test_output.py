"""The output of tasks on disk: order, bound, and files that were cut at any place."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.local.output import (
    ERR,
    HEAD,
    OUT,
    RECORD_LIMIT,
    OutputWriter,
    output_files,
    read_output,
)

FAR = 10**9


@pytest.mark.remuda_rule("EXT-112")
def test_what_was_written_is_read_in_order_from_any_place(tmp_path: Path) -> None:
    writer = OutputWriter(tmp_path, FAR)
    written = [(OUT, b"one"), (ERR, b"two\n"), (OUT, b"three")]
    places = [0]
    for stream, data in written:
        writer.write(stream, data)
        places.append(places[-1] + HEAD + len(data))
    writer.close()
    for start, place in enumerate(places):
        assert read_output(tmp_path, place, FAR) == (written[start:], places[-1], 0)


@pytest.mark.remuda_rule("EXT-112")
def test_only_the_newest_output_stays_and_the_loss_is_counted(tmp_path: Path) -> None:
    limit = 2 * (RECORD_LIMIT + HEAD)
    writer = OutputWriter(tmp_path, limit)
    pieces = [bytes([number]) * RECORD_LIMIT for number in range(5)]
    for piece in pieces:
        writer.write(OUT, piece)
    writer.close()
    assert sum(path.stat().st_size for _, path in output_files(tmp_path)) <= limit
    records, place, lost = read_output(tmp_path, 0, FAR)
    assert [data for _, data in records] == pieces[3:]
    assert (place, lost) == (5 * (RECORD_LIMIT + HEAD), 3 * (RECORD_LIMIT + HEAD))
    assert read_output(tmp_path, place, FAR) == ([], place, 0)


@pytest.mark.remuda_rule("EXT-112")
def test_an_answer_has_about_as_much_as_is_wanted(tmp_path: Path) -> None:
    writer = OutputWriter(tmp_path, FAR)
    for _ in range(100):
        writer.write(OUT, b"x" * 1_000)
    writer.close()
    records, place, _ = read_output(tmp_path, 0, 10_000)
    assert 10_000 <= place <= 10_000 + RECORD_LIMIT + HEAD
    assert place == len(records) * (1_000 + HEAD)


@pytest.mark.remuda_rule("EXT-112")
def test_a_record_that_was_cut_is_not_read(tmp_path: Path) -> None:
    writer = OutputWriter(tmp_path, FAR)
    writer.write(OUT, b"whole")
    writer.write(OUT, b"half of it")
    writer.close()
    ((_, path),) = output_files(tmp_path)
    content = path.read_bytes()
    for length in range(HEAD + 5, len(content)):
        path.write_bytes(content[:length])
        assert read_output(tmp_path, 0, FAR) == ([(OUT, b"whole")], HEAD + 5, 0)


def test_there_may_be_no_output(tmp_path: Path) -> None:
    assert read_output(tmp_path, 0, FAR) == ([], 0, 0)


@pytest.mark.remuda_rule("EXT-112")
@pytest.mark.parametrize("place", [7, 2**63, 2**64 - 1])
def test_nothing_is_behind_the_end_however_far(tmp_path: Path, place: int) -> None:
    writer = OutputWriter(tmp_path, 1 << 20)
    writer.write(OUT, b"x")
    writer.close()
    assert read_output(tmp_path, place, 100) == ([], place, 0)
