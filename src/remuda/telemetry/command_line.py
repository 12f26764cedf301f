"""The command line of the process, without secrets (REST-55)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_HIDDEN: Final = "..."
_SECRET: Final = re.compile(r"token|passw|secret|credential|api-?key|private-?key", re.IGNORECASE)
_IN_ADDRESS: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)[^/@\s]*@", re.IGNORECASE)


def shown_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with secrets replaced: the values of options named like a secret.

    A value follows ``=`` or is the next argument. Users and passwords in addresses are replaced
    too.
    """
    shown: list[str] = []
    hide = False
    for each in arguments:
        name, equals, _ = each.partition("=")
        named = bool(_SECRET.search(name))
        if hide and not each.startswith("-"):
            shown.append(_HIDDEN)
        elif named and equals:
            shown.append(f"{name}={_HIDDEN}")
        else:
            shown.append(_IN_ADDRESS.sub(rf"\g<scheme>{_HIDDEN}@", each))
        hide = each.startswith("-") and named and not equals
    return shown
