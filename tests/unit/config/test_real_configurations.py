"""Real queue configurations of other projects: read, or refused with a place and a reason."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from remuda.base.errors import ConfigError
from remuda.config.load import load_configuration

DATA = Path(os.environ.get("REMUDA_DATA") or Path(__file__).parents[4] / "shared" / "data")
CONFIGS = DATA / "queue-configs"

# What these files use and this release refuses by name.
LATER_FEATURES = {"limits", "maxapplications", "childtemplate", "preemption"}

pytestmark = pytest.mark.skipif(
    not (CONFIGS / "index.json").is_file(),
    reason=f"no real configurations in {CONFIGS} (set REMUDA_DATA)",
)


def entries() -> list[dict[str, object]]:
    if not (CONFIGS / "index.json").is_file():
        return []
    found: list[dict[str, object]] = json.loads((CONFIGS / "index.json").read_text())
    return found


@pytest.mark.remuda_rule("CFG-5", "CFG-13")
@pytest.mark.parametrize("entry", entries(), ids=lambda entry: Path(str(entry["file"])).stem)
def test_a_real_configuration_is_read_or_refused_with_places(entry: dict[str, object]) -> None:
    text = (CONFIGS / str(entry["file"])).read_text()
    try:
        loaded = load_configuration(text, "real")
    except ConfigError as error:
        _check_refusal(error, entry)
    else:
        features = entry["features"]
        assert isinstance(features, list)
        assert not LATER_FEATURES & set(features)
        assert entry["yaml_ok"]
        assert loaded.partitions
        assert all(partition.root.name == "root" for partition in loaded.partitions)


def _check_refusal(error: ConfigError, entry: dict[str, object]) -> None:
    assert error.problems
    for problem in error.problems:
        assert problem.line > 0
        assert problem.column > 0
        assert problem.message
    if not entry["yaml_ok"]:
        assert "not YAML" in error.problems[0].message


def test_at_least_thirty_of_them_are_read_today() -> None:
    read = 0
    for entry in entries():
        try:
            load_configuration((CONFIGS / str(entry["file"])).read_text())
        except ConfigError:
            continue
        read += 1
    assert read >= 30
