"""Arguments against the part of JSON Schema that a system of record may use. Standard library alone (`bench.worlds.carried`).

It decides as the full validator does, within `KEYWORDS`; a schema that uses more is refused when its package is checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .pointers import same

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: _number(v),
    "integer": lambda v: _number(v) and (isinstance(v, int) or v.is_integer()),
}
KEYWORDS = frozenset({
    "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
    "pattern", "minItems", "maxItems", "items", "properties", "required", "additionalProperties",
})  # fmt: skip
WORDS = frozenset({"title", "description", "default", "examples"})
"""What a schema may say besides, to be read and not checked."""
_MOST = 8
_BOUNDS: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (lambda v, b: v >= b, "at least"), "maximum": (lambda v, b: v <= b, "at most"),
    "exclusiveMinimum": (lambda v, b: v > b, "more than"), "exclusiveMaximum": (lambda v, b: v < b, "less than"),
}  # fmt: skip
_SIZES: Mapping[str, tuple[type, Callable[[int, int], bool], str]] = {
    "minLength": (str, lambda n, b: n >= b, "at least {} characters"),
    "maxLength": (str, lambda n, b: n <= b, "at most {} characters"),
    "minItems": (list, lambda n, b: n >= b, "at least {} entries"),
    "maxItems": (list, lambda n, b: n <= b, "at most {} entries"),
}


def unsupported(schema: Any, place: tuple[str, ...] = ()) -> tuple[tuple[str, ...], str] | None:
    """Return (place, keyword) of the first keyword that is not decided here, or None. A bare true or false is none."""
    if not isinstance(schema, dict):
        return place, "true or false in place of a schema"
    for key in schema:
        if key not in KEYWORDS and key not in WORDS:
            return (*place, key), f"`{key}`"
    inner: list[tuple[tuple[str, ...], Any]] = [(("properties", name), value) for name, value in schema.get("properties", {}).items()]
    inner += [((key,), schema[key]) for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    if "items" in schema and not isinstance(schema["items"], dict):
        return (*place, "items"), "`items` that is no schema"
    return next((found for where, value in inner if (found := unsupported(value, (*place, *where)))), None)


def argument_faults(value: Any, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Say how a value differs from its schema: plain sentences in a fixed order, at most eight."""
    found: list[str] = []
    for text in _faults(value, schema, ()):
        found.append(text)
        if len(found) == _MOST:
            break
    return tuple(found)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _faults(value: Any, schema: Mapping[str, Any], place: tuple[str, ...]) -> Iterator[str]:
    where = "/".join(place) or "the arguments"
    kinds = schema.get("type")
    if kinds is not None:
        names = [kinds] if isinstance(kinds, str) else list(kinds)
        if not any(_TYPES[name](value) for name in names):
            yield f"{where}: must be of type {' or '.join(names)}."
            return
    if "enum" in schema and not any(same(value, one) for one in schema["enum"]):
        yield f"{where}: must be one of {_short(schema['enum'])}."
    if "const" in schema and not same(value, schema["const"]):
        yield f"{where}: must be {_short(schema['const'])}."
    if _number(value):
        for key, (holds, words) in _BOUNDS.items():
            if key in schema and not holds(value, schema[key]):
                yield f"{where}: must be {words} {_short(schema[key])}."
    for key, (kind, holds, words) in _SIZES.items():
        if key in schema and isinstance(value, kind) and not holds(len(value), schema[key]):  # type: ignore[arg-type]
            yield f"{where}: must have {words.format(_short(schema[key]))}."
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{where}: must match the pattern {schema['pattern']}."
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from _faults(item, schema["items"], (*place, str(index)))
    if isinstance(value, dict):
        yield from _members(value, schema, place, where)


def _members(value: dict[str, Any], schema: Mapping[str, Any], place: tuple[str, ...], where: str) -> Iterator[str]:
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        yield f"{where}: {', '.join(missing)} missing."
    known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    extra = [name for name in sorted(value) if name not in known]
    if extra and more is False:
        yield f"{where}: {', '.join(extra)} not known."
    for name in sorted(value):
        if name in known:
            yield from _faults(value[name], known[name], (*place, name))
        elif isinstance(more, dict):
            yield from _faults(value[name], more, (*place, name))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]} ..."
