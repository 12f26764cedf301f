"""Read ``remuda_rule`` marks and assertions from a test file without running it.

The marks are read from the syntax tree, so that they can be judged in a moment and before any
test runs. Marks belong to the function, class or module they stand on; a mark anywhere else
(on a state machine's TestCase, say) belongs to its module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

MARK = "remuda_rule"
RAISING = frozenset({"raises", "warns", "fail"})


@dataclass(frozen=True, slots=True)
class Mark:
    """One use of the mark: where, on which test, for which rules, and does that test assert."""

    place: str
    test: str
    ids: tuple[str, ...]
    asserts: bool


def asserts(node: ast.AST) -> bool:
    """Whether the code holds an assertion.

    That is an assert statement, ``pytest.raises`` and its kin, or a call of something named
    ``assert...`` or ``check...``.
    """
    return any(isinstance(inner, ast.Assert) or _asserting_call(inner) for inner in ast.walk(node))


def marks_of(source: str, place: str) -> list[Mark]:
    """All marks of a file, in the order they stand in it. ``place`` is the file's name."""
    tree = ast.parse(source)
    found: list[Mark] = []
    seen: set[ast.Call] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for call in _calls(node.decorator_list):
                seen.add(call)
                found += _judge(call, node, place)
    for call in _calls([tree]):
        if call not in seen:
            found.append(_mark(call, "the module", place, asserting=asserts(tree)))
    return sorted(found, key=lambda mark: int(mark.place.rpartition(":")[2]))


def _judge(
    call: ast.Call, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, place: str
) -> Iterator[Mark]:
    """A mark on a function speaks for it, one on a class for each of its tests."""
    if not isinstance(node, ast.ClassDef):
        yield _mark(call, node.name, place, asserting=asserts(node))
        return
    tests = [inner for inner in node.body if getattr(inner, "name", "").startswith("test")]
    for test in tests or [node]:
        yield _mark(call, getattr(test, "name", ""), place, asserting=asserts(test))


def _mark(call: ast.Call, test: str, place: str, *, asserting: bool) -> Mark:
    ids = [item.value for item in call.args if isinstance(item, ast.Constant)]
    texts = tuple(item for item in ids if isinstance(item, str))
    literal = len(texts) == len(call.args)
    return Mark(f"{place}:{call.lineno}", test, texts if literal else (), asserting)


def _calls(nodes: list[ast.expr] | list[ast.Module]) -> Iterator[ast.Call]:
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and _name(inner) == MARK:
                yield inner


def _asserting_call(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = _name(node)
    return name in RAISING or name.lstrip("_").startswith(("assert", "check"))


def _name(call: ast.Call) -> str:
    """The last part of what is called: ``pytest.raises`` is raises."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""
