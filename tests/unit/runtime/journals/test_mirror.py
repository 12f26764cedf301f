"""A shadow follows a copy of a journal as it follows the journal itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from remuda.base.errors import UsageError
from remuda.config.load import load_configuration
from remuda.insight.shadow.differences import Difference, ShadowResult
from remuda.insight.shadow.twin import Trial
from remuda.runtime.journals import mirror
from remuda.runtime.journals.feed import Feed, LostError, Piece
from remuda.runtime.journals.following import Followed, Follower
from remuda.runtime.journals.layout import segment_files
from remuda.runtime.journals.mirror import Mirror
from remuda.runtime.journals.past import Until
from remuda.runtime.journals.shadows import Shadow
from tests.unit.runtime.journals.written import QUEUES, journal_of

LOWER = QUEUES.replace("vcore: 20", "vcore: 2")
OLDEST = Until(0)

# The directory of a journal, and the one of its copy.
Places: TypeAlias = tuple[Path, Path]


class Pieces:
    """A source of pieces; ``taken``: how many were asked for."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._pieces: Iterator[Piece] = iter(pieces)
        self.taken = 0

    def next(self, seconds: float) -> Piece | None:
        """The next one, at last the word that all is there."""
        self.taken += 1
        return next(self._pieces, Piece())


def sent(directory: Path, since: Until | None, size: int = 3_000) -> Iterator[Piece]:
    """The pieces of a journal as they arrive elsewhere, small ones."""
    feed, begins = Feed(directory, since), True
    while True:
        try:
            piece = feed.read()
        except LostError:
            feed, begins = Feed(directory, None), True
            continue
        if piece is None:
            return
        for start in range(0, len(piece.content), size):
            part = piece.content[start : start + size]
            last = start + size >= len(piece.content)
            yield replace(
                piece,
                offset=piece.offset + start,
                content=part,
                whole=piece.whole and last,
                begins=begins,
            )
            begins = False


def shadow_of(read: Callable[[], Iterable[Followed]], text: str) -> ShadowResult:
    """What a shadow of these inputs finds."""
    told: list[Difference] = []
    shadow = Shadow("j", Trial(load_configuration(text)), told.append)
    shadow.run(read())
    return shadow.result()


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Two directories, for a journal and for a copy of it."""
    journal, folder = tmp_path / "journal", tmp_path / "copy"
    journal.mkdir()
    folder.mkdir()
    return journal, folder


def always() -> bool:
    """Go on."""
    return True


def never() -> bool:
    """Wait for nothing."""
    return False


@pytest.mark.remuda_rule("EXT-165")
@pytest.mark.parametrize("since", [None, OLDEST, Until(57)])
@pytest.mark.parametrize("text", [QUEUES, LOWER])
def test_a_shadow_of_a_copy_finds_what_one_of_the_journal_finds(
    places: Places, since: Until | None, text: str
) -> None:
    journal, folder = places
    journal_of(journal)
    journal_of(journal)
    source = Pieces(sent(journal, since))
    copied = Mirror(folder, source, since, once=True, goes_on=always)
    expected = shadow_of(Follower(journal, since, never).read, text)
    assert shadow_of(copied.read, text) == expected
    assert expected.inputs > 0
    assert (expected.differences > 0) == (text == LOWER)


@pytest.mark.remuda_rule("EXT-165")
def test_a_copy_has_one_segment_at_a_time_byte_for_byte(
    places: Places,
) -> None:
    journal, folder = places
    files = journal_of(journal)
    copied = Mirror(folder, Pieces(sent(journal, OLDEST)), OLDEST, once=True, goes_on=always)
    seen: set[str] = set()
    for found in copied.read():
        found.repeat()
        (only,) = segment_files(found.path.parent)
        original = (journal / only.inputs.name).read_bytes()
        assert original.startswith(only.inputs.read_bytes())
        seen.add(only.inputs.name)
    assert seen == {each.inputs.name for each in files}
    (last,) = segment_files(folder / "1")
    assert last.inputs.read_bytes() == files[-1].inputs.read_bytes()
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o700]


@pytest.mark.remuda_rule("EXT-165")
def test_nothing_is_taken_before_what_is_there_was_read(
    places: Places,
) -> None:
    journal, folder = places
    journal_of(journal)
    source = Pieces(sent(journal, OLDEST, size=1_000))
    copied = Mirror(folder, source, OLDEST, once=True, goes_on=always)
    inputs = copied.read()
    next(inputs).repeat()
    early = source.taken
    (file,) = segment_files(folder / "1")
    assert file.inputs.stat().st_size <= early * 1_000
    for found in inputs:
        found.repeat()
    assert source.taken > 10 * early


@pytest.mark.remuda_rule("EXT-165")
def test_after_missing_inputs_it_begins_again_and_what_was_counted_stays(
    places: Places,
) -> None:
    journal, folder = places
    files = journal_of(journal)
    files[2].inputs.unlink()
    copied = Mirror(folder, Pieces(sent(journal, OLDEST)), OLDEST, once=True, goes_on=always)
    result = shadow_of(copied.read, QUEUES)
    assert result.starts == 2
    assert result.differences == 0
    last = result.last_input
    assert result.inputs == files[2].first - 1 + last - files[-1].first + 1
    assert [each.name for each in sorted(folder.iterdir())] == ["1", "2"]
    assert not list((folder / "1").iterdir())


@pytest.mark.remuda_rule("EXT-165")
def test_it_ends_when_nothing_more_is_wanted(tmp_path: Path) -> None:
    journal_of(tmp_path)
    (tmp_path / "copy").mkdir()
    source = Pieces(sent(tmp_path, None))
    assert list(Mirror(tmp_path / "copy", source, None, once=False, goes_on=never).read()) == []
    assert source.taken == 0


@pytest.mark.remuda_rule("EXT-165")
@pytest.mark.parametrize(
    "piece",
    [
        Piece("../outside.jsonl", 0, b"x"),
        Piece("/tmp/000000000000001-20260101T000000Z.jsonl", 0, b"x"),
        Piece("000000000000001-20260101T000000Z.jsonl", 5, b"x"),
        Piece("journal.lock", 0, b"x"),
    ],
)
def test_what_is_no_part_of_a_journal_is_not_written(tmp_path: Path, piece: Piece) -> None:
    folder = tmp_path / "folder" / "copy"
    folder.mkdir(parents=True)
    source = Pieces([replace(piece, begins=True)])
    with pytest.raises(UsageError, match="no journal"):
        list(Mirror(folder, source, None, once=True, goes_on=always).read())
    assert [each.name for each in tmp_path.rglob("*")] == ["folder", "copy", "1"]


@pytest.mark.remuda_rule("EXT-165")
def test_a_state_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "STATE_BYTES_LIMIT", 10)
    name = "000000000000001-20260101T000000Z.state"
    source = Pieces([Piece(name, 0, bytes(6), begins=True), Piece(name, 6, bytes(6))])
    with pytest.raises(UsageError, match="more than 10 bytes"):
        list(Mirror(tmp_path, source, None, once=True, goes_on=always).read())


@pytest.mark.remuda_rule("EXT-165")
def test_a_copy_that_cannot_be_written_ends_it_with_a_line(tmp_path: Path) -> None:
    name = "000000000000001-20260101T000000Z.jsonl"
    source = Pieces([Piece(name, 0, b"x", begins=True)])
    copied = Mirror(tmp_path / "nowhere", source, None, once=True, goes_on=always)
    with pytest.raises(UsageError, match=r"cannot write the copy of the journal in .*nowhere: No"):
        list(copied.read())
