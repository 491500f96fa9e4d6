"""Authoring: the criteria of a task from what must come out of it, the same way for every work kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from bench.kinds.inputs import SKILLS, Material, NoRubric
from bench.rubric import Asked, Check, Criterion, Rubric, rubric_of
from services.professions.amounts import number
from services.professions.base import CSV, DOCX, MARKDOWN, PDF, XLSX, Deliverable, Outcome, Table, read_csv
from simulator.view_paths import HOME

FORMS = {XLSX: "xlsx", DOCX: "docx", PDF: "pdf", CSV: "csv", MARKDOWN: "md"}
_BY_ENDING = {"xlsx": "xlsx", "docx": "docx", "pdf": "pdf", "csv": "csv", "md": "md"}
_ID = re.compile(r"(?=.*\d)[\w-]*[\w]")
_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?")
_OPEN_KINDS = frozenset({"bank-reconciliation", "contract-review", "trial-monitoring", "inspection-control", "release-triage"})
_MOST_OTHERS = 400
_PAGE_WORDS, _WORDS_A_FINDING, _HEAP_WORDS = 300, 40, 1_500


def author(
    task: str, material: Material, originals: Mapping[str, str], seen: Iterable[str], canary: str, round_number: int = 1
) -> Rubric:
    """Return the rubric of a task.

    `originals` are the files of the home that nobody asked to change {relative path: sha256}; `seen` the hashes of all
    visible files outside the deliverables' places. Raises `NoRubric` or `UsageError` when it would be no honest rubric.
    """
    return _Author(material, material.outcome()).rubric(task, originals, seen, canary, round_number)


class _Author:
    def __init__(self, material: Material, outcome: Outcome) -> None:
        self.material = material
        self.profession = material.profession
        self.outcome = outcome
        by_name = {path.rpartition("/")[2].casefold(): path.removeprefix(HOME) for path in material.deliverables}
        self.paths = {d.name: by_name[d.name.casefold()] for d in self.profession.deliverables if d.name.casefold() in by_name}
        self.apart = sorted(set(by_name.values()) - set(self.paths.values()))
        if self.profession.main.name not in self.paths:
            raise NoRubric(f"the task does not ask for {self.profession.main.name}, which its figures belong in")
        used = [*material.sources.values(), *(held[0] for held in (material.prior, *material.others.values()) if held)]
        skill = f"{SKILLS}/{self.profession.kind}/"
        # What every pack shares (officefile.py, officevalues.py) says how files are written, not what is asked.
        shared = f"{skill}scripts/office"
        scripts = [p for p in material.skill if p.startswith(f"{skill}scripts/") and not p.startswith(shared)]
        self.how = (f"{skill}SKILL.md", *scripts)
        self.evidence = (*self.how, *used)

    def rubric(
        self, task: str, originals: Mapping[str, str], seen: Iterable[str], canary: str, round_number: int
    ) -> Rubric:
        criteria = [*self._figures(), *self._rows(), *self._prose(), *self._guards(originals), *self._finish()]
        criteria += self._judged(round_number)
        return rubric_of(task, criteria, self._asked(), seen, canary)

    def _deliverables(self, prose: bool) -> list[Deliverable]:
        return [d for d in self.profession.deliverables if d.prose == prose and d.name in self.paths]

    def _asked(self) -> list[Asked]:
        asked = []
        for d in self.profession.deliverables:
            if d.name in self.paths:
                headers = tuple(table.key for table in self.outcome.tables if table.file == d.name and table.rows)
                if d.media_type == CSV and not headers:
                    headers = (("figure", "value"),)
                asked.append(Asked(self.paths[d.name], FORMS[d.media_type], headers, self._most(d)))
        for path in self.apart:
            asked.append(Asked(path, _BY_ENDING.get(path.rpartition(".")[2].lower(), "text")))
        return asked

    def _most(self, d: Deliverable) -> int:
        tables = [table for table in self.outcome.tables if table.file == d.name]
        if d.media_type == XLSX:
            return 3 * len(tables) + 6
        if d.media_type == CSV:
            return 50 + 3 * sum(len(table.rows) for table in tables)
        return _HEAP_WORDS + 3 * _WORDS_A_FINDING * len(self.outcome.findings)

    def _stating(self) -> str:
        """Return the table deliverable that states the figures, or '' when only prose does."""
        main = self.profession.main
        holds_figures = main.media_type == XLSX or not any(table.file == main.name for table in self.outcome.tables)
        return main.name if holds_figures or self.profession.kind == "management-pack" else ""

    def _figures(self) -> list[Criterion]:
        """P0, one group: every figure, where the kind of work states it first."""
        table = self._stating()
        where = table or next((d.name for d in self._deliverables(prose=True)), "")
        if not where:
            raise NoRubric("no deliverable that was asked for states the figures")
        labels = list(self.outcome.figures)
        made = []
        for label, value in self.outcome.figures.items():
            if table:
                check = Check("figure", {"path": self.paths[where], "label": label, "value": value})
            else:
                check = Check("states", {"path": self.paths[where], "figures": {label: value}, "labels": labels})
            text = f"{where} states {label} as it follows from the inputs."
            made.append(Criterion(f"figure-{_slug(label)}", text, "P0", True, self.evidence, "figures", check=check))
        return made

    def _rows(self) -> list[Criterion]:
        """P1, one group: the rows of every sheet or CSV that has any."""
        made = []
        for table in self.outcome.tables:
            if table.file not in self.paths or not table.rows or self._only_figures(table):
                continue
            params = {
                "path": self.paths[table.file], "sheet": table.sheet, "key": list(table.key),
                "rows": [dict(row) for row in table.rows],
            }  # fmt: skip
            name = f"sheet {table.sheet} of {table.file}" if table.sheet else table.file
            text = f"The {name} holds exactly the rows that follow from the inputs."
            made.append(
                Criterion(f"rows-{_slug(table.sheet or table.file)}", text, "P1", True, self.evidence, "rows",
                          check=Check("rows", params))
            )  # fmt: skip
        return made

    def _only_figures(self, table: Table) -> bool:
        """Whether a table is the list of figures itself, which are criteria of their own."""
        return table.key == ("figure",)

    def _prose(self) -> list[Criterion]:
        """P1: each document states the figures and cites the records it must point to."""
        made = []
        labels = list(self.outcome.figures)
        for d in self._deliverables(prose=True):
            path = self.paths[d.name]
            if self._stating():
                check = Check("states", {"path": path, "figures": dict(self.outcome.figures), "labels": labels})
                text = f"{d.name} states every figure, and none otherwise than it is."
                made.append(Criterion(f"states-{_slug(d.name)}", text, "P1", True, self.evidence, check=check))
            keys = list(dict.fromkeys(f.key for f in self.outcome.findings if d.name in f.must_cite_in))
            if keys:
                check = Check("cites", {"path": path, "keys": keys, "others": self._others(keys), "labels": labels})
                text = f"{d.name} cites each record that its findings rest on, and points to these."
                made.append(Criterion(f"cites-{_slug(d.name)}", text, "P1", True, self.evidence, check=check))
        return made

    def _others(self, keys: list[str]) -> list[str]:
        """Return the ids of the inputs that are no findings: what a mere list of everything would name too."""
        found: dict[str, None] = {}
        for spec in self.profession.inputs:
            if spec.name not in self.material.inputs:
                continue
            rows = read_csv(self.material.inputs[spec.name], spec.columns, spec.file)
            for column in spec.columns:
                values = [row[column] for row in rows]
                distinct = dict.fromkeys(values)
                ids = all(_ID.fullmatch(v) and not _DATE.fullmatch(v) and not v.startswith("-") for v in distinct)
                if values and ids and 5 * len(distinct) >= 4 * len(values):
                    found.update(distinct)
        taken = {key.casefold() for key in keys}
        return [value for value in found if value.casefold() not in taken][:_MOST_OTHERS]

    def _guards(self, originals: Mapping[str, str]) -> list[Criterion]:
        made = []
        contract = ("/mnt/task/CONTRACT.md",)
        if originals:
            check = Check("unchanged", {"files": dict(sorted(originals.items()))})
            text = "The files that lay in the home before are unchanged."
            made.append(Criterion("originals-unchanged", text, "P1", True, contract, guard=True, check=check))
        if self.profession.kind in _OPEN_KINDS:
            made += self._open_stays_open()
        for path in self.apart:
            text = f"{path.rpartition('/')[2]} is there and opens."
            check = Check("opens", {"path": path})
            made.append(Criterion(f"opens-{_slug(path)}", text, "P1", True, ("/mnt/task/TASK.md",), guard=True, check=check))
        return made

    def _open_stays_open(self) -> list[Criterion]:
        allowed = {
            row[column]
            for table in self.outcome.tables
            for row in table.rows
            for column in table.key
            if row.get("cleared") == "yes" or table.sheet == "Matched"
        }
        made = []
        for d in self._deliverables(prose=True):
            keys = list(dict.fromkeys(f.key for f in self.outcome.findings if d.name in f.must_cite_in and f.key not in allowed))
            if keys:
                check = Check("not_talked_away", {"path": self.paths[d.name], "keys": keys})
                text = f"{d.name} calls no record resolved that is open."
                evidence = self.evidence
                made.append(Criterion(f"open-{_slug(d.name)}", text, "P0", True, evidence, guard=True, check=check))
        return made

    def _finish(self) -> list[Criterion]:
        """P2 and P3: live formulas, sources beside figures, brevity."""
        made = []
        table = self._stating()
        live = {
            label: value
            for label, value in self.outcome.figures.items()
            if label in self.profession.live and number(value) != 0
        }
        if table and live and self.profession.main.media_type == XLSX:
            check = Check("live", {"path": self.paths[table], "figures": live})
            made.append(Criterion("formulas-live", f"Sums and differences in {table} are live formulas.", "P2", False,
                                  self.how, check=check))  # fmt: skip
        if table:
            check = Check("sources", {"path": self.paths[table], "figures": dict(self.outcome.figures)})
            made.append(Criterion("sources-named", f"Every figure in {table} names its source.", "P2", False, self.how,
                                  check=check))  # fmt: skip
        for d in self._deliverables(prose=True):
            most = _PAGE_WORDS + _WORDS_A_FINDING * len(self.outcome.findings)
            check = Check("brief", {"path": self.paths[d.name], "words": most})
            made.append(Criterion(f"brief-{_slug(d.name)}", f"{d.name} is brief: at most {most} words.", "P3", False, self.how,
                                  guard=True, check=check))  # fmt: skip
        return made

    def _judged(self, round_number: int) -> list[Criterion]:
        """Criteria that need judgement: never required here, so that a task without a judge keeps its Pass@1."""
        task = ("/mnt/task/TASK.md",)
        made = []
        for d in self._deliverables(prose=True):
            text = f"In {d.name}, each finding says what the record shows and what is proposed, and claims no more than its evidence."
            made.append(Criterion(f"judge-{_slug(d.name)}", text, "P1", False, task, kind="judge"))
        if round_number > 1:
            text = "Every note of the reviews of earlier rounds is dealt with, and nothing that was right was lost."
            made.append(Criterion("judge-review-notes", text, "P1", False, task, kind="judge"))
        return made


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
