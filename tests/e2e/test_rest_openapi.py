"""The OpenAPI document against the routes of a served process, both ways."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from jsonschema import Draft202012Validator
from starlette.routing import Route

import remuda.app
from remuda.app import Settings, run
from remuda.edges.rest.transport.app import build_app
from remuda.local.settings import LocalSettings
from tests.e2e.openapi import served_document

# What a page is made of, not routes of the API.
PARTS = frozenset({"/", "/ui/", "/ui/{}", "/ws/v1/docs/page.css", "/ws/v1/docs/page.js"})


def template(path: str) -> str:
    """Return a path without the names of its parameters, which are nobody's business."""
    return re.sub(r"\{\w+\}", "{}", path)


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, set[str]]:
    """Paths that `remuda serve --local-node` answers, with the methods of each."""
    found: dict[str, set[str]] = {}

    def build(*arguments: Any, **options: Any) -> Any:
        app: Any = build_app(*arguments, **options)
        for route in app.routes:
            assert isinstance(route, Route)
            found[template(route.path)] = set(route.methods or ()) - {"OPTIONS", "HEAD"}
        return app

    monkeypatch.setattr(remuda.app, "build_app", build)
    monkeypatch.setattr(remuda.app, "tune_interpreter", lambda: None)
    settings = Settings(
        config=None,
        grpc_address=("127.0.0.1", 0),
        rest_address=("127.0.0.1", 0),
        rest_cors=True,
        demo=False,
        duration_seconds=0.05,
        record=None,
        local=LocalSettings(tmp_path / "local"),
    )
    run(settings)
    return found


@pytest.mark.remuda_rule("REST-123", "REST-54")
def test_what_is_served_is_described_and_what_is_described_is_served(
    routes: dict[str, set[str]],
) -> None:
    described = {
        template(path): {method.upper() for method in methods} - {"PARAMETERS"}
        for path, methods in served_document()["paths"].items()
    }
    for part in PARTS:
        del routes[part]
    assert routes == described


@pytest.mark.remuda_rule("REST-123")
def test_the_document_is_an_openapi_document() -> None:
    document = served_document()
    assert document["openapi"].startswith("3.1.")
    schemathesis.openapi.from_dict(document).validate()
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
