"""The form of names from outside that are kept, logged and shown unchanged.

A name without a bound costs memory while it is kept, and a name with line breaks could look like
another line of a log.
"""

from __future__ import annotations

from typing import Final

NAME_LIMIT: Final = 256


def name_fault(what: str, name: str) -> str:
    """Return why ``name`` cannot be that of a ``what``, "" if it can. Rules: RM-1, RM-4."""
    if len(name) > NAME_LIMIT:
        return f"{what} is longer than {NAME_LIMIT} characters"
    if any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in name):
        return f"{what} must not contain control characters"
    return ""
