"""The effect of the extra map on the whole process: the levels of its loggers (KV-2).

Several resource managers share one process. The latest map counts, and the log names the settings
that it replaces (RM-7). Only loggers that a map names are changed. A logger that the next map does
not name any more gets its earlier level back. No logger is created for a map, because a process
never frees one: only loggers of the specification and loggers in use count. Values of the map may
be secret, so none of them is ever logged (EXT-23).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from remuda.base.errors import ProtocolError
from remuda.config import settings
from remuda.config.findings import cut, one_line
from remuda.config.schema import Configuration
from remuda.config.setting_table import is_process_wide

_log = logging.getLogger("remuda.config")

_LEVELS: Final = {
    settings.DEBUG: logging.DEBUG,
    settings.INFO: logging.INFO,
    settings.WARN: logging.WARNING,
    settings.ERROR: logging.ERROR,
    settings.DPANIC: logging.CRITICAL,
    settings.PANIC: logging.CRITICAL,
    settings.FATAL: logging.CRITICAL,
}

# Names for ranges of Python's levels, by upper bound; all higher levels share one name.
_NAMES_OF_LEVELS: Final = (
    (logging.DEBUG, "debug"),
    (logging.INFO, "info"),
    (logging.WARNING, "warn"),
    (logging.ERROR, "error"),
)
_COARSEST: Final = "fatal"

_ROOT: Final = "remuda"
_DEFAULT_KEY: Final = "log.level"

# The loggers of the core that the specification lists, without the "core." in front (KV-2).
_LISTED: Final = (
    *("config", "diagnostics", "entrypoint", "events", "metrics", "opentracing", "resources"),
    *("rest", "rmproxy", "rpc", "security", "utils", "scheduler"),
    *("scheduler.allocation", "scheduler.application", "scheduler.application.usage"),
    *("scheduler.context", "scheduler.fsm", "scheduler.health", "scheduler.node"),
    *("scheduler.nodesusage", "scheduler.partition", "scheduler.preemption", "scheduler.queue"),
    *("scheduler.reservation", "scheduler.ugm"),
)

# The most keys that a warning names; further ones are only counted.
_TOLD: Final = 10

# Loggers of the specification whose counterpart here has another name.
_NAMES: Final = {"core.scheduler": "remuda.runtime", "core.rmproxy": "remuda.si"}


def logger_name(core_name: str) -> str:
    """Return the Python logger for a logger of the specification, "" if it is not ours.

    ``core`` and the loggers below it become ``remuda`` and those below that. Rules: KV-2.
    """
    for known, ours in _NAMES.items():
        if core_name == known or core_name.startswith(f"{known}."):
            return ours + core_name.removeprefix(known)
    if core_name == "core" or core_name.startswith("core."):
        return _ROOT + core_name.removeprefix("core")
    return ""


_OURS: Final = frozenset({_ROOT, *[logger_name(f"core.{name}") for name in _LISTED]})


def change_level(logger: str, level: str) -> str:
    """Set the level of one logger until it is changed again; return the old level.

    ``logger``: its name in the specification or in Python, "" for all of ours. ``level``: as in a
    map. A logger without a level has that of the logger above it.

    Raises: ProtocolError. Rules: KV-2.
    """
    name = logger_name(logger) or logger or _ROOT
    if name != _ROOT and not name.startswith(f"{_ROOT}."):
        raise ProtocolError(f"logger {cut(logger)!r} is not one of the scheduler")
    if name not in _OURS and name not in logging.Logger.manager.loggerDict:
        raise ProtocolError(f"there is no logger {cut(logger)!r}")
    wanted = settings.parse_level(level) if level else None
    if wanted is None:
        raise ProtocolError(f"{cut(level)!r} is no level; use debug, info, warn or error")
    changed = logging.getLogger(name)
    before = _level_name(changed.getEffectiveLevel())
    changed.setLevel(_LEVELS[wanted])
    _log.info("level of logger %s: %s, was %s", name, _level_name(_LEVELS[wanted]), before)
    return before


def finest_level() -> str:
    """Return the name of the finest level that any logger of ours is set to. Implements: DMP-9.

    If none is set, it is the level inherited from above. Any thread.
    """
    known = dict(logging.Logger.manager.loggerDict)
    named = [known[name] for name in known if name == _ROOT or name.startswith(f"{_ROOT}.")]
    loggers = [each for each in named if isinstance(each, logging.Logger)]
    levels = [each.level for each in loggers if each.level != logging.NOTSET]
    return _level_name(min(levels, default=logging.getLogger(_ROOT).getEffectiveLevel()))


def _level_name(level: int) -> str:
    """Return the name of the specification for a level of Python. Rules: KV-2, DMP-9.

    A level in between has the coarser name, because messages of that level are logged.
    """
    for bound, name in _NAMES_OF_LEVELS:
        if level <= bound:
            return name
    return _COARSEST


class ProcessSettings:
    """Applies extra maps as they come into force; a watcher of configurations. Core thread.

    Rules: RM-7, KV-1, KV-2.
    """

    def __init__(self) -> None:
        self._latest: tuple[str, Mapping[str, str]] = ("", {})
        self._before: dict[str, int] = {}

    def __call__(
        self, rm_id: str, configuration: Configuration, extra: Mapping[str, str] | None
    ) -> None:
        """Apply the map of this RM; None: it left the map as it was."""
        if extra is None:
            return
        parsed, faults = settings.read_settings(extra)
        for fault in faults[:_TOLD]:
            _log.warning("resource manager %r: %s", rm_id, fault.text())
        if len(faults) > _TOLD:
            _log.warning("resource manager %r: %d more such settings", rm_id, len(faults) - _TOLD)
        self._warn_of_conflict(rm_id, extra)
        unused = self._set_levels(parsed.log_levels, _DEFAULT_KEY in extra)
        if unused:
            text = "resource manager %r: levels without effect, there are no such loggers: %s"
            _log.warning(text, rm_id, _named(unused))

    def _warn_of_conflict(self, rm_id: str, extra: Mapping[str, str]) -> None:
        other, latest = self._latest
        self._latest = (rm_id, extra)
        keys = [
            key
            for key in sorted({*extra, *latest})
            if is_process_wide(key) and extra.get(key) != latest.get(key)
        ]
        if keys and other not in ("", rm_id):
            _log.warning(
                "settings of resource manager %r replace those of %r for the whole process: %s",
                rm_id,
                other,
                _named(keys),
            )

    def _set_levels(self, levels: settings.LogLevels, default_given: bool) -> list[str]:
        """Set the levels; return the loggers of the core that are none."""
        wanted = {_ROOT: levels.default} if default_given else {}
        unused = []
        for core_name, level in levels.loggers.items():
            name = logger_name(core_name)
            if name in _OURS or (name and name in logging.Logger.manager.loggerDict):
                wanted[name] = level
            elif name:
                unused.append(core_name)
        for name in [name for name in self._before if name not in wanted]:
            logging.getLogger(name).setLevel(self._before.pop(name))
        for name, level in wanted.items():
            logger = logging.getLogger(name)
            self._before.setdefault(name, logger.level)
            logger.setLevel(_LEVELS[level])
        return unused


def _named(names: Sequence[str]) -> str:
    """Return the first of some names for the log, shortened, and the number of the others."""
    told = [one_line(cut(name)) for name in names[:_TOLD]]
    more = [f"and {len(names) - _TOLD} more"] if len(names) > _TOLD else []
    return ", ".join(told + more)
