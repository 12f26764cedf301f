"""Where the programs of a real API server are: named by the user, or built by `make kube`.

A folder in ``KUBEBUILDER_ASSETS`` comes first; it holds kube-apiserver, etcd and kubectl, as the
test environments of other projects lay them out. Without it the folder counts that `make kube`
fills. It is outside of the source tree, so that every checkout of one machine shares it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ASSETS: Final = "KUBEBUILDER_ASSETS"
NEEDED: Final = ("kube-apiserver", "etcd")
# A file of this name beside the folder says why `make kube` could not fill it.
FAILURE: Final = "failure.txt"


class BinariesMissingError(Exception):
    """There is no real API server here; the text says why and what to do."""


@dataclass(frozen=True)
class Binaries:
    """Programs of one version of Kubernetes, all in one folder."""

    folder: Path

    @property
    def api_server(self) -> Path:
        """The API server."""
        return self.folder / "kube-apiserver"

    @property
    def etcd(self) -> Path:
        """The store of the API server."""
        return self.folder / "etcd"

    @property
    def kubectl(self) -> Path | None:
        """The command-line client, None if the folder has none."""
        return _present(self.folder / "kubectl")

    @property
    def controller_manager(self) -> Path | None:
        """The controllers, None if the folder has none."""
        return _present(self.folder / "kube-controller-manager")

    @property
    def scheduler(self) -> Path | None:
        """The scheduler of Kubernetes, None if the folder has none."""
        return _present(self.folder / "kube-scheduler")


def cache(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that `make kube` fills, whether it exists or not."""
    base = environment.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "remuda" / "kubernetes"


def find(environment: Mapping[str, str] = os.environ) -> Binaries:
    """Return the programs to test with.

    Raises:
        BinariesMissingError: There are none, or the folder that the user names lacks one.
    """
    named = environment.get(ASSETS, "")
    if named:
        return _complete(Path(named), f"{ASSETS} names {named}")
    home = cache(environment)
    built = home / "current"
    if built.exists():
        return _complete(built, f"`make kube` filled {built}")
    failure = home / FAILURE
    if failure.exists():
        raise BinariesMissingError(f"`make kube` could not build it: {failure.read_text().strip()}")
    raise BinariesMissingError(
        f"run `make kube`, or let {ASSETS} name a folder with {' and '.join(NEEDED)}"
    )


def missing(environment: Mapping[str, str] = os.environ) -> str:
    """Say why there is no real API server here, "" if there is one."""
    try:
        find(environment)
    except BinariesMissingError as reason:
        return str(reason)
    return ""


def _complete(folder: Path, origin: str) -> Binaries:
    lacking = [name for name in NEEDED if not os.access(folder / name, os.X_OK)]
    if lacking:
        raise BinariesMissingError(f"{origin}, which lacks {' and '.join(lacking)}")
    return Binaries(folder)


def _present(path: Path) -> Path | None:
    return path if os.access(path, os.X_OK) else None
