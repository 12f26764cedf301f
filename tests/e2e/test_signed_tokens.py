"""Tokens of an issuer with a served process; the issuer lists its keys on loopback (EXT-31)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import httpx2
import pytest

from remuda.client import Admin, Client, ClientError, Security
from tests.e2e.open_calls import Calls, bearer
from tests.e2e.serving import FREE_PORTS, Served
from tests.issuer import AUDIENCE, ISSUER, Listing, document, ec_key, rsa_key, signed
from tests.waiting import wait

FILE = """
[[issuer]]
name = "login"
issuer = "{issuer}"
audience = "{audience}"
keys-url = "{url}"
leeway-seconds = 0

[[issuer.grant]]
values = ["scheduling"]
role = "administrator"

[[issuer.grant]]
values = ["clusters"]
rm-ids = ["a", "b"]
read = true
"""


@pytest.fixture
def listing() -> Iterator[Listing]:
    with Listing(document(one=rsa_key(), two=ec_key())) as running:
        yield running


@pytest.fixture
def served(tmp_path: Path, listing: Listing) -> Iterator[Served]:
    path = tmp_path / "access.toml"
    path.write_text(FILE.format(issuer=ISSUER, audience=AUDIENCE, url=listing.url))
    options = ("--grpc-access", str(path), "--rest-access", str(path))
    with Served(*FREE_PORTS, *options, "--audit-log", str(tmp_path / "audit.log")) as running:
        yield running


@pytest.mark.remuda_rule("EXT-31", "EXT-23", "REST-1", "REST-13")
def test_a_signed_token_opens_both_listeners_for_what_its_claims_permit(served: Served) -> None:
    chief = signed(rsa_key())
    cluster = signed(ec_key(), "two", sub="cluster", groups=["clusters"])
    with Client(served.grpc, "a", security=Security(token=cluster)) as client:
        client.register()
    with (
        Client(served.grpc, "c", security=Security(token=cluster)) as client,
        pytest.raises(ClientError, match="'login/cluster' may not act for"),
    ):
        client.register()
    with Admin(served.grpc, security=Security(token=chief)) as admin:
        assert [each.rm_id for each in admin.resource_managers()] == ["a"]
    expired = signed(rsa_key(), exp=int(time.time()) - 60)
    reason = "The token of the issuer login is not accepted: it has expired"
    with (
        Admin(served.grpc, security=Security(token=expired)) as admin,
        pytest.raises(ClientError, match=f"UNAUTHENTICATED: {reason}"),
    ):
        admin.resource_managers()
    get = served.client.get
    assert get("/ws/v1/stack", headers=bearer(chief)).status_code == 200
    assert get("/ws/v1/stack", headers=bearer(cluster)).status_code == 403
    answer = get("/ws/v1/partitions", headers=bearer(expired))
    assert (answer.status_code, answer.json()["message"]) == (401, reason)
    assert "invalid_token" in answer.headers["www-authenticate"]
    for token in (chief, cluster, expired):
        assert token.split(".")[2] not in served.log


@pytest.mark.remuda_rule("EXT-31", "EXT-26", "EXT-27")
def test_open_calls_end_with_their_token_and_those_of_others_go_on(
    served: Served, tmp_path: Path
) -> None:
    ends = int(time.time()) + 4
    short = signed(rsa_key(), sub="short", groups=["clusters"], exp=ends)
    long = signed(rsa_key(), sub="long", groups=["clusters"])
    with grpc.insecure_channel(served.grpc) as channel:
        one, other = Calls(served, channel, short, "a"), Calls(served, channel, long, "b")
        wait(lambda: all(each.over() for each in one.reads))
        assert time.time() >= ends
        assert [each.end for each in one.reads[:2]] == [grpc.StatusCode.UNAUTHENTICATED] * 2
        assert one.reads[2].end is httpx2.RemoteProtocolError
        assert not any(each.over() for each in other.reads)
        one.close()
        other.close()
    assert served.end(15)[0] == 0
    lines = map(json.loads, (tmp_path / "audit.log").read_text().splitlines())
    revoked = [(each["who"], each["reason"]) for each in lines if each["what"] == "revoke"]
    assert ("login/short", "the token of this call has expired") in revoked
    assert {who for who, _ in revoked} == {"login/short"}
