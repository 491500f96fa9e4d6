"""The skill packs' scripts and the professions implement one page twice; here one is held against the other."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import openpyxl
import pytest

from services.professions.periods import span
from services.professions.registry import PROFESSIONS
from services.professions.views import PriorView
from tests.professions.conftest import CLIENTS, MONTHS
from tests.professions.office import Work, faults_of, work

Finished = dict[tuple[str, str, str], Work]
# CSV deliverables hold no formulas; the last clause of this client's month is boilerplate.
HARMLESS = {
    ("management-pack", "--values-only"), ("trial-monitoring", "--values-only"), ("release-triage", "--values-only"),
    ("contract-review", "--skip-last"),
}  # fmt: skip
OPTIONS = ["--values-only", "--no-evidence", "--no-carry", "--skip-last"]


def recomputed(made: Work, how: str) -> dict[str, str]:
    prior = None if made.prior is None else getattr(made.prior, how)()
    others = {name: getattr(other, how)() for name, other in made.others.items()}
    return made.profession.figures(made.period, made.inputs, prior, others)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("kind", PROFESSIONS)
def test_a_script_states_what_the_profession_recomputes_month_after_month(
    kind: str, client: str, finished: Finished
) -> None:
    for period in MONTHS:
        made = finished[client, kind, period]
        assert made.stated == recomputed(made, "view_from_bytes"), f"{period}, from bytes"
        assert made.stated == recomputed(made, "view_from_text"), f"{period}, from rendered text"


@pytest.mark.parametrize("kind", PROFESSIONS)
def test_the_reviewer_raises_no_alarm_on_honest_work(kind: str, finished: Finished) -> None:
    for client in CLIENTS:
        for period in MONTHS:
            assert [str(fault) for fault in faults_of(finished[client, kind, period])] == []


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("kind", PROFESSIONS)
def test_the_reviewer_notices_careless_work(kind: str, option: str, finished: Finished, tmp_path: Path) -> None:
    """Each option that a careless person would use shows, wherever it makes a difference to the files at all."""
    honest = finished["Riverbend Outdoor", kind, MONTHS[1]]
    careless = work(kind, honest.inputs, honest.period, tmp_path, honest.prior, honest.others, option)
    if careless.files == honest.files:
        assert (kind, option) in HARMLESS
        return
    found = faults_of(careless)
    assert found, f"{option} went unnoticed"
    if option == "--no-carry":
        assert any("prior" in fault.text or "missing" in fault.text for fault in found)


def test_labels_and_deliverables_are_those_of_the_scripts(finished: Finished) -> None:
    for kind, profession in PROFESSIONS.items():
        made = finished["Riverbend Outdoor", kind, MONTHS[0]]
        assert tuple(made.stated) == profession.labels
        assert sorted(made.files) == sorted(each.name for each in profession.deliverables)


def test_scripts_write_the_same_bytes_for_the_same_inputs(finished: Finished, tmp_path: Path) -> None:
    """RULE 36: what an assistant produces in a sandbox is byte-identical wherever it is produced."""
    for kind in PROFESSIONS:
        once = finished["Oakridge Devices", kind, MONTHS[2]]
        again = work(kind, once.inputs, once.period, tmp_path / kind, once.prior, once.others)
        assert again.files == once.files, kind


# -- periods that a Monday opens --------------------------------------------------------------------------------------


def mondays(first: str, days: int, count: int) -> list[str]:
    return [span(first, days).back(-number).name for number in range(count)]


def chain(kinds: Sequence[str], periods: Sequence[str], days: int, folder: Path) -> dict[tuple[str, str], Work]:
    """Work through periods of `days` days, each on the one before, kinds on one another; {(kind, period): work}."""
    done: dict[tuple[str, str], Work] = {}
    for before, period in zip((None, *periods), periods, strict=False):
        for kind in kinds:
            profession = PROFESSIONS[kind]
            inputs = profession.by_name(profession.materials("Oakridge Devices", period, 8, days))
            prior = done[kind, before] if before else None
            others = {each.name: done[each.kind, period] for each in profession.others}
            done[kind, period] = work(kind, inputs, period, folder / kind / period, prior, others)
    return done


def assert_agreed(made: Work) -> None:
    assert made.stated == recomputed(made, "view_from_bytes"), f"{made.period}, from bytes"
    assert made.stated == recomputed(made, "view_from_text"), f"{made.period}, from rendered text"
    assert [str(fault) for fault in faults_of(made)] == []


FINANCE = ("bank-reconciliation", "variance-analysis", "management-pack")
OVER_NEW_YEAR = {7: mondays("2025-12-15", 7, 5), 14: mondays("2025-12-08", 14, 4)}


@pytest.mark.parametrize(
    ("kinds", "days"),
    [
        (("records-digest",), 7), (("records-digest",), 14), (("contract-review",), 7), (("contract-review",), 14),
        (("trial-monitoring",), 14), (("inspection-control",), 14), (("release-triage",), 7),
        (("bill-of-materials",), 7), (FINANCE, 7), (FINANCE, 14),
    ],
)  # fmt: skip
def test_weekly_and_fortnightly_work_agrees_too(kinds: tuple[str, ...], days: int, tmp_path: Path) -> None:
    """Periods named by a Monday, several in a row, over a change of year."""
    for made in chain(kinds, OVER_NEW_YEAR[days], days, tmp_path).values():
        assert_agreed(made)


@pytest.mark.parametrize("days", [7, 14])
def test_a_year_to_date_starts_again_with_the_first_monday_of_a_year(days: int, tmp_path: Path) -> None:
    """The week of 29 December is of the old year to its end; nothing of it stands on the new sheet."""
    done = chain(("records-digest",), OVER_NEW_YEAR[days], days, tmp_path)
    running, year = 0.0, ""
    for (_, period), made in done.items():
        running = (running if period[:4] == year else 0.0) + float(made.stated["Total"])
        year = period[:4]
        assert float(made.stated["Year to date total"]) == pytest.approx(running, abs=0.001)
        rows = made.view_from_bytes().table("Year to date", ("category", "prior", "period", "year to date"))
        assert sum(float(row["year to date"]) for row in rows) == pytest.approx(running, abs=0.001)
    first = next(period for _, period in done if period.startswith("2026"))
    rows = done["records-digest", first].view_from_bytes().table("Year to date", ("category", "prior"))
    assert rows
    assert {float(row["prior"]) for row in rows} == {0.0}


@pytest.mark.parametrize(
    ("period", "statuses"),
    [
        ("2025-12-29", {"D1": "overdue", "D2": "due", "D3": "due", "D4": "later", "D5": "later"}),
        ("2026-01-12", {"D1": "overdue", "D2": "overdue", "D3": "overdue", "D4": "due", "D5": "later"}),
        ("2026-01", {"D1": "overdue", "D2": "overdue", "D3": "due", "D4": "due", "D5": "due"}),
        ("2025-12", {"D1": "due", "D2": "due", "D3": "later", "D4": "later", "D5": "later"}),
    ],
)
def test_a_due_date_is_judged_to_the_day(period: str, statuses: dict[str, str], tmp_path: Path) -> None:
    """28 and 29 December, 11, 12 and 31 January: the edges of 14 days from a Monday, and of months."""
    dates = {"D1": "2025-12-28", "D2": "2025-12-29", "D3": "2026-01-11", "D4": "2026-01-12", "D5": "2026-01-31"}
    lines = [f"{clause},Lease,Acme,payment,{due},10.00,Rent" for clause, due in dates.items()]
    clauses = "\n".join(("clause_id,contract,counterparty,kind,due,amount,text", *lines, ""))
    made = work("contract-review", {"clauses": clauses}, period, tmp_path)
    rows = made.view_from_bytes().table("Obligations", ("clause_id", "status"))
    assert {row["clause_id"]: row["status"] for row in rows} == statuses
    assert_agreed(made)


def without_period(made: Work) -> bytes:
    """The main workbook as somebody might have made it who does not state the period."""
    book = openpyxl.load_workbook(io.BytesIO(made.main.read_bytes()), data_only=True)
    assert book["Summary"]["A2"].value == "Period"
    book["Summary"].delete_rows(2)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def first_periods(view: PriorView, sheet: str) -> set[str]:
    return {row["first period"] for row in view.table(sheet, ("first period",))}


@pytest.mark.parametrize(
    ("kind", "sheet"), [("bank-reconciliation", "Carried"), ("inspection-control", "Carried lots")]
)
@pytest.mark.parametrize(
    ("periods", "taken_for"), [(["2025-12-22", "2026-01-05"], "2025-12-29"), (["2025-12", "2026-01"], "2025-12")]
)
def test_what_is_carried_is_of_the_priors_period(
    kind: str, sheet: str, periods: list[str], taken_for: str, tmp_path: Path
) -> None:
    """As the prior states it, also a fortnight earlier; not stated, it is the month or the week before."""
    done = chain((kind,), periods, 14, tmp_path)
    before, made = done[kind, periods[0]], done[kind, periods[1]]
    assert first_periods(made.view_from_bytes(), sheet) == {periods[0]}
    before.main.write_bytes(without_period(before))
    again = work(kind, made.inputs, made.period, tmp_path / "again", before)
    assert first_periods(again.view_from_bytes(), sheet) == {taken_for}
    assert again.stated == made.stated == recomputed(again, "view_from_bytes")


def test_a_prior_that_states_no_period_is_of_this_year(tmp_path: Path) -> None:
    before, made = chain(("records-digest",), ["2025-12-29", "2026-01-05"], 7, tmp_path).values()
    assert made.stated["Year to date total"] == made.stated["Total"]
    before.main.write_bytes(without_period(before))
    again = work("records-digest", made.inputs, made.period, tmp_path / "again", before)
    assert again.stated["Year to date total"] != again.stated["Total"]
    assert again.stated == recomputed(again, "view_from_bytes")


def test_every_workbook_states_its_period_first(finished: Finished) -> None:
    for (_, kind, period), made in finished.items():
        if made.main.suffix == ".xlsx":
            book = openpyxl.load_workbook(made.main)
            assert (book["Summary"]["A2"].value, book["Summary"]["B2"].value) == ("Period", period), kind
            assert "Period" not in made.stated


def test_work_of_a_monday_is_the_same_bytes_again(tmp_path: Path) -> None:
    """RULE 36, for periods that a Monday opens, a prior of the year before included."""
    for kind in ("records-digest", "contract-review", "inspection-control"):
        *_, once = chain((kind,), ["2025-12-29", "2026-01-05"], 7, tmp_path / "once").values()
        again = work(kind, once.inputs, once.period, tmp_path / "again" / kind, once.prior)
        assert again.files == once.files, kind
