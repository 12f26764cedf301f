"""The messages of remuda.v1.Insight have all that the answers of the HTTP API have."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest
from google.protobuf.message import Message

from remuda.edges.grpc.shaped import filled, mapping
from remuda.edges.questions.answers import ConfigImpactAnswer
from remuda.edges.questions.dry_runs import DryRunAnswer, Placed, RefusedPart
from remuda.edges.questions.explanations import AskExplanation, Gate
from remuda.edges.questions.fair_shares import FairShare, FairShareHistory
from remuda.edges.questions.forecasts import CalibrationPart, ForecastPart, Forecasts
from remuda.edges.questions.shapes import NodeSummary
from remuda.edges.questions.submission import SUBMISSION_FIELDS
from remuda.edges.questions.ways_out import WaysOut
from remuda.insight.impact_result import ConfigImpact, QueueAmount
from remuda.si.pb import extension_pb2 as ext
from remuda.si.wire import resource

pytestmark = pytest.mark.remuda_rule("EXT-157")

PAIRS: Final[list[tuple[type, type[Message]]]] = [
    (AskExplanation, ext.AskExplanation),
    (WaysOut, ext.WaysOutAnswer),
    (DryRunAnswer, ext.DryRunAnswer),
    (ConfigImpactAnswer, ext.ConfigImpactAnswer),
    (Forecasts, ext.ForecastAnswer),
    (FairShare, ext.FairShare),
    (FairShareHistory, ext.FairShareHistory),
]


def inner(kind: Any) -> Any:
    """Return the shape that a field has, or lists; None: it has none."""
    for each in getattr(kind, "types", (kind,)):
        element = getattr(each, "item_type", each)
        if hasattr(element, "fields"):
            return element
    return None


def names(shape: Any, message: Any, path: str) -> list[tuple[str, list[str], list[str]]]:
    """Return the names of the fields of both, at each depth."""
    found = [(path, sorted(f.name for f in shape.fields), sorted(f.name for f in message.fields))]
    for field in shape.fields:
        below = inner(field.type)
        if below is not None:
            kind = message.fields_by_name[field.name].message_type
            found += names(below, kind, f"{path}.{field.name}")
    return found


@pytest.mark.parametrize("shape, message", PAIRS)
def test_a_message_has_the_fields_of_its_shape_and_no_others(
    shape: type, message: type[Message]
) -> None:
    for path, of_shape, of_message in names(
        msgspec.inspect.type_info(shape), message.DESCRIPTOR, shape.__name__
    ):
        assert of_message == of_shape, path


def test_a_submission_has_the_fields_of_its_message_and_no_others() -> None:
    known = {field.json_name for field in ext.DryRunRequest.DESCRIPTOR.fields}
    assert known - {"rmId", "partition"} == SUBMISSION_FIELDS


def test_values_are_those_of_the_shape() -> None:
    nodes = NodeSummary(total=3, reasons={"no GPU": 2})
    gate = Gate(gate="nodes", passed=False, used={"vcore": 1, "memory": 0}, available={})
    shape = AskExplanation(
        state_version=7,
        timestamp=2**62,
        text=["one", "two"],
        application_id="a",
        allocation_key="k",
        waits=True,
        nodes=nodes,
        waiting_seconds=1.5,
        gates=[gate, Gate(gate="quota", passed=True)],
    )
    found = filled(ext.AskExplanation, shape)
    assert (found.state_version, found.timestamp, list(found.text)) == (7, 2**62, ["one", "two"])
    assert (found.nodes.total, dict(found.nodes.reasons)) == (3, {"no GPU": 2})
    assert (found.waits, found.waiting_seconds, found.HasField("nodes_now")) == (True, 1.5, False)
    first, second = found.gates
    assert first.used == resource({"vcore": 1, "memory": 0})
    # Nothing is left, which is something else than a gate that is no question of amounts.
    assert (first.HasField("available"), second.HasField("available")) == (True, False)
    assert mapping(found)["gates"] == [
        {"gate": "nodes", "used": {"vcore": 1, "memory": 0}, "available": {}},
        {"gate": "quota", "passed": True},
    ]


def test_what_is_none_is_not_set_and_0_is() -> None:
    amount = QueueAmount("default", "root.a", "vcore", None, 0, 5)
    impact = ConfigImpact(1, 0.0, quotas_below_usage=(amount,), ended=("a/1", "b/2"))
    shape = ConfigImpactAnswer(state_version=1, timestamp=1, text=[], impact=impact)
    found = filled(ext.ConfigImpactAnswer, shape).impact
    (quota,) = found.quotas_below_usage
    assert (quota.HasField("before"), quota.HasField("after"), quota.after) == (False, True, 0)
    assert list(found.ended) == ["a/1", "b/2"]
    part = ForecastPart(
        application_id="a", queue_name="root.a", outcome="later", low=0.0, median=None, high=None
    )
    calibration = CalibrationPart(forecasts=0, held=0, open=0, widened=0.0)
    told = Forecasts(
        state_version=1, timestamp=1, text=[], forecasts=[part], calibration=calibration
    )
    (forecast,) = filled(ext.ForecastAnswer, told).forecasts
    assert (forecast.HasField("low"), forecast.low) == (True, 0.0)
    assert [forecast.HasField(name) for name in ("median", "high")] == [False, False]


def test_a_shape_with_more_than_its_message_is_an_error() -> None:
    with pytest.raises(KeyError):
        filled(ext.DryRunAnswer.Placement, RefusedPart(subject="s", reason="r", rule="EXT-1"))
    placed = Placed(application_id="a", allocation_key="k", node_id="n", after=1.0)
    assert filled(ext.DryRunAnswer.Placement, placed).node_id == "n"
