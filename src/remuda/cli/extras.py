"""What a command needs beyond a plain installation, and what to do where that is not there."""

from __future__ import annotations

from importlib.util import find_spec

from remuda.base.errors import UsageError


def require(extra: str, purpose: str, *modules: str) -> None:
    """Go on only if the libraries of an extra are installed.

    Raises: UsageError, one line that says what to install.
    """
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"{purpose} needs {' and '.join(missing)}, which a plain installation leaves out:"
            f" install remuda with its extra '{extra}', for example pip install 'remuda[{extra}]'"
        )
