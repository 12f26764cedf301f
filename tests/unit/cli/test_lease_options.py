"""The options of the lease, as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.base.errors import UsageError
from remuda.cli.lease import LeaseFiles, read_lease
from remuda.edges.lease.settings import LeaseSettings, read_address, read_ttl

FORM = "--lease: '.*' is not of the form etcd://HOST:PORT"


@pytest.mark.remuda_rule("EXT-34")
@pytest.mark.parametrize(
    "text, members, name, tls",
    [
        ("etcd://127.0.0.1:2379/remuda", [("127.0.0.1", 2379)], "remuda", False),
        ("etcd:///remuda", [("127.0.0.1", 2379)], "remuda", False),
        ("etcds://a:1,[::1]:2/x/y", [("a", 1), ("::1", 2)], "x/y", True),
    ],
)
def test_an_address_names_members_and_a_key(
    text: str, members: list[tuple[str, int]], name: str, tls: bool
) -> None:
    assert read_address("--lease", text) == (tuple(members), name, tls)


@pytest.mark.parametrize(
    "text", ["", "remuda", "etcd://h:1", "etcd://h:1/", "http://h:1/k", "etcd://u@h:1/k"]
)
def test_an_address_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=FORM):
        read_address("--lease", text)


def test_a_member_without_a_port_is_refused() -> None:
    with pytest.raises(UsageError, match="--lease: "):
        read_address("--lease", "etcd://h/k")


@pytest.mark.parametrize("seconds", [0, 1, 1.5, 2.5, 61])
def test_a_time_that_etcd_cannot_keep_is_refused(seconds: float) -> None:
    with pytest.raises(UsageError, match="--lease-ttl: etcd counts whole seconds; give 2 to 60"):
        read_ttl("--lease-ttl", seconds)


def test_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remuda.cli.lease.require", lambda *_: None)
    file = tmp_path / "file"
    file.write_text("x")
    files = LeaseFiles(file, file, file, "ann", file)
    assert read_lease("etcds://h:1/k", "5s", "me:9079", files) == LeaseSettings(
        (("h", 1),),
        "k",
        tls=True,
        ttl_seconds=5,
        advertised="me:9079",
        ca=file,
        certificate=file,
        key=file,
        user="ann",
        password=file,
    )


@pytest.mark.parametrize(
    "files, said",
    [
        (LeaseFiles(certificate=Path("c")), "--lease-cert and --lease-key belong together"),
        (LeaseFiles(user="ann"), "--lease-user and --lease-password belong together"),
        (LeaseFiles(ca=Path("/nowhere")), "--lease-ca /nowhere: is no file that this user may"),
    ],
)
def test_files_that_cannot_be_right_are_refused(
    files: LeaseFiles, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remuda.cli.lease.require", lambda *_: None)
    with pytest.raises(UsageError, match=said):
        read_lease("etcds://h:1/k", "3s", "", files)


def test_what_does_not_go_together_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remuda.cli.lease.require", lambda *_: None)
    with pytest.raises(UsageError, match="are for TLS: write the lease as etcds://"):
        read_lease("etcd://h:1/k", "3s", "", LeaseFiles(ca=Path("c")))
    with pytest.raises(UsageError, match="--demo and --lease exclude each other"):
        read_lease("etcd://h:1/k", "3s", "", LeaseFiles(), demo=True)
