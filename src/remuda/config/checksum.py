"""The checksum that tells whether a configuration text is the one already in force.

The text may record its own checksum in a line, which is left out of the checksum.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

# "checksum: " and up to 64 characters: what the reference cuts out, where it is a key of the
# document and not part of something else. Implements: CHK-4.
_RECORDED: Final = re.compile(r"^checksum: [^\r\n]{0,64}", re.MULTILINE)


def checksum(text: str) -> str:
    """Return the SHA-256 of the text without a recorded checksum, 64 upper-case hex digits.

    White space and comments count. Implements: CHK-1, CHK-2. Rules: CHK-4.
    """
    return hashlib.sha256(_RECORDED.sub("", text).encode()).hexdigest().upper()
