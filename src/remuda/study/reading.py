"""Reads a study file: YAML with fixed keys, every fault with its place.

The text is composed and its values are read as those of a queue configuration are (chapter 10), so
the same words mean the same in both files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol, TypeVar

from remuda.base.errors import ConfigError, Problem, UsageError
from remuda.config.compose import compose
from remuda.config.fields import FieldReader
from remuda.config.findings import Findings, cut
from remuda.config.settings import RESERVATION_DELAY
from remuda.config.tree import ListNode, MapNode, Node, is_null
from remuda.runtime.configuration.text import read_file
from remuda.runtime.reservation import read_delay
from remuda.sim.shape import looks_like_shape
from remuda.sim.traces.detect import AUTO
from remuda.sim.traces.rows import nanoseconds
from remuda.sim.workload import SECOND_NS
from remuda.study import keys
from remuda.study.plan import (
    Alternative,
    ConfigurationEntry,
    Failures,
    Study,
    TraceEntry,
    Variant,
    Variation,
)

SEEDS_LIMIT: Final = 1_000
RUNS_LIMIT: Final = 100_000
_SEED_LIMIT: Final = 2**53
_CONFIDENCE: Final = (0.5, 0.999)
_CONFIDENCE_DEFAULT: Final = 0.95
_RULE: Final = "EXT-55"
_NAME: Final = re.compile(keys.NAME_PATTERN)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Entry = TypeVar("_Entry", bound=_Named)
_Found_co = TypeVar("_Found_co", covariant=True)


def read_study(path: Path) -> Study:
    """Return the study in a file.

    Raises: UsageError if it cannot be read; ConfigError with every fault. Implements: EXT-55.
    """
    data = read_file(path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        problem = Problem("", _RULE, "it is not UTF-8 text", hint="a study is a YAML text")
        raise ConfigError([problem], str(path)) from None
    node = compose(text, str(path))
    findings = Findings(str(path))
    if not isinstance(node, MapNode):
        hint = "begin with traces: and a list of traces below it"
        raise ConfigError([Problem("", _RULE, "a study is a mapping", hint=hint)], str(path))
    study = _Reader(path, findings).study(node)
    findings.raise_if_any()
    return study


class _Reader:
    """Reads the sections of one file; faults end up in the findings."""

    def __init__(self, source: Path, findings: Findings) -> None:
        self._source = source
        self._fields = FieldReader(findings)

    def study(self, node: MapNode) -> Study:
        found = self._section(node, "", keys.STUDY)
        traces = self._entries(found, "traces", self._trace)
        own = ConfigurationEntry("own", None, "")
        configurations = self._entries(found, "configurations", self._configuration) or (own,)
        plain = Variant("plain", None, RESERVATION_DELAY, False, keys.OFF, "")
        variants = self._entries(found, "variants", self._variant) or (plain,)
        count = self._count(found, "seeds", 1, 1, SEEDS_LIMIT)
        first = self._count(found, "first-seed", 0, 0, _SEED_LIMIT)
        runs = len(traces) * len(configurations) * len(variants) * count
        if runs > RUNS_LIMIT:
            text = f"{runs:,} runs are more than {RUNS_LIMIT:,}"
            self._refuse(node, "", text, "compare fewer things at a time")
        return Study(
            source=str(self._source),
            title=self._text(found, "title", "") or self._source.stem,
            traces=traces,
            configurations=configurations,
            variants=variants,
            seeds=tuple(range(first, first + count)),
            variation=self._variation(found.get("variation")),
            baseline=self._baseline(found.get("baseline"), configurations, variants),
            confidence=self._part(found, "", "confidence", _CONFIDENCE_DEFAULT, _CONFIDENCE),
        )

    # ---------------------------------------------------------------------------- entries

    def _trace(self, node: Node, path: str) -> TraceEntry:
        found = self._section(node, path, keys.TRACE)
        nodes = self._text(found, "nodes", path) or None
        if nodes is not None and not looks_like_shape(nodes):
            nodes = str(self._beside(nodes))
        return TraceEntry(
            name=self._name(found, node, path),
            workload=self._beside(self._text(found, "workload", path)),
            nodes=nodes,
            format=self._choice(found, "format", path, keys.TRACE) or AUTO,
            queue_by=self._choice(found, "queue-by", path, keys.TRACE),
            from_seconds=self._seconds_text(found, "from", path),
            to_seconds=self._seconds_text(found, "to", path),
            place=self._place(node),
        )

    def _configuration(self, node: Node, path: str) -> ConfigurationEntry:
        found = self._section(node, path, keys.CONFIGURATION)
        file = self._text(found, "file", path)
        name = self._name(found, node, path)
        return ConfigurationEntry(name, self._beside(file) if file else None, self._place(node))

    def _variant(self, node: Node, path: str) -> Variant:
        found = self._section(node, path, keys.VARIANT)
        delay = self._text(found, "reservation-delay", path) or RESERVATION_DELAY
        try:
            read_delay(f"{path}.reservation-delay", delay)
        except UsageError:
            text = f"{cut(delay)} is not a duration above 0"
            at = found["reservation-delay"]
            hint = "write one such as 2s or 1m30s, or off"
            self._refuse(at, f"{path}.reservation-delay", text, hint)
        return Variant(
            name=self._name(found, node, path),
            node_sort=self._choice(found, "node-sort", path, keys.VARIANT),
            reservation_delay=delay,
            preemption=self._fields.boolean(found.get("preemption"), f"{path}.preemption"),
            gangs=self._choice(found, "gangs", path, keys.VARIANT) or keys.OFF,
            place=self._place(node),
        )

    def _variation(self, node: Node | None) -> Variation:
        if node is None:
            return Variation()
        path = "variation"
        found = self._section(node, path, keys.VARIATION)
        jitter = self._seconds_text(found, "arrival-jitter", path)
        return Variation(
            jitter_ns=nanoseconds(jitter) if jitter else 0,
            noise=self._part(found, path, "run-time-noise", 0.0, (0.0, 0.999_999)),
            failures=self._failures(found.get("node-failures"), f"{path}.node-failures"),
        )

    def _failures(self, node: Node | None, path: str) -> Failures | None:
        if node is None:
            return None
        found = self._section(node, path, keys.FAILURES)
        numbers: list[int] = []
        for key in ("every", "repair"):
            text = self._seconds_text(found, key, path) or "1"
            number = nanoseconds(text) // SECOND_NS
            if number < 1:
                self._refuse(found[key], f"{path}.{key}", "it is less than 1 s", "write 1 or more")
            numbers.append(number)
        return Failures(*numbers)

    def _baseline(
        self,
        node: Node | None,
        configurations: Sequence[ConfigurationEntry],
        variants: Sequence[Variant],
    ) -> Alternative:
        found = {} if node is None else self._section(node, "baseline", keys.BASELINE)
        configuration = self._known(found, "configuration", [each.name for each in configurations])
        return Alternative(configuration, self._known(found, "variant", [v.name for v in variants]))

    def _known(self, found: dict[str, Node], key: str, names: Sequence[str]) -> str:
        name = self._text(found, key, "baseline")
        if name and name not in names:
            hint = f"the names are {', '.join(names)}"
            self._refuse(found[key], f"baseline.{key}", f"no {key} is named {cut(name)}", hint)
        return name if name in names else names[0]

    # ----------------------------------------------------------------------------- values

    def _section(self, node: Node, path: str, name: str) -> dict[str, Node]:
        """Return the values of a section's keys without those that are null."""
        if not isinstance(node, MapNode):
            hint = f"write keys and values; the keys are {_names(name)}"
            self._refuse(node, path, f"a {name} must be a mapping", hint)
            return {}
        known = {key.name: key for key in keys.SECTION_KEYS[name]}
        found: dict[str, Node] = {}
        for word, (key, value) in self._fields.mapping(node, path, name).items():
            if word not in known:
                hint = f"the keys are {_names(name)}"
                self._refuse(key, path, f"a {name} has no key {cut(word)}", hint)
            elif not is_null(value):
                found[word] = value
        for word, one in known.items():
            if one.required and word not in found:
                text = f"a {name} must have the key {word}"
                self._refuse(node, path, text, f"for example {one.example}")
        return found

    def _entries(self, found: dict[str, Node], key: str, read: _Read[_Entry]) -> tuple[_Entry, ...]:
        """Return the entries of a list, which must have different names."""
        node = found.get(key)
        if node is None:
            return ()
        if isinstance(node, ListNode) and not node.items:
            self._refuse(node, key, "the list is empty", "write an entry, or leave the key out")
        taken: set[str] = set()
        entries: list[_Entry] = []
        for number, item in enumerate(self._fields.items(node, key, key)):
            path = f"{key}[{number}]"
            entry = read(item, path)
            if entry.name and entry.name in taken:
                text = f"another one is named {entry.name}, too"
                self._refuse(item, path, text, "give each a name of its own")
            taken.add(entry.name)
            entries.append(entry)
        return tuple(entries)

    def _name(self, found: dict[str, Node], node: Node, path: str) -> str:
        name = self._text(found, "name", path)
        if "name" in found and not _NAME.fullmatch(name):
            hint = "write up to 40 of a-z, 0-9, _ and -, a letter or digit first"
            self._refuse(found["name"], f"{path}.name", f"{cut(name)} is not a name", hint)
        return name

    def _text(self, found: dict[str, Node], key: str, path: str) -> str:
        return self._fields.text(found.get(key), f"{path}.{key}" if path else key)

    def _choice(self, found: dict[str, Node], key: str, path: str, section: str) -> str | None:
        text = self._text(found, key, path)
        choices = next(one.choices for one in keys.SECTION_KEYS[section] if one.name == key)
        if text and text not in choices:
            hint = f"write one of {', '.join(choices)}"
            self._refuse(found[key], f"{path}.{key}", f"{cut(text)} is not known", hint)
            return None
        return text or None

    def _seconds_text(self, found: dict[str, Node], key: str, path: str) -> str | None:
        text = self._text(found, key, path)
        try:
            nanoseconds(text or "0")
        except ValueError as error:
            self._refuse(found[key], f"{path}.{key}", str(error), "write seconds, such as 3600")
            return None
        return text or None

    def _part(
        self,
        found: dict[str, Node],
        path: str,
        key: str,
        default: float,
        limits: tuple[float, float],
    ) -> float:
        if key not in found:
            return default
        where = f"{path}.{key}" if path else key
        number = self._fields.number(found[key], where)
        if not limits[0] <= number <= limits[1]:
            text = f"{number:g} is not from {limits[0]:g} to {limits[1]:g}"
            self._refuse(found[key], where, text, "write a number between them")
            return default
        return number

    def _count(self, found: dict[str, Node], key: str, default: int, low: int, high: int) -> int:
        if key not in found:
            return default
        number = self._fields.unsigned(found[key], key)
        if not low <= number <= high:
            text = f"{number} is not from {low} to {high}"
            self._refuse(found[key], key, text, "write a whole number between them")
            return default
        return number

    def _beside(self, name: str) -> Path:
        """Return a file that the study names, from the study's own folder."""
        return self._source.parent / name

    def _place(self, node: Node) -> str:
        return f"{self._source}:{node.line}:{node.column}"

    def _refuse(self, node: Node, path: str, text: str, hint: str) -> None:
        self._fields.refuse(node, path, _RULE, text, hint)


class _Read(Protocol[_Found_co]):
    """Reads one entry of a list."""

    def __call__(self, node: Node, path: str, /) -> _Found_co: ...


def _names(section: str) -> str:
    return ", ".join(key.name for key in keys.SECTION_KEYS[section])
