"""A real browser for tests: pages that remember all that went wrong in them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

import pytest

from tools.browser_setup import BROWSERS
from tools.interface import SOURCES

try:
    # It comes with `make browser`, and without types where it is missing.
    sync_playwright: Any = import_module("playwright.sync_api").sync_playwright
except ImportError:
    sync_playwright = None

NEEDS: Final = "needs a browser and a library that drives it: make browser"
AXE: Final = SOURCES / "node_modules/axe-core/axe.min.js"
# Only a fault waits so long; a busy machine takes seconds for a page.
PATIENCE_MS: Final = 60_000

# What a console says of things that a test brings about itself.
EXPECTED: Final = ("Failed to load resource",)


@dataclass
class Opened:
    """A page, and what its console, its errors and its requests were."""

    page: Any
    base: str
    problems: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def go(self, place: str) -> None:
        """Open a page of the interface by what stands behind the #."""
        self.page.goto(f"{self.base}/ui/#/{place}")

    def sees(self, text: str) -> bool:
        """Wait until a text can be seen; an error if it never is."""
        self.page.get_by_text(text).filter(visible=True).first.wait_for()
        return True

    def until(self, condition: str) -> None:
        """Wait until JavaScript says so; the policy of the page forbids a wait in it."""
        deadline = time.monotonic() + PATIENCE_MS / 1_000
        while not self.page.evaluate(condition):
            assert time.monotonic() < deadline, condition
            self.page.wait_for_timeout(50)

    def forget(self) -> None:
        """Forget what went wrong before."""
        self.problems.clear()
        self.strangers.clear()

    def assert_clean(self) -> None:
        """Fail if a console complained, a script failed, or another server was asked."""
        assert self.problems == []
        assert self.strangers == []
        assert self.page.evaluate("window.stolen === undefined")


def open_page(browser: Any, base: str, **options: Any) -> Opened:
    """Return a page of a fresh context, as of a browser that was never here."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    opened = Opened(page, base)

    def told(message: Any) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(EXPECTED):
            opened.problems.append(message.text)

    def asked(request: Any) -> None:
        if not request.url.startswith((base, "blob:")):
            opened.strangers.append(request.url)

    page.on("console", told)
    page.on("pageerror", lambda error: opened.problems.append(str(error)))
    page.on("dialog", lambda dialog: opened.problems.append(f"dialog {dialog.message}"))
    page.on("request", asked)
    return opened


@contextmanager
def started() -> Iterator[Any]:
    """Run a browser; skip the test if there is none."""
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None or sync_playwright is None:
        pytest.skip(NEEDS)
    with sync_playwright() as library:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = library.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            browser.close()
