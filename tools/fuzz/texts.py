"""Texts of configurations and tags: YAML, amounts and times, access lists, patterns."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from remuda.base.duration import parse_duration
from remuda.base.go_text import parse_bool, parse_int32, parse_uint64
from remuda.base.quantity import VCORE, QuantityError, parse_quantity
from remuda.base.resource_text import ResourceTextError, parse_tag, printable
from remuda.base.resources import MAX, MIN
from remuda.config.access import access_list
from remuda.config.document import document
from remuda.config.drafts import TextAt
from remuda.config.findings import Findings
from remuda.config.load import check_configuration
from remuda.config.patterns import PatternError, compiled
from remuda.config.schema import Configuration
from remuda.config.tree import ScalarNode
from remuda.core.messages.commands import RegisterResourceManager
from remuda.core.ports import always_true
from remuda.core.scheduler import Scheduler
from remuda.edges.rest.shapes import dao
from tools.fuzz.target import Target

_NOWHERE: Final = ScalarNode("", True, 1, 1)


def configuration(data: bytes) -> None:
    """Read a configuration; one that is accepted is shown, and put in force."""
    text = data.decode("utf-8", "replace")
    verdict = check_configuration(text)
    found = verdict.configuration
    for problem in verdict.problems:
        line = problem.text("file")
        assert line.isprintable(), "a problem is not one printable line"
    assert found is not None or verdict.problems, "refused without a reason"
    if found is not None:
        dao.encode(document(text))
        _put_in_force(found)


def _put_in_force(found: Configuration) -> None:
    scheduler = Scheduler(always_true)
    scheduler.handle(RegisterResourceManager("rm", found), 0)
    scheduler.check()


def amounts(data: bytes) -> None:
    """Read quantities, durations, numbers, and resources of tags."""
    text = data.decode("utf-8", "replace")
    for name in (VCORE, "memory"):
        with suppress(QuantityError):
            assert 0 <= parse_quantity(name, text) <= MAX
    duration = parse_duration(text)
    assert duration is None or MIN <= duration <= MAX
    number = parse_uint64(text)
    assert number is None or 0 <= number < 2**64
    number = parse_int32(text)
    assert number is None or -(2**31) <= number < 2**31
    parse_bool(text)
    with suppress(ResourceTextError):
        found = parse_tag(text)
        assert all(MIN <= amount <= MAX for amount in found.values())
        dao.encode(found)
        printable(found).encode()


def access(data: bytes) -> None:
    """Read an access list and a pattern of a filter, and look a name up by the pattern."""
    text = data.decode("utf-8", "replace")
    findings = Findings("file")
    found = access_list(TextAt(text, _NOWHERE, "queues[0].submitacl"), lambda: "root.a", findings)
    assert list(found.users) == sorted(set(found.users))
    assert not (found.everybody and (found.users or found.groups))
    for name in (*found.users, *found.groups):
        assert name
        assert " " not in name
        assert "," not in name
    for problem in (*findings.errors, *findings.warnings):
        assert problem.text("file").isprintable(), "a problem is not one printable line"
    with suppress(PatternError):
        compiled(text).search("user_1@domain.org")


_FULL: Final = """
partitions:
  - name: default
    nodesortpolicy: {type: fair, resourceweights: {memory: 1.0}}
    preemption: {enabled: true}
    placementrules:
      - name: tag
        value: namespace
        create: true
        filter: {type: allow, users: ["^u.*$"], groups: [g]}
        parent: {name: fixed, value: root.a}
    limits:
      - {limit: all, users: ["*"], maxapplications: 5, maxresources: {memory: 1G}}
    queues:
      - name: root
        submitacl: "*"
        queues: &below
          - name: a
            parent: true
            properties: {application.sort.policy: fair, priority.offset: "-5"}
            childtemplate: {maxapplications: 2, resources: {max: {vcore: 500m}}}
            limits: [{limit: one, users: [u, v], groups: [g], maxapplications: 1}]
          - name: b
            adminacl: "u,v g"
            resources: {guaranteed: {memory: 1Mi, vcore: 1}, max: {memory: 10Gi, vcore: 10}}
  - name: other
    queues: *below
"""


def _configuration_seeds() -> list[bytes]:
    texts = (
        _FULL,
        "",
        "partitions: []",
        "partitions: [{name: default, queues: [{name: root}]}]",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
        "<<: {partitions: []}\n",
        '"\\ud800": 1',
        "%TAG ! tag:x,2000:\n--- !a b\n",
        "- !!python/object:os.system {}\n",
        "? [a]\n: b\n---\nc\n",
        "a: 1\na: 2\n",
    )
    return [text.encode() for text in texts]


def _amount_seeds() -> list[bytes]:
    texts = (
        "10Gi",
        "500m",
        "1 k",
        "0",
        "9223372036854775807",
        "007E",
        "9" * 40,
        "1h15m30.918273645s",
        "-1.5h",
        "1us",
        "1\u00b5s",
        ".5s",
        "+0",
        "-9223372036854775808ns",
        "true",
        "T",
        "-2147483648",
        "18446744073709551615",
        "9" * 5_000,
        '{"resources":{"memory":{"value":5},"vcore":{"value":null}}}',
        '{"resources":{"\\ud800":{"value":5}}}',
        '{"resources":{"a":{"value":1e400}}}',
        "[" * 2_000,
    )
    return [text.encode() for text in texts]


def _access_seeds() -> list[bytes]:
    texts = (
        "*",
        "",
        " ",
        "user",
        "user,other group,more",
        " group",
        "user ",
        "user, group",
        "* *",
        "a,*",
        "user@domain.org,u:1",
        "a  b",
        "^user_[0-9]+@(domain|x)\\.org$",
        "(a+)+$",
        "a{1000}{1000}",
        "(?i)\\pL*",
        "\\C",
        "[[:alpha:]]",
    )
    return [text.encode() for text in texts]


CONFIGURATION: Final = Target(
    configuration,
    _configuration_seeds,
    (
        b"partitions:",
        b"queues:",
        b"- name: ",
        b"root",
        b"limits:",
        b"users: ",
        b"groups: ",
        b"maxresources: ",
        b"placementrules:",
        b"parent: true",
        b"resources: {max: {",
        b"&a ",
        b"*a",
        b"<<: ",
        b"!!str ",
        b"%TAG",
        b"---\n",
        b"\n  ",
        b"\t",
        b'"\\x',
        b"properties: {",
        b"childtemplate:",
        b"nodesortpolicy: {type: ",
        b"1.0e400",
        b"0x10",
        b"~",
        b"\xef\xbb\xbf",
    ),
    4_096,
)
AMOUNTS: Final = Target(
    amounts,
    _amount_seeds,
    (
        b"Gi",
        b"m",
        b"h",
        b"ns",
        b"\xc2\xb5s",
        b"9223372036854775808",
        b"e400",
        b"\\ud800",
        b'{"resources":{',
        b'{"value":',
        b"NaN",
    ),
    8_192,
)
ACCESS: Final = Target(access, _access_seeds, (b"*", b" ", b",", b"(?", b"{1000}", b"\\p"), 2_048)
