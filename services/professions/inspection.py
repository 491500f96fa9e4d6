"""Inspection control: which measurements lie outside their limits, and which lots that rejects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from services.professions import periods
from services.professions.amounts import fixed, number, percent
from services.professions.base import (
    MARKDOWN,
    XLSX,
    Deliverable,
    Finding,
    Inputs,
    InputSpec,
    Others,
    Outcome,
    Profession,
    Table,
    period_of,
    repeated,
    write_csv,
)
from services.professions.periods import Span
from services.professions.sectors import sector_of
from services.professions.views import PriorView
from simulator.errors import UsageError
from simulator.randomness import Stream

WORKBOOK = "Control workbook.xlsx"
REPORT = "Nonconformance report.md"
COLUMNS = ("record_id", "lot", "part", "feature", "value")
FEATURES = (
    "bore diameter",
    "length",
    "flatness",
    "wall thickness",
    "runout",
    "surface roughness",
    "weight",
    "hole pitch",
)
LOOK_BACK = 3


class _Limit(msgspec.Struct, frozen=True):
    """Limits in thousandths of the feature's unit."""

    lower: int
    upper: int


class InspectionControl(Profession):
    """The recurring control of a client's incoming or outgoing lots."""

    kind = "inspection-control"
    domain = "quality"
    title = "Inspection control"
    inputs = (
        InputSpec("measurements", "measurements.csv", COLUMNS, "measured values by lot and feature"),
        InputSpec("limits", "limits.csv", ("feature", "lower", "upper"), "the limits of each feature, both included"),
    )
    deliverables = (Deliverable(WORKBOOK, XLSX), Deliverable(REPORT, MARKDOWN))
    labels = ("Measurements", "Nonconforming", "Lots inspected", "Lots rejected", "Carried lots", "Yield")

    live = ("Measurements", "Nonconforming", "Yield")

    def materials(self, client: str, period: str, seed: int, days: int = 7) -> dict[str, str]:
        """Return the measurements of new lots and of earlier lots measured again, and the limits."""
        at, limits = periods.span(period, days), _limits(client, seed)
        measured = [
            row
            for back in range(LOOK_BACK, -1, -1)
            for lot in range(1, 1 + Stream(seed, "lots", client, at.back(back).name).between(3, 6))
            for row in _measured(client, at.back(back), lot, back, seed)
        ]
        rows = [(f"M{at.code}-{place + 1:03d}", *row) for place, row in enumerate(measured)]
        bounds = [(feature, _text(limit.lower), _text(limit.upper)) for feature, limit in limits.items()]
        return {
            "measurements.csv": write_csv(COLUMNS, rows),
            "limits.csv": write_csv(("feature", "lower", "upper"), bounds),
        }

    def compute(self, period: str, inputs: Inputs, prior: PriorView | None, others: Others) -> Outcome:
        """Return counts and yield, nonconforming records to list in the report, and the rows of each sheet."""
        limits = {
            row["feature"]: (_exact(row, "lower", "limits.csv"), _exact(row, "upper", "limits.csv"))
            for row in self.rows(inputs, "limits")
        }
        rows = [_judged(row, limits) for row in self.rows(inputs, "measurements")]
        out = [row for row in rows if row["status"] == "nonconforming"]
        lots = list(dict.fromkeys(row["lot"] for row in rows))
        rejected = {row["lot"] for row in out}
        carried = {
            lot: first for lot, first in _rejected_before(prior, period).items() if lot not in lots or lot in rejected
        }
        figures = {
            "Measurements": str(len(rows)),
            "Nonconforming": str(len(out)),
            "Lots inspected": str(len(lots)),
            "Lots rejected": str(len(rejected)),
            "Carried lots": str(len(carried)),
            "Yield": percent(len(rows) - len(out), len(rows)),
        }
        findings = [
            Finding(row["record_id"], f"{row['feature']} {row['value']} of lot {row['lot']} is out", (REPORT,))
            for row in out
        ]
        again = tuple({"lot": lot, "first period": first} for lot, first in carried.items())
        tables = (
            Table(WORKBOOK, "Measurements", ("record_id",), tuple(rows)),
            Table(WORKBOOK, "Features", ("feature",), tuple(_features(rows))),
            Table(WORKBOOK, "Carried lots", ("lot",), again),
        )
        return Outcome(figures, tuple(findings), tables)

    def check(self, period: str, inputs: Inputs) -> list[str]:
        """Return what does not hold together: records twice, features without limits, limits upside down."""
        limits = {row["feature"]: row for row in self.rows(inputs, "limits")}
        rows = self.rows(inputs, "measurements")
        return [
            *repeated(rows, "record_id"),
            *(f"{row['record_id']}: no limits for {row['feature']}" for row in rows if row["feature"] not in limits),
            *(
                f"limits of {feature} are upside down in {period}"
                for feature, row in limits.items()
                if _exact(row, "lower", "limits.csv") >= _exact(row, "upper", "limits.csv")
            ),
        ]


def _judged(row: Mapping[str, str], limits: Mapping[str, tuple[Fraction, Fraction]]) -> dict[str, str]:
    if row["feature"] not in limits:
        raise UsageError(f"measurements.csv: {row['record_id']}: limits.csv has no feature {row['feature']!r}")
    lower, upper = limits[row["feature"]]
    inside = lower <= _exact(row, "value", "measurements.csv") <= upper
    return {**{key: row[key] for key in COLUMNS}, "status": "conforming" if inside else "nonconforming"}


def _features(rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    by_feature: dict[str, list[Mapping[str, str]]] = {}
    for row in rows:
        by_feature.setdefault(row["feature"], []).append(row)
    out = []
    for feature, measured in by_feature.items():
        values = [_exact(row, "value", "measurements.csv") for row in measured]
        out.append(
            {
                "feature": feature,
                "n": str(len(values)),
                "minimum": fixed(min(values), 3),
                "maximum": fixed(max(values), 3),
                "mean": fixed(Fraction(sum(values), len(values)), 3),
                "out": str(sum(row["status"] == "nonconforming" for row in measured)),
            }
        )
    return out


def _rejected_before(prior: PriorView | None, now: str) -> dict[str, str]:
    """Return the lots that the prior rejects or still carries, with the period of their first rejection."""
    if prior is None:
        return {}
    period = period_of(prior, now)
    first = {row["lot"]: row["first period"] for row in prior.table("Carried lots", ("lot", "first period"))}
    for row in prior.table("Measurements", ("record_id", "lot", "status")):
        if row["status"].casefold() == "nonconforming":
            first.setdefault(row["lot"], period)
    return first


def _exact(row: Mapping[str, str], column: str, file: str) -> Fraction:
    value = number(row[column])
    if value is None:
        raise UsageError(f"{file}: column {column!r} of {next(iter(row.values()))!r}: {row[column]!r} is no number")
    return value


def _text(thousandths: int) -> str:
    return fixed(Fraction(thousandths, 1000), 3)


def _limits(client: str, seed: int) -> dict[str, _Limit]:
    draw = Stream(seed, "limits", client)
    limits = {}
    for feature in draw.shuffled(FEATURES)[: draw.between(4, 5)]:
        nominal, tolerance = draw.between(2_000, 90_000), draw.between(20, 400)
        limits[feature] = _Limit(nominal - tolerance, nominal + tolerance)
    return limits


def _measured(client: str, born: Span, lot: int, back: int, seed: int) -> list[tuple[str, str, str, str]]:
    """Return the rows (lot, part, feature, value) of a lot, born in a span, `back` spans later; often none.

    A lot found bad at first is measured again one or two spans later, most often with good results.
    """
    draw = Stream(seed, "lot", client, born.name, lot)
    part = f"{draw.choice(sector_of(client, seed).goods)} {draw.choice('ABC')}{draw.between(10, 39)}"
    quality = draw.choice((0, 0, 0, 1, 3))
    again, second = draw.choice((1, 1, 2, 3, 9)), draw.choice((0, 0, 0, 1))
    if back == 0:
        bad_of_ten = quality
    elif quality and back == again:
        bad_of_ten = 4 * second
    elif quality and second and back == again + 1:
        bad_of_ten = 0
    else:
        return []
    values = Stream(seed, "values", client, born.name, lot, back)
    name = f"L{born.code}-{lot:02d}"
    return [
        (name, part, feature, _text(_value(values, limit, bad_of_ten)))
        for feature, limit in _limits(client, seed).items()
        for _ in range(2 if values.chance(2, 3) else 1)
    ]


def _value(draw: Stream, limit: _Limit, bad_of_ten: int) -> int:
    if draw.chance(bad_of_ten, 10):
        beyond = draw.between(1, 1 + (limit.upper - limit.lower) // 4)
        return draw.choice((limit.lower - beyond, limit.upper + beyond))
    if draw.chance(1, 15):
        return draw.choice((limit.lower, limit.upper))
    return draw.between(limit.lower + 1, limit.upper - 1)
