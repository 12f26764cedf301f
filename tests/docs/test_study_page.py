"""The page on the study file, and its JSON Schema, say what the code does."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import jsonschema
import pytest
import yaml

from remuda.study.keys import SECTION_KEYS
from remuda.study.measures import MEASURES
from tools.gen_study import PAGE, SCHEMA, page, schema

SOURCE = PAGE.read_text()


def test_page_and_schema_are_up_to_date() -> None:
    told = "run python -m tools.gen_study"
    assert page(SOURCE) == SOURCE, told
    assert json.loads(SCHEMA.read_text()) == schema(), told


@pytest.mark.parametrize("section", SECTION_KEYS)
def test_every_key_is_on_the_page(section: str) -> None:
    table = SOURCE.partition(f"<!-- table: {section} -->")[2].partition("<!-- end -->")[0]
    rows = re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)
    assert rows == [key.name for key in SECTION_KEYS[section]]


def test_every_figure_is_on_the_page() -> None:
    table = SOURCE.partition("| figure | meaning |")[2].partition("\n\n")[0]
    named = re.findall(r"`(\w+)`", table)
    assert sorted(named) == sorted(measure.key for measure in MEASURES)


def test_the_schema_accepts_the_examples_of_the_page() -> None:
    jsonschema.Draft7Validator.check_schema(schema())
    whole: dict[str, object] = {}
    for key in SECTION_KEYS["study"]:
        whole |= yaml.safe_load(key.example)
    jsonschema.validate(whole, schema())
    sample = (files("remuda.study.sample") / "study.yaml").read_text()
    jsonschema.validate(yaml.safe_load(sample), schema())
    for section, keys in SECTION_KEYS.items():
        anchor = section.replace(" ", "-")
        properties = json.loads(SCHEMA.read_text())["definitions"][anchor]["properties"]
        definitions = schema()["definitions"]
        for key in keys:
            value = yaml.safe_load(key.example)[key.name]
            jsonschema.validate(value, properties[key.name] | {"definitions": definitions})


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "traces: []",
        "traces: [{name: A, workload: w}]",
        "traces: [{name: a, workload: w, x: 1}]",
    ],
)
def test_the_schema_refuses_what_is_wrong(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), schema())
