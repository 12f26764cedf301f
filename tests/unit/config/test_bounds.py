"""Hostile texts end in a refusal, soon and in little memory."""

from __future__ import annotations

import gc
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
from remuda.config import compose
from remuda.config.compose import DEPTH_LIMIT
from remuda.config.findings import PROBLEMS_LIMIT
from remuda.config.load import load_configuration

STATUS = Path("/proc/self/status")

# On a machine whose YAML library alone reads a text of 30,000 values in PACE seconds of CPU; a
# slower one, or one whose cores and caches are shared, gets as much more as it is slower.
CPU_SECONDS_LIMIT = 1.0
PACE = 0.1
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


def numbered(piece: str, count: int) -> str:
    """Return a flow list of a piece with numbers in it."""
    return ", ".join(piece.replace("#", str(number)) for number in range(count))


def partition_of(queues: str, rest: str = "") -> str:
    return f"partitions: [{{queues: [{queues}]{rest}}}]"


def limits_of(piece: str, count: int) -> str:
    return partition_of(f"{{name: root, limits: [{numbered(piece, count)}]}}")


def rules_of(piece: str, count: int) -> str:
    return partition_of("", f", placementrules: [{numbered(piece, count)}]")


def chain_of_rules(levels: int, value: str = "a") -> str:
    rule = "{name: fixed, value: a, create: true}"
    for _ in range(levels):
        rule = f"{{name: fixed, value: {value}, create: true, parent: {rule}}}"
    return rule


def sums_of_many_types() -> str:
    """Return queues of 256 types each that are passed up through many levels."""
    amounts = numbered("t#: 1", 256)
    queue = "{name: l, resources: {guaranteed: *a}}"
    for _ in range(40):
        queue = f"{{name: p, queues: [{queue}]}}"
    queues = ", ".join(queue.replace("name: p", f"name: p{n}", 1) for n in range(100))
    anchor = f"{{name: x, resources: {{guaranteed: &a {{{amounts}}}}}}}"
    return partition_of(f"{anchor}, {queues}")


def users_of_many_types() -> str:
    """Return two levels that limit the same users, in the same 256 types."""
    amounts = f"{{{numbered('t#: 1', 256)}}}"
    users = f"[{numbered('u#', 38_400)}]"
    below = f"{{name: a, limits: [{{users: {users}, maxresources: *a}}]}}"
    above = f"limits: [{{users: {users}, maxresources: &a {amounts}}}]"
    return partition_of(f"{{name: root, {above}, queues: [{below}]}}")


def wide_and_deep(above: str, below: str, count: int) -> str:
    """Return many queues below 47 levels of long names."""
    queues = numbered(f"{{name: {below}}}", count)
    for _ in range(46):
        queues = f"{{name: '{above}', queues: [{queues}]}}"
    return partition_of(f"{{name: root, submitacl: '*', queues: [{queues}]}}")


def users_lowered() -> str:
    """Return users with 256 types of amounts, each of whom has an amount of his own below."""
    lowered = numbered("{users: [u#], maxresources: {t0: 1}}", 4_400)
    above = f"{{users: [{numbered('u#', 4_400)}], maxresources: {{{numbered('t#: 9', 256)}}}}}"
    queue = f"{{name: p, limits: [{lowered}], queues: [{{name: c, limits: [{lowered}]}}]}}"
    return partition_of(f"{{name: root, submitacl: '*', limits: [{above}], queues: [{queue}]}}")


def users_through_levels(users: int, levels: int, types: int) -> str:
    """Return users with limits of their own, and below common ones, one level after the other."""
    amounts = f"{{{numbered('t#: 9', types)}}}"
    common = f"{{users: [{numbered('u#', users)}], maxresources: {amounts}}}"
    queue = "{name: leaf}"
    for _ in range(levels):
        queue = f"{{name: p, limits: [{common}], queues: [{queue}]}}"
    above = numbered("{users: [u#], maxresources: {x: 9}}", users)
    return partition_of(f"{{name: root, submitacl: '*', limits: [{above}], queues: [{queue}]}}")


def binary() -> str:
    return "".join(chr(code % 256) for code in range(7, 9_999_999 * 31, 31))[:5_000_000]


# Hostile or huge. Built when needed: together they would take more memory than the test allows.
HOSTILE: dict[str, Callable[[], str]] = {
    "alias bomb": bomb,
    "merge bomb": merge_bomb,
    "unknown keys": lambda: junk("a: b\n"),
    "distinct keys": lambda: "".join(f"k{n}: b\n" for n in range(900_000)),
    "list": lambda: "[" + junk("a,"),
    "brackets": lambda: junk("["),
    "10,000 levels": lambda: "partitions: " + "[{queues: " * 10_000,
    "10,000 levels of blocks": lambda: "".join(
        f"{' ' * (n % 900)}- a:\n{' ' * (n % 900 + 1)}" for n in range(10_000)
    ),
    "anchors": lambda: "".join(f"- &a{n} x\n" for n in range(700_000)),
    "aliases": lambda: "- &a x\n" + "- *a\n" * 1_900_000,
    "tag directives": lambda: "".join(f"%TAG !a{n}! b\n" for n in range(500_000)),
    "tag directives, old line breaks": lambda: "".join(f"%TAG !a{n}! b\r" for n in range(500_000)),
    "one word": lambda: junk("a"),
    "quoted": lambda: '"' + junk("a b\n\n") + '"',
    "binary": binary,
    "long number": lambda: (
        f"partitions: [{{queues: [{{name: a, resources: {{max: {{m: {'9' * 9_000_000}}}}}}}]}}]"
    ),
    "long name": lambda: (
        f"partitions: [{{queues: [{{name: {'a' * 5_000_000}, queues: [" + "{name: b}," * 400_000
    ),
    "100,000 queues": lambda: partition_of(numbered("{name: q#}", 100_000)),
    "100,000 users": lambda: partition_of(
        f"{{name: a, limits: [{{maxapplications: 1, users: [{numbered('u#', 100_000)}]}}]}}"
    ),
    "100,000 limits": lambda: limits_of("{users: [u#], maxapplications: 1}", 100_000),
    "an expression of 9 MB": lambda: rules_of(
        f"{{name: user, filter: {{users: ['{'a*' * 4_500_000}']}}}}", 1
    ),
    "many queues below illegal names": lambda: wide_and_deep("\U0001f600" * 64, "b#", 32_000),
    "many types through levels": lambda: users_through_levels(1_300, 43, 255),
    "few types through levels": lambda: users_through_levels(1_900, 40, 6),
    "one bad limit everywhere": lambda: partition_of(
        f"{{name: a, limits: [&a {{users: b}}, {numbered('*a', 33_000)}]}}"
    ),
    "costly expressions": lambda: rules_of("{name: user, filter: {users: ['\\pL{9#}']}}", 900),
    "bad expressions": lambda: rules_of("{name: user, filter: {users: ['(a#']}}", 9_000),
    "a fixed value of 9 MB": lambda: rules_of(f"{{name: fixed, value: {'a.' * 4_500_000}b}}", 1),
    "an access list of 9 MB": lambda: partition_of(f"{{name: a, submitacl: '{'a,' * 4_500_000}'}}"),
    "an access list of blanks": lambda: partition_of(
        f"{{name: a, submitacl: '{'a ' * 4_500_000}'}}"
    ),
}

# Legal and as large as the bounds allow.
LARGE: dict[str, Callable[[], str]] = {
    "comments": lambda: junk("# nothing here\n"),
    "queues": lambda: partition_of(numbered("{name: q#}", 26_400)),
    "queues with amounts": lambda: partition_of(
        numbered("{name: q#, resources: {max: {memory: 10G}, guaranteed: {memory: 1G}}}", 6_080)
    ),
    "limits": lambda: limits_of("{users: [u#], maxresources: {memory: 10G}}", 9_900),
    "users": lambda: partition_of(
        f"{{name: a, limits: [{{maxapplications: 1, users: [{numbered('u#', 79_900)}]}}]}}"
    ),
    "properties": lambda: partition_of(
        f"{{name: a, properties: {{{numbered('application.sort.polic#: x', 39_200)}}}}}"
    ),
    "access list": lambda: partition_of(
        f"{{name: a, submitacl: '{','.join(f'u{n}' for n in range(100_000))}'}}"
    ),
    "rules": lambda: rules_of("{name: fixed, value: a#, create: true}", 11_200),
    "chains of rules": lambda: rules_of(chain_of_rules(40), 224),
    "expressions": lambda: rules_of("{name: user, filter: {users: ['[a-zäöü]{9#}']}}", 99),
    "sums of many types": sums_of_many_types,
    "users of many types": users_of_many_types,
    "users lowered": users_lowered,
    "many queues below long names": lambda: wide_and_deep("a" * 64, f"b#{'c' * 58}", 24_000),
    "long chains of rules": lambda: rules_of(chain_of_rules(90, ".".join("x" * 50)), 88),
    "long texts": lambda: partition_of(
        f"{{name: a, properties: {{a: {'x' * 4_000_000}, b: {'y z' * 1_500_000}}}}}"
    ),
}


# Reads a text from a file, as a served process would, and says what the verdict took: CPU
# seconds at the pace of the machine, whether it is valid, the number of problems, characters of
# the longest one, and the peak memory in KiB if it is known.
MEASURE = f"""
import pathlib, sys, time, yaml
from remuda.config.load import check_configuration
small = "a: [" + ", ".join(f"{{{{b: c{{n}}}}}}" for n in range(10_000)) + "]"
paces = []
for _ in range(2):
    began = time.process_time()
    yaml.compose(small, Loader=yaml.CSafeLoader)
    paces.append(time.process_time() - began)
text = pathlib.Path(sys.argv[1]).read_text()
began = time.process_time()
verdict = check_configuration(text)
seconds = time.process_time() - began
seconds /= max(1, max(paces) / {PACE})
lengths = [len(problem.text("x")) for problem in verdict.problems]
status = pathlib.Path({str(STATUS)!r})
lines = status.read_text().splitlines() if status.exists() else []
peaks = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
print(seconds, int(verdict.configuration is not None), len(lengths), max([0, *lengths]), *peaks)
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


def _check_costs(text: str, file: Path, *, valid: bool) -> None:
    file.write_text(text)
    seconds, is_valid, problems, longest, *peak = measure(file)
    assert bool(is_valid) == valid
    assert 1 - valid <= problems <= PROBLEMS_LIMIT + 1
    assert longest < 1_200
    assert all(kibibytes / 1024 < MEGABYTES_LIMIT for kibibytes in peak)
    # A machine that does something else too may need several tries to show its speed.
    assert seconds < CPU_SECONDS_LIMIT or any(
        measure(file)[0] < CPU_SECONDS_LIMIT for _ in range(5)
    )


@needs_c_parser
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_text_is_refused_within_a_second_and_200_megabytes(
    name: str, tmp_path: Path
) -> None:
    _check_costs(HOSTILE[name](), tmp_path / "queues.yaml", valid=False)


@needs_c_parser
@pytest.mark.parametrize("name", sorted(LARGE))
def test_a_large_text_gets_its_verdict_within_a_second_and_200_megabytes(
    name: str, tmp_path: Path
) -> None:
    _check_costs(LARGE[name](), tmp_path / "queues.yaml", valid=True)


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


@pytest.mark.remuda_rule("CFG-5")
def test_queues_have_48_levels_with_all_that_belongs_to_one() -> None:
    everything = (
        "limits: [{users: [a], maxresources: {memory: 1}}],"
        " childtemplate: {resources: {max: {memory: 1}}}, resources: {max: {memory: 1}}"
    )
    queue = f"{{name: q, {everything}}}"
    for _ in range(46):
        queue = f"{{name: q, queues: [{queue}]}}"
    text = partition_of(f"{{name: root, submitacl: '*', queues: [{queue}]}}")
    (partition,) = load_configuration(text).partitions
    levels, deepest = 1, partition.root
    while deepest.queues:
        levels, deepest = levels + 1, deepest.queues[0]
    assert levels == 48
    assert deepest.maximum == {"memory": 1}


@pytest.mark.remuda_rule("CFG-5")
def test_a_queue_on_the_49th_level_is_refused_also_below_a_root_that_was_added() -> None:
    assert load_configuration(nested(47)).partitions
    (problem,) = refusal(nested(48))
    assert problem.rule == "CFG-5"
    assert problem.message.startswith("more than 48 levels of queues, root included: root.q.q.")


def test_what_nests_deeper_than_any_configuration_is_not_read() -> None:
    (problem,) = refusal("[" * DEPTH_LIMIT + "[" + "]" * DEPTH_LIMIT + "]")
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
        monkeypatch.setattr(compose, "_LOADER", yaml.SafeLoader)
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
        patch.setattr(compose, "_LOADER", getattr(yaml, parser, yaml.SafeLoader))
        try:
            loaded = load_configuration(text)
        except ConfigError as error:
            refused = [problem.text("x") for problem in error.problems]
        else:
            refused = []
            assert all(partition.root.name == "root" for partition in loaded.partitions)
    assert all(line.isprintable() for line in refused)


def test_a_configuration_that_was_read_leaves_no_garbage_behind() -> None:
    queues = "".join(f"    - name: q{number}\n" for number in range(500))
    text = f"partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n{queues}"
    load_configuration(text)
    gc.collect()
    gc.disable()
    try:
        load_configuration(text.replace("q1", "r1"))
        assert gc.collect() < 500
    finally:
        gc.enable()
