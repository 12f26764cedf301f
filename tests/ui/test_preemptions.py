"""Who took from whom, as a picture, as a table, and one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from remuda.client import Client
from tests.e2e.serving import FREE_PORTS, Served
from tests.e2e.test_rest_preemption import ask
from tests.ui.browsing import Opened

TAKER: Final = "shop <img src=x onerror=window.stolen=1>"
QUEUES: Final = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: prod
            resources: {guaranteed: {vcore: 4}}
            properties: {preemption.delay: 1ms}
          - name: adhoc
"""


@pytest.fixture(scope="module")
def preempted(browser: Any) -> Iterator[str]:
    """The address of a scheduler that ended both allocations of one queue for another one."""
    del browser  # without one nothing has to be served
    with Served(*FREE_PORTS) as served, Client(served.grpc, "rm") as client:
        client.register(QUEUES)
        client.add_nodes({"n1": {"vcore": 2_000}, "n2": {"vcore": 2_000}})
        for name in ("crawl", "index"):
            client.add_application(name, queue="root.adhoc")
            ask(client, name, f"{name}-page", 2_000)
        client.allocations(2)
        client.add_application(TAKER, queue="root.prod")
        for key in ("till-1", "till-2"):
            ask(client, TAKER, key, 1_500)
        ended = 0
        for response in client.responses():
            ended += len(getattr(response, "released", ()))
            if ended == 2:
                break
        yield f"http://{served.rest}"


@pytest.mark.remuda_rule("EXT-92", "EXT-88")
def test_who_took_from_whom_is_a_picture_and_a_table(
    opened: Callable[..., Opened], preempted: str
) -> None:
    shown = opened(preempted)
    page = shown.page
    shown.go("preemptions")
    picture = page.get_by_role("img", name="Who took from whom")
    picture.wait_for()
    words = "Who took from whom: root.adhoc to root.prod 2"
    assert picture.get_attribute("aria-label") == words
    row = page.locator("table.plain tbody tr")
    assert row.inner_text().split("\t") == ["root.adhoc", "root.prod", "2", "CPU 4"]
    page.get_by_label("Count").select_option("vcore")
    page.get_by_role("img", name="root.adhoc to root.prod 4").wait_for()
    page.get_by_label("Between").select_option("applications")
    page.get_by_role("img", name=f"crawl to {TAKER} 2, index to {TAKER} 2").wait_for()
    assert page.locator(".flows .band").count() == 2
    page.get_by_role("cell", name="index").get_by_role("link").click()
    page.get_by_role("heading", name="index", exact=True).wait_for()
    page.go_back()
    page.get_by_role("img", name=f"crawl to {TAKER} 2").wait_for()
    assert page.locator("main img").count() == 0
