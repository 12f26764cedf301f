"""Write the locks: every library by exact version and hash, and no address.

A lock names no host, so the same file serves whoever installs from a mirror. Hashes of all
built files of a version are listed, so one file holds for every Python the project supports.

There is a lock of its own for each of these: the libraries of a plain installation; those of one
for Kubernetes, which the container image has; the libraries
that need packages of the operating system to be built, so that `make setup` works without those
packages; studies on a cluster; the lease in etcd with a server for its tests; the fuzzer, and what
drives a browser, which are not built for every processor; what builds the site of the
documentation; and what `make kube` fetches, which is never installed.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
MAIN: Final = ROOT / "requirements.lock"
SERVE: Final = ROOT / "requirements-serve.lock"
KUBERNETES: Final = ROOT / "requirements-kubernetes.lock"
LDAP: Final = ROOT / "requirements-ldap.lock"
STUDY: Final = ROOT / "requirements-study.lock"
ETCD: Final = ROOT / "requirements-etcd.lock"
KUBE: Final = ROOT / "requirements-kube.lock"
DOCS: Final = ROOT / "requirements-docs.lock"
FUZZ: Final = ROOT / "requirements-fuzz.lock"
BROWSER: Final = ROOT / "requirements-browser.lock"
HEADERS: Final = {
    MAIN: "# All libraries of remuda and of its development, by exact version and hash.\n",
    SERVE: "# Of requirements.lock, what a plain installation needs.\n",
    KUBERNETES: "# Of requirements.lock, what an installation for Kubernetes needs.\n",
    LDAP: "# What the LDAP resolver needs beyond requirements.lock, by exact version and hash.\n",
    STUDY: "# What studies on a Dask cluster, and Parquet files, need beyond requirements.lock.\n",
    ETCD: "# What the lease in etcd and its tests need beyond requirements.lock.\n",
    KUBE: "# What `make kube` fetches: programs that were published as Python packages.\n",
    BROWSER: "# What `make browser` installs: the library that drives a browser.\n",
    DOCS: "# What `make docs` installs: the library that builds the site.\n",
    FUZZ: "# What `make fuzz` installs: the fuzzer that is guided by coverage.\n",
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
# What pip-tools says of a requirement without a hash, as this project's own folder is one.
REMARKS: Final = (
    "# WARNING: pip install will require the following package to be hashed.",
    "# Consider using a hashable URL",
)


def choose(target: Path, arguments: list[str], text: str | None = None) -> bool:
    """Choose versions, check the result, replace the lock; ``text`` is what stdin says."""
    fresh = target.with_suffix(".new")
    command = [sys.executable, "-m", "piptools", "compile", *OPTIONS, f"--output-file={fresh}"]
    try:
        subprocess.run([*command, *arguments], cwd=ROOT, check=True, text=True, input=text)
        lock = HEADERS[target] + ORIGIN + "".join(_of_others(fresh.read_text()))
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


def _of_others(text: str) -> Iterator[str]:
    """Yield the lines of a lock but those about this project, whose extras name each other."""
    for line in text.splitlines(keepends=True):
        if not line.startswith(("remuda @ ", *REMARKS)):
            yield line


def main() -> int:
    """Write the locks asked for by name, all without; 0 on success."""
    wanted = sys.argv[1:] or [each.name for each in HEADERS]
    if MAIN.name in wanted:
        arguments = ["--extra=dev", "--all-build-deps", "pyproject.toml"]
        if not choose(MAIN, arguments):
            return 1
    described = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = described["project"]
    asked = {
        SERVE: project["dependencies"],
        KUBERNETES: [
            *project["dependencies"],
            *project["optional-dependencies"]["kubernetes"],
        ],
        LDAP: project["optional-dependencies"]["ldap"],
        STUDY: [
            *project["optional-dependencies"]["dask"],
            *project["optional-dependencies"]["parquet"],
        ],
        ETCD: [
            *project["optional-dependencies"]["etcd"],
            *described["dependency-groups"]["etcd"],
        ],
        KUBE: described["dependency-groups"]["kube"],
        DOCS: described["dependency-groups"]["docs"],
        FUZZ: described["dependency-groups"]["fuzz"],
        BROWSER: described["dependency-groups"]["browser"],
    }
    for target, requirements in asked.items():
        if target.name in wanted:
            arguments = [f"--constraint={MAIN.name}", "-"]
            if not choose(target, arguments, "\n".join(requirements)):
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
