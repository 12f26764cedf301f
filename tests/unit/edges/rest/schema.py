"""Compares answers with the schemas of openapi.yaml, which clients are built from."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml
from jsonschema import Draft202012Validator

from remuda.edges.rest.shapes import dao

OPENAPI = Path(__file__).parents[4] / "docs" / "spec" / "openapi.yaml"


@cache
def openapi() -> dict[str, Any]:
    """The whole document."""
    found = yaml.safe_load(OPENAPI.read_text())
    assert isinstance(found, dict)
    return found


def shown(shape: msgspec.Struct) -> dict[str, Any]:
    """Return the JSON object that a shape becomes."""
    decoded = json.loads(dao.encode(shape))
    assert isinstance(decoded, dict)
    return decoded


def assert_valid(name: str, shape: dict[str, Any]) -> None:
    """Check an object against a component; keys that are not in it are errors, at any depth."""
    components = openapi()["components"]
    schema = components["schemas"][name]
    assert_known(schema, shape)
    Draft202012Validator({**schema, "components": components}).validate(shape)


def assert_known(schema: dict[str, Any], value: object) -> None:
    """Check that every key is one that the schema lists."""
    while "$ref" in schema:
        schema = openapi()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if isinstance(value, list) and "anyOf" not in schema["items"]:
        for each in value:
            assert_known(schema["items"], each)
    elif isinstance(value, dict) and "properties" in schema:
        unknown = set(value) - set(schema["properties"])
        assert not unknown, f"keys the schema does not know: {unknown}"
        for key, each in value.items():
            assert_known(schema["properties"][key], each)
