"""10,000 nodes, 100,000 applications and 2,000 queues: the pages draw and fetch what is in view.

The answers are made here, because filling a scheduler with them would take longer than the test.
What counts is work, not time: elements of the page, requests and rows that they fetch.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.e2e.serving import Served
from tests.ui.browsing import Opened

NODES = 10_000
APPLICATIONS = 100_000
QUEUES = 2_000

# A table draws what fits into its view and a few rows more.
DRAWN = 80


def node(number: int) -> dict[str, object]:
    return {
        "nodeID": f"node-{number:05}",
        "capacity": {"vcore": 64_000, "memory": 1 << 38},
        "allocated": {"vcore": 640 * (number % 101), "memory": 1 << 37},
        "attributes": {"zone": f"z{number % 7}"},
        "schedulable": number % 50 != 0,
        "isReserved": False,
        "ready": True,
    }


def application(number: int) -> dict[str, object]:
    return {
        "applicationID": f"app-{number:06}",
        "applicationState": "Running",
        "queueName": "root.a",
        "user": f"user-{number % 97}",
        "usedResource": {"vcore": 1_000 * (number % 50)},
        "submissionTime": 1_700_000_000_000_000_000 + number,
    }


def queues() -> dict[str, object]:
    children = [
        {
            "queuename": f"root.q{number:04}",
            "status": "Active",
            "isLeaf": True,
            "isManaged": True,
            "allocatedResource": {"vcore": number},
            "currentPriority": 0,
        }
        for number in range(QUEUES)
    ]
    return {
        "queuename": "root",
        "status": "Active",
        "isLeaf": False,
        "isManaged": True,
        "maxResource": {"vcore": 100_000},
        "children": children,
        "currentPriority": 0,
    }


class Answers:
    """Answers instead of the scheduler, and counts what was asked and sent."""

    def __init__(self, opened: Opened) -> None:
        self.requests: Counter[str] = Counter()
        self.rounds: Counter[str] = Counter()
        self.rows = 0
        self._nodes = [node(number) for number in range(NODES)]
        opened.page.route("**/ws/v1/partition/**", self._answer)

    def _answer(self, route: Any) -> None:
        address = urlsplit(route.request.url)
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        kind = address.path.removeprefix("/ws/v1/partition/default/").partition("/")[0]
        self.requests[kind] += 1
        self.rounds[kind] += query.get("offset", "0") == "0"
        offset, limit = int(query.get("offset", 0)), int(query.get("limit", 10**9))
        if kind == "applications":
            last = min(offset + limit, APPLICATIONS)
            shape: Any = [application(number) for number in range(offset, last)]
            self.rows += len(shape)
            total = APPLICATIONS
        elif kind == "nodes":
            shape, total = self._nodes[offset : offset + limit], NODES
        else:
            shape, total = queues(), 1
        headers = {"X-Total-Count": str(total), "Content-Type": "application/json"}
        route.fulfill(status=200, headers=headers, body=json.dumps(shape))


def drawn(opened: Opened) -> int:
    """Return how many rows the page has in its table."""
    found: int = opened.page.locator("table.grid tbody tr:not(.gap)").count()
    return found


def scroll(opened: Opened, share: float) -> None:
    """Scroll the table to a part of its height."""
    opened.page.eval_on_selector(
        ".scroll", "(box, share) => { box.scrollTop = box.scrollHeight * share; }", share
    )


@pytest.mark.remuda_rule("WEB-39")
def test_of_100_000_applications_the_pages_in_view_are_fetched(
    opened: Callable[..., Opened], hostile: Served
) -> None:
    shown = opened(f"http://{hostile.rest}")
    answers = Answers(shown)
    shown.go("applications")
    assert shown.sees("100\u202f000 applications, by ID")
    assert shown.sees("app-000000")
    scroll(shown, 0.9)
    assert shown.sees("app-090000")
    scroll(shown, 1)
    assert shown.sees("app-099999")
    assert drawn(shown) < DRAWN
    assert answers.rows < 5_000


@pytest.mark.remuda_rule("WEB-39")
def test_a_search_loads_all_applications_once_and_sorts_them(
    opened: Callable[..., Opened], hostile: Served
) -> None:
    shown = opened(f"http://{hostile.rest}")
    answers = Answers(shown)
    shown.go("applications?search=app-0777&order=-used%20vcore")
    assert shown.sees("100 of 100\u202f000 applications")
    assert shown.page.locator("table.grid tbody a").first.inner_text() == "app-077749"
    assert drawn(shown) < DRAWN
    assert answers.rows <= APPLICATIONS + 1_000


@pytest.mark.remuda_rule("WEB-39")
def test_10_000_nodes_are_one_picture_and_a_few_rows(
    opened: Callable[..., Opened], hostile: Served
) -> None:
    shown = opened(f"http://{hostile.rest}")
    Answers(shown)
    shown.go("nodes?resource=vcore")
    assert shown.sees("10\u202f000 of 10\u202f000 nodes")
    picture = shown.page.locator("canvas")
    assert "of 10000 nodes" in picture.get_attribute("aria-label")
    assert shown.sees("takes nothing new: 200")
    scroll(shown, 1)
    assert shown.sees("node-09999")
    assert drawn(shown) < DRAWN
    assert shown.page.evaluate("document.getElementsByTagName('*').length") < 3_000
    shown.page.get_by_label("ID, host, rack or attribute").fill("zone=z3")
    assert shown.sees("1\u202f429 of 10\u202f000 nodes")
    box = picture.bounding_box()
    shown.page.mouse.click(box["x"] + 2, box["y"] + 2)
    shown.page.get_by_role("heading", name="node-00003").wait_for()


@pytest.mark.remuda_rule("WEB-39")
def test_2_000_queues_are_drawn_a_view_at_a_time(
    opened: Callable[..., Opened], hostile: Served
) -> None:
    shown = opened(f"http://{hostile.rest}")
    Answers(shown)
    shown.go("queues")
    assert shown.sees("2\u202f001 of 2\u202f001 queues")
    scroll(shown, 1)
    assert shown.sees("q1999")
    assert drawn(shown) < DRAWN
