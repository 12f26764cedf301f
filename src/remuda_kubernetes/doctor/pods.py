"""Pods that would be treated otherwise than their authors expect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from remuda_kubernetes.admission.queue_files import Queues, queues_of
from remuda_kubernetes.doctor.findings import Finding, Severity, of_fault
from remuda_kubernetes.doctor.sight import Sight
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.applications import application_of
from remuda_kubernetes.translation.metadata import (
    derived_workload,
    is_placeholder,
    named_application,
    named_queue,
    task_of,
)

_AREA: Final = "pods"
_DEFAULT: Final = "default-scheduler"


def findings(sight: Sight) -> Iterator[Finding]:
    """Yield what is to be said about the pods that were read. Implements: EXT-155."""
    if sight.cut:
        yield Finding(
            Severity.NOTE,
            _AREA,
            "the cluster",
            f"only the first {len(sight.pods)} pods were looked at",
            "look at more with --pods",
        )
    known = {*sight.settings.scheduler_names, _DEFAULT}
    known |= {each.spec.scheduler_name for each in sight.pods if each.assigned}
    queues = queues_of(sight.settings.queues)
    for pod in sight.pods:
        if pod.spec.scheduler_name in sight.settings.scheduler_names:
            yield from _ours(pod, sight, queues)
        elif not pod.assigned and pod.spec.scheduler_name not in known:
            yield Finding(
                Severity.WARNING,
                _AREA,
                f"Pod {pod.key}",
                f"it waits for the scheduler {pod.spec.scheduler_name!r:.80}, which has placed no"
                " pod that runs",
                "correct schedulerName in its template, or add the name to service.schedulerNames",
            )


def _ours(pod: Pod, sight: Sight, queues: Queues | None) -> Iterator[Finding]:
    where = f"Pod {pod.key}"
    settings = sight.settings
    workloads = settings.workloads
    gangs = not settings.gangs_disabled
    try:
        task = task_of(
            pod,
            sight.priority_classes,
            unique_ids=settings.unique_application_ids,
            gangs=gangs,
            workloads=workloads,
        )
        speaks = application_of(pod, task.application_id, gangs=gangs, workloads=workloads)
    except ObjectError as error:
        advice = "correct it: the scheduler cannot take the pod, which waits for ever"
        yield Finding(Severity.ERROR, _AREA, where, str(error), advice)
        return
    for fault in dict.fromkeys((*task.findings, *speaks.findings)):
        yield of_fault(fault, _AREA, where)
    if pod.assigned:
        return
    yield from _unsaid(pod, where, workloads)
    yield from _queue(named_queue(pod), queues, where)
    if pod.spec.scheduling_gates:
        gates = ", ".join(each.name for each in pod.spec.scheduling_gates[:5])
        yield Finding(
            Severity.NOTE,
            _AREA,
            where,
            f"it is not scheduled before its scheduling gates are removed: {gates}",
            "nothing, unless nobody removes them",
        )


def _unsaid(pod: Pod, where: str, workloads: tuple[str, ...]) -> Iterator[Finding]:
    """Yield what a pod leaves out, or says in a place that the reference does not read."""
    if is_placeholder(pod):
        return
    if not named_application(pod) and derived_workload(pod, workloads) is None:
        yield Finding(
            Severity.NOTE,
            _AREA,
            where,
            "it names no application, so it shares one with such pods of its namespace",
            f"set the label {names.APPLICATION_ID}, if it is to be an application of its own",
        )


def _queue(named: str, queues: Queues | None, where: str) -> Iterator[Finding]:
    """Yield that the queue that a pod names cannot be used."""
    if not named or queues is None:
        return
    full = named.lower()
    if full != "root" and not full.startswith("root."):
        full = f"root.{full}"
    above = {full.rsplit(".", cut)[0] for cut in range(1, full.count(".") + 1)}
    problem = ""
    severity = Severity.WARNING
    advice = "name a leaf of queues.yaml, or add the queue there"
    if not queues.provided:
        severity = Severity.NOTE
        problem = "no placement rule reads the queue that pods name: other rules choose it"
        advice = "add the rule provided to placementrules, if the name is to count"
    elif queues.nested and full != named.lower():
        return
    elif full in queues.parents:
        problem = f"queue {named!r:.80} has queues below it and takes no applications"
    elif above & queues.leaves:
        problem = f"queue {named!r:.80} is below a leaf, where no queue can be"
    elif full not in queues.leaves and not queues.creates:
        problem = f"queue {named!r:.80} does not exist, and the rule provided does not create it"
    if problem:
        yield Finding(severity, _AREA, where, problem, advice)
