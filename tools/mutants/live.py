"""Puts the code of a fault into functions that are loaded already.

The modules stay as they are, so whoever holds a function holds the one with the fault.
"""

from __future__ import annotations

import gc
from pathlib import Path
from types import CodeType, FunctionType
from typing import TypeAlias

from tools.mutants.operators import functions, mutated

# A function: its file, its first line, its name in its module.
Key: TypeAlias = tuple[str, int, str]


def key_of(code: CodeType) -> Key:
    """Return what names a function."""
    return code.co_filename, code.co_firstlineno, code.co_qualname


def loaded() -> dict[Key, list[FunctionType]]:
    """Return all functions that are loaded."""
    found: dict[Key, list[FunctionType]] = {}
    for each in gc.get_objects():
        if type(each) is FunctionType:
            found.setdefault(key_of(each.__code__), []).append(each)
    return found


def code_of(file: Path, number: int, name: str) -> CodeType | None:
    """Return the code of the function of that name with one of the faults of its module.

    Getters and setters share a name; the one that differs from the original is meant.
    """
    source = file.read_text()
    before = list(functions(compile(source, str(file), "exec")))
    after = list(functions(mutated(source, str(file), number)))
    changed = [
        new
        for old, new in zip(before, after, strict=True)
        if old != new and new.co_qualname == name
    ]
    return changed[0] if changed else None


def put(functions_of_key: list[FunctionType], code: CodeType) -> bool:
    """Give functions another code; whether they can have it."""
    try:
        for each in functions_of_key:
            each.__code__ = code
    except ValueError:
        return False
    return True
