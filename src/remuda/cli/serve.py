"""The command ``remuda serve``: options to settings, nothing else.

Each option has an environment variable, since a service mostly runs in a container. Only the help
of an option explains it. An error of an option is one line that names it. Implements: KV-6.
"""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Final

from remuda.base.addresses import parse_address
from remuda.base.duration import SECOND, parse_duration
from remuda.base.errors import UsageError
from remuda.cli import serve_options as option
from remuda.cli.lease import LeaseFiles, read_lease

if TYPE_CHECKING:
    from remuda.edges.certificates import TlsFiles
    from remuda.local.settings import LocalSettings

EXAMPLES: Final = """
Examples:

  remuda serve --demo --duration 30s

  remuda serve --local-node

  remuda serve --config queues.yaml --grpc-address 0.0.0.0:9079

  REMUDA_CONFIG=queues.yaml REMUDA_RECORD=run.journal remuda serve
"""


def serve(
    *,
    config: option.Config = None,
    watch: option.Watch = True,
    grpc_address: option.GrpcAddress = "127.0.0.1:9079",
    rest_address: option.RestAddress = "127.0.0.1:9080",
    rest_cors: option.RestCors = True,
    rest_hosts: option.RestHosts = "",
    grpc_connections_per_address: option.GrpcConnections = 25,
    rest_connections_per_address: option.RestConnections = 256,
    demo: option.Demo = False,
    local_node: option.LocalNode = False,
    local_dir: option.LocalDir = None,
    local_bounds: option.LocalBounds = "auto",
    duration: option.Duration = None,
    record: option.Record = None,
    journal: option.Journal = None,
    journal_size: option.JournalSize = 1024,
    journal_age: option.JournalAge = "24h",
    journal_followers: option.JournalFollowers = 4,
    ldap_settings: option.LdapSettings = None,
    event_dir: option.EventDir = None,
    reservation_delay: option.ReservationDelay = None,
    limit: option.Limit = None,
    grpc_tls_cert: option.GrpcTlsCert = None,
    grpc_tls_key: option.GrpcTlsKey = None,
    grpc_tls_client_ca: option.GrpcTlsClientCa = None,
    grpc_access: option.GrpcAccess = None,
    cluster_name: option.ClusterName = "kubernetes",
    history_samples: option.HistorySamples = 1440,
    metrics_prefix: option.MetricsPrefix = "yunikorn",
    metrics_queue_names: option.MetricsQueueNames = "containers",
    metrics_users: option.MetricsUsers = 0,
    metrics_queues: option.MetricsQueues = 10_000,
    memory_limit: option.MemoryLimit = None,
    rest_tls_cert: option.RestTlsCert = None,
    rest_tls_key: option.RestTlsKey = None,
    rest_access: option.RestAccess = None,
    debug: option.Debug = True,
    audit_log: option.AuditLog = None,
    audit_log_size: option.AuditLogSize = 10,
    audit_log_files: option.AuditLogFiles = 10,
    audit_syslog: option.AuditSyslog = "",
    fault_reports: option.FaultReports = None,
    self_audit: option.SelfAudit = True,
    tracing: option.Tracing = "off",
    lease: option.Lease = None,
    lease_ttl: option.LeaseTtl = "3s",
    lease_advertise: option.LeaseAdvertise = "",
    lease_ca: option.LeaseCa = None,
    lease_cert: option.LeaseCert = None,
    lease_key: option.LeaseKey = None,
    lease_user: option.LeaseUser = "",
    lease_password: option.LeasePassword = None,
) -> None:
    """Run the scheduler as a service.

    When it is ready, stdout gets one line: listening grpc=HOST:PORT rest=HOST:PORT
    On a terminal a second line has the address of the web interface.

    SIGTERM and Ctrl-C end it cleanly, with exit code 0. On SIGHUP it reads the file of --config
    and those of identities again; a file with errors changes nothing.

    An option on the command line overrides its environment variable.
    """
    # Before all that takes time: a SIGHUP that comes too early would end the process.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
    grpc = parse_address("--grpc-address", grpc_address)
    rest = parse_address("--rest-address", rest_address)
    seconds = None if duration is None else parse_seconds("--duration", duration)

    held = None
    if lease is not None:
        held = read_lease(
            lease,
            lease_ttl,
            lease_advertise,
            LeaseFiles(lease_ca, lease_cert, lease_key, lease_user, lease_password),
            demo=demo,
        )

    _before_importing()
    from remuda.app import Settings, run  # noqa: PLC0415 - keeps help and completion fast
    from remuda.config.process_limits import read_limits  # noqa: PLC0415
    from remuda.edges.observation import ObservationSettings  # noqa: PLC0415
    from remuda.edges.protection import Files  # noqa: PLC0415
    from remuda.runtime.journals.layout import JournalBounds  # noqa: PLC0415
    from remuda.telemetry.audit.log import AuditSettings  # noqa: PLC0415
    from remuda.telemetry.metrics.settings import read_metrics_settings  # noqa: PLC0415

    gc.enable()
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
            journal=_journal(journal, record),
            journal_followers=journal_followers,
            journal_bounds=JournalBounds(
                journal_size << 20, parse_seconds("--journal-age", journal_age)
            ),
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
                None if memory_limit is None else memory_limit << 20,
                fault_reports,
            ),
            grpc_files=Files(
                _tls("grpc", grpc_tls_cert, grpc_tls_key, grpc_tls_client_ca), grpc_access
            ),
            rest_files=Files(_tls("rest", rest_tls_cert, rest_tls_key), rest_access),
            debug=debug,
            tracing=_traced(tracing),
            audit=AuditSettings(audit_log, audit_log_size * 2**20, audit_log_files, audit_syslog),
            fault_reports=fault_reports,
            lease=held,
            local=_local(local_node, local_dir, local_bounds, config, alone=not (demo or held)),
        )
    )


def _before_importing() -> None:
    """Settle what libraries read when they are imported, and look for no garbage until then."""
    # The gRPC library would add lines of its own to ours, and would take part in copies of the
    # process (EXT-42).
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    gc.disable()  # what modules make stays: to look for garbage in it takes 6 % of the start


def _journal(directory: Path | None, record: Path | None) -> Path | None:
    """Return where the journal is. Raises: UsageError."""
    if directory is not None and record is not None:
        raise UsageError("--journal and --record exclude each other; a journal records everything")
    return directory


def _local(
    wanted: bool, directory: Path | None, bounds: str, config: Path | None, *, alone: bool
) -> LocalSettings | None:
    """Return what is known of the local node, None if there is none.

    ``alone``: neither a demo nor a lease is wanted. Raises: UsageError.
    """
    from remuda.cli.local_door import state_directory  # noqa: PLC0415 - as above
    from remuda.local.settings import LocalSettings  # noqa: PLC0415

    if not wanted:
        return None
    if not alone:
        raise UsageError("--local-node excludes --demo and --lease; it has one scheduler and node")
    return LocalSettings(directory or state_directory(), stored=config is not None, bounds=bounds)


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
