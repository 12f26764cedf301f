"""The command ``remuda kubernetes``: the shim, and commands of its own.

``admission`` completes and checks objects before the API server stores them. ``doctor`` says what
is wrong with a cluster. ``shadow`` says what would be decided in one. ``manifests`` prints the
objects of an installation. ``predicates`` answers recorded questions as the shim's filters would:
for tests, and to see from a bug report why a node was refused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import msgspec
import typer

from remuda.base.addresses import parse_address
from remuda.base.errors import UsageError
from remuda.cli.extras import require
from remuda.edges.addresses import address_text
from remuda_kubernetes.looking import DOCTOR_EXAMPLES, SHADOW_EXAMPLES, doctor, shadow
from remuda_kubernetes.options import Context, Kubeconfig, Namespace

_HELP: Final = {"help_option_names": ["-h", "--help"]}
# The name that stands for standard input.
_STDIN: Final = "-"
_VALUES_BYTES: Final = 2**20

_EXAMPLES: Final = """
Examples:

\b
  remuda kubernetes                         with the scheduler inside
  remuda kubernetes --scheduler HOST:9079   with a scheduler elsewhere
  remuda kubernetes --leader-elect          one of several replicas
  remuda kubernetes admission               check objects before they are kept
  remuda kubernetes doctor                  what is wrong with a cluster
  remuda kubernetes manifests               what an installation consists of
  remuda kubernetes shadow                  what it would decide here
  remuda kubernetes predicates FILE.jsonl   why nodes refuse pods
  remuda kubernetes predicates --help       the form of its lines
"""
_PREDICATES_EXAMPLES: Final = """
Examples:

\b
  remuda kubernetes predicates questions.jsonl
  remuda kubernetes predicates - < questions.jsonl
"""

_ADMISSION_EXAMPLES: Final = """
Examples:

\b
  remuda kubernetes admission --webhook-address 0.0.0.0:9443
  remuda kubernetes admission --certificates /etc/remuda/tls
  remuda kubernetes admission --url https://10.0.0.7:9443
"""

_MANIFESTS_EXAMPLES: Final = """
Examples:

\b
  remuda kubernetes manifests | kubectl apply -f -
  remuda kubernetes manifests --values mine.yaml --namespace batch
"""


class _FailurePolicy(Enum):
    """What becomes of objects while nobody answers."""

    IGNORE = "ignore"
    FAIL = "fail"


app: Final = typer.Typer(
    name="kubernetes",
    epilog=_EXAMPLES,
    context_settings=_HELP,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

_Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT,...",
        envvar="REMUDA_SCHEDULER",
        help="gRPC listener of a scheduler elsewhere, or of several of which one is active; without"
        " it one runs in this process.",
    ),
]
_Embedded = Annotated[
    bool,
    typer.Option("--embedded", help="Run the scheduler in this process, which is the default."),
]
_GrpcAddress = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        envvar="REMUDA_GRPC_ADDRESS",
        help="Where the scheduler in this process listens for gRPC; port 0 takes a free one.",
    ),
]
_RestAddress = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        envvar="REMUDA_REST_ADDRESS",
        help="Where the scheduler in this process serves its HTTP API; port 0 takes a free one.",
    ),
]
_ReportsAddress = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        envvar="REMUDA_REPORTS_ADDRESS",
        help="Where the shim serves /livez, /readyz, /metrics and /state; port 0 takes a free one.",
    ),
]
_LeaderElect = Annotated[
    bool,
    typer.Option(
        "--leader-elect",
        envvar="REMUDA_LEADER_ELECT",
        help="Work only while this replica holds the lease remuda-kubernetes.",
    ),
]
_RmId = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        envvar="REMUDA_RM_ID",
        help="Name of the cluster for the scheduler; by default service.clusterId of the"
        " ConfigMaps, else mycluster.",
    ),
]


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    *,
    kubeconfig: Kubeconfig = None,
    kube_context: Context = "",
    namespace: Namespace = "",
    scheduler: _Scheduler = None,
    embedded: _Embedded = False,
    grpc_address: _GrpcAddress = "127.0.0.1:9079",
    rest_address: _RestAddress = "127.0.0.1:9080",
    reports_address: _ReportsAddress = "127.0.0.1:9081",
    leader_elect: _LeaderElect = False,
    rm_id: _RmId = "",
) -> None:
    """Schedule the pods of a Kubernetes cluster.

    Pods whose schedulerName is yunikorn get their nodes from remuda. Queues
    come from the ConfigMap yunikorn-configs; a change counts at once.

    When it is ready, /readyz answers 200. SIGTERM and Ctrl-C end it cleanly.
    """
    if context.invoked_subcommand is not None:
        return
    if embedded and scheduler is not None:
        raise UsageError("--embedded and --scheduler exclude each other; leave one out")
    require("kubernetes", "remuda kubernetes", "lightkube", "httpx2", "prometheus_client")
    from remuda_kubernetes.start import Start, start  # noqa: PLC0415 - keeps help fast

    start(
        Start(
            kubeconfig=kubeconfig,
            kube_context=kube_context,
            namespace=namespace,
            scheduler=None if scheduler is None else _schedulers(scheduler),
            grpc_address=parse_address("--grpc-address", grpc_address),
            rest_address=parse_address("--rest-address", rest_address),
            reports_address=parse_address("--reports-address", reports_address),
            elect=leader_elect,
            rm_id=rm_id,
        )
    )


@app.command(epilog=_PREDICATES_EXAMPLES)
def predicates(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Questions, one a line; - reads stdin.")
    ],
) -> None:
    """Say which verdict kube-scheduler's filters give.

    Each line of the file is a JSON object: {"id", "plugin": the name of one
    filter (all of them if left out), "pod": a Pod, "node": {"node": a Node,
    "pods": the pods on it}, "cluster": all nodes in this form, "arguments":
    how the filter is configured, "objects": volumes, claims, namespaces}.

    Each answer is a line: {"id", "verdict", "reasons"}, or {"line", "error"}
    for a line that cannot be judged.

    Exit code 0: all lines were judged; 1: some were not; 2: the file cannot
    be read, or the command line is wrong.
    """
    from remuda_kubernetes.predicates.lines import answers  # noqa: PLC0415 - keeps help fast

    failed = False
    with _opened(file, "name a file with one question a line") as stream:
        for found in answers(stream):
            failed = failed or "error" in found
            sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    if failed:
        raise typer.Exit(1)


@app.command(epilog=_ADMISSION_EXAMPLES)
def admission(
    *,
    kubeconfig: Kubeconfig = None,
    kube_context: Context = "",
    namespace: Namespace = "",
    webhook_address: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            envvar="REMUDA_WEBHOOK_ADDRESS",
            help="Where the API server's reviews are answered, over TLS; port 0 takes a free one.",
        ),
    ] = "127.0.0.1:9443",
    reports_address: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            envvar="REMUDA_REPORTS_ADDRESS",
            help="Where /livez, /readyz and /metrics are served; port 0 takes a free one.",
        ),
    ] = "127.0.0.1:9444",
    certificates: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="REMUDA_CERTIFICATES",
            help="Folder with tls.crt, tls.key and perhaps ca.crt; without it the controller makes"
            " its own certificates and shares them through a Secret.",
        ),
    ] = None,
    url: Annotated[
        str,
        typer.Option(
            metavar="https://HOST:PORT",
            envvar="REMUDA_WEBHOOK_URL",
            help="How an API server outside of the cluster's network reaches this process; without"
            " it the API server calls the Service.",
        ),
    ] = "",
    failure_policy: Annotated[
        _FailurePolicy,
        typer.Option(
            envvar="REMUDA_FAILURE_POLICY",
            help="What becomes of pods and templates while no replica answers: they are stored as"
            " they are, or refused.",
        ),
    ] = _FailurePolicy.IGNORE,
    register: Annotated[
        bool,
        typer.Option(
            "--register/--no-register",
            envvar="REMUDA_REGISTER",
            help="Write the webhook configurations, or leave them to another program.",
        ),
    ] = True,
) -> None:
    """Complete and check objects before they are stored.

    The API server asks this process about pods, about objects with
    templates of pods, and about the ConfigMaps of the scheduler. Several
    replicas may run; all of them answer.

    When it is ready, /readyz answers 200. SIGTERM and Ctrl-C end it cleanly.

    Exit code 2: the command line or a file is wrong; 1: the API server
    refuses to answer.
    """
    needed = ("cryptography", "lightkube", "httpx2", "prometheus_client")
    require("kubernetes", "remuda kubernetes admission", *needed)
    from remuda_kubernetes.admission.program import Options  # noqa: PLC0415 - keeps help fast
    from remuda_kubernetes.admission.start import start  # noqa: PLC0415 - see above

    start(
        Options(
            kubeconfig=kubeconfig,
            kubeconfig_context=kube_context,
            namespace=namespace,
            address=parse_address("--webhook-address", webhook_address),
            reports_address=parse_address("--reports-address", reports_address),
            url=url.rstrip("/"),
            certificates=certificates,
            failure_policy=failure_policy.value.title(),
            register=register,
        )
    )


@app.command(epilog=_MANIFESTS_EXAMPLES)
def manifests(
    *,
    values: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Values of the Helm chart, in YAML; - reads stdin."),
    ] = None,
    namespace: Annotated[
        str, typer.Option(metavar="NAME", help="Namespace of the installation.")
    ] = "yunikorn",
) -> None:
    """Print the objects of an installation, as YAML.

    They are those of the Helm chart: accounts with their rights, the
    scheduler, the admission controller, budgets, policies, configuration.

    Exit code 2: a value is wrong, or the file cannot be read.
    """
    from remuda_kubernetes.packaging.objects import included  # noqa: PLC0415 - keeps help fast
    from remuda_kubernetes.packaging.text import yaml_text  # noqa: PLC0415 - see above
    from remuda_kubernetes.packaging.values import (  # noqa: PLC0415 - see above
        Values,
        checked_namespace,
        read_values,
    )

    chosen = Values()
    if values is not None:
        with _opened(values, "name a file with values of the Helm chart") as stream:
            chosen = read_values(stream.read(_VALUES_BYTES + 1), str(values))
    sys.stdout.write(yaml_text(included(chosen, checked_namespace(namespace))))


app.command(epilog=DOCTOR_EXAMPLES)(doctor)
app.command(epilog=SHADOW_EXAMPLES)(shadow)


def _schedulers(text: str) -> str:
    """Return the addresses, each of the form HOST:PORT. Raises: UsageError. Rules: EXT-37."""
    addresses = [parse_address("--scheduler", each.strip()) for each in text.split(",")]
    return ",".join(address_text(each) for each in addresses)


@contextmanager
def _opened(file: Path, wanted: str) -> Iterator[BinaryIO]:
    """Open the file, or standard input. Raises: UsageError, which says what is ``wanted``."""
    if str(file) == _STDIN:
        yield sys.stdin.buffer
        return
    try:
        stream = file.open("rb")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}; {wanted}") from error
    with stream:
        yield stream
