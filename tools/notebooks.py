"""Run the notebooks of the documentation and keep their outputs; `make notebooks`.

    python -m tools.notebooks           run all and write the outputs into them
    python -m tools.notebooks --check   say which are not up to date

A cell's output is what it prints, and the picture or the text of its last expression, as a notebook
shows it. No notebook server is needed, because the notebooks use neither widgets nor magic. For the
site of the documentation, ``as_markdown`` returns a notebook as a page.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
from html import escape
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
NOTEBOOKS: Final = tuple(sorted((ROOT / "docs").rglob("*.ipynb")))

# Kinds of pictures, and the method of a value that returns one, as notebooks ask for it.
_SHOWN: Final = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def main() -> int:
    """Run all; with --check 1 if one is not up to date."""
    stale = []
    for path in NOTEBOOKS:
        before = path.read_text()
        fresh = text_of(executed(json.loads(before)))
        if fresh != before:
            stale.append(path)
            if "--check" not in sys.argv[1:]:
                path.write_text(fresh)
    for path in stale:
        print(f"{path.relative_to(ROOT)} is not up to date: run make notebooks")
    return int(bool(stale) and "--check" in sys.argv[1:])


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook with the outputs of its cells, run in order in one namespace."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    number = 0
    for cell in notebook["cells"]:
        ran: dict[str, Any] = {}
        if cell["cell_type"] == "code":
            number += 1
            outputs = outputs_of("".join(cell["source"]), names, number)
            ran = {"execution_count": number, "outputs": outputs}
        cells.append({**cell, **ran})
    return {**notebook, "cells": cells}


def outputs_of(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run one cell; return what a notebook keeps of it. What the cell raises goes on."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"<cell {number}>", "exec"), names)  # noqa: S102 - our own notebooks
        if isinstance(last, ast.Expr):
            code = compile(ast.Expression(last.value), f"<cell {number}>", "eval")
            value = eval(code, names)  # noqa: S307 - as above
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        found.append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        for kind, method in _SHOWN.items():
            if hasattr(value, method):
                data[kind] = getattr(value, method)().splitlines(keepends=True)
        found.append(
            {
                "data": data,
                "execution_count": number,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return found


def text_of(notebook: dict[str, Any]) -> str:
    """Return a notebook as its file has it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def as_markdown(notebook: dict[str, Any]) -> str:
    """Return a notebook as a page of the site: text, code, and each output."""
    parts: list[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_shown(output) for output in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def _shown(output: dict[str, Any]) -> str:
    """Return one output for a page of the site."""
    data = output.get("data", {})
    text = "".join(output.get("text") or data["text/plain"])
    if "text/html" in data:
        return "".join(data["text/html"])
    if "image/svg+xml" in data:
        # Within an image its style sheet is about nothing else.
        picture = base64.b64encode("".join(data["image/svg+xml"]).encode()).decode()
        return f'<img alt="{escape(text)}" src="data:image/svg+xml;base64,{picture}">'
    return f"```text\n{text.rstrip()}\n```"


if __name__ == "__main__":
    sys.exit(main())
