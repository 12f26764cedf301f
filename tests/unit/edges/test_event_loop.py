"""What the event loop of a service logs of exceptions that nobody awaits."""

from __future__ import annotations

import asyncio
import logging

import pytest

from remuda.edges.event_loop import event_loop


class SSLProtocol:
    """Named as those of asyncio and uvloop."""


@pytest.mark.parametrize(
    "context",
    [
        {"message": "Fatal error on transport", "exception": ConnectionResetError("it is gone")},
        {
            "message": "Fatal error on SSL protocol",
            "exception": AttributeError("'NoneType' object has no attribute 'write'"),
            "protocol": SSLProtocol(),
        },
    ],
)
def test_a_connection_that_breaks_is_one_line(
    context: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    loop = event_loop()
    try:
        with caplog.at_level(logging.WARNING, "remuda.rpc"):
            loop.call_exception_handler(context)
    finally:
        loop.close()
    (record,) = caplog.records
    assert record.getMessage().startswith("a connection broke: ")
    assert record.exc_info is None
    assert "\n" not in caplog.text.rstrip()


def test_a_fault_of_ours_is_shown_whole(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 // 0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    with asyncio.Runner(loop_factory=event_loop) as runner:
        runner.run(fail())
    assert "ZeroDivisionError" in caplog.text
    assert "Traceback" in caplog.text
