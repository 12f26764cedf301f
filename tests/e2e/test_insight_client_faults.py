"""The client for questions, where a scheduler is gone, is silent, or makes no sense."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from remuda.client import ClientError, Insight
from remuda.connection.channel import NotAnsweredError
from remuda.si.pb import extension_pb2 as ext

pytestmark = pytest.mark.remuda_rule("EXT-126")


def refuse(_request: object, context: Any) -> None:
    """Refuse with lines that a terminal obeys."""
    context.abort(grpc.StatusCode.NOT_FOUND, "no such\nask\x1b[2J")


def fail(_request: object, context: Any) -> None:
    """Fail without a word."""
    context.abort(grpc.StatusCode.INTERNAL, "")


def ways(_request: object, _context: object) -> bytes:
    """Answer."""
    return ext.WaysOutAnswer(within=1.5).SerializeToString()


def always_more(_request: object, _context: object) -> bytes:
    """Answer with a page after which the same one comes."""
    page = [ext.FairShare(queue_name="root")]
    return ext.ListFairSharesResponse(queues=page, next_page_token="root").SerializeToString()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    calls = {
        "Explain": refuse,
        "GetFairShare": fail,
        "WaysOut": ways,
        "ListFairShares": always_more,
    }
    handlers: dict[str, Any] = {
        name: grpc.unary_unary_rpc_method_handler(call) for name, call in calls.items()
    }
    handler = grpc.method_handlers_generic_handler("remuda.v1.Insight", handlers)
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of somebody who takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_of_several_addresses_the_first_that_answers_is_asked(address: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        gone = f"127.0.0.1:{server.getsockname()[1]}"
    with Insight(f"{gone},{address}", timeout=30) as insight:
        assert insight.ways_out("a", "k").within == 1.5
        # The one that answered is asked first from then on.
        assert insight.ways_out("b", "k").within == 1.5


def test_nobody_who_answers_is_one_line(silent: str) -> None:
    with (
        Insight(silent, timeout=0.2) as insight,
        pytest.raises(NotAnsweredError, match=f"^no scheduler answers at {silent}: [^\n]+$"),
    ):
        insight.explain("a", "k")


def test_a_refusal_is_one_line_whatever_it_says(address: str) -> None:
    with Insight(address, timeout=30) as insight:
        with pytest.raises(ClientError) as caught:
            insight.explain("a", "k")
        assert str(caught.value) == r"NOT_FOUND: no such\nask\x1b[2J"
        with pytest.raises(ClientError, match=r"^INTERNAL: no reason was given$"):
            insight.fair_share("root")


def test_pages_that_do_not_go_on_end_with_an_error(address: str) -> None:
    with (
        Insight(address, timeout=30) as insight,
        pytest.raises(ClientError, match=f"^{address}: the pages of fair shares have no end$"),
    ):
        list(insight.fair_shares())
