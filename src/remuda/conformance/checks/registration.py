"""Registration and its faults, and several resource managers (chapter 70 section 2).

Each check of a failed registration also tries to use it, because a failed registration must leave
nothing behind.
"""

from __future__ import annotations

import threading
from typing import Final

import grpc

from remuda.conformance.elements import Kind
from remuda.conformance.expectations import (
    placed,
    released,
    updated,
)
from remuda.conformance.registry import Level, Needs, Subject
from remuda.conformance.requests import (
    ask,
    node,
    release,
    vcores,
)
from remuda.conformance.rm import RM
from remuda.conformance.stage import Stage
from remuda.conformance.stream import Ended
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("registration", "Registration")

_BAD: Final = (
    "partitions: [{name: default, queues: [{name: root, queues: [{name: a}, {name: a}]}]}]"
)

# Of each user one application may run.
_ONE_EACH: Final = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        limits: [{limit: all, users: ["*"], maxapplications: 1}]
        queues: [{name: a, properties: {application.sort.policy: fifo}}]
"""


def _refuse(stage: Stage, rm: RM, refused: Ended | None, rule: str, *codes: str) -> None:
    """Require that a registration was refused with one of these statuses and a cause."""
    came = refused.text() if refused else "the registration succeeded"
    fine = refused is not None and refused.code.name in codes and bool(refused.details)
    if not fine:
        raise rm.failure(rule, f"{' or '.join(codes)} with a cause", [came])


def _bad_id(stage: Stage, bad: str, rule: str) -> None:
    rm = stage.unregistered()
    rm.rm_id = bad
    refused = rm.try_register()
    rm.rm_id = f"{stage.prefix}-none"
    _refuse(stage, rm, refused, rule, "INVALID_ARGUMENT")


@SUBJECT.check("empty-id", "an empty rmID is refused", "RM-1", "SI-100")
def _empty_id(stage: Stage) -> None:
    _bad_id(stage, "", "RM-1")


@SUBJECT.check(
    "bad-id",
    "an rmID with brackets, control characters or more than 256 characters is refused",
    "RM-1",
    "SI-100",
    level=Level.REMUDA,
)
def _bad_ids(stage: Stage) -> None:
    for bad in ("a[b", "a]b", "a\nb", "x" * 257):
        _bad_id(stage, bad, "RM-1")


@SUBJECT.check(
    "bad-config",
    "an invalid configuration is refused with its cause, and nobody is registered",
    "RM-6",
    "SI-100",
)
def _bad_config(stage: Stage) -> None:
    for config in (_BAD, "partitions: ["):
        rm = stage.unregistered()
        _refuse(stage, rm, rm.try_register(config), "RM-6", "INVALID_ARGUMENT")
        rm.open(Kind.NODE)
        rm.expect_end(Kind.NODE, grpc.StatusCode.FAILED_PRECONDITION, rule="RM-6")


@SUBJECT.check(
    "first", "requests of a resource manager that did not register fail", "RM-2", "SI-101"
)
def _first(stage: Stage) -> None:
    rm = stage.unregistered()
    rm.open()
    for kind in Kind:
        rm.expect_end(kind, grpc.StatusCode.FAILED_PRECONDITION, rule="SI-101")


@SUBJECT.check(
    "version", "the version is not checked, a configuration not required", "RM-3", "RM-5"
)
def _version(stage: Stage) -> None:
    rm = stage.unregistered()
    rm.register("", rule="RM-5")
    rm.open()
    rm.quiet("RM-12")


@SUBJECT.check(
    "group",
    "a policy group of more than 256 characters or with control characters is refused",
    "RM-4",
    level=Level.REMUDA,
)
def _group(stage: Stage) -> None:
    for group in ("g" * 257, "a\nb"):
        rm = stage.unregistered()
        _refuse(stage, rm, rm.try_register(group=group), "RM-4", "INVALID_ARGUMENT")


def _life(rm: RM) -> None:
    """Go through the first steps of a registration, in which everything is new."""
    rm.start({"n": vcores(4)}, ["app"])
    rm.place("app", "k", vcores(4), "n")


@SUBJECT.check(
    "again",
    "registering again removes everything silently and starts anew",
    "RM-9",
)
def _again(stage: Stage) -> None:
    rm = stage.rm()
    _life(rm)
    rm.asks(ask("app", "waits", vcores(1)))
    rm.quiet("RM-9")
    before = [rm.stream(kind) for kind in Kind]
    rm.register(rule="RM-9")
    rm.open()
    _life(rm)
    rm.quiet("RM-9")
    late = [each.text() for stream in before for each in stream.waiting()]
    if late:
        raise rm.failure("RM-9", "nothing about the removal on the old streams", late)


@SUBJECT.check(
    "again-usage", "what users had in the earlier life does not count in the next one", "RM-9"
)
def _again_usage(stage: Stage) -> None:
    rm = stage.rm(config=_ONE_EACH)
    for _ in range(2):
        _life(rm)
        rm.start(apps=["second"])
        rm.asks(ask("second", "k", vcores(1)))
        rm.expect(updated("second", "Accepted"))
        rm.start({"m": vcores(1)})
        rm.quiet("RM-9")
        rm.hang_up()
        rm.register(_ONE_EACH, rule="RM-9")
        rm.open()


@SUBJECT.check(
    "old-streams",
    "streams that are open when their resource manager registers again end with ABORTED",
    "SI-102",
    "RM-9",
    level=Level.REMUDA,
)
def _old_streams(stage: Stage) -> None:
    rm = stage.rm()
    rm.quiet()
    rm.register(rule="RM-9")
    for kind in Kind:
        rm.expect_end(kind, grpc.StatusCode.ABORTED, rule="SI-102")


@SUBJECT.check(
    "again-in-vain",
    "a registration that fails leaves a resource manager unregistered that was registered",
    "RM-13",
)
def _again_in_vain(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)})
    rm.hang_up()
    _refuse(stage, rm, rm.try_register(_BAD), "RM-6", "INVALID_ARGUMENT")
    rm.open(Kind.NODE)
    rm.expect_end(Kind.NODE, grpc.StatusCode.FAILED_PRECONDITION, rule="RM-13")


@SUBJECT.check("at-once", "two registrations of one rmID at once are done one by one", "RM-11")
def _at_once(stage: Stage) -> None:
    rm = stage.unregistered()
    refused: list[Ended | None] = []
    threads = [
        threading.Thread(target=lambda: refused.append(rm.try_register()), daemon=True)
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * stage.endpoint.timeout + 1)
    came = [each.text() if each else "registered" for each in refused]
    if refused != [None, None]:
        raise rm.failure("RM-11", "both registrations succeed", came or ["no answer"])
    rm.open()
    _life(rm)


@SUBJECT.check(
    "two-managers",
    "two resource managers with the same names for everything do not notice each other",
    "RM-10",
    level=Level.REMUDA,
)
def _two_managers(stage: Stage) -> None:
    one, other = stage.rm(), stage.rm()
    for rm in (one, other):
        _life(rm)
    one.release(release("app", "k-0"))
    one.expect(released("app", "k"), updated("app", "Completing"), rule="RM-10")
    one.nodes(node("n", action=si.NodeInfo.DECOMISSION))
    one.quiet("RM-10")
    other.quiet("RM-10")
    other.asks(ask("app", "more", vcores(1)))
    other.quiet("RM-10")
    other.release(release("app", "k-0"))
    other.expect(
        released("app", "k"), placed("app", "more", vcores(1), "n"), updated("app", "Running")
    )


@SUBJECT.check(
    "build-info",
    "what a resource manager says of itself is listed, with its rmID",
    "RM-8",
    needs=[Needs.REST],
)
def _build_info(stage: Stage) -> None:
    rm = stage.unregistered()
    for build in ({"made": "first"}, {"version": "second"}):
        rm.register(build=build)
        listed = stage.get("/ws/v1/clusters", rm, "RM-8")
        told = [each for cluster in listed for each in cluster.get("rmBuildInformation") or ()]
        mine = [each for each in told if each.get("rmId") == rm.rm_id]
        wanted = {**build, "rmId": rm.rm_id}
        stage.require(bool(mine) and mine[0] == wanted, "RM-8", f"{wanted} in the list", mine)


@SUBJECT.check(
    "unregister",
    "a resource manager that leaves is removed, and told what of",
    "RM-19",
    level=Level.REMUDA,
    needs=[Needs.EXTENSION],
)
def _unregister(stage: Stage) -> None:
    rm = stage.rm({"n1": vcores(1), "n2": vcores(1)}, ["app"])
    method = stage.endpoint.extension.UnregisterResourceManager
    request = ext.UnregisterRequest(rm_id=rm.rm_id, reason="leaving")
    answer = stage.call(method, request, "RM-19")
    wanted = ext.UnregisterResponse(removed_partitions=1, removed_applications=1, removed_nodes=2)
    stage.require(answer == wanted, "RM-19", str(wanted), answer, "UnregisterResourceManager")
    rm.hang_up()
    rm.open(Kind.NODE)
    rm.expect_end(Kind.NODE, grpc.StatusCode.FAILED_PRECONDITION, rule="RM-17")
    stage.refusal(method, request, "RM-19")
