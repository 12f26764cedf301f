"""Addresses, durations and delays as people type them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import remuda.app
from remuda.app import Settings
from remuda.base.addresses import parse_address
from remuda.base.errors import UsageError
from remuda.cli.serve import parse_seconds, serve
from remuda.config.process_limits import DEFAULT_LIMITS
from remuda.edges.certificates import TlsFiles
from remuda.edges.grpc.settings import GrpcSettings
from remuda.edges.protection import Files
from remuda.edges.rest.transport.server import ADDRESS_LIMIT, CONNECTIONS_LIMIT


@pytest.mark.parametrize(
    "text, address",
    [
        ("127.0.0.1:9080", ("127.0.0.1", 9080)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address("--x", text) == address


@pytest.mark.parametrize(
    "text", ["", ":9080", "9080", "h:", "h:x", "h:65536", "h:-1", "::1:80", "[]:80", "h:٣"]
)
def test_bad_addresses(text: str) -> None:
    with pytest.raises(UsageError, match="--x: "):
        parse_address("--x", text)


@pytest.mark.parametrize(
    "text, seconds",
    [("30s", 30.0), ("500ms", 0.5), ("5m", 300.0), ("1h30m", 5400.0), ("1.5s", 1.5)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_seconds("--x", text) == seconds


@pytest.mark.parametrize(
    "text", ["", "30", "s", "0", "0s", "-1s", "1 s", "1s2", "1d", "1e3s", "٣s"]
)
def test_bad_durations(text: str) -> None:
    with pytest.raises(UsageError, match="--x: "):
        parse_seconds("--x", text)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Settings]]:
    """What the command would have served with; nothing is started."""
    settings: list[Settings] = []
    monkeypatch.setattr(remuda.app, "run", settings.append)
    for name in ("DISABLE_RESERVATION", "REMUDA_RESERVATION_DELAY", "REMUDA_LIMIT"):
        monkeypatch.delenv(name, raising=False)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    yield settings
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


app = typer.Typer()
app.command()(serve)


@pytest.mark.remuda_rule("RSV-3", "KV-4")
@pytest.mark.parametrize(
    "options, environment, delay_ns",
    [
        ((), {}, 2_000_000_000),
        ((), {"DISABLE_RESERVATION": "true"}, None),
        ((), {"DISABLE_RESERVATION": "false"}, 2_000_000_000),
        (("--reservation-delay", "10s"), {}, 10_000_000_000),
        (("--reservation-delay", "off"), {}, None),
        (("--reservation-delay", "1s"), {"DISABLE_RESERVATION": "true"}, 1_000_000_000),
        ((), {"REMUDA_RESERVATION_DELAY": "off"}, None),
        (("--reservation-delay", "1s"), {"REMUDA_RESERVATION_DELAY": "off"}, 1_000_000_000),
    ],
)
def test_the_reservation_delay_comes_from_option_or_environment(
    served: list[Settings],
    options: tuple[str, ...],
    environment: dict[str, str],
    delay_ns: int | None,
) -> None:
    result = CliRunner().invoke(app, options, env=environment)
    assert result.exit_code == 0, result.output
    assert [settings.reservation_delay_ns for settings in served] == [delay_ns]


@pytest.mark.remuda_rule("SI-14", "KV-6")
@pytest.mark.parametrize(
    "options, environment, limits",
    [
        ((), {}, {}),
        (("--limit", "nodes=5", "--limit", "asks=7"), {}, {"nodes": 5, "asks": 7}),
        ((), {"REMUDA_LIMIT": "nodes=5 asks=7"}, {"nodes": 5, "asks": 7}),
        (("--limit", "nodes=6"), {"REMUDA_LIMIT": "nodes=5 asks=7"}, {"nodes": 6}),
    ],
)
def test_limits_come_from_options_or_environment(
    served: list[Settings],
    options: tuple[str, ...],
    environment: dict[str, str],
    limits: dict[str, int],
) -> None:
    result = CliRunner().invoke(app, options, env=environment)
    assert result.exit_code == 0, result.output
    assert [settings.limits for settings in served] == [{**DEFAULT_LIMITS, **limits}]


def test_a_bad_limit_starts_nothing(served: list[Settings]) -> None:
    result = CliRunner().invoke(app, ["--limit", "nodes=none"])
    assert isinstance(result.exception, UsageError)
    assert "--limit: 'nodes=none' is not NAME=NUMBER" in str(result.exception)
    assert served == []


def test_a_bad_reservation_delay_starts_nothing(served: list[Settings]) -> None:
    result = CliRunner().invoke(app, ["--reservation-delay", "0"])
    assert isinstance(result.exception, UsageError)
    assert "--reservation-delay: '0' is not a duration above 0" in str(result.exception)
    assert served == []


@pytest.mark.remuda_rule("EXT-23")
def test_files_for_tls_and_access_are_named_by_option_or_environment(
    served: list[Settings],
) -> None:
    words = ["--grpc-tls-cert", "c.pem", "--grpc-tls-key", "k.pem", "--grpc-access", "a.toml"]
    environment = {"REMUDA_GRPC_TLS_CLIENT_CA": "ca.pem"}
    assert CliRunner().invoke(app, words, env=environment).exit_code == 0
    assert CliRunner().invoke(app, []).exit_code == 0
    secure, plain = served
    files = TlsFiles(Path("c.pem"), Path("k.pem"), Path("ca.pem"))
    assert secure.grpc_files == Files(files, Path("a.toml"))
    assert secure.rest_files == plain.grpc_files == Files()


@pytest.mark.remuda_rule("KV-6", "REST-1", "REST-55")
def test_so_are_those_of_the_http_api(served: list[Settings]) -> None:
    words = ["--rest-tls-cert", "c.pem", "--rest-tls-key", "k.pem", "--rest-access", "a.toml"]
    variables = {
        "REMUDA_REST_TLS_CERT": "d.pem",
        "REMUDA_REST_TLS_KEY": "l.pem",
        "REMUDA_REST_ACCESS": "b.toml",
        "REMUDA_DEBUG": "0",
    }
    assert CliRunner().invoke(app, [*words, "--no-debug"]).exit_code == 0
    assert CliRunner().invoke(app, [], env=variables).exit_code == 0
    assert CliRunner().invoke(app, words, env=variables).exit_code == 0
    assert CliRunner().invoke(app, []).exit_code == 0
    option, variable, both, neither = served
    files = Files(TlsFiles(Path("c.pem"), Path("k.pem")), Path("a.toml"))
    assert option.rest_files == both.rest_files == files
    assert variable.rest_files == Files(TlsFiles(Path("d.pem"), Path("l.pem")), Path("b.toml"))
    assert option.grpc_files == neither.rest_files == Files()
    assert [each.debug for each in served] == [False, False, False, True]


@pytest.mark.remuda_rule("EXT-23")
@pytest.mark.parametrize(
    "words, reason",
    [
        (["--grpc-tls-cert", "c.pem"], "belong together"),
        (["--grpc-tls-key", "k.pem"], "belong together"),
        (["--grpc-tls-client-ca", "ca.pem"], "needs --grpc-tls-cert and --grpc-tls-key"),
        (["--rest-tls-cert", "c.pem"], "--rest-tls-cert and --rest-tls-key belong together"),
        (["--rest-tls-key", "k.pem"], "--rest-tls-cert and --rest-tls-key belong together"),
    ],
)
def test_files_for_tls_that_lack_another_are_refused(
    served: list[Settings], words: list[str], reason: str
) -> None:
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, UsageError)
    assert reason in str(result.exception)
    assert served == []


@pytest.mark.remuda_rule("REST-56", "MET-44")
def test_the_name_of_the_cluster_and_the_size_of_the_history(served: list[Settings]) -> None:
    words = ["--cluster-name", "blue", "--history-samples", "0"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert CliRunner().invoke(app, [], env={"REMUDA_CLUSTER_NAME": "red"}).exit_code == 0
    assert CliRunner().invoke(app, ["--history-samples", "1441"]).exit_code == 2
    chosen = [(each.observation.cluster_name, each.observation.history_samples) for each in served]
    assert chosen == [("blue", 0), ("red", 1440)]


@pytest.mark.remuda_rule("REST-3", "SI-105")
def test_connections_of_one_address(served: list[Settings]) -> None:
    words = ["--grpc-connections-per-address", "0", "--rest-connections-per-address", "512"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert CliRunner().invoke(app, []).exit_code == 0
    assert CliRunner().invoke(app, ["--grpc-connections-per-address", "513"]).exit_code == 2
    assert CliRunner().invoke(app, ["--rest-connections-per-address", "513"]).exit_code == 2
    chosen = [(each.grpc_connections, each.rest_connections) for each in served]
    assert chosen == [(0, 512), (25, 256)]
    assert (GrpcSettings().address_connections_limit, ADDRESS_LIMIT) == (25, 256)
    assert (GrpcSettings().connections_limit, CONNECTIONS_LIMIT) == (512, 512)


@pytest.mark.remuda_rule("EXT-163")
def test_who_may_follow_the_journal_at_a_time(served: list[Settings]) -> None:
    assert CliRunner().invoke(app, ["--journal-followers", "0"]).exit_code == 0
    assert CliRunner().invoke(app, []).exit_code == 0
    assert CliRunner().invoke(app, ["--journal-followers", "101"]).exit_code == 2
    assert [each.journal_followers for each in served] == [0, 4]
    assert GrpcSettings().journal_followers_limit == 4


@pytest.mark.remuda_rule("HLT-21", "KV-6")
@pytest.mark.parametrize(
    "options, environment, on",
    [
        ((), {}, True),
        (("--no-self-audit",), {}, False),
        ((), {"REMUDA_SELF_AUDIT": "false"}, False),
        (("--self-audit",), {"REMUDA_SELF_AUDIT": "false"}, True),
    ],
)
def test_the_self_audit_is_on_by_default(
    served: list[Settings], options: tuple[str, ...], environment: dict[str, str], on: bool
) -> None:
    result = CliRunner().invoke(app, options, env=environment)
    assert result.exit_code == 0, result.output
    assert [settings.observation.self_audit for settings in served] == [on]
