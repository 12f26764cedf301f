"""Two ConfigMaps as one map of texts, packed entries unpacked.

The scheduler never sees the ConfigMaps: it gets the queue file and the other entries as texts.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable
from typing import Final

from remuda_kubernetes.objects.cluster import ConfigMap
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.translation.findings import Finding, shown

# Bytes of all packed entries together after unpacking. A ConfigMap of 1 MiB could unpack to 1 GiB.
UNPACKED_LIMIT: Final = 10_000_000
_PACKED: Final = ".gz"


def merged(maps: Iterable[ConfigMap | None]) -> tuple[dict[str, str], tuple[Finding, ...]]:
    """Return the entries of ConfigMaps; a later map wins, in one map packed entries win.

    An entry that cannot be read is a finding with ``error`` and left out. Implements: KV-3.
    """
    texts: dict[str, str] = {}
    findings: list[Finding] = []
    left = UNPACKED_LIMIT
    for each in maps:
        if each is None:
            continue
        texts.update(each.data or {})
        for name, packed in (each.binary_data or {}).items():
            where = f"ConfigMap {each.name}: binaryData {shown(name)}"
            if not name.lower().endswith(_PACKED):
                findings.append(
                    Finding(
                        where,
                        "is not packed in a known way and does not count",
                        "pack it with gzip and let its name end in .gz, or put it into data",
                    )
                )
                continue
            try:
                unpacked = gunzip(packed, left)
                texts[name[: -len(_PACKED)]] = unpacked.decode()
                left -= len(unpacked)
            except ObjectError as error:
                findings.append(Finding(where, str(error), _PACK_AGAIN, error=True))
            except UnicodeDecodeError:
                findings.append(Finding(where, "is no text in UTF-8", _PACK_AGAIN, error=True))
    return texts, tuple(findings)


def gunzip(packed: bytes, limit: int) -> bytes:
    """Return unpacked bytes, at most ``limit``; memory stays within that, too.

    Raises: ObjectError if there are more, or if the bytes are not gzip.
    """
    try:
        found = gzip.GzipFile(fileobj=io.BytesIO(packed)).read(limit + 1)
    except EOFError:
        raise ObjectError("ends in the middle") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ObjectError(f"cannot be unpacked ({error})") from None
    if len(found) > limit:
        raise ObjectError(f"unpacks to more than {limit} bytes")
    return found


_PACK_AGAIN: Final = (
    "pack the text anew with gzip; "
    f"packed entries may have {UNPACKED_LIMIT // 10**6} MB together when unpacked"
)
