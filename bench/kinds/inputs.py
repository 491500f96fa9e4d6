"""What a frozen task is made from: its work kind, period, inputs and earlier results, read from its visible files alone."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from bench.grader.reading import load
from bench.grader.tree import Unusable
from services.documents.renderer import DocumentRenderer
from services.professions.base import InputSpec, Outcome, Profession, write_csv
from services.professions.registry import PROFESSIONS
from services.professions.rendered import view_of
from services.professions.views import PriorView
from simulator.errors import UsageError

SKILLS = "/mnt/company/Resources/Skills"
TASK = "/mnt/task/TASK.md"


class NoRubric(UsageError):
    """No honest rubric can be made for this task; says why."""


class Material(msgspec.Struct, frozen=True):
    """The visible facts of a task. `sources` are the paths of all that the figures rest on."""

    profession: Profession
    period: str
    deliverables: tuple[str, ...]
    inputs: dict[str, str]
    sources: dict[str, str]
    prior: tuple[str, bytes] | None
    others: dict[str, tuple[str, bytes]]
    skill: tuple[str, ...]

    def outcome(self) -> Outcome:
        """Recompute everything that follows. Raises `NoRubric` when the inputs do not carry it."""
        render = DocumentRenderer().render
        main = self.profession.main

        def view(kind: Profession, held: tuple[str, bytes]) -> PriorView:
            return view_of(kind.main, render(held[1], kind.main.media_type, kind.main.name))

        kinds = {other.name: PROFESSIONS[other.kind] for other in self.profession.others}
        try:
            return self.profession.compute(
                self.period,
                self.inputs,
                view(self.profession, self.prior) if self.prior is not None else None,
                {name: view(kinds[name], held) for name, held in self.others.items()},
            )
        except UsageError as fault:
            raise NoRubric(f"{main.name} cannot be recomputed from the visible inputs: {fault}") from None


def material_of(visible: Mapping[str, bytes]) -> Material:
    """Read a task from its visible files {absolute path: bytes}. Raises `NoRubric`, saying what stands in the way."""
    block = task_block(visible)
    kind = str(block.get("work", ""))
    profession = PROFESSIONS.get(kind)
    if profession is None:
        raise NoRubric(f"the work {kind!r} is of no kind that can be recomputed: {', '.join(PROFESSIONS)} are")
    skill = tuple(sorted(path for path in visible if path.startswith(f"{SKILLS}/{kind}/")))
    if f"{SKILLS}/{kind}/SKILL.md" not in skill:
        raise NoRubric(f"the skill pack {kind} is not mounted, so the form of the deliverables is not said anywhere visible")
    given = [str(row["path"]) for part in ("inputs", "prior", "from") for row in block.get(part, ())]
    lost = [path for path in given if path not in visible]
    if lost:
        raise NoRubric(f"the input {lost[0]} is named in the task and not mounted")
    mains = {other.name: PROFESSIONS[other.kind].main.name for other in profession.others}
    prior = _one(given, lambda path: _base(path) == profession.main.name, "earlier results") if profession.uses_prior else None
    others = {}
    for name, file in mains.items():
        path = _one(given, lambda p, file=file: _base(p) == file, f"results {file}")
        if path is not None:
            others[name] = (path, visible[path])
    taken = {path for path, _ in others.values()} | ({prior} if prior else set())
    sources = _assign(profession, str(block["period"]), [path for path in given if path not in taken], visible)
    return Material(
        profession, str(block["period"]), tuple(str(path) for path in block.get("deliverables", ())),
        {name: _csv_text(visible[path], path) for name, path in sources.items()}, sources,
        (prior, visible[prior]) if prior else None, others, skill,
    )  # fmt: skip


def task_block(visible: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the block that `TASK.md` holds for programs. Raises `NoRubric`."""
    text = visible.get(TASK, b"").decode("utf-8", "replace")
    start, end = text.rfind("```json"), text.rfind("```")
    if start < 0 or end <= start:
        raise NoRubric("TASK.md holds no block for programs")
    found = json.loads(text[start + len("```json") : end])
    if not isinstance(found, dict):
        raise NoRubric("TASK.md holds no block for programs")
    return found


def _base(path: str) -> str:
    return posixpath.basename(path)


def _one(paths: Iterable[str], wanted: Any, what: str) -> str | None:
    found = [path for path in dict.fromkeys(paths) if wanted(path)]
    if len(found) > 1:
        raise NoRubric(f"the task names several {what}, and does not say which one to build on: {', '.join(found)}")
    return found[0] if found else None


def _assign(profession: Profession, period: str, paths: list[str], visible: Mapping[str, bytes]) -> dict[str, str]:
    """Return input name -> path: by file name, else by the columns, the period's own folder first.

    The inputs that ask for most columns choose first: what has all of a ledger's columns has a statement's too.
    """
    sources: dict[str, str] = {}
    for spec in sorted(profession.inputs, key=lambda spec: -len(spec.columns)):
        named = [path for path in paths if _base(path) == spec.file]
        fitting = named or [path for path in paths if path not in sources.values() and _fits(spec, visible[path], path)]
        here = [path for path in fitting if f"/{period}/" in path] or fitting
        if len(here) > 1:
            raise NoRubric(f"several inputs may be the {spec.name}: {', '.join(here)}")
        if here:
            sources[spec.name] = here[0]
        elif not spec.optional:
            raise NoRubric(f"no input is the {spec.name}: a table with the columns {', '.join(spec.columns)}")
    return {spec.name: sources[spec.name] for spec in profession.inputs if spec.name in sources}


def _fits(spec: InputSpec, data: bytes, path: str) -> bool:
    try:
        header = _csv_text(data, path).split("\n", 1)[0].split(",")
    except NoRubric:
        return False
    return set(spec.columns) <= {cell.strip() for cell in header}


def _csv_text(data: bytes, path: str) -> str:
    """Return an input as CSV text; of a workbook its first sheet."""
    form = "xlsx" if path.lower().endswith(".xlsx") else "csv"
    try:
        rows = load(form, data).grids[0].rows
    except Unusable as reason:
        raise NoRubric(f"{path}: {reason}") from None
    return write_csv(rows[0], rows[1:]) if rows else ""
