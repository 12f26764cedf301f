"""The form of a dry run: what would happen if something were submitted now."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.serving import Served
from tests.ui.browsing import Opened


def outcome(shown: Opened, word: str) -> bool:
    """Wait until a dry run ended so."""
    shown.page.locator(".outcome", has_text=word).wait_for()
    return True


@pytest.mark.remuda_rule("EXT-90")
def test_a_queue_leads_to_a_dry_run_that_says_where_something_would_run(
    opened: Callable[..., Opened], hostile: Served
) -> None:
    shown = opened(f"http://{hostile.rest}")
    page = shown.page
    shown.go("queues?queue=root.parent.c")
    page.get_by_role("link", name="What if something came now?").click()
    assert page.get_by_label("Queue", exact=True).input_value() == "root.parent.c"
    page.get_by_role("button", name="Try it").click()
    assert shown.sees("Say how large one allocation is")
    page.get_by_label("Cores of one allocation").fill("1")
    page.get_by_label("Allocations", exact=True).fill("2")
    page.get_by_role("button", name="Try it").click()
    assert outcome(shown, "placed in root.parent.c")
    assert page.get_by_role("heading", name="Placed").is_visible()
    page.get_by_label("Cores of one allocation").fill("1000")
    assert shown.sees("The form has changed since")
    page.get_by_role("button", name="Try it").click()
    assert outcome(shown, "waits in root.parent.c")
    assert shown.sees("ask: 2 for queue quota (root)")
    # The address is the form: it can be sent to somebody.
    other = opened(f"http://{hostile.rest}")
    other.page.goto(page.url)
    assert other.page.get_by_label("Cores of one allocation").input_value() == "1000"
    other.page.get_by_role("button", name="Try it").click()
    assert outcome(other, "waits")


@pytest.mark.remuda_rule("EXT-90", "EXT-88")
def test_a_dry_run_that_is_refused_says_why(opened: Callable[..., Opened], hostile: Served) -> None:
    shown = opened(f"http://{hostile.rest}")
    page = shown.page
    shown.go("dryrun?queue=root.none.%3Cb%3Ex&cpus=1")
    page.get_by_role("button", name="Try it").click()
    assert outcome(shown, "refused")
    assert page.get_by_role("heading", name="Refused").is_visible()
    page.get_by_label("Cores of one allocation").fill("one <b>core</b>")
    page.get_by_role("button", name="Try it").click()
    problem = page.locator("p.problem")
    problem.wait_for()
    assert "one <b>core</b>" in problem.inner_text()
    assert page.locator("main b:text-is('core')").count() == 0
    containers = hostile.client.get("/ws/v1/partition/default/applications/active").json()
    assert [each for each in containers if each["applicationID"] == "dry-run"] == []
