"""Money: a budget that cannot be overspent, prices that round up, a ledger that adds up; and the gate."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from services.models.endpoint import Endpoint, Prices
from services.models.gate import Gate
from services.models.ledger import Budget, Ledger, Total, money, require_prices
from services.models.openai_chat import ChatWire, wire_message, wire_tool
from simulator.conversation import ModelRequest, ModelResponse, Usage
from simulator.errors import BudgetExhausted, UsageError
from tests.models.stories import ask, requests

LIMIT = 1_000


class Spending(RuleBasedStateMachine):
    """Any order of reserving and settling: spent and in flight together never exceed the limit."""

    def __init__(self) -> None:
        super().__init__()
        self.budget = Budget(LIMIT)
        self.flying: list[int] = []
        self.spent = 0

    @rule(worst=st.integers(0, 400))
    def reserve(self, worst: int) -> None:
        fits = self.spent + sum(self.flying) + worst <= LIMIT
        try:
            self.budget.reserve(worst, wait=False)
        except BudgetExhausted:
            assert not fits
        else:
            assert fits
            self.flying.append(worst)

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        worst = self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))
        actual = data.draw(st.integers(0, worst))
        self.budget.settle(worst, actual)
        self.spent += actual

    @invariant()
    def never_over(self) -> None:
        assert (self.budget.spent, self.budget.in_flight) == (self.spent, sum(self.flying))
        assert self.budget.spent + self.budget.in_flight <= LIMIT


TestSpending = Spending.TestCase


def test_a_caller_waits_for_what_is_in_flight() -> None:
    """The worst case of a call is many times its cost: giving up while others fly would leave money unused."""
    budget = Budget(100)
    budget.reserve(80)
    got = threading.Event()

    def second() -> None:
        budget.reserve(60)
        got.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert not got.wait(0.02)
    budget.settle(80, 5)
    thread.join(60)
    assert got.is_set()
    assert (budget.spent, budget.in_flight) == (5, 60)


def test_with_nothing_in_flight_it_gives_up_and_says_what_to_do() -> None:
    budget = Budget(2_000_000, spent_micros=1_500_000)
    with pytest.raises(BudgetExhausted, match="leaves 0.5000, and the next model call may cost up to 0.7000") as caught:
        budget.reserve(700_000)
    assert caught.value.exit_code == 3


def test_threads_never_exceed_the_limit() -> None:
    budget = Budget(5_000)
    over: list[int] = []

    def work(_n: int) -> int:
        done = 0
        while True:
            try:
                budget.reserve(97)
            except BudgetExhausted:
                return done
            if budget.spent + budget.in_flight > 5_000:
                over.append(1)
            budget.settle(97, 13)
            done += 1

    with ThreadPoolExecutor(6) as pool:
        done = sum(pool.map(work, range(6)))
    assert over == []
    assert budget.spent == 13 * done
    assert 5_000 - 97 < budget.spent <= 5_000


def test_no_limit_counts_all_the_same() -> None:
    budget = Budget(None)
    budget.reserve(10**12)
    budget.settle(10**12, 7)
    assert budget.spent == 7
    with pytest.raises(UsageError):
        Budget(-1)


@pytest.mark.parametrize(
    ("used", "cost"),
    [
        (Usage(1_000_000, 0, 0), 2_000_000),
        (Usage(1_000_000, 1_000_000, 0), 500_000),
        (Usage(0, 0, 1_000_000, 900_000), 8_000_000),
        (Usage(1, 0, 0), 2),
        (Usage(1, 1, 0), 1),
        (Usage(10, 99, 0), 5),
        (Usage(), 0),
    ],
)
def test_prices(used: Usage, cost: int) -> None:
    """Micros per million tokens, cached input apart, reasoning within output, a part of a micro rounded up."""
    assert Prices(input=2_000_000, output=8_000_000, cached=500_000).cost(used) == cost


@given(requests())
def test_the_worst_case_is_at_least_a_token_a_byte(request_: ModelRequest) -> None:
    endpoint = Endpoint("http://127.0.0.1/v1", "m", prices=Prices(1_000_000, 1_000_000))
    body = [wire_message(message, endpoint) for message in request_.messages], [wire_tool(t) for t in request_.tools]
    worst = endpoint.worst_usage(request_)
    assert worst.input >= len(json.dumps(body, ensure_ascii=False).encode())
    assert worst.output == request_.max_output
    assert endpoint.worst_cost(request_) == worst.input + worst.output


@given(requests(), st.integers(0, 10_000), st.integers(0, 3))
def test_a_limit_of_the_endpoint_bounds_the_worst_case_and_never_raises_it(
    request_: ModelRequest, limit: int, repairs: int
) -> None:
    free = Endpoint("http://127.0.0.1/v1", "m", prices=Prices(1_000_000, 1_000_000))
    bound = msgspec.structs.replace(free, max_output=limit)
    asked = bound.bounded(request_)
    assert asked.max_output == (min(limit, request_.max_output) if limit else request_.max_output)
    assert msgspec.structs.replace(asked, max_output=request_.max_output) == request_
    assert bound.worst_usage(request_, repairs) == free.worst_usage(asked, repairs)
    assert bound.worst_usage(request_, repairs).output == (repairs + 1) * asked.max_output
    assert bound.worst_cost(request_, repairs) <= free.worst_cost(request_, repairs)


def test_a_structured_answer_reserves_its_repairs() -> None:
    wire = ChatWire(
        Endpoint("http://127.0.0.1/v1", "m", prices=Prices(1_000_000, 1_000_000)),
        now=lambda: 0.0,
        monotonic=lambda: 0.0,
    )
    plain, structured = ask(), ask(schema={"type": "object"})
    wire.close()
    assert wire.worst_cost(structured) > 3 * wire.worst_cost(plain)


def test_a_money_budget_without_a_price_is_refused() -> None:
    free, priced = Endpoint("u", "m"), Endpoint("u", "m", prices=Prices(1, 1))
    require_prices(None, {"judge": free})
    require_prices(5, {"judge": priced})
    with pytest.raises(UsageError, match="none for: client, judge"):
        require_prices(5, {"judge": free, "client": free, "world": priced})


def test_money_is_shown_in_four_places() -> None:
    assert [money(n) for n in (0, 49, 50, 20_000_000, -1_234_567)] == [
        "0.0000",
        "0.0000",
        "0.0001",
        "20.0000",
        "-1.2346",
    ]


def test_the_ledger_groups_as_it_is_asked_to() -> None:
    ledger = Ledger()
    for session, activation, cost in (("s-b", "b/1", 3), ("s-a", "a/1", 5), ("s-a", "a/2", 7)):
        response = ModelResponse("x", usage=Usage(10, 4, 2, 1), cost_micros=cost)
        ledger.add(ask(session=session, activation=activation), response, 2, ("server",))
    assert [entry.activation for entry in ledger.entries()] == ["a/1", "a/2", "b/1"]
    by_person = ledger.totals(by=lambda entry: entry.session)
    assert list(by_person) == ["s-a", "s-b"]
    assert by_person["s-a"] == Total(2, 4, 20, 8, 4, 2, 12)
    assert ledger.totals() == {"principal": Total(3, 6, 30, 12, 6, 3, 15)}


# -- the gate --------------------------------------------------------------------------------------------------------


def test_the_gate_halves_and_grows_by_one_a_round() -> None:
    gate = Gate(8)
    for _ in range(9):
        gate.was_limited()
    assert gate.limit == 1
    rounds = 0
    while gate.limit < 4:
        gate.went_well()
        rounds += 1
    assert rounds <= 1 + 2 + 3 + 2
    for _ in range(200):
        gate.went_well()
    assert gate.limit == 8


def test_no_more_than_the_limit_are_inside() -> None:
    gate = Gate(6, start=3)
    inside = 0
    most = 0
    lock = threading.Lock()
    full = threading.Barrier(3)

    def work(number: int) -> None:
        nonlocal inside, most
        with gate.slot():
            with lock:
                inside += 1
                most = max(most, inside)
            if number < 3:
                full.wait(5)
            with lock:
                inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(30)))
    assert most == 3


def test_a_place_is_given_back_after_an_error() -> None:
    gate = Gate(1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), gate.slot():
            raise ZeroDivisionError
    with pytest.raises(ValueError, match="need 1 <= lowest <= highest"):
        Gate(0)


class GateMachine(RuleBasedStateMachine):
    """A gate against the plainest account of it: who is inside, and a limit that grows by one a round and halves."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate(9, lowest=2)
        self.inside: list[ExitStack] = []
        self.limit = 9.0

    @precondition(lambda self: len(self.inside) < self.gate.limit)
    @rule()
    def enter(self) -> None:
        stack = ExitStack()
        stack.enter_context(self.gate.slot())
        self.inside.append(stack)

    @precondition(lambda self: self.inside)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        self.inside.pop(data.draw(st.integers(0, len(self.inside) - 1))).close()

    @rule()
    def succeed(self) -> None:
        self.gate.went_well()
        self.limit = min(9.0, self.limit + 1 / self.limit)

    @rule()
    def be_limited(self) -> None:
        self.gate.was_limited()
        self.limit = max(2.0, self.limit / 2)

    @invariant()
    def bounds_hold(self) -> None:
        assert 2 <= self.gate.limit == int(self.limit) <= 9

    @precondition(lambda self: len(self.inside) >= self.gate.limit)
    @rule()
    def wait_until_there_is_room(self) -> None:
        """Those inside when the limit fell stay; nobody else comes in before enough of them have left."""
        entered = threading.Event()

        def come() -> None:
            with self.gate.slot():
                entered.set()

        waiting = threading.Thread(target=come)
        waiting.start()
        while len(self.inside) >= self.gate.limit:
            assert not entered.is_set()
            self.inside.pop().close()
        assert entered.wait(60)
        waiting.join(60)

    def teardown(self) -> None:
        for stack in self.inside:
            stack.close()


TestGate = GateMachine.TestCase
