"""Remake what is made in fixtures/juniper: its tables, its copies of the skill packs, its manifest.

Run it as `python -m tools.juniper`. The rest of the package is written by hand. Running this twice changes nothing.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from services.offline import ledgers
from services.packages.folder import seal
from services.professions.reconciliation import BankReconciliation
from simulator.randomness import Stream

ROOT = Path(__file__).resolve().parent.parent / "fixtures"
CLIENTS = {
    "riverbend": ("Riverbend Outdoor", 40),
    "oakridge": ("Oakridge Instruments", 60),
    "saltmarsh": ("Saltmarsh Hotels", 90),
}
STAFF = ("Elena Marsh", "Tomás Reyes", "Priya Raman", "Daniel Okafor", "Sofia Brandt", "Ben Whitlock", "Marcus Hale")
SUPPLIERS = ("Fellside Tents", "Corrie Boots", "Bracken Clothing", "Ridgeway Freight")
SEED = 2026


def tables() -> dict[str, str]:
    """Return the tables of Juniper's materials by their path below `materials`."""
    found: dict[str, str] = {}
    for client, (name, size) in CLIENTS.items():
        found[f"{client}/opening-trial-balance.csv"] = ledgers.trial_balance(Stream(SEED, client, "balance"), size)
        papers = BankReconciliation().materials(name, "2025-11", SEED)
        for file in ("bank.csv", "ledger.csv"):
            found[f"{client}/2025-11/{file}"] = papers[file]
    register = ledgers.invoices(Stream(SEED, "suppliers"), "2025-12", SUPPLIERS, 14, "S")
    found["riverbend/supplier-invoices-2025-12.csv"] = register
    found["riverbend/supplier-statement-2025-12.csv"] = ledgers.statement(register)
    found["firm/trial-balance.csv"] = ledgers.trial_balance(Stream(SEED, "firm", "balance"), 12)
    found["firm/timesheets-2025-12.csv"] = ledgers.timesheets(Stream(SEED, "time"), "2025-12", STAFF, 48)
    return found


def copy_packs(library: Path, target: Path) -> list[str]:
    """Copy every finished skill pack of the library; return their names."""
    shutil.rmtree(target, ignore_errors=True)
    names = sorted(path.parent.name for path in library.glob("*/SKILL.md"))
    for name in names:
        shutil.copytree(library / name, target / name, ignore=shutil.ignore_patterns("__pycache__", ".*", "*.pyc"))
    return names


def main() -> None:
    """Remake and seal the package."""
    folder = ROOT / "juniper"
    for path, text in tables().items():
        (folder / "materials" / path).write_text(text, "utf-8")
    copy_packs(ROOT / "skills", folder / "skills")
    seal(folder)


if __name__ == "__main__":
    main()
