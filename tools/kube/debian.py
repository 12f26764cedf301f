"""Debian's packages: the sources of Kubernetes and binaries that are taken apart, not installed.

All of it happens with lists and settings in a private folder. The machine's own sources are read
there with their source packages added; nothing below /etc or /var changes, and nobody must be root.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.kube.commands import CannotError, Clock, FailedError, run

ETC: Final = Path("/etc/apt")
# A machine without a network shall say so soon.
_PATIENCE: Final = (
    "-oAcquire::Retries=1",
    "-oAcquire::http::Timeout=20",
    "-oAcquire::https::Timeout=20",
)
_OTHERWISE: Final = "let KUBEBUILDER_ASSETS name a folder with kube-apiserver, etcd and kubectl"


class Debian:
    """The machine's package sources, seen through a private folder."""

    def __init__(self, folder: Path, *, log: Path, clock: Clock) -> None:
        self._folder = folder
        self._log = log
        self._clock = clock

    def read_lists(self) -> None:
        """Fetch the lists of binary and source packages.

        Raises:
            CannotError: There is no apt here, or its sources cannot be reached.
        """
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            raise CannotError(f"this is no Debian: there is no apt-get; {_OTHERWISE}")
        parts = self._folder / "parts"
        parts.mkdir(parents=True, exist_ok=True)
        written = 0
        for name, text in with_sources(ETC):
            (parts / name).write_text(text)
            written += 1
        if not written:
            raise CannotError(f"apt has no package sources in {ETC}; {_OTHERWISE}")
        for name in ("lists/partial", "cache/archives/partial"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        # It also fails when one source of several does; what is missing shows in the next step.
        with contextlib.suppress(FailedError):
            self._get("update", folder=self._folder)

    def fetch_source(self, name: str, folder: Path) -> None:
        """Fetch the files of a source package, whose hashes apt checks."""
        self._fetch(folder, f"the source package {name}", "source", "--download-only", name)

    def fetch_package(self, name: str, folder: Path) -> Path:
        """Fetch a binary package; return its file."""
        self._fetch(folder, f"the package {name}", "download", name)
        return max(folder.glob(f"{name}_*.deb"), key=lambda path: path.stat().st_mtime)

    def take_apart(self, package: Path, target: Path) -> Path:
        """Unpack a binary package below a folder, and return that."""
        run(["dpkg-deb", "-x", package, target], clock=self._clock, log=self._log)
        return target

    def _fetch(self, folder: Path, what: str, *arguments: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self._get(*arguments, folder=folder)
        except FailedError as error:
            raise CannotError(
                f"{what} cannot be had: {error}\nSee that `apt-get update` works and that the"
                f" sources have it (Debian 12 does), or {_OTHERWISE}"
            ) from error

    def _get(self, *arguments: str, folder: Path) -> None:
        command = [
            "apt-get",
            *_PATIENCE,
            "-oDir::Etc::sourcelist=/dev/null",
            f"-oDir::Etc::sourceparts={self._folder / 'parts'}",
            f"-oDir::State::lists={self._folder / 'lists'}",
            f"-oDir::Cache={self._folder / 'cache'}",
            # Else root's files would have to be readable by another user.
            "-oAPT::Sandbox::User=root",
            "-qq",
            *arguments,
        ]
        run(command, clock=self._clock, log=self._log, folder=folder)


def with_sources(etc: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of the machine's lists of sources, with source packages added."""
    for path in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*.list"))]:
        if path.exists():
            kept = "\n".join(_both_lines(path.read_text()))
            if kept:
                yield f"{path.stem}.list", kept + "\n"
    for path in sorted((etc / "sources.list.d").glob("*.sources")):
        yield (
            path.name,
            re.sub(r"^Types:.*$", "Types: deb deb-src", path.read_text(), flags=re.MULTILINE),
        )


def _both_lines(text: str) -> Iterator[str]:
    """Yield every source of the old one-line form, once for binaries and once for sources."""
    seen = set()
    for line in text.splitlines():
        kind, _, rest = line.strip().partition(" ")
        if kind in {"deb", "deb-src"} and rest not in seen:
            seen.add(rest)
            yield f"deb {rest}"
            yield f"deb-src {rest}"
