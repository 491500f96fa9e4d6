"""OpenTelemetry spans with the GenAI names. An extra, off by default; nothing else in the project imports opentelemetry.

`spans` speaks the API alone, `exporting` sets the SDK up. Only `orchestrator.telemetry` imports either, and only when
asked to. Spans are for watching: they carry no text that anybody wrote, and nothing of them reaches the event log.
"""
