"""Recorded questions, one JSON object a line: a pod, a node, a cluster; and what is answered.

The form is that in which verdicts of kube-scheduler's own filters were recorded. ``plugin`` names
one filter; without it all filters judge. ``node`` and the items of ``cluster`` have ``node`` (a v1
Node) and ``pods`` (those on it). ``arguments``: how the filters are configured, as an object with
kube-scheduler's names. ``objects``: volumes, claims, namespaces and so on, each with its ``kind``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import msgspec

from remuda_kubernetes.objects import kinds
from remuda_kubernetes.objects.metadata import KubernetesObject, LabelSelector
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.pods import NodeAffinity, Pod, TopologySpreadConstraint
from remuda_kubernetes.objects.values import ObjectError, Value, convert, read
from remuda_kubernetes.predicates.classes import FilterSettings
from remuda_kubernetes.predicates.cluster import Cluster
from remuda_kubernetes.predicates.refusals import NAMES, SUCCESS, Refusal

# A line holds a whole cluster at most; 5,000 nodes with 10 pods each take less.
_LINE_BYTES: Final = 256 * 2**20

_BY_NAME: Final = {
    each.name: each
    for each in vars(kinds).values()
    if isinstance(each, kinds.Kind) and each not in {kinds.POD, kinds.NODE}
}
# How Go prints a set of texts, and a list of constraints, of a filter that was configured.
_PRINTED_SET: Final = re.compile(r"(ignoredResources|ignoredResourceGroups):map\[([^\]]*)\]")
_PRINTED_CONSTRAINT: Final = re.compile(
    r"\{MaxSkew:(\d+) TopologyKey:(\S+) WhenUnsatisfiable:(\w+)[^}]*\}"
)


class RecordedNode(Value, frozen=True):
    """A node with the pods on it; without a node it has no name and no labels."""

    node: Node | None = None
    pods: tuple[Pod, ...] | None = None


class Arguments(Value, frozen=True):
    """How the filters are configured."""

    added_affinity: NodeAffinity | None = None
    default_constraints: tuple[TopologySpreadConstraint, ...] | None = None
    ignored_resources: tuple[str, ...] | None = None
    ignored_resource_groups: tuple[str, ...] | None = None


class Question(Value, frozen=True):
    """One line."""

    pod: Pod
    node: RecordedNode
    id: str | int | None = None
    plugin: str = ""
    cluster: tuple[RecordedNode, ...] | None = None
    arguments: Any = None
    objects: tuple[dict[str, Any], ...] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The verdict on one line: Success, Unschedulable, UnschedulableAndUnresolvable or Error."""

    id: str | int | None
    verdict: str
    reasons: tuple[str, ...]


def answers(stream: BinaryIO) -> Iterator[dict[str, Any]]:
    """Answer each line, also those with nothing on them, as objects for JSON."""
    number = 0
    while line := stream.readline(_LINE_BYTES):
        number += 1
        if len(line) == _LINE_BYTES and not line.endswith(b"\n"):
            yield {
                "line": number,
                "error": f"longer than {_LINE_BYTES} bytes; the rest is not read",
            }
            return
        try:
            found = answer(line)
        except ObjectError as error:
            yield {"line": number, "error": str(error)}
        else:
            yield {"id": found.id, "verdict": found.verdict, "reasons": list(found.reasons)}


def answer(line: bytes) -> Answer:
    """Return the verdict on one line. Raises: ObjectError that says what is wrong with it."""
    if not line.strip():
        raise ObjectError("the line is empty; write one JSON object a line")
    question = read(Question, line)
    if question.plugin and question.plugin not in NAMES:
        known = ", ".join(NAMES)
        raise ObjectError(f"there is no filter {question.plugin[:80]!r}; the filters are {known}")
    cluster = Cluster(_settings(question.arguments))
    for found in question.objects or ():
        _set_object(cluster, found)
    name = _set_nodes(cluster, question)
    refusal = _judge(cluster, question, name)
    if refusal is None:
        return Answer(question.id, SUCCESS, ())
    return Answer(question.id, refusal.verdict, refusal.reasons)


def _judge(cluster: Cluster, question: Question, name: str) -> Refusal | None:
    if question.plugin:
        return cluster.judge_by(NAMES[question.plugin], question.pod, name)
    verdicts = cluster.judge(question.pod, [name], allocate=True, want=1)
    return verdicts.refusals[0][1] if verdicts.refusals else None


def _set_nodes(cluster: Cluster, question: Question) -> str:
    """Put all nodes with their pods into a cluster. Returns the name of the judged node."""
    wanted = question.node.node or Node()
    seen: set[str] = set()
    numbers = iter(range(1, 1 << 62))
    for recorded in (*(question.cluster or ()), question.node):
        node = recorded.node or Node()
        if node.name in seen:
            if recorded is question.node:
                break
            raise ObjectError(f"cluster: two nodes are named {node.name[:80]!r}")
        seen.add(node.name)
        cluster.set_node(node)
        for pod in recorded.pods or ():
            cluster.set_pod(_with_uid(pod, next(numbers)), node.name)
    return wanted.name


def _with_uid(pod: Pod, number: int) -> Pod:
    """Return a pod with an identity, which recorded ones lack."""
    metadata = msgspec.structs.replace(pod.metadata, uid=f"recorded-{number}")
    return msgspec.structs.replace(pod, metadata=metadata)


def _set_object(cluster: Cluster, found: dict[str, Any]) -> None:
    kind = _BY_NAME.get(str(found.get("kind")))
    if kind is None:
        raise ObjectError(
            f"objects: kind {str(found.get('kind'))[:80]!r} is none of {', '.join(_BY_NAME)}"
        )
    made: KubernetesObject = convert(kind.type, found)
    cluster.set_object(kind, made)


def _settings(arguments: Any) -> FilterSettings:
    if isinstance(arguments, str):
        return _printed(arguments)
    if arguments is None:
        return FilterSettings()
    found = convert(Arguments, arguments)
    return FilterSettings(
        added_affinity=found.added_affinity,
        default_constraints=found.default_constraints or (),
        ignored_resources=frozenset(found.ignored_resources or ()),
        ignored_groups=frozenset(found.ignored_resource_groups or ()),
    )


def _printed(text: str) -> FilterSettings:
    """Return the settings that a recording shows as Go prints them.

    A recording leaves out the node affinity behind a pointer; it counts as none.
    """
    sets = {name: frozenset(_keys(inner)) for name, inner in _PRINTED_SET.findall(text)}
    constraints = tuple(
        TopologySpreadConstraint(
            max_skew=int(skew),
            topology_key=key,
            when_unsatisfiable=action,
            label_selector=LabelSelector(),
        )
        for skew, key, action in _PRINTED_CONSTRAINT.findall(text)
    )
    return FilterSettings(
        default_constraints=constraints,
        ignored_resources=sets.get("ignoredResources", frozenset()),
        ignored_groups=sets.get("ignoredResourceGroups", frozenset()),
    )


def _keys(printed: str) -> Iterator[str]:
    for each in printed.split():
        yield each.removesuffix(":{}")
