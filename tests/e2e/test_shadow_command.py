"""``remuda shadow --of``: a shadow of a scheduler that serves, over the network."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM
from typing import Any

import grpc
import pytest

from remuda.client import Client
from remuda.client import Security as ClientSecurity
from remuda.si.pb import si_pb2 as si
from tests.e2e.serving import FREE_PORTS, Served, environment, run_remuda
from tests.e2e.signals import heed_signals
from tests.unit.runtime.journals.written import QUEUES
from tests.waiting import wait

pytestmark = pytest.mark.remuda_rule("EXT-167")

LOWER = QUEUES.replace("vcore: 20", "vcore: 200m")


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """The directory of a journal; beside it are two configurations."""
    (tmp_path / "same.yaml").write_text(QUEUES)
    (tmp_path / "lower.yaml").write_text(LOWER)
    directory = tmp_path / "journal"
    directory.mkdir()
    return directory


def served(journal: Path, *more: str) -> Served:
    """A scheduler that keeps a journal; --grpc-address can be given once more."""
    config = str(journal.parent / "same.yaml")
    return Served(*FREE_PORTS, "--config", config, "--journal", str(journal), *more)


def work(address: str, rm_id: str, asks: int, token: str = "") -> None:
    """Have as many asks placed, half of them in each queue."""
    with Client(address, rm_id, security=ClientSecurity(token=token)) as client:
        client.register()
        client.add_nodes({f"n{number}": {"vcore": 200_000} for number in range(4)})
        for queue in "ab":
            client.add_application(f"app-{queue}", queue=f"root.{queue}")
        client.ask_many(
            [
                si.AllocationAsk(
                    applicationID=f"app-{'ab'[number % 2]}",
                    allocationKey=f"k{number}",
                    resourceAsk=si.Resource(resources={"vcore": si.Quantity(value=2)}),
                    maxAllocations=1,
                )
                for number in range(asks)
            ]
        )
        client.allocations(asks, timeout=60)


def shadow(config: Path, *more: str) -> dict[str, Any]:
    """What a shadow finds from the beginning to the end."""
    done = run_remuda(
        "shadow", "--config", str(config), "--once", "--since", "0", "--output", "json", *more
    )
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def on_disk(journal: Path, text: str) -> bool:
    """Whether the journal has a text."""
    return any(text in each.read_text() for each in journal.glob("*.jsonl"))


def test_the_configuration_in_force_differs_nowhere_in_10_000_decisions(journal: Path) -> None:
    with served(journal) as scheduler:
        work(scheduler.grpc, "rm", 10_000)
        same = journal.parent / "same.yaml"
        wait(lambda: shadow(same, "--of", scheduler.grpc)["decisions"] == 10_000)
        found = shadow(same, "--of", scheduler.grpc)
    assert found["differences"] == 0
    assert found["starts"] == 1


def test_a_lower_maximum_differs_as_it_does_in_the_directory(journal: Path) -> None:
    lower = journal.parent / "lower.yaml"
    with served(journal) as scheduler:
        work(scheduler.grpc, "rm", 400)

        def pair() -> tuple[dict[str, Any], dict[str, Any]]:
            of = shadow(lower, "--of", scheduler.grpc)
            return of, shadow(lower, "--journal", str(journal))

        def equal() -> bool:
            first, second = pair()
            last = {first["last_input"], second["last_input"]}
            return len(last) == 1 and bool(first["decisions"] == 400)

        wait(equal)
        over_network, in_directory = pair()
    assert over_network == in_directory
    assert {each["queue"] for each in over_network["counts"]} >= {"root.a"}
    assert over_network["differences"] >= 100


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs on; its errors go where its output goes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "remuda", *arguments],
        env=environment(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=heed_signals,  # noqa: PLW1509 - it only sets what signals do
    )
    assert process.stdout is not None
    with process, process.stdout:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def line_with(process: subprocess.Popen[str], text: str) -> str:
    """The next line of a process that has a text."""
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return line
    raise AssertionError(f"no line with {text!r}, {process.wait()}")


def test_a_scheduler_that_is_killed_and_started_again_is_followed_on(journal: Path) -> None:
    lower = journal.parent / "lower.yaml"
    with served(journal) as first:
        address = first.grpc
        with running(
            "shadow", "--of", address, "--config", str(lower), "--output", "jsonl"
        ) as process:
            work(address, "rm", 400)
            assert '"queue": "root.a"' in line_with(process, '"difference"')
            first.end(SIGKILL)
            assert line_with(process, "trying again").startswith(
                f"remuda: no scheduler answers at {address}: "
            )
            with served(journal, "--grpc-address", address):
                line_with(process, f"remuda: {address} answers again")
                work(address, "rm", 600)
                assert '"queue": "root.a"' in line_with(process, '"k598"')
                process.send_signal(SIGINT)
                summary = json.loads(line_with(process, '"summary"'))
                assert process.wait(60) == 0
    assert summary["starts"] == 2
    assert summary["decisions"] > 400


def test_only_an_administrator_may_shadow(journal: Path) -> None:
    access = journal.parent / "access.toml"
    tokens = {"scheduling": 'rm-ids = ["*"]', "reading": "read = true", "ruling": "admin = true"}
    lines = [
        f'[[identity]]\nname = "{name}"\n'
        f'token-sha256 = ["{sha256(name.encode()).hexdigest()}"]\n{right}\n'
        for name, right in tokens.items()
    ]
    access.write_text("\n".join(lines))
    for name in tokens:
        (journal.parent / name).write_text(name)
    options = ("shadow", "--config", str(journal.parent / "same.yaml"), "--once", "--since", "0")
    with served(journal, "--grpc-access", str(access)) as scheduler:
        work(scheduler.grpc, "rm", 10, token="scheduling")
        wait(partial(on_disk, journal, "app-b"))
        for name in ("scheduling", "reading"):
            token = str(journal.parent / name)
            done = run_remuda(*options, "--of", scheduler.grpc, "--token-file", token)
            text = f"remuda: {scheduler.grpc}: '{name}' is no administrator\n"
            assert (done.returncode, done.stdout, done.stderr) == (4, "", text)
        token = str(journal.parent / "ruling")
        done = run_remuda(*options, "--of", scheduler.grpc, "--token-file", token)
        assert (done.returncode, done.stderr) == (0, "")


def test_one_too_many_is_refused_and_one_that_ends_leaves_room_and_no_files(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = journal.parent / "copies"
    copies.mkdir()
    monkeypatch.setenv("TMPDIR", str(copies))
    lower = str(journal.parent / "lower.yaml")
    with served(journal, "--journal-followers", "1") as scheduler:
        options = ("shadow", "--of", scheduler.grpc, "--config", lower)
        work(scheduler.grpc, "rm", 400)
        with running(*options, "--output", "jsonl") as process:
            line_with(process, '"difference"')
            done = run_remuda(*options, "--once")
            assert (done.returncode, done.stdout) == (1, "")
            assert "1 follow the journal, which is the limit; end one of them first" in done.stderr
            assert done.stderr.count("\n") == 1
            assert list(copies.iterdir())
            process.send_signal(SIGTERM)
            line_with(process, '"summary"')
            assert process.wait(60) == 0
            assert not list(copies.iterdir())
        wait(lambda: run_remuda(*options, "--once").returncode == 0)


def test_what_cannot_be_followed_is_a_line(tmp_path: Path) -> None:
    config = tmp_path / "same.yaml"
    config.write_text(QUEUES)
    old = grpc.server(futures.ThreadPoolExecutor(1))
    port = old.add_insecure_port("127.0.0.1:0")
    old.start()
    with Served(*FREE_PORTS) as scheduler:
        for of, text in (
            (scheduler.grpc, "this scheduler keeps no journal; start it with --journal DIR"),
            ("127.0.0.1:1", "no scheduler answers at 127.0.0.1:1: "),
            (f"127.0.0.1:{port}", "is of a version that lets nobody follow its journal over gRPC"),
            ("no address", "no scheduler answers at no address: "),
        ):
            done = run_remuda("shadow", "--of", of, "--config", str(config))
            assert (done.returncode, done.stdout) == (2, "")
            assert text in done.stderr
            assert done.stderr.count("\n") == 1
    old.stop(None)


@pytest.mark.parametrize("options", [(), ("--of", "a:1", "--journal", "b")])
def test_the_scheduler_is_named_in_one_way(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run_remuda("shadow", "--config", str(tmp_path / "new.yaml"), *options)
    text = "remuda: name the scheduler by one of --journal DIR and --of HOST:PORT\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", text)
