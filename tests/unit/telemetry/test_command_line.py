"""What of a command line may be shown."""

from __future__ import annotations

import pytest

from remuda.telemetry.command_line import shown_arguments


@pytest.mark.remuda_rule("REST-55")
@pytest.mark.parametrize(
    "arguments, shown",
    [
        (["remuda", "serve", "--demo"], ["remuda", "serve", "--demo"]),
        (["--grpc-tls-key", "tls.key"], ["--grpc-tls-key", "tls.key"]),
        (["--token", "hunter2", "x"], ["--token", "...", "x"]),
        (["--db-password=hunter2=3"], ["--db-password=..."]),
        (["--client-secret", "--demo"], ["--client-secret", "--demo"]),
        (["--Api-Key", "hunter2"], ["--Api-Key", "..."]),
        (["DB_PASSWORD=hunter2"], ["DB_PASSWORD=..."]),
        (["--to", "https://ann:hunter2@host/x"], ["--to", "https://...@host/x"]),
        (["--to=https://hunter2@host"], ["--to=https://...@host"]),
        (["--to", "https://host/@x"], ["--to", "https://host/@x"]),
    ],
)
def test_values_that_may_be_secret_are_left_out(arguments: list[str], shown: list[str]) -> None:
    assert shown_arguments(arguments) == shown
