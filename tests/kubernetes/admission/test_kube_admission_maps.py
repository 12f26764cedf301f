"""ConfigMaps are refused for what a change makes wrong, with all of it at once."""

from __future__ import annotations

import base64
import gzip

import pytest

from tests.kubernetes.admission.maps import config_map, judged

WRONG_QUEUES = (
    "partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n    - name: a b\n"
)


def test_a_fault_of_the_other_map_is_told_and_not_held_against_this_one() -> None:
    before = [config_map("yunikorn-defaults", **{"kubernetes.qps": "many"})]
    answer = judged(config_map("yunikorn-configs", **{"kubernetes.burst": "7"}), before=before)
    assert answer.allowed
    assert answer.warnings[0].startswith("kubernetes.qps: 'many' cannot be read")
    wrong = judged(config_map("yunikorn-configs", **{"kubernetes.burst": "few"}), before=before)
    assert not wrong.allowed
    assert wrong.message.count("\n") == 1
    assert "1. kubernetes.burst: 'few' cannot be read" in wrong.message
    assert wrong.warnings[0].startswith("kubernetes.qps")


def test_faults_that_are_there_can_be_corrected_one_after_the_other() -> None:
    before = config_map("yunikorn-configs", **{"kubernetes.qps": "many", "kubernetes.burst": "few"})
    half = config_map("yunikorn-configs", **{"kubernetes.qps": "7", "kubernetes.burst": "few"})
    answer = judged(half, before=[before], old=before)
    assert answer.allowed
    assert [each.partition(":")[0] for each in answer.warnings] == ["kubernetes.burst"]


def test_a_key_that_does_not_exist_is_told() -> None:
    answer = judged(config_map("yunikorn-configs", **{"kubernetes.qsp": "7"}))
    assert answer.allowed
    assert answer.warnings == (
        "'kubernetes.qsp': there is no such key, it does not count; did you mean kubernetes.qps?",
    )


@pytest.mark.parametrize("name, namespace", [("other", "yunikorn"), ("yunikorn-configs", "team")])
def test_config_maps_of_others_are_no_concern(name: str, namespace: str) -> None:
    wrong = config_map(name, **{"queues.yaml": WRONG_QUEUES, "kubernetes.qps": "many"})
    assert judged(wrong, namespace=namespace).allowed


@pytest.mark.remuda_rule("EXT-177")
@pytest.mark.parametrize("queues, allowed", [("# only a comment\n", False), ("", True)])
def test_a_queue_file_has_the_partition_of_all_nodes_or_is_left_out(
    queues: str, *, allowed: bool
) -> None:
    answer = judged(config_map("yunikorn-configs", **{"queues.yaml": queues}))
    assert answer.allowed is allowed
    assert ("no partition 'default'" in answer.message) is not allowed


def test_a_packed_queue_file_is_read() -> None:
    packed = base64.b64encode(gzip.compress(WRONG_QUEUES.encode())).decode()
    changed = {**config_map("yunikorn-configs"), "binaryData": {"queues.yaml.gz": packed}}
    assert "queues.yaml:6:" in judged(changed).message
    changed["binaryData"] = {"queues.yaml.gz": packed[:-12] + "AAAAAAAAAAAA"}
    assert "binaryData 'queues.yaml.gz'" in judged(changed).message


def test_queues_that_are_wrong_already_do_not_stand_in_the_way_of_other_keys() -> None:
    before = config_map("yunikorn-configs", **{"queues.yaml": WRONG_QUEUES})
    changed = config_map("yunikorn-configs", **{"queues.yaml": WRONG_QUEUES, "kubernetes.qps": "7"})
    assert judged(changed, before=[before], old=before).allowed
    other = WRONG_QUEUES.replace("a b", "c d")
    assert not judged(
        config_map("yunikorn-configs", **{"queues.yaml": other}), before=[before]
    ).allowed


def test_all_faults_of_a_queue_file_come_at_once() -> None:
    queues = WRONG_QUEUES + "      resources:\n        max: {memory: lots}\n    - name: '*'\n"
    message = judged(config_map("yunikorn-configs", **{"queues.yaml": queues})).message
    assert message.count("[CFG-") >= 2, message
