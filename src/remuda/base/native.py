"""What tells mypyc about a class, for a package that runs without mypy's own libraries.

mypyc takes the mark off when it compiles; in plain Python it does nothing. So neither build needs
a library for it, and the type checker still sees the name that mypyc looks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["mypyc_attr"]

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**settings):
        """Return what leaves a class as it is; the settings are for mypyc."""
        return lambda cls: cls
