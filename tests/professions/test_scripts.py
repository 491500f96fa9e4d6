"""The skill packs' scripts and the professions implement one page twice; here one is held against the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.professions.periods import span
from services.professions.registry import PROFESSIONS
from tests.professions.conftest import CLIENTS, MONTHS
from tests.professions.office import SKILLS, Work, faults_of, work

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


@pytest.mark.parametrize(
    ("kind", "days"), [("trial-monitoring", 14), ("inspection-control", 14), ("release-triage", 7)]
)
def test_weekly_and_fortnightly_work_agrees_too(kind: str, days: int, tmp_path: Path) -> None:
    """Periods named by a Monday, at the cadence that `registry.plan` gives the kind."""
    profession = PROFESSIONS[kind]
    prior: Work | None = None
    if "YYYY-MM-DD" not in (SKILLS / "_shared" / "officefile.py").read_text().split("--period", 1)[1].split("\n", 1)[0]:
        pytest.skip("the scripts take months alone so far")
    for number in range(3):
        period = span("2026-01-05", days).back(-number).name
        inputs = profession.by_name(profession.materials("Oakridge Devices", period, 8, days))
        made = work(kind, inputs, period, tmp_path / period, prior)
        assert made.stated == recomputed(made, "view_from_text")
        assert [str(fault) for fault in faults_of(made)] == []
        prior = made
