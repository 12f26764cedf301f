"""Errands of administrators: what a text needs before it is in force, and who gets answers when."""

from __future__ import annotations

import logging
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from remuda.base.errors import ConfigError
from remuda.config.load import load_configuration
from remuda.core.messages.commands import RegisterResourceManager, UpdateConfiguration
from remuda.core.messages.queries import NodesQuery, Query, QueuesQuery
from remuda.core.messages.rows import ApplicationRowsQuery, NodeRowsQuery, PartitionRowsQuery
from remuda.runtime.configuration import errands
from remuda.runtime.configuration.configurations import NewDocument
from remuda.runtime.errand import Errand
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.users.choice import Resolvers
from tests.unit.runtime.fakes import Factory, registration

TEXT = """
partitions:
  - name: default
    queues:
      - name: kept
        resources: {max: {vcore: 4}}
      - name: changed
        resources: {max: {vcore: 3}}
"""
OTHER = TEXT.replace("vcore: 3", "vcore: 5")
WITH_LDAP = TEXT.replace("- name: default", "- name: default\n    usergroupresolver: {type: ldap}")

# A thread that goes on after the main one, which no thread of a pool may be started after.
AFTER_THE_MAIN_THREAD = f"""
import threading
from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si

scheduler = InProcessScheduler()
scheduler.register_resource_manager(
    si.RegisterResourceManagerRequest(rmID="rm", version="1", policyGroup="q", config={TEXT!r}))

def change():
    threading.main_thread().join()
    scheduler.update_configuration(
        si.UpdateConfigurationRequest(rmID="rm", policyGroup="q", config={OTHER!r}))
    scheduler.stop()
    print("changed")

threading.Thread(target=change).start()
"""


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each errand that is made is a large one."""
    found: list[bool] = []
    made = Errand.__init__

    def noting(self: Errand[Any], work: Any, rm_id: str = "", **options: bool) -> None:
        found.append(options.get("large", False))
        made(self, work, rm_id, **options)

    monkeypatch.setattr(Errand, "__init__", noting)
    return found


def changed(loop: SchedulerLoop, text: str) -> Future[Any]:
    """Put a text in force for the RM as an edge does."""
    config = loop.configurations.loading(load_configuration)(text)
    return loop.configurations.update(UpdateConfiguration("rm", config))


def registered(loop: SchedulerLoop, text: str) -> None:
    config = loop.configurations.loading(load_configuration)(text)
    assert loop.register(RegisterResourceManager("rm", config)).result(60).reason == ""


def test_a_text_shares_with_what_came_into_force_last(loop: SchedulerLoop) -> None:
    registered(loop, TEXT)
    for text in (OTHER, TEXT, OTHER):
        (known,) = loop.configurations.registered().result(60)
        after = changed(loop, text).result(60).after
        before = {each.name: each for each in known.configuration.partitions[0].root.queues}
        same = [each.name for each in after.partitions[0].root.queues if each is before[each.name]]
        assert same == ["kept"]


@pytest.mark.remuda_rule("UGR-26")
def test_what_a_text_needs_is_read_before_it_is_in_force(factory: Factory, tmp_path: Path) -> None:
    loop = SchedulerLoop(factory, resolvers=Resolvers(tmp_path))
    with pytest.raises(ConfigError, match="UGR-26"):
        loop.configurations.loading(load_configuration)(WITH_LDAP)
    with pytest.raises(ConfigError, match=r"queues\.yaml: .*UGR-26"):
        loop.configurations.ready(load_configuration(WITH_LDAP), "queues.yaml")
    loop.stop()


def test_a_change_that_cannot_be_logged_is_answered_all_the_same(
    loop: SchedulerLoop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("no such thing")

    registered(loop, TEXT)
    monkeypatch.setattr(errands, "log_change", broken)
    with caplog.at_level(logging.ERROR, "remuda.runtime"):
        assert changed(loop, OTHER).result(60).changed
    expected = "a change of a configuration could not be logged: ValueError('no such thing')"
    assert caplog.messages == [expected]


def test_a_change_is_answered_and_logged_where_no_thread_can_be_had(
    loop: SchedulerLoop, caplog: pytest.LogCaptureFixture
) -> None:
    registered(loop, TEXT)
    loop.configurations.close()
    with caplog.at_level(logging.INFO, "remuda.config"):
        assert changed(loop, OTHER).result(60).changed
    assert [message for message in caplog.messages if "replaces" in message]


def test_a_change_is_answered_when_the_main_thread_has_ended() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AFTER_THE_MAIN_THREAD],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "changed\n"), done.stderr


@pytest.mark.parametrize(
    "query,expected",
    [
        (NodesQuery("default", "rm"), False),
        (QueuesQuery("default", "rm"), False),
        (ApplicationRowsQuery("default", "root.kept", "rm"), False),
        (ApplicationRowsQuery("default", "", "rm"), True),
        (NodeRowsQuery("default", "rm"), True),
        (PartitionRowsQuery("default", "rm"), True),
    ],
)
def test_questions_about_all_there_is_of_a_kind_are_large(
    factory: Factory, large: list[bool], query: Query, expected: bool
) -> None:
    SchedulerLoop(factory).query(query)
    assert large == [expected]


def test_changes_of_all_queues_are_large(factory: Factory, large: list[bool]) -> None:
    loop = SchedulerLoop(factory)
    loop.register(registration())
    loop.configurations.update(UpdateConfiguration("rm", load_configuration(TEXT)))
    loop.configurations.store(NewDocument(load_configuration(TEXT)))
    loop.unregister("rm")
    loop.barrier()
    assert large == [True, True, True, True, False]
