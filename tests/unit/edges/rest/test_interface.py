"""The files of the web interface, as browsers get them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import remuda
from remuda.edges.callers import KnownCallers
from remuda.edges.rest.transport.app import build_app
from remuda.edges.rights import Identity
from tests.unit.edges.rest.links import Links
from tools import gen_openapi

FILES = Path(remuda.__file__).parent / "edges/rest/ui"
SOURCES = Path(gen_openapi.__file__).parents[1] / "ui/src"
FORBIDDEN = re.compile(
    r"innerHTML|InnerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function"
)

Fake = Any  # FakeViews of conftest.py; tests are not a package


@pytest.mark.remuda_rule("EXT-85", "WEB-3")
def test_the_page_brings_all_that_it_needs(client: TestClient) -> None:
    answer = client.get("/ui/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    page = Links()
    page.feed(answer.text)
    assert page.inline == []
    assert sorted(page.links) == sorted(
        ["../ws/v1/docs", *(each.name for each in FILES.iterdir() if each.name != "index.html")]
    )
    assert client.get("/ui").headers["location"] == "/ui/"


@pytest.mark.remuda_rule("EXT-85")
def test_files_with_a_digest_in_their_name_are_kept_for_ever(client: TestClient) -> None:
    named = [each.name for each in FILES.iterdir() if each.name != "index.html"]
    assert sorted(each.rpartition(".")[2] for each in named) == ["css", "js", "svg"]
    types = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
    for name in named:
        assert re.fullmatch(r"(app|icon)-[0-9a-f]{12}\.(css|js|svg)", name)
        answer = client.get(f"/ui/{name}")
        assert answer.status_code == 200
        assert answer.content == (FILES / name).read_bytes()
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        ending = name.rpartition(".")[2]
        assert answer.headers["content-type"] == types.get(ending, "image/svg+xml")


@pytest.mark.remuda_rule("EXT-85")
def test_the_policy_forbids_what_a_hostile_name_would_need(client: TestClient) -> None:
    for path in ["/ui/", *(f"/ui/{each.name}" for each in FILES.iterdir())]:
        headers = client.get(path).headers
        policy = dict(
            part.strip().partition(" ")[::2]
            for part in headers["content-security-policy"].split(";")
        )
        assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert (policy["require-trusted-types-for"], policy["trusted-types"]) == (
            "'script'",
            "'none'",
        )
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.remuda_rule("EXT-85")
@pytest.mark.parametrize(
    "name", ["nothing.js", "..%2Ftransport", "%2Fetc%2Fpasswd", "__init__.py", "app-0.js", "%00"]
)
def test_no_other_file_can_be_named(client: TestClient, name: str) -> None:
    answer = client.get(f"/ui/{name}")
    assert answer.status_code == 404
    assert answer.json()["message"] == "There is no such file of the web interface"


@pytest.mark.remuda_rule("EXT-85")
def test_the_files_need_no_token_and_what_they_ask_does(views: Fake) -> None:
    reader = Identity("reader", (), (b"digest",), (), read=True)
    guarded = TestClient(build_app(views, callers=KnownCallers([reader])), "http://remuda")
    assert guarded.get("/ui/").status_code == 200
    for each in FILES.iterdir():
        assert guarded.get(f"/ui/{each.name}").status_code == 200
    assert guarded.get("/ws/v1/partitions").status_code == 401


@pytest.mark.remuda_rule("EXT-85")
def test_no_file_asks_other_servers_or_makes_markup_of_text() -> None:
    for each in FILES.iterdir():
        text = each.read_text()
        found = set(re.findall(r"https?://[^\s\"'`<>)]+", text))
        # Namespaces of SVG and MathML are names, not addresses that anybody asks.
        assert {place for place in found if not place.startswith("http://www.w3.org/")} == set()
        assert not re.search(r"@import|url\(", text), each.name
        # The library has one place for pages that want markup; no source uses it.
        assert text.count("innerHTML=") <= 1


@pytest.mark.remuda_rule("EXT-88")
def test_no_source_makes_markup_of_text() -> None:
    sources = sorted(SOURCES.rglob("*.ts*"))
    assert len(sources) > 20
    assert [each.name for each in sources if FORBIDDEN.search(each.read_text())] == []
