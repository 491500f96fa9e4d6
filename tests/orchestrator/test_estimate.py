"""`estimate`: what it rests on is said, and what was recorded is what it says."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.estimating import SHIPPED, working_days
from orchestrator.settings import read_settings
from simulator.businesstime import calendar_for
from simulator.events import CalendarRules
from tests.orchestrator.conftest import DAYS
from tests.orchestrator.support import JUNIPER, Desk

PRICED = {
    "OFFICETOWN_MODEL_URL": "http://127.0.0.1:9/v1", "OFFICETOWN_MODEL": "big",
    "OFFICETOWN_MODEL_PRICE_INPUT": "2", "OFFICETOWN_MODEL_PRICE_OUTPUT": "10",
}  # fmt: skip


def test_without_any_record_the_table_is_used_and_named(desk: Desk) -> None:
    found = desk.json("estimate", JUNIPER, "--days", "14")
    assert found["working_days"] == 10
    assert found["basis"]["offices"] == []
    for word in ("no office has worked here", "Juniper", "offline professional", "no model"):
        assert word in found["basis"]["text"]
    assert {role: line["calls"] for role, line in found["roles"].items()} == {
        role: rate.used.calls for role, rate in SHIPPED.rates.items()
    }, "measured on this very package, for this long"
    assert found["cost"] == {"micros": 0, "currency": "GBP"}


def test_a_record_of_the_same_package_gives_back_what_it_holds(worked: Desk) -> None:
    costs = worked.json("costs", "Juniper")
    found = worked.json("estimate", JUNIPER, "--days", str(DAYS))
    assert found["basis"]["offices"] == [costs["office"]]
    assert f"1 office of this very package: {12 * DAYS} person-days" in found["basis"]["text"]
    assert "played by the offline professional, which is no model" in found["basis"]["text"]
    assert found["calls"] == costs["calls"]
    assert found["tokens"] == {field: costs["tokens"][field] for field in ("input", "cached", "output")}
    twice = worked.json("estimate", JUNIPER, "--days", "8")
    assert twice["working_days"] == 6 and twice["calls"] == 2 * costs["calls"]


def test_a_record_of_another_package_is_used_and_said_to_be_one(copied: Desk, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(JUNIPER, other)
    path = other / "organization.yaml"
    path.write_text(path.read_text().replace("name: Juniper\n", "name: Elder\n"))
    assert copied("check", other, "--seal").code == 0
    found = copied.json("estimate", other, "--days", "3")
    assert len(found["basis"]["offices"]) == 1
    assert "other packages, none having been run of this one" in found["basis"]["text"]


def test_money_is_the_tokens_at_the_prices_that_are_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk = Desk(tmp_path, capsys, PRICED)
    found = desk.json("estimate", JUNIPER, "--days", "14")
    assert found["cost"]["micros"] == found["tokens"]["input"] * 2 + found["tokens"]["output"] * 10
    assert sum(line["micros"] for line in found["roles"].values()) == found["cost"]["micros"]
    shown = desk("estimate", JUNIPER, "--days", "14").out
    assert "big" in shown and "Basis: " in shown and "unknown" not in shown


def test_money_is_unknown_where_one_role_has_no_price_and_the_others_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = {"OFFICETOWN_ASSISTANT_MODEL_URL": "http://127.0.0.1:9/v1", "OFFICETOWN_ASSISTANT_MODEL": "unpriced"}
    desk = Desk(tmp_path, capsys, {**PRICED, **more})
    found = desk.json("estimate", JUNIPER, "--days", "14")
    assert found["cost"]["micros"] is None
    assert found["roles"]["assistant"]["micros"] is None and found["roles"]["principal"]["micros"] > 0
    assert "there is no price for unpriced" in desk("estimate", JUNIPER, "--days", "14").out


def test_an_estimate_asks_no_model_and_makes_no_office(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk = Desk(tmp_path, capsys, PRICED)
    assert desk("estimate", JUNIPER, "--days", "5").code == 0, "though nobody listens at the address"
    assert desk.json("offices") == {"offices": []}


def test_what_is_no_package_is_refused(desk: Desk, tmp_path: Path) -> None:
    assert desk("estimate", tmp_path, "--days", "5").code == 2
    assert desk("estimate", JUNIPER).code == 2
    assert desk("estimate", JUNIPER, "--days", "0").code == 2


@given(st.integers(0, 400), st.integers(0, 400))
def test_working_days_add_up(one: int, two: int) -> None:
    calendar = calendar_for(CalendarRules())
    first = date(2026, 1, 5)
    both = working_days(calendar, first, one + two)
    assert both == working_days(calendar, first, one) + working_days(
        calendar, date.fromordinal(first.toordinal() + one), two
    )
    assert both <= one + two


def test_the_table_has_the_roles_that_an_office_asks() -> None:
    assert set(SHIPPED.rates) == {"principal", "client", "assistant"}
    assert all(rate.person_days > 0 and rate.used.calls > 0 for rate in SHIPPED.rates.values())
    assert read_settings({}).model.offline
