"""Generate the JSON Schema of the queue file, and the tables of its manual, from the code's tables.

--check tells whether both are up to date. Both are committed: the schema is part of the package,
so that an editor can use it wherever remuda is installed.

The schema accepts all that the loader accepts. The loader refuses more, because a schema cannot
compare two places of a file, and sees values only after YAML has given them a type.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from remuda.config import key_kinds as kinds
from remuda.config.key_kinds import Key
from remuda.config.keys import SECTION_KEYS
from remuda.config.queue_properties import QUEUE_PROPERTIES
from remuda.config.schema import QUEUE_NAME
from remuda.config.setting_table import NOBODY, SETTINGS, Setting

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "src/remuda/config/queues.schema.json"
PAGE = ROOT / "docs/reference/configuration.md"

Schema = dict[str, object]

_WORDS: Final = ("y", "yes", "on", "n", "no", "off")
_NULL: Final[Schema] = {"type": "null"}
# The text is kept as it was written, whatever its YAML type (CFG-17).
_SCALAR: Final[Schema] = {"type": ["string", "number", "boolean", "null"]}
_QUANTITY: Final[Schema] = {
    "anyOf": [
        {
            "type": "string",
            "pattern": r"^\s*[0-9]+\s*(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?\s*$",
        },
        {"type": "integer", "minimum": 0},
    ]
}

TABLE: Final = re.compile(
    r"(?P<start><!-- table: (?P<name>[\w ]+) -->\n)(?:.*?)(?P<end><!-- end -->)", re.DOTALL
)


# ------------------------------------------------------------------------------------ schema


def schema() -> Schema:
    """The JSON Schema of a queue file."""
    definitions = {_anchor(name): _section(name) for name in SECTION_KEYS}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "remuda queue configuration",
        "description": "Partitions, queues, placement rules and limits of remuda.",
        "anyOf": [{"$ref": f"#/definitions/{_anchor(kinds.DOCUMENT)}"}, _NULL],
        "definitions": definitions,
    }


def _anchor(section: str) -> str:
    return section.replace(" ", "-")


def _section(name: str) -> Schema:
    section: Schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: _key(name, key) for key in SECTION_KEYS[name]},
    }
    required = [key.name for key in SECTION_KEYS[name] if key.required]
    if required:
        section["required"] = required
    return section


def _key(section: str, key: Key) -> Schema:
    told = f"{_sentence(key.meaning)} Default: {_plain(key.default)}."
    described: Schema = {"description": told if key.default else _sentence(key.meaning)}
    value = _name() if (section, key.name) == (kinds.QUEUE, "name") else _value(key)
    return described | value


def _value(key: Key) -> Schema:
    """What a key may hold; null is always the same as leaving it out, but where it is required."""
    if key.kind == kinds.TEXT:
        return _text(key)
    if key.kind == kinds.TEXTS:
        return _or_null({"type": "array", "items": _SCALAR}, key)
    if key.kind in (kinds.SECTION, kinds.SECTIONS):
        inner: Schema = {"$ref": f"#/definitions/{_anchor(key.section)}"}
        one: Schema = inner if key.kind == kinds.SECTION else {"type": "array", "items": inner}
        return _or_null(one, key)
    if key.kind == kinds.PROPERTIES:
        return _or_null(_properties(), key)
    return _or_null(_SIMPLE[key.kind], key)


def _or_null(value: Schema, key: Key) -> Schema:
    return {"anyOf": [value]} if key.required else {"anyOf": [value, _NULL]}


def _text(key: Key) -> Schema:
    if not key.choices:
        return dict(_SCALAR)
    offered: list[object] = [{"enum": list(key.choices)}]
    if key.others:
        return {"anyOf": [*offered, _SCALAR]}
    if key.any_case:
        either = "|".join(_any_case(choice) for choice in key.choices)
        offered.append({"type": "string", "pattern": f"^({either})$"})
    if not key.required:
        offered.append({"enum": ["", None]})
    return {"anyOf": offered}


def _any_case(word: str) -> str:
    """A pattern for a word in any case: the schema's language has no flag for it."""
    return "".join(f"[{c}{c.upper()}]" for c in word)


def _name() -> Schema:
    """A queue's name; YAML may take it for a number or a boolean."""
    return {
        "anyOf": [
            {"type": "string", "pattern": f"^{QUEUE_NAME.pattern}$"},
            {"type": ["number", "boolean"]},
        ]
    }


def _properties() -> Schema:
    offered: Schema = {}
    for one in QUEUE_PROPERTIES:
        told = f"{_sentence(one.meaning)} {_plain(one.values)}; default: {_plain(one.default)}."
        value: Schema = (
            {"anyOf": [{"enum": list(one.choices)}, _SCALAR]} if one.choices else _SCALAR
        )
        offered[one.name] = {"description": told} | value
    return {"type": "object", "properties": offered, "additionalProperties": _SCALAR}


_BOOLEAN_WORDS: Final = [form for w in _WORDS for form in (w, w.capitalize(), w.upper())]

_SIMPLE: Final[Mapping[str, Schema]] = {
    kinds.BOOLEAN: {"anyOf": [{"type": "boolean"}, {"enum": sorted(set(_BOOLEAN_WORDS))}]},
    kinds.COUNT: {
        "anyOf": [
            {"type": "integer", "minimum": 0},
            # Some parsers leave these forms as texts.
            {"type": "string", "pattern": "^(0[xo][0-9a-fA-F_]+|[0-9][0-9_]*_[0-9_]*)$"},
        ]
    },
    kinds.QUANTITIES: {"type": "object", "additionalProperties": _QUANTITY},
    kinds.WEIGHTS: {
        "type": "object",
        "additionalProperties": {
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "pattern": r"^\+?[0-9.]+[eE][-+]?[0-9]+$"},
                _NULL,
            ]
        },
    },
}


# ------------------------------------------------------------------------------------ manual


def page(source: str) -> str:
    """The manual with every table written anew."""
    return TABLE.sub(lambda found: f"{found['start']}{table(found['name'])}{found['end']}", source)


def table(name: str) -> str:
    """One table of the manual: of a section, of the queue properties, or of settings."""
    if name == "properties":
        return _properties_table()
    if name.startswith("settings of "):
        return _settings_table(name.removeprefix("settings of ").split(" and "))
    head = ("key", "type", "default", "meaning", "example", "rules")
    return _table(head, (_key_row(key) for key in SECTION_KEYS[name]))


def _key_row(key: Key) -> tuple[str, ...]:
    kind = f"[{key.section}](#{_anchor(key.section)})" if key.section else key.kind
    if key.kind == kinds.SECTIONS:
        kind = f"list of {kind}"
    if key.choices:
        kind = ", ".join(f"`{choice}`" for choice in key.choices)
        kind += ", in any case" if key.any_case else ""
    default = "**required**" if key.required else key.default
    return (f"`{key.name}`", kind, default, key.meaning, f"`{key.example}`", ", ".join(key.rules))


def _properties_table() -> str:
    head = ("property", "values", "default", "used on", "inherited", "meaning", "rules")
    return _table(
        head,
        (
            (
                _name_cell(one.name, one.alias),
                one.values,
                f"`{one.default}`",
                one.used_on,
                one.inherited,
                one.meaning,
                ", ".join(one.rules),
            )
            for one in QUEUE_PROPERTIES
        ),
    )


def _settings_table(readers: list[str]) -> str:
    """The settings whose first reader is one of those named."""
    head = ("key", "type", "default", "change at run time", "meaning", "rules")
    rows = (_setting_row(one) for one in SETTINGS if one.readers[0] in readers)
    return _table(head, rows)


def _setting_row(one: Setting) -> tuple[str, ...]:
    meaning = one.meaning
    if NOBODY not in one.readers and not one.built:
        meaning += " \u2020"
    default = f"`{one.default}`" if one.default else ""
    reload = "yes" if one.reload else "no"
    key = _name_cell(one.key, one.alias)
    return (key, one.kind, default, reload, meaning, ", ".join(one.rules))


def _name_cell(name: str, alias: str) -> str:
    return f"`{name}`, also `{alias}`" if alias else f"`{name}`"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(_lines(head, rows))


def _lines(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |\n"
    yield f"|{'---|' * len(head)}\n"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n"


def _sentence(text: str) -> str:
    plain = _plain(text)
    return f"{plain[:1].upper()}{plain[1:]}."


def _plain(text: str) -> str:
    return text.replace("`", "")


# -------------------------------------------------------------------------------------- files


def main() -> int:
    """Write both files, or with --check compare them; 1 if they differ."""
    fresh = {
        SCHEMA: json.dumps(schema(), indent=2) + "\n",
        PAGE: page(PAGE.read_text()),
    }
    stale = [path for path, text in fresh.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not up to date: run tools/gen_schema.py")
        return 1 if stale else 0
    for path in stale:
        path.write_text(fresh[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
