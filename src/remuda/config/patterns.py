"""Regular expressions of placement filters: RE2, so that matching takes linear time.

Look-around, back-references and possessive forms do not exist there and are errors. A pattern is
bounded in length and in the memory of its program, because anyone who can send a configuration may
send one, and it is matched on every submission.
"""

from __future__ import annotations

from typing import Any, Final

import re2

# Characters of one pattern, and bytes of its program.
PATTERN_LENGTH_LIMIT: Final = 1_000
PATTERN_MEMORY_LIMIT: Final = 1 << 18


class PatternError(ValueError):
    """A text is no pattern; the message says why."""


def compiled(pattern: str) -> Any:
    """Return an expression ready to search in UTF-8 text; its time is linear there.

    Raises: PatternError if the text is none. Implements: PLC-52. Rules: CFG-83.
    """
    if len(pattern) > PATTERN_LENGTH_LIMIT:
        raise PatternError(f"longer than {PATTERN_LENGTH_LIMIT} characters")
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise PatternError(text) from None
    except UnicodeError:
        raise PatternError("not a text") from None


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = PATTERN_MEMORY_LIMIT
    options.log_errors = False
    options.never_capture = True
    return options


_OPTIONS: Final = _options()
