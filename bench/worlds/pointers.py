"""JSON Pointer (RFC 6901) and JSON Patch (RFC 6902) over plain data, never in place: what is not changed is shared.

Standard library alone: a frozen task carries this file (`bench.worlds.carried`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Path = tuple[str, ...]
MISSING = object()
OPERATIONS = ("add", "replace", "remove", "test", "move", "copy")


class PatchFault(ValueError):
    """A patch cannot be applied. The message is ours: it may be shown to a model."""


def parse(pointer: str) -> Path:
    """Return the parts of a pointer. Raises `PatchFault` where it is none."""
    if pointer == "":
        return ()
    if not pointer.startswith("/"):
        raise PatchFault(f"{pointer[:80]!r} is no JSON Pointer: it must be empty or begin with /.")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/"))


def pointer_of(path: Sequence[str | int]) -> str:
    """Return the pointer of a path."""
    return "".join("/" + escape(str(part)) for part in path)


def escape(part: str) -> str:
    """Return one part as it is written in a pointer."""
    return part.replace("~", "~0").replace("/", "~1")


def find(value: Any, path: Path) -> Any:
    """Return what stands at `path`, or `MISSING`."""
    for part in path:
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and (index := _index(part, len(value))) is not None:
            value = value[index]
        else:
            return MISSING
    return value


def _index(part: str, size: int) -> int | None:
    if not part.isascii() or not part.isdigit() or (part != "0" and part.startswith("0")) or len(part) > 9:
        return None
    return int(part) if int(part) < size else None


def matches(value: Any, pattern: Path) -> Iterator[tuple[Path, Any]]:
    """Yield (path, value) of all that `pattern` names; `*` stands for any key or position."""
    if not pattern:
        yield (), value
        return
    head, rest = pattern[0], pattern[1:]
    keys: list[str] = []
    if head != "*":
        keys = [head]
    elif isinstance(value, Mapping):
        keys = list(value)
    elif isinstance(value, list):
        keys = [str(i) for i in range(len(value))]
    for key in keys:
        inner = find(value, (key,))
        if inner is not MISSING:
            yield from (((key, *path), found) for path, found in matches(inner, rest))


def apply(value: Any, patch: Sequence[Mapping[str, Any]]) -> Any:
    """Return `value` with all operations of a patch done, or raise `PatchFault` and leave it as it was."""
    for number, operation in enumerate(patch, start=1):
        try:
            value = _apply_one(value, operation)
        except PatchFault as fault:
            raise PatchFault(f"operation {number}: {fault}") from None
    return value


def _apply_one(value: Any, operation: Any) -> Any:
    if not isinstance(operation, Mapping):
        raise PatchFault("it is no object.")
    kind, pointer = operation.get("op"), operation.get("path")
    if kind not in OPERATIONS:
        raise PatchFault(f"`op` must be one of {', '.join(OPERATIONS)}.")
    if not isinstance(pointer, str):
        raise PatchFault("`path` must be a JSON Pointer.")
    path = parse(pointer)
    if kind in ("add", "replace", "test") and "value" not in operation:
        raise PatchFault(f"`{kind}` needs a `value`.")
    if kind == "test":
        if not same(find(value, path), operation["value"]):
            raise PatchFault(f"the value at {pointer} is not the one tested for.")
        return value
    if kind in ("move", "copy"):
        return _carry(value, kind, operation.get("from"), path)
    if kind != "add" and find(value, path) is MISSING:
        raise PatchFault(f"there is nothing at {pointer}.")
    return _put(value, path, kind, operation.get("value"), pointer)


def _carry(value: Any, kind: str, source: Any, path: Path) -> Any:
    if not isinstance(source, str):
        raise PatchFault(f"`{kind}` needs `from`, a JSON Pointer.")
    origin = parse(source)
    found = find(value, origin)
    if found is MISSING:
        raise PatchFault(f"there is nothing at {source}.")
    if kind == "move":
        if path[: len(origin)] == origin and path != origin:
            raise PatchFault("a value cannot move into itself.")
        value = _put(value, origin, "remove", None, source)
    return _put(value, path, "add", found, pointer_of(path))


def _put(value: Any, path: Path, kind: str, new: Any, pointer: str) -> Any:
    """Return `value` with one change at `path`; containers on the way are copied, all else is shared."""
    if not path:
        return None if kind == "remove" else new
    key, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        if rest and key not in value:
            raise PatchFault(f"the place of {pointer} does not exist: {escape(key)!r} is missing.")
        copy = dict(value)
        if rest:
            copy[key] = _put(value[key], rest, kind, new, pointer)
        elif kind == "remove":
            del copy[key]
        else:
            copy[key] = new
        return copy
    if isinstance(value, list):
        items = list(value)
        if not rest and kind == "add" and key in ("-", str(len(items))):
            return [*items, new]
        index = _index(key, len(items))
        if index is None:
            raise PatchFault(f"{pointer} names the position {key!r} in a list of {len(items)}.")
        if rest:
            items[index] = _put(items[index], rest, kind, new, pointer)
        elif kind == "remove":
            del items[index]
        elif kind == "add":
            items.insert(index, new)
        else:
            items[index] = new
        return items
    raise PatchFault(f"{pointer} leads through a value that is neither object nor list.")


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are equal: 1 is not true, 1 is 1.0."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def diff(before: Any, after: Any, path: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return a patch that makes `after` of `before`: by key in objects, whole where lists or scalars differ."""
    if same(before, after):
        return []
    if not (isinstance(before, Mapping) and isinstance(after, Mapping)):
        return [{"op": "replace", "path": pointer_of(path), "value": after}]
    out: list[dict[str, Any]] = []
    for key in before:
        inner = (*path, key)
        if key not in after:
            out.append({"op": "remove", "path": pointer_of(inner)})
        else:
            out += diff(before[key], after[key], inner)
    out += [{"op": "add", "path": pointer_of((*path, key)), "value": after[key]} for key in after if key not in before]
    return out


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield (path, value) of all scalars, in order."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, (*path, str(key)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, str(index)))
    else:
        yield path, value
