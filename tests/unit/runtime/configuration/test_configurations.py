"""Stored documents, and changes that reach all resource managers they concern, or none."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import Future

import pytest

from remuda.base.errors import ConfigError, ProtocolError
from remuda.config.load import load_configuration
from remuda.config.schema import Configuration, built_in
from remuda.core.messages.commands import RegisterResourceManager, UpdateConfiguration
from remuda.runtime.configuration.configurations import NewDocument, Registered
from remuda.runtime.configuration.documents import StoredDocuments
from remuda.runtime.errors import NotRegisteredError
from remuda.runtime.loop import SchedulerLoop
from tests.unit.runtime.fakes import Factory, FakeScheduler


def configuration(queue: str) -> Configuration:
    """A configuration with one leaf."""
    text = f"partitions: [{{name: default, queues: [{{name: {queue}, submitacl: '*'}}]}}]\n"
    return load_configuration(text)


FILE, NEW, OTHER = configuration("file"), configuration("new"), configuration("other")
INLINE = configuration("inline")


@pytest.fixture
def loop(factory: Factory) -> Iterator[SchedulerLoop]:
    running = SchedulerLoop(factory, documents=StoredDocuments(FILE))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def core(loop: SchedulerLoop, factory: Factory) -> FakeScheduler:
    return factory.scheduler


def enroll(
    loop: SchedulerLoop, rm_id: str, group: str = "", inline: Configuration | None = None
) -> None:
    command = RegisterResourceManager(
        rm_id, inline or built_in(), policy_group=group, extra_config={"of": rm_id}
    )
    assert loop.register(command, stored=inline is None).result(60).reason == ""


def known(loop: SchedulerLoop, rm_id: str) -> Registered:
    (found,) = [each for each in loop.configurations.registered().result(60) if each.rm_id == rm_id]
    return found


def in_force(core: FakeScheduler) -> dict[str, Configuration]:
    return {rm_id: configured for rm_id, (configured, _) in core.configured.items()}


@pytest.mark.remuda_rule("RM-4", "RM-5", "CFG-2")
def test_each_policy_group_has_its_document_and_the_others_the_default(
    loop: SchedulerLoop, core: FakeScheduler
) -> None:
    loop.configurations.store(NewDocument(NEW, "science")).result(60)
    enroll(loop, "one", "science")
    enroll(loop, "two", "arts")
    enroll(loop, "three", "science", INLINE)
    assert in_force(core) == {"one": NEW, "two": FILE, "three": INLINE}
    assert [known(loop, rm_id).stored for rm_id in ("one", "two", "three")] == [True, True, False]


@pytest.mark.remuda_rule("RM-5")
def test_without_any_document_the_built_in_configuration_counts(factory: Factory) -> None:
    loop = SchedulerLoop(factory)
    loop.start()
    enroll(loop, "rm")
    loop.stop()
    assert in_force(factory.scheduler) == {"rm": built_in()}


@pytest.mark.remuda_rule("RM-5", "SI-88")
def test_a_registration_gets_the_document_of_the_moment_it_is_handled(factory: Factory) -> None:
    loop = SchedulerLoop(factory, documents=StoredDocuments(FILE))
    stored = loop.configurations.store(NewDocument(NEW))
    registered = loop.register(RegisterResourceManager("rm", FILE), stored=True)
    loop.start()
    assert not stored.result(60).refused
    assert registered.result(60).reason == ""
    loop.stop()
    assert in_force(factory.scheduler) == {"rm": NEW}


@pytest.mark.remuda_rule("SI-85")
def test_an_update_of_an_rm_that_is_not_registered_is_an_error(
    loop: SchedulerLoop, core: FakeScheduler
) -> None:
    update = UpdateConfiguration("nobody", NEW)
    with pytest.raises(NotRegisteredError, match="'nobody' is not registered"):
        loop.configurations.update(update).result(60)
    enroll(loop, "rm")
    loop.unregister("rm").result(60)
    with pytest.raises(ProtocolError, match="'rm' is not registered"):
        loop.configurations.update(UpdateConfiguration("rm", NEW)).result(60)
    assert not any(isinstance(command, UpdateConfiguration) for command in core.handled)
    assert not loop.failed


@pytest.mark.remuda_rule("SI-85", "SI-88")
def test_an_update_is_answered_when_it_is_in_force_and_ends_the_use_of_the_document(
    loop: SchedulerLoop, core: FakeScheduler
) -> None:
    enroll(loop, "rm")
    change = loop.configurations.update(UpdateConfiguration("rm", NEW, {"a": "b"})).result(60)
    assert core.configured["rm"] == (NEW, {"a": "b"})
    assert (change.before, change.after, change.changed, change.rm_ids) == (
        FILE,
        NEW,
        True,
        ("rm",),
    )
    assert not known(loop, "rm").stored
    assert not loop.configurations.update(UpdateConfiguration("rm", NEW)).result(60).changed


def test_the_log_tells_each_change_once_and_no_trial(
    loop: SchedulerLoop, core: FakeScheduler, caplog: pytest.LogCaptureFixture
) -> None:
    enroll(loop, "rm", "science")
    with caplog.at_level(logging.INFO, "remuda.config"):
        loop.configurations.update(UpdateConfiguration("rm", NEW, dry_run=True)).result(60)
        loop.configurations.update(UpdateConfiguration("rm", NEW)).result(60)
        loop.configurations.store(NewDocument(NEW, "science", dry_run=True)).result(60)
        loop.configurations.store(NewDocument(OTHER, "science")).result(60)
        core.stubborn.add("rm")
        loop.configurations.update(UpdateConfiguration("rm", FILE)).result(60)
    update, document = (message for message in caplog.messages if "checksum" in message)
    change = f"checksum {NEW.checksum} replaces {FILE.checksum}; resource managers: 1"
    assert update == f"update of resource manager 'rm': {change}; queues 1 added, 1 left out"
    change = f"checksum {OTHER.checksum} replaces {FILE.checksum}; resource managers: 0"
    assert document == f"document of policy group 'science': {change}; queues 1 added, 1 left out"


@pytest.mark.remuda_rule("RM-5", "CFG-3")
def test_an_update_without_text_goes_back_to_the_document_of_the_group_at_registration(
    loop: SchedulerLoop, core: FakeScheduler
) -> None:
    loop.configurations.store(NewDocument(NEW, "science")).result(60)
    enroll(loop, "rm", "science", INLINE)
    update = UpdateConfiguration("rm", built_in(), {})
    loop.configurations.update(update, stored=True).result(60)
    assert core.configured["rm"] == (NEW, {})
    assert known(loop, "rm").stored


@pytest.mark.remuda_rule("SI-85", "CFG-4")
def test_a_refused_update_changes_nothing_and_gives_all_reasons(
    loop: SchedulerLoop, core: FakeScheduler
) -> None:
    enroll(loop, "rm")
    core.stubborn.add("rm")
    change = loop.configurations.update(UpdateConfiguration("rm", NEW, {"a": "b"})).result(60)
    assert (change.refused, change.changed, change.after) == (True, False, FILE)
    assert core.configured["rm"] == (FILE, {"of": "rm"})
    assert known(loop, "rm").stored
    with pytest.raises(ConfigError) as caught:
        change.raise_if_refused("queues.yaml", name_rms=True)
    assert str(caught.value).splitlines() == [
        "queues.yaml: resource manager 'rm': queue root.a has applications [RLD-26]",
        "queues.yaml: resource manager 'rm': queue root.b has applications [RLD-26]",
    ]


@pytest.mark.remuda_rule("EXT-24", "RM-4", "SI-88")
def test_a_new_document_reaches_all_who_use_it_and_nobody_else(
    loop: SchedulerLoop, core: FakeScheduler
) -> None:
    for rm_id, group, inline in (
        ("one", "science", None),
        ("two", "science", None),
        ("three", "science", INLINE),
        ("four", "arts", None),
    ):
        enroll(loop, rm_id, group, inline)
    change = loop.configurations.store(NewDocument(NEW, "science")).result(60)
    assert change.rm_ids == ("one", "two")
    assert in_force(core) == {"one": NEW, "two": NEW, "three": INLINE, "four": FILE}
    assert core.configured["one"][1] == {"of": "one"}
    assert loop.documents.find("science").configuration == NEW
    assert loop.documents.find("arts").configuration == FILE


@pytest.mark.remuda_rule("EXT-24")
def test_when_one_of_two_refuses_neither_is_changed(
    loop: SchedulerLoop, core: FakeScheduler
) -> None:
    enroll(loop, "one", "science")
    enroll(loop, "two", "science")
    core.stubborn.add("two")
    new = NewDocument(NEW, "science", extra_config={"a": "b"})
    change = loop.configurations.store(new).result(60)
    assert list(change.refusals) == ["two"]
    assert in_force(core) == {"one": FILE, "two": FILE}
    assert core.configured["one"][1] == {"of": "one"}
    assert loop.documents.find("science").configuration == FILE
    core.stubborn.clear()
    assert not loop.configurations.store(new).result(60).refused
    assert core.configured == {"one": (NEW, {"a": "b"}), "two": (NEW, {"a": "b"})}


@pytest.mark.remuda_rule("EXT-24")
@pytest.mark.parametrize("rms", [(), ("one",), ("one", "two")])
def test_a_dry_run_answers_and_changes_nothing(
    loop: SchedulerLoop, core: FakeScheduler, rms: tuple[str, ...]
) -> None:
    for rm_id in rms:
        enroll(loop, rm_id, "science")
    change = loop.configurations.store(NewDocument(NEW, "science", dry_run=True)).result(60)
    assert (change.refused, change.changed) == (False, True)
    assert in_force(core) == dict.fromkeys(rms, FILE)
    assert loop.documents.groups() == ()
    if rms:
        core.stubborn.add(rms[-1])
        trial = NewDocument(NEW, "science", dry_run=True)
        assert list(loop.configurations.store(trial).result(60).refusals) == [rms[-1]]


@pytest.mark.remuda_rule("EXT-24")
def test_a_document_that_somebody_else_changed_meanwhile_is_not_overwritten(
    loop: SchedulerLoop, core: FakeScheduler
) -> None:
    enroll(loop, "rm", "science")
    seen = FILE.checksum
    first = NewDocument(NEW, "science", expected_checksum=seen.lower())
    assert not loop.configurations.store(first).result(60).refused
    second = NewDocument(OTHER, "science", expected_checksum=seen)
    change = loop.configurations.store(second).result(60)
    assert change.reason.startswith(f"the checksum of the document in force is {NEW.checksum}, not")
    assert in_force(core) == {"rm": NEW}
    with pytest.raises(ConfigError, match="EXT-24"):
        change.raise_if_refused()


@pytest.mark.remuda_rule("RM-4", "RM-5")
def test_a_new_default_is_for_those_whose_group_has_no_document(
    loop: SchedulerLoop, core: FakeScheduler
) -> None:
    loop.configurations.store(NewDocument(NEW, "science")).result(60)
    enroll(loop, "one", "science")
    enroll(loop, "two", "arts")
    enroll(loop, "three", "arts", INLINE)
    change = loop.configurations.store(NewDocument(OTHER)).result(60)
    assert change.rm_ids == ("two",)
    assert in_force(core) == {"one": NEW, "two": OTHER, "three": INLINE}
    back = loop.configurations.store(NewDocument(None, "science")).result(60)
    assert (back.before, back.after, back.rm_ids) == (NEW, OTHER, ("one",))
    assert in_force(core)["one"] == OTHER
    assert loop.documents.groups() == ()


@pytest.mark.remuda_rule("EXT-24")
def test_no_name_means_the_only_policy_group(loop: SchedulerLoop) -> None:
    def group(named: str) -> Future[str]:
        return loop.configurations.group(named)

    assert group("").result(60) == ""
    enroll(loop, "one", "science")
    assert group("").result(60) == "science"
    enroll(loop, "two", "arts")
    with pytest.raises(ProtocolError, match="several policy groups, name one of: arts, science"):
        group("").result(60)
    assert group("arts").result(60) == "arts"
    enroll(loop, "three", "")
    assert group("").result(60) == ""
    assert not loop.failed


def test_a_watcher_knows_before_whoever_asked(loop: SchedulerLoop) -> None:
    seen: list[tuple[str, Configuration, Mapping[str, str] | None]] = []
    loop.configurations.watch(lambda *told: seen.append(told))
    enroll(loop, "rm")
    assert seen == [("rm", FILE, {"of": "rm"})]
    loop.configurations.update(UpdateConfiguration("rm", NEW, {})).result(60)
    assert seen[1:] == [("rm", NEW, {})]
    loop.configurations.update(UpdateConfiguration("rm", FILE, {}), stored=True).result(60)
    loop.configurations.store(NewDocument(OTHER)).result(60)
    assert seen[2:] == [("rm", FILE, {}), ("rm", OTHER, None)]


def test_a_watcher_that_fails_ends_nothing(
    loop: SchedulerLoop, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(rm_id: str, known: Configuration, extra: Mapping[str, str] | None) -> None:
        raise ValueError("theirs")

    loop.configurations.watch(broken)
    with caplog.at_level(logging.ERROR, "remuda.runtime"):
        enroll(loop, "rm")
    assert "theirs" in caplog.text
    assert not loop.failed


@pytest.mark.remuda_rule("EXT-24")
def test_a_core_that_changes_its_mind_after_the_trial_is_a_fault(
    loop: SchedulerLoop, core: FakeScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    enroll(loop, "one")
    enroll(loop, "two")
    accept = core.update

    def fickle(command: UpdateConfiguration) -> object:
        answer = accept(command)
        if command.dry_run and command.rm_id == "two":
            core.stubborn.add("two")
        return answer

    monkeypatch.setattr(core, "update", fickle)
    with pytest.raises(AssertionError, match="refused after an accepted trial"):
        loop.configurations.store(NewDocument(NEW)).result(60)
    assert loop.ended.exception(10) is not None


@pytest.mark.remuda_rule("EXT-24", "RM-4")
@pytest.mark.parametrize(
    "group, why",
    [
        ("g" * 257, "policy_group is longer than 256 characters"),
        ("a\nb", "policy_group must not contain control characters"),
    ],
)
def test_a_document_of_a_group_that_has_no_good_name_is_not_stored(
    loop: SchedulerLoop, group: str, why: str
) -> None:
    change = loop.configurations.store(NewDocument(NEW, policy_group=group)).result(60)
    assert (change.refused, change.reason) == (True, why)
    assert loop.documents.groups() == ()


@pytest.mark.remuda_rule("EXT-24")
def test_so_many_groups_have_a_document_of_their_own(loop: SchedulerLoop) -> None:
    def store(group: str, new: Configuration | None = NEW) -> str:
        return loop.configurations.store(NewDocument(new, policy_group=group)).result(60).reason

    assert [store(f"g{number}") for number in range(64)] == [""] * 64
    full = "64 policy groups have a document already; take one away first"
    assert store("one more") == full
    assert store("g7", OTHER) == ""
    assert store("g8", None) == ""
    assert store("one more") == ""
    assert len(loop.documents.groups()) == 64


# ------------------------------------------------------------------ partitions that an RM needs


def enroll_in_need(
    loop: SchedulerLoop, rm_id: str, inline: Configuration | None = None, named: str = "default"
) -> str:
    """Register an RM that needs partitions; return why it is refused."""
    needs = {"remuda/partitions": named}
    command = RegisterResourceManager(rm_id, inline or built_in(), build_info=needs)
    return loop.register(command, stored=inline is None).result(60).reason


EMPTY = load_configuration("partitions: []\n")
LACKING = "there is no partition 'default', which the resource manager needs"


@pytest.mark.remuda_rule("EXT-191")
def test_a_document_without_a_partition_that_an_rm_needs_changes_nothing_for_any(
    loop: SchedulerLoop, core: FakeScheduler
) -> None:
    enroll(loop, "easy")
    assert enroll_in_need(loop, "needs") == ""
    for dry_run in (True, False):
        change = loop.configurations.store(NewDocument(EMPTY, dry_run=dry_run)).result(60)
        assert {rm_id: told.reason for rm_id, told in change.refusals.items()} == {"needs": LACKING}
    assert in_force(core) == {"easy": FILE, "needs": FILE}
    assert loop.documents.default is FILE
    assert not loop.configurations.store(NewDocument(NEW)).result(60).refused


@pytest.mark.remuda_rule("EXT-191")
def test_an_rm_neither_registers_nor_goes_on_without_a_partition_that_it_needs(
    loop: SchedulerLoop, core: FakeScheduler
) -> None:
    assert enroll_in_need(loop, "rm", EMPTY) == LACKING
    assert enroll_in_need(loop, "rm", INLINE) == ""
    change = loop.configurations.update(UpdateConfiguration("rm", EMPTY)).result(60)
    assert change.refusals["rm"].reason == LACKING
    assert in_force(core) == {"rm": INLINE}


@pytest.mark.remuda_rule("EXT-191", "CFG-40")
def test_needed_partitions_are_named_as_in_a_configuration_with_commas_between_them(
    loop: SchedulerLoop,
) -> None:
    for named in ("", ",", "default,", " default , Default"):
        assert enroll_in_need(loop, "rm", INLINE, named) == ""
    for named in ("default,gpu", " gpu ,"):
        assert "no partition 'gpu'" in enroll_in_need(loop, "rm", INLINE, named)
