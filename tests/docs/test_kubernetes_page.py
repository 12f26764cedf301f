"""The page on Kubernetes names every label, annotation, tag, key and reason of the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from remuda_kubernetes.translation import events, names
from remuda_kubernetes.translation.settings import KEYS, OWN_PREFIXES, Key, Settings
from remuda_kubernetes.translation.task_groups import task_groups

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/kubernetes.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("| `")]

# Constants of names.py that are no names in objects or requests.
NOT_NAMES = {"DOMAIN", "INTERNAL_DOMAIN", "DEFAULT_PARTITION", "DEFAULT_NAMESPACE"}
# What the scheduler is told, and nobody reads in an object.
ELSEWHERE = {"LEVEL_KEY", "INTERFACE_LEVEL", "PARTITIONS_KEY"}


@pytest.mark.parametrize(
    "constant",
    sorted(
        name
        for name, value in vars(names).items()
        if name.isupper() and isinstance(value, str) and name not in NOT_NAMES | ELSEWHERE
    ),
)
def test_a_name_is_on_the_page(constant: str) -> None:
    value = getattr(names, constant)
    assert f"`{value}" in PAGE or f"`{value.removeprefix('-')}" in PAGE


def test_attributes_of_nodes_and_the_labels_they_come_from_are_on_the_page() -> None:
    for label, attribute in names.ATTRIBUTES_OF_LABELS.items():
        assert f"`{label}`" in PAGE
        assert f"`{attribute}`" in PAGE


def row_of(key: str) -> str:
    """The row of a key, which may be one of several that share their beginning."""
    ending = "." + key.rsplit(".", 1)[1]
    found = [row for row in ROWS if f"`{key}`" in row.split("|")[1]] or [
        row
        for row in ROWS
        if f"`{ending}`" in row.split("|")[1] and f"`{key[: -len(ending)]}" in row.split("|")[1]
    ]
    (row,) = found
    return row


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_a_key_has_its_default_and_whether_it_is_reloaded(key: Key) -> None:
    _, _, default, reload, _, _ = row_of(key.name).split("|")
    assert reload.strip() == ("yes" if key.reload else "no")
    settings = Settings()
    value = getattr(settings.admission if key.admission else settings, key.attribute)
    texts = re.findall(r"`([^`]*)`|\b(\d+)\b|(nothing)", default)
    written = ["".join(each) for each in texts]
    parsed = [key.parse("" if each == "nothing" else each) for each in written]
    assert value in parsed


def test_the_page_has_no_other_keys() -> None:
    known = {key.name for key in KEYS} | {key.alias for key in KEYS} | {"service.operatorPlugins"}
    prefixes = "|".join(re.escape(each) for each in OWN_PREFIXES)
    found = re.findall(rf"`((?:{prefixes})[A-Za-z.]+[A-Za-z])`", PAGE)
    assert set(found) <= known


def test_the_reasons_of_the_page_are_those_of_the_events() -> None:
    section = PAGE.partition("## Events")[2].partition("## Tags")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    on_page = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    constants = {
        value
        for name, value in vars(events).items()
        if name.isupper() and isinstance(value, str) and name not in {"NORMAL", "WARNING"}
    }
    assert on_page == constants


def test_the_example_of_a_gang_is_one() -> None:
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (group,), findings = task_groups(text)
    assert findings == ()
    assert group.min_member == json.loads(text)[0]["minMember"]
