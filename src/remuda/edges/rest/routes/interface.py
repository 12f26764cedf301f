"""The web interface: a page and its files, which ask the HTTP API for all that they show.

The files are built from the sources in ui/ of the repository (`make ui`) and are part of the
package. They hold nothing of the cluster, so everybody gets them; what they ask needs the rights of
the caller. Rules: chapter 98.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from remuda.edges.rest.requests.asking import Asked, Views
from remuda.edges.rest.requests.endpoint import Body, Endpoint
from remuda.edges.rest.requests.errors import FILE_NOT_FOUND, ApiError

_HERE: Final = Path(__file__).parents[1] / "ui"
_PAGE: Final = "index.html"

# No script and no style but those of the files; nothing from elsewhere; no page may frame this one.
# With trusted types the browser refuses to turn any text into markup.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)

_TYPES: Final[Mapping[str, str]] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

# The name of a file says what is in it, except for the page.
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_ASK_AGAIN: Final = "no-cache"


@cache
def _files() -> Mapping[str, Path]:
    """Return the files by name; other files of the machine cannot be named."""
    return {each.name: each for each in _HERE.iterdir() if each.suffix in _TYPES}


@cache
def _answer(name: str) -> Body:
    """Return one file with its headers. Implements: EXT-85."""
    path = _files()[name]
    headers = {
        "Content-Security-Policy": _POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": _ASK_AGAIN if name == _PAGE else _FOR_EVER,
    }
    content = path.read_bytes()
    return Body(content, _TYPES[path.suffix], cors=False, headers=headers, by_accept=False)


async def page(_views: Views, _asked: Asked) -> object:
    """The page of the interface. Implements: WEB-3."""
    return _answer(_PAGE)


async def part(_views: Views, asked: Asked) -> object:
    """One file of the interface. Raises: ApiError 404."""
    name = asked.path["name"]
    if name not in _files():
        raise ApiError(404, FILE_NOT_FOUND)
    return _answer(name)


INTERFACE_ROUTES: Final[Mapping[str, Endpoint]] = {
    "/ui/": Endpoint(page),
    "/ui/{name}": Endpoint(part),
}
