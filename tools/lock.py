"""Write the locks: every library by exact version and hash, and no address.

A lock names no host, so the same file serves whoever installs from a mirror. Hashes of all
built files of a version are listed, so one file holds for every Python the project supports.

What needs libraries of the operating system to be built has a lock of its own, so that `make
setup` works without them.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
MAIN: Final = ROOT / "requirements.lock"
LDAP: Final = ROOT / "requirements-ldap.lock"
HEADERS: Final = {
    MAIN: "# All libraries of remuda and of its development, by exact version and hash.\n",
    LDAP: "# What the LDAP resolver needs beyond requirements.lock, by exact version and hash.\n",
}
ORIGIN: Final = (
    "# Written by `make lock` from pyproject.toml; holds for Python 3.11, 3.12 and 3.13.\n"
)
OPTIONS: Final = (
    "--quiet",
    "--upgrade",
    "--allow-unsafe",
    "--generate-hashes",
    "--strip-extras",
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-emit-trusted-host",
)


def choose(target: Path, arguments: list[str], text: str | None = None) -> bool:
    """Choose versions, check the result, replace the lock; ``text`` is what stdin says."""
    fresh = target.with_suffix(".new")
    command = [sys.executable, "-m", "piptools", "compile", *OPTIONS, f"--output-file={fresh}"]
    try:
        subprocess.run([*command, *arguments], cwd=ROOT, check=True, text=True, input=text)
        lock = HEADERS[target] + ORIGIN + fresh.read_text()
    except subprocess.CalledProcessError as failure:
        print(f"lock: choosing versions failed with code {failure.returncode}; nothing changed")
        return False
    finally:
        fresh.unlink(missing_ok=True)
    if "://" in lock:
        print("lock: the result names an address; nothing changed")
        return False
    target.write_text(lock)
    return True


def main() -> int:
    """Write the locks asked for by name, both without; 0 on success."""
    wanted = sys.argv[1:] or [MAIN.name, LDAP.name]
    if MAIN.name in wanted:
        arguments = ["--extra=dev", "--all-build-deps", "pyproject.toml"]
        if not choose(MAIN, arguments):
            return 1
    if LDAP.name in wanted:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        asked = "\n".join(project["optional-dependencies"]["ldap"])
        if not choose(LDAP, [f"--constraint={MAIN.name}", "-"], asked):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
