"""The JSON Schema for editors: it accepts what the loader accepts, and no key that it refuses."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

import jsonschema
import pytest
import yaml

from remuda.base.errors import ConfigError
from remuda.config import key_kinds as kinds
from remuda.config.key_kinds import Key
from remuda.config.keys import SECTION_KEYS
from remuda.config.load import load_configuration
from tests.property.configuration_texts import sample
from tools.gen_schema import schema

DATA = Path(os.environ.get("REMUDA_DATA") or Path(__file__).parents[4] / "shared" / "data")
CONFIGS = DATA / "queue-configs"

Section: TypeAlias = dict[str, object]


class EditorLoader(yaml.CSafeLoader):
    """Gives values the types an editor does; dates stay texts, as in JSON."""


EditorLoader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in found if tag != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}

SCHEMA = json.loads((files("remuda.config") / "queues.schema.json").read_text())
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)


def in_schema(text: str) -> list[str]:
    """What the schema finds wrong with a text."""
    document = next(iter(yaml.load_all(text, EditorLoader)), None)
    return [
        f"{list(fault.path)}: {fault.message[:200]}" for fault in VALIDATOR.iter_errors(document)
    ]


def in_loader(text: str) -> list[str]:
    """What the loader finds wrong with a text."""
    try:
        load_configuration(text)
    except ConfigError as error:
        return [f"{problem.rule} {problem.message}" for problem in error.problems]
    return []


def document_with(section: str, content: Section) -> str:
    """A document that has these keys in one of its sections, and else what it must have."""
    return json.dumps(AROUND[section](content))


def in_partition(content: Section) -> Section:
    """A document with one partition."""
    return {"partitions": [{"queues": [{"name": "root"}]} | content]}


def in_queue(content: Section) -> Section:
    """A document with one queue below root."""
    return in_partition({"queues": [{"name": "root", "queues": [{"name": "a"} | content]}]})


def in_rule(content: Section) -> Section:
    """A document with one placement rule."""
    return in_partition({"placementrules": [{"name": "user"} | content]})


AMOUNTS: Section = {"maxapplications": 1, "maxresources": {"memory": 1}}

AROUND: dict[str, Callable[[Section], Section]] = {
    kinds.DOCUMENT: lambda content: {"partitions": []} | content,
    kinds.PARTITION: in_partition,
    kinds.QUEUE: in_queue,
    kinds.RESOURCES: lambda content: in_queue({"resources": content}),
    kinds.TEMPLATE: lambda content: in_queue({"parent": True, "childtemplate": content}),
    kinds.LIMIT: lambda content: in_queue(
        {"limits": [{"users": ["u"], "groups": ["g"]} | AMOUNTS | content]}
    ),
    kinds.RULE: in_rule,
    kinds.FILTER: lambda content: in_rule({"filter": content}),
    kinds.PREEMPTION: lambda content: in_partition({"preemption": content}),
    kinds.NODE_SORT: lambda content: in_partition({"nodesortpolicy": content}),
    kinds.RESOLVER: lambda content: in_partition({"usergroupresolver": content}),
}

EVERY_KEY = [(section, key) for section, found in SECTION_KEYS.items() for key in found]
IDS = [f"{section}.{key.name}" for section, key in EVERY_KEY]


def test_the_file_is_generated_from_the_table() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert schema() == SCHEMA


@pytest.mark.parametrize("section, key", EVERY_KEY, ids=IDS)
def test_the_example_of_a_key_is_valid(section: str, key: Key) -> None:
    content = yaml.load(key.example, EditorLoader)
    assert list(content) == [key.name]
    text = document_with(section, content)
    assert in_loader(text) == []
    assert in_schema(text) == []


@pytest.mark.remuda_rule("CFG-13")
@pytest.mark.parametrize("section", SECTION_KEYS)
@pytest.mark.parametrize("name", ["unknown", "Name", "max-applications"])
def test_an_unknown_key_fails_in_both(section: str, name: str) -> None:
    text = document_with(section, {name: 1})
    assert any(f"CFG-13 field {name} not found" in fault for fault in in_loader(text))
    assert in_schema(text) != []


@pytest.mark.remuda_rule("CFG-18")
@pytest.mark.parametrize("section, key", EVERY_KEY, ids=IDS)
def test_a_key_without_value_is_the_same_in_both(section: str, key: Key) -> None:
    text = document_with(section, {key.name: None})
    assert (in_schema(text) == []) == (in_loader(text) == [])
    assert (in_loader(text) == []) == (not key.required)


@pytest.mark.remuda_rule("CFG-13")
@pytest.mark.parametrize("section, key", EVERY_KEY, ids=IDS)
def test_a_wrong_type_fails_in_both(section: str, key: Key) -> None:
    lists = (kinds.TEXTS, kinds.SECTIONS)
    wrong: object = {"x": {"y": 1}} if key.kind in lists else [[1]]
    text = document_with(section, {key.name: wrong})
    assert in_loader(text) != []
    assert in_schema(text) != []


@pytest.mark.remuda_rule("CFG-12")
@pytest.mark.parametrize("text", ["# nothing", "partitions:", "partitions: []", "{}"])
def test_a_file_without_partitions_is_valid_in_both(text: str) -> None:
    assert in_loader(text) == []
    assert in_schema(text) == []


@pytest.mark.parametrize("text", ["[]", "text", "7"])
def test_a_file_that_is_no_mapping_fails_in_both(text: str) -> None:
    assert in_loader(text) != []
    assert in_schema(text) != []


SPELLINGS = """
partitions:
  - name: 2024-06-01
    placementrules: [{name: UsEr, create: Yes, filter: {type: DENY, users: [ann, 7up-]}}]
    nodesortpolicy: {type: "", resourceweights: {vcore: 1e3, gpu: .5}}
    usergroupresolver: {type: another}
    queues:
      - name: root
        submitacl: "*"
        queues:
          - {name: 123, parent: "on", maxapplications: 0x10}
          - {name: true, maxapplications: 1_000, properties: {a: 1.50, b: true, c: ~, d: 010}}
          - name: x@y#z:1/2
            resources: {max: {memory: " 10 Gi ", vcore: 007}}
"""


@pytest.mark.remuda_rule("CFG-15", "CFG-16", "CFG-17")
def test_odd_spellings_pass_in_both() -> None:
    text = SPELLINGS.replace(", 7up-", "")
    assert in_loader(text) == []
    assert in_schema(text) == []


@pytest.mark.parametrize("part", range(2))
def test_a_generated_text_that_loads_passes_the_schema(part: int) -> None:
    texts = [sample(seed).text for seed in range(part * 100, part * 100 + 100)]
    valid = [text for text in texts if not in_loader(text)]
    assert [fault for text in valid for fault in in_schema(text)] == []
    assert len(valid) > 30


# ------------------------------------------------------------------------------- real files


def real_files() -> list[Path]:
    """Queue files of other projects; none where they are not at hand."""
    return sorted((CONFIGS / "extracted").glob("*"))


needs_data = pytest.mark.skipif(
    not real_files(), reason=f"no real configurations in {CONFIGS} (set REMUDA_DATA)"
)


@needs_data
@pytest.mark.parametrize("path", real_files(), ids=lambda path: path.stem)
def test_a_real_file_that_loads_passes_the_schema(path: Path) -> None:
    text = path.read_text()
    if not in_loader(text):
        assert in_schema(text) == []


@needs_data
def test_many_real_files_load() -> None:
    assert sum(not in_loader(path.read_text()) for path in real_files()) >= 60


@needs_data
def test_another_schema_of_such_files_has_no_key_that_is_missing_here() -> None:
    other = json.loads((CONFIGS / "yunikorn-schema.json").read_text())["$defs"]
    sections = {
        "ChildTemplate": kinds.TEMPLATE,
        "Filter": kinds.FILTER,
        "Limit": kinds.LIMIT,
        "PartitionConfig": kinds.PARTITION,
        "QueueConfig": kinds.QUEUE,
        "Resources": kinds.RESOURCES,
    }
    for name, section in sections.items():
        own = {key.name for key in SECTION_KEYS[section]}
        assert set(other[name]["properties"]) - own == set(), name
