"""What is no configuration text is refused in the same words, whoever reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.base.errors import ConfigError, UsageError
from remuda.config.schema import built_in
from remuda.runtime.configuration.text import judge, read_configuration, read_configuration_again


@pytest.mark.remuda_rule("CFG-5", "TOOL-1")
@pytest.mark.parametrize(
    "data, place, said",
    [
        (b"partitions: []\nx: \xff\n", ":2:1", "it is not UTF-8 text"),
        (b"a" * 10_000_001, "", "it has more than 10000000 bytes"),
    ],
)
def test_a_file_is_refused_with_the_problems_of_the_verdict(
    tmp_path: Path, data: bytes, place: str, said: str
) -> None:
    path = tmp_path / "queues.yaml"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as refused:
        read_configuration(path)
    assert str(refused.value).startswith(f"{path}{place}: not YAML: {said}")
    assert refused.value.problems == judge(data, str(path)).problems


@pytest.mark.remuda_rule("CFG-2")
def test_an_empty_file_is_the_built_in_configuration_unless_it_must_not_be(tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.touch()
    assert read_configuration(path) == built_in()
    with pytest.raises(UsageError, match=f"{path} is empty"):
        read_configuration_again(path)
