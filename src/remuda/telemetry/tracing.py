"""Traces for OpenTelemetry: what calls, requests and steps took, in the traces of their callers.

Off unless asked for, and then nothing of it is imported: the library is an extra. It is set up
as its own standard variables (``OTEL_*``) say. Spans hold the names of methods and routes, statuses
and counts. They hold no content of requests, so that no secret can be in them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final, TypeAlias

import remuda
from remuda.base.errors import UsageError
from remuda.core.messages.effects import AllocationNew, AllocationsReleased, Effect

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span

_log = logging.getLogger("remuda.telemetry")

Value: TypeAlias = str | int

_MISSING: Final = (
    "tracing needs OpenTelemetry, which is not installed:"
    " install remuda with its extra 'otel', for example pip install 'remuda[otel]'"
)

# Steps that may wait to become spans; more are left out and counted.
_STEPS_LIMIT: Final = 10_000

# Between two looks at the steps that were made.
_SECONDS: Final = 0.25

# How long the last spans may take to leave when the process ends.
_CLOSE_SECONDS: Final = 3.0

# Exporters that have other names among the installed ones.
_OTLP: Final = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


class Served:
    """The span of one call or request while it is served."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def note(self, name: str, value: Value) -> None:
        """Add an attribute."""
        self._span.set_attribute(name, value)

    def fail(self, text: str) -> None:
        """Say that it went wrong, and by a fault of this side."""
        from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 - an extra

        self._span.set_status(Status(StatusCode.ERROR, text))


class Steps:
    """Steps of the scheduler that did something, until they become spans.

    The core thread only takes a note of them; spans are made where calls are served.
    """

    def __init__(self) -> None:
        self._noted: deque[tuple[int, int, int, int, int]] = deque()
        self.lost = 0

    def watch(self, took_ns: int, effects: Sequence[Effect]) -> None:
        """Take a note of a step that just ended. Core thread."""
        if not effects:
            return
        if len(self._noted) >= _STEPS_LIMIT:
            self.lost += 1
            return
        new = released = 0
        for effect in effects:
            kind = type(effect)
            if kind is AllocationNew:
                new += 1
            elif kind is AllocationsReleased:
                released += 1
        self._noted.append((time.time_ns(), took_ns, len(effects), new, released))

    def take(self) -> Iterator[tuple[int, int, Mapping[str, Value]]]:
        """Return start, end (Unix nanoseconds) and attributes of those noted so far."""
        for _ in range(len(self._noted)):
            ended_ns, took_ns, effects, new, released = self._noted.popleft()
            yield (
                ended_ns - took_ns,
                ended_ns,
                {
                    "remuda.effects": effects,
                    "remuda.allocations": new,
                    "remuda.releases": released,
                },
            )


class Tracing:
    """Makes spans of this process with the given provider."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("remuda", remuda.__version__)
        self.steps: Final = Steps()

    @contextlib.contextmanager
    def serving(
        self, name: str, carrier: Mapping[str, str], attributes: Mapping[str, Value]
    ) -> Iterator[Served]:
        """Make a span of what is served inside.

        It belongs to the trace that ``carrier`` names in the W3C format: headers or metadata by
        lower-case names. A name that cannot be read is ignored. An exception out of it ends the
        span and goes on; whether it is a failure, the caller knows.
        """
        from opentelemetry.trace import SpanKind  # noqa: PLC0415 - an extra

        span = self._tracer.start_span(
            name,
            context=self._context(carrier),
            kind=SpanKind.SERVER,
            attributes=dict(attributes),
        )
        try:
            yield Served(span)
        finally:
            span.end()

    def _context(self, carrier: Mapping[str, str]) -> Context:
        """Return the caller's context; never that of whatever else runs here."""
        from opentelemetry.context import Context  # noqa: PLC0415 - an extra
        from opentelemetry.propagate import extract  # noqa: PLC0415

        return extract(carrier, context=Context())

    async def keep(self) -> None:
        """Make spans of steps as they come, until cancelled."""
        while True:
            await asyncio.sleep(_SECONDS)
            try:
                self.tell_steps()
            except Exception as error:  # noqa: BLE001 - theirs; scheduling goes on
                _log.error("traces: steps could not be reported: %r", error)

    def tell_steps(self) -> None:
        """Make spans of the steps noted so far."""
        from opentelemetry.context import Context  # noqa: PLC0415 - an extra

        for began_ns, ended_ns, attributes in self.steps.take():
            span = self._tracer.start_span(
                "schedule", context=Context(), attributes=dict(attributes), start_time=began_ns
            )
            span.end(ended_ns)
        if self.steps.lost:
            lost, self.steps.lost = self.steps.lost, 0
            _log.warning("traces: %d steps were left out, there were too many at a time", lost)

    def close(self) -> None:
        """Send what is left; a collector that does not answer is not waited for long."""
        self.tell_steps()
        end = threading.Thread(target=self._provider.shutdown, name="remuda-traces", daemon=True)
        end.start()
        end.join(_CLOSE_SECONDS)


def open_tracing(environment: Mapping[str, str]) -> Tracing:
    """Set OpenTelemetry up as its variables say.

    Raises: UsageError if it is not installed, or not what ``OTEL_TRACES_EXPORTER`` names.
    """
    try:
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        raise UsageError(_MISSING) from None
    exporters = [_exporter(name) for name in _exporters(environment)]
    _quieten()
    resource = Resource.create(_service(environment))
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    return Tracing(provider)


def _service(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what this service calls itself where its environment does not say it."""
    own = {"service.version": remuda.__version__}
    named = environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if not environment.get("OTEL_SERVICE_NAME") and "service.name=" not in named:
        own["service.name"] = "remuda"
    return own


def _exporters(environment: Mapping[str, str]) -> Iterator[str]:
    """Return the names of the exporters that are asked for, as they are installed."""
    for part in environment.get("OTEL_TRACES_EXPORTER", "otlp").split(","):
        name = part.strip()
        if name == "otlp":
            protocol = environment.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environment.get(
                "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"
            )
            name = _OTLP.get(protocol, protocol)
        if name not in ("", "none"):
            yield name


def _exporter(name: str) -> SpanExporter:
    """Return an exporter by its name. Raises: UsageError if there is none of that name."""
    for found in entry_points(group="opentelemetry_traces_exporter", name=name):
        try:
            exporter: SpanExporter = found.load()()
        except ImportError:
            break
        return exporter
    installed = sorted({each.name for each in entry_points(group="opentelemetry_traces_exporter")})
    raise UsageError(
        f"OTEL_TRACES_EXPORTER: no exporter '{name[:100]}' is installed, there are"
        f" {', '.join(installed) or 'none'}; otlp comes with pip install 'remuda[otel]'"
    )


class _WithoutTraceback(logging.Formatter):
    """Formats a record as one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return time, level, name and message."""
        record.exc_info, record.exc_text = None, None
        return super().format(record)


def _quieten() -> None:
    """Make the library log one line instead of a traceback, for example if no collector listens."""
    logger = logging.getLogger("opentelemetry")
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(_WithoutTraceback("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logger.addHandler(handler)
        logger.propagate = False
