"""Write requirements.lock: every library by exact version and hash, and no address.

The lock names no host, so the same file serves whoever installs from a mirror. Hashes of all
built files of a version are listed, so one file holds for every Python the project supports.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = (
    "# All libraries of remuda and of its development, by exact version and hash.\n"
    "# Written by `make lock` from pyproject.toml; holds for Python 3.11, 3.12 and 3.13.\n"
)
OPTIONS = (
    "--quiet",
    "--upgrade",
    "--extra=dev",
    "--all-build-deps",
    "--allow-unsafe",
    "--generate-hashes",
    "--strip-extras",
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-emit-trusted-host",
)


def main() -> int:
    """Choose versions, check the result, replace the lock; 0 on success."""
    target = ROOT / "requirements.lock"
    fresh = target.with_suffix(".new")
    command = [sys.executable, "-m", "piptools", "compile", *OPTIONS, f"--output-file={fresh}"]
    try:
        subprocess.run([*command, "pyproject.toml"], cwd=ROOT, check=True)
        text = HEADER + fresh.read_text()
    except subprocess.CalledProcessError as failure:
        print(f"lock: choosing versions failed with code {failure.returncode}; nothing changed")
        return 1
    finally:
        fresh.unlink(missing_ok=True)
    if "://" in text:
        print("lock: the result names an address; nothing changed")
        return 1
    target.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
