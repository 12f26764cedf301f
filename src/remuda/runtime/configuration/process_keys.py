"""Decides which callers may change settings of the whole process by an extra map (KV-6).

Event tracking, the buffer and the streams of events, the levels of loggers and the health checks
belong to the process, and every resource manager would change them for all others. Core thread.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from remuda.config.findings import cut, one_line
from remuda.config.setting_table import is_process_wide

_log = logging.getLogger("remuda.config")

# The most keys that a warning names, and the resource managers whose last warning is remembered.
_TOLD: Final = 10
_REMEMBERED: Final = 1_000


class ProcessKeys:
    """The process-wide part of the latest extra map whose owner may set it."""

    def __init__(self) -> None:
        self._in_force: dict[str, str] = {}
        self._told: dict[str, tuple[str, ...]] = {}

    def note(self, extra: Mapping[str, str]) -> None:
        """Note a map that came into force."""
        self._in_force = {key: extra[key] for key in extra if is_process_wide(key)}

    def without_right(self, rm_id: str, extra: Mapping[str, str]) -> dict[str, str]:
        """Return the map of an RM that may not set them: they stay as they are for the process.

        The log names those without effect, once. Rules: KV-6, EXT-23.
        """
        idle = tuple(
            sorted(
                key
                for key in extra
                if is_process_wide(key) and extra[key] != self._in_force.get(key)
            )
        )
        if idle and self._told.get(rm_id) != idle:
            named = ", ".join(one_line(cut(key)) for key in idle[:_TOLD])
            more = f" and {len(idle) - _TOLD} more" if len(idle) > _TOLD else ""
            text = "settings of resource manager %r without effect, its identity is no "
            _log.warning(text + "administrator: %s%s", cut(rm_id), named, more)
            self._told.pop(rm_id, None)
            while len(self._told) >= _REMEMBERED:
                del self._told[next(iter(self._told))]
            self._told[rm_id] = idle
        own = {key: value for key, value in extra.items() if not is_process_wide(key)}
        return {**own, **self._in_force}
