"""The description of the HTTP API: a document, a page to try it, and a first page.

The pages and their files are part of the package. They load nothing from elsewhere, and their
content security policy makes browsers enforce that. Rules: REST-123.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from remuda.edges.rest.requests.asking import Asked, Views
from remuda.edges.rest.requests.endpoint import Body, Endpoint, Handler
from remuda.edges.rest.shapes import dao

_HERE: Final = Path(__file__).parents[1]

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


@cache
def _content(name: str) -> bytes:
    return (_HERE / name).read_bytes()


async def document(_views: Views, _asked: Asked) -> object:
    """The OpenAPI document, in step with docs/spec/openapi.yaml (REST-123)."""
    return Body(_content("openapi.json"), dao.JSON_TYPE)


def _part(name: str, media_type: str) -> Handler:
    async def part(_views: Views, _asked: Asked) -> object:
        return Body(_content(f"page/{name}"), media_type, cors=False, headers=_PAGE_HEADERS)

    return part


DESCRIPTION_ROUTES: Final[Mapping[str, Endpoint]] = {
    "/": Endpoint(_part("start.html", "text/html; charset=utf-8")),
    "/ws/v1/openapi.json": Endpoint(document),
    "/ws/v1/docs": Endpoint(_part("page.html", "text/html; charset=utf-8")),
    "/ws/v1/docs/page.css": Endpoint(_part("page.css", "text/css; charset=utf-8")),
    "/ws/v1/docs/page.js": Endpoint(_part("page.js", "text/javascript; charset=utf-8")),
}
