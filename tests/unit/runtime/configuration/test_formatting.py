"""Formatting a configuration: same meaning, same comments, and nothing to do the second time."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from remuda.base.errors import ConfigError
from remuda.config.load import check_configuration, load_configuration
from remuda.runtime.configuration.formatting import LETTERS_LIMIT, formatted

ROOT = Path(__file__).resolve().parents[4]
SHARED = Path(os.environ.get("REMUDA_DATA", ROOT.parent / "shared/data")) / "queue-configs"

UNTIDY = """\
# What the team agreed on.
partitions:
- name:   default   # the only one
  queues:
  - {name: root,   submitacl: '*'}   # all


  # Below is what changes.
  placementrules:
     - name: tag    # of the namespace
       value: namespace
       create: true
"""


def comments(text: str) -> list[str]:
    return [line.partition("#")[2].strip() for line in text.splitlines() if "#" in line]


@pytest.mark.remuda_rule("EXT-117")
def test_a_text_is_indented_and_keeps_comments_quotes_and_brackets() -> None:
    found = formatted(UNTIDY, "queues.yaml")
    assert "\n  - name: default" in found
    assert "\n      - {name: root, submitacl: '*'}" in found
    assert "\n        value: namespace\n" in found
    assert comments(found) == comments(UNTIDY)
    assert formatted(found, "queues.yaml") == found
    assert load_configuration(found).partitions == load_configuration(UNTIDY).partitions


def _files() -> list[Path]:
    own = sorted(ROOT.glob("src/remuda/**/queues.yaml"))
    return own + sorted(SHARED.rglob("*.yaml"))


@pytest.mark.remuda_rule("EXT-117")
def test_all_configurations_that_people_wrote_can_be_formatted() -> None:
    count = 0
    for path in _files():
        text = path.read_bytes().decode(errors="replace")
        before = check_configuration(text).configuration
        if before is None:
            continue
        found = formatted(text, str(path))
        assert load_configuration(found).partitions == before.partitions, path
        assert sorted(comments(found)) == sorted(comments(text)), path
        assert formatted(found, str(path)) == found, path
        count += 1
    assert count >= 3


def _remark(rng: random.Random) -> str:
    return f"{' ' * rng.randint(1, 4)}# note {rng.randint(0, 99)}" if rng.random() < 0.3 else ""


def _word(rng: random.Random, text: str) -> str:
    return rng.choice((text, f"'{text}'", f'"{text}"'))


def _partition(rng: random.Random) -> list[str]:
    own = " " * rng.choice((0, 1, 2, 4))
    lines = [f"{own}- name: {_word(rng, 'default')}{_remark(rng)}", f"{own}  queues:"]
    return [*lines, *_queue(rng, f"{own}  {' ' * rng.choice((0, 2, 3))}", "root", 0)]


def _queue(rng: random.Random, lead: str, name: str, level: int) -> list[str]:
    """Return a queue as a hand may write it, with remarks and quotes here and there."""
    if level and rng.random() < 0.2:
        return [f"{lead}- {{name: {_word(rng, name)},  submitacl: '*'}}{_remark(rng)}"]
    lines = [f"{lead}-   name: {_word(rng, name)}{_remark(rng)}"]
    inner = lead + "    "
    if rng.random() < 0.5:
        lines += ["", f"{inner}# of the queue {name}"][rng.randint(0, 1) :]
    if rng.random() < 0.5:
        lines.append(f"{inner}submitacl: {_word(rng, 'ann,bob dev')}{_remark(rng)}")
    if level:
        amount = 9 - level
        lines += [f"{inner}resources:", f"{inner} max:{_remark(rng)}", f"{inner}  vcore: {amount}"]
    if level < 3:
        children = [f"{name[-1]}{at}" for at in range(rng.randint(0, 3))]
        deeper = inner + " " * rng.choice((0, 1, 2))
        below = [line for each in children for line in _queue(rng, deeper, each, level + 1)]
        lines += [f"{inner}queues:{_remark(rng)}", *below] if below else []
    return lines


@pytest.mark.remuda_rule("EXT-117")
def test_generated_configurations_keep_their_meaning() -> None:
    rng = random.Random(7)
    for _ in range(40):
        text = "\n".join(("partitions:", *_partition(rng))) + "\n"
        found = formatted(text, "generated")
        assert comments(found) == comments(text)
        assert load_configuration(found).partitions == load_configuration(text).partitions
        assert formatted(found, "generated") == found


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n"])
def test_a_text_without_a_configuration_stays_as_it_is(text: str) -> None:
    try:
        load_configuration(text)
    except ConfigError:
        with pytest.raises(ConfigError):
            formatted(text, "queues.yaml")
    else:
        assert formatted(text, "queues.yaml") == text


@pytest.mark.remuda_rule("EXT-117")
@pytest.mark.parametrize(
    "text, said",
    [
        ("partitions:\n  - name: default\n    queue: x\n", "queues.yaml:3:5: "),
        ("partitions: [\n", "queues.yaml:2:1: "),
        ("partitions:\n\t- a\n", "queues.yaml:2:1: "),
        ("#" * (LETTERS_LIMIT + 1), "formatting takes at most 1,000,000"),
    ],
)
def test_what_is_no_configuration_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        formatted(text, "queues.yaml")
    assert refused.value.problems[0].text("queues.yaml").count("\n") == 0
    assert said in refused.value.problems[0].text("queues.yaml")
