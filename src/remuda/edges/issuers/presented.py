"""What a token of an issuer showed when it was verified (EXT-31)."""

from __future__ import annotations

from collections.abc import Mapping

from remuda.base.message import message
from remuda.edges.issuers.settings import Trust


@message
class Presented:
    """A token that was verified.

    ``trust``: how. ``key``: the digest of the key that signed it. ``ends``: seconds since 1970
    after which it is not accepted, the leeway included.
    """

    trust: Trust
    key: bytes
    claims: Mapping[str, object]
    ends: float
