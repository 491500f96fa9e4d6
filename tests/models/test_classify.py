"""What an endpoint's bytes mean, case by case: by `classify` alone, and played over real HTTP on both wires."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import httpx2
import msgspec
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.models import classify as module
from services.models.classify import REASONS, Fault, FaultKind, classify, classify_exception, clip
from services.models.endpoint import Endpoint
from simulator.conversation import ModelResponse
from tests.models import cases
from tests.models.cases import Case
from tests.models.faultserver import FaultServer
from tests.models.stories import NOW, READ, ask, wire_for

TABLE = Path(module.__file__).with_name("FAULTS.md")


@pytest.mark.parametrize("case", cases.STATUS + cases.INSIDE_200, ids=lambda case: case.name)
def test_classify_by_itself(case: Case) -> None:
    fault = classify(case.status, dict(case.headers), case.chat, NOW)
    assert fault is not None
    kind = case.outcome.removeprefix("answer: ")
    assert (fault.kind, fault.retryable, fault.retry_after_s) == (kind, case.retryable, case.wait)
    assert fault.billable == case.billable


@pytest.mark.parametrize("case", cases.SHAPES, ids=lambda case: case.name)
def test_a_json_object_without_an_error_is_left_to_its_reader(case: Case) -> None:
    assert classify(200, {}, case.chat, NOW) is None


# -- over real HTTP, on both wires -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with FaultServer(lambda _wire, _body: cases.STATUS[0]) as played:
        yield played


class Ticking:
    """A stopwatch on which each look takes a tenth of a second: a drip passes its deadline without waiting for it."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        self.at += 0.1
        return self.at


@pytest.mark.parametrize("wire", ["chat", "responses"])
@pytest.mark.parametrize("case", cases.ALL, ids=lambda case: case.name)
def test_every_case_has_its_outcome_on_both_wires(server: FaultServer, case: Case, wire: str) -> None:
    server.play = lambda _wire, _body: case
    idle = 0.15 if case.how == "hang" else 5.0
    settings = {"base_url": server.url, "model": "m", "wire": wire, "timeout_s": 2.0, "idle_timeout_s": idle}
    model = wire_for(msgspec.convert(settings, Endpoint), Ticking())
    reply = model.attempt(ask(tools=(READ,)))
    model.close()
    if isinstance(reply, Fault):
        assert (reply.kind, reply.retryable, reply.billable) == (case.outcome, case.retryable, case.billable), reply
        assert reply.retry_after_s == case.wait
    else:
        assert f"answer: {reply.finish}" == case.outcome
        check_answer(reply, case.answer)


def check_answer(reply: ModelResponse, expected: dict[str, Any]) -> None:
    """Compare an answer with the fields of a row; usage is as the provider counts it unless it must be estimated."""
    for name in ("content", "reasoning", "detail"):
        if name in expected:
            assert getattr(reply, name) == expected[name]
    if "calls" in expected:
        assert [[call.id, call.name, call.arguments] for call in reply.tool_calls] == expected["calls"]
    if expected.get("estimated"):
        assert reply.usage.input > 20 and reply.usage.output > 0
    assert "invalid_request_error" not in reply.detail


def test_the_table_in_the_docs_is_this_table() -> None:
    """The page is written from the rows: OFFICETOWN_WRITE_DOCS=1 with this test writes it anew."""
    written = table()
    if os.environ.get("OFFICETOWN_WRITE_DOCS"):
        TABLE.write_text(written, encoding="utf-8")
    assert TABLE.read_text(encoding="utf-8") == written


def table() -> str:
    """Return the page of all cases and outcomes."""
    head = (
        "# What providers send, and what becomes of it\n\n"
        "Written from `tests/models/cases.py`, each row of which is played over HTTP on both wires.\n"
        "*waited out*: retried until the deadline, then the run stops (exit 4). *bounded*: retried a few times, then\n"
        "`unavailable`. *stops the run*: no request can succeed until a person acts. *unavailable*: this one request\n"
        "has no answer (RULE 3). *charged*: the provider may bill it, so it is charged at its worst case.\n\n"
        "| case | outcome | then |\n| --- | --- | --- |\n"
    )
    return head + "".join(f"| {case.name} | {case.outcome} | {_then(case)} |\n" for case in cases.ALL)


def _then(case: Case) -> str:
    if case.outcome.startswith("answer"):
        return "-"
    if case.outcome in ("empty", "bad_shape"):
        kept = "bounded"
    elif case.retryable:
        kept = "waited out" if case.wait is None else f"waited out, {case.wait:g} s at least"
    else:
        kept = "stops the run" if case.outcome in module.ENDPOINT else "unavailable"
    return f"{kept}, charged" if case.billable else kept


# -- exceptions and odds ---------------------------------------------------------------------------------------------


def test_an_endpoint_that_is_not_there_is_a_connection_fault() -> None:
    model = wire_for(Endpoint("http://127.0.0.1:9/v1", "m"))
    reply = model.attempt(ask())
    model.close()
    assert isinstance(reply, Fault)
    assert (reply.kind, reply.retryable, reply.billable) == ("connection", True, False)


@pytest.mark.parametrize(
    ("scheme", "key"), [("ftp", "k"), ("http", "k\nx"), ("http", "schlüssel€")], ids=["scheme", "newline", "letters"]
)
def test_an_address_or_key_that_cannot_be_sent_stops_everyone(server: FaultServer, scheme: str, key: str) -> None:
    model = wire_for(Endpoint(server.url.replace("http", scheme), "m", key))
    reply = model.attempt(ask())
    model.close()
    assert isinstance(reply, Fault)
    assert (reply.kind, reply.retryable, reply.stops_everyone) == ("misconfigured", False, True)


def test_the_key_is_in_no_detail(server: FaultServer) -> None:
    server.play = lambda _wire, _body: cases.STATUS[0]
    model = wire_for(Endpoint(server.url, "m", "sk-canary"))
    reply = model.attempt(ask())
    model.close()
    assert server.seen[-1][1]["authorization"] == "Bearer sk-canary"
    assert "canary" not in repr(reply)


def test_an_exception_that_is_a_bug_is_raised_again() -> None:
    with pytest.raises(ZeroDivisionError):
        classify_exception(ZeroDivisionError())


def test_a_pool_or_connect_timeout_is_not_billed() -> None:
    request = httpx2.Request("POST", "http://127.0.0.1")
    error = openai.APITimeoutError(request)
    error.__cause__ = httpx2.ConnectTimeout("late", request=request)
    shown = "APITimeoutError: Request timed out. <- ConnectTimeout: late"
    assert classify_exception(error) == Fault("connection", True, detail=shown)
    assert classify_exception(openai.APITimeoutError(request)).billable


def test_every_kind_has_a_plain_reason_and_a_case() -> None:
    """RULE 37: what may enter a prompt holds no provider text. Kinds that no body can cause have tests of their own."""
    kinds = set(get_args(FaultKind))
    assert set(REASONS) == kinds
    assert all(reason[0].islower() and reason.isascii() for reason in REASONS.values())
    seen = {case.outcome.removeprefix("answer: ") for case in cases.ALL}
    assert kinds - seen == {"connection", "misconfigured"}


@given(
    status=st.integers(200, 599),
    headers=st.dictionaries(st.sampled_from(["Retry-After", "retry-after-ms"]), st.text(max_size=20)),
    body=st.one_of(
        st.binary(max_size=80),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["error", "code", "a"]), inner),
            max_leaves=8,
        ).map(lambda value: str(value).encode("utf-8", "replace")),
    ),
)
def test_no_body_breaks_classify(status: int, headers: dict[str, str], body: bytes) -> None:
    fault = classify(status, headers, body, NOW)
    if fault is None:
        assert status < 400
    else:
        assert fault.retry_after_s is None or 0 <= fault.retry_after_s <= 86_400
        assert len(fault.detail) <= 600 and fault.detail.isprintable()
        assert not (fault.retryable and fault.stops_everyone)


def test_clip_is_one_printable_line() -> None:
    assert clip("a\nb\x1b[31m") == "a b [31m"
    assert len(clip("x" * 5000)) == 600
