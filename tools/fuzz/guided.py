"""One process that fuzzes one target, guided by coverage: ``python -m tools.fuzz.guided TARGET``.

Options behind the target's name are those of libFuzzer. The process ends at the first fault, and
writes the input that shows it.
"""

from __future__ import annotations

import sys

import atheris


def main() -> None:
    """Fuzz until the budget is spent or a fault is found."""
    with atheris.instrument_imports(include=["remuda"]):
        from tools.fuzz.targets import TARGETS  # noqa: PLC0415 - instrumented while it is imported
    atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGETS[sys.argv[1]].take)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
