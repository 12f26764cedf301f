"""The page on the configuration says what the code does."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
import yaml

from remuda.base.quantity import QuantityError, parse_quantity
from remuda.config.amounts import CONFIGURED_TYPES_LIMIT
from remuda.config.bind import ACCESS_NAMES_LIMIT
from remuda.config.compose import (
    ANCHORS_LIMIT,
    DEPTH_LIMIT,
    NODES_LIMIT,
    TAG_DIRECTIVES_LIMIT,
    TEXT_BYTES_LIMIT,
)
from remuda.config.findings import PROBLEMS_LIMIT
from remuda.config.keys import SECTION_KEYS
from remuda.config.limit_levels import COMPARED_LIMIT
from remuda.config.load import check_configuration, load_configuration
from remuda.config.patterns import PATTERN_LENGTH_LIMIT, PATTERN_MEMORY_LIMIT
from remuda.config.queue_properties import BY_NAME, QUEUE_PROPERTIES, Property
from remuda.config.rules import PATTERNS_LIMIT
from remuda.config.schema import QUEUE_DEPTH_LIMIT, AccessList
from tests.docs.examples import blocks_of
from tools.gen_schema import TABLE, page

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/configuration.md"
SOURCE = PAGE.read_text()

EVERYBODY = AccessList(everybody=True)


def section(title: str) -> str:
    """What the page says under a heading."""
    return SOURCE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    """The cells of the first table of a section, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def with_submit(acl: str) -> str:
    """A file whose root has this access list; ``acl`` as it is written in the file."""
    return f"partitions: [{{queues: [{{name: root, submitacl: {acl}}}]}}]"


def test_the_tables_are_those_of_the_code() -> None:
    assert page(SOURCE) == SOURCE


def test_every_section_and_every_key_is_on_the_page() -> None:
    tables = {found["name"] for found in TABLE.finditer(SOURCE)}
    settings = {"settings of core", "settings of shim and admission and nobody"}
    assert tables == {*SECTION_KEYS, "properties", *settings}
    for one in BY_NAME:
        assert f"`{one}`" in SOURCE


def queue_files() -> dict[str, str]:
    """The queue files that README and manual show, by page and line."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {
        f"{one.relative_to(ROOT)}:{block.line}": block.text
        for one in pages
        for block in blocks_of(one)
        if block.language == "yaml" and block.text.startswith("partitions:")
    }


@pytest.mark.parametrize("place", queue_files())
def test_an_example_is_valid_without_warnings_and_passes_the_schema(place: str) -> None:
    text = queue_files()[place]
    assert check_configuration(text).problems == ()
    schema = json.loads((files("remuda.config") / "queues.schema.json").read_text())
    jsonschema.validate(yaml.safe_load(text), schema, jsonschema.Draft7Validator)


@pytest.mark.remuda_rule("QTY-1", "QTY-2", "QTY-3", "QTY-4")
@pytest.mark.parametrize("written, memory, vcore", rows("Quantities"))
def test_quantities_mean_what_the_table_says(written: str, memory: str, vcore: str) -> None:
    for name, expected in (("memory", memory), ("vcore", vcore)):
        try:
            found = str(parse_quantity(name, written.strip("`")))
        except QuantityError:
            found = "an error"
        assert found == expected


@pytest.mark.remuda_rule("ACL-1", "ACL-3")
@pytest.mark.parametrize("text, who", rows("Access lists"))
def test_access_lists_mean_what_the_table_says(text: str, who: str) -> None:
    expected = {
        "everybody": EVERYBODY,
        "nobody": AccessList(),
        "two users": AccessList(users=("ann", "bob")),
        "a user, and the members of two groups": AccessList(
            users=("ann",), groups=("arts", "science")
        ),
        "the members of a group": AccessList(groups=("science",)),
    }
    loaded = load_configuration(with_submit(text.strip("`")))
    assert loaded.partitions[0].root.submit_acl == expected[who.removesuffix(" (ACL-3)")]


def test_the_bounds_are_those_of_the_code() -> None:
    assert [int(most.replace(",", "")) for _, most in rows("Reading")] == [
        TEXT_BYTES_LIMIT,
        NODES_LIMIT,
        ACCESS_NAMES_LIMIT,
        DEPTH_LIMIT,
        QUEUE_DEPTH_LIMIT,
        CONFIGURED_TYPES_LIMIT,
        PATTERNS_LIMIT,
        PATTERN_LENGTH_LIMIT,
        PATTERN_MEMORY_LIMIT,
        ANCHORS_LIMIT,
        TAG_DIRECTIVES_LIMIT,
        COMPARED_LIMIT,
        PROBLEMS_LIMIT,
    ]


# ------------------------------------------------------------------------- queue properties


@pytest.mark.remuda_rule("PRP-1")
def test_the_table_of_properties_is_that_of_the_code_and_the_chapter() -> None:
    named = set(BY_NAME)
    chapter = (PAGE.parents[1] / "spec/10-config.md").read_text()
    written = chapter.partition("## 8. Queue properties")[2].partition("\n## 9.")[0]
    table = [line for line in written.splitlines() if re.match(r"\| `[a-z.]+`", line)]
    assert {name for line in table for name in re.findall(r"`([a-z]+\.[a-z.]+)`", line)} == named
    for one in QUEUE_PROPERTIES:
        line = next(line for line in table if f"`{one.name}`" in line)
        assert line.rstrip(" |").endswith(one.inherited)


@pytest.mark.parametrize("one", QUEUE_PROPERTIES, ids=lambda one: one.name)
def test_example_choices_and_default_of_a_property_mean_something(one: Property[object]) -> None:
    name, _, text = one.example.partition(": ")
    assert name == one.name
    for given in (text.strip('"'), one.default, *one.choices):
        assert one.parse(given) is not None
