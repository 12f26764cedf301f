"""Answers as a notebook shows them: HTML without scripts, in which every name is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

# The document may use its own style and nothing else.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE: Final = (
    ":root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;"
    "margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}summary{font-weight:600}"
)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts."""
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def lines_html(text: str) -> str:
    """Return lines of text: the first one as a title, the others as a list."""
    title, *rest = text.splitlines() or [""]
    entries = "".join(f"<li>{escape(line.strip())}</li>" for line in rest)
    return f"<div><b>{escape(title)}</b>{f'<ul>{entries}</ul>' if entries else ''}</div>"


def page(title: str, body: str) -> str:
    """Return a whole document around a part that this module made; it asks nobody for anything."""
    name = escape(title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{name}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{name}</h1>\n{body}\n</body></html>\n"
    )


def sections_of(lines: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Return titles with their entries, which are the lines that begin with spaces below them.

    A title that ends with the number of its entries is returned without it.
    """
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith(" ") and found:
            found[-1][1].append(line.strip())
        else:
            title, _, number = line.rpartition(": ")
            found.append((title if number.isdecimal() else line, []))
    return found


def sections_html(sections: Iterable[tuple[str, Sequence[str]]], none: str) -> str:
    """Return titles with their entries, which open with a click; ``none`` if all are empty."""
    parts = [
        f"<details open><summary>{escape(title)}: {len(entries)}</summary>"
        f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in entries)}</ul></details>"
        for title, entries in sections
        if entries
    ]
    return f"<div>{''.join(parts) or escape(none)}</div>"
