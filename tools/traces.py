"""Read from Python code which rules of docs/spec it says it implements, without running it.

Docstrings and comments say so in sentences of their own: ``Implements: QUE-33, QUE-36.`` in the one
place where a rule is done, ``Rules: RES-49.`` in the others that take part. A rule is found by its
ID, so that no text may hide IDs in a range.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

ID = re.compile(r"[A-Z]+-[A-Z]?\d+")
SENTENCE = re.compile(r"(?<![\w(])(Implements|Rules): +([^.]*(?:\.(?=\d)[^.]*)*)(\.)?")
CITING = re.compile(r"(?:Implements|[Rr]ules): +([^.]*(?:\.(?=\d)[^.]*)*)")
NOTE = re.compile(r" ?\([^()]*\)| ?\[[^\[\]]*\]")
QUOTED = re.compile(r"(`+)[^`]*\1")
RANGE = re.compile(r"\b([A-Z]+)-[A-Z]?\d+ ?(?:to|\.\.|…|–) ?(?:\1-)?[A-Z]?\d+\b")  # noqa: RUF001


@dataclass(frozen=True, slots=True)
class Text:
    """A docstring, or the comments of neighbouring lines: where it begins, and what it says."""

    place: str
    words: str


def texts_of(source: str, name: str) -> list[Text]:
    """All docstrings and comments of a file, each on one line. ``name`` is the file's name."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            words = node.value.value
            if isinstance(words, str):
                found.append(Text(f"{name}:{node.lineno}", " ".join(words.split())))
    return found + [Text(f"{name}:{line}", words) for line, words in _comments(source)]


def implemented(text: Text) -> list[str]:
    """The rules that a text says are implemented where it stands."""
    return [
        rule
        for kind, body, _ in SENTENCE.findall(text.words)
        if kind == "Implements"
        for rule in ID.findall(NOTE.sub("", body))
    ]


def cited(docstring: str) -> list[str]:
    """The rules that a docstring cites: in a sentence of its own, or in the brackets of a title."""
    words = " ".join(docstring.split())
    return [rule for body in CITING.findall(words) for rule in ID.findall(body)]


def sentence_faults(text: Text) -> Iterator[str]:
    """One line for each sentence that cannot be read, and each range of rules."""
    for kind, body, end in SENTENCE.findall(text.words):
        parts = NOTE.sub("", body).strip().split(", ")
        if kind == "Implements" and not (end and all(map(ID.fullmatch, parts))):
            yield f"{text.place}: 'Implements:' takes rule IDs with commas between, and a stop"


def range_faults(text: Text, prefixes: Iterable[str]) -> Iterator[str]:
    """One line for each range of rules with one of the ``prefixes``; quoted ones are examples."""
    for found in RANGE.finditer(QUOTED.sub("", text.words)):
        if found[1] in prefixes:
            yield f"{text.place}: '{found[0]}' hides rules: write each ID, or name the chapter"


def faults(
    texts: Iterable[Text], rules: Mapping[str, str], elsewhere: Mapping[str, str]
) -> list[str]:
    """One line for each rule that is not implemented in exactly one place.

    ``rules``: the chapter of each rule. ``elsewhere``: why no code implements a rule.
    """
    places: dict[str, list[str]] = {}
    found: list[str] = []
    for text in texts:
        found += sentence_faults(text)
        for rule in implemented(text):
            places.setdefault(rule, []).append(text.place)
    for rule, its in places.items():
        if rule not in rules:
            found.append(f"{its[0]}: implements {rule}, which no chapter of docs/spec defines")
        elif rule in elsewhere:
            found.append(f"{its[0]}: implements {rule}, which docs/spec says is {elsewhere[rule]}")
        elif len(its) > 1:
            found.append(f"{its[1]}: implements {rule}, as {its[0]} does: one place only")
    return found + [
        f"docs/spec/{chapter}: nothing in src says that it implements {rule}"
        for rule, chapter in rules.items()
        if rule not in elsewhere and rule not in places
    ]


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """The comments of a file; those of neighbouring lines are one."""
    first, last, words = 0, 0, ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        said, line = token.string.lstrip("#").strip(), token.start[0]
        if words and line == last + 1 and token.line.lstrip().startswith("#"):
            words = f"{words} {said}"
        else:
            if words:
                yield first, words
            first, words = line, said
        last = line
    if words:
        yield first, words
