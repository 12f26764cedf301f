"""Answers that are not sent again to a client that has them already.

The tag of an answer depends on its content only, so it stays valid after a restart. It is a weak
tag: a compressed answer has the same. Implements: REST-124.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import Final

from remuda.edges.rest.requests.asking import Asked, Views
from remuda.edges.rest.requests.endpoint import Body, Handler
from remuda.edges.rest.shapes import dao

_DIGITS: Final = 32


def conditional(handler: Handler) -> Handler:
    """Return a handler that tags the answers of another one: shapes or Bodies.

    It answers 304 without content if the client has the answer already.
    """

    async def answer(views: Views, asked: Asked) -> object:
        found = await handler(views, asked)
        body = found if isinstance(found, Body) else Body(dao.encode(found), dao.JSON_TYPE)
        tag = await asyncio.to_thread(entity_tag, body)
        headers = {**body.headers, "ETag": tag, "Cache-Control": "no-cache"}
        if has_tag(asked.known, tag):
            return Body(b"", body.media_type, cors=body.cors, headers=headers, status=304)
        return Body(body.content, body.media_type, cors=body.cors, headers=headers)

    return answer


def entity_tag(body: Body) -> str:
    """Return a text that changes with the content or its type."""
    content = body.media_type.encode() + b"\n" + body.content
    return f'W/"{hashlib.sha256(content).hexdigest()[:_DIGITS]}"'


def has_tag(known: str, tag: str) -> bool:
    """Whether the value of an ``If-None-Match`` header names a tag, weak or strong, or is ``*``."""
    offers = [offer.strip().removeprefix("W/") for offer in known.split(",")]
    return "*" in offers or tag.removeprefix("W/") in offers
