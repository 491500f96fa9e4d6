"""Grading: a rubric and an exported tree in, `reward.json` and `rubric.json` out.

Exit codes: 0 scored; 1 the grader itself failed (no reward is written: an error is never a score); 3 the rubric is not
one (nothing to check is never full marks).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import prose, tables
from .reading import FORMS, Document, load
from .scoring import ALPHA, Result, Score, score, settle
from .tables import Verdict, has_columns
from .tree import Unusable, digest, read

FORMAT = "officetown-rubric/1"
INVALID = 3
OF_A_DOCUMENT: dict[str, Callable[[Document, Mapping[str, Any]], Verdict]] = {
    "figure": tables.figure,
    "rows": tables.rows,
    "live": tables.live,
    "sources": tables.sources,
    "states": prose.states,
    "cites": prose.cites,
    "not_talked_away": prose.not_talked_away,
    "brief": prose.brief,
}
CHECKS = (*OF_A_DOCUMENT, "opens", "unchanged")


class InvalidRubric(Exception):  # noqa: N818 - the task is at fault, not the agent
    """A rubric that cannot be used: no criteria, an unknown check, a required criterion that checks nothing."""


def validate(rubric: Mapping[str, Any]) -> None:
    """Raise `InvalidRubric` unless the rubric holds together."""
    criteria = rubric.get("criteria")
    if rubric.get("format") != FORMAT or not isinstance(criteria, list) or not criteria:
        raise InvalidRubric("the rubric has no criteria")
    if len({c["id"] for c in criteria}) != len(criteria):
        raise InvalidRubric("two criteria have one id")
    if not any(c["required"] for c in criteria):
        raise InvalidRubric("no criterion is required")
    for c in criteria:
        if c["priority"] not in ALPHA or (c.get("group") and not rubric.get("groups", {}).get(c["group"])):
            raise InvalidRubric(f"{c['id']}: no such priority or group")
        if c["kind"] == "check" and (c.get("check") or {}).get("name") not in CHECKS:
            raise InvalidRubric(f"{c['id']}: there is no such check")
    for deliverable in rubric.get("deliverables", ()):
        if deliverable["form"] not in FORMS:
            raise InvalidRubric(f"{deliverable['path']}: there is no form {deliverable['form']}")


Known = dict[tuple[str, str], Document]
"""Documents read before, by form and hash: for who grades many trees that differ in one file."""


def grade(home: Path, rubric: Mapping[str, Any], known: Known | None = None) -> tuple[list[Result], Score]:
    """Judge a tree. Raises `InvalidRubric`; any other exception is a fault of the grader."""
    validate(rubric)
    documents, lacking = _open_all(home, rubric, {} if known is None else known)
    found: dict[str, tuple[bool | None, str]] = {}
    for criterion in rubric["criteria"]:
        if criterion["kind"] == "judge":
            found[criterion["id"]] = (None, "unjudged")
        else:
            found[criterion["id"]] = _check(criterion["check"], home, documents, lacking)
    results = settle(rubric, found, lacking)
    return results, score(rubric, results)


def _open_all(home: Path, rubric: Mapping[str, Any], known: Known) -> tuple[dict[str, Document], dict[str, str]]:
    documents: dict[str, Document] = {}
    lacking: dict[str, str] = {}
    for deliverable in rubric.get("deliverables", ()):
        path = deliverable["path"]
        try:
            documents[path] = _open(home, deliverable, set(rubric.get("seen", ())), known)
        except Unusable as reason:
            lacking[path] = str(reason)
    return documents, lacking


def _open(home: Path, deliverable: Mapping[str, Any], seen: set[str], known: Known) -> Document:
    data = read(home, deliverable["path"])
    if digest(data) in seen:
        raise Unusable("it is a copy of a file that lay there to be read")
    key = (deliverable["form"], digest(data))
    document = known[key] = known[key] if key in known else load(deliverable["form"], data)
    wanted: Sequence[Sequence[str]] = deliverable.get("tables", ())
    if wanted and not any(has_columns(grid, columns) for grid in document.grids for columns in wanted):
        raise Unusable(f"it holds no table with the columns {', '.join(wanted[0])}")
    if not document.grids and not any(line for line in document.lines):
        raise Unusable("it holds no text")
    most = int(deliverable.get("most", 0))
    if most and measure(document) > most:
        raise Unusable(f"it is a heap, not a result: {measure(document):,} {_UNITS.get(document.form, 'words')}, at most {most:,}")
    return document


_UNITS = {"xlsx": "sheets", "csv": "rows"}


def measure(document: Document) -> int:
    """Return how large a document is: a workbook's sheets, a CSV's rows, the words of prose."""
    if document.form == "xlsx":
        return len(document.grids)
    if document.form == "csv":
        return len(document.grids[0].rows)
    return sum(len(line.split()) for line in document.lines)


def _check(
    check: Mapping[str, Any], home: Path, documents: Mapping[str, Document], lacking: Mapping[str, str]
) -> Verdict:
    name, params = check["name"], check["params"]
    if name == "unchanged":
        return _unchanged(home, params["files"])
    path = params["path"]
    if path not in documents:
        return False, lacking.get(path, f"{path} is missing")
    return (True, "it opens") if name == "opens" else OF_A_DOCUMENT[name](documents[path], params)


def _unchanged(home: Path, files: Mapping[str, str]) -> Verdict:
    for path, expected in files.items():
        try:
            same = digest(read(home, path)) == expected
        except Unusable as reason:
            return False, str(reason)
        if not same:
            return False, f"{path} was changed"
    return True, f"{len(files)} originals are as they were"


def reward_of(scored: Score) -> dict[str, float]:
    """Return the flat numbers of `reward.json`. Without Pass@1 there is no `reward`."""
    reward = {} if scored.passed is None else {"reward": 1.0 if scored.passed else 0.0}
    return {**reward, "weighted": scored.weighted, **{k.lower(): v for k, v in scored.by_priority.items()}}


def details_of(rubric: Mapping[str, Any], results: Sequence[Result], scored: Score) -> dict[str, Any]:
    """Return the content of `rubric.json`: every criterion with what was found and whether it counts."""
    by_id = {result.id: result for result in results}
    rows = [
        {
            "id": c["id"], "text": c["text"], "priority": c["priority"], "required": c["required"], "kind": c["kind"],
            "met": by_id[c["id"]].met, "holds": by_id[c["id"]].holds, "why": by_id[c["id"]].why,
        }
        for c in rubric["criteria"]
    ]  # fmt: skip
    label = "checks only" if scored.checks_only else "complete"
    return {"task": rubric.get("task", ""), "label": label, "passed": scored.passed, "criteria": rows}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(description="Grade an exported tree against a rubric.")
    for name in ("home", "rubric", "logs"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    options = parser.parse_args(arguments)
    try:
        rubric = json.loads(options.rubric.read_text("utf-8"))
        results, scored = grade(options.home, rubric)
    except InvalidRubric as reason:
        print(f"invalid task: {reason}", file=sys.stderr)
        return INVALID
    _write(options.logs / "rubric.json", details_of(rubric, results, scored))
    _write(options.logs / "reward.json", reward_of(scored))
    print(json.dumps(reward_of(scored), sort_keys=True))
    return 0


def _write(path: Path, value: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n", "utf-8")
