"""Release triage: which failing tests and open defects stand between a build and its release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from services.professions import periods
from services.professions.amounts import percent
from services.professions.base import (
    CSV,
    MARKDOWN,
    Deliverable,
    Finding,
    Inputs,
    InputSpec,
    Others,
    Outcome,
    Profession,
    Table,
    repeated,
    write_csv,
)
from services.professions.periods import Span
from services.professions.views import PriorView
from simulator.errors import UsageError
from simulator.randomness import Stream

TRIAGE = "Triage.csv"
NOTE = "Release note.md"
RESULTS = ("test_id", "component", "build", "result", "ms")
DEFECTS = ("defect_id", "component", "severity", "opened", "status")
PRIORITY = {"critical": "P1", "major": "P2", "minor": "P3"}
COMPONENTS = ("accounts", "billing", "export", "import", "mail", "reports", "search", "sync", "uploads")
LONGEST = 4


class ReleaseTriage(Profession):
    """The recurring triage before a client's software is released."""

    kind = "release-triage"
    domain = "software"
    title = "Release triage"
    inputs = (
        InputSpec("results", "results.csv", RESULTS, "test results of the release candidate"),
        InputSpec("defects", "defects.csv", DEFECTS, "defects that are open or were closed in the period"),
    )
    deliverables = (Deliverable(TRIAGE, CSV), Deliverable(NOTE, MARKDOWN))
    labels = ("Tests run", "Tests failed", "Pass rate", "Open defects", "P1 items", "Carried items", "Decision")

    def materials(self, client: str, period: str, seed: int, days: int = 7) -> dict[str, str]:
        """Return the results of the client's tests, some run twice, and the defects known in the period."""
        at = periods.span(period, days)
        return {
            "results.csv": write_csv(RESULTS, _results(client, at, seed)),
            "defects.csv": write_csv(DEFECTS, _defects(client, at, seed)),
        }

    def compute(self, period: str, inputs: Inputs, prior: PriorView | None, others: Others) -> Outcome:
        """Return counts, rate and decision, P1 items to cite in the note, and the rows of the triage."""
        tests = {row["test_id"]: row for row in self.rows(inputs, "results")}
        failed = [row for row in tests.values() if row["result"] == "fail"]
        defects = [row for row in self.rows(inputs, "defects") if row["status"] != "closed"]
        before = {
            row["item"]: row["first_period"]
            for row in (prior.table(TRIAGE, ("item", "first_period")) if prior is not None else [])
        }
        rows = _items(failed, defects, before, period)
        urgent = [row for row in rows if row["priority"] == "P1"]
        figures = {
            "Tests run": str(len(tests)),
            "Tests failed": str(len(failed)),
            "Pass rate": percent(len(tests) - len(failed), len(tests)),
            "Open defects": str(len(defects)),
            "P1 items": str(len(urgent)),
            "Carried items": str(sum(row["item"] in before for row in rows)),
            "Decision": "hold" if urgent else "ship",
        }
        findings = [Finding(row["item"], f"P1 in {row['component']}", (NOTE,)) for row in urgent]
        return Outcome(figures, tuple(findings), (Table(TRIAGE, "", ("item",), tuple(rows)),))

    def check(self, period: str, inputs: Inputs) -> list[str]:
        """Return what does not hold together: unknown results or severities, defects opened after the period."""
        _, last = periods.bounds(period)
        defects = self.rows(inputs, "defects")
        return [
            *repeated(defects, "defect_id"),
            *(
                f"{row['test_id']}: result {row['result']!r} is neither pass nor fail"
                for row in self.rows(inputs, "results")
                if row["result"] not in ("pass", "fail")
            ),
            *(f"{row['defect_id']}: opened {row['opened']}, after {period}" for row in defects if row["opened"] > last),
            *(f"{row['defect_id']}: unknown severity" for row in defects if row["severity"] not in PRIORITY),
        ]


def _items(
    failed: Sequence[Mapping[str, str]], defects: Sequence[Mapping[str, str]], before: Mapping[str, str], period: str
) -> list[dict[str, str]]:
    critical = {row["component"] for row in defects if row["severity"] == "critical"}
    items = [
        (row["test_id"], "test", row["component"], "P1" if row["component"] in critical else "P2") for row in failed
    ]
    for row in defects:
        if row["severity"] not in PRIORITY:
            known = ", ".join(PRIORITY)
            raise UsageError(f"defects.csv: {row['defect_id']}: severity {row['severity']!r} is none of {known}")
        items.append((row["defect_id"], "defect", row["component"], PRIORITY[row["severity"]]))
    return [
        {
            "item": item,
            "kind": kind,
            "component": component,
            "priority": priority,
            "first_period": before.get(item, period),
        }
        for item, kind, component, priority in items
    ]


def _components(client: str, seed: int) -> list[str]:
    draw = Stream(seed, "components", client)
    return sorted(draw.shuffled(COMPONENTS)[: draw.between(5, 7)])


def _results(client: str, at: Span, seed: int) -> list[tuple[str, ...]]:
    """Return one row per test, two for a test that was run again on the next build."""
    fixed, draw = Stream(seed, "tests", client), Stream(seed, "results", client, at.name)
    components = _components(client, seed)
    build = f"{at.start.year - 2022}.{at.number % 12 + 1}.{draw.between(10, 80)}"
    rows: list[tuple[str, ...]] = []
    for number in range(1, fixed.between(26, 42) + 1):
        component = fixed.choice(components)
        test = f"T-{component[:3].upper()}-{number:03d}"
        failing = any(_fails_from(client, at.back(back), test, seed) > back for back in range(LONGEST))
        if not failing and draw.chance(1, 18):
            rows.append((test, component, build, "fail", str(draw.between(30, 9000))))
            rows.append((test, component, f"{build}-r1", "pass", str(draw.between(30, 9000))))
        else:
            rows.append((test, component, build, "fail" if failing else "pass", str(draw.between(30, 9000))))
    return rows


def _fails_from(client: str, at: Span, test: str, seed: int) -> int:
    """Return for how many spans a test fails, counted from this one; 0 when no failure begins here."""
    draw = Stream(seed, "failure", client, at.name, test)
    return draw.choice((1, 1, 2, 3, LONGEST)) if draw.chance(1, 20) else 0


def _defects(client: str, at: Span, seed: int) -> list[tuple[str, ...]]:
    """Return the defects opened in this span, those still open, and those closed in it."""
    components = _components(client, seed)
    rows: list[tuple[str, ...]] = []
    for back in range(LONGEST, -1, -1):
        born = at.back(back)
        draw = Stream(seed, "defects", client, born.name)
        worst = draw.choice(("critical", "major", "major", "major", "minor"))
        for number in range(draw.between(3, 8)):
            life = draw.between(1, LONGEST)
            severity = draw.choice((worst, "major", "minor", "minor"))
            day = draw.between(1, born.days)
            if back <= life:
                row = (f"D-{born.code}-{number + 1:02d}", draw.choice(components), severity, born.date(day))
                rows.append((*row, "closed" if back == life else "open"))
            else:
                draw.choice(components)
    return rows
