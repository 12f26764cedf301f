"""Where the programs of a real API server are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda_kubernetes.testing.binaries import BinariesMissingError, cache, find, missing


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_folder_that_the_user_names_comes_first(tmp_path: Path) -> None:
    for place in ("named", "remuda/kubernetes/current"):
        for name in ("kube-apiserver", "etcd"):
            program(tmp_path / place / name)
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    assert find(environment).folder == tmp_path / "remuda/kubernetes/current"
    environment["KUBEBUILDER_ASSETS"] = str(tmp_path / "named")
    assert find(environment).etcd == tmp_path / "named/etcd"


def test_what_not_everybody_needs_may_be_missing(tmp_path: Path) -> None:
    for name in ("kube-apiserver", "etcd"):
        program(tmp_path / name)
    found = find({"KUBEBUILDER_ASSETS": str(tmp_path)})
    assert (found.kubectl, found.controller_manager, found.scheduler) == (None, None, None)
    assert program(tmp_path / "kubectl") == found.kubectl
    assert program(tmp_path / "kube-scheduler") == found.scheduler


def test_a_named_folder_without_a_program_is_told_and_nothing_else_is_taken(tmp_path: Path) -> None:
    program(tmp_path / "kube-apiserver")
    (tmp_path / "etcd").write_text("not executable")
    assert missing({"KUBEBUILDER_ASSETS": str(tmp_path)}) == (
        f"KUBEBUILDER_ASSETS names {tmp_path}, which lacks etcd"
    )


def test_nothing_built_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BinariesMissingError, match="run `make kube`, or let KUBEBUILDER_ASSETS"):
        find({"XDG_CACHE_HOME": str(tmp_path)})


def test_a_build_that_failed_is_told_with_its_reason(tmp_path: Path) -> None:
    home = cache({"XDG_CACHE_HOME": str(tmp_path)})
    home.mkdir(parents=True)
    (home / "failure.txt").write_text("there is no apt-get\n")
    assert missing({"XDG_CACHE_HOME": str(tmp_path)}) == (
        "`make kube` could not build it: there is no apt-get"
    )
