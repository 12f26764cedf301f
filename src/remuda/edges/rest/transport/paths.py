"""Request paths as they were sent: decoding and correction.

The edge matches routes on the undecoded path, so that an escaped slash stays part of a name
(REST-9), and answers a path that is right but for its spelling with the right one (REST-7).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from remuda.edges.rest.requests.errors import ApiError

_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


def decode(segment: str) -> str:
    """Return one raw path segment, percent-decoded exactly once.

    A plus sign is a plus sign. Raises: ApiError 400 if an escape is broken or not UTF-8.
    Implements: REST-9.
    """
    if _BAD_ESCAPE.search(segment):
        raise ApiError(400, f"invalid URL escape in path parameter {segment}")
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise ApiError(400, f"path parameter {segment} is not UTF-8") from None


def corrected(path: str, templates: Iterable[str]) -> str | None:
    """Return the path of the route that ``path`` is a misspelling of, or None.

    Misspelled means: trailing slash, letter case of fixed parts, double slashes, dot segments.
    Parameters keep their spelling. Implements: REST-7.
    """
    segments = _cleaned(path)
    for template in templates:
        wanted = _cleaned(template)
        if len(wanted) == len(segments) and all(map(_fits, wanted, segments)):
            end = "/" if wanted and template.endswith("/") else ""
            return "/" + "/".join(map(_pick, wanted, segments)) + end
    return None


def _cleaned(path: str) -> list[str]:
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    return segments


def _fits(wanted: str, segment: str) -> bool:
    return wanted.startswith("{") or wanted == segment.lower()


def _pick(wanted: str, segment: str) -> str:
    return segment if wanted.startswith("{") else wanted
