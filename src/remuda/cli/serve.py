"""The command ``remuda serve``: options to settings, nothing else.

Each option has an environment variable, since a service mostly runs in a container. Only the help
of an option explains it. An error of an option is one line that names it. Implements: KV-6.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from remuda.base.addresses import parse_address
from remuda.base.duration import SECOND, parse_duration
from remuda.base.errors import UsageError

if TYPE_CHECKING:
    from remuda.edges.certificates import TlsFiles

EXAMPLES: Final = """
Examples:

  remuda serve --demo --duration 30s

  remuda serve --config queues.yaml --grpc-address 0.0.0.0:9079

  REMUDA_CONFIG=queues.yaml REMUDA_RECORD=run.journal remuda serve
"""


_Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_CONFIG",
        help="Queue configuration (YAML) for resource managers that register without one.",
    ),
]
_Watch = Annotated[
    bool,
    typer.Option(
        envvar="REMUDA_WATCH",
        help="Read the configuration file again when it changes; SIGHUP does so in any case.",
    ),
]
_GrpcAddress = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        envvar="REMUDA_GRPC_ADDRESS",
        help="Where resource managers connect; port 0 takes a free one.",
    ),
]
_RestAddress = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        envvar="REMUDA_REST_ADDRESS",
        help="Where the read-only HTTP API listens; port 0 takes a free one.",
    ),
]
_RestCors = Annotated[
    bool,
    typer.Option(
        envvar="REMUDA_REST_CORS",
        help="Let web pages of other origins read what front ends list: clusters, partitions,"
        " queues, applications, nodes, history, health.",
    ),
]
_RestHosts = Annotated[
    str,
    typer.Option(
        metavar="NAME,NAME",
        envvar="REMUDA_REST_HOSTS",
        help="Names by which clients may call the HTTP API, besides addresses, localhost and the"
        " name of the machine; * for any. Not checked if a token is required.",
    ),
]
_GrpcConnections = Annotated[
    int,
    typer.Option(
        metavar="COUNT",
        envvar="REMUDA_GRPC_CONNECTIONS_PER_ADDRESS",
        min=0,
        max=512,
        help="gRPC connections that one address may have; 0 for only the limit of all, 512.",
    ),
]
_RestConnections = Annotated[
    int,
    typer.Option(
        metavar="COUNT",
        envvar="REMUDA_REST_CONNECTIONS_PER_ADDRESS",
        min=0,
        max=512,
        help="HTTP connections that one address may have; 0 for only the limit of all, 512.",
    ),
]
_Demo = Annotated[
    bool,
    typer.Option(
        "--demo",
        envvar="REMUDA_DEMO",
        help="Start a hollow cluster in this process: 100 nodes, jobs that come and go.",
    ),
]
_Duration = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        envvar="REMUDA_DURATION",
        help="Stop after this long, for example 30s, 5m or 1h30m; without it, on a signal.",
    ),
]
_Record = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_RECORD",
        help="Record every input to FILE, for 'remuda replay FILE'; recordings in it are kept.",
    ),
]
_LdapSettings = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        envvar="REMUDA_LDAP_SETTINGS",
        help="Directory with one file per setting of the LDAP server that knows users' groups;"
        " without it /run/secrets/ldap, read when a configuration asks for LDAP.",
    ),
]
_EventDir = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        envvar="REMUDA_EVENT_DIR",
        help="Directory below which event records may be kept in files, for event.store in the"
        " settings of a resource manager; without it they are kept in memory.",
    ),
]
_ReservationDelay = Annotated[
    str | None,
    typer.Option(
        metavar="TIME|off",
        envvar="REMUDA_RESERVATION_DELAY",
        help="How old an ask must be to reserve a node that is large enough, or off for no"
        " reservations. Default: 2s, or off if DISABLE_RESERVATION is true in the environment.",
    ),
]
_Limit = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=NUMBER",
        envvar="REMUDA_LIMIT",
        help="How much may be kept: resource-managers, and in a partition applications, nodes,"
        " queues, application-asks, asks or tag-characters. Repeat the option for several; the"
        " variable has blanks between them.",
    ),
]
_GrpcTlsCert = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_GRPC_TLS_CERT",
        help="Certificate of the gRPC listener with its chain, in PEM, followed while serving;"
        " without it connections are in clear text. With --grpc-tls-key.",
    ),
]
_GrpcTlsKey = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", envvar="REMUDA_GRPC_TLS_KEY", help="Key of that certificate, in PEM."
    ),
]
_GrpcTlsClientCa = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_GRPC_TLS_CLIENT_CA",
        help="Authorities, in PEM. Every gRPC client then has to show a certificate that one of"
        " them has signed.",
    ),
]
_GrpcAccess = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_GRPC_ACCESS",
        help="TOML file with the identities that may call gRPC, and what each may do; without it"
        " every client that can connect may do everything.",
    ),
]
_ClusterName = Annotated[
    str,
    typer.Option(
        metavar="NAME", envvar="REMUDA_CLUSTER_NAME", help="Name of the cluster in the HTTP API."
    ),
]
_HistorySamples = Annotated[
    int,
    typer.Option(
        metavar="COUNT",
        envvar="REMUDA_HISTORY_SAMPLES",
        min=0,
        max=1440,
        help="Minutes of history in the HTTP API of how much ran; 0 for no history.",
    ),
]

_MetricsPrefix = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        envvar="REMUDA_METRICS_PREFIX",
        help="Prefix of the names of all metrics at /ws/v1/metrics.",
    ),
]
_MetricsQueueNames = Annotated[
    str,
    typer.Option(
        metavar="none|containers|all",
        envvar="REMUDA_METRICS_QUEUE_NAMES",
        help="Which metrics exist a second time with the queue in their name instead of a label:"
        " none, those of containers, or all.",
    ),
]
_MetricsUsers = Annotated[
    int,
    typer.Option(
        metavar="COUNT",
        envvar="REMUDA_METRICS_USERS",
        help="Show the usage of each user, for at most that many users; the others are one series.",
    ),
]
_MetricsQueues = Annotated[
    int,
    typer.Option(
        metavar="COUNT",
        envvar="REMUDA_METRICS_QUEUES",
        help="Show the metrics of each queue for at most that many queues, in the order of their"
        " paths; the other leaves are one series.",
    ),
]
_RestTlsCert = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_REST_TLS_CERT",
        help="Certificate of the HTTP listener with its chain, in PEM, followed while serving;"
        " without it connections are in clear text. With --rest-tls-key.",
    ),
]
_RestTlsKey = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", envvar="REMUDA_REST_TLS_KEY", help="Key of that certificate, in PEM."
    ),
]
_RestAccess = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_REST_ACCESS",
        help="TOML file with the identities that may read the HTTP API, by token; without it"
        " every client that can connect may. It can be the file of --grpc-access.",
    ),
]
_Debug = Annotated[
    bool,
    typer.Option(
        envvar="REMUDA_DEBUG", help="Offer state dumps, stacks and profiles over the HTTP API."
    ),
]
_AuditLog = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_AUDIT_LOG",
        help="Append a line of JSON to FILE for each registration, change of a configuration,"
        " refused call and the like: who did it, from where, and with which outcome.",
    ),
]
_AuditLogSize = Annotated[
    int,
    typer.Option(
        metavar="MIB",
        envvar="REMUDA_AUDIT_LOG_SIZE",
        min=1,
        max=1024,
        help="Size at which that file becomes FILE.1, in MiB.",
    ),
]
_AuditLogFiles = Annotated[
    int,
    typer.Option(
        metavar="COUNT",
        envvar="REMUDA_AUDIT_LOG_FILES",
        min=1,
        max=1000,
        help="Full files of the audit log that are kept, FILE.1 to FILE.COUNT.",
    ),
]
_AuditSyslog = Annotated[
    str,
    typer.Option(
        metavar="PLACE",
        envvar="REMUDA_AUDIT_SYSLOG",
        help="Send these lines to a syslog as well: a socket such as /dev/log, or HOST:PORT for"
        " UDP.",
    ),
]
_FaultReports = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        envvar="REMUDA_FAULT_REPORTS",
        help="Directory for a report about each fault of the scheduler, with its input and its"
        " state, to send to the developers; without it the log has the traceback.",
    ),
]
_SelfAudit = Annotated[
    bool,
    typer.Option(
        envvar="REMUDA_SELF_AUDIT",
        help="Compare all sums of the scheduler with their parts every 28 seconds, a little at a"
        " time; what differs is an event, a metric and a failed health check.",
    ),
]
_Tracing = Annotated[
    str,
    typer.Option(
        metavar="off|otel",
        envvar="REMUDA_TRACING",
        help="Send traces of calls, requests and scheduling steps with OpenTelemetry, set up by its"
        " own variables (OTEL_*); needs the extra 'otel'.",
    ),
]


def serve(
    *,
    config: _Config = None,
    watch: _Watch = True,
    grpc_address: _GrpcAddress = "127.0.0.1:9079",
    rest_address: _RestAddress = "127.0.0.1:9080",
    rest_cors: _RestCors = True,
    rest_hosts: _RestHosts = "",
    grpc_connections_per_address: _GrpcConnections = 25,
    rest_connections_per_address: _RestConnections = 256,
    demo: _Demo = False,
    duration: _Duration = None,
    record: _Record = None,
    ldap_settings: _LdapSettings = None,
    event_dir: _EventDir = None,
    reservation_delay: _ReservationDelay = None,
    limit: _Limit = None,
    grpc_tls_cert: _GrpcTlsCert = None,
    grpc_tls_key: _GrpcTlsKey = None,
    grpc_tls_client_ca: _GrpcTlsClientCa = None,
    grpc_access: _GrpcAccess = None,
    cluster_name: _ClusterName = "kubernetes",
    history_samples: _HistorySamples = 1440,
    metrics_prefix: _MetricsPrefix = "yunikorn",
    metrics_queue_names: _MetricsQueueNames = "containers",
    metrics_users: _MetricsUsers = 0,
    metrics_queues: _MetricsQueues = 10_000,
    rest_tls_cert: _RestTlsCert = None,
    rest_tls_key: _RestTlsKey = None,
    rest_access: _RestAccess = None,
    debug: _Debug = True,
    audit_log: _AuditLog = None,
    audit_log_size: _AuditLogSize = 10,
    audit_log_files: _AuditLogFiles = 10,
    audit_syslog: _AuditSyslog = "",
    fault_reports: _FaultReports = None,
    self_audit: _SelfAudit = True,
    tracing: _Tracing = "off",
) -> None:
    """Run the scheduler as a service.

    When it is ready, stdout gets one line: listening grpc=HOST:PORT rest=HOST:PORT

    SIGTERM and Ctrl-C end it cleanly, with exit code 0. On SIGHUP it reads the file of --config
    and those of identities again; a file with errors changes nothing.

    An option on the command line overrides its environment variable.
    """
    # Before all that takes time: a SIGHUP that comes too early would end the process.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
    grpc = parse_address("--grpc-address", grpc_address)
    rest = parse_address("--rest-address", rest_address)
    seconds = None if duration is None else parse_seconds("--duration", duration)

    # The gRPC library would add lines of its own to ours; it reads this when it is imported.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")

    from remuda.app import Settings, run  # noqa: PLC0415 - keeps help and completion fast
    from remuda.config.process_limits import read_limits  # noqa: PLC0415
    from remuda.edges.observation import ObservationSettings  # noqa: PLC0415
    from remuda.edges.protection import Files  # noqa: PLC0415
    from remuda.telemetry.audit.log import AuditSettings  # noqa: PLC0415
    from remuda.telemetry.metrics.settings import read_metrics_settings  # noqa: PLC0415

    run(
        Settings(
            config=config,
            watch=watch,
            grpc_address=grpc,
            rest_address=rest,
            rest_cors=rest_cors,
            rest_hosts=rest_hosts,
            grpc_connections=grpc_connections_per_address,
            rest_connections=rest_connections_per_address,
            demo=demo,
            duration_seconds=seconds,
            record=record,
            ldap_settings=ldap_settings,
            reservation_delay_ns=_delay_ns(reservation_delay),
            limits=read_limits("--limit", limit or ()),
            observation=ObservationSettings(
                cluster_name,
                history_samples,
                read_metrics_settings(
                    metrics_prefix, metrics_queue_names, metrics_users, metrics_queues
                ),
                event_dir,
                self_audit,
            ),
            grpc_files=Files(
                _tls("grpc", grpc_tls_cert, grpc_tls_key, grpc_tls_client_ca), grpc_access
            ),
            rest_files=Files(_tls("rest", rest_tls_cert, rest_tls_key), rest_access),
            debug=debug,
            tracing=_traced(tracing),
            audit=AuditSettings(audit_log, audit_log_size * 2**20, audit_log_files, audit_syslog),
            fault_reports=fault_reports,
        )
    )


def _tls(
    listener: str, certificate: Path | None, key: Path | None, client_ca: Path | None = None
) -> TlsFiles | None:
    """Return the files for TLS, which belong together; None if none is named.

    Raises: UsageError.
    """
    option = f"--{listener}-tls"
    if certificate is None and key is None:
        if client_ca is not None:
            raise UsageError(f"{option}-client-ca needs {option}-cert and {option}-key")
        return None
    if certificate is None or key is None:
        raise UsageError(f"{option}-cert and {option}-key belong together; one is missing")
    from remuda.edges.certificates import TlsFiles  # noqa: PLC0415 - as above

    return TlsFiles(certificate, key, client_ca)


def _traced(text: str) -> bool:
    """Return whether traces are wanted. Raises: UsageError."""
    if text not in ("off", "otel"):
        raise UsageError(f"--tracing: '{text}' is neither off nor otel")
    return text == "otel"


def _delay_ns(text: str | None) -> int | None:
    """Return the reservation delay, from the environment of the process if there is no option.

    Raises: UsageError.
    """
    from remuda.runtime.reservation import default_delay_ns, read_delay  # noqa: PLC0415 - as above

    return default_delay_ns(os.environ) if text is None else read_delay("--reservation-delay", text)


def parse_seconds(option: str, text: str) -> float:
    """Return the seconds, above 0, of a text such as ``30s``, ``500ms`` or ``1h30m``.

    Raises: UsageError.
    """
    nanoseconds = parse_duration(text)
    if nanoseconds is None or nanoseconds <= 0:
        raise UsageError(
            f"{option}: '{text}' is not a duration above 0, for example 30s, 5m or 1h30m"
        )
    return nanoseconds / SECOND
