"""Bearer tokens: who may read the HTTP API, and which paths need which role."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from remuda.base.errors import UsageError
from remuda.edges.callers import KnownCallers
from remuda.edges.identities import AccessRules
from remuda.edges.rest.requests.endpoint import Body, Endpoint
from remuda.edges.rest.routes.debug import debug_routes
from remuda.edges.rest.transport.access import read_readers
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rights import Identity

Fake = Any  # FakeViews of conftest.py; tests are not a package

READER, ADMIN = "correct horse", "battery staple"

INSIDE = (
    "/ws/v1/stack",
    "/ws/v1/fullstatedump",
    "/debug/stack",
    "/debug/fullstatedump",
    "/debug/pprof/",
    "/debug/pprof/heap",
    "/debug/pprof/cmdline",
    "/debug/nothing",
)


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


READERS = (
    Identity("dashboards", (), (digest("old one"), digest(READER)), (), read=True),
    Identity("operations", (), (digest(ADMIN),), (), admin=True),
)


async def probe(_views: object, _asked: object) -> object:
    return Body(b"ok", "text/plain")


MORE = {
    **debug_routes(),
    **{path: Endpoint(probe) for path in ("/livez", "/readyz", "/healthz")},
    **{path: Endpoint(probe) for path in ("/ws/v1/fullstatedump", "/debug/fullstatedump")},
}


@pytest.fixture
def guarded(views: Fake) -> TestClient:
    app = build_app(views, more=MORE, callers=KnownCallers(READERS))
    return TestClient(app, "http://remuda", follow_redirects=False)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.remuda_rule("REST-1", "KV-6", "REST-12")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        bearer("wrong"),
        bearer(""),
        bearer(READER + "x"),
        {"Authorization": READER},
        {"Authorization": f"Basic {READER}"},
        bearer("\xe9\xff"),
    ],
)
@pytest.mark.parametrize("path", ["/ws/v1/partitions", "/ws/v1/nope", "/ws/v1/stack", "/metrics/"])
def test_who_is_not_known_is_refused_whatever_the_path(
    guarded: TestClient, headers: dict[str, str], path: str
) -> None:
    sent = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
    for method in ("GET", "HEAD", "POST", "OPTIONS"):
        answer = guarded.request(method, path, headers=sent)
        assert answer.status_code == 401
        challenge = answer.headers["www-authenticate"]
        assert challenge.startswith('Bearer realm="remuda"')
        assert ("invalid_token" in challenge) == bool(headers)
        assert READER not in answer.text
        if method != "HEAD":
            text = "Unknown caller: a token of an identity is needed"
            expected = {"status_code": 401, "message": text, "description": text}
            assert answer.json() == expected


@pytest.mark.remuda_rule("REST-1")
def test_two_authorizations_are_none(guarded: TestClient) -> None:
    both = [("Authorization", f"Bearer {READER}"), ("Authorization", "Bearer x")]
    assert guarded.get("/ws/v1/partitions", headers=both).status_code == 401


@pytest.mark.remuda_rule("REST-1")
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
@pytest.mark.parametrize("token", ["old one", READER, ADMIN])
def test_every_token_of_a_reader_opens_the_api(
    guarded: TestClient, scheme: str, token: str
) -> None:
    answer = guarded.get("/ws/v1/partitions", headers={"Authorization": f"{scheme} {token}"})
    assert answer.status_code == 200
    assert guarded.get("/ws/v1/nope", headers=bearer(token)).status_code == 404
    assert guarded.get("/ws/v1/partitions/", headers=bearer(token)).status_code == 301


@pytest.mark.remuda_rule("REST-55")
@pytest.mark.parametrize("path", INSIDE)
def test_the_inside_is_for_administrators(guarded: TestClient, path: str) -> None:
    refused = guarded.get(path, headers=bearer(READER))
    assert refused.status_code == 403
    assert refused.json()["message"] == "The role of an administrator is needed"
    expected = 404 if path == "/debug/nothing" else 200
    assert guarded.get(path, headers=bearer(ADMIN)).status_code == expected


@pytest.mark.remuda_rule("REST-55")
@pytest.mark.parametrize("path", ["/Debug/stack", "//debug/stack", "/ws/v1//stack"])
def test_another_spelling_of_a_path_is_no_way_around(guarded: TestClient, path: str) -> None:
    answer = guarded.get("http://remuda" + path, headers=bearer(READER))
    assert answer.status_code in (301, 404)
    if answer.status_code == 301:
        again = guarded.get(answer.headers["location"], headers=bearer(READER))
        assert again.status_code == 403


@pytest.mark.remuda_rule("REST-123", "REST-1")
@pytest.mark.parametrize(
    "path", ["/livez", "/readyz", "/healthz", "/ws/v1/openapi.json", "/ws/v1/docs"]
)
def test_probes_and_the_description_are_for_everybody(guarded: TestClient, path: str) -> None:
    assert guarded.get(path).status_code == 200
    assert guarded.get(path, headers=bearer("wrong")).status_code == 200


@pytest.mark.remuda_rule("REST-4")
def test_no_other_web_page_may_read_where_a_token_is_needed(guarded: TestClient) -> None:
    for path, headers in (("/ws/v1/partitions", bearer(READER)), ("/ws/v1/openapi.json", {})):
        for method in ("GET", "OPTIONS"):
            answer = guarded.request(method, path, headers=headers)
            assert answer.status_code == 200
            assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.remuda_rule("REST-1")
def test_a_guess_is_looked_up_under_a_mark_that_nobody_can_foresee() -> None:
    marks = set()
    for _ in range(2):
        found = asyncio.run(KnownCallers(READERS).bearer(READER.encode(), "10.0.0.1"))
        assert found is not None
        assert found[0] is READERS[0]
        marks.add(found[1])
    # Each process has its own key, so the time of a look-up shows nothing about a token.
    assert len(marks | {digest(READER), READER.encode()}) == 4


@pytest.mark.remuda_rule("REST-1")
def test_tokens_are_never_logged(guarded: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for token in (READER, "wrong"):
            guarded.get("/ws/v1/partitions", headers=bearer(token))
    assert READER not in caplog.text
    assert "wrong" not in caplog.text


@pytest.mark.remuda_rule("REST-55")
def test_dumps_and_profiles_can_be_switched_off(views: Fake) -> None:
    for debug, status in ((True, 200), (False, 404)):
        client = TestClient(build_app(views, more=MORE, debug=debug), "http://remuda")
        for path in ("/ws/v1/stack", "/debug/pprof/", "/ws/v1/fullstatedump"):
            assert client.get(path).status_code == status
        assert client.get("/ws/v1/partitions").status_code == 200


def entry(name: str, *lines: str) -> str:
    return "\n".join(["[[identity]]", f'name = "{name}"', *lines, ""])


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def written(text: str) -> Path:
        path = tmp_path / "access.toml"
        path.write_text(text)
        return path

    return written


@pytest.mark.remuda_rule("KV-6", "REST-1")
def test_the_file_may_be_that_of_grpc(write: Callable[[str], Path]) -> None:
    token = f'token-sha256 = ["{digest(READER).hex()}"]'
    other = f'token-sha256 = ["{digest("x").hex()}"]'
    third = f'token-sha256 = ["{digest("y").hex()}"]'
    path = write(
        entry("cluster a", other, 'rm-ids = ["*"]')
        + entry("cluster b", 'certificates = ["b.example.org"]', "read = true")
        + entry("dashboards", token, "read = true")
        + entry("operations", third, "admin = true")
    )
    assert [each.name for each in read_readers(path).identities] == ["dashboards", "operations"]
    assert read_readers(None) == AccessRules()


@pytest.mark.remuda_rule("KV-6")
@pytest.mark.parametrize(
    "text, words",
    [
        (entry("a", 'certificates = ["x"]', "read = true"), "nobody may use the HTTP API"),
        (entry("a", f'token-sha256 = ["{"0" * 64}"]', 'rm-ids = ["x"]'), "nobody may use the HTTP"),
        (entry("a", f'token-sha256 = ["{"0" * 64}"]'), "may do nothing; give it rm-ids, read ="),
        (entry("a", 'token-sha256 = ["hunter2"]', "read = true"), "not the 64 hexadecimal digits"),
    ],
)
def test_a_file_by_which_nobody_may_read_is_one_line(
    write: Callable[[str], Path], text: str, words: str
) -> None:
    path = write(text)
    with pytest.raises(UsageError) as caught:
        read_readers(path)
    (line,) = str(caught.value).splitlines()
    assert words in line
    assert str(path) in line
    assert "hunter2" not in line
