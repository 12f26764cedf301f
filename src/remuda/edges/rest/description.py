"""What the HTTP API says about itself: a document, and a page to read and try it (REST-123).

The page and what it needs are part of the package, and it loads nothing from anywhere else; its
content security policy has browsers see to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from remuda.edges.rest import dao
from remuda.edges.rest.asking import Asked, Views
from remuda.edges.rest.endpoint import Body, Endpoint, Handler

_HERE: Final = Path(__file__).parent

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
    "/ws/v1/openapi.json": Endpoint(document),
    "/ws/v1/docs": Endpoint(_part("page.html", "text/html; charset=utf-8")),
    "/ws/v1/docs/page.css": Endpoint(_part("page.css", "text/css; charset=utf-8")),
    "/ws/v1/docs/page.js": Endpoint(_part("page.js", "text/javascript; charset=utf-8")),
}
