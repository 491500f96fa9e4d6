"""Juniper: the numbers it promises, and that it says only what is so."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from services.packages.folder import read_package
from services.packages.occupations import OccupationIndex
from simulator.businesstime import calendar_for
from simulator.package import Package, default_audience
from simulator.package_records import check_records
from simulator.view import view
from tests.packages.opening import opened
from tools.juniper import tables

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture(scope="module")
def juniper() -> Package:
    return read_package(FIXTURES / "juniper")


def test_the_numbers_of_the_firm(juniper: Package) -> None:
    organization = juniper.organization
    assert len(juniper.people) == 12
    assert len(organization.departments) == 7
    assert sum(1 for card in juniper.people if card.manager) == 11
    assert len(organization.clients) == 3
    assert len(juniper.materials) == 27
    assert (organization.start.isoformat(), organization.start.weekday()) == ("2026-01-05", 0)
    assert organization.calendar.zone == "Europe/London"


def test_the_people_of_the_story(juniper: Package) -> None:
    cards = {card.id: card for card in juniper.people}
    departments = {d.id: d.name for d in juniper.organization.departments}
    told = {who: (cards[who].title, departments[cards[who].department]) for who in ("elena", "daniel", "quinn", "dev")}
    assert told == {
        "elena": ("Engagement manager", "Client Services"),
        "daniel": ("Senior accountant", "Assurance"),
        "quinn": ("Quality reviewer", "Risk"),
        "dev": ("Data lead", "Operations"),
    }
    riverbend = juniper.organization.clients[0]
    assert (riverbend.name, riverbend.contacts[0].id) == ("Riverbend Outdoor", "maya")
    assert "client_release" in cards["elena"].authority and "client_release" not in cards["daniel"].authority
    assert [card.id for card in juniper.people if "quality_signoff" in card.authority] == ["quinn"]


def test_most_accountants_are_on_one_team_and_quality_is_on_all(juniper: Package) -> None:
    teams = [matter for matter in juniper.organization.matters if matter.client]
    count = Counter(member for team in teams for member in team.members)
    assert count.pop("quinn") == 3
    assert set(count.values()) == {1}
    assert [team.lead for team in teams] == ["elena", "tomas", "priya"]


def test_the_demands_of_181_days_are_enough(juniper: Package) -> None:
    arrivals = {"monthly": 6, "fortnightly": 13, "weekly": 26}
    total = sum(arrivals[demand.cadence] for demand in juniper.demands)
    inside = [entry for entry in juniper.rhythms if entry.work]
    assert total + 26 * len(inside) >= 170
    order = {demand.kind: demand.day for demand in juniper.demands if demand.matter == "riverbend-close"}
    assert order["bank-reconciliation"] < order["variance-analysis"] < order["management-pack"]


def test_reconciliation_variance_and_pack_are_each_covered_below_the_lead(juniper: Package) -> None:
    cards = {card.id: card for card in juniper.people}
    matters = {matter.id: matter for matter in juniper.organization.matters}
    for demand in juniper.demands:
        matter = matters[demand.matter]
        able = [
            m for m in matter.members if demand.kind in cards[m].skills and "quality_signoff" not in cards[m].authority
        ]
        assert set(able) - {matter.lead}, f"{demand.id}: only the lead could do it"


def test_client_papers_stay_in_their_team(juniper: Package) -> None:
    for material in juniper.materials:
        if material.matter not in ("", "firm"):
            assert material.level == "confidential"
            assert default_audience(material.space) == (f"matter:{material.matter}",) and material.audience is None


def test_the_ledgers_balance_and_the_index_knows_every_code(juniper: Package) -> None:
    kinds = Counter(material.records for material in juniper.materials if material.records)
    assert kinds["trial-balance"] == 4 and kinds["bank"] == kinds["ledger"] == 3
    assert kinds["invoices"] == kinds["statement"] == kinds["timesheets"] == 1
    assert list(check_records(juniper.materials, juniper.files)) == []
    assert {card.code for card in juniper.people} <= OccupationIndex.load().codes


def test_the_made_parts_are_what_the_tool_makes(juniper: Package) -> None:
    """Run `python -m tools.juniper` after a change to a skill pack or to a profession's materials."""
    for path, text in tables().items():
        assert juniper.files[f"materials/{path}"].decode() == text, path
    for pack in juniper.skills:
        for path in pack.paths:
            assert juniper.files[path] == (FIXTURES / path).read_bytes(), path


def test_opened_everyone_sees_what_is_theirs_and_nothing_of_another_team(juniper: Package) -> None:
    office = opened(juniper)
    riverbend = {f"{m.space}/{m.path}" for m in juniper.materials if m.matter == "riverbend-close"}
    shared = {f"{m.space}/{m.path}" for m in juniper.materials if m.space == "company"}

    def sees(who: str) -> set[str]:
        return {f"{seen.space}/{office.files[seen.ref.file].path}" for seen in view(office, who).files()}

    assert sees("daniel") == riverbend | shared | {"home:daniel/Notes/Working Style.md"}
    assert sees("sofia") & riverbend == set() and shared < sees("sofia")
    assert sees("hannah") == shared | {f"matter:firm/{m.path}" for m in juniper.materials if m.matter == "firm"}
    assert sees("maya") == set()


def test_the_story_begins_on_the_first_morning(juniper: Package) -> None:
    for seed in range(5):
        office = opened(juniper, seed)
        first = calendar_for(office.calendar).describe(office.timers["demand:riverbend-reconciliation"].at)
        assert first.startswith("Monday 5 January 2026, ")
        assert len([key for key in office.timers if key.startswith("demand:")]) == len(juniper.demands)
