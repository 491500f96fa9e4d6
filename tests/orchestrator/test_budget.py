"""Money: a budget truly stops, at a commit, and what got no answer is charged for what it was (RULE 2, DESIGN 10)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.metering import Failures, Metered
from orchestrator.settings import micros, read_settings
from services.models.classify import Fault
from services.models.endpoint import Prices
from services.models.http_server import serve
from services.offline import OfflineProfessional
from services.storage.memory import MemoryJournal
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.engine.environment import Parked
from simulator.errors import BudgetExhausted, ModelOutage, UsageError
from tests.orchestrator.support import JUNIPER, Desk

PRICED = {"OFFICETOWN_MODEL_PRICE_INPUT": "2.50", "OFFICETOWN_MODEL_PRICE_OUTPUT": "10"}


class Account:
    """The offline professional behind an endpoint whose credit may run out; counts what it answers and bills."""

    def __init__(self) -> None:
        self.credit = 10**9
        self.asked = 0
        self.billed = 0.0
        self._model = OfflineProfessional()
        self._lock = threading.Lock()

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer while there is credit."""
        with self._lock:
            if self.asked >= self.credit:
                raise BudgetExhausted("this account is out of credit")
            self.asked += 1
        answer = self._model.complete(request)
        with self._lock:
            self.billed += answer.usage.input * 2.5 + answer.usage.output * 10
        return answer


@pytest.fixture
def endpoint() -> Iterator[tuple[Account, dict[str, str]]]:
    """A served model and the variables that name it, prices aside."""
    model = Account()
    with serve(model) as server:
        yield model, {"OFFICETOWN_MODEL_URL": server.url, "OFFICETOWN_MODEL": "officetown"}


def test_a_run_costs_what_its_tokens_cost_and_costs_adds_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], endpoint: tuple[Account, dict[str, str]]
) -> None:
    desk = Desk(tmp_path, capsys, {**endpoint[1], **PRICED})
    ran = desk.json("run", JUNIPER, "--days", "1", "--seed", "1")
    costs = desk.json("costs", "Juniper")
    exact = costs["tokens"]["input"] * 2.5 + costs["tokens"]["output"] * 10
    assert ran["cost"] == costs["cost"]
    assert exact <= costs["cost"]["micros"] <= exact + costs["calls"]
    assert sum(used["micros"] for used in costs["by_person"].values()) == costs["cost"]["micros"]
    assert endpoint[0].asked == costs["calls"]


def test_a_budget_stops_the_run_with_exit_3_and_a_larger_one_goes_on_to_the_same_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], endpoint: tuple[Account, dict[str, str]]
) -> None:
    desk = Desk(tmp_path, capsys, {**endpoint[1], **PRICED})
    whole = desk.json("run", JUNIPER, "--days", "1", "--seed", "1", "--name", "Whole", "--no-check")
    limit = whole["cost"]["micros"] * 3 // 4
    stopped = desk(
        "run", JUNIPER, "--days", "1", "--seed", "1", "--name", "Part", "--budget", f"{limit / 1e6:.6f}", "--json",
        "--no-check",
    )  # fmt: skip
    assert stopped.code == 3
    assert "--budget MORE" in stopped.err and "the budget of" in stopped.err
    part = stopped.result
    assert 0 < part["cost"]["micros"] <= limit
    assert part["revision"] < whole["revision"]
    assert desk("run", "Part", "--days", "1", "--no-check", "--budget", f"{limit / 1e6:.6f}").code == 3, (
        "what was spent stays spent"
    )
    assert desk.json("costs", "Part")["cost"]["micros"] <= limit
    went_on = desk.json("run", "Part", "--days", "1", "--budget", "100", "--no-check")
    assert went_on["hash"] == whole["hash"]
    assert went_on["cost"] == whole["cost"], "no call was paid for twice, and none that was never made"


def test_what_the_server_bills_never_exceeds_the_budget_the_calls_beforehand_included(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], endpoint: tuple[Account, dict[str, str]]
) -> None:
    """RULE 2: what is in flight counts at its worst case; each run asks once before it starts, and that is paid too."""
    desk = Desk(tmp_path, capsys, {**endpoint[1], **PRICED})
    reference = JUNIPER
    for _ in range(3):
        said = desk("run", reference, "--days", "1", "--budget", "0.3", "--concurrency", "6", "--json")
        assert said.code == 3
        assert 0 < endpoint[0].billed <= said.result["cost"]["micros"] <= 300_000
        reference = "Juniper"
    costs = desk.json("costs", "Juniper")
    assert costs["by_person"]["check"]["calls"] == 3
    assert costs["calls"] >= endpoint[0].asked, "what was begun and found too dear is in the ledger, at nothing"


def test_a_budget_without_prices_is_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], endpoint: tuple[Account, dict[str, str]]
) -> None:
    desk = Desk(tmp_path, capsys, endpoint[1])
    said = desk("run", JUNIPER, "--budget", "5")
    assert said.code == 2
    assert "OFFICETOWN_MODEL_PRICE_INPUT" in said.err and "officetown.toml" in said.err
    assert desk.json("offices") == {"offices": []}
    assert endpoint[0].asked == 0


def test_the_offline_professional_is_free_so_any_budget_is_enough(desk: Desk) -> None:
    assert desk.json("run", JUNIPER, "--days", "1", "--budget", "0")["cost"]["micros"] == 0


def test_an_endpoint_out_of_credit_stops_the_run_with_exit_4_and_later_it_goes_on_to_the_same_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], endpoint: tuple[Account, dict[str, str]]
) -> None:
    """RULE 3: an outage stops the clock, not the people."""
    desk = Desk(tmp_path, capsys, {**endpoint[1], **PRICED})
    whole = desk.json("run", JUNIPER, "--days", "1", "--seed", "1", "--name", "Whole", "--no-check")
    endpoint[0].credit = endpoint[0].asked + 20
    stopped = desk("run", JUNIPER, "--days", "1", "--seed", "1", "--name", "Part", "--json", "--no-check")
    assert stopped.code == 4
    assert "officetown run" in stopped.err
    assert desk.json("costs", "Part")["cost"] == stopped.result["cost"]
    assert 0 < stopped.result["cost"]["micros"] < whole["cost"]["micros"]
    endpoint[0].credit = 10**9
    went_on = desk.json("run", "Part", "--days", "1", "--no-check")
    assert (went_on["hash"], went_on["cost"]) == (whole["hash"], whole["cost"])


def test_waiting_for_an_endpoint_that_nobody_listens_at_ends_with_a_signal_and_costs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    variables = {"OFFICETOWN_MODEL_URL": "http://127.0.0.1:9/v1", "OFFICETOWN_MODEL": "m", **PRICED}
    desk = Desk(tmp_path, capsys, variables)
    house = desk.house()
    house.stop.signal = 15  # stops the waiting between attempts, which would take half an hour
    said = desk("run", JUNIPER, "--days", "1", "--no-check", "--json", make=lambda: house)
    assert said.code == 143
    assert said.result["cost"]["micros"] == 0
    assert "officetown run" in said.err


# -- metering ---------------------------------------------------------------------------------------------------------


def request(ordinal: int = 1) -> ModelRequest:
    """A request."""
    return ModelRequest("principal", ("elena.1", ordinal), "s", (Message("user", "hello"),))


class Failing:
    """A model that raises."""

    def __init__(self, fault: BaseException) -> None:
        self._fault = fault

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Raise."""
        raise self._fault


@pytest.mark.parametrize("fault", [ModelOutage("down"), Parked()])
def test_a_call_without_an_answer_is_charged_its_billable_attempts(fault: BaseException) -> None:
    journal, failures = MemoryJournal(), Failures(lambda _request: 70)
    journal.begin_call(request(), 70)
    assert journal.charged_micros() == 70
    failures.on_fault(request(), Fault("server", True, billable=False), 1)
    with pytest.raises(type(fault)):
        Metered(Failing(fault), journal, failures).complete(request())  # type: ignore[arg-type]
    assert journal.charged_micros() == 0
    failures.on_fault(request(), Fault("timeout", True, billable=True), 1)
    failures.on_fault(request(), Fault("timeout", True, billable=True), 2)
    with pytest.raises(type(fault)):
        Metered(Failing(fault), journal, failures).complete(request())  # type: ignore[arg-type]
    assert journal.charged_micros() == 140
    assert failures.take(request()) == 0


# -- amounts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "amount"), [("0", 0), ("2.50", 2_500_000), (" 1e-6 ", 1), ("0.0000001", 1), ("12", 12_000_000)]
)
def test_an_amount_of_money_is_read_exactly_and_rounded_up(text: str, amount: int) -> None:
    assert micros(text, "x") == amount


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "1,5", "1e400", "one"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--budget"):
        micros(text, "--budget")


def test_prices_are_read_from_the_environment() -> None:
    assert read_settings(PRICED).model.prices == Prices(2_500_000, 10_000_000)
    assert read_settings({}).model.prices is None


def test_no_representation_of_the_settings_shows_the_key() -> None:
    found = read_settings(
        {"OFFICETOWN_MODEL_URL": "http://x/v1", "OFFICETOWN_MODEL": "m", "OFFICETOWN_MODEL_KEY": "sesame"}
    )
    assert found.model.key == "sesame"
    assert "sesame" not in repr(found) + repr(found.model.endpoint())
