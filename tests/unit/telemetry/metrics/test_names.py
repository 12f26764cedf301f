"""Names of metrics: prefix, what is allowed in them, and collisions (chapter 97 section 1)."""

from __future__ import annotations

import pytest

from remuda.base.errors import UsageError
from remuda.telemetry.metrics.families import sanitised
from remuda.telemetry.metrics.settings import MetricsSettings, read_metrics_settings
from tests.exposition import exported_names
from tests.unit.core.door import Caller, leaf
from tests.unit.telemetry.metrics.scraping import S, Scraper, chosen, value


@pytest.mark.remuda_rule("MET-3")
@pytest.mark.parametrize(
    "name, expected",
    [
        ("root.default", "root_default"),
        ("ephemeral-storage", "ephemeral_storage"),
        ("1a", "_1a"),
        ("nvidia.com/gpu", "nvidia_com_gpu"),
        ("hugepages-2Mi", "hugepages_2Mi"),
        ("a:b", "a:b"),
        ("größe", "gr__e"),
        ("root.@recovery@", "root__recovery_"),
    ],
)
def test_what_a_name_cannot_hold_becomes_an_underscore(name: str, expected: str) -> None:
    assert sanitised(name) == expected


@pytest.mark.remuda_rule("MET-3", "MET-14")
def test_resources_whose_names_collide_are_summed_and_kept_apart_by_label() -> None:
    caller = Caller(leaf("a"))
    caller.node("n1", {"a.b": 1, "1x": 1})
    caller.node("n2", {"a/b": 1})
    found = Scraper(caller).samples()
    assert value(found, S + "a_b_node_usage_total", range="[0,10%]") == 2
    assert value(found, S + "_1x_node_usage_total", range="[0,10%]") == 1
    empty = chosen(found, S + "node_usage", "resource", range="[0,10%]")
    assert empty == {"1x": 1, "a.b": 1, "a/b": 1}


@pytest.mark.remuda_rule("MET-2")
def test_every_name_of_ours_begins_with_the_prefix() -> None:
    caller = Caller(leaf("a"))
    caller.node("n1", {"vcore": 1})
    usual = exported_names(Scraper(caller).text())
    other = exported_names(Scraper(caller, MetricsSettings(prefix="our_1")).text())
    library = ("process_", "python_")
    for names, prefix in ((usual, "yunikorn_"), (other, "our_1_")):
        assert {name for name in names if not name.startswith((prefix, *library))} == set()
    assert "our_1_scheduler_node" in other


@pytest.mark.remuda_rule("MET-2", "KV-6")
@pytest.mark.parametrize(
    "prefix, names, users, queues, fault",
    [
        ("", "all", 0, 1, "--metrics-prefix: '' cannot begin"),
        ("1a", "all", 0, 1, "--metrics-prefix: '1a' cannot begin"),
        ("a-b", "all", 0, 1, "--metrics-prefix: 'a-b' cannot begin"),
        ("a" * 65, "all", 0, 1, "cannot begin"),
        ("a", "some", 0, 1, "--metrics-queue-names: 'some' is not one of none, containers, all"),
        ("a", "all", -1, 1, "--metrics-users: -1 is not between 0 and 10000"),
        ("a", "all", 10_001, 1, "is not between"),
        ("a", "all", 0, 0, "--metrics-queues: 0 is not between 1 and 1000000"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_line(
    prefix: str, names: str, users: int, queues: int, fault: str
) -> None:
    with pytest.raises(UsageError) as refused:
        read_metrics_settings(prefix, names, users, queues)
    assert fault in str(refused.value)
    assert "\n" not in str(refused.value)
