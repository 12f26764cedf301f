"""Install what the tests of the web interface need; what cannot be had is said in one line.

A library drives the browser, and the browser is Debian's Chromium: the library's own download is
not used. On Debian and Ubuntu, as root, the browser is installed. Everywhere else the work goes on
without it: the tests that need it are skipped and say so.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.debian_packages import has_library, install_packages

LIBRARY: Final = "playwright.sync_api"
ROOT: Final = Path(__file__).resolve().parent.parent
LOCK: Final = ROOT / "requirements-browser.lock"
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")

# What Debian calls the browser, and letters that it can draw.
PACKAGES: Final = ("chromium", "fonts-dejavu-core")


def browser() -> str | None:
    """Return the path of a browser that the tests can drive, None if there is none."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def install_library() -> bool:
    """Install the library by the lock; it is a built one."""
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    command = [*pip, "--require-hashes", "--only-binary=:all:", f"--requirement={LOCK}"]
    return subprocess.run(command, check=False).returncode == 0


def main() -> int:
    """Install what is missing; 0 also when it cannot be had."""
    if browser() is None and not install_packages("browser", PACKAGES):
        print("browser: not installed, for want of the Debian package chromium")
        return 0
    if not has_library(LIBRARY) and not install_library():
        print("browser: the library could not be installed; see the lines above")
        return 0
    print(f"browser: {browser()} is ready")
    return 0


if __name__ == "__main__":
    sys.exit(main())
