"""A scheduler that wants a token: the page asks for it, keeps it in the tab, and obeys refusals."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from remuda.client import Client
from tests.e2e.queue_files import TWO
from tests.e2e.serving import FREE_PORTS, Served
from tests.ui.browsing import Opened

READER = "a-reader-with-a-long-token-0123456789"
SCOPED = "a-scoped-reader-with-a-long-token-0123456789"


def access_file(folder: Path) -> Path:
    path = folder / "access.toml"
    digests = {
        name: hashlib.sha256(text.encode()).hexdigest()
        for name, text in (("reader", READER), ("scoped", SCOPED))
    }
    path.write_text(
        f"""
[[identity]]
name = "reader"
token-sha256 = ["{digests["reader"]}"]
role = "reader"

[[identity]]
name = "scoped"
token-sha256 = ["{digests["scoped"]}"]
role = "reader"
partitions = ["default"]
queues = ["root.a"]
"""
    )
    return path


@pytest.fixture(scope="module")
def guarded(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler that wants tokens, with an application in each of two queues."""
    del browser  # without one nothing has to be served
    access = str(access_file(tmp_path_factory.mktemp("access")))
    with (
        Served(*FREE_PORTS, "--rest-access", access) as served,
        Client(served.grpc, "rm") as client,
    ):
        client.register(TWO)
        for queue in ("a", "b"):
            client.add_application(f"job-{queue}", queue=f"root.{queue}")
        yield f"http://{served.rest}"


@pytest.mark.remuda_rule("EXT-87")
def test_a_token_is_asked_for_checked_and_forgotten_with_the_tab(
    opened: Callable[..., Opened], guarded: str
) -> None:
    shown = opened(guarded)
    shown.go("queues")
    page = shown.page
    page.get_by_role("heading", name="Sign in").wait_for()
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    assert shown.sees("Unknown caller")
    page.get_by_label("Token").fill("“copied with quotes”")
    page.get_by_role("button", name="Sign in").click()
    assert shown.sees("No token has spaces or letters like these")
    page.get_by_label("Token").fill(READER)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="root", exact=True).wait_for()
    page.reload()
    page.get_by_role("link", name="root", exact=True).wait_for()
    assert READER not in page.url
    assert page.evaluate("JSON.stringify(localStorage)").count(READER) == 0
    assert page.context.cookies() == []
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("heading", name="Sign in").wait_for()
    page.get_by_text("Settings", exact=True).click()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in").wait_for()
    assert page.evaluate("sessionStorage.length") == 0


@pytest.mark.remuda_rule("EXT-87", "EXT-32")
def test_a_reader_of_one_queue_sees_that_queue_and_why_not_the_rest(
    opened: Callable[..., Opened], guarded: str
) -> None:
    shown = opened(guarded)
    shown.go("applications?queue=root.a")
    page = shown.page
    page.get_by_label("Token").fill(SCOPED)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="job-a").wait_for()
    assert page.get_by_role("link", name="job-b").count() == 0
    page.get_by_role("link", name="Nodes").click()
    assert shown.sees("The scope of the caller does not include partition default as a whole")
