"""Building Kubernetes from its sources as one tree below GOPATH, as its own release did.

The tree has every library that it needs, so that no module is fetched. Providers of clouds are left
out (the tag ``providerless`` of its own builds): they are half of the code and no test needs them.
Optimisation stays on, because the speed of the server is part of what is measured.
"""

from __future__ import annotations

import os
import re
import shutil
import tarfile
from pathlib import Path
from typing import Final

from tools.kube.commands import CannotError, Clock, run

# The series that this recipe builds: another one generates more code before it builds.
SERIES: Final = "1.20."
PROGRAMS: Final = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
# The one that serves the descriptions of types, which are generated for it.
DESCRIBING: Final = "kube-apiserver"

_PACKAGE: Final = "k8s.io/kubernetes"
_LIBRARIES: Final = f"{_PACKAGE}/vendor/k8s.io"
_GENERATED: Final = "pkg/generated/openapi"
_BASENAME: Final = "zz_generated.openapi"
_MARK: Final = b"+k8s:openapi-gen="
# A library that begins to iterate over a map as Go did before 1.18. Built with a later Go it reads
# what is not there, and the server fails whenever a webhook changes an object. The later Go lets
# the caller make the iterator and writes four fields of it. With the two fields that the library
# knows it overwrote what lay behind them in memory, and the server failed now and then, anywhere.
_REFLECTION: Final = Path("vendor/github.com/modern-go/reflect2")
_CHANGES: Final = (
    (
        re.compile(
            r"func mapiterinit\(rtype unsafe\.Pointer, m unsafe\.Pointer\)"
            r" (?:\(val \*hiter\)|\*hiter)"
        ),
        "func mapiterinit(rtype unsafe.Pointer, m unsafe.Pointer, it *hiter)",
    ),
    (
        re.compile(r"mapiterinit\(type2\.rtype, \*\(\*unsafe\.Pointer\)\(obj\)\),"),
        "begun(type2.rtype, *(*unsafe.Pointer)(obj)),",
    ),
    (
        re.compile("\t// rest fields are ignored\n"),
        "\tmapType unsafe.Pointer\n\titerator unsafe.Pointer\n",
    ),
)
_BEGUN: Final = """package reflect2

import "unsafe"

func begun(rtype unsafe.Pointer, m unsafe.Pointer) *hiter {
	it := new(hiter)
	mapiterinit(rtype, m, it)
	return it
}
"""
# Examples with definitions of their own, which the server does not serve.
_NOT_SERVED: Final = frozenset({"code-generator", "sample-apiserver"})


class Tree:
    """The sources below a GOPATH, and the tool chain that builds them.

    Everything half done stays in ``folder``, so that a build that was interrupted goes on.
    """

    def __init__(self, folder: Path, go_root: Path, *, log: Path, clock: Clock) -> None:
        self._folder = folder
        self._go = go_root / "bin" / "go"
        self._root = folder / "gopath" / "src" / _PACKAGE
        self._log = log
        self._clock = clock
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GO")},
            "CGO_ENABLED": "0",
            "GO111MODULE": "off",
            "GOCACHE": str(folder / "cache"),
            "GOENV": "off",
            # The compiler collects garbage less often, which saves a fifth of the processor time.
            "GOGC": "400",
            "GOPATH": str(folder / "gopath"),
            "GOPROXY": "off",
            "GOROOT": str(go_root),
            "GOTELEMETRY": "off",
            "GOTOOLCHAIN": "local",
            "PATH": f"{go_root / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        }

    def unpack(self, sources: Path) -> str:
        """Unpack the archive unless that is done; return the version of Kubernetes.

        Raises:
            CannotError: It is another series than this recipe builds.
        """
        done = self._folder / "version.txt"
        if done.exists():
            return done.read_text()
        fresh = self._folder / "unpacked"
        for old in (fresh, self._root):
            shutil.rmtree(old, ignore_errors=True)
        with tarfile.open(sources) as archive:
            archive.extractall(fresh, filter="data")
        (top,) = fresh.iterdir()
        version = top.name.removeprefix("kubernetes-")
        if not version.startswith(SERIES):
            raise CannotError(
                f"the package sources of this machine have Kubernetes {version}, and this recipe"
                f" builds {SERIES}x (Debian 12): let KUBEBUILDER_ASSETS name a folder with"
                " kube-apiserver, etcd and kubectl"
            )
        self._root.parent.mkdir(parents=True, exist_ok=True)
        top.rename(self._root)
        done.write_text(version)
        return version

    def mend(self) -> None:
        """Correct the sources for the tool chain, unless that is done.

        Raises:
            CannotError: They are not as this recipe knows them.
        """
        folder = self._root / _REFLECTION
        added = folder / "begun.go"
        if added.exists():
            return
        texts = {path: path.read_text() for path in sorted(folder.glob("*.go"))}
        for old, new in _CHANGES:
            found = [path for path, text in texts.items() if old.search(text)]
            if len(found) != 1:
                raise CannotError(f"{folder} is not as this recipe knows it: adapt mend()")
            texts[found[0]] = old.sub(new, texts[found[0]])
        for path, text in texts.items():
            path.write_text(text)
        added.write_text(_BEGUN)

    def generate(self) -> None:
        """Write the descriptions of all types, which the sources do not contain."""
        target = self._root / _GENERATED / f"{_BASENAME}.go"
        if target.exists():
            return
        generator = self._folder / "openapi-gen"
        self._build(generator, f"{_LIBRARIES}/kube-openapi/cmd/openapi-gen")
        fresh = self._folder / "generated"
        run(
            [
                generator,
                "--logtostderr",
                f"--input-dirs={','.join(self._described())}",
                f"--output-base={fresh}",
                f"--output-package={_PACKAGE}/{_GENERATED}",
                f"--output-file-base={_BASENAME}",
                "--go-header-file=hack/boilerplate/boilerplate.generatego.txt",
                f"--report-filename={self._folder / 'violations.txt'}",
            ],
            clock=self._clock,
            log=self._log,
            folder=self._root,
            environment=self._environment,
        )
        (fresh / _PACKAGE / _GENERATED / target.name).rename(target)

    def build(self, program: str, target: Path, version: str) -> None:
        """Build one program into a folder."""
        major, minor = version.split(".")[:2]
        told = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
        names = (f"{_LIBRARIES}/component-base/version", f"{_LIBRARIES}/client-go/pkg/version")
        stamps = [f"-X {name}.{key}={value}" for name in names for key, value in told.items()]
        self._build(target / program, f"{_PACKAGE}/cmd/{program}", *stamps)

    def _build(self, target: Path, package: str, *stamps: str) -> None:
        command: list[str | Path] = [self._go, "build", "-trimpath", "-tags=providerless"]
        # Nobody debugs them.
        command += ["-gcflags=all=-dwarf=false", f"-ldflags={' '.join(['-s', '-w', *stamps])}"]
        run(
            [*command, "-o", target, package],
            clock=self._clock,
            log=self._log,
            folder=self._root,
            environment=self._environment,
        )

    def _described(self) -> list[str]:
        """Return the packages whose types are marked to be described."""
        libraries = self._root / "vendor" / "k8s.io"
        tops = [each for each in sorted(libraries.iterdir()) if each.name not in _NOT_SERVED]
        tops += [self._root / name for name in ("cmd", "pkg", "plugin")]
        # A folder that looks like a library is a link to the folder where it is developed.
        found = {
            (top / file.relative_to(top.resolve())).parent
            for top in tops
            for file in top.resolve().rglob("*.go")
            if _MARK in file.read_bytes()
        }
        return sorted(f"{_PACKAGE}/{each.relative_to(self._root)}" for each in found)


def source_archive(folder: Path) -> Path | None:
    """Return the archive of Kubernetes among the fetched files of its source package."""
    found = [path for path in folder.glob("kubernetes_*.orig.tar.*") if not _is_signature(path)]
    return max(found, default=None)


def _is_signature(path: Path) -> bool:
    return re.search(r"\.(?:asc|sig)$", path.name) is not None
