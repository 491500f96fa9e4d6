"""The skill packs' scripts and the professions are two implementations of one page; here one is held against the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.professions.registry import PROFESSIONS
from tests.professions.office import Work, months

MONTHS = ["2025-11", "2025-12", "2026-01", "2026-02"]


def recomputed(made: Work, how: str) -> dict[str, str]:
    prior = None if made.prior is None else getattr(made.prior, how)()
    others = {name: getattr(other, how)() for name, other in made.others.items()}
    return made.profession.figures(made.period, made.inputs, prior, others)


@pytest.mark.parametrize("client", ["Riverbend Outdoor", "Oakridge Devices"])
@pytest.mark.parametrize("kind", PROFESSIONS)
def test_a_script_states_what_the_profession_recomputes_period_after_period(
    kind: str, client: str, tmp_path: Path
) -> None:
    finance = ["bank-reconciliation", "variance-analysis", "management-pack"]
    chain = finance[: finance.index(kind) + 1] if kind in finance else [kind]
    for made in months(client, 11, MONTHS, tmp_path, chain):
        if made.profession.kind == kind:
            assert made.stated == recomputed(made, "view_from_bytes"), f"{kind} {made.period}, from bytes"
            assert made.stated == recomputed(made, "view_from_text"), f"{kind} {made.period}, from rendered text"
