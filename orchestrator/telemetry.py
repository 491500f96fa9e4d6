"""Whether a run is traced: off unless `OFFICETOWN_OTEL=1` or the standard `OTEL_*` variables ask for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from simulator.engine.environment import Observer
from simulator.errors import UsageError
from simulator.events import ENGINE_VERSION
from simulator.ports import Model

SWITCH = "OFFICETOWN_OTEL"
STANDARD = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
VARIABLES = (SWITCH, *STANDARD, "OTEL_TRACES_EXPORTER", "OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME")
"""Every variable that is read here; where and how spans are sent, the SDK reads from further ones by itself."""
_ON, _OFF = ("1", "true", "on", "yes"), ("", "0", "false", "off", "no")


class Tracing:
    """What a run is watched with. `model` wraps a model; `observers` go into the engine's environment."""

    observers: tuple[Observer, ...] = ()

    def model(self, model: Model, name: str = "") -> Model:
        """Return the model as it is: nothing is traced."""
        return model


def wanted(environ: Mapping[str, str]) -> bool:
    """Whether the environment asks for spans. Raises UsageError where the switch is neither on nor off."""
    switch = environ.get(SWITCH, "").strip().casefold()
    if switch not in (*_ON, *_OFF):
        raise UsageError(f"{SWITCH}={environ[SWITCH]!r}: write 1 to send spans, 0 not to.")
    if environ.get("OTEL_SDK_DISABLED", "").strip().casefold() == "true":
        return False
    if switch:
        return switch in _ON
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip().casefold()
    if exporter:
        return "otlp" in exporter.split(",")
    return any(environ.get(name, "").strip() for name in STANDARD)


@contextmanager
def tracing(environ: Mapping[str, str], office: str, provider: str = "openai") -> Iterator[Tracing]:
    """Lend a run its tracing; at the end, open spans are ended and what is left is sent.

    `provider` is the well-known name of who serves the model, as in `gen_ai.provider.name`.

    Raises:
        UsageError: spans are asked for by `OFFICETOWN_OTEL` and the extra is not installed. Where only the standard
            variables ask, which a machine may set for everything on it, nothing is traced then.
    """
    if not wanted(environ):
        yield Tracing()
        return
    try:
        # Here and not at the head: without the extra there is nothing to import, and nothing is imported unasked.
        from services.telemetry.exporting import SCOPE, provider as provider_of  # noqa: I001
        from services.telemetry.spans import OfficeSpans, Traced
    except ModuleNotFoundError as fault:
        if not (fault.name or "").startswith("opentelemetry"):
            raise
        if not environ.get(SWITCH, "").strip():
            yield Tracing()
            return
        raise UsageError(
            f"{SWITCH} is set, but OpenTelemetry is not installed: pip install 'officetown[telemetry]'."
        ) from None
    made = provider_of(environ.get("OTEL_SERVICE_NAME") or "officetown", ENGINE_VERSION)
    tracer = made.get_tracer(SCOPE, ENGINE_VERSION)
    spans = OfficeSpans(tracer, office)

    class Sent(Tracing):
        observers = (spans,)

        def model(self, model: Model, name: str = "") -> Model:
            return Traced(model, tracer, spans, name=name, provider=provider)

    try:
        yield Sent()
    finally:
        spans.close()
        made.shutdown()
