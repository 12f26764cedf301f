"""Any configuration text gets a verdict, and what is valid means what it says."""

from __future__ import annotations

import json
import re

import pytest

from remuda.base.errors import ERROR, WARNING, ConfigError
from remuda.base.fits import fit_in_max_undef
from remuda.base.resources import Resource, component_wise_min
from remuda.config.document import document
from remuda.config.findings import PROBLEMS_LIMIT
from remuda.config.load import Verdict, check_configuration, load_configuration
from remuda.config.schema import QUEUE_NAME, Configuration, QueueConfig
from tests.long_runs import rotated
from tests.property.configuration_texts import sample

RULE = re.compile(r"[A-Z]{3,4}-[0-9]+")


def _check_problems(verdict: Verdict, text: str) -> None:
    """Problems are bounded, in order, on one line each, at a place in the text."""
    severities = [problem.severity for problem in verdict.problems]
    assert severities == sorted(severities, key=[ERROR, WARNING].index)
    assert (ERROR in severities) == (verdict.configuration is None)
    assert len(severities) <= PROBLEMS_LIMIT + 1
    lines = text.count("\n") + 2
    for problem in verdict.problems:
        assert RULE.fullmatch(problem.rule)
        assert problem.text("x").isprintable()
        assert 0 <= problem.line <= lines
        assert problem.message


def _check_queue(queue: QueueConfig, limit: Resource, most: int) -> None:
    """What every valid tree obeys. Rules: CFG-46, CFG-62, CFG-71, CFG-72, CFG-92."""
    assert queue.name == queue.name.lower()
    assert queue.parent or not queue.queues
    assert len({child.name for child in queue.queues}) == len(queue.queues)
    assert fit_in_max_undef(limit, queue.maximum)
    assert fit_in_max_undef(queue.maximum, queue.guaranteed)
    assert not most or 0 < queue.max_applications <= most
    below = component_wise_min(limit, queue.maximum) or {}
    for child in queue.queues:
        assert QUEUE_NAME.fullmatch(child.name)
        _check_queue(child, below, queue.max_applications)


def _check_meaning(configuration: Configuration, text: str) -> None:
    """A valid text loads to what the verdict says."""
    assert load_configuration(text) == configuration
    for partition in configuration.partitions:
        assert partition.root.name == "root"
        _check_queue(partition.root, {}, 0)


def _check_document(configuration: Configuration, text: str) -> None:
    """The normalised document of a text means the same as the text."""
    again = load_configuration(json.dumps(document(text)))
    assert again.partitions == configuration.partitions


def _check_samples(seeds: range) -> None:
    valid = 0
    for seed in seeds:
        made = sample(seed)
        verdict = check_configuration(made.text)
        _check_problems(verdict, made.text)
        if verdict.configuration is not None:
            valid += 1
            _check_meaning(verdict.configuration, made.text)
            if seed % 4 == 0:
                _check_document(verdict.configuration, made.text)
        else:
            assert not made.intact, (seed, verdict.problems)
            with pytest.raises(ConfigError):
                load_configuration(made.text)
    assert valid * 3 >= len(seeds)


@pytest.mark.remuda_rule("CFG-5", "CFG-72", "CFG-92", "REST-60")
@pytest.mark.parametrize("part", range(4))
def test_generated_configurations(part: int) -> None:
    _check_samples(range(500 * part, 500 * (part + 1)))


@pytest.mark.long
@pytest.mark.parametrize("part", range(18))
def test_many_generated_configurations(part: int) -> None:
    _check_samples(rotated(range(2000 + 1000 * part, 2000 + 1000 * (part + 1))))


def test_one_seed_gives_one_text() -> None:
    assert sample(5) == sample(5)
    assert sample(5) != sample(6)
