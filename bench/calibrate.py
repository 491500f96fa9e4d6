"""Calibration: before a rubric is used, it is shown right work, other right work, no work, and one near miss a criterion."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bench import tables, writing
from bench.freeze import lay_out
from bench.grader.reading import load
from bench.grader.run import Known, grade
from bench.grader.scoring import Result, Score
from bench.grader.tree import Unusable
from bench.rubric import Criterion, Rubric
from bench.snapshot import Snapshot
from bench.tables import NotPossible
from services.documents.renderer import DocumentRenderer

Tree = Mapping[str, tuple[bytes, int]]
LITTLE = 0.1
"""What handing in something worthless may score at most."""


class Shown(msgspec.Struct, frozen=True):
    """One thing shown to the rubric: what it was, what it scored, and whether that is right."""

    name: str
    passed: bool | None
    weighted: float
    right: bool
    why: str = ""


class Calibration(msgspec.Struct, frozen=True):
    """A snapshot's calibration. It is fit for use when everything shown to it was scored rightly."""

    snapshot: str
    shown: tuple[Shown, ...]

    @property
    def holds(self) -> bool:
        return all(each.right for each in self.shown)

    @property
    def faults(self) -> tuple[str, ...]:
        return tuple(f"{each.name}: {each.why}" for each in self.shown if not each.right)


def calibrate(snapshot: Snapshot, progress: Callable[[str], None] = lambda _text: None) -> Calibration:
    """Hold a snapshot's rubric to right, worthless and nearly right work. Raises nothing for a rubric that fails."""
    return _Calibrator(snapshot, progress).run()


class _Calibrator:
    def __init__(self, snapshot: Snapshot, progress: Callable[[str], None]) -> None:
        self.snapshot = snapshot
        self.rubric: Rubric = snapshot.rubric()
        self.plain = self.rubric.as_json()
        self.forms = {asked.path: asked.form for asked in self.rubric.deliverables}
        home = snapshot.tree("home")
        needed = set(self.forms) | {
            path for c in self.rubric.criteria if c.check is not None for path in c.check.params.get("files", {})
        }
        self.start = {path: held for path, held in home.items() if path in needed}
        solution = {path: held for path, held in snapshot.tree("solution").items() if path in needed}
        self.oracle = {**self.start, **solution}
        self.known: Known = {}
        self.progress = progress

    def run(self) -> Calibration:
        shown = [self._right("oracle", lambda: self.oracle), self._right("another right version", self._other)]
        shown += [self._worthless(name, make) for name, make in self._nulls().items()]
        shown += [self._near_miss(c) for c in self.rubric.required_checks()]
        return Calibration(self.snapshot.id, tuple(shown))

    def _grade(self, tree: Tree) -> tuple[list[Result], Score]:
        with tempfile.TemporaryDirectory() as folder:
            lay_out(Path(folder), tree)
            return grade(Path(folder), self.plain, self.known)

    def _right(self, name: str, make: Callable[[], Tree]) -> Shown:
        self.progress(name)
        try:
            results, score = self._grade(_made(make))
        except NotPossible as reason:
            return Shown(name, None, 0.0, False, str(reason))
        right = score.passed is True and score.weighted == 1.0
        lacking = [f"{r.id} ({r.why})" for r in results if r.met is False]
        return Shown(name, score.passed, score.weighted, right, "" if right else f"it does not meet {'; '.join(lacking[:4])}")

    def _worthless(self, name: str, make: Callable[[], Tree]) -> Shown:
        self.progress(name)
        _, score = self._grade({**self.start, **make()})
        most = 0.0 if name in ("nothing", "empty files") else LITTLE
        right = score.passed is False and score.weighted <= most
        return Shown(name, score.passed, score.weighted, right, "" if right else f"it scores {score.weighted}")

    def _near_miss(self, criterion: Criterion) -> Shown:
        name = f"near miss: {criterion.id}"
        self.progress(name)
        try:
            results, score = self._grade({**self.oracle, **_made(lambda: self._spoilt(criterion))})
        except NotPossible as reason:
            return Shown(name, None, 0.0, False, f"no near miss could be made: {reason}")
        required = {c.id for c in self.rubric.criteria if c.required}
        failing = [r.id for r in results if r.id in required and r.holds is False]
        right = failing == [criterion.id] and score.passed is False
        return Shown(name, score.passed, score.weighted, right, "" if right else f"it fails {', '.join(failing) or 'nothing'}")

    # -- other right work -----------------------------------------------------------------------------------------------

    def _figures(self, path: str) -> dict[str, str]:
        """Return the figures that a document is asked to state."""
        found: dict[str, str] = {}
        for c in self.rubric.criteria:
            if c.check is not None and c.check.name == "states" and c.check.params["path"] == path:
                found |= c.check.params["figures"]
        return found

    def _other(self) -> Tree:
        tree = dict(self.oracle)
        for path, form in self.forms.items():
            if path in tree:
                data, mode = tree[path]
                if form == "xlsx":
                    tree[path] = (tables.other_book(data), mode)
                elif form == "csv":
                    tree[path] = (tables.other_csv(data), mode)
                else:
                    tree[path] = (writing.in_other_words(form, data, self._figures(path)), mode)
        return tree

    # -- worthless work -------------------------------------------------------------------------------------------------

    def _nulls(self) -> dict[str, Callable[[], Tree]]:
        def each(data: Callable[[str], bytes]) -> Tree:
            return {path: (data(form), 0o644) for path, form in self.forms.items()}

        task = self.snapshot.visible()["/mnt/task/TASK.md"].decode()
        return {
            "nothing": dict,
            "empty files": lambda: each(lambda form: b""),
            "'done'": lambda: each(lambda form: self._written(form, ["done"])),
            "the task echoed": lambda: each(lambda form: self._written(form, task.split("\n"))),
            "everything dumped": lambda: each(self._dumped),
        }

    def _written(self, form: str, lines: list[str]) -> bytes:
        if form == "xlsx":
            return tables.dumped_book({"Summary": [[line] for line in lines]})
        return writing.write("md" if form == "csv" else form, lines)

    def _dumped(self, form: str) -> bytes:
        """Return everything that can be seen, in one file."""
        grids: dict[str, list[list[str]]] = {}
        lines: list[str] = []
        for path, data in self.snapshot.visible().items():
            name = path.rpartition("/")[2]
            lines += DocumentRenderer().render(data, "", name).split("\n")
            if name.endswith((".csv", ".xlsx")) and form in ("xlsx", "csv"):
                for grid in _grids(name, data):
                    grids[f"{grid[0] or name} {len(grids)}" if grid[0] != "Summary" else "Summary"] = grid[1]
        if form == "xlsx":
            return tables.dumped_book(grids or {"All": [[line] for line in lines]})
        if form == "csv":
            return "\n".join(",".join(row) for rows in grids.values() for row in rows).encode() or b"nothing,here\n1,2\n"
        return writing.write(form, lines)

    # -- near misses ----------------------------------------------------------------------------------------------------

    def _spoilt(self, criterion: Criterion) -> Tree:
        check = criterion.check
        assert check is not None
        if check.name == "unchanged":
            path = next(iter(check.params["files"]))
            data, mode = self.oracle[path]
            return {path: (data + b"\n", mode)}
        path = check.params["path"]
        if path not in self.oracle:
            raise NotPossible(f"the accepted work has no {path}")
        data, mode = self.oracle[path]
        if check.name == "opens":
            return {path: (b"", mode)}
        return {path: (_SPOIL[check.name](self.forms[path], data, check.params), mode)}


def _made(make: Callable[[], Tree]) -> Tree:
    """Make a changed version. Raises `NotPossible` where the file does not allow it."""
    try:
        return make()
    except (NotPossible, Unusable) as reason:
        raise NotPossible(str(reason)) from None
    # The accepted files are whatever some agent wrote; what no library can rewrite cannot be calibrated, and says so.
    except Exception as fault:  # noqa: BLE001
        raise NotPossible(f"the file cannot be rewritten ({type(fault).__name__})") from fault


def _grids(name: str, data: bytes) -> list[tuple[str, list[list[str]]]]:
    try:
        return [(g.name, [list(row) for row in g.rows]) for g in load(name.rpartition(".")[2], data).grids]
    except Unusable:
        return []


def _spoil_figure(form: str, data: bytes, params: Mapping[str, Any]) -> bytes:
    make = tables.book_with_wrong_figure if form == "xlsx" else tables.csv_with_wrong_figure
    return make(data, params["label"])


def _spoil_rows(form: str, data: bytes, params: Mapping[str, Any]) -> bytes:
    make = tables.book_with_wrong_row if form == "xlsx" else tables.csv_with_wrong_row
    return make(data, params)


def _spoil_states(form: str, data: bytes, params: Mapping[str, Any]) -> bytes:
    label, value = next(iter(params["figures"].items()))
    return writing.with_wrong_figure(form, data, label, value)


def _spoil_cites(form: str, data: bytes, params: Mapping[str, Any]) -> bytes:
    return writing.without_citation(form, data, params["keys"], params.get("labels", ()))


def _spoil_open(form: str, data: bytes, params: Mapping[str, Any]) -> bytes:
    return writing.with_item_resolved(form, data, params["keys"][0])


_SPOIL: dict[str, Callable[[str, bytes, Mapping[str, Any]], bytes]] = {
    "figure": _spoil_figure,
    "rows": _spoil_rows,
    "states": _spoil_states,
    "cites": _spoil_cites,
    "not_talked_away": _spoil_open,
}


def table_of(calibration: Calibration) -> str:
    """Return the calibration as lines for a person."""
    lines = [f"{calibration.snapshot}: {'fit for use' if calibration.holds else 'NOT fit for use'}"]
    for each in calibration.shown:
        passed = {True: "1", False: "0", None: "-"}[each.passed]
        lines.append(f"  {'ok ' if each.right else 'BAD'} {passed}  {each.weighted:.3f}  {each.name}  {each.why}".rstrip())
    return "\n".join(lines)


__all__ = ["Calibration", "Shown", "calibrate", "table_of"]
