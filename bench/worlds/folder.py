"""An environment and its tasks as a folder of YAML: `environment.yaml`, `tasks.yaml`, and the source's `prompt.md`.

A plain scalar is a JSON literal (`12`, `1.5`, `true`, `null`) or text: no dates, no `yes`, no octal. Faults carry file
and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bench.worlds.checks import environment_faults, task_faults
from bench.worlds.model import Environment, Invariant, Reference, Stage, Task, Tool, World
from simulator.errors import PackageError, UsageError
from simulator.package import Fault
from simulator.package_text import Document, convert, dump, read_document

ENVIRONMENT, TASKS, PROMPT = "environment.yaml", "tasks.yaml", "prompt.md"
T = TypeVar("T")
_WHOLE = re.compile(r"-?(0|[1-9]\d*)")
_FRACTION = re.compile(r"-?(0|[1-9]\d*)\.\d+([eE][-+]\d+)?")
_LITERALS: Mapping[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}
_LISTS: Mapping[str, type[Any]] = {
    "tools": Tool, "invariants": Invariant, "references": Reference, "stages": Stage,
}  # fmt: skip
_PLAIN: Mapping[str, Any] = {
    "title": str, "industry": str, "domain": str, "rules": str, "today": str, "fields": dict[str, str],
    "initial_state": dict[str, Any], "collections": tuple[str, ...], "source": str, "rendering": str,
    "notes": tuple[str, ...],
}  # fmt: skip
_NEEDED = ("rules", "tools", "initial_state")


class Loaded(msgspec.Struct):
    """What a folder holds, as far as it could be read, and everything that is wrong with it."""

    world: World | None
    faults: list[Fault]


def read_world(folder: Path) -> World:
    """Return the environment and tasks of a folder.

    Raises:
        UsageError: there is no such folder.
        PackageError: it does not hold together; each fault with file and line.
    """
    loaded = load(folder)
    if loaded.world is None or loaded.faults:
        shown = tuple(str(fault) for fault in loaded.faults)
        raise PackageError(f"The environment in {folder.name} does not hold together.", shown)
    return loaded.world


def read_worlds(places: Iterable[Path]) -> list[World]:
    """Return the worlds at or directly below the places, by name. Raises as `read_world`, and where there is none."""
    found: dict[Path, World] = {}
    for place in places:
        if not place.is_dir():
            raise UsageError(f"{place} is no folder of environments.")
        inner = [place] if (place / ENVIRONMENT).is_file() else sorted(
            one for one in place.iterdir() if (one / ENVIRONMENT).is_file()
        )  # fmt: skip
        if not inner:
            raise UsageError(f"{place} holds no {ENVIRONMENT}, nor does a folder directly in it.")
        found |= {one: read_world(one) for one in inner}
    return sorted(found.values(), key=lambda world: world.environment.name)


def load(folder: Path) -> Loaded:
    """Read a folder and check all of it; nothing is raised for what it says. Raises `UsageError` if it is not there."""
    if not (folder / ENVIRONMENT).is_file():
        raise UsageError(f"{folder} is no environment: it has no {ENVIRONMENT}.")
    document = read_typed(ENVIRONMENT, (folder / ENVIRONMENT).read_bytes())
    tasks = Document(TASKS, {}, {(): 1}, [])
    if (folder / TASKS).is_file():
        tasks = read_typed(TASKS, (folder / TASKS).read_bytes())
    prompt = ""
    if (folder / PROMPT).is_file():
        try:
            prompt = (folder / PROMPT).read_bytes().decode()
        except UnicodeDecodeError:
            document.faults.append(Fault(PROMPT, 1, "The file is not UTF-8 text. Save it as UTF-8."))
    return read_documents(folder.name, document, tasks, prompt)


def read_documents(name: str, document: Document, tasks: Document, prompt: str = "") -> Loaded:
    """Make a world of its two documents, checked."""
    environment = _environment(name, document, prompt)
    _known(tasks, ("tasks",))
    listed = _items(tasks, "tasks", Task, {"environment": name})
    if environment is None:
        return Loaded(None, document.faults + tasks.faults)
    world = World(environment, tuple(_filled(task, environment) for task in listed))
    for place, text in environment_faults(environment):
        document.fault(place, text)
    for place, text in task_faults(world):
        tasks.fault(place, text)
    return Loaded(world, document.faults + tasks.faults)


def _filled(task: Task, environment: Environment) -> Task:
    """Give a task what it takes from its environment unless it says otherwise."""
    return msgspec.structs.replace(
        task,
        industry=task.industry or environment.industry,
        domain=task.domain or environment.domain,
        scenario=task.scenario or environment.title,
        today=task.today or environment.today,
    )


def _environment(name: str, document: Document, prompt: str) -> Environment | None:
    _known(document, (*_PLAIN, *_LISTS))
    values: dict[str, Any] = {"name": name, "prompt": prompt}
    for key in _NEEDED:
        if not document.data.get(key):
            document.fault((key,) if key in document.data else (), f"The field `{key}` is missing.")
    for key, type_ in _PLAIN.items():
        if key in document.data:
            values[key] = convert(document, document.data[key], type_, (key,))
    values.update({key: _items(document, key, type_) for key, type_ in _LISTS.items()})
    if values.get("source", "own") not in ("own", "imported", "synthesized"):
        document.fault(("source",), "`source` is own, imported or synthesized.")
        return None
    if values.get("rendering", "clean") not in ("clean", "verbatim"):
        document.fault(("rendering",), "`rendering` is clean or verbatim.")
        return None
    if any(values.get(key) is None for key in _NEEDED) or None in values.values():
        return None
    return Environment(**values)


def _items(document: Document, key: str, type_: type[T], more: Mapping[str, Any] | None = None) -> tuple[T, ...]:
    """Convert a list item by item, so that one fault does not hide the next."""
    raw = document.data.get(key) or []
    if not isinstance(raw, list):
        document.fault((key,), f"`{key}` must be a list.")
        return ()
    out = []
    for number, item in enumerate(raw):
        whole = {**more, **item} if more and isinstance(item, dict) else item
        names = getattr(type_, "__struct_fields__", ())
        for name in item if isinstance(item, dict) else ():
            if name not in names:
                document.fault((key, number, name), f"The field `{name}` is not known here. Correct its name.")
                whole = {inner: value for inner, value in whole.items() if inner != name}
        found = convert(document, whole, type_, (key, number))
        if found is not None:
            out.append(found)
    return tuple(out)


def _known(document: Document, keys: tuple[str, ...]) -> None:
    for key in document.data:
        if key not in keys:
            document.fault((key,), f"The field `{key}` is not known here. Remove it or correct its name.")


# -- YAML with JSON's scalars ------------------------------------------------------------------------------------------


def read_typed(file: str, data: bytes) -> Document:
    """Read one YAML file whose plain scalars are JSON literals or text. What is wrong with it is in `faults`."""
    return read_document(file, data, _scalar)


def _scalar(text: str, style: str | None) -> Any:
    if style in ("'", '"', "|", ">"):
        return text
    if text in _LITERALS:
        return _LITERALS[text]
    if _WHOLE.fullmatch(text):
        return int(text) if len(text) < 20 else text
    return float(text) if _FRACTION.fullmatch(text) else text


# -- writing -----------------------------------------------------------------------------------------------------------


def write_world(folder: Path, world: World) -> None:
    """Write a world as a folder that `read_world` reads back to the same values. The folder may exist."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = world.environment
    whole = _short(environment)
    head = {key: whole[key] for key in (*_PLAIN, *_LISTS) if key in whole}
    (folder / ENVIRONMENT).write_bytes(dump(head))
    if environment.prompt:
        (folder / PROMPT).write_bytes(environment.prompt.encode())
    tasks = [_task(task, environment) for task in world.tasks]
    (folder / TASKS).write_bytes(dump({"tasks": tasks}))


def _task(task: Task, environment: Environment) -> dict[str, Any]:
    same = {"industry": environment.industry, "domain": environment.domain, "scenario": environment.title,
            "today": environment.today, "environment": environment.name}  # fmt: skip
    return {key: value for key, value in _short(task).items() if same.get(key) != value}


def _short(struct: msgspec.Struct) -> dict[str, Any]:
    """Return a struct's fields that differ from their defaults, in declared order."""
    found: dict[str, Any] = msgspec.to_builtins(struct)
    return found
