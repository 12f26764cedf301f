"""YAML or JSON: what an Accept header asks for."""

from __future__ import annotations

import pytest

from remuda.edges.rest.requests.negotiation import prefers_json


@pytest.mark.remuda_rule("REST-57", "TOOL-3")
@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "application/json;q=0.9",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json, text/plain, */*",
        "application/json, application/x-yaml;q=0.5",
        "text/html, application/json;q=0.1",
        "application/json, application/*;q=0.2",
    ],
)
def test_json_is_asked_for(accept: str) -> None:
    assert prefers_json(accept)


@pytest.mark.remuda_rule("REST-57", "TOOL-3")
@pytest.mark.parametrize(
    "accept",
    [
        "",
        "*/*",
        "application/*",
        "application/x-yaml",
        "application/yaml, application/json",
        "application/json;q=0.5, application/x-yaml",
        "application/json;q=0",
        "application/json;q=0, */*",
        "application/json;q=0.5, */*",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "application/json;q=x",
        "json",
        "application/jsonp",
        ",;=,q=1",
    ],
)
def test_yaml_is_the_default(accept: str) -> None:
    assert not prefers_json(accept)
