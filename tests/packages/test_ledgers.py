"""Seed records that are made add up, whatever the draw; records that are altered do not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.offline import ledgers
from services.packages.library import WORK_KINDS, general_packs, shelf
from simulator.package import Material
from simulator.package_records import check_records, money
from simulator.randomness import Stream

MONTHS = st.builds(lambda year, month: f"{year}-{month:02d}", st.integers(2000, 2090), st.integers(1, 12))


def troubles(files: dict[str, tuple[str, str, str]]) -> list[tuple[str, int, str]]:
    """Check files given as name -> (records, text, period); a statement ties to `invoices`."""
    materials = [
        Material(name, "company", name, "ana", "synthetic", records=records, period=period,  # type: ignore[arg-type]
                 ties="invoices" if records == "statement" else "")
        for name, (records, _, period) in files.items()
    ]  # fmt: skip
    return list(check_records(materials, {f"materials/{name}": text.encode() for name, (_, text, _) in files.items()}))


@given(seed=st.integers(0, 2**32), size=st.integers(1, 500), month=MONTHS, count=st.integers(1, 40))
def test_what_is_made_adds_up(seed: int, size: int, month: str, count: int) -> None:
    draw = Stream(seed, "ledger")
    register = ledgers.invoices(draw, month, ("Oak", "Elm, Ltd"), count, "S")
    files = {
        "balance": ("trial-balance", ledgers.trial_balance(draw, size), ""),
        "journal": ("journal", ledgers.journal(draw, month, count, "J"), month),
        "invoices": ("invoices", register, month),
        "statement": ("statement", ledgers.statement(register), month),
        "hours": ("timesheets", ledgers.timesheets(draw, month, ("Ana", "Bo"), count), month),
    }
    assert troubles(files) == []


@given(seed=st.integers(0, 2**32), row=st.integers(1, 11), cents=st.integers(1, 10**6))
def test_one_altered_amount_unbalances_a_ledger(seed: int, row: int, cents: int) -> None:
    lines = ledgers.trial_balance(Stream(seed, "ledger"), 12).splitlines()
    cells = lines[row].split(",")
    cells[2] = money(int(cells[2].replace(".", "")) + cents)
    lines[row] = ",".join(cells)
    found = troubles({"balance": ("trial-balance", "\n".join(lines), "")})
    assert [(file, line) for file, line, _ in found] == [("materials/balance", len(lines))]
    assert "does not balance" in found[0][2]


def test_a_statement_that_leaves_an_invoice_out_is_told() -> None:
    register = ledgers.invoices(Stream(1, "x"), "2026-01", ("Oak",), 5, "S")
    short = "\n".join(ledgers.statement(register).splitlines()[:-1]) + "\n"
    found = troubles({"invoices": ("invoices", register, ""), "statement": ("statement", short, "")})
    assert len(found) == 1 and "is missing here" in found[0][2]


def test_money_is_written_in_minor_units() -> None:
    assert [money(cents) for cents in (0, 5, -5, 100, -12345)] == ["0.00", "0.05", "-0.05", "1.00", "-123.45"]


def test_the_shelf_has_a_pack_for_every_kind_of_work_and_general_ones() -> None:
    packs = shelf()
    assert set(WORK_KINDS) <= set(packs)
    assert len(general_packs()) >= 4
    for name, files in packs.items():
        assert f"name: {name}".encode() in files["SKILL.md"]
        assert not any("__pycache__" in path or path.startswith(".") for path in files)
