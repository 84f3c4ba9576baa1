"""Spans for OpenTelemetry, if it is installed and a collector is set; else nothing is imported and nothing costs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from ale_semantic.errors import MissingExtraError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_NAME = "ale-semantic"


class Tracing:
    """Where spans go: to a collector, or nowhere."""

    def __init__(self, endpoint: str = "", *, exporter: Any = None) -> None:
        """Connect to a collector.

        Args:
            endpoint: address of an OTLP collector over HTTP, without `/v1/traces`; empty: no spans.
            exporter: takes the spans in its place (for tests).

        Raises:
            MissingExtraError: if a collector is set and OpenTelemetry isn't installed.
        """
        self._provider = _provider(endpoint, exporter) if endpoint or exporter else None
        self._tracer = self._provider.get_tracer(_NAME) if self._provider else None

    @property
    def on(self) -> bool:
        """Tell whether spans are written."""
        return self._tracer is not None

    def span(self, name: str) -> AbstractContextManager[Any]:
        """Return a span of a stage around a block."""
        return self._tracer.start_as_current_span(name) if self._tracer else nullcontext()

    @contextmanager
    def request(self, method: str, headers: dict[str, str]) -> Iterator[Any]:
        """Put a span of the server's kind around a request; a caller's `traceparent` is its parent."""
        if self._tracer is None:
            yield None
            return
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        with self._tracer.start_as_current_span(method, context=extract(headers), kind=SpanKind.SERVER) as span:
            yield span

    def close(self) -> None:
        """Send the spans that wait."""
        if self._provider is not None:
            self._provider.shutdown()


def _provider(endpoint: str, exporter: Any) -> Any:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
    except ImportError:
        raise MissingExtraError("writing traces (otlp_endpoint)", "tracing") from None
    provider = TracerProvider(resource=Resource.create({"service.name": _NAME}))
    if exporter is not None:
        provider.add_span_processor(SimpleSpanProcessor(exporter))
    else:
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")))
    return provider
