"""How much processor time the pages of a large cluster take, and how much memory they hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.e2e.serving import Served
from tests.ui.browsing import Opened
from tests.ui.test_large import Answers

# Pages that list what there is, what of the interface each asks for, and a text it shows then.
PAGES: Final = (
    ("nodes?resource=vcore", "nodes", "10\u202f000 of 10\u202f000 nodes"),
    ("applications", "applications", "100\u202f000 applications, by ID"),
    ("queues", "queues", "2\u202f001 of 2\u202f001 queues"),
)
UPDATES: Final = 2


class Spent:
    """The processor time of a page's main thread, and its memory, as the browser tells them."""

    def __init__(self, opened: Opened) -> None:
        self._session = opened.page.context.new_cdp_session(opened.page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds(self) -> float:
        """Return the processor time of scripts, styles and layout so far."""
        found = self._all()
        return sum(found[f"{part}Duration"] for part in ("Script", "RecalcStyle", "Layout"))

    def megabytes(self) -> float:
        """Return what JavaScript holds once its garbage is collected."""
        self._session.send("HeapProfiler.collectGarbage")
        return self._all()["JSHeapUsedSize"] / 2**20

    def _all(self) -> dict[str, float]:
        found: list[dict[str, Any]] = self._session.send("Performance.getMetrics")["metrics"]
        return {each["name"]: float(each["value"]) for each in found}


@pytest.mark.remuda_rule("WEB-39")
@pytest.mark.parametrize("place, kind, text", PAGES, ids=[kind for _, kind, _ in PAGES])
def test_a_large_page_is_there_within_a_second_and_updates_within_50_ms(
    opened: Callable[..., Opened], hostile: Served, place: str, kind: str, text: str
) -> None:
    shown = opened(f"http://{hostile.rest}")
    shown.page.add_init_script("localStorage.setItem('remuda.refresh', '2')")
    answers = Answers(shown)
    spent = Spent(shown)
    before = spent.seconds()
    shown.go(place)
    assert shown.sees(text)
    first = spent.seconds() - before
    # What was asked for first has come when it is asked for again.
    wait_for_rounds(shown, answers, kind, 3)
    begun, before = answers.rounds[kind], spent.seconds()
    wait_for_rounds(shown, answers, kind, begun + UPDATES)
    update = (spent.seconds() - before) / (answers.rounds[kind] - begun)
    held = spent.megabytes()
    print(f"{kind}: {first:.3f} s, {1000 * update:.1f} ms, {held:.1f} MiB")
    assert first < 1
    assert update < 0.05
    assert held < 30


def wait_for_rounds(opened: Opened, answers: Answers, kind: str, count: int) -> None:
    """Wait until a list was asked for so often, from its beginning."""
    while answers.rounds[kind] < count:
        opened.page.wait_for_timeout(200)
