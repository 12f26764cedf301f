"""Short ways to write a configuration and to read the verdict on it."""

from __future__ import annotations

from remuda.base.errors import ERROR, WARNING, Problem
from remuda.config.load import check_configuration
from remuda.config.schema import PartitionConfig, QueueConfig

# An access list that keeps the warning about closed queues away.
OPEN = 'submitacl: "*"'


def partition_text(rest: str) -> str:
    """Return a configuration of one partition with the given content, in YAML flow style."""
    return f"partitions: [{{{rest}}}]"


def root_text(rest: str) -> str:
    """Return a configuration whose root queue has the given content and is open."""
    return partition_text(f"queues: [{{name: root, {OPEN}, {rest}}}]")


def queue_text(rest: str) -> str:
    """Return a configuration with one queue root.a of the given content."""
    return root_text(f"queues: [{{name: a, {rest}}}]")


def partition(text: str) -> PartitionConfig:
    """Return the only partition of a text, which must be valid."""
    verdict = check_configuration(text)
    assert verdict.configuration is not None, verdict.problems
    (found,) = verdict.configuration.partitions
    return found


def queue(text: str) -> QueueConfig:
    """Return the only child of root in a valid text."""
    (found,) = partition(text).root.queues
    return found


def errors(text: str) -> list[Problem]:
    """Return what is wrong with a text; a text without errors has a configuration."""
    verdict = check_configuration(text)
    found = [problem for problem in verdict.problems if problem.severity == ERROR]
    assert (verdict.configuration is None) == bool(found)
    return found


def warnings(text: str) -> list[Problem]:
    """Return what is odd in a text, which must be valid."""
    verdict = check_configuration(text)
    assert verdict.configuration is not None, verdict.problems
    assert all(problem.severity == WARNING for problem in verdict.problems)
    return list(verdict.problems)


def broken(text: str) -> list[str]:
    """Return the rules that a text breaks, in the order in which they are told."""
    return [problem.rule for problem in errors(text)]


def odd(text: str) -> list[str]:
    """Return the rules of the warnings on a valid text."""
    return [problem.rule for problem in warnings(text)]
