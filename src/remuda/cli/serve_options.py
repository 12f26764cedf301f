"""The options of ``remuda serve``: for each its environment variable, its bounds and its help.

They stand apart from the command, which turns them into settings, because their texts are long.
Rules: KV-6.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_CONFIG",
        help="Queue configuration (YAML) for resource managers that register without one.",
    ),
]
Watch = Annotated[
    bool,
    typer.Option(
        envvar="REMUDA_WATCH",
        help="Read the configuration file again when it changes; SIGHUP does so in any case.",
    ),
]
GrpcAddress = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        envvar="REMUDA_GRPC_ADDRESS",
        help="Where resource managers connect; port 0 takes a free one.",
    ),
]
RestAddress = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        envvar="REMUDA_REST_ADDRESS",
        help="Where the read-only HTTP API listens; port 0 takes a free one.",
    ),
]
RestCors = Annotated[
    bool,
    typer.Option(
        envvar="REMUDA_REST_CORS",
        help="Let web pages of other origins read what front ends list: clusters, partitions,"
        " queues, applications, nodes, history, health.",
    ),
]
RestHosts = Annotated[
    str,
    typer.Option(
        metavar="NAME,NAME",
        envvar="REMUDA_REST_HOSTS",
        help="Names by which clients may call the HTTP API, besides addresses, localhost and the"
        " name of the machine; * for any. Not checked if a token is required.",
    ),
]
GrpcConnections = Annotated[
    int,
    typer.Option(
        metavar="COUNT",
        envvar="REMUDA_GRPC_CONNECTIONS_PER_ADDRESS",
        min=0,
        max=512,
        help="gRPC connections that one address may have; 0 for only the limit of all, 512.",
    ),
]
RestConnections = Annotated[
    int,
    typer.Option(
        metavar="COUNT",
        envvar="REMUDA_REST_CONNECTIONS_PER_ADDRESS",
        min=0,
        max=512,
        help="HTTP connections that one address may have; 0 for only the limit of all, 512.",
    ),
]
Demo = Annotated[
    bool,
    typer.Option(
        "--demo",
        envvar="REMUDA_DEMO",
        help="Start a hollow cluster in this process: 100 nodes, jobs that come and go.",
    ),
]
LocalNode = Annotated[
    bool,
    typer.Option(
        "--local-node",
        envvar="REMUDA_LOCAL_NODE",
        help="Make this machine a node: 'remuda run' and 'remuda submit' run commands on it, as"
        " the user of this service.",
    ),
]
LocalDir = Annotated[
    Path | None,
    typer.Option(
        metavar="DIRECTORY",
        envvar="REMUDA_LOCAL_DIR",
        help="Where commands and their output are kept. Default: remuda/local below"
        " XDG_STATE_HOME, which is ~/.local/state if it is not set.",
    ),
]
LocalBounds = Annotated[
    str,
    typer.Option(
        metavar="auto|off|DIRECTORY",
        envvar="REMUDA_LOCAL_BOUNDS",
        help="How commands are held to the memory that they asked for: by control groups where they"
        " are delegated to this service, else by RLIMIT_DATA; not at all; or by control groups in"
        " DIRECTORY.",
    ),
]
Duration = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        envvar="REMUDA_DURATION",
        help="Stop after this long, for example 30s, 5m or 1h30m; without it, on a signal.",
    ),
]
Record = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_RECORD",
        help="Record every input to FILE, for 'remuda replay FILE'; recordings in it are kept.",
    ),
]
Journal = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        envvar="REMUDA_JOURNAL",
        help="Directory for a journal: every input, in segments that begin with the whole state,"
        " for 'remuda replay DIR'. Bounded in size and age; not together with --record.",
    ),
]
JournalSize = Annotated[
    int,
    typer.Option(
        metavar="MIB",
        envvar="REMUDA_JOURNAL_SIZE",
        min=1,
        max=2**20,
        help="Size of the journal, in MiB; the oldest segments are removed.",
    ),
]
JournalAge = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        envvar="REMUDA_JOURNAL_AGE",
        help="How long a segment of the journal is kept, for example 12h.",
    ),
]
JournalFollowers = Annotated[
    int,
    typer.Option(
        metavar="COUNT",
        envvar="REMUDA_JOURNAL_FOLLOWERS",
        min=0,
        max=100,
        help="How many may follow the journal over gRPC at a time; see 'remuda shadow --of'.",
    ),
]
LdapSettings = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        envvar="REMUDA_LDAP_SETTINGS",
        help="Directory with one file per setting of the LDAP server that knows users' groups;"
        " without it /run/secrets/ldap, read when a configuration asks for LDAP.",
    ),
]
EventDir = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        envvar="REMUDA_EVENT_DIR",
        help="Directory below which event records may be kept in files, for event.store in the"
        " settings of a resource manager; without it they are kept in memory.",
    ),
]
ReservationDelay = Annotated[
    str | None,
    typer.Option(
        metavar="TIME|off",
        envvar="REMUDA_RESERVATION_DELAY",
        help="How old an ask must be to reserve a node that is large enough, or off for no"
        " reservations. Default: 2s, or off if DISABLE_RESERVATION is true in the environment.",
    ),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=NUMBER",
        envvar="REMUDA_LIMIT",
        help="How much may be kept: resource-managers, and in a partition applications, nodes,"
        " queues, application-asks, asks or tag-characters. Repeat the option for several; the"
        " variable has blanks between them.",
    ),
]
GrpcTlsCert = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_GRPC_TLS_CERT",
        help="Certificate of the gRPC listener with its chain, in PEM, followed while serving;"
        " without it connections are in clear text. With --grpc-tls-key.",
    ),
]
GrpcTlsKey = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", envvar="REMUDA_GRPC_TLS_KEY", help="Key of that certificate, in PEM."
    ),
]
GrpcTlsClientCa = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_GRPC_TLS_CLIENT_CA",
        help="Authorities, in PEM. Every gRPC client then has to show a certificate that one of"
        " them has signed.",
    ),
]
GrpcAccess = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_GRPC_ACCESS",
        help="TOML file with the identities that may call gRPC, and what each may do; without it"
        " every client that can connect may do everything.",
    ),
]
ClusterName = Annotated[
    str,
    typer.Option(
        metavar="NAME", envvar="REMUDA_CLUSTER_NAME", help="Name of the cluster in the HTTP API."
    ),
]
HistorySamples = Annotated[
    int,
    typer.Option(
        metavar="COUNT",
        envvar="REMUDA_HISTORY_SAMPLES",
        min=0,
        max=1440,
        help="Minutes of history in the HTTP API of how much ran; 0 for no history.",
    ),
]

MetricsPrefix = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        envvar="REMUDA_METRICS_PREFIX",
        help="Prefix of the names of all metrics at /ws/v1/metrics.",
    ),
]
MetricsQueueNames = Annotated[
    str,
    typer.Option(
        metavar="none|containers|all",
        envvar="REMUDA_METRICS_QUEUE_NAMES",
        help="Which metrics exist a second time with the queue in their name instead of a label:"
        " none, those of containers, or all.",
    ),
]
MetricsUsers = Annotated[
    int,
    typer.Option(
        metavar="COUNT",
        envvar="REMUDA_METRICS_USERS",
        help="Show the usage of each user, for at most that many users; the others are one series.",
    ),
]
MetricsQueues = Annotated[
    int,
    typer.Option(
        metavar="COUNT",
        envvar="REMUDA_METRICS_QUEUES",
        help="Show the metrics of each queue for at most that many queues, in the order of their"
        " paths; the other leaves are one series.",
    ),
]
MemoryLimit = Annotated[
    int | None,
    typer.Option(
        metavar="MIB",
        envvar="REMUDA_MEMORY_LIMIT",
        min=0,
        max=2**40,
        help="Memory that the process may have, in MiB; 0 for any. From 85 % on, new asks and"
        " applications are refused. Default: what the system allows (control group, ulimit).",
    ),
]
RestTlsCert = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_REST_TLS_CERT",
        help="Certificate of the HTTP listener with its chain, in PEM, followed while serving;"
        " without it connections are in clear text. With --rest-tls-key.",
    ),
]
RestTlsKey = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", envvar="REMUDA_REST_TLS_KEY", help="Key of that certificate, in PEM."
    ),
]
RestAccess = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_REST_ACCESS",
        help="TOML file with the identities that may read the HTTP API, by token; without it"
        " every client that can connect may. It can be the file of --grpc-access.",
    ),
]
Debug = Annotated[
    bool,
    typer.Option(
        envvar="REMUDA_DEBUG", help="Offer state dumps, stacks and profiles over the HTTP API."
    ),
]
AuditLog = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_AUDIT_LOG",
        help="Append a line of JSON to FILE for each registration, change of a configuration,"
        " refused call and the like: who did it, from where, and with which outcome.",
    ),
]
AuditLogSize = Annotated[
    int,
    typer.Option(
        metavar="MIB",
        envvar="REMUDA_AUDIT_LOG_SIZE",
        min=1,
        max=1024,
        help="Size at which that file becomes FILE.1, in MiB.",
    ),
]
AuditLogFiles = Annotated[
    int,
    typer.Option(
        metavar="COUNT",
        envvar="REMUDA_AUDIT_LOG_FILES",
        min=1,
        max=1000,
        help="Full files of the audit log that are kept, FILE.1 to FILE.COUNT.",
    ),
]
AuditSyslog = Annotated[
    str,
    typer.Option(
        metavar="PLACE",
        envvar="REMUDA_AUDIT_SYSLOG",
        help="Send these lines to a syslog as well: a socket such as /dev/log, or HOST:PORT for"
        " UDP.",
    ),
]
FaultReports = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        envvar="REMUDA_FAULT_REPORTS",
        help="Directory for a report about each fault of the scheduler, with its input and its"
        " state, and about what the self-audit finds; without it the log has the traceback.",
    ),
]
SelfAudit = Annotated[
    bool,
    typer.Option(
        envvar="REMUDA_SELF_AUDIT",
        help="Compare all sums of the scheduler with their parts every 28 seconds, a little at a"
        " time; what differs is an event, a metric and a failed health check.",
    ),
]
Tracing = Annotated[
    str,
    typer.Option(
        metavar="off|otel",
        envvar="REMUDA_TRACING",
        help="Send traces of calls, requests and scheduling steps with OpenTelemetry, set up by its"
        " own variables (OTEL_*); needs the extra 'otel'.",
    ),
]
Lease = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="REMUDA_LEASE",
        help="Lease in etcd, such as etcd://127.0.0.1:2379/remuda, by which one of several"
        " processes is active and the others stand by; etcds:// for TLS. Needs the extra 'etcd'.",
    ),
]
LeaseTtl = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        envvar="REMUDA_LEASE_TTL",
        help="How long that lease lasts without a renewal, in whole seconds from 2s to 60s.",
    ),
]
LeaseAdvertise = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        envvar="REMUDA_LEASE_ADVERTISE",
        help="Address that a standby tells clients of this process when it is active; without it"
        " the one of the gRPC listener.",
    ),
]
LeaseCa = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_LEASE_CA",
        help="Authorities of etcd's certificates, in PEM; without it those of the system.",
    ),
]
LeaseCert = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_LEASE_CERT",
        help="Certificate that etcd is shown, in PEM. With --lease-key.",
    ),
]
LeaseKey = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", envvar="REMUDA_LEASE_KEY", help="Key of that certificate, in PEM."
    ),
]
LeaseUser = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        envvar="REMUDA_LEASE_USER",
        help="User of etcd. With --lease-password.",
    ),
]
LeasePassword = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_LEASE_PASSWORD",
        help="File with the password of that user; read when it is needed.",
    ),
]
