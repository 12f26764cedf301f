"""Settings of the whole process in the extra map of a resource manager (KV-6)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda.client import Admin, Client, Security
from remuda.session.client import SessionClient
from tests.e2e.serving import FREE_PORTS, Served
from tests.waiting import wait

PLAIN, ADMIN = "correct horse", "battery staple"
OFF = {"event.trackingEnabled": "false", "log.level": "DEBUG", "rm.pauseTimeout": "1h"}
ON = {"event.trackingEnabled": "true", "log.core.scheduler.level": "DEBUG"}
TOLD = "settings of resource manager 'plain' without effect, its identity is no administrator: "


def identity(name: str, token: str, rights: str) -> str:
    digest = hashlib.sha256(token.encode()).hexdigest()
    return f"[[identity]]\nname = '{name}'\ntoken-sha256 = ['{digest}']\n{rights}\n"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    path = tmp_path / "access.toml"
    path.write_text(
        identity("plain", PLAIN, "rm-ids = ['plain', 'session']")
        + identity("operations", ADMIN, "admin = true\nrm-ids = ['other']")
    )
    with Served(*FREE_PORTS, "--grpc-access", str(path)) as running:
        yield running


def tracked(served: Served) -> bool:
    """Whether events are tracked, as the stream of events says."""
    with served.client.stream("GET", "/ws/v1/events/stream") as answer:
        return answer.status_code == 200


@pytest.mark.remuda_rule("KV-6", "EVT-101", "RM-7")
def test_they_need_the_role_of_an_administrator(served: Served) -> None:
    plain, admin = Security(token=PLAIN), Security(token=ADMIN)
    with Client(served.grpc, "plain", security=plain) as client:
        client.register(extra_config=OFF)
        assert tracked(served)
        client.update_configuration(extra_config=OFF)
        client.register(extra_config=OFF)
        assert tracked(served)
        wait(lambda: f"{TOLD}event.trackingEnabled, log.level\n" in served.log)
        with SessionClient(served.grpc, "session", security=plain) as session:
            session.register(extra_config=OFF)
            assert tracked(served)
        with Client(served.grpc, "other", security=admin) as other:
            other.register(extra_config=OFF)
            assert not tracked(served)
            # One without the right does not take them back either.
            client.update_configuration(extra_config=ON)
            client.register(extra_config={})
            assert not tracked(served)
            other.update_configuration(extra_config=ON)
            assert tracked(served)
    assert served.end(15)[0] == 0
    lines = [line for line in served.log.splitlines() if TOLD in line]
    assert [line.partition(TOLD)[2] for line in lines] == [
        "event.trackingEnabled, log.level",
        "event.trackingEnabled, log.core.scheduler.level",
    ]
    assert served.log.count("'session' without effect") == 1


@pytest.mark.remuda_rule("KV-6", "EXT-24")
def test_an_operator_sets_them_for_all_resource_managers_of_a_group(served: Served) -> None:
    with (
        Client(served.grpc, "plain", security=Security(token=PLAIN)) as client,
        Admin(served.grpc, security=Security(token=ADMIN)) as admin,
    ):
        client.register()
        admin.set_configuration("", extra_config=OFF)
        assert not tracked(served)


@pytest.mark.remuda_rule("KV-6", "RM-7")
def test_without_identities_everybody_may_set_them() -> None:
    with Served(*FREE_PORTS) as served, Client(served.grpc, "plain") as client:
        client.register(extra_config=OFF)
        assert not tracked(served)
        assert "without effect" not in served.log
