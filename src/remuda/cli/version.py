"""What ``remuda --version`` tells."""

from __future__ import annotations

import remuda
from remuda.runtime.build import core_build


def version_line() -> str:
    """Return the version, and which build of the core is installed."""
    return f"remuda {remuda.__version__} ({core_build()})"
