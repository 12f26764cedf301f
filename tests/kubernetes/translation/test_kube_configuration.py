"""Two ConfigMaps as settings: keys and rules of chapter 10 section 14, KV-3, issue 22."""

from __future__ import annotations

import base64
import gzip
import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import remuda_kubernetes
from remuda.config.setting_table import ADMISSION, BY_KEY, SETTINGS, SHIM
from remuda_kubernetes.objects.cluster import ConfigMap
from remuda_kubernetes.objects.values import read
from remuda_kubernetes.translation.config_maps import UNPACKED_LIMIT
from remuda_kubernetes.translation.configuration import (
    changed_configuration,
    first_configuration,
    log_level,
)
from remuda_kubernetes.translation.settings import KEYS, OWN_PREFIXES, Settings

QUEUES = "partitions:\n- name: default\n  queues:\n  - name: root\n"
MINUTE_NS = 60 * 10**9


def config(name: str = "yunikorn-configs", binary: Any = None, **data: str) -> ConfigMap:
    return made(name, {key.replace("__", "."): text for key, text in data.items()}, binary)


def made(name: str, data: dict[str, str], binary: dict[str, bytes] | None = None) -> ConfigMap:
    packed = {key: base64.b64encode(value).decode() for key, value in (binary or {}).items()}
    body = {"metadata": {"name": name}, "data": data, "binaryData": packed}
    return read(ConfigMap, json.dumps(body).encode())


def test_without_config_maps_all_settings_have_their_defaults() -> None:
    found = first_configuration(None, None)
    assert found.findings == ()
    settings = found.settings
    assert settings.cluster_id == "mycluster"
    assert settings.policy_group == "queues"
    assert settings.scheduling_interval_ns == 10**9
    assert settings.volume_bind_timeout_ns == 10 * MINUTE_NS
    assert settings.event_capacity == 1048576
    assert settings.dispatch_timeout_ns == 5 * MINUTE_NS
    assert not settings.gangs_disabled
    assert settings.hot_reload
    assert settings.placeholder_image.endswith("/pause:3.7")
    assert settings.instance_type_label == "node.kubernetes.io/instance-type"
    assert settings.scheduler_names == ("yunikorn",)
    assert (settings.calls_per_second, settings.calls_burst) == (1000, 1000)
    assert not settings.unique_application_ids
    assert settings.admission.bypass_namespaces == ("^kube-system$",)
    assert settings.admission.system_users == ("^system:serviceaccount:kube-system:",)
    assert settings.admission.trust_controllers
    assert settings.admission.default_queue == "root.default"
    assert (settings.queues, dict(settings.extra)) == ("", {})


@pytest.mark.parametrize(
    "key, text, attribute, value",
    [
        ("service.clusterId", "prod", "cluster_id", "prod"),
        ("service.policyGroup", "night", "policy_group", "night"),
        ("service.schedulingInterval", "500ms", "scheduling_interval_ns", 5 * 10**8),
        ("service.volumeBindTimeout", "60s", "volume_bind_timeout_ns", MINUTE_NS),
        ("service.eventChannelCapacity", "100", "event_capacity", 100),
        ("service.dispatchTimeout", "1m30s", "dispatch_timeout_ns", 90 * 10**9),
        ("service.disableGangScheduling", "true", "gangs_disabled", True),
        ("service.enableConfigHotRefresh", "false", "hot_reload", False),
        ("service.placeholderImage", "r.example/pause:3", "placeholder_image", "r.example/pause:3"),
        ("service.nodeInstanceTypeNodeLabelKey", "kind", "instance_type_label", "kind"),
        ("service.instanceTypeNodeLabelKey", "kind", "instance_type_label", "kind"),
        ("service.schedulerNames", "yunikorn, batch", "scheduler_names", ("yunikorn", "batch")),
        ("service.workloads", "ray, job", "workloads", ("ray", "job")),
        ("kubernetes.qps", "50", "calls_per_second", 50),
        ("kubernetes.burst", "60", "calls_burst", 60),
        (
            "admissionController.filtering.generateUniqueAppId",
            "true",
            "unique_application_ids",
            True,
        ),
    ],
)
def test_a_key_sets_its_setting_and_is_passed_on(
    key: str, text: str, attribute: str, value: object
) -> None:
    found = first_configuration(None, made("yunikorn-configs", {key: text}))
    assert found.findings == ()
    assert getattr(found.settings, attribute) == value
    assert found.settings.extra == {key: text}


@pytest.mark.parametrize(
    "key, text, attribute, value",
    [
        ("webHook.amServiceName", "svc", "service", "svc"),
        ("webHook.schedulerServiceAddress", "svc:1", "scheduler_address", "svc:1"),
        ("filtering.processNamespaces", "^a$, ^b", "process_namespaces", ("^a$", "^b")),
        ("filtering.bypassNamespaces", "", "bypass_namespaces", ()),
        ("filtering.labelNamespaces", "x", "label_namespaces", ("x",)),
        ("filtering.noLabelNamespaces", "x", "no_label_namespaces", ("x",)),
        ("filtering.defaultQueue", "root.a", "default_queue", "root.a"),
        ("filtering.defaultQueue", "", "default_queue", ""),
        ("accessControl.bypassAuth", "true", "bypass_authentication", True),
        ("accessControl.trustControllers", "false", "trust_controllers", False),
        ("accessControl.systemUsers", "^root$", "system_users", ("^root$",)),
        ("accessControl.externalUsers", "u1,u2", "external_users", ("u1", "u2")),
        ("accessControl.externalGroups", "g", "external_groups", ("g",)),
    ],
)
def test_keys_of_the_admission_webhook(key: str, text: str, attribute: str, value: object) -> None:
    data = {f"admissionController.{key}": text}
    found = first_configuration(None, made("yunikorn-configs", data))
    assert found.findings == ()
    assert getattr(found.settings.admission, attribute) == value


@pytest.mark.remuda_rule("KV-3")
def test_of_the_same_key_the_second_map_counts() -> None:
    defaults = config("yunikorn-defaults", service__clusterId="a", kubernetes__qps="5")
    found = first_configuration(defaults, config(service__clusterId="b"))
    assert found.settings.cluster_id == "b"
    assert found.settings.calls_per_second == 5


@pytest.mark.remuda_rule("CFG-1")
def test_the_queue_file_of_the_policy_group_is_passed_on_untouched() -> None:
    data = {
        "queues.yaml": QUEUES,
        "night.yaml": "other",
        "event.trackingEnabled": "false",
        "anything": "kept",
    }
    found = first_configuration(None, made("yunikorn-configs", data))
    assert found.settings.queues == QUEUES
    assert found.settings.extra == {"event.trackingEnabled": "false", "anything": "kept"}
    night = {**data, "service.policyGroup": "night"}
    assert first_configuration(None, made("c", night)).settings.queues == "other"


@pytest.mark.remuda_rule("KV-3")
@pytest.mark.parametrize("name", ["queues.yaml.gz", "queues.yaml.GZ"])
def test_a_packed_queue_file_goes_before_a_plain_one(name: str) -> None:
    packed = gzip.compress(QUEUES.encode())
    found = first_configuration(None, config(binary={name: packed}, queues__yaml="old"))
    assert found.findings == ()
    assert found.settings.queues == QUEUES


@pytest.mark.remuda_rule("KV-3")
def test_a_plain_file_of_the_second_map_goes_before_a_packed_one_of_the_first() -> None:
    defaults = config("yunikorn-defaults", {"queues.yaml.gz": gzip.compress(b"old")})
    assert first_configuration(defaults, config(queues__yaml=QUEUES)).settings.queues == QUEUES


def test_a_file_packed_in_several_members_is_read_as_a_whole() -> None:
    packed = gzip.compress(b"parti") + gzip.compress(b"tions: []")
    found = first_configuration(None, config(binary={"queues.yaml.gz": packed}))
    assert found.settings.queues == "partitions: []"


# Unpacks to 60 MB.
BOMB = gzip.compress(b"a" * 60_000_000, 1)


@pytest.mark.parametrize(
    "packed, problem",
    [
        (b"no gzip", "cannot be unpacked"),
        (gzip.compress(QUEUES.encode())[:-6], "ends in the middle"),
        (gzip.compress(b"\xff\xfe\x00"), "is no text in UTF-8"),
        (BOMB, f"unpacks to more than {UNPACKED_LIMIT} bytes"),
        (gzip.compress(b"a") + b"rubbish", "cannot be unpacked"),
    ],
    ids=["plain", "cut", "no text", "bomb", "rubbish behind"],
)
def test_a_packed_entry_that_cannot_be_read_changes_nothing(packed: bytes, problem: str) -> None:
    old = first_configuration(None, config(queues__yaml=QUEUES)).settings
    new = config(binary={"queues.yaml.gz": packed}, log__level="debug")
    tracemalloc.start()
    try:
        found = changed_configuration(old, None, new)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.refused
    assert found.settings is old
    (finding,) = found.findings
    assert problem in str(finding)
    assert "'queues.yaml.gz'" in str(finding)
    assert "pack the text anew with gzip" in str(finding)
    assert peak < 4 * UNPACKED_LIMIT < 60_000_000


def test_packed_entries_share_one_limit() -> None:
    packed = gzip.compress(b"a" * (UNPACKED_LIMIT // 2 + 1))
    binary = {"one.yaml.gz": packed, "two.yaml.gz": packed}
    assert first_configuration(None, config(binary=binary)).refused
    assert not first_configuration(None, config(binary={"one.yaml.gz": packed})).refused


@pytest.mark.remuda_rule("KV-3")
def test_an_entry_packed_in_an_unknown_way_is_told_and_does_not_count() -> None:
    found = first_configuration(None, config(binary={"queues.yaml.xz": b"x"}, queues__yaml=QUEUES))
    assert "let its name end in .gz" in str(found.findings[0])
    assert found.settings.queues == QUEUES
    assert not found.refused


@pytest.mark.parametrize(
    "key, text, advice",
    [
        ("service.schedulingInterval", "1", "duration"),
        ("service.volumeBindTimeout", "0s", "duration above 0"),
        ("service.dispatchTimeout", "-5m", "duration above 0"),
        ("service.eventChannelCapacity", "many", "whole number"),
        ("kubernetes.qps", "1.5", "whole number"),
        ("kubernetes.burst", "0", "whole number from 1"),
        ("kubernetes.burst", "9" * 5_000, "whole number from 1"),
        ("service.disableGangScheduling", "yes", '"true" or "false"'),
        ("service.clusterId", "", "text"),
        ("service.clusterId", "a\nb", "printable"),
        ("service.schedulerNames", " , ", "names with commas"),
        ("service.workloads", "job,flink", "kinds of workloads"),
        ("admissionController.filtering.bypassNamespaces", "(", "regular expressions"),
        ("admissionController.accessControl.systemUsers", "a(?=b)", "regular expressions"),
        ("admissionController.filtering.labelNamespaces", "(a{900}){900}", "regular expressions"),
        ("admissionController.filtering.defaultQueue", "default", "root.default"),
    ],
)
def test_a_value_that_means_nothing_refuses_the_whole_change(
    key: str, text: str, advice: str
) -> None:
    old = first_configuration(None, config(queues__yaml=QUEUES)).settings
    new = made("yunikorn-configs", {key: text, "queues.yaml": "new", "log.level": "debug"})
    found = changed_configuration(old, None, new)
    assert found.refused
    assert found.settings is old
    (finding,) = found.findings
    assert finding.where == key
    assert finding.error
    assert advice in finding.advice
    assert len(str(finding)) < 300
    started = first_configuration(None, new)
    assert started.refused
    assert started.settings.queues == "new"
    defaults = Settings()
    for each in KEYS:
        assert getattr(
            started.settings.admission if each.admission else started.settings, each.attribute
        ) == getattr(defaults.admission if each.admission else defaults, each.attribute)


def test_what_can_change_changes_and_the_rest_is_named() -> None:
    old = first_configuration(None, config(service__clusterId="a", queues__yaml="old")).settings
    new = {
        "queues.yaml": QUEUES,
        "service.clusterId": "b",
        "kubernetes.qps": "7",
        "admissionController.filtering.processNamespaces": "^a$",
        "log.level": "warn",
    }
    found = changed_configuration(old, None, made("yunikorn-configs", new))
    assert not found.refused
    assert found.restart == ("service.clusterId", "kubernetes.qps")
    assert found.settings.cluster_id == "a"
    assert found.settings.calls_per_second == 1000
    assert found.settings.queues == QUEUES
    assert found.settings.admission.process_namespaces == ("^a$",)
    assert [each.where for each in found.findings] == list(found.restart)
    assert all("restart" in each.advice for each in found.findings)


def test_a_new_policy_group_needs_a_restart_and_the_old_queue_file_stays() -> None:
    old = first_configuration(None, config(queues__yaml="old")).settings
    new = made("c", {"service.policyGroup": "n", "queues.yaml": "new", "n.yaml": "other"})
    found = changed_configuration(old, None, new)
    assert found.restart == ("service.policyGroup",)
    assert found.settings.queues == "new"


def test_a_key_that_goes_has_its_default_again() -> None:
    patterns = "admissionController.filtering.bypassNamespaces"
    old = first_configuration(None, made("c", {patterns: "^x$"})).settings
    assert changed_configuration(old, None, None).settings.admission.bypass_namespaces == (
        "^kube-system$",
    )


def test_without_hot_reload_nothing_changes_until_a_restart() -> None:
    old = first_configuration(None, config(queues__yaml="old")).settings
    off = config(service__enableConfigHotRefresh="false", queues__yaml="new")
    found = changed_configuration(old, None, off)
    assert not found.settings.hot_reload
    assert found.settings.queues == "new"
    on = config(service__enableConfigHotRefresh="true", queues__yaml="newer")
    later = changed_configuration(found.settings, None, on)
    assert later.settings is found.settings
    assert "restart" in str(later.findings[0])


def test_a_misspelt_key_is_told_with_the_one_that_was_meant() -> None:
    found = first_configuration(None, config(service__clusterID="a"))
    (finding,) = found.findings
    assert "did you mean service.clusterId?" in str(finding)
    assert not found.refused


def test_a_key_that_means_nothing_any_more_is_not_told() -> None:
    assert first_configuration(None, config(service__operatorPlugins="general")).findings == ()


def test_many_faults_are_told_up_to_a_number_errors_first() -> None:
    data = {f"service.unknown-{number}": "x" for number in range(5_000)}
    found = first_configuration(None, made("c", {**data, "kubernetes.qps": "x"}))
    assert len(found.findings) == 20
    assert found.findings[0].where == "kubernetes.qps"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("DEBUG", 10),
        ("info", 20),
        ("", 20),
        ("Warn", 30),
        ("error", 40),
        ("dpanic", 50),
        ("panic", 50),
        ("fatal", 50),
        ("-1", 10),
        ("0", 20),
        ("1", 30),
        ("2", 40),
        ("5", 50),
        ("99", 50),
        ("-7", 10),
        ("loud", None),
        ("1.5", None),
    ],
)
def test_levels_of_logs_are_names_or_numbers(text: str, expected: int | None) -> None:
    assert log_level(text) == expected


def test_a_wrong_level_of_a_logger_does_not_count() -> None:
    found = first_configuration(
        None,
        made(
            "c",
            {
                "log.level": "error",
                "log.core.scheduler.level": "debug",
                "log.shim.level": "loud",
                "log.a..b.level": "debug",
                "log.a b.level": "debug",
                "log.path": "/x",
            },
        ),
    )
    (finding,) = found.findings
    assert finding.where == "log.shim.level"
    assert not found.refused


def test_the_keys_are_those_of_the_chapter_on_settings() -> None:
    known = {
        each.key: each
        for each in SETTINGS
        if set(each.readers) & {SHIM, ADMISSION} and each.key.startswith(OWN_PREFIXES)
    }
    assert {key.name for key in KEYS} == set(known)
    defaults = Settings()
    for key in KEYS:
        setting = known[key.name]
        assert key.alias == setting.alias
        # The webhook reads this one anew, the shim does not.
        assert key.reload is (setting.reload and not key.name.endswith("generateUniqueAppId"))
        value = getattr(defaults.admission if key.admission else defaults, key.attribute)
        if key.name == "service.placeholderImage":
            assert value.endswith(f"/{setting.default}")
        else:
            assert key.parse(setting.default) == value


def settings_that_are_read() -> set[str]:
    """Return the attributes of settings that some code of the shim reads."""
    folder = Path(remuda_kubernetes.__file__).parent
    written = folder / "translation" / "settings.py"
    text = "".join([path.read_text() for path in folder.rglob("*.py") if path != written])
    return set(re.findall(r"\b(?:settings|found|old|new)\.((?:admission\.)?[a-z_]+)\b", text))


def test_the_manual_says_which_keys_have_an_effect() -> None:
    read_somewhere = settings_that_are_read()
    for key in KEYS:
        attribute = f"admission.{key.attribute}" if key.admission else key.attribute
        assert BY_KEY[key.name].built == (attribute in read_somewhere), key.name
