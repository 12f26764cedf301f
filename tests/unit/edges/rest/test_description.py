"""The OpenAPI document that is served, and the page that shows it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from remuda.edges.rest.routes.description import DESCRIPTION_ROUTES
from remuda.edges.rest.routes.interface import INTERFACE_ROUTES
from tests.unit.edges.rest.links import Links
from tests.unit.edges.rest.schema import OPENAPI, openapi
from tools import gen_openapi

METHODS = ("get", "post")
PAGE = Path(gen_openapi.__file__).parents[1] / "src/remuda/edges/rest/page"


def operations() -> list[tuple[str, dict[str, Any]]]:
    return [
        (path, methods[method])
        for path, methods in openapi()["paths"].items()
        for method in METHODS
        if method in methods
    ]


@pytest.mark.remuda_rule("REST-123")
def test_the_served_document_is_that_of_the_specification(client: TestClient) -> None:
    answer = client.get("/ws/v1/openapi.json")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json; charset=UTF-8"
    found = answer.json()
    assert found == gen_openapi.document(), "run make openapi"
    # What is added is what all paths share; all else is as it was written.
    assert list(found["paths"]) == list(openapi()["paths"])
    assert found["components"]["schemas"] == openapi()["components"]["schemas"]
    for path, operation in operations():
        (served,) = found["paths"][path].values()
        assert operation["responses"].items() <= served["responses"].items()


@pytest.mark.remuda_rule("REST-1", "REST-55")
def test_the_document_says_where_a_token_is_needed(client: TestClient) -> None:
    paths = client.get("/ws/v1/openapi.json").json()["paths"]
    shown = {
        path: [status for status in ("401", "403") if status in methods["get"]["responses"]]
        for path, methods in paths.items()
        if "get" in methods
    }
    assert shown["/ws/v1/partitions"] == ["401"]
    assert shown["/ws/v1/stack"] == shown["/debug/pprof/heap"] == ["401", "403"]
    assert shown["/ws/v1/openapi.json"] == shown["/ws/v1/docs"] == []


def test_references_lead_somewhere_and_nothing_is_described_in_vain() -> None:
    document = openapi()
    text = repr(document)
    used = set(re.findall(r"'\$ref': '#/components/(\w+/\w+)'", text))
    kinds = document["components"]
    known = {f"{kind}/{name}" for kind, named in kinds.items() for name in named}
    assert used == known


def test_operations_have_a_name_a_summary_and_a_known_tag() -> None:
    tags = {tag["name"] for tag in openapi()["tags"]}
    names = [operation["operationId"] for _, operation in operations()]
    assert sorted(set(names)) == sorted(names)
    for _, operation in operations():
        assert operation["summary"]
        assert set(operation["tags"]) <= tags


def test_parameters_of_a_path_are_those_it_has() -> None:
    shared = openapi()["components"]["parameters"]
    for path, operation in operations():
        found = []
        for named in operation.get("parameters", []):
            parameter = shared[named["$ref"].rpartition("/")[2]] if "$ref" in named else named
            if parameter["in"] == "path":
                assert parameter["required"] is True
                found.append(parameter["name"])
        assert sorted(found) == sorted(re.findall(r"\{(\w+)\}", path))


@pytest.mark.remuda_rule("REST-123")
def test_the_page_needs_nothing_but_what_comes_with_it(client: TestClient) -> None:
    answer = client.get("/ws/v1/docs")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    page = Links()
    page.feed(answer.text)
    assert page.inline == []
    assert sorted(page.links) == ["docs/page.css", "docs/page.js", "openapi.json"]
    for link in page.links:
        assert client.get(f"/ws/v1/{link}").status_code == 200
    for part in PAGE.iterdir():
        text = part.read_text()
        assert not re.search(r"//(?!127\.0\.0\.1)[a-z0-9-]+\.|@import|url\(", text), part.name
        # What the service answers is shown as text, never as markup or code.
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", text)


@pytest.mark.remuda_rule("REST-123")
def test_the_bare_address_leads_to_a_page_that_leads_on(client: TestClient) -> None:
    answer = client.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    page = Links()
    page.feed(answer.text)
    assert page.inline == []
    assert page.links[1:3] == ["ui/", "ws/v1/docs"]
    described = {*openapi()["paths"], *DESCRIPTION_ROUTES, *INTERFACE_ROUTES}
    for link in page.links:
        path = f"/{link}".replace("/partition/default/", "/partition/{partition}/")
        assert path in described, link
    # How to attach the front end of YuniKorn is told in place, and in a document that exists.
    assert "proxy_pass" in answer.text
    (document,) = re.findall(r"docs/how-to/[a-z-]+\.md", answer.text)
    assert (PAGE.parents[4] / document).exists()


@pytest.mark.remuda_rule("REST-123")
def test_what_is_typed_into_the_page_is_encoded_once() -> None:
    """What the page's script does with what is typed, run by a program that knows the language."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("needs node, which runs JavaScript")
    script = (PAGE / "page.js").read_text().removesuffix("start();\n")
    asked = """{
      const typed = ["a b", "a%20b", "a/b", "a%2Fb", "50%", "a+b", "é", "%C3%A9"];
      const one = (place, value) => ({ parameter: { name: place, in: place }, input: { value } });
      const both = (value) => address("/q/{path}", [one("path", value), one("query", value)]);
      console.log(JSON.stringify(typed.map(both)));
    }"""
    done = subprocess.run(
        [program, "-e", "globalThis.location = { pathname: '/ws/v1/docs' };" + script + asked],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [
        f"/q/{text}?query={text}"
        for text in ("a%20b", "a%20b", "a%2Fb", "a%2Fb", "50%25", "a%2Bb", "%C3%A9", "%C3%A9")
    ]


def test_words_of_the_house_are_not_in_what_users_read() -> None:
    text = OPENAPI.read_text() + "".join(part.read_text() for part in PAGE.iterdir())
    assert re.findall(r"(?i)\bparity\b|\bupstream\b|\bours\b|\bREST-\d|\bEVT-\d", text) == []


@pytest.mark.remuda_rule("REST-123")
@pytest.mark.parametrize(
    "path", [path for path in DESCRIPTION_ROUTES if "docs" in path or path == "/"]
)
def test_browsers_are_told_to_load_nothing_else(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = dict(
        rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert {policy[f"{kind}-src"] for kind in ("script", "style", "connect")} == {"'self'"}
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


def test_the_document_in_the_package_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["gen_openapi.py", "--check"])
    assert gen_openapi.main() == 0
