"""Run the tests; what fails is run a second time, alone, when all others have ended.

A test of real processes can wait in vain on a host that others use, and one such test among
thousands says nothing about the tree. A test that passes at the second try is named at the end of
the run: it is a fault of the test or of the code, to be mended. If more than a few tests fail, or
one fails twice, the run fails.

    python -m tools.second_try PYTEST_ARGUMENTS...
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

# More than these are no accident.
MOST: Final = 3
# What pytest returns if tests failed, and only then.
FAILED: Final = 1
# One process, and of all tests those that failed.
AGAIN: Final = ("-n", "0", "--last-failed", "--last-failed-no-failures", "none")


def main(arguments: Sequence[str]) -> int:
    """Return what pytest returns, of the second try if there was one."""
    with tempfile.TemporaryDirectory(prefix="remuda-tests-") as cache:
        first = _pytest([*arguments], cache)
        failed = _failed(Path(cache))
        if first != FAILED or not 0 < len(failed) <= MOST:
            return first
        print(f"tests: {len(failed)} failed; a second try, alone", flush=True)
        second = _pytest([*arguments, *AGAIN], cache)
        for name in failed if second == 0 else ():
            print(f"tests: FAILED ONCE, and passed alone: {name}", flush=True)
        return second


def _pytest(arguments: list[str], cache: str) -> int:
    """Run pytest with a memory of its own of what failed."""
    command = [sys.executable, "-m", "pytest", "-o", f"cache_dir={cache}", *arguments]
    return subprocess.call(command)


def _failed(cache: Path) -> list[str]:
    """Return the names of the tests that failed, in order."""
    try:
        return sorted(json.loads((cache / "v" / "cache" / "lastfailed").read_text()))
    except FileNotFoundError:
        return []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
