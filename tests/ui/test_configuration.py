"""Another configuration: its faults at their lines, and what it would change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from remuda.client import Client
from tests.e2e.queue_files import TWO
from tests.e2e.serving import FREE_PORTS, Served
from tests.ui.browsing import Opened

BUTTON = "See what it would change"
BOX = "Another configuration"


@pytest.fixture(scope="module")
def busy(browser: Any) -> Iterator[tuple[Served, Client]]:
    """A scheduler with an application in the second of two queues."""
    del browser  # without one nothing has to be served
    with Served(*FREE_PORTS) as served, Client(served.grpc, "rm") as client:
        client.register(TWO)
        client.add_application("job", queue="root.b")
        yield served, client


def attempt(shown: Opened, text: str) -> None:
    """Try a configuration."""
    shown.page.get_by_label(BOX, exact=True).fill(text)
    shown.page.get_by_role("button", name=BUTTON).click()


@pytest.mark.remuda_rule("EXT-91", "EXT-88", "WEB-34")
def test_faults_are_shown_at_their_lines(
    opened: Callable[..., Opened], busy: tuple[Served, Client]
) -> None:
    served, _ = busy
    shown = opened(f"http://{served.rest}")
    shown.go("configuration")
    attempt(shown, "partitions:\n  - name: default\n    <b>colour</b>: red\n    kind: x\n")
    shown.page.get_by_role("heading", name="It would be refused").wait_for()
    wrong = shown.page.locator(".yaml .wrong").all_inner_texts()
    assert [each.strip() for each in wrong][:1] == ["<b>colour</b>: red"]
    assert shown.sees("line 3")
    assert shown.page.locator("main b:text-is('colour')").count() == 0
    assert shown.page.get_by_text("remuda config apply").count() == 0


@pytest.mark.remuda_rule("EXT-91", "WEB-34")
def test_what_would_change_is_told_and_an_administrator_does_it(
    opened: Callable[..., Opened], busy: tuple[Served, Client]
) -> None:
    served, client = busy
    shown = opened(f"http://{served.rest}")
    page = shown.page
    shown.go("configuration")
    checksum = served.client.get("/ws/v1/config", headers={"Accept": "application/json"})
    assert shown.sees(checksum.json()["Checksum"])
    page.get_by_role("button", name="Begin with the one in force").click()
    page.get_by_role("button", name=BUTTON).click()
    assert shown.sees("No line differs.")
    attempt(shown, TWO.replace("name: b", "name: c"))
    assert shown.sees("Queues that go: 1")
    assert shown.sees("Applications that would be placed elsewhere: 1")
    added, gone = page.locator(".diff .new"), page.locator(".diff .old")
    assert ("name: c" in added.inner_text(), "name: b" in gone.inner_text()) == (True, True)
    assert shown.sees("remuda config apply new.yaml")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as a file").click()
    assert saved.value.path().read_text() == TWO.replace("name: b", "name: c")
    # Nothing was changed, until somebody else does it.
    assert served.client.get("/ws/v1/config?raw=true").text == TWO
    client.update_configuration(TWO.replace("name: a", "name: z"))
    assert shown.sees("Another configuration is in force now: try it again.")
    page.locator(".yaml", has_text="name: z").wait_for()


@pytest.mark.remuda_rule("EXT-91")
def test_where_the_impact_is_not_known_the_faults_and_the_lines_are_shown(
    opened: Callable[..., Opened], busy: tuple[Served, Client]
) -> None:
    served, _ = busy
    shown = opened(f"http://{served.rest}")
    words = '{"status_code": 501, "message": "No copies here", "description": "No copies here"}'
    answer = {"status": 501, "content_type": "application/json", "body": words}
    shown.page.route("**/config/impact*", lambda route: route.fulfill(**answer))
    shown.go("configuration")
    attempt(shown, TWO.replace("name: b", "name: c"))
    assert shown.sees("What it would change is not known: No copies here")
    assert shown.page.locator(".diff .new").count() > 0
    attempt(shown, "partitions: 7")
    shown.page.get_by_role("heading", name="It would be refused").wait_for()
