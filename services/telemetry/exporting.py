"""The SDK set up: spans leave by OTLP over HTTP, to where the standard `OTEL_EXPORTER_OTLP_*` variables say."""

from __future__ import annotations

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

SCOPE = "officetown"


def provider(service: str, version: str, exporter: SpanExporter | None = None) -> TracerProvider:
    """Return a provider of tracers; its `shutdown` sends what is left. By default spans go out by OTLP over HTTP.

    It is no global: a library that traces by itself does not come along.
    """
    made = TracerProvider(resource=Resource.create({"service.name": service, "service.version": version}))
    made.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
    return made
