"""Generate the JSON Schema of the study file, and the tables of its manual, from the code's table.

--check tells whether both are up to date; a test does that, too. Both are committed: the schema is
part of the package, so that an editor can use it wherever remuda is installed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from remuda.config import key_kinds as kinds
from remuda.config.key_kinds import Key
from remuda.study import keys
from tools.gen_schema import TABLE

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "src/remuda/study/study.schema.json"
PAGE = ROOT / "docs/reference/study-file.md"

Schema = dict[str, object]

_SIMPLE: Final[dict[str, Schema]] = {
    kinds.TEXT: {"type": ["string", "number", "boolean"]},
    kinds.BOOLEAN: {"anyOf": [{"type": "boolean"}, {"enum": ["yes", "no", "on", "off"]}]},
    kinds.COUNT: {"type": "integer", "minimum": 0},
    keys.NUMBER: {"type": "number", "minimum": 0},
    keys.SECONDS: {
        "anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"},
        ]
    },
    keys.NAME: {
        "anyOf": [
            {"type": "string", "pattern": f"^{keys.NAME_PATTERN}$"},
            {"type": ["integer", "boolean"]},
        ]
    },
}


def schema() -> Schema:
    """The JSON Schema of a study file."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "remuda study",
        "description": "Simulations to play and to compare with `remuda study`.",
        "$ref": f"#/definitions/{_anchor(keys.STUDY)}",
        "definitions": {_anchor(name): _section(name) for name in keys.SECTION_KEYS},
    }


def _anchor(section: str) -> str:
    return section.replace(" ", "-")


def _section(name: str) -> Schema:
    known = keys.SECTION_KEYS[name]
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: {"description": _told(key)} | _value(key) for key in known},
        "required": [key.name for key in known if key.required],
    }


def _value(key: Key) -> Schema:
    """What a key may hold; null is the same as leaving it out, but where it is required."""
    if key.section:
        inner: Schema = {"$ref": f"#/definitions/{_anchor(key.section)}"}
        several: Schema = {"type": "array", "minItems": 1, "items": inner}
        value = several if key.kind == kinds.SECTIONS else inner
    elif key.choices:
        # YAML takes the word off for false.
        also = [False] if keys.OFF in key.choices else []
        value = {"enum": [*key.choices, *also]}
    else:
        value = _SIMPLE[key.kind]
    return {"anyOf": [value] if key.required else [value, {"type": "null"}]}


def _told(key: Key) -> str:
    default = f" Default: {key.default}." if key.default else ""
    return f"{key.meaning[:1].upper()}{key.meaning[1:]}.{default}".replace("`", "")


def page(source: str) -> str:
    """The manual with every table written anew."""
    return TABLE.sub(lambda found: f"{found['start']}{_table(found['name'])}{found['end']}", source)


def _table(name: str) -> str:
    lines = ["| key | type | default | meaning | example |", "|---|---|---|---|---|"]
    for key in keys.SECTION_KEYS[name]:
        kind = f"[{key.section}](#{_anchor(key.section)})" if key.section else key.kind
        if key.kind == kinds.SECTIONS:
            kind = f"list of {kind}"
        if key.choices:
            kind = ", ".join(f"`{choice}`" for choice in key.choices)
        default = "**required**" if key.required else key.default
        lines.append(f"| `{key.name}` | {kind} | {default} | {key.meaning} | `{key.example}` |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write both files, or with --check compare them; 1 if they differ."""
    fresh = {SCHEMA: json.dumps(schema(), indent=2) + "\n", PAGE: page(PAGE.read_text())}
    stale = [path for path, text in fresh.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if "--check" in sys.argv[1:]:
            print(f"{path.relative_to(ROOT)} is not up to date: run python -m tools.gen_study")
        else:
            path.write_text(fresh[path])
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
