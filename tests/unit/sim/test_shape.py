"""Clusters in a word."""

from __future__ import annotations

import pytest

from remuda.base.errors import UsageError
from remuda.sim.shape import looks_like_shape, parse_shape


def test_a_shape_gives_equal_nodes_in_the_order_of_their_numbers() -> None:
    nodes = parse_shape("10xmemory=1000,vcore=4000")
    assert len(nodes) == 10
    assert nodes[0].node_id == "node-0001"
    assert nodes[-1].node_id == "node-0010"
    assert all(node.capacity == {"memory": 1000, "vcore": 4000} for node in nodes)


def test_node_names_of_a_large_shape_sort_like_their_numbers() -> None:
    names = [node.node_id for node in parse_shape("10001xgpu=1")]
    assert names == sorted(names)


def test_resource_names_may_be_qualified() -> None:
    assert parse_shape("1xnvidia.com/gpu=8")[0].capacity == {"nvidia.com/gpu": 8}


@pytest.mark.parametrize("text", ["nodes.csv", "10x", "xgpu=1", "dir/2x.csv", "gpu=1"])
def test_files_are_not_taken_for_shapes(text: str) -> None:
    assert not looks_like_shape(text)


@pytest.mark.parametrize(
    "text",
    [
        "0xgpu=1",
        "1000001xgpu=1",
        "99999999999999999999999xgpu=1",
        "2xgpu=-1",
        "2xgpu=1.5",
        "2xgpu=",
        "2xgpu=1,,vcore=1",
        "2xgpu=1,gpu=2",
        "1xgpu=9223372036854775808",
    ],
)
def test_a_bad_shape_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_shape(text)
    assert "--nodes" in str(refused.value)
    assert "\n" not in str(refused.value)
