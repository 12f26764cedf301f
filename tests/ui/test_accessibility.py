"""The pages for people who do not see them, or use no mouse: axe-core, and the keyboard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from tests.e2e.serving import Served
from tests.ui.browsing import AXE, Opened
from tests.ui.hostile_cluster import PATH, WAITS

PLACES = {
    "overview": "Use of the partition",
    "queues?queue=root.a": "Headroom",
    "applications": WAITS,
    f"application/{quote(WAITS, safe='')}": "Why it waits",
    "nodes": "Use of CPU",
    f"node/{quote(PATH, safe='')}": "Use by application",
    "dryrun?queue=root.a": "What would be submitted",
    "events": "Events, newest first",
    "preemptions": "Who took from whom",
    "users": "Use and limits",
    "fairshare": "Owed of its guarantee",
    "configuration": "Placement rules",
    "health": "Inside the scheduler",
}
RULES = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'], resultTypes: ['violations']}"


def findings(shown: Opened) -> list[Any]:
    """Return what axe-core finds, with the elements."""
    found: dict[str, Any] = shown.page.evaluate(f"axe.run(document, {RULES})")
    return [
        (each["id"], [node["html"][:200] for node in each["nodes"]][:3])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.remuda_rule("WEB-37")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_finding(
    opened: Callable[..., Opened], hostile: Served, scheme: str
) -> None:
    if not AXE.exists():
        pytest.skip("needs axe-core: make browser")
    # The checker is a script that the policy of the page would refuse.
    shown = opened(f"http://{hostile.rest}", color_scheme=scheme, bypass_csp=True)
    found = {}
    for place, text in PLACES.items():
        shown.go(place)
        assert shown.sees(text)
        shown.page.evaluate(AXE.read_text())
        found[place] = findings(shown)
    assert {place: some for place, some in found.items() if some} == {}


@pytest.mark.remuda_rule("WEB-37")
def test_the_keyboard_reaches_and_does_everything(
    opened: Callable[..., Opened], hostile: Served
) -> None:
    shown = opened(f"http://{hostile.rest}")
    shown.go("overview")
    assert shown.sees("Use of the partition")
    press = shown.page.keyboard.press
    for _ in range(3):
        press("Tab")
    press("Enter")
    assert shown.sees("Bars show parts of")
    shown.until("document.activeElement.tagName === 'MAIN'")
    shown.page.get_by_role("button", name="Close root.parent").focus()
    press("Enter")
    assert shown.sees("3 of 5 queues")
    shown.page.get_by_role("link", name="parent", exact=True).focus()
    press("Enter")
    shown.page.get_by_role("heading", name="root.parent").wait_for()
    shown.go("nodes")
    shown.page.get_by_role("button", name="State").focus()
    press("Enter")
    shown.page.locator("th[aria-sort='ascending']", has_text="State").wait_for()
    table = shown.page.get_by_role("region", name="Nodes")
    assert table.get_attribute("tabindex") == "0"


@pytest.mark.remuda_rule("WEB-37")
def test_colours_follow_the_system_and_the_choice(
    opened: Callable[..., Opened], hostile: Served
) -> None:
    shown = opened(f"http://{hostile.rest}", color_scheme="dark")
    shown.go("overview")
    ground = "getComputedStyle(document.body).backgroundColor"
    shown.until(f"{ground} === 'rgb(18, 22, 26)'")
    shown.page.get_by_text("Settings", exact=True).click()
    shown.page.get_by_label("Colours").select_option("light")
    shown.until(f"{ground} === 'rgb(244, 245, 247)'")
    shown.page.reload()
    shown.until(f"{ground} === 'rgb(244, 245, 247)'")
    assert shown.page.evaluate("document.documentElement.dataset.theme") == "light"


@pytest.mark.remuda_rule("WEB-37")
def test_a_narrow_screen_shows_all_without_scrolling_sideways(
    opened: Callable[..., Opened], hostile: Served
) -> None:
    shown = opened(f"http://{hostile.rest}", viewport={"width": 400, "height": 800})
    for place, text in PLACES.items():
        shown.go(place)
        assert shown.sees(text)
        width = shown.page.evaluate("document.documentElement.scrollWidth")
        assert width <= 400, place
        here = shown.page.locator("nav a[aria-current]").bounding_box()
        assert here["x"] >= 0, place
        assert here["x"] + here["width"] <= 400, place
