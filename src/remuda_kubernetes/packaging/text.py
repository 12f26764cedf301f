"""Manifests as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """Lists below their key are indented, texts of several lines stay such, nothing is a link."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists, too."""
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        """Write each value where it stands, also if it stands twice."""
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(objects: Iterable[Any]) -> str:
    """Return objects as the documents of one YAML file, keys in their order."""
    return "---\n".join(
        yaml.dump(each, Dumper=_Dumper, sort_keys=False, width=1_000, allow_unicode=True)
        for each in objects
    )
