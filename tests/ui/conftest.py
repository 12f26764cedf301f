"""What the tests of the web interface share: a browser, and a scheduler whose names are hostile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.serving import FREE_PORTS, Served
from tests.ui.browsing import Opened, open_page, started
from tests.ui.hostile_cluster import fill


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser for the tests of a file; no other event loop can run in its thread meanwhile."""
    with started() as running:
        yield running


@pytest.fixture(scope="module")
def hostile(browser: Any) -> Iterator[Served]:
    """A scheduler in which every name that a stranger can choose attacks the page."""
    del browser  # without one nothing has to be served
    with Served(*FREE_PORTS) as served, fill(served):
        yield served


@pytest.fixture(scope="module")
def only(browser: Any, hostile: Served) -> Iterator[Opened]:
    """A page for tests that only look: it is opened once."""
    page = open_page(browser, f"http://{hostile.rest}")
    yield page
    page.page.context.close()


@pytest.fixture
def looking(only: Opened) -> Iterator[Opened]:
    """Lend the page for one test; in the end it has to be clean."""
    only.forget()
    yield only
    only.assert_clean()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Return a function that opens a page; in the end all of them have to be clean."""
    pages: list[Opened] = []

    def opening(base: str, **options: Any) -> Opened:
        pages.append(open_page(browser, base, **options))
        return pages[-1]

    yield opening
    for each in pages:
        each.assert_clean()
        each.page.context.close()
