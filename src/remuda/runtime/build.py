"""Tells which build of the core runs: plain Python, or the same files compiled by mypyc."""

from __future__ import annotations

from importlib.machinery import SOURCE_SUFFIXES
from importlib.util import find_spec


def core_build() -> str:
    """Return which build of the core runs here: ``interpreted`` or ``compiled``.

    The core is looked up, not loaded, so the question costs almost nothing.
    """
    found = find_spec("remuda.core.scheduler")
    assert found is not None
    assert found.origin is not None
    return "interpreted" if found.origin.endswith(tuple(SOURCE_SUFFIXES)) else "compiled"
