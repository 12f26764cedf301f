"""How flat records are declared.

Messages are values: nothing may change one after it was built. Truly frozen dataclasses cost
four times as much to build as plain slotted ones, so the type checker enforces the rule in
production and the tests switch real freezing on with ``REMUDA_STRICT_RECORDS=1``.

The few records made for every ask and allocation are not declared with ``message`` but as
dataclasses with a constructor of their own and ``Final`` fields: those mypyc compiles to native
classes, five times as quick to build, which nothing can write to. They are ``acyclic``: no
collector looks at them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from reprlib import recursive_repr
from typing import TYPE_CHECKING, TypeVar, dataclass_transform

T = TypeVar("T")

if TYPE_CHECKING:

    @dataclass_transform(frozen_default=True)
    def message(cls: type[T]) -> type[T]:
        """Declare a flat record; see the module's text."""
        return cls

else:
    _STRICT = os.environ.get("REMUDA_STRICT_RECORDS") == "1"

    @recursive_repr()
    def _shown(self):
        """Return what the `repr` of a dataclass would: one function for all saves time at start."""
        shown = [f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def message(cls):
        """Declare a flat record; see the module's text."""
        record = dataclass(slots=True, frozen=_STRICT, repr=False)(cls)
        if "__repr__" not in cls.__dict__:
            record.__repr__ = _shown
        if _STRICT:
            # Frozen ones could be hashed, plain ones cannot; tests must not hide that.
            record.__hash__ = None
        return record
