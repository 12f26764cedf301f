"""What ``remuda.view`` shows of a scheduler of the program and of a past moment."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

import remuda
from remuda import Moment, Queue, RequestError, Scheduler
from tests.unit.runtime.journals.written import journal_of
from tests.waiting import wait

HOSTILE = '"><script>alert(1)</script>'


class Page(HTMLParser):
    """The elements and the text of a picture; it fails on an element that is not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._open.append(tag)
        assert [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")] == []

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f" {data}"


def waiting(count: int = 1, name: str = "job") -> Scheduler:
    scheduler = Scheduler([Queue("day", guaranteed={"vcore": "1"}), Queue("night")])
    scheduler.add_nodes({"n1": {"vcore": "4", "memory": "4Gi"}})
    scheduler.submit(name, queue="root.day", user="ada")
    scheduler.ask(name, "runs", {"vcore": "3"})
    for number in range(count):
        scheduler.ask(name, f"waits-{number:02}", {"vcore": "2", "memory": "1Gi"})
    scheduler.step()
    return scheduler


@pytest.mark.remuda_rule("EXT-96")
def test_a_view_has_the_queues_and_what_waits() -> None:
    view = remuda.view(waiting())
    assert [share.queue for share in view.queues] == ["root", "root.day", "root.night"]
    (line,) = view.waiting
    assert (line.application_id, line.allocation_key, line.pending) == ("job", "waits-00", 1)
    assert line.resource == {"vcore": 2_000, "memory": 2**30}
    # Root may use as much as the nodes have together.
    assert line.reason == "queue quota: root"
    assert view.more == 0
    text = Page(view._repr_html_()).text
    for shown in ("3 cores of 4 cores", "day", "night", "2 cores, 1 GiB", "queue quota: root"):
        assert shown in text
    assert "root.day: 3 cores used, 2 cores, 1 GiB pending" in str(view)


@pytest.mark.remuda_rule("EXT-96")
def test_a_view_does_not_change_when_the_scheduler_does() -> None:
    scheduler = waiting()
    view = remuda.view(scheduler)
    before = str(view)
    (running,) = scheduler.allocations("job")
    scheduler.release(running)
    scheduler.step()
    assert str(view) == before
    assert remuda.view(scheduler).waiting == ()
    assert "Nothing waits." in remuda.view(scheduler)._repr_html_()


@pytest.mark.remuda_rule("EXT-96")
def test_only_the_first_asks_are_shown_and_the_others_counted() -> None:
    view = remuda.view(waiting(25))
    assert [each.allocation_key for each in view.waiting] == [f"waits-{n:02}" for n in range(20)]
    assert view.more == 5
    assert "and 5 more" in Page(view._repr_html_()).text
    assert str(view).endswith("5 more asks wait")


@pytest.mark.remuda_rule("EXT-96")
def test_no_name_makes_an_element() -> None:
    scheduler = waiting(name=HOSTILE)
    (ask,) = scheduler.pending()
    pictures = [
        remuda.view(scheduler)._repr_html_(),
        scheduler.explain(ask)._repr_html_(),
        scheduler.dry_run(HOSTILE, [ask])._repr_html_(),
        scheduler.config_impact([Queue("night")], within_seconds=1)._repr_html_(),
    ]
    for picture in pictures:
        page = Page(picture)
        assert "script" not in page.tags
        assert "alert(1)" in page.text


@pytest.mark.remuda_rule("EXT-96")
def test_a_view_of_nothing_and_of_a_queue_without_room() -> None:
    assert "There are no nodes." in Page(remuda.view(Scheduler())._repr_html_()).text
    scheduler = Scheduler([Queue("none", maximum={"vcore": 0})])
    scheduler.add_nodes({"n1": {"vcore": "4"}})
    assert "none" in Page(remuda.view(scheduler)._repr_html_()).text


@pytest.mark.remuda_rule("EXT-96")
def test_a_past_moment_and_a_live_scheduler_can_be_viewed(tmp_path: Path) -> None:
    journal_of(tmp_path, 130)
    moment = Moment.read(tmp_path)
    past = remuda.view(moment)
    assert past.title.startswith("Moment 20")
    assert [each.queue for each in past.queues][:2] == ["root", "root.a"]
    assert {each.application_id for each in past.waiting} == {"app-a"}
    assert {each.reason for each in past.waiting} == {"queue quota: root.a"}
    assert len(past.waiting) + past.more == len(moment.pending())
    with Scheduler([Queue("day")], live=True) as live:
        live.add_node("n1", {"vcore": "4"})
        live.submit("job", queue="root.day")
        live.ask("job", "task", {"vcore": "9"})
        wait(lambda: remuda.view(live).waiting != ())
        assert remuda.view(live).waiting[0].allocation_key == "task"


def test_what_cannot_be_viewed_is_refused() -> None:
    with pytest.raises(RequestError, match="pass a Scheduler, a Moment or an address"):
        remuda.view(17)  # type: ignore[arg-type]
