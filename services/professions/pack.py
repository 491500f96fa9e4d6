"""Management pack: the month's headline figures drawn from reconciliation and variance analysis, with commentary."""

from __future__ import annotations

from services.professions import periods
from services.professions.amounts import money
from services.professions.base import (
    CSV,
    PDF,
    Deliverable,
    Finding,
    Inputs,
    InputSpec,
    Other,
    Others,
    Outcome,
    Profession,
    Table,
    carried_amount,
    repeated,
    write_csv,
)
from services.professions.books import books
from services.professions.sectors import PEOPLE, sector_of
from services.professions.views import PriorView
from simulator.randomness import Stream

FIGURES = "Pack figures.csv"
PACK = "Management pack.pdf"
TOPICS = {
    "Sales": ("{customer} ordered {word} than planned.", "{goods} sold {word} than in the month before."),
    "Margin": ("Prices of {vendor} rose by {n} percent.", "The mix moved towards {goods}."),
    "Staffing": (
        "{person} joins next month.",
        "{n} days were lost to illness.",
        "{person} is on leave until mid month.",
    ),
    "Cash": ("The payment run was moved by {n} days.", "{customer} pays later than agreed."),
    "Suppliers": ("{vendor} asks for deposits.", "A second source for {goods} is being tried."),
    "Investment": ("A quotation for new equipment is expected.", "The {n} year lease ends this autumn."),
    "Risks": ("The dispute with {vendor} is unresolved.", "{goods} may be short for {n} weeks."),
    "Tax": ("The return was filed on time.", "An assessment of the year before last is awaited."),
    "Systems": ("Bank import failed on {n} days and was repeated.", "{person} tests the new approval flow."),
}


class ManagementPack(Profession):
    """The monthly pack for a client's management."""

    kind = "management-pack"
    domain = "finance"
    title = "Management pack"
    inputs = (InputSpec("commentary", "commentary.csv", ("topic", "note"), "what management wants said, by topic"),)
    deliverables = (Deliverable(FIGURES, CSV), Deliverable(PACK, PDF))
    labels = (
        "Cash", "Open items", "Total variance", "Flagged accounts", "Year to date actual", "Change in cash", "Headline",
    )  # fmt: skip
    others = (Other("reconciliation", "bank-reconciliation"), Other("variance", "variance-analysis"))

    def materials(self, client: str, period: str, seed: int, days: int = 7) -> dict[str, str]:
        """Return the month's commentary: four to eight topics, one of them about the month's own takings."""
        draw = Stream(seed, "professions", self.kind, client, period)
        sector = sector_of(client, seed)
        rows = []
        for topic in draw.shuffled(list(TOPICS))[: draw.between(4, 8)]:
            note = draw.choice(TOPICS[topic]).format(
                customer=draw.choice(sector.customers), vendor=draw.choice(sector.vendors),
                goods=draw.choice(sector.goods).capitalize(), person=draw.choice(PEOPLE),
                word=draw.choice(("more", "less")), n=draw.between(2, 9),
            )  # fmt: skip
            rows.append((topic, note))
        taken = sum(line.amount for line in books(client, periods.span(period, days), seed).bank if line.amount > 0)
        rows.append(("Takings", f"The bank received {money(taken)} in {periods.words(period)}."))
        return {"commentary.csv": write_csv(self.inputs[0].columns, rows)}

    def compute(self, period: str, inputs: Inputs, prior: PriorView | None, others: Others) -> Outcome:
        """Return the pack's figures; every topic must appear in the PDF."""
        reconciliation, variance = others.get("reconciliation"), others.get("variance")
        cash = carried_amount(reconciliation, "Closing balance")
        open_items, flagged = _count(reconciliation, "Open items"), _count(variance, "Flagged accounts")
        figures = {
            "Cash": money(cash),
            "Open items": str(open_items),
            "Total variance": money(carried_amount(variance, "Total variance")),
            "Flagged accounts": str(flagged),
            "Year to date actual": money(carried_amount(variance, "Year to date actual")),
            "Change in cash": money(cash - carried_amount(prior, "Cash")),
            "Headline": "watch" if flagged >= 3 or open_items >= 5 else "steady",
        }
        findings = [
            Finding(row["topic"], "a topic of the commentary", (PACK,)) for row in self.rows(inputs, "commentary")
        ]
        rows = tuple({"figure": label, "value": value} for label, value in figures.items())
        return Outcome(figures, tuple(findings), (Table(FIGURES, "", ("figure",), rows, ("value",)),))

    def check(self, period: str, inputs: Inputs) -> list[str]:
        """Return what does not hold together: topics given twice or without a note."""
        rows = self.rows(inputs, "commentary")
        return [
            *repeated(rows, "topic"),
            *(f"the topic {row['topic']!r} of {period} has no note" for row in rows if not row["note"]),
        ]


def _count(view: PriorView | None, label: str) -> int:
    return carried_amount(view, label) // 100
