"""What resource managers set for their own connections, in their extra maps (RM-15, RM-18)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.config.schema import Configuration
from remuda.config.settings import read_settings

_KEYS: Final = ("rm.outboundLimit", "rm.pauseTimeout")


class Wishes:
    """The settings of RMs that set any. Noted on the core thread, read on any. Rules: KV-1."""

    def __init__(self) -> None:
        self._extra: dict[str, Mapping[str, str]] = {}

    def note(self, rm_id: str, _config: Configuration, extra: Mapping[str, str] | None) -> None:
        """Remember what an RM set; a map replaces the one before. Core thread."""
        if extra is not None:
            self.forget(rm_id)
            own = {key: extra[key] for key in _KEYS if key in extra}
            if own:
                self._extra[rm_id] = own

    def forget(self, rm_id: str) -> None:
        """An RM is gone."""
        self._extra.pop(rm_id, None)

    def kept_limit(self, rm_id: str) -> int | None:
        """Return how many messages an RM wants kept while it is gone, None if it says nothing.

        Rules: RM-15.
        """
        extra = self._extra.get(rm_id, {})
        return read_settings(extra)[0].rm_outbound_limit if _KEYS[0] in extra else None

    def pause_ns(self, rm_id: str) -> int:
        """Return how long an RM may be away, negative: for ever. Rules: RM-18."""
        return read_settings(self._extra.get(rm_id, {}))[0].rm_pause_timeout_ns
