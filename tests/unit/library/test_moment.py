"""A moment of a journal or a snapshot in the Python API."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from remuda import Moment, RequestError
from remuda.base.errors import UsageError
from remuda.runtime.journals.past import Until, state_at
from remuda.runtime.snapshots import write
from tests.unit.runtime.journals.written import journal_of

pytestmark = pytest.mark.remuda_rule("EXT-49")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal in which more is asked for in queue root.a than its maximum, 20 cores."""
    directory = tmp_path_factory.mktemp("journal")
    journal_of(directory, 130)
    return directory


def test_a_moment_tells_what_ran_what_waited_and_why(journal: Path) -> None:
    moment = Moment.read(journal)
    running = moment.allocations("app-a")
    assert sum(each.resource["vcore"] for each in running) == 20_000
    waiting = moment.pending("app-a")
    assert waiting
    assert {each.application_id for each in moment.pending()} == {"app-a"}
    why = moment.explain("app-a", waiting[0].allocation_key)
    assert (why.pending, why.subject, why.requested) == (1, "root.a", {"vcore": 500})
    assert why.waiting_seconds >= 0
    (share,) = (each for each in moment.fair_shares() if each.queue == "root.a")
    assert share.allocated["vcore"] == 20_000
    assert moment.explain("app-a", "unknown").pending == 0


def test_earlier_moments_are_read_by_number_time_and_text(journal: Path) -> None:
    late = Moment.read(journal)
    early = Moment.read(journal, at=30)
    assert early.number == 30
    assert len(early.allocations()) < len(late.allocations())
    assert Moment.read(journal, at="30").time == early.time < late.time
    at = early.time + timedelta(microseconds=1)
    assert Moment.read(journal, at=at).number >= 30
    assert Moment.read(journal, at=at.isoformat()).number >= 30


def test_a_snapshot_is_a_moment(journal: Path, tmp_path: Path) -> None:
    reached = state_at(journal, Until(60))
    write(tmp_path / "state", reached.scheduler, reached.now_ns)
    moment = Moment.read(tmp_path / "state", partition="default", rm_id="rm")
    assert moment.allocations() == Moment.read(journal, at=60).allocations() != []
    assert repr(moment).startswith("<Moment 20")
    with pytest.raises(RequestError, match="is no journal; leave out 'at'"):
        Moment.read(tmp_path / "state", at=1)


def test_what_is_not_there_is_told(journal: Path) -> None:
    with pytest.raises(UsageError, match="no partition 'x'; there are: default"):
        Moment.read(journal, partition="x")
    with pytest.raises(UsageError, match="no resource manager 'other'; there are: rm"):
        Moment.read(journal, rm_id="other")
    with pytest.raises(RequestError, match="at is True; it has to be a whole number"):
        Moment.read(journal, at=True)
