"""From the two config maps of a cluster to what a registration carries (for authors of shims).

A cluster keeps the settings in config maps with texts and packed bytes. The scheduler never
sees those: an adapter merges them, takes the queue file out and hands over the rest as the extra
map. These functions do that merge as the rules say, within bounds.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.config.compose import TEXT_BYTES_LIMIT

_PACKED: Final = "gz"
_QUEUES: Final = ".yaml"


class ConfigMapError(RemudaError):
    """An entry of a config map cannot be unpacked; the message names it."""


@message
class ConfigMap:
    """The entries of one config map: texts, and bytes as they are after base64."""

    texts: Mapping[str, str] = field(default_factory=dict)
    binaries: Mapping[str, bytes] = field(default_factory=dict)


def merge_config_maps(
    defaults: ConfigMap, configs: ConfigMap, limit: int = TEXT_BYTES_LIMIT
) -> dict[str, str]:
    """Return one map of texts: those of ``defaults``, overwritten by those of ``configs``.

    In each, a packed entry ``KEY.gz`` is unpacked to ``KEY`` and wins over a text; a binary entry
    of another kind loses the last part of its key and its value. ``limit``: bytes that all
    unpacked entries together may have.

    Raises: ConfigMapError if an entry is not what it says, or crosses the limit. Implements: KV-3.
    """
    merged: dict[str, str] = {}
    left = limit
    for one in (defaults, configs):
        merged.update(one.texts)
        for key, data in one.binaries.items():
            name, _, kind = key.rpartition(".")
            unpacked = b""
            if kind.lower() == _PACKED:
                unpacked = _unpacked(key, data, left)
                left -= len(unpacked)
            merged[name or key] = _text(key, unpacked)
    return merged


def split_config_map(merged: Mapping[str, str], policy_group: str) -> tuple[str, dict[str, str]]:
    """Return the queue file of a policy group, "" without one, and the extra map. Rules: CFG-1."""
    extra = {key: text for key, text in merged.items() if not key.endswith(_QUEUES)}
    return merged.get(policy_group + _QUEUES, ""), extra


def _unpacked(key: str, data: bytes, limit: int) -> bytes:
    """Return what a packed entry holds, at most ``limit`` bytes of it."""
    try:
        found = gzip.GzipFile(fileobj=io.BytesIO(data)).read(limit + 1)
    except EOFError:
        raise ConfigMapError(f"entry {key} is cut off") from None
    except (gzip.BadGzipFile, zlib.error):
        raise ConfigMapError(f"entry {key} is not packed with gzip") from None
    if len(found) > limit:
        raise ConfigMapError(f"entry {key} unpacks to more than {limit} bytes")
    return found


def _text(key: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ConfigMapError(f"entry {key} is not UTF-8 text") from None
