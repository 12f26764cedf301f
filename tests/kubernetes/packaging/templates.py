"""The part of Go's templates that the chart uses, as Helm would carry it out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

_ACTION = re.compile(r"[ \t\n]*\{\{- (.*?) \}\}|\{\{ (.*?) \}\}", re.DOTALL)
_FILE = re.compile(r'\.Files\.Get "([a-z./]+)"( \| toJson)?')


def rendered(
    template: str, values: Mapping[str, Any], namespace: str, chart: Path
) -> list[dict[str, Any]]:
    """Return the objects of a template of a chart; an action it does not know fails."""
    text = ""
    shown = [True]
    scopes: list[Any] = [None]
    place = 0
    for found in _ACTION.finditer(template):
        if shown[-1]:
            text += template[place : found.start()]
        place = found.end()
        action = found[1] or found[2]
        if action.startswith("if "):
            terms = action.removeprefix("if ").removeprefix("and ").split()
            shown.append(shown[-1] and all(_value(term, values, namespace) for term in terms))
            scopes.append(scopes[-1])
        elif action.startswith("with "):
            scope = _value(action.removeprefix("with "), values, namespace) if shown[-1] else None
            shown.append(shown[-1] and bool(scope))
            scopes.append(scope)
        elif action == "end":
            shown.pop()
            scopes.pop()
        elif shown[-1]:
            file = _FILE.fullmatch(action)
            if file:
                held = (chart / file[1]).read_text()
                text += json.dumps(held) if file[2] else held
            else:
                text += _output(action, values, namespace, scopes[-1])
    assert shown == [True]
    return [each for each in yaml.safe_load_all(text + template[place:]) if each]


def _output(action: str, values: Mapping[str, Any], namespace: str, scope: Any) -> str:
    first, *filters = [part.strip() for part in action.split("|")]
    if first == "toYaml .":
        (nindent,) = filters
        depth = int(nindent.removeprefix("nindent "))
        lines = yaml.safe_dump(scope, sort_keys=True).rstrip("\n").split("\n")
        return "".join("\n" + " " * depth + line for line in lines)
    found = _value(first, values, namespace)
    if filters == ["quote"]:
        return json.dumps(found)
    assert filters == []
    return json.dumps(found) if not isinstance(found, str) else found


def _value(path: str, values: Mapping[str, Any], namespace: str) -> Any:
    if path == ".Release.Namespace":
        return namespace
    assert path.startswith(".Values."), path
    found: Any = values
    for name in path.removeprefix(".Values.").split("."):
        found = found[name]
    return found
