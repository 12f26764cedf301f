"""The commands that look at a cluster and change nothing: ``doctor`` and ``shadow``."""

from __future__ import annotations

import re
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Final

import typer

from remuda.base.addresses import parse_address
from remuda.base.duration import SECOND, parse_duration
from remuda.base.errors import UsageError
from remuda.cli.extras import require
from remuda_kubernetes.options import Context, Kubeconfig, Namespace

_ACCOUNT: Final = re.compile(r"[a-z0-9][-a-z0-9.]{0,252}/[a-z0-9][-a-z0-9.]{0,252}", re.ASCII)
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)

DOCTOR_EXAMPLES: Final = """
Examples:

\b
  remuda kubernetes doctor
  remuda kubernetes doctor --kube-context production --namespace batch
  remuda kubernetes doctor --service-account yunikorn/remuda
  remuda kubernetes doctor --output json
"""

SHADOW_EXAMPLES: Final = """
Examples:

\b
  remuda kubernetes shadow --for 10m
  remuda kubernetes shadow --queue-file queues.yaml --for 1h
  remuda kubernetes shadow --scheduler-name yunikorn --namespace yunikorn --gangs
  remuda kubernetes shadow --for 10m --output json
"""


class _Output(Enum):
    """Who reads the findings."""

    TEXT = "text"
    JSON = "json"


def doctor(
    *,
    kubeconfig: Kubeconfig = None,
    kube_context: Context = "",
    namespace: Namespace = "",
    service_account: Annotated[
        str,
        typer.Option(
            metavar="NAMESPACE/NAME",
            help="Account whose rights to schedule are checked; by default those of what is"
            " installed, or your own if nothing is.",
        ),
    ] = "",
    pods: Annotated[
        int, typer.Option(min=0, max=1_000_000, metavar="COUNT", help="Look at so many pods.")
    ] = 5_000,
    output: Annotated[_Output, typer.Option(help="For people, or for programs.")] = _Output.TEXT,
) -> None:
    """Say what is wrong with a cluster, without changing it.

    It looks at versions, permissions, configuration, what is installed, and
    pods. It only reads, and asks the API server who may do what.

    Exit code 0: there are no errors; 1: there are; 2: the command line or a
    file is wrong, or the API server does not answer.
    """
    if service_account and not _ACCOUNT.fullmatch(service_account):
        raise UsageError(
            f"--service-account is {service_account!r:.80}; write NAMESPACE/NAME, such as"
            " yunikorn/remuda"
        )
    needed = ("cryptography", "lightkube", "httpx2")
    require("kubernetes", "remuda kubernetes doctor", *needed)
    from remuda_kubernetes.doctor.run import Options, examine  # noqa: PLC0415 - keeps help fast
    from remuda_kubernetes.packaging.values import checked_namespace  # noqa: PLC0415 - see above

    text, errors = examine(
        Options(
            kubeconfig=kubeconfig,
            kubeconfig_context=kube_context,
            namespace=checked_namespace(namespace) if namespace else "",
            pods=pods,
            account=service_account,
            json=output is _Output.JSON,
        )
    )
    sys.stdout.write(text)
    if errors:
        raise typer.Exit(1)


def shadow(
    *,
    kubeconfig: Kubeconfig = None,
    kube_context: Context = "",
    namespace: Namespace = "",
    scheduler_name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="schedulerName of the pods of the scheduler in charge; may be given several times."
            " By default default-scheduler.",
        ),
    ] = None,
    queue_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Queues of the shadow; by default those of the ConfigMap yunikorn-configs, else"
            " the built-in ones.",
        ),
    ] = None,
    gangs: Annotated[
        bool,
        typer.Option(
            "--gangs",
            help="The scheduler in charge makes placeholders for gangs, as YuniKorn and Remuda do;"
            " without it each member of a gang is decided alone.",
        ),
    ] = False,
    http_address: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            help="Where /livez, /readyz, /metrics and /agreement are served; port 0 takes a free"
            " one.",
        ),
    ] = "127.0.0.1:9082",
    duration: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="End after so long; else Ctrl-C ends it."),
    ] = None,
    grace: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="How long the shadow may decide about a pod that has its node already.",
        ),
    ] = "1s",
    examples: Annotated[
        int, typer.Option(min=0, max=100, metavar="COUNT", help="Tell so many pods of each kind.")
    ] = 10,
    output: Annotated[_Output, typer.Option(help="For people, or for programs.")] = _Output.TEXT,
) -> None:
    """Say what Remuda would decide in a cluster.

    It follows the cluster, decides for the pods of the scheduler in charge,
    and compares with what that decides. It only reads. At the end it tells,
    by queue, which pods got the same node, another one, or none.

    Exit code 0: it ended as it was told; 2: the command line or a file is
    wrong, or the API server does not answer at the beginning.
    """
    needed = ("lightkube", "httpx2", "prometheus_client")
    require("kubernetes", "remuda kubernetes shadow", *needed)
    from remuda_kubernetes.packaging.values import checked_namespace  # noqa: PLC0415 - see above
    from remuda_kubernetes.shadow.run import Options  # noqa: PLC0415 - keeps help fast
    from remuda_kubernetes.shadow.start import read_queues, start, summary  # noqa: PLC0415

    program = start(
        Options(
            kubeconfig=kubeconfig,
            kubeconfig_context=kube_context,
            namespace=checked_namespace(namespace) if namespace else "",
            scheduler_names=_names(scheduler_name or ["default-scheduler"]),
            queues=None if queue_file is None else read_queues(queue_file),
            gangs=gangs,
            http_address=parse_address("--http-address", http_address),
            grace_seconds=_seconds("--grace", grace),
            examples=examples,
        ),
        None if duration is None else _seconds("--for", duration),
    )
    sys.stdout.write(summary(program, as_json=output is _Output.JSON))


def _names(given: list[str]) -> tuple[str, ...]:
    for each in given:
        if not _NAME.fullmatch(each):
            raise UsageError(
                f"--scheduler-name is {each!r:.80}; write a schedulerName of pods, such as"
                " default-scheduler"
            )
    return tuple(dict.fromkeys(given))


def _seconds(option: str, text: str) -> float:
    nanoseconds = parse_duration(text)
    if nanoseconds is None or nanoseconds <= 0:
        raise UsageError(
            f"{option}: {text!r:.80} is not a duration above 0, for example 30s, 5m or 1h30m"
        )
    return nanoseconds / SECOND
