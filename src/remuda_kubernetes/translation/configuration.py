"""Configuration: from two ConfigMaps to settings, all or nothing.

A change with a fault in it changes nothing and is reported. Settings that only a restart can change
keep their value, and are reported, too. The queue file is only passed on: the scheduler judges it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final

from remuda.base.go_text import parse_whole
from remuda_kubernetes.objects.cluster import ConfigMap
from remuda_kubernetes.translation.config_maps import merged
from remuda_kubernetes.translation.findings import Finding, shown
from remuda_kubernetes.translation.settings import IGNORED, KEYS, OWN_PREFIXES, Key, Settings

_FINDINGS_LIMIT: Final = 20
_ENTRIES_LIMIT: Final = 1_000
_QUEUE_FILE: Final = ".yaml"
_LOG: Final = "log."
_LEVEL: Final = ".level"

# The scheduler's levels as the numbers of Python's logging.
_LEVELS: Final = {
    "debug": 10,
    "info": 20,
    "": 20,
    "warn": 30,
    "error": 40,
    "dpanic": 50,
    "panic": 50,
    "fatal": 50,
}
_NUMBERED: Final = (10, 20, 30, 40, 50, 50, 50)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings to use now, and what to report.

    ``refused``: whether there are errors. Then a change has no effect; at the start, keys with an
    error have their default. ``restart``: keys whose new value needs a restart.
    """

    settings: Settings
    findings: tuple[Finding, ...] = ()
    restart: tuple[str, ...] = ()
    refused: bool = False


def first_configuration(defaults: ConfigMap | None, configs: ConfigMap | None) -> Configuration:
    """Return the settings to start with. A key with a fault has its default, and is reported."""
    texts, found = merged((defaults, configs))
    values, findings = _values(texts)
    every = (*found, *findings)
    return Configuration(
        _settings(values, texts), _worst(every), refused=any(each.error for each in every)
    )


def changed_configuration(
    old: Settings, defaults: ConfigMap | None, configs: ConfigMap | None
) -> Configuration:
    """Return the settings after a change of the ConfigMaps.

    With a fault nothing changes. Keys that need a restart keep their value.
    """
    if not old.hot_reload:
        return Configuration(old, (_HOT_RELOAD_OFF,))
    texts, found = merged((defaults, configs))
    values, faults = _values(texts)
    findings = (*found, *faults)
    if any(each.error for each in findings):
        return Configuration(old, _worst(findings), refused=True)
    new = _settings(values, texts)
    restart = tuple(key.name for key in KEYS if not key.reload and _get(new, key) != _get(old, key))
    if restart:
        new = _put(new, {key: _get(old, key) for key in KEYS if key.name in restart})
        # The queue file of the policy group that stays in force.
        new = replace(new, queues=texts.get(new.policy_group + _QUEUE_FILE, ""))
        findings = (*findings, *(_needs_restart(name) for name in restart))
    return Configuration(new, _worst(findings), restart)


def _worst(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return as many findings as an event can hold, errors first."""
    return tuple(sorted(findings, key=lambda each: not each.error)[:_FINDINGS_LIMIT])


def _settings(values: Mapping[Key, Any], texts: Mapping[str, str]) -> Settings:
    found = _put(Settings(), values)
    return replace(
        found,
        queues=texts.get(found.policy_group + _QUEUE_FILE, ""),
        extra={name: text for name, text in texts.items() if not name.endswith(_QUEUE_FILE)},
    )


def _put(settings: Settings, values: Mapping[Key, Any]) -> Settings:
    own = {key.attribute: value for key, value in values.items() if not key.admission}
    admission = {key.attribute: value for key, value in values.items() if key.admission}
    return replace(settings, admission=replace(settings.admission, **admission), **own)


def _get(settings: Settings, key: Key) -> object:
    return getattr(settings.admission if key.admission else settings, key.attribute)


def _values(texts: Mapping[str, str]) -> tuple[dict[Key, Any], list[Finding]]:
    """Return the values of all keys that are there and can be read, and what is wrong."""
    values: dict[Key, Any] = {}
    findings = []
    for key in KEYS:
        name = key.alias if key.alias in texts and key.name not in texts else key.name
        text = texts.get(name)
        if text is None:
            continue
        value = key.parse(text.strip())
        if value is None:
            findings.append(Finding(name, f"{shown(text)} cannot be read", key.advice, error=True))
        else:
            values[key] = value
    if len(texts) > _ENTRIES_LIMIT:
        findings.append(
            Finding(
                "ConfigMaps",
                f"{len(texts)} entries are too many for the scheduler",
                f"keep at most {_ENTRIES_LIMIT}",
                error=True,
            )
        )
    findings += _log_findings(texts)
    findings += _unknown_keys(texts)
    return values, findings


def _unknown_keys(texts: Mapping[str, str]) -> list[Finding]:
    known = {key.name for key in KEYS} | {key.alias for key in KEYS} | IGNORED
    unknown = [
        name for name in sorted(texts) if name.startswith(OWN_PREFIXES) and name not in known
    ]
    findings = []
    for name in unknown[:_FINDINGS_LIMIT]:
        near = get_close_matches(name, known, 1)
        advice = f"did you mean {near[0]}?" if near else "remove it"
        findings.append(Finding(shown(name), "there is no such key, it does not count", advice))
    return findings


def _logger(key: str) -> str | None:
    """Return the logger whose level a key sets, "" for all; None if it is no such key."""
    if key == "log.level":
        return ""
    if not (key.startswith(_LOG) and key.endswith(_LEVEL)):
        return None
    logger = key[len(_LOG) : -len(_LEVEL)]
    return None if not logger or ".." in logger or " " in logger else logger


def log_level(text: str) -> int | None:
    """Return a level as a number of Python's logging, None if it is none (KV-2)."""
    text = text.strip()
    number = parse_whole(text)
    if number is not None:
        return _NUMBERED[max(-1, min(5, number)) + 1]
    return _LEVELS.get(text.lower())


def _log_findings(texts: Mapping[str, str]) -> list[Finding]:
    return [
        Finding(
            name,
            f"{shown(text)} is no level and does not count",
            "write debug, info, warn or error",
        )
        for name, text in sorted(texts.items())
        if _logger(name) is not None and log_level(text) is None
    ][:_FINDINGS_LIMIT]


def _needs_restart(name: str) -> Finding:
    return Finding(
        name, "its new value does not count yet", "restart the scheduler's pod to apply it"
    )


_HOT_RELOAD_OFF: Final = Finding(
    "service.enableConfigHotRefresh",
    "is false, so changes of the configuration do not count",
    "restart the scheduler's pod to apply them",
)
