"""The gateway when things go wrong: the model, the disk, the agent, the machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.gateway.recorder import OURS
from services.gateway.server import Gateway, Options, gateway
from services.models.connect import Surroundings, connect, wire_of
from services.models.endpoint import Endpoint, Prices
from services.models.http_server import failure_of
from services.models.ledger import Budget
from services.models.retry import RetryPolicy
from services.models.scripted import Scripted, fault, say
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.errors import BudgetExhausted, ModelOutage, OfficeTownError, StorageError, TapeMismatch
from tests.gateway.stories import RUN_TOOL, Held, Raising, chat, client_of, gate_over, judge, user
from tests.models import cases
from tests.models.cases import Case
from tests.models.faultserver import FaultServer

ROOT = Path(__file__).parents[2]

ERRORS: list[tuple[Exception, int, str, bool]] = [
    (ModelOutage("the endpoint is down; run again"), 503, "model_outage", False),
    (BudgetExhausted("the budget is used up"), 402, "insufficient_quota", False),
    (StorageError("the disk refused"), 500, "model_failed", False),
    (TapeMismatch("another request"), 501, "model_cannot_answer", False),
    (RuntimeError("a bug, with a secret in it"), 501, "model_cannot_answer", True),
]


@pytest.mark.parametrize(("error", "status", "code", "spent"), ERRORS, ids=lambda value: str(value)[:20])
@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_what_a_model_raises_reaches_the_agent_as_a_provider_would_say_it(
    tmp_path: Path, error: Exception, status: int, code: str, spent: bool, wire: str
) -> None:
    """RULE 3: an outage is no decision; the turn that nobody answered is the agent's to use again."""
    model = Raising(error, then=say("back"))
    with gate_over(model, tmp_path / "t.json", 5) as gate, client_of(gate.url) as client:

        def ask() -> Any:
            if wire == "chat":
                return chat(client, user("go"))
            return client.responses.create(input="go", model="m")

        with pytest.raises(openai.APIStatusError) as told:
            ask()
        assert (told.value.status_code, told.value.code) == (status, code)
        assert "secret" not in told.value.message
        assert gate.turns == int(spent)
        ask()
        assert gate.turns == int(spent) + 1
    run = judge(tmp_path / "t.json")
    assert [s.source for s in run.steps] == ["user", "agent"], "asked again, it is the same request and not a new one"
    assert run.extra is not None
    assert [(f["status"], f["code"]) for f in run.extra[OURS]["failures"]] == [(status, code)]


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (ModelResponse(finish="overflow", cost_micros=7), 400, "context_length_exceeded"),
        (ModelResponse(finish="unavailable", cost_micros=7, detail="refused as malformed"), 422, "unavailable"),
    ],
)
def test_an_answer_without_content_is_a_turn_and_is_paid_for(
    tmp_path: Path, answer: ModelResponse, status: int, code: str
) -> None:
    """Else an agent that asks for the impossible again and again would never reach its budget."""
    with gate_over(Scripted([answer]), tmp_path / "t.json", 1) as gate, client_of(gate.url) as client:
        with pytest.raises(openai.APIStatusError) as told:
            chat(client, user("go"))
        assert (told.value.status_code, told.value.code) == (status, code)
        assert (gate.turns, gate.totals.cost_micros) == (1, 7)
        assert [entry.cost_micros for entry in gate.ledger.entries()] == [7]
        with pytest.raises(openai.APIStatusError, match="turn budget of 1"):
            chat(client, user("go"))


def around() -> Surroundings:
    clock = [0.0]
    return Surroundings(lambda: 0.0, lambda: clock[0], lambda s: clock.__setitem__(0, clock[0] + s), lambda: 0.5)


def test_faults_of_a_real_endpoint_are_waited_out_behind_the_gateway(tmp_path: Path) -> None:
    """The agent sees one slow answer; one turn, however many attempts; the money budget is the endpoint's."""
    plays = [Case("", cases.error("busy"), "", status=503), Case("", cases.error("slow down"), "", status=429)]

    def play(_wire: str, _body: dict[str, Any]) -> Case:
        return plays.pop() if plays else Case("", cases.chat({"content": "at last"}), "")

    with FaultServer(play) as server:
        link = wire_of(Endpoint(server.url, "m", prices=Prices(1_000_000, 1_000_000)), around())
        budget = Budget(60_000)
        model = connect(link, around(), budget=budget)
        options = Options(currency="USD", max_output=100)
        with gate_over(model, tmp_path / "t.json", options=options) as gate, client_of(gate.url) as client:
            assert chat(client, user("go")).choices[0].message.content == "at last"
            assert gate.turns == 1
            assert gate.totals.cost_micros == budget.spent > 0
            with pytest.raises(openai.APIStatusError) as told:
                chat(client, user("go"), max_tokens=900_000)
            assert told.value.code == "insufficient_quota"
        link.close()


def test_an_endpoint_that_stays_down_is_a_503(tmp_path: Path) -> None:
    with FaultServer(lambda _wire, _body: Case("", cases.error("down"), "", status=500)) as server:
        link = wire_of(Endpoint(server.url, "m"), around())
        model = connect(link, around(), policy=RetryPolicy(deadline_s=3))
        with gate_over(model, tmp_path / "t.json", 1) as gate, client_of(gate.url) as client:
            with pytest.raises(openai.InternalServerError) as told:
                chat(client, user("go"))
            assert (told.value.status_code, told.value.code) == (503, "model_outage")
            assert gate.turns == 0
        link.close()


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_a_stream_that_waits_long_is_kept_alive(tmp_path: Path, wire: str) -> None:
    """Comments flow while the model thinks, and the answer comes whole after them; a failure comes as an event."""
    held = Held(Scripted([say("worth it"), fault("server")]))
    options = Options(quiet_s=0.02)
    path, body = (
        ("/chat/completions", {"messages": [user("go")]}) if wire == "chat" else ("/responses", {"input": "go"})
    )
    with gate_over(held, tmp_path / "t.json", options=options) as gate:
        with httpx.stream("POST", gate.url + path, json={**body, "stream": True}, timeout=20) as answer:
            lines = answer.iter_lines()
            assert next(lines) == ": waiting for the model"
            held.free.set()
            rest = "\n".join(lines)
        assert "worth it" in rest
        held.free.clear()
        timer = threading.Timer(0.1, held.free.set)
        timer.start()
        with client_of(gate.url) as client, pytest.raises(openai.APIError, match="failed on its side"):
            events = chat(client, user("b"), stream=True) if wire == "chat" else client.responses.create(
                model="m", input="b", stream=True
            )  # fmt: skip
            list(events)
        timer.join()


@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_that_hangs_up_leaves_a_whole_record(tmp_path: Path, stream: bool) -> None:
    """The answer under way is paid for: it is recorded and counted though nobody hears it."""
    held = Held(Scripted({"*": say("into the void")}))
    with gate_over(held, tmp_path / "t.json", 5, options=Options(quiet_s=0.01)) as gate:
        host, port = gate.url.removesuffix("/v1").removeprefix("http://").split(":")
        body = json.dumps({"messages": [user("go")], "stream": stream}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection((host, int(port)), timeout=20) as line:
            line.sendall(head.encode() + body)
            assert held.asked.acquire(timeout=60)
            if stream:
                assert line.recv(10)
        held.free.set()
        with client_of(gate.url) as client:
            assert chat(client, user("next")).choices[0].message.content == "into the void"
        assert gate.turns == 2
    steps = judge(tmp_path / "t.json").steps
    assert sorted(s.message for s in steps if isinstance(s.message, str)) == [
        "go",
        "into the void",
        "into the void",
        "next",
    ]


def test_an_agent_that_hangs_up_within_its_request_is_nothing(tmp_path: Path) -> None:
    with gate_over(Scripted([say("hi")]), tmp_path / "t.json", 5) as gate:
        host, port = gate.url.removesuffix("/v1").removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as line:
            line.sendall(b'POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n{"input":')
        with client_of(gate.url) as client:
            chat(client, user("hello"))
        assert gate.turns == 1


def test_a_full_disk_is_said_and_costs_no_call(tmp_path: Path) -> None:
    """What cannot be put on the record is not asked."""
    model = Scripted([say("hi")])
    out = tmp_path / "runs" / "t.json"
    with gate_over(model, out, 5) as gate, client_of(gate.url) as client:
        (out.parent / ".t.json.new").mkdir()
        with pytest.raises(openai.InternalServerError, match="make room"):
            chat(client, user("go"))
        assert (model.asked, gate.turns) == ((), 0)
        (out.parent / ".t.json.new").rmdir()
        chat(client, user("go"))
        assert gate.turns == 1


HOSTILE: list[tuple[Any, str]] = [
    ({}, "no list of messages"),
    ({"messages": "hello"}, "no list of messages"),
    ({"messages": [[]]}, "message 1 is not an object"),
    ({"messages": [{"role": "god", "content": "x"}]}, "message 1 has no role"),
    ({"messages": [user("x")], "n": 4}, "one answer a call"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "'image_url'"),
    ({"messages": [user("x")], "tools": [{"type": "function"}]}, "tool 1 is no function"),
    ({"messages": [user("x")], "tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tool 1 is no function"),
]


@pytest.mark.parametrize(("body", "words"), HOSTILE, ids=lambda value: str(value)[:40])
def test_a_malformed_request_is_refused_in_plain_words(tmp_path: Path, body: Any, words: str) -> None:
    model = Scripted([])
    with gate_over_nothing(model, tmp_path) as gate:
        answer = httpx.post(gate.url + "/chat/completions", json=body)
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]
    assert (model.asked, gate.turns) == ((), 0)


def gate_over_nothing(model: Any, tmp_path: Path) -> Gateway:
    return gateway(model, "assistant", tmp_path / "t.json", 5)


@pytest.mark.parametrize(
    "body",
    [
        {"input": "x", "previous_response_id": "resp_1"},
        {"input": [{"type": "item_reference", "id": "msg_1"}]},
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:"}]}]},
        {"input": [{"type": "function_call_output", "call_id": "1", "output": [{"type": "input_file"}]}]},
        {"input": []},
    ],
    ids=str,
)
def test_what_the_responses_wire_cannot_carry_is_refused(tmp_path: Path, body: Any) -> None:
    """Silently dropped, it would be an agent's blindness that nobody sees."""
    with gate_over_nothing(Scripted([]), tmp_path) as gate:
        assert httpx.post(gate.url + "/responses", json=body).status_code == 400


def test_bytes_that_are_no_request(tmp_path: Path) -> None:
    deep = b'{"messages":[{"role":"user","content":"x"}],"tools":' + b"[" * 5000 + b"]" * 5000 + b"}"
    nested: Any = {"type": "object"}
    for _ in range(150):
        nested = {"properties": {"x": nested}}
    tool = {"type": "function", "function": {"name": "t", "parameters": nested}}
    with gate_over_nothing(Scripted({"*": say("hi")}), tmp_path) as gate:
        for body in (b"", b"null", b"[1]", b"\xff\xfe", b'{"messages":[{"role":"user","content":"\\ud800"}]}', deep):
            answer = httpx.post(gate.url + "/chat/completions", content=body)
            assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
        answer = httpx.post(gate.url + "/chat/completions", json={"messages": [user("x")], "tools": [tool]})
        assert "nested too deeply" in answer.text
        assert gate.turns == 0
        assert httpx.get(gate.url + "/files").status_code == 404


def test_arguments_nested_without_end_do_not_spoil_the_record(tmp_path: Path) -> None:
    deep = '{"a":' * 400 + "1" + "}" * 400
    calls_ = [{"id": "c", "type": "function", "function": {"name": "run", "arguments": deep}}]
    told: Any = [user("x"), {"role": "assistant", "tool_calls": calls_}]
    with gate_over(Scripted({"*": say("hi")}), tmp_path / "t.json") as gate, client_of(gate.url) as client:
        chat(client, *told, {"role": "tool", "tool_call_id": "c", "content": "r"})
    step = judge(tmp_path / "t.json").steps[1]
    assert step.is_copied_context
    assert step.tool_calls is not None
    assert step.tool_calls[0].extra == {"malformed_arguments": deep}


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
item = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["system", "user", "assistant", "tool", "developer"]) | junk,
        "type": st.sampled_from(["message", "function_call", "function_call_output", "reasoning"]) | junk,
        "content": st.text(max_size=9) | junk, "tool_calls": junk, "tool_call_id": junk, "output": junk, "name": junk,
        "call_id": junk, "arguments": junk, "summary": junk, "reasoning": junk,
    },
)  # fmt: skip
NAMES = ("tools", "response_format", "text", "max_tokens", "tool_choice", "stream_options", "reasoning", "stop", "n",
         "stream", "user", "instructions", "temperature", "max_output_tokens", "parallel_tool_calls")  # fmt: skip
bodies = st.fixed_dictionaries(
    {}, optional={"messages": st.lists(item, max_size=4) | junk, "input": st.lists(item, max_size=4) | junk,
                  **dict.fromkeys(NAMES, junk)}
)  # fmt: skip


def test_no_request_breaks_the_gateway(tmp_path: Path) -> None:
    """Whatever JSON comes: an answer or a refusal in the provider's form, and a trajectory that stays valid."""
    with gate_over(Scripted({"*": say("hi")}), tmp_path / "t.json") as gate, httpx.Client(timeout=20) as client:

        @settings(max_examples=150, deadline=None)
        @given(body=bodies, path=st.sampled_from(["/chat/completions", "/responses"]))
        def hold(body: Any, path: str) -> None:
            answer = client.post(gate.url + path, json=body)
            assert answer.status_code in (200, 400), answer.text
            if answer.status_code == 400:
                assert answer.json()["error"]["message"]

        hold()
        with client_of(gate.url) as asked:
            chat(asked, user("still there?"), tools=[RUN_TOOL])


def test_after_kill_9_the_file_is_whole_and_the_call_under_way_is_a_turn(tmp_path: Path) -> None:
    """RULE 2: what was in flight at a crash counts; a reader finds a valid trajectory at every moment."""
    out = tmp_path / "t.json"
    program = textwrap.dedent(
        """
        import sys, threading
        from pathlib import Path
        from services.gateway.server import gateway
        from services.models.scripted import say

        class Once:
            asked = 0
            def complete(self, request):
                self.asked += 1
                if self.asked > 1:
                    print("thinking", flush=True)
                    threading.Event().wait()
                return say("first answer")

        gate = gateway(Once(), "assistant", Path(sys.argv[1]), 5)
        print(gate.url, flush=True)
        threading.Event().wait()
        """
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(out)], cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert child.stdout is not None
        url = child.stdout.readline().strip()
        with client_of(url) as client:
            chat(client, user("one"))
            assert judge(out).steps[-1].message == "first answer"

            def ask() -> None:
                with pytest.raises(openai.APIConnectionError):
                    chat(client, user("two"))

            thread = threading.Thread(target=ask)
            thread.start()
            assert child.stdout.readline() == "thinking\n"
            os.kill(child.pid, signal.SIGKILL)
            thread.join(60)
    finally:
        child.kill()
        child.wait(20)
        assert child.stdout is not None
        child.stdout.close()
    assert [s.message for s in judge(out).steps] == ["one", "first answer", "two"]
    with gate_over(Scripted([say("second answer")]), out, 5) as gate, client_of(gate.url) as client:
        assert gate.turns == 2
        chat(client, user("two"))
        assert gate.turns == 3
    assert [s.message for s in judge(out).steps] == ["one", "first answer", "two", "second answer"]


def test_an_answer_after_closing_touches_the_file_no_more(tmp_path: Path) -> None:
    """The file may be another gateway's by then; the turn was counted when the call began."""
    held = Held(Scripted([say("too late")]))
    gate = gateway(held, "assistant", tmp_path / "t.json", 5)
    session = gate.session("main")
    request = ModelRequest("assistant", ("x", 0), "main", (Message("user", "go"),))
    thread = threading.Thread(target=session.ask, args=(request,))
    thread.start()
    assert held.asked.acquire(timeout=60)
    session.close(patience_s=0)
    before = (tmp_path / "t.json").read_bytes()
    held.free.set()
    thread.join(60)
    gate.close()
    assert (tmp_path / "t.json").read_bytes() == before
    refused = session.ask(request)
    assert not isinstance(refused, ModelResponse)
    assert refused.code == "gateway_closed"


def test_errors_on_purpose_are_all_told() -> None:
    """Every error a model may raise has a status: none is left to become a bare 500."""
    kinds: list[type[OfficeTownError]] = [OfficeTownError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    errors = [kind.__new__(kind, "x") for kind in kinds]  # some are made from more than their words
    assert {failure_of(error).status for error in errors} == {402, 500, 501, 503}
