"""Bill of materials: what an assembly consists of and costs, after the changes of the period."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from services.professions import periods
from services.professions.amounts import cents, money, number
from services.professions.base import (
    PDF,
    XLSX,
    Deliverable,
    Finding,
    Inputs,
    InputSpec,
    Others,
    Outcome,
    Profession,
    Table,
    carried_amount,
    repeated,
    write_csv,
)
from services.professions.periods import Span
from services.professions.sectors import sector_of
from services.professions.views import PriorView
from simulator.errors import UsageError
from simulator.randomness import Stream

WORKBOOK = "BOM.xlsx"
SUMMARY = "Cost summary.pdf"
PARTS = ("part_id", "assembly", "quantity", "unit_cost", "supplier")
CHANGES = ("change_id", "part_id", "field", "value")
FIELDS = ("quantity", "unit_cost", "supplier")
ASSEMBLIES = ("base frame", "cover", "drive", "feed", "guard", "panel", "sensor head")
NOUNS = ("BRK", "HSG", "PLT", "SHF", "SPR", "VLV", "WSH", "CBL")
LOOK_BACK = 6


class Part(msgspec.Struct, frozen=True):
    """A part: whole `quantity`, `unit_cost` in cents."""

    part_id: str
    assembly: str
    quantity: int
    unit_cost: int
    supplier: str

    @property
    def extended(self) -> int:
        """Return the cost of the part in its assembly in cents."""
        return self.quantity * self.unit_cost

    def stated(self, field: str) -> str:
        """Return a field as text."""
        return {"quantity": str(self.quantity), "unit_cost": money(self.unit_cost), "supplier": self.supplier}[field]


class BillOfMaterials(Profession):
    """The recurring upkeep of a client's bill of materials."""

    kind = "bill-of-materials"
    domain = "design"
    title = "Bill of materials"
    inputs = (
        InputSpec("parts", "parts.csv", PARTS, "parts listed this period, new ones and others sent again"),
        InputSpec("changes", "changes.csv", CHANGES, "engineering and price changes, in order"),
    )
    deliverables = (Deliverable(WORKBOOK, XLSX), Deliverable(SUMMARY, PDF))
    labels = (
        "Parts", "Total cost", "Largest assembly", "Largest assembly cost", "Changes applied", "Change from prior",
    )  # fmt: skip

    live = ("Total cost", "Largest assembly cost", "Change from prior")

    def materials(self, client: str, period: str, seed: int, days: int = 7) -> dict[str, str]:
        """Return the parts list as it stands before the period's changes, some parts left out, and the changes."""
        at = periods.span(period, days)
        draw = Stream(seed, "parts list", client, at.name)
        new = set(_born(client, at, seed))
        listed = [part for part in _standing(client, at, seed).values() if part.part_id in new or draw.chance(4, 5)]
        if draw.chance(1, 4):
            twice = draw.choice(listed)
            listed.append(msgspec.structs.replace(twice, quantity=twice.quantity + draw.between(1, 3)))
        rows = [
            (part.part_id, part.assembly, str(part.quantity), money(part.unit_cost), part.supplier) for part in listed
        ]
        return {
            "parts.csv": write_csv(PARTS, rows),
            "changes.csv": write_csv(CHANGES, _changes(client, at, seed)),
        }

    def compute(self, period: str, inputs: Inputs, prior: PriorView | None, others: Others) -> Outcome:
        """Return costs, changes to cite in the cost summary, and the rows of `Parts` and `Changes`."""
        parts = _prior_parts(prior)
        parts |= {row["part_id"]: _part(row, "parts.csv") for row in self.rows(inputs, "parts")}
        changes = self.rows(inputs, "changes")
        log = [_apply(change, parts) for change in changes]
        applied = sum(row["old"] != "unknown" for row in log)
        total = sum(part.extended for part in parts.values())
        by_assembly: dict[str, int] = {}
        for part in parts.values():
            by_assembly[part.assembly] = by_assembly.get(part.assembly, 0) + part.extended
        largest = min(by_assembly, key=lambda name: (-by_assembly[name], name), default="")
        before = carried_amount(prior, "Total cost") if prior is not None else total
        figures = {
            "Parts": str(len(parts)),
            "Total cost": money(total),
            "Largest assembly": largest,
            "Largest assembly cost": money(by_assembly.get(largest, 0)),
            "Changes applied": str(applied),
            "Change from prior": money(total - before),
        }
        findings = [
            Finding(
                row["change_id"], f"{row['field']} of {row['part_id']} from {row['old']} to {row['new']}", (SUMMARY,)
            )
            for row in log
        ]
        return Outcome(figures, tuple(findings), _tables(parts.values(), log))

    def check(self, period: str, inputs: Inputs) -> list[str]:
        """Return what does not hold together: changes given twice, unknown fields, costs below zero."""
        changes = self.rows(inputs, "changes")
        parts = [_part(row, "parts.csv") for row in self.rows(inputs, "parts")]
        return [
            *repeated(changes, "change_id"),
            *(
                f"{row['change_id']}: field {row['field']!r} in {period}"
                for row in changes
                if row["field"] not in FIELDS
            ),
            *(
                f"{part.part_id}: quantity or cost below zero"
                for part in parts
                if part.quantity < 0 or part.unit_cost < 0
            ),
        ]


def _prior_parts(prior: PriorView | None) -> dict[str, Part]:
    """Return the parts of the prior BOM; a row without a whole quantity or a cost is no part."""
    parts = {}
    for row in prior.table("Parts", PARTS) if prior is not None else []:
        quantity, cost = number(row["quantity"]), number(row["unit_cost"])
        if quantity is not None and quantity.denominator == 1 and cost is not None:
            parts[row["part_id"]] = _part(row, WORKBOOK)
    return parts


def _part(row: Mapping[str, str], file: str) -> Part:
    quantity = number(row["quantity"])
    if quantity is None or quantity.denominator != 1 or number(row["unit_cost"]) is None:
        raise UsageError(f"{file}: {row['part_id']}: quantity {row['quantity']!r} or unit_cost {row['unit_cost']!r}")
    return Part(row["part_id"], row["assembly"], int(quantity), cents(row["unit_cost"]), row["supplier"])


def _apply(change: Mapping[str, str], parts: dict[str, Part]) -> dict[str, str]:
    """Apply a change to `parts` and return its row on the sheet `Changes`."""
    row = {"change_id": change["change_id"], "part_id": change["part_id"], "field": change["field"]}
    part = parts.get(change["part_id"])
    if part is None:
        return {**row, "old": "unknown", "new": change["value"]}
    stated = {
        "part_id": part.part_id,
        "assembly": part.assembly,
        **{field: part.stated(field) for field in FIELDS},
    }
    if change["field"] not in FIELDS:
        raise UsageError(
            f"changes.csv: {change['change_id']}: field {change['field']!r} is none of {', '.join(FIELDS)}"
        )
    parts[part.part_id] = _part({**stated, change["field"]: change["value"]}, "changes.csv")
    return {**row, "old": stated[change["field"]], "new": change["value"]}


def _tables(parts: Iterable[Part], log: Sequence[Mapping[str, str]]) -> tuple[Table, ...]:
    rows = tuple(
        {
            "part_id": part.part_id,
            "assembly": part.assembly,
            **{field: part.stated(field) for field in FIELDS},
            "extended": money(part.extended),
        }
        for part in parts
    )
    return (
        Table(
            WORKBOOK, "Parts", ("part_id",), rows, ("unit_cost", "extended"), {"extended": "Total cost"}, ("extended",)
        ),
        Table(WORKBOOK, "Changes", ("change_id",), tuple(log)),
    )


def _base(client: str, part_id: str, born: str, seed: int) -> Part:
    draw = Stream(seed, "part", client, born, part_id)
    assemblies = Stream(seed, "assemblies", client).shuffled(ASSEMBLIES)[:4]
    supplier = draw.choice(sector_of(client, seed).vendors)
    return Part(part_id, draw.choice(assemblies), draw.between(1, 24), draw.between(35, 18_000), supplier)


def _born(client: str, at: Span, seed: int) -> list[str]:
    """Return the ids of the parts that are new in a span."""
    draw = Stream(seed, "new parts", client, at.name)
    return [f"{draw.choice(NOUNS)}-{at.code}-{number}" for number in range(1, draw.between(1, 4) + 1)]


def _known(client: str, at: Span, seed: int) -> dict[str, str]:
    """Return the ids of the parts that exist in a span, each with the name of the stream of its birth."""
    draw = Stream(seed, "catalogue", client)
    known = {f"{draw.choice(NOUNS)}-{number:04d}": "catalogue" for number in range(1001, 1001 + draw.between(12, 22))}
    for back in range(LOOK_BACK, -1, -1):
        span = at.back(back)
        known |= dict.fromkeys(_born(client, span, seed), span.name)
    return known


def _changes(client: str, at: Span, seed: int) -> list[tuple[str, str, str, str]]:
    """Return the changes of a span; at times two concern one part, at times one a part that nobody knows."""
    draw, known = Stream(seed, "changes", client, at.name), sorted(_known(client, at, seed))
    targets = [draw.choice(known) for _ in range(draw.between(2, 6))]
    if draw.chance(1, 3):
        targets.append(targets[0])
    if draw.chance(1, 3):
        targets.insert(1, f"{draw.choice(NOUNS)}-9{draw.between(100, 999)}")
    values: dict[str, Callable[[], str]] = {
        "quantity": lambda: str(draw.between(0, 30)),
        "unit_cost": lambda: money(draw.between(30, 19_000)),
        "supplier": lambda: draw.choice(sector_of(client, seed).vendors),
    }
    rows = []
    for place, part_id in enumerate(targets):
        field = draw.choice(("quantity", "unit_cost", "unit_cost", "supplier"))
        rows.append((f"EC-{at.code}-{place + 1:02d}", part_id, field, values[field]()))
    return rows


def _standing(client: str, at: Span, seed: int) -> dict[str, Part]:
    """Return the parts as they stand at the start of a span: as born, with the changes of the spans before."""
    parts = {part_id: _base(client, part_id, born, seed) for part_id, born in _known(client, at, seed).items()}
    for back in range(LOOK_BACK, 0, -1):
        for change in _changes(client, at.back(back), seed):
            _apply(dict(zip(CHANGES, change, strict=True)), parts)
    return parts
