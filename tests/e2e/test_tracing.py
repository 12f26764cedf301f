"""`remuda serve --tracing otel` as a process, with the exporter that prints."""

from __future__ import annotations

import signal

import pytest

from tests.e2e.serving import FREE_PORTS, Served, run_remuda


@pytest.mark.remuda_rule("KV-6")
def test_a_process_traces_itself_as_the_standard_variables_say() -> None:
    told = {"OTEL_TRACES_EXPORTER": "console", "OTEL_SERVICE_NAME": "east"}
    with Served(*FREE_PORTS, "--tracing", "otel", **told) as served:
        assert served.client.get("/ws/v1/partitions").status_code == 200
        code, stdout, stderr = served.end(signal.SIGTERM)
    assert (code, stderr) == (0, "")
    assert '"name": "GET /ws/v1/partitions"' in stdout
    assert '"service.name": "east"' in stdout


@pytest.mark.remuda_rule("KV-6")
def test_tracing_is_one_of_two_things() -> None:
    done = run_remuda("serve", *FREE_PORTS, REMUDA_TRACING="jaeger")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'jaeger' is neither off nor otel" in done.stderr
    assert "Traceback" not in done.stderr
