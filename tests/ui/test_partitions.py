"""Partitions with other names than the usual one, and several of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from remuda.client import Client
from tests.e2e.serving import FREE_PORTS, Served
from tests.ui.browsing import Opened

PAGES: Final = ("queues", "applications", "nodes", "preemptions", "users", "fairshare")
SEVERAL: Final = """\
partitions:
  - name: alpha
    queues: [{name: root, submitacl: "*", queues: [{name: a}]}]
  - name: gpu
    queues: [{name: root, submitacl: "*", queues: [{name: g}]}]
"""


@pytest.fixture(scope="module")
def several(browser: Any) -> Iterator[str]:
    """The address of a scheduler with two partitions, of which none has the usual name."""
    del browser  # without one nothing has to be served
    with Served(*FREE_PORTS) as served, Client(served.grpc, "rm") as client:
        client.register(SEVERAL)
        yield f"http://{served.rest}"


@pytest.mark.remuda_rule("EXT-86", "WEB-36")
def test_without_a_partition_in_the_address_all_pages_show_the_first(
    opened: Callable[..., Opened], several: str
) -> None:
    shown = opened(several)
    shown.go("overview")
    assert shown.sees("alpha")
    shown.go("queues")
    shown.page.get_by_role("link", name="a", exact=True).wait_for()
    asked: list[str] = []
    shown.page.on("request", lambda request: asked.append(request.url))
    for place in PAGES:
        shown.go(place)
        shown.page.locator("main .panel").first.wait_for()
    shown.until(f"location.hash === '#/{PAGES[-1]}'")
    assert any("/partition/alpha/" in each for each in asked)
    assert [each for each in asked if "/partition/default" in each] == []


@pytest.mark.remuda_rule("EXT-86", "WEB-36")
def test_a_partition_is_chosen_and_every_link_keeps_it(
    opened: Callable[..., Opened], several: str
) -> None:
    shown = opened(several)
    shown.go("queues")
    shown.page.get_by_role("link", name="a", exact=True).wait_for()
    shown.page.get_by_text("Settings", exact=True).click()
    shown.page.locator(".settings").get_by_label("Partition").select_option("rm / gpu")
    queue = shown.page.get_by_role("link", name="g", exact=True)
    queue.wait_for()
    links = shown.page.eval_on_selector_all("nav a, main table a", "all => all.map(a => a.href)")
    assert len(links) > len(PAGES)
    assert [each for each in links if "partition=gpu" not in each] == []
