"""The keys of a study file: the reader, the JSON Schema and the manual are made from this table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.config.key_kinds import BOOLEAN, COUNT, SECTION, SECTIONS, TEXT, Key
from remuda.config.schema import NODE_SORT_BINPACKING, NODE_SORT_FAIR
from remuda.sim.traces.detect import AUTO, READERS

STUDY: Final = "study"
TRACE: Final = "trace"
CONFIGURATION: Final = "configuration"
VARIANT: Final = "variant"
VARIATION: Final = "variation"
FAILURES: Final = "node failures"
BASELINE: Final = "baseline"

NUMBER: Final = "number"
SECONDS: Final = "seconds"
NAME: Final = "name"

# Names are parts of file names, also where capital letters do not count.
NAME_PATTERN: Final = "[a-z0-9][a-z0-9_-]{0,39}"

OFF: Final = "off"
GANGS: Final = (OFF, "soft", "hard")
QUEUE_BY: Final = ("user", "class", "vc", "none")

_RULES: Final = ("EXT-55",)


def _key(name: str, kind: str, default: str, meaning: str, example: str, **more: object) -> Key:
    settings: dict[str, object] = {"section": "", "required": False, "choices": ()} | more
    section, required, choices = settings["section"], settings["required"], settings["choices"]
    assert isinstance(section, str)
    assert isinstance(required, bool)
    assert isinstance(choices, tuple)
    return Key(
        name, kind, default, meaning, _RULES, example, section, required=required, choices=choices
    )


SECTION_KEYS: Final[Mapping[str, tuple[Key, ...]]] = {
    STUDY: (
        _key("title", TEXT, "the name of the file", "heading of the report", "title: Two orders"),
        _key(
            "traces",
            SECTIONS,
            "",
            "workloads to play, each with its cluster",
            "traces: [{name: week, workload: week.csv, nodes: nodes.csv}]",
            section=TRACE,
            required=True,
        ),
        _key(
            "configurations",
            SECTIONS,
            "one named `own` without a file",
            "queue configurations to compare",
            "configurations: [{name: today, file: queues.yaml}]",
            section=CONFIGURATION,
        ),
        _key(
            "variants",
            SECTIONS,
            "one named `plain` without options",
            "options to compare",
            "variants: [{name: tight, node-sort: binpacking}]",
            section=VARIANT,
        ),
        _key("seeds", COUNT, "1", "how many seeds, 1 to 1,000", "seeds: 20"),
        _key("first-seed", COUNT, "0", "the first seed; the others follow it", "first-seed: 100"),
        _key(
            "variation",
            SECTION,
            "none",
            "what differs between seeds",
            "variation: {arrival-jitter: 300}",
            section=VARIATION,
        ),
        _key(
            "baseline",
            SECTION,
            "the first configuration with the first variant",
            "what the others are compared with",
            "baseline: {configuration: today, variant: plain}",
            section=BASELINE,
        ),
        _key(
            "confidence",
            NUMBER,
            "0.95",
            "probability of the confidence intervals, 0.5 to 0.999",
            "confidence: 0.9",
        ),
    ),
    TRACE: (
        _key("name", NAME, "", "name in results", "name: week", required=True),
        _key(
            "workload",
            TEXT,
            "",
            "file with the tasks, plain or gzip; from the folder of the study file",
            "workload: week.csv",
            required=True,
        ),
        _key(
            "nodes",
            TEXT,
            "of the trace",
            "node list, or a shape such as `10xmemory=1000,vcore=4000`",
            "nodes: nodes.csv",
        ),
        _key(
            "format",
            TEXT,
            AUTO,
            "format of the workload",
            "format: swf",
            choices=(AUTO, *READERS),
        ),
        _key(
            "queue-by",
            TEXT,
            "vc if the trace has it, else none",
            "column that decides a task's queue",
            "queue-by: user",
            choices=QUEUE_BY,
        ),
        _key("from", SECONDS, "", "only tasks submitted then or later", "from: 3600"),
        _key("to", SECONDS, "", "only tasks submitted before", "to: 90000"),
    ),
    CONFIGURATION: (
        _key("name", NAME, "", "name in results", "name: today", required=True),
        _key(
            "file",
            TEXT,
            "one queue per value of `queue-by`",
            "queue configuration; from the folder of the study file",
            "file: queues.yaml",
        ),
    ),
    VARIANT: (
        _key("name", NAME, "", "name in results", "name: tight", required=True),
        _key(
            "node-sort",
            TEXT,
            "fair, or that of the configuration",
            "which node a task gets",
            "node-sort: binpacking",
            choices=(NODE_SORT_FAIR, NODE_SORT_BINPACKING),
        ),
        _key(
            "reservation-delay",
            TEXT,
            "2s",
            "how long a task waits before it may reserve a node; `off`: for ever",
            "reservation-delay: 10m",
        ),
        _key(
            "preemption",
            BOOLEAN,
            "false",
            "whether tasks may preempt others",
            "preemption: true",
        ),
        _key(
            "gangs",
            TEXT,
            OFF,
            "whether each task is a gang, and of which style",
            "gangs: soft",
            choices=GANGS,
        ),
    ),
    VARIATION: (
        _key(
            "arrival-jitter",
            SECONDS,
            "0",
            "each task is submitted up to this much earlier or later",
            "arrival-jitter: 300",
        ),
        _key(
            "run-time-noise",
            NUMBER,
            "0",
            "each run time changes by up to this part of itself; at least 0, below 1",
            "run-time-noise: 0.2",
        ),
        _key(
            "node-failures",
            SECTION,
            "none",
            "nodes that fail and come back",
            "node-failures: {every: 864000, repair: 3600}",
            section=FAILURES,
        ),
    ),
    FAILURES: (
        _key(
            "every",
            SECONDS,
            "",
            "mean time from the start or a repair of a node to its failure; 1 or more",
            "every: 864000",
            required=True,
        ),
        _key(
            "repair",
            SECONDS,
            "",
            "time until a failed node is back; 1 or more",
            "repair: 3600",
            required=True,
        ),
    ),
    BASELINE: (
        _key("configuration", NAME, "the first", "its configuration", "configuration: today"),
        _key("variant", NAME, "the first", "its variant", "variant: plain"),
    ),
}
