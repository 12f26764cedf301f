"""What changes is seen without a reload, and a scheduler that goes away is no blank page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from signal import SIGKILL
from typing import Any

import pytest

from remuda.client import Client
from tests.e2e.queue_files import ONE
from tests.e2e.serving import FREE_PORTS, Served
from tests.ui.browsing import Opened


@pytest.fixture(scope="module")
def running(browser: Any) -> Iterator[tuple[str, Client]]:
    """The address of a scheduler with one node and no application, and its resource manager."""
    del browser  # without one nothing has to be served
    with Served(*FREE_PORTS) as served, Client(served.grpc, "rm") as client:
        client.register(ONE)
        client.add_nodes({"node-1": {"vcore": 8_000, "memory": 1 << 34}})
        yield f"http://{served.rest}", client


@pytest.mark.remuda_rule("EXT-87", "WEB-5", "WEB-31")
def test_what_is_added_and_ends_appears_by_itself(
    opened: Callable[..., Opened], running: tuple[str, Client]
) -> None:
    base, client = running
    shown = opened(base)
    shown.go("applications")
    assert shown.sees("No application fits.")
    client.add_application("first-job", queue="root.a")
    client.ask("first-job", "task", {"vcore": 1_000})
    assert shown.sees("first-job")
    assert shown.sees("1 of 1 applications")
    client.remove_application("first-job")
    assert shown.sees("No application fits.")


@pytest.mark.remuda_rule("EXT-87", "WEB-33")
def test_events_come_as_they_happen_and_a_pause_holds_them(
    opened: Callable[..., Opened], running: tuple[str, Client]
) -> None:
    base, client = running
    shown = opened(base)
    shown.go("events?type=NODE")
    shown.page.get_by_role("link", name="node-1").first.wait_for()
    shown.page.get_by_role("button", name="Pause").click()
    client.add_nodes({"node-2": {"vcore": 8_000}})
    shown.until("document.querySelector('.told').textContent.includes('paused')")
    assert shown.page.get_by_role("link", name="node-2").count() == 0
    shown.page.get_by_role("button", name="Go on").click()
    shown.page.get_by_role("link", name="node-2").first.wait_for()
    with shown.page.expect_download() as saved:
        shown.page.get_by_role("button", name="Save as NDJSON").click()
    assert saved.value.suggested_filename == "events.ndjson"
    lines = saved.value.path().read_text().splitlines()
    assert any('"objectID":"node-2"' in line for line in lines)


@pytest.mark.remuda_rule("EXT-87", "WEB-38")
def test_a_scheduler_that_goes_away_leaves_the_page_and_is_told(
    opened: Callable[..., Opened],
) -> None:
    with Served(*FREE_PORTS) as served, Client(served.grpc, "rm") as client:
        client.register()
        client.add_nodes({"node-1": {"vcore": 8_000}})
        shown = opened(f"http://{served.rest}")
        shown.go("nodes")
        shown.page.get_by_role("link", name="node-1").wait_for()
        address = served.rest
        served.end(SIGKILL)
        assert shown.sees("No connection to the scheduler since")
        assert shown.page.get_by_role("link", name="node-1").is_visible()
    options = ("--grpc-address", "127.0.0.1:0", "--rest-address", address)
    with Served(*options) as again, Client(again.grpc, "rm") as client:
        client.register()
        client.add_nodes({"node-9": {"vcore": 8_000}})
        shown.page.get_by_role("link", name="node-9").wait_for()
        assert not shown.page.get_by_text("No connection").is_visible()


@pytest.mark.remuda_rule("EXT-87", "WEB-38")
def test_a_page_that_is_refused_says_why_and_the_others_go_on(
    opened: Callable[..., Opened], running: tuple[str, Client]
) -> None:
    shown = opened(running[0])
    shown.go("queues?partition=nowhere")
    assert shown.sees("Partition not found")
    shown.page.get_by_role("link", name="Health").click()
    shown.page.get_by_role("heading", name="Inside the scheduler").wait_for()


@pytest.mark.remuda_rule("EXT-87", "WEB-38")
def test_what_is_not_known_is_not_said_to_be_right(
    opened: Callable[..., Opened], running: tuple[str, Client]
) -> None:
    shown = opened(running[0])
    absent = {"status": 404, "content_type": "application/json", "body": "{}"}
    shown.page.route("**/healthcheck", lambda route: route.fulfill(**absent))
    shown.page.route("**/fairshare*", lambda route: route.fulfill(**{**absent, "status": 403}))
    shown.go("overview")
    assert shown.sees("Not known: no check has run yet, the guarantees of queues.")
    assert shown.page.get_by_text("all checks succeeded").count() == 0
