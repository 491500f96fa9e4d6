"""RULE 3: faults are waited out in wall time; past the deadline the run stops; one request's end is its answer."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.models.classify import Fault
from services.models.endpoint import Endpoint, Prices
from services.models.gate import Gate
from services.models.ledger import Budget, Ledger
from services.models.retry import Retrying, RetryPolicy
from services.models.scripted import Answer, Scripted, fault, say
from simulator.conversation import ModelRequest, ModelResponse, Usage
from simulator.errors import BudgetExhausted, ModelOutage
from tests.models import cases
from tests.models.cases import Case
from tests.models.faultserver import FaultServer
from tests.models.stories import Clock, ask, wire_for

Script = Sequence[Answer] | dict[Any, Any]


def retrying(script: Script, clock: Clock | None = None, **more: Any) -> tuple[Retrying, Scripted, Clock]:
    """Return the loop over a script, on a clock that only its own sleeping moves, with jitter at its middle."""
    clock = clock or Clock()
    inner = Scripted(script)
    options = {"uniform": lambda: 0.5, **more}
    return Retrying(inner, monotonic=clock.monotonic, sleep=clock.sleep, **options), inner, clock


def test_retryable_faults_are_waited_out() -> None:
    model, _, clock = retrying([fault("server"), fault("connection"), fault("cut"), say("at last")])
    assert model.complete(ask()).content == "at last"
    assert clock.slept == [0.25, 0.5, 1.0]


def test_jitter_is_full_and_under_the_cap() -> None:
    draws = random.Random(3)
    policy = RetryPolicy(deadline_s=1e9, cap_s=8.0)
    model, _, clock = retrying([fault("server")] * 40 + [say("ok")], uniform=draws.random, policy=policy)
    model.complete(ask())
    roofs = [min(8.0, 0.5 * 2**n) for n in range(40)]
    assert all(0 <= slept < roof for slept, roof in zip(clock.slept, roofs, strict=True))
    assert max(clock.slept) > 7 and min(clock.slept[5:]) < 1


def test_the_wait_that_the_provider_asks_for_is_kept() -> None:
    model, _, clock = retrying([fault("rate_limit", retry_after_s=30.0), say("ok")])
    model.complete(ask())
    assert 30.0 <= clock.slept[0] <= 30.5


def test_rule_3_past_the_deadline_the_run_stops_with_exit_4() -> None:
    model, inner, clock = retrying({"*": fault("server")}, policy=RetryPolicy(deadline_s=100.0))
    with pytest.raises(ModelOutage, match="run again when it is back") as caught:
        model.complete(ask())
    assert caught.value.exit_code == 4
    assert 60 < clock.at <= 100
    assert len(inner.asked) == len(clock.slept) + 1


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    model, _, clock = retrying([fault("rate_limit", retry_after_s=7200.0)])
    with pytest.raises(ModelOutage, match="the next not before 7200 s"):
        model.complete(ask())
    assert clock.slept == []


@pytest.mark.parametrize("kind", ["auth", "quota", "not_found", "misconfigured"])
def test_what_no_request_can_get_past_stops_the_run_at_once(kind: Any) -> None:
    model, inner, clock = retrying({"*": fault(kind, retryable=False)})
    with pytest.raises(ModelOutage):
        model.complete(ask())
    assert (len(inner.asked), clock.slept) == (1, [])


def test_rule_3_the_terminal_fault_of_one_request_is_its_answer() -> None:
    """RULE 37: the reason holds no provider text, for it enters the tape and a person's view."""
    secret = Fault("bad_request", False, detail="pydantic 2.14 says: /srv/model/x.py")
    model, _, _ = retrying([secret, say("the next one")])
    lost = model.complete(ask())
    assert lost == ModelResponse(finish="unavailable", detail="the model endpoint refused this request as malformed")
    assert model.complete(ask(ordinal=1)).content == "the next one"


@pytest.mark.parametrize("kind", ["empty", "bad_shape"])
def test_answers_without_an_answer_are_bounded(kind: Any) -> None:
    """One odd request must not hold the office until the deadline, again after each resume."""
    model, inner, _ = retrying({"s-elena": fault(kind), "*": say("fine")})
    assert model.complete(ask()).finish == "unavailable"
    assert len(inner.asked) == 4
    assert model.complete(ask(session="s-daniel")).content == "fine"


def test_an_endpoint_that_loses_every_request_is_taken_for_dead() -> None:
    """Otherwise an instant clock would burn months of `unavailable` in seconds."""
    model, _, _ = retrying({"s-lucky": say("ok"), "*": fault("bad_request", retryable=False)})
    for number in range(9):
        assert model.complete(ask(ordinal=number)).finish == "unavailable"
    assert model.complete(ask(session="s-lucky")).content == "ok"
    for number in range(9):
        assert model.complete(ask(ordinal=number)).finish == "unavailable"
    with pytest.raises(ModelOutage, match="10 requests in a row were lost"):
        model.complete(ask())


@pytest.mark.parametrize("finish", ["overflow", "refusal", "length"])
def test_overflow_refusal_and_truncation_are_results(finish: Any) -> None:
    model, inner, _ = retrying([ModelResponse(finish=finish)])
    assert model.complete(ask()).finish == finish
    assert len(inner.asked) == 1


def test_billed_failures_are_charged_and_the_ledger_says_so() -> None:
    """A billed failure is charged at its worst case; one that was refused at the door costs nothing."""
    budget, ledger = Budget(10_000), Ledger()
    script: list[Answer] = [
        Fault("cut", True, billable=True),
        fault("rate_limit"),
        ModelResponse("ok", usage=Usage(10, 0, 2), cost_micros=30, model="m"),
    ]
    told: list[tuple[str, int]] = []
    model, _, _ = retrying(
        script,
        budget=budget,
        ledger=ledger,
        worst_cost=lambda _request: 500,
        on_fault=lambda _request, shown, attempt: told.append((shown.kind, attempt)),
    )
    assert model.complete(ask()).cost_micros == 530
    assert (budget.spent, budget.in_flight) == (530, 0)
    assert told == [("cut", 1), ("rate_limit", 2)]
    (entry,) = ledger.entries()
    assert (entry.attempts, entry.faults, entry.cost_micros) == (3, ("cut", "rate_limit"), 530)


def test_an_answer_says_how_long_its_own_attempt_took() -> None:
    """Waits between attempts are the endpoint's trouble, and told as faults; they are no part of its latency."""
    clock = Clock()

    class Slow:
        def attempt(self, request: ModelRequest) -> ModelResponse | Fault:
            clock.sleep(2.5)
            return fault("server") if len(clock.slept) < 2 else say("the answer")

    model = Retrying(Slow(), monotonic=clock.monotonic, sleep=clock.sleep, uniform=lambda: 0.5)
    answer = model.complete(ask())
    assert clock.slept == [2.5, 0.25, 2.5]
    assert (answer.latency_ms, answer.on_record().latency_ms) == (2500, 0)


def test_an_attempt_that_dies_is_charged_at_its_worst() -> None:
    def die(_request: ModelRequest) -> ModelResponse:
        raise KeyboardInterrupt

    budget = Budget(10_000)
    model, _, _ = retrying([die], budget=budget, worst_cost=lambda _request: 500)
    with pytest.raises(KeyboardInterrupt):
        model.complete(ask())
    assert (budget.spent, budget.in_flight) == (500, 0)


def test_the_budget_stops_before_the_call() -> None:
    model, inner, _ = retrying([say("never")], budget=Budget(499), worst_cost=lambda _request: 500)
    with pytest.raises(BudgetExhausted):
        model.complete(ask())
    assert inner.asked == ()


def test_the_gate_learns_from_what_comes_back() -> None:
    gate = Gate(8)
    model, _, _ = retrying([fault("rate_limit"), fault("rate_limit"), say("ok")], gate=gate)
    model.complete(ask())
    assert gate.limit == 2


@given(st.lists(st.sampled_from(["server", "rate_limit", "timeout", "cut", "not_json"]), max_size=12))
def test_any_recoverable_faults_end_in_the_same_answer(kinds: list[Any]) -> None:
    model, _, _ = retrying([*(fault(kind) for kind in kinds), say("the answer")])
    assert model.complete(ask()).on_record() == say("the answer")


# -- over real HTTP --------------------------------------------------------------------------------------------------

RECOVERABLE = [c for c in cases.ALL if c.retryable and c.how in ("whole", "close", "half_body") and c.outcome != "auth"]
PRICES = Prices(input=2_000_000, output=8_000_000)


def over_http(server: FaultServer, clock: Clock, **more: Any) -> tuple[Retrying, Callable[[], None]]:
    wire = wire_for(Endpoint(server.url, "m", prices=PRICES), clock.monotonic)
    options = {"uniform": lambda: 0.5, "worst_cost": wire.worst_cost, **more}
    return Retrying(wire, monotonic=clock.monotonic, sleep=clock.sleep, **options), wire.close


def good(body: dict[str, Any]) -> Case:
    """Answer a request with its own last words, and usage that depends on them."""
    said = body["messages"][-1]["content"]
    usage = {"prompt_tokens": 10 + len(said), "completion_tokens": 3}
    return Case("good", cases.chat({"content": f"you said {said}"}, usage=usage), "answer: stop")


def test_an_hour_of_random_faults_changes_no_answer() -> None:
    """A third of all answers are recoverable faults of random kinds; every call gets the answer it would have had."""
    draws = random.Random(11)
    clock = Clock()

    def play(_wire: str, body: dict[str, Any]) -> Case:
        return draws.choice(RECOVERABLE) if draws.random() < 0.33 else good(body)

    with FaultServer(play) as server:
        model, close = over_http(server, clock, policy=RetryPolicy(deadline_s=1e9, odd_answers=50))
        answers = [model.complete(ask(f"line {n}", ordinal=n)).content for n in range(80)]
        close()
    assert answers == [f"you said line {n}" for n in range(80)]
    assert len(server.seen) > 100


def test_the_servers_own_sum_never_exceeds_the_budget() -> None:
    """Six at once, faults that are billed among them: what the server charged stays within the limit (RULE 2)."""
    charged: list[int] = []
    lock = threading.Lock()
    draws = random.Random(5)

    def play(_wire: str, body: dict[str, Any]) -> Case:
        answer = good(body)
        used = msgspec.json.decode(answer.chat)["usage"]
        with lock:
            charged.append(PRICES.cost(Usage(used["prompt_tokens"], 0, used["completion_tokens"])))
            cut = draws.random() < 0.2
        return msgspec.structs.replace(answer, how="half_body") if cut else answer

    limit = 60_000
    with FaultServer(play) as server:
        budget = Budget(limit)
        model, close = over_http(server, Clock(), budget=budget, policy=RetryPolicy(deadline_s=1e9))

        def work(person: int) -> bool:
            for number in range(400):
                try:
                    model.complete(ask(f"{person} {number}", session=f"s{person}", ordinal=number))
                except BudgetExhausted:
                    return True
            return False

        with ThreadPoolExecutor(6) as pool:
            stopped = list(pool.map(work, range(6)))
        close()
    assert stopped == [True] * 6
    assert sum(charged) <= budget.spent <= limit
    assert budget.in_flight == 0
    assert len(charged) > 6
