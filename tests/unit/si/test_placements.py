"""Placements are encoded as protobuf itself encodes them."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from remuda.core.messages.commands import Ask
from remuda.core.messages.effects import AllocationNew
from remuda.si.pb import si_pb2 as si
from remuda.si.placements import PlacementEncoder


def by_protobuf(effects: list[AllocationNew]) -> bytes:
    """Set field by field what the encoder puts together from bytes."""
    response = si.AllocationResponse()
    for effect in effects:
        ask = effect.ask
        allocation = response.new.add(
            allocationKey=ask.allocation_key,
            UUID=effect.allocation_id,
            allocationID=effect.allocation_id,
            nodeID=effect.node_id,
            applicationID=ask.application_id,
            partitionName=effect.partition,
            priority=ask.priority,
            taskGroupName=ask.task_group,
            placeholder=ask.placeholder,
            originator=ask.originator,
            allocationTags=dict(ask.tags),
            resourcePerAlloc=si.Resource(),
            preemptionPolicy=si.PreemptionPolicy(
                allowPreemptSelf=ask.allow_preempt_self,
                allowPreemptOther=ask.allow_preempt_other,
            ),
        )
        for name, amount in ask.resource.items():
            allocation.resourcePerAlloc.resources[name].value = amount
    return response.SerializeToString(deterministic=True)


def as_protobuf_orders(encoded: bytes) -> bytes:
    """Bring the entries of maps, which have no order on the wire, into one."""
    message = si.AllocationResponse.FromString(encoded)
    again = message.SerializeToString(deterministic=True)
    assert len(again) == len(encoded), "something is encoded longer than it has to be"
    return again


# Texts on both sides of what is encoded the quick way, and of lengths of one and two bytes.
names = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["", "a", "n" * 127, "n" * 128, "é" * 64, "é" * 127, "x" * 1_023, "x" * 1_024]),
    st.sampled_from(["ask-1", "ключ", "鍵", "🐎" * 300, "\x00", "\x7f", "\x80", "ÿ"]),
)
amounts = st.dictionaries(names, st.integers(-(2**63), 2**63 - 1), max_size=3)
resources = st.shared(st.lists(amounts, min_size=1, max_size=3), key="resources")


@st.composite
def placements(draw: st.DrawFn) -> AllocationNew:
    """Draw a placement; it shares its resource with others, as those of equal asks do."""
    plain = draw(st.booleans())
    ask = Ask(
        application_id=draw(names),
        allocation_key=draw(names),
        resource=draw(st.sampled_from(draw(resources))),
        priority=0 if plain else draw(st.integers(-(2**31), 2**31 - 1)),
        tags={} if plain else draw(st.dictionaries(names, names, max_size=3)),
        task_group="" if plain else draw(names),
        placeholder=not plain and draw(st.booleans()),
        originator=not plain and draw(st.booleans()),
        allow_preempt_self=draw(st.booleans()),
        allow_preempt_other=draw(st.booleans()),
    )
    return AllocationNew("rm", draw(names), draw(names), draw(names), ask)


@given(st.lists(placements(), max_size=8))
def test_any_placements_are_encoded_as_protobuf_encodes_them(effects: list[AllocationNew]) -> None:
    assert as_protobuf_orders(PlacementEncoder().encode(effects)) == by_protobuf(effects)


@given(st.lists(st.lists(placements(), max_size=4), max_size=4))
def test_what_an_encoder_remembers_does_not_show(runs: list[list[AllocationNew]]) -> None:
    encoder = PlacementEncoder()
    for effects in runs:
        assert as_protobuf_orders(encoder.encode(effects)) == by_protobuf(effects)


def test_more_nodes_applications_and_shapes_than_are_remembered() -> None:
    encoder = PlacementEncoder()
    effects = [
        AllocationNew("rm", "p", f"k{n}-0", f"n{n}", Ask(f"a{n}", f"k{n}", {"vcore": n}))
        for n in range(20_000)
    ]
    expected = by_protobuf(effects)
    assert encoder.encode(effects) == expected
    assert encoder.encode(effects) == expected


def test_what_is_too_long_to_be_remembered_leaves_nothing_behind() -> None:
    encoder = PlacementEncoder()

    def place(turn: int) -> None:
        name = f"{turn}" * 2_000
        ask = Ask(name, "k", {f"type-{turn}-{n}": n for n in range(1_000)})
        effects = [AllocationNew("rm", "p", "k-0", name, ask)]
        assert as_protobuf_orders(encoder.encode(effects)) == by_protobuf(effects)

    place(0)
    tracemalloc.start()
    for turn in range(1, 21):
        place(turn)
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 100_000
