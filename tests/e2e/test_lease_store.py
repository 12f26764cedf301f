"""The lease in a real etcd of several members, and in one that speaks TLS only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from remuda.edges.addresses import Address
from remuda.edges.lease.etcd import EtcdStore
from remuda.edges.lease.settings import LeaseSettings
from remuda.runtime.lease.candidacy import (
    Answer,
    Held,
    Look,
    Renew,
    Renewed,
    Request,
    Seen,
    Take,
    Taken,
)
from remuda.runtime.lease.errors import StoreError
from remuda_kubernetes.admission.pairs import new_pair
from tests.e2e.etcd_server import TLS, Etcd, members, needs_etcd
from tests.e2e.serving import FREE_PORTS, Served
from tests.waiting import wait

pytestmark = needs_etcd

# The longest: a request may take ten seconds, so that a busy machine is no failure.
TTL_SECONDS = 60


@pytest.fixture(scope="module")
def cluster() -> Iterator[list[Etcd]]:
    with members(3) as found:
        yield found


@pytest.fixture(scope="module")
def secured() -> Iterator[Etcd]:
    with Etcd(tls=True) as running:
        yield running


def store(settings: LeaseSettings, identity: str = "first") -> EtcdStore:
    return EtcdStore(settings, identity, f"{identity}:9079")


def plain(etcds: list[Etcd], name: str, ttl_seconds: int = TTL_SECONDS) -> LeaseSettings:
    return LeaseSettings(tuple(each.address for each in etcds), name, ttl_seconds=ttl_seconds)


def over_tls(etcd: Etcd, name: str, ca: Path = TLS / "ca.pem") -> LeaseSettings:
    settings = LeaseSettings((etcd.address,), name, tls=True, ttl_seconds=TTL_SECONDS, ca=ca)
    return replace(settings, certificate=TLS / "client.pem", key=TLS / "client.key")


def take(of: EtcdStore) -> Held:
    taken = of.perform(Take())
    assert isinstance(taken, Taken)
    return taken.held


def failure(of: EtcdStore, request: Request) -> str:
    with pytest.raises(StoreError) as caught:
        of.perform(request)
    said = str(caught.value)
    assert "\n" not in said
    return said


def in_the_end(of: EtcdStore, request: Request) -> Answer:
    """What a store answers when the others have noticed who is away and have a leader."""
    found: list[Answer] = []

    def answered() -> bool:
        try:
            found.append(of.perform(request))
        except StoreError:
            return False
        return True

    wait(answered)
    return found[0]


def names(address: Address) -> str:
    return f"etcd at {address[0]}:{address[1]}: "


@pytest.mark.remuda_rule("EXT-34")
def test_when_a_member_dies_the_lease_goes_on_at_the_next_one(cluster: list[Etcd]) -> None:
    settings = plain(cluster, "dies")
    first, second = store(settings), store(settings, "second")
    held = take(first)
    cluster[0].end()
    refused = f"{names(cluster[0].address)}ConnectionRefusedError: "
    assert failure(first, Renew(held)).startswith(refused)
    assert in_the_end(first, Renew(held)) == Renewed(TTL_SECONDS * 10**9)
    seen = in_the_end(second, Look())
    assert isinstance(seen, Seen)
    assert seen.holder is not None
    assert (seen.holder.identity, seen.holder.held) == ("first", held)
    first.give_back(held)
    assert second.perform(Look()) == Seen(None)
    assert take(second).token > held.token
    cluster[0].begin([each.peer for each in cluster])
    wait(cluster[0].answers)


@pytest.mark.remuda_rule("EXT-34")
def test_a_member_that_stands_still_is_not_waited_for_twice(cluster: list[Etcd]) -> None:
    of = store(plain(cluster, "stands still", ttl_seconds=2))
    assert of.perform(Look()) == Seen(None)
    assert cluster[0].process is not None
    cluster[0].process.pause()
    try:
        assert failure(of, Look()).startswith(names(cluster[0].address))
        assert in_the_end(of, Look()) == Seen(None)
    finally:
        cluster[0].process.resume()


class NoEtcd(BaseHTTPRequestHandler):
    """Something else at the address of an etcd, which answers everything with a page."""

    def do_POST(self) -> None:
        """Answer."""
        page = b"<html></html>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's
        """Say nothing."""


@pytest.mark.remuda_rule("EXT-34")
def test_an_answer_that_is_not_of_etcd_is_named_as_what_it_is() -> None:
    with HTTPServer(("127.0.0.1", 0), NoEtcd) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = ("127.0.0.1", server.server_port)
        said = failure(store(LeaseSettings((address,), "page", ttl_seconds=TTL_SECONDS)), Look())
        server.shutdown()
    assert said.startswith(f"{names(address)}JSONDecodeError: ")


@pytest.mark.remuda_rule("EXT-34")
def test_a_lease_is_taken_over_tls_with_a_certificate(secured: Etcd) -> None:
    of = store(over_tls(secured, "taken"))
    held = take(of)
    assert of.perform(Renew(held)) == Renewed(TTL_SECONDS * 10**9)
    of.give_back(held)


@pytest.mark.remuda_rule("EXT-34")
def test_over_tls_strangers_get_nothing_and_a_false_etcd_is_not_believed(
    secured: Etcd, tmp_path: Path
) -> None:
    right = over_tls(secured, "strangers")
    pair = new_pair(["127.0.0.1"], datetime.now(UTC))
    files = [tmp_path / name for name in ("authority.pem", "certificate.pem", "key.pem")]
    for file, content in zip(files, (pair.authority, pair.certificate, pair.key), strict=True):
        file.write_bytes(content)
    authority, certificate, key = files
    for nobody in (
        replace(right, certificate=None, key=None),
        replace(right, certificate=certificate, key=key),
    ):
        assert failure(store(nobody), Take()).startswith(names(secured.address))
    false = f"{names(secured.address)}SSLCertVerificationError: "
    for ca in (authority, None):
        assert failure(store(replace(right, ca=ca)), Take()).startswith(false)
    assert store(right).perform(Look()) == Seen(None)


@pytest.mark.remuda_rule("EXT-34")
def test_a_process_takes_its_lease_over_tls_with_the_files_of_its_options(secured: Etcd) -> None:
    files = {"ca": "ca.pem", "cert": "client.pem", "key": "client.key"}
    options = [
        text for name, file in files.items() for text in (f"--lease-{name}", str(TLS / file))
    ]
    with Served(*FREE_PORTS, "--lease", secured.lease, *options) as served:
        wait(lambda: served.client.get("/readyz").text.strip() == "ok")
        assert json.loads(secured.value("remuda"))["address"] == served.grpc
