"""Each page, over a scheduler whose names attack it."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.e2e.serving import Served
from tests.ui.browsing import Opened
from tests.ui.hostile_cluster import ADDRESS, MARKUP, NAMES, PATH, SCRIPT, TEMPLATE, WAITS


def quoted(text: str) -> str:
    return quote(text, safe="")


def base(served: Served) -> str:
    return f"http://{served.rest}"


# A page, and texts that it must show as they are.
PAGES = {
    "overview": ("default", "Use of the partition", "root"),
    "queues": ("root", "parent", "a"),
    "queues?queue=root.a": ("root.a", "Headroom", "<b>x</b>", MARKUP),
    "applications": NAMES,
    "applications?list=rejected": (f"refused-{MARKUP}",),
    f"application/{quoted(WAITS)}": (WAITS, f"held-{SCRIPT}", f"waits-{SCRIPT}", "user quota"),
    f"application/{quoted(PATH)}": (PATH, f"key-{PATH}", "root.parent.b"),
    "nodes": NAMES,
    f"node/{quoted(SCRIPT)}": (SCRIPT, "Use by application"),
    f"node/{quoted(PATH)}": (PATH, "Occupied by others"),
    "events": (TEMPLATE,),
    "preemptions": ("Nothing was preempted lately.",),
    f"users?search={quoted('ada')}": ("ada", "root.a"),
    "fairshare": ("root.parent.b",),
    "configuration": (MARKUP, "limits", "Placement rules"),
    "health": ("Inside the scheduler", MARKUP),
}


@pytest.mark.remuda_rule("EXT-85", "EXT-86", "EXT-88", "WEB-37")
@pytest.mark.parametrize("place", PAGES, ids=lambda place: place.split("?")[0].split("/")[0])
def test_a_page_shows_hostile_names_as_text(looking: Opened, place: str) -> None:
    looking.go(place)
    for text in PAGES[place]:
        assert looking.sees(text)
    assert looking.page.locator("main img, main script, main b:text-is('x')").count() == 0
    links = looking.page.eval_on_selector_all("a", "all => all.map(a => a.protocol)")
    assert set(links) <= {"http:"}, ADDRESS


@pytest.mark.remuda_rule("EXT-86")
def test_a_link_to_a_name_with_a_slash_leads_to_its_page(
    opened: Callable[..., Opened], hostile: Served
) -> None:
    shown = opened(base(hostile))
    shown.go(f"applications?search={quoted(PATH)}")
    shown.page.get_by_role("link", name=PATH, exact=True).click()
    shown.page.get_by_role("heading", name=PATH, exact=True).wait_for()
    assert shown.page.url.endswith(f"#/application/{quoted(PATH)}")
    assert shown.sees(f"key-{PATH}")
    shown.page.go_back()
    assert shown.page.url.endswith(f"#/applications?search={quoted(PATH)}")


@pytest.mark.remuda_rule("EXT-86", "WEB-4")
@pytest.mark.parametrize(
    "place, title",
    [
        ("dashboard", "Overview"),
        ("status", "Health"),
        ("queues-v2", "Queues"),
        ("no-such-page", "Overview"),
        ("", "Overview"),
    ],
)
def test_former_and_unknown_addresses_lead_to_a_page(
    looking: Opened, place: str, title: str
) -> None:
    looking.go(place)
    here = looking.page.locator("nav a[aria-current]")
    here.filter(has_text=title).wait_for()
    assert here.count() == 1


@pytest.mark.remuda_rule("EXT-86")
def test_the_kiosk_has_no_navigation(opened: Callable[..., Opened], hostile: Served) -> None:
    shown = opened(base(hostile))
    shown.go("overview?kiosk=1")
    assert shown.sees("Use of the partition")
    assert shown.page.locator("nav").count() == 0


@pytest.mark.remuda_rule("EXT-86")
def test_filters_stand_in_the_address_and_are_read_from_it(
    opened: Callable[..., Opened], hostile: Served
) -> None:
    shown = opened(base(hostile))
    shown.go("nodes")
    assert shown.sees(TEMPLATE)
    shown.page.get_by_label("ID, host, rack or attribute").fill("onerror")
    assert shown.sees("1 of 5 nodes")
    assert "search=onerror" in shown.page.url
    other = opened(base(hostile))
    other.page.goto(shown.page.url)
    assert other.sees("1 of 5 nodes")


@pytest.mark.remuda_rule("WEB-31", "WEB-32", "WEB-35", "EXT-86")
def test_the_tree_of_queues_closes_and_opens_and_shows_one(
    opened: Callable[..., Opened], hostile: Served
) -> None:
    shown = opened(base(hostile))
    shown.go("queues")
    assert shown.sees("5 of 5 queues")
    shown.page.get_by_role("button", name="Close root.parent").click()
    assert shown.sees("3 of 5 queues")
    shown.page.get_by_label("Search").fill("parent.c")
    assert shown.sees("1 of 5 queues")
    shown.page.get_by_role("link", name="root.parent.c").click()
    shown.page.get_by_role("heading", name="root.parent.c").wait_for()
    assert shown.sees("Preemption fence")
    state = shown.page.locator("table.grid td").last
    assert state.inner_text() == "● Active"
    box, panel = state.bounding_box(), shown.page.get_by_role("region").bounding_box()
    assert box["x"] + box["width"] <= panel["x"] + panel["width"]


@pytest.mark.remuda_rule("WEB-32")
def test_a_waiting_ask_is_explained_and_what_would_help_is_found(
    opened: Callable[..., Opened], hostile: Served
) -> None:
    shown = opened(base(hostile))
    shown.go(f"application/{quoted(WAITS)}")
    explain = shown.page.get_by_role("button", name="Explain")
    explain.click()
    assert shown.page.get_by_role("button", name="Close").get_attribute("aria-expanded") == "true"
    assert shown.sees("Stops it: user quota (user ada at root.a)")
    shown.page.get_by_role("button", name="What would help?").click()
    assert shown.sees(f"would place {WAITS}")
