"""JSON Schema of tools: is it one, and do arguments fit it. Sentences are ours: they may enter a prompt (RULE 37)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import jsonschema
from jsonschema.protocols import Validator

from bench.worlds.pointers import pointer_of
from simulator.canonical import canonical

_MOST_FAULTS = 8
_DRAFT = jsonschema.Draft202012Validator
_TOLD: Mapping[str, str] = {
    "type": "must be of type {value}", "enum": "must be one of {value}", "const": "must be {value}",
    "minimum": "must be at least {value}", "maximum": "must be at most {value}",
    "exclusiveMinimum": "must be more than {value}", "exclusiveMaximum": "must be less than {value}",
    "minLength": "must have at least {value} characters", "maxLength": "must have at most {value} characters",
    "minItems": "must have at least {value} entries", "maxItems": "must have at most {value} entries",
    "uniqueItems": "must not hold the same entry twice", "pattern": "must match the pattern {value}",
    "multipleOf": "must be a multiple of {value}", "format": "must be a {value}",
}  # fmt: skip


def schema_fault(schema: Any) -> str | None:
    """Return why `schema` is no schema of a tool's arguments, or None if it is one."""
    if not isinstance(schema, dict):
        return "The parameters must be a JSON Schema, which is an object."
    if schema.get("type") != "object":
        return "The parameters must be a JSON Schema of type object."
    try:
        _DRAFT.check_schema(schema)
    except jsonschema.SchemaError as fault:
        place = pointer_of([str(part) for part in fault.absolute_path]) or "its root"
        return f"The parameters are no valid JSON Schema: what stands at {place} is not allowed there."
    outside = [ref for ref in _references(schema) if not ref.startswith("#")]
    return f"The schema refers to {outside[0][:80]!r}, outside itself." if outside else None


def _references(schema: Any) -> Iterable[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def argument_faults(value: Any, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Say how arguments differ from their schema: plain sentences in a fixed order, at most eight."""
    found = sorted(
        _validator(canonical(schema)).iter_errors(value), key=lambda e: (list(map(str, e.absolute_path)), e.validator)
    )
    return tuple(_sentence(fault) for fault in found[:_MOST_FAULTS])


@lru_cache(maxsize=512)
def _validator(schema: bytes) -> Validator:
    return _DRAFT(json.loads(schema))


def _sentence(fault: jsonschema.ValidationError) -> str:
    place = pointer_of([str(part) for part in fault.absolute_path]).lstrip("/") or "the arguments"
    rule, value, instance = str(fault.validator), fault.validator_value, fault.instance
    if rule == "required" and isinstance(instance, Mapping) and isinstance(value, list):
        missing = [name for name in value if name not in instance]
        return f"{place}: {', '.join(map(str, missing))} missing."
    if rule == "additionalProperties" and isinstance(instance, Mapping):
        known = fault.schema.get("properties", {}) if isinstance(fault.schema, Mapping) else {}
        return f"{place}: {', '.join(str(name) for name in instance if name not in known)} not known."
    told = _TOLD.get(rule, "does not have the form that its schema describes")
    return f"{place}: {told.format(value=' or '.join(value) if rule == 'type' and isinstance(value, list) else _short(value))}."


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]} ..."
