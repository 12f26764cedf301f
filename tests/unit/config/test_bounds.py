"""Hostile texts end in a refusal, soon and in little memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from remuda.base.errors import ConfigError, Problem
from remuda.config import load
from remuda.config.findings import PROBLEMS_LIMIT
from remuda.config.load import DEPTH_LIMIT, load_configuration

STATUS = Path("/proc/self/status")

CPU_SECONDS_LIMIT = 1.0
MEGABYTES_LIMIT = 200

needs_c_parser = pytest.mark.skipif(
    not hasattr(yaml, "CSafeLoader"), reason="the time bounds hold for the C parser of PyYAML"
)


def refusal(text: str) -> tuple[Problem, ...]:
    with pytest.raises(ConfigError) as refused:
        load_configuration(text)
    return refused.value.problems


def bomb() -> str:
    """Return nine levels of nine aliases each: 9^9 values when expanded."""
    lines = ["b0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    return "\n".join(lines)


def merge_bomb() -> str:
    lines = [f"b0: &a0 {{{', '.join(f'k{n}: v' for n in range(1000))}}}"]
    lines += [f"c{n}: {{<<: *a0}}" for n in range(20_000)]
    return "\n".join(lines)


def junk(piece: str) -> str:
    """Return 10 MB of one text again and again."""
    return piece * (9_999_999 // len(piece))


# Built when needed: together they would take more memory than the test allows.
HOSTILE: dict[str, Callable[[], str]] = {
    "alias bomb": bomb,
    "merge bomb": merge_bomb,
    "unknown keys": lambda: junk("a: b\n"),
    "distinct keys": lambda: "".join(f"k{n}: b\n" for n in range(900_000)),
    "list": lambda: "[" + junk("a,"),
    "brackets": lambda: junk("["),
    "anchors": lambda: "".join(f"- &a{n} x\n" for n in range(700_000)),
    "aliases": lambda: "- &a x\n" + "- *a\n" * 1_900_000,
    "tag directives": lambda: "".join(f"%TAG !a{n}! b\n" for n in range(500_000)),
    "tag directives, old line breaks": lambda: "".join(f"%TAG !a{n}! b\r" for n in range(500_000)),
    "one word": lambda: junk("a"),
    "quoted": lambda: '"' + junk("a b\n\n") + '"',
    "long number": lambda: (
        f"partitions: [{{queues: [{{name: a, resources: {{max: {{m: {'9' * 9_000_000}}}}}}}]}}]"
    ),
    "long name": lambda: (
        f"partitions: [{{queues: [{{name: {'a' * 5_000_000}, queues: [" + "{name: b}," * 400_000
    ),
}


# Reads a text from a file, as a served process would, and says what refusing it took: CPU
# seconds, problems, characters of the longest one, and the peak memory in KiB if it is known.
MEASURE = f"""
import pathlib, sys, time
from remuda.base.errors import ConfigError
from remuda.config.load import load_configuration
text = pathlib.Path(sys.argv[1]).read_text()
began = time.process_time()
try:
    load_configuration(text)
except ConfigError as error:
    seconds = time.process_time() - began
    lengths = [len(line) for line in str(error).splitlines()]
    status = pathlib.Path({str(STATUS)!r})
    lines = status.read_text().splitlines() if status.exists() else []
    peaks = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    print(seconds, len(lengths), max(lengths), *peaks)
"""


def measure(file: Path) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(file)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={name: value for name, value in os.environ.items() if name != "REMUDA_STRICT_RECORDS"},
    )
    return [float(number) for number in done.stdout.split()]


@needs_c_parser
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_text_is_refused_within_a_second_and_200_megabytes(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / "queues.yaml"
    file.write_text(HOSTILE[name]())
    seconds, problems, longest, *peak = measure(file)
    assert 1 <= problems <= PROBLEMS_LIMIT + 1
    assert longest < 1_000
    assert all(kibibytes / 1024 < MEGABYTES_LIMIT for kibibytes in peak)
    # A machine that does something else too may need several tries to show its speed.
    assert seconds < CPU_SECONDS_LIMIT or any(
        measure(file)[0] < CPU_SECONDS_LIMIT for _ in range(5)
    )


def test_ten_megabytes_are_read_and_a_byte_more_is_not() -> None:
    assert load_configuration("#" * 10_000_000).partitions == ()
    (problem,) = refusal("#" * 10_000_001)
    assert "10000001 bytes" in problem.message
    (problem,) = refusal("#" + "é" * 5_000_000)
    assert "10000001 bytes" in problem.message


def nested(levels: int) -> str:
    """Return queues below queues; every level nests two YAML levels deep."""
    text = "[]"
    for _ in range(levels):
        text = f"[{{name: q, queues: {text}}}]"
    return f"partitions: [{{queues: {text}}}]"


def test_queues_nest_as_deep_as_the_bound_allows() -> None:
    deepest = (DEPTH_LIMIT - 4) // 2
    (partition,) = load_configuration(nested(deepest)).partitions
    depth, queue = 0, partition.root
    while queue.queues:
        depth, queue = depth + 1, queue.queues[0]
    assert depth == deepest
    (problem,) = refusal(nested(deepest + 1))
    assert f"nested more than {DEPTH_LIMIT} levels deep" in problem.message


def test_aliases_cannot_hide_depth() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 200)]
    (problem,) = refusal("\n".join(lines))
    assert "levels deep" in problem.message
    assert problem.line == DEPTH_LIMIT


def test_collecting_problems_ends_at_a_limit() -> None:
    queues = ", ".join("{name: a b}" for _ in range(1000))
    problems = refusal(f"partitions: [{{queues: [{queues}]}}]")
    assert len(problems) == PROBLEMS_LIMIT + 1
    assert problems[0].rule == "CFG-61"
    assert problems[-1].message == "further problems are not shown"


def test_one_partition_may_name_256_resource_types() -> None:
    def text(count: int) -> str:
        amounts = ", ".join(f"t{n}: 1" for n in range(count))
        return f"partitions: [{{queues: [{{name: a, resources: {{max: {{{amounts}}}}}}}]}}]"

    (partition,) = load_configuration(text(256)).partitions
    assert len(partition.root.queues[0].maximum or {}) == 256
    (problem,) = refusal(text(300))
    assert problem.message == "more than 256 resource types in one partition"


@pytest.mark.remuda_rule("CFG-5")
@pytest.mark.parametrize("parser", ["c", "python"])
@pytest.mark.parametrize(
    "text, line",
    [
        ("a: [", 1),
        ("partitions:\n  - name: a\n   b: c", 3),
        ("a: b: c", 1),
        ("\ta: b", 1),
        ("a: \x00", 1),
        ("a: b\nc: \ud800", 0),
        ('a: "\\UFFFFFFFF"', 0),
        ("a: *b", 1),
        ("a: &a [*a]", 1),
        ("a: !python/object:os.system x", 1),
        ("a: !!binary aGk=", 1),
        ("a: !mine [b]", 1),
        ("%YAML 1.1\n%YAML 1.1\n---\na: b", 2),
        ("a: 'b", 1),
    ],
)
def test_what_is_not_yaml_is_refused_in_one_line(
    text: str, line: int, parser: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if parser == "python":
        monkeypatch.setattr(load, "_LOADER", yaml.SafeLoader)
    (problem,) = refusal(text)
    assert problem.rule == "CFG-5"
    assert problem.line >= line
    assert "\n" not in problem.text("x")


def test_a_standard_tag_says_a_scalar_is_text() -> None:
    text = "partitions: !!seq [!!map {queues: [{name: !!str a, parent: !!str yes}]}]"
    (partition,) = load_configuration(text).partitions
    assert partition.root.queues[0].parent is True
    (problem,) = refusal("partitions: [{queues: [{name: a, parent: !!str true}]}]")
    assert problem.rule == "CFG-15"


# Pieces that a configuration is made of, and pieces that break one.
WORDS = (
    "partitions queues name root resources max properties memory 10G parent nodesortpolicy "
    "placementrules tag << *a ~ 1.5 | % [ ] { } '"
)
PIECES = st.sampled_from(
    [*WORDS.split(" "), "&a ", "!x ", ": ", "- ", ", ", "\n", "\n  ", "\n    ", '"', "---\n"]
)


@pytest.mark.parametrize("parser", ["CSafeLoader", "SafeLoader"])
@given(text=st.one_of(st.lists(PIECES, max_size=40).map("".join), st.text(max_size=40)))
def test_any_text_is_read_or_refused(parser: str, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "_LOADER", getattr(yaml, parser, yaml.SafeLoader))
        try:
            loaded = load_configuration(text)
        except ConfigError as error:
            refused = [problem.text("x") for problem in error.problems]
        else:
            refused = []
            assert all(partition.root.name == "root" for partition in loaded.partitions)
    assert all(line.isprintable() for line in refused)
