"""What is printed is read by Prometheus' own parsers, and told as its own library tells it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.openmetrics import parser as openmetrics_parser
from prometheus_client.parser import text_string_to_metric_families

from remuda.telemetry.metrics.standard_families import standard_families
from remuda.telemetry.metrics.text import (
    COUNTER,
    PLAIN_COUNTER,
    Metric,
    open_metrics,
    plain_text,
    preferred,
)

VALUES = [0, 7, -1, 2**53, 0.25, 1e-9, 1.5e300, math.inf, -math.inf]
PROMETHEUS_ACCEPTS = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
NASTY = 'back\\slash "quoted"\nsecond line, {braces} = é'


def families() -> list[Metric]:
    gauge = Metric("a_gauge", NASTY, "gauge")
    for number, value in enumerate(VALUES):
        gauge.add("a_gauge", {"z": NASTY, "a": str(number)}, value)
    counter = Metric("a_counter_total", "Counts.", COUNTER)
    counter.add("a_counter_total", {}, 3)
    histogram = Metric("a_histogram", "Spreads.", "histogram")
    for limit, count in (("0.1", 1), ("+Inf", 4)):
        histogram.add("a_histogram_bucket", {"le": limit}, count)
    histogram.add("a_histogram_count", {}, 4)
    histogram.add("a_histogram_sum", {}, 2.5)
    plain = Metric("a_plain_one", "Counts, too.", PLAIN_COUNTER)
    plain.add("a_plain_one", {"state": "x"}, 5)
    return [gauge, counter, histogram, plain]


def parse_plain(text: str) -> Iterable[Any]:
    return text_string_to_metric_families(text)


def parse_open(text: str) -> Iterable[Any]:
    return openmetrics_parser.text_string_to_metric_families(text)  # type: ignore[no-untyped-call,no-any-return]


@pytest.mark.remuda_rule("MET-1", "REST-46")
@pytest.mark.parametrize(
    "print_, parse", [(plain_text, parse_plain), (open_metrics, parse_open)], ids=["plain", "open"]
)
def test_prometheus_reads_back_what_was_printed(
    print_: Callable[[Iterable[Metric]], bytes], parse: Callable[[str], Iterable[Any]]
) -> None:
    found = {family.name: family for family in parse(print_(families()).decode())}
    gauge = found["a_gauge"]
    assert gauge.documentation == NASTY
    assert gauge.type == "gauge"
    assert [(each.value, each.labels) for each in gauge.samples] == [
        (value, {"a": str(number), "z": NASTY}) for number, value in enumerate(VALUES)
    ]
    assert found["a_counter"].type == "counter"
    assert [(each.name, each.value) for each in found["a_counter"].samples] == [
        ("a_counter_total", 3.0)
    ]
    assert found["a_histogram"].type == "histogram"
    assert len(found["a_histogram"].samples) == 4
    assert found["a_plain_one"].type == ("unknown" if print_ is open_metrics else "counter")


def test_what_is_no_number_is_told_as_such() -> None:
    metric = Metric("odd", "Odd.", "gauge")
    metric.add("odd", {}, math.nan)
    ((sample,),) = [family.samples for family in parse_plain(plain_text([metric]).decode())]
    assert math.isnan(sample.value)


@pytest.mark.remuda_rule("MET-1")
def test_process_and_interpreter_are_told_as_prometheus_library_tells_them() -> None:
    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    expected = {each.name: each for each in registry.collect()}
    found = {each.name: each for each in parse_open(open_metrics(standard_families()).decode())}
    assert found.keys() == expected.keys()
    for name, family in found.items():
        other = expected[name]
        assert (family.type, family.documentation) == (other.type, other.documentation)
        ours = {(each.name, *sorted(each.labels.items())): each.value for each in family.samples}
        theirs = {(each.name, *sorted(each.labels.items())): each.value for each in other.samples}
        assert ours.keys() == theirs.keys()
        for key, value in ours.items():
            assert value == pytest.approx(theirs[key], rel=0.2, abs=2)


@pytest.mark.remuda_rule("REST-46")
@pytest.mark.parametrize(
    "accept, is_open",
    [
        ("", False),
        ("*/*", False),
        ("text/plain;version=0.0.4", False),
        ("application/openmetrics-text", True),
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", True),
        ("application/openmetrics-text;version=0.0.1,text/plain;version=0.0.4;q=0.5", False),
        (PROMETHEUS_ACCEPTS, True),
        ("application/openmetrics-text; version=abc", False),
        ("text/plain, application/openmetrics-text", False),
    ],
)
def test_the_first_format_that_both_know_is_taken(accept: str, is_open: bool) -> None:
    printer, content_type = preferred(accept)
    assert printer is (open_metrics if is_open else plain_text)
    kind = "application/openmetrics-text; version=1.0.0" if is_open else "text/plain; version=0.0.4"
    assert content_type == f"{kind}; charset=utf-8"
