"""Trial monitoring: which study visits were missed or fell outside their window, subject by subject."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import msgspec

from services.professions import periods
from services.professions.amounts import percent
from services.professions.base import (
    CSV,
    DOCX,
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

LOG = "Deviation log.csv"
REPORT = "Monitoring report.docx"
COLUMNS = ("visit_id", "subject", "site", "visit", "planned", "actual", "status")
LOG_COLUMNS = ("visit_id", "subject", "site", "visit", "days", "kind", "first_period")
PLAN = (
    ("Screening", 0), ("Baseline", 14), ("Week 4", 42), ("Week 8", 70), ("Week 12", 98), ("Week 16", 126),
    ("Follow-up", 154),
)  # fmt: skip
SITES = ("BER", "LIS", "OSL", "PRG", "TUR", "VIE")


class _Visit(msgspec.Struct, frozen=True):
    """A visit as it happened: `actual` is empty when it was missed, `made_up` the day it was held after all."""

    visit_id: str
    subject: str
    site: str
    visit: str
    planned: str
    actual: str
    made_up: str


class TrialMonitoring(Profession):
    """The recurring monitoring of visits in a clinical trial."""

    kind = "trial-monitoring"
    domain = "clinical"
    title = "Trial monitoring"
    inputs = (
        InputSpec("visits", "visits.csv", COLUMNS, "visits planned or held in the period"),
        InputSpec("protocol", "protocol.csv", ("visit", "window_days"), "the window of each visit in days"),
    )
    deliverables = (Deliverable(LOG, CSV), Deliverable(REPORT, DOCX))
    labels = (
        "Visits reviewed", "New deviations", "Missed visits", "Out of window", "Carried deviations",
        "Total deviations", "Deviation rate",
    )  # fmt: skip

    def materials(self, client: str, period: str, seed: int, days: int = 7) -> dict[str, str]:
        """Return the visits of the period for subjects who entered in this or an earlier period, and the protocol."""
        at = periods.span(period, days)
        rows = [
            row
            for back in range(PLAN[-1][1] // at.days + 2, -1, -1)
            for visit in _visits(client, at.back(back), seed)
            for row in _reported(visit, at)
        ]
        windows = [(visit, str(window)) for visit, window in _windows(client, seed).items()]
        return {
            "visits.csv": write_csv(COLUMNS, sorted(rows, key=lambda row: (row[4], row[0]))),
            "protocol.csv": write_csv(("visit", "window_days"), windows),
        }

    def compute(self, period: str, inputs: Inputs, prior: PriorView | None, others: Others) -> Outcome:
        """Return counts and rate, new deviations to cite in the report, and the rows of the log."""
        windows = {row["visit"]: _whole(row["window_days"], "protocol.csv") for row in self.rows(inputs, "protocol")}
        logged = {row["visit_id"]: row for row in (prior.table(LOG, LOG_COLUMNS) if prior is not None else [])}
        reviewed: dict[str, Mapping[str, str]] = {}
        for row in self.rows(inputs, "visits"):
            reviewed.setdefault(row["visit_id"], row)
        new = [
            found
            for visit_id, row in reviewed.items()
            if visit_id not in logged and (found := _deviation(row, windows, period)) is not None
        ]
        missed = sum(row["kind"] == "missed" for row in new)
        figures = {
            "Visits reviewed": str(len(reviewed)),
            "New deviations": str(len(new)),
            "Missed visits": str(missed),
            "Out of window": str(len(new) - missed),
            "Carried deviations": str(len(logged)),
            "Total deviations": str(len(logged) + len(new)),
            "Deviation rate": percent(len(new), len(reviewed)),
        }
        findings = [
            Finding(row["visit_id"], f"{row['kind']}, {row['visit']} of {row['subject']}", (REPORT,)) for row in new
        ]
        kept = [{key: row[key] for key in LOG_COLUMNS} for row in logged.values()]
        return Outcome(figures, tuple(findings), (Table(LOG, "", ("visit_id",), (*kept, *new)),))

    def check(self, period: str, inputs: Inputs) -> list[str]:
        """Return what does not hold together: visits outside period or protocol, states that contradict the dates."""
        first, last = periods.bounds(period)
        known = {row["visit"] for row in self.rows(inputs, "protocol")}
        visits = self.rows(inputs, "visits")
        faults = repeated(visits, "visit_id")
        for row in visits:
            if not (first <= row["planned"] <= last or first <= row["actual"] <= last):
                faults.append(f"{row['visit_id']}: neither planned nor held in {period}")
            if row["visit"] not in known:
                faults.append(f"{row['visit_id']}: {row['visit']} is not in the protocol")
            if bool(row["actual"]) != (row["status"] == "done"):
                faults.append(f"{row['visit_id']}: status {row['status']} with actual {row['actual']!r}")
        return faults


def _deviation(row: Mapping[str, str], windows: Mapping[str, int], period: str) -> dict[str, str] | None:
    """Return the log row of a visit that deviates, else None."""
    kept = {key: row[key] for key in ("visit_id", "subject", "site", "visit")}
    if row["status"] == "missed":
        return {**kept, "days": "", "kind": "missed", "first_period": period}
    if row["status"] != "done":
        return None
    if row["visit"] not in windows:
        raise UsageError(f"visits.csv: {row['visit_id']} is a {row['visit']!r}, which protocol.csv does not list")
    off = (_day(row, "actual") - _day(row, "planned")).days
    if abs(off) <= windows[row["visit"]]:
        return None
    return {**kept, "days": str(off), "kind": "late" if off > 0 else "early", "first_period": period}


def _day(row: Mapping[str, str], column: str) -> date:
    try:
        return date.fromisoformat(row[column])
    except ValueError as problem:
        raise UsageError(f"visits.csv: {row['visit_id']}: column {column!r} holds no date YYYY-MM-DD") from problem


def _whole(text: str, file: str) -> int:
    if not text.isdigit():
        raise UsageError(f"{file}: {text!r} is no whole number of days")
    return int(text)


def _windows(client: str, seed: int) -> dict[str, int]:
    draw = Stream(seed, "protocol", client)
    return {visit: draw.between(2, 3 + number) for number, (visit, _) in enumerate(PLAN)}


def _visits(client: str, entry: Span, seed: int) -> list[_Visit]:
    """Return all visits of the subjects who entered the trial in a span."""
    draw, windows = Stream(seed, "subjects", client, entry.name), _windows(client, seed)
    sites = Stream(seed, "sites", client).shuffled(SITES)[:3]
    visits = []
    for number in range(draw.between(3, 6) if entry.days > 14 else draw.between(1, 2)):
        site, entered = draw.choice(sites), draw.between(1, entry.days)
        subject = f"{site}-{entry.code}-{number + 1}"
        stays = len(PLAN) if draw.chance(5, 6) else draw.between(2, 5)
        for at, (visit, offset) in enumerate(PLAN[:stays]):
            day = entered + offset
            off = _offset(draw, windows[visit])
            missed, made_up = draw.chance(1, 11), draw.between(9, 26)
            visits.append(
                _Visit(
                    f"{subject}-V{at + 1}", subject, site, visit, entry.date(day),
                    "" if missed else entry.date(day + off),
                    entry.date(day + made_up) if missed and draw.chance(1, 3) else "",
                )
            )  # fmt: skip
    return visits


def _offset(draw: Stream, window: int) -> int:
    """Return by how many days a visit misses its plan: mostly within the window, at times on its edge or beyond."""
    roll = draw.below(20)
    if roll < 13:
        return draw.between(-1, 2)
    if roll < 16:
        return draw.choice((-window, window))
    return draw.choice((-1, 1, 1)) * (window + draw.between(1, 9))


def _reported(visit: _Visit, at: Span) -> list[tuple[str, ...]]:
    """Return the row by which the sites report a visit in a span, if they do."""
    held = visit.actual or visit.made_up
    planned_now, last = at.holds(visit.planned), at.date(at.days)
    if planned_now and not visit.actual:
        state = ("", "missed")
    elif planned_now and visit.actual > last:
        state = ("", "scheduled")
    elif planned_now or (held and at.holds(held) and visit.planned < at.date(1)):
        state = (held, "done")
    else:
        return []
    return [(visit.visit_id, visit.subject, visit.site, visit.visit, visit.planned, *state)]
