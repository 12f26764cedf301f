"""A journal is read piece by piece, for somebody who copies it elsewhere."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from remuda.runtime.journals.feed import Feed, LostError, Piece, Place
from remuda.runtime.journals.past import Until
from tests.unit.runtime.journals.written import journal_of

OLDEST = Until(0)


def pieces(feed: Feed) -> list[Piece]:
    """All that is there now."""
    found = []
    while (piece := feed.read()) is not None:
        found.append(piece)
    return found


def contents(found: list[Piece]) -> dict[str, bytes]:
    """What each file has, in the order in which they came; no byte is missing or twice there."""
    files: dict[str, bytes] = defaultdict(bytes)
    for each in found:
        assert each.offset == len(files[each.name])
        files[each.name] += each.content
    return dict(files)


@pytest.mark.remuda_rule("EXT-164")
def test_the_latest_segment_comes_after_its_state(tmp_path: Path) -> None:
    last = journal_of(tmp_path)[-1]
    assert last.state is not None
    found = pieces(Feed(tmp_path, None))
    assert list(contents(found).items()) == [
        (last.state.name, last.state.read_bytes()),
        (last.inputs.name, last.inputs.read_bytes()),
    ]
    assert [each.name for each in found if each.whole] == [last.state.name]


@pytest.mark.remuda_rule("EXT-164")
def test_all_segments_from_a_moment_on_come_with_one_state_only(tmp_path: Path) -> None:
    journal_of(tmp_path)
    files = journal_of(tmp_path)
    second = files[1]
    assert second.state is not None
    found = contents(pieces(Feed(tmp_path, Until(second.first))))
    assert found == {
        second.state.name: second.state.read_bytes(),
        **{each.inputs.name: each.inputs.read_bytes() for each in files[1:]},
    }
    assert list(found) == sorted(found, key=lambda name: name.replace(".state", ".a"))


@pytest.mark.remuda_rule("EXT-164")
def test_a_place_is_gone_on_from_without_a_state(tmp_path: Path) -> None:
    files = journal_of(tmp_path)
    first = files[0].inputs
    found = pieces(Feed(tmp_path, None, Place(first.name, 100)))
    assert found[0].name == first.name
    assert found[0].offset == 100
    assert found[0].content == first.read_bytes()[100:]
    assert {each.name for each in found} == {each.inputs.name for each in files}


@pytest.mark.remuda_rule("EXT-164")
def test_bytes_come_as_they_are_written(tmp_path: Path) -> None:
    last = journal_of(tmp_path)[-1].inputs
    text = last.read_bytes()
    last.write_bytes(text[:200])
    feed = Feed(tmp_path, None)
    assert contents(pieces(feed))[last.name] == text[:200]
    with last.open("ab") as file:
        file.write(text[200:])
    (piece,) = pieces(feed)
    assert (piece.offset, piece.content) == (200, text[200:])


@pytest.mark.remuda_rule("EXT-164")
@pytest.mark.parametrize(
    "place, text",
    [
        (Place("../../etc/passwd", 0), "'../../etc/passwd' is not there"),
        (Place("000000000000099-20260101T000000Z.jsonl", 0), "is not there"),
        (Place("", 1 << 40), f" bytes, and {1 << 40} are known"),
    ],
)
def test_a_place_that_is_not_there_is_lost(tmp_path: Path, place: Place, text: str) -> None:
    last = journal_of(tmp_path)[-1].inputs
    feed = Feed(tmp_path, None, Place(place.name or last.name, place.offset))
    with pytest.raises(LostError, match=text):
        feed.read()


@pytest.mark.remuda_rule("EXT-164")
def test_a_segment_that_the_bounds_removed_is_lost(tmp_path: Path) -> None:
    files = journal_of(tmp_path)
    feed = Feed(tmp_path, OLDEST)
    feed.read()
    files[0].inputs.unlink()
    with pytest.raises(LostError, match=r"jsonl was removed by the bounds of the journal"):
        feed.read()


@pytest.mark.remuda_rule("EXT-164")
def test_inputs_that_are_missing_between_two_segments_are_lost(tmp_path: Path) -> None:
    files = journal_of(tmp_path)
    files[1].inputs.unlink()
    feed = Feed(tmp_path, OLDEST)
    assert feed.read() is not None
    with pytest.raises(LostError, match=f"inputs before input {files[2].first} are missing"):
        feed.read()


@pytest.mark.remuda_rule("EXT-164")
@pytest.mark.parametrize("since", [None, OLDEST])
def test_missing_inputs_are_told_when_a_later_state_is_there(
    tmp_path: Path, since: Until | None
) -> None:
    *files, last = journal_of(tmp_path)
    assert last.state is not None
    state = last.state.read_bytes()
    files[-1].inputs.unlink()
    last.state.unlink()
    feed = Feed(tmp_path, since)
    # Whoever began again would get the same once more.
    assert last.inputs.name not in contents(pieces(feed))
    assert feed.read() is None
    last.state.write_bytes(state)
    with pytest.raises(LostError, match=f"inputs before input {last.first} are missing"):
        feed.read()
    assert next(iter(contents(pieces(Feed(tmp_path, None))))) == last.state.name


@pytest.mark.remuda_rule("EXT-164")
def test_a_folder_that_is_gone_is_no_segment_that_was_removed(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    journal_of(tmp_path / "journal")
    feed = Feed(tmp_path / "journal", OLDEST)
    feed.read()
    (tmp_path / "journal").rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError):
        feed.read()


@pytest.mark.remuda_rule("EXT-164")
def test_a_segment_that_broke_off_leads_to_that_of_a_new_process(tmp_path: Path) -> None:
    last = journal_of(tmp_path)[-1].inputs
    last.write_bytes(last.read_bytes()[:-30])
    files = journal_of(tmp_path)
    assert list(contents(pieces(Feed(tmp_path, None, Place(last.name, 0))))) == [
        each.inputs.name for each in files if each.inputs.name >= last.name
    ]


@pytest.mark.remuda_rule("EXT-164")
def test_a_journal_without_a_usable_segment_has_nothing_yet(tmp_path: Path) -> None:
    feed = Feed(tmp_path, None)
    assert (feed.read(), feed.begun) == (None, False)
    last = journal_of(tmp_path)[-1]
    assert last.state is not None
    piece = feed.read()
    assert piece is not None
    assert (piece.name, feed.begun) == (last.state.name, True)
