"""What a name from outside may look like that is kept, logged and shown as it is.

A name without bound costs memory for as long as it is kept, and one with line breaks could pass
for another line of a log.
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
