"""An agent works behind the gateway as it would before any OpenAI-compatible server, and its run is on the record."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import msgspec
import openai
import pytest

from services.gateway import atif
from services.gateway.recorder import OURS
from services.gateway.server import Options, gateway, run
from services.models.ledger import Ledger
from services.models.scripted import Scripted, call, calls, raw_call, say
from simulator.conversation import ModelRequest, ModelResponse, Usage
from simulator.errors import OfficeBusy, UsageError
from tests.gateway.stories import NOW, RUN_TOOL, RUN_TOOL_FLAT, Held, chat, client_of, gate_over, judge, user, work

USED = Usage(100, 40, 20, 5)


def used(answer: ModelResponse, cost: int = 0) -> ModelResponse:
    return msgspec.structs.replace(answer, usage=USED, cost_micros=cost)


def test_a_run_becomes_a_trajectory(tmp_path: Path) -> None:
    """Messages are steps once each, results stand by their calls, tokens and dollars are summed."""
    model = Scripted([
        used(calls(call("run", command="ls"), call("run", command="pwd"), text="Let me look."), 1500),
        used(msgspec.structs.replace(say("All done."), reasoning="nothing is left"), 500),
    ])  # fmt: skip
    out = tmp_path / "runs" / "t.json"
    options = Options(currency="USD", agent_version="2.1", model_name="strong")
    with gate_over(model, out, 10, agent_name="toy", options=options) as gate, client_of(gate.url) as client:
        assert work(client, "Tidy up.")[-1]["content"] == "All done."
        assert gate.turns == 2
        assert [model.id for model in client.models.list()] == ["strong"]
    run_ = judge(out)
    assert (run_.schema_version, run_.session_id) == ("ATIF-v1.8", "main")
    assert (run_.agent.name, run_.agent.version, run_.agent.model_name) == ("toy", "2.1", "strong")
    assert run_.agent.tool_definitions == (RUN_TOOL,)
    assert [(s.source, s.message) for s in run_.steps] == [
        ("system", "You are at a shell."), ("user", "Tidy up."), ("agent", "Let me look."), ("agent", "All done."),
    ]  # fmt: skip
    looked, done = run_.steps[2:]
    assert looked.tool_calls is not None
    assert looked.observation is not None
    assert [c.arguments for c in looked.tool_calls] == [{"command": "ls"}, {"command": "pwd"}]
    assert [r.content for r in looked.observation.results] == ["ran ls", "ran pwd"]
    assert [r.source_call_id for r in looked.observation.results] == [c.tool_call_id for c in looked.tool_calls]
    assert looked.timestamp == "2026-10-26T07:33:20.000+00:00"
    assert done.reasoning_content == "nothing is left"
    assert done.metrics == atif.Metrics(100, 20, 40, 0.0005, extra={"reasoning_tokens": 5})
    assert (done.llm_call_count, done.model_name) == (1, "scripted")
    total = run_.final_metrics
    assert total is not None
    assert (total.total_prompt_tokens, total.total_completion_tokens, total.total_cached_tokens) == (200, 40, 80)
    assert (total.total_cost_usd, total.total_steps) == (0.002, 4)


WAYS = [("chat", False), ("chat", True), ("responses", False), ("responses", True)]


def heard(client: openai.OpenAI, wire: str, stream: bool, text: str) -> tuple[str, list[tuple[str, str]], int]:
    """Ask by one way; return text, calls as (name, arguments), and input tokens."""
    if wire == "chat" and not stream:
        whole = chat(client, user(text), tools=[RUN_TOOL])
        said = whole.choices[0].message
        made = [(c.function.name, c.function.arguments) for c in said.tool_calls or ()]
        return said.content or "", made, whole.usage.prompt_tokens
    if wire == "chat":
        words, named, pieces, tokens = "", [], [], 0
        options = {"include_usage": True}
        for chunk in chat(client, user(text), tools=[RUN_TOOL], stream=True, stream_options=options):
            tokens = chunk.usage.prompt_tokens if chunk.usage else tokens
            for choice in chunk.choices:
                words += choice.delta.content or ""
                for part in choice.delta.tool_calls or ():
                    named += [part.function.name] if part.function.name else []
                    pieces += [part.function.arguments or ""]
        return words, [(name, "".join(pieces)) for name in named], tokens
    if not stream:
        answer = client.responses.create(model="any", input=text, tools=[RUN_TOOL_FLAT])
    else:
        with client.responses.stream(model="any", input=text, tools=[RUN_TOOL_FLAT]) as events:
            answer = events.get_final_response()
    assert answer.usage is not None
    made = [(item.name, item.arguments) for item in answer.output if item.type == "function_call"]
    return answer.output_text, made, answer.usage.input_tokens


@pytest.mark.parametrize(("wire", "stream"), WAYS)
def test_every_way_of_asking_hears_the_same_and_is_recorded_the_same(tmp_path: Path, wire: str, stream: bool) -> None:
    answers = [used(calls(raw_call("run", '{"command":"ls"}'), text="Looking.")), used(say("Done. " * 100))]
    with gate_over(Scripted(answers), tmp_path / "t.json") as gate, client_of(gate.url) as client:
        assert heard(client, wire, stream, "one") == ("Looking.", [("run", '{"command":"ls"}')], 100)
        assert heard(client, wire, stream, "two") == ("Done. " * 100, [], 100)
        totals = gate.totals
    assert (totals.turns, totals.usage.output) == (2, 40)
    steps = judge(tmp_path / "t.json").steps
    assert [(s.source, s.message) for s in steps] == [
        ("user", "one"), ("agent", "Looking."), ("user", "two"), ("agent", "Done. " * 100),
    ]  # fmt: skip


def test_a_responses_agent_is_followed_through_its_items(tmp_path: Path) -> None:
    """Reasoning, calls and their outputs come back as items; none of them is taken for something new."""
    first = msgspec.structs.replace(call("run", command="ls"), reasoning="look first")
    model = Scripted([first, say("Done.")])
    with gate_over(model, tmp_path / "t.json") as gate, client_of(gate.url) as client:
        items: list[Any] = [user("Tidy.")]
        answer = client.responses.create(model="m", instructions="Be brief.", input=items, tools=[RUN_TOOL_FLAT])
        items += [item.model_dump(exclude_none=True) for item in answer.output]
        made = items[-1]
        items.append({"type": "function_call_output", "call_id": made["call_id"], "output": "a.txt"})
        client.responses.create(model="m", instructions="Be brief.", input=items, tools=[RUN_TOOL_FLAT])
    told = model.asked[1].messages
    assert [m.role for m in told] == ["system", "user", "assistant", "tool"]
    assert told[2].reasoning == "look first"
    steps = judge(tmp_path / "t.json").steps
    assert [s.source for s in steps] == ["system", "user", "agent", "agent"]
    assert steps[2].reasoning_content == "look first"
    assert steps[2].observation is not None
    assert steps[2].observation.results[0].content == "a.txt"


def test_usage_is_streamed_only_to_those_who_ask(tmp_path: Path) -> None:
    """Clients that look at the first choice of each chunk must not meet one without."""
    with gate_over(Scripted({"*": used(say("hi"))}), tmp_path / "t.json") as gate, client_of(gate.url) as client:
        assert all(chunk.choices for chunk in chat(client, user("a"), stream=True))
        with_usage = list(chat(client, user("b"), stream=True, stream_options={"include_usage": True}))
        assert [bool(chunk.choices) for chunk in with_usage][-2:] == [True, False]


@pytest.mark.parametrize("over", [402, 429])
@pytest.mark.parametrize("stream", [False, True])
def test_the_turn_budget_stops_an_agent(tmp_path: Path, over: int, stream: bool) -> None:
    """Over it an agent gets an error that its client does not repeat, in words that say why; no model is asked."""
    model = Scripted({"*": call("run", command="again")})
    with (
        gate_over(model, tmp_path / "t.json", 3, options=Options(over=over)) as gate,
        client_of(gate.url, retries=4) as client,
    ):
        with pytest.raises(openai.APIStatusError) as stopped:
            work(client, "Loop for ever.")
        assert stopped.value.status_code == over
        assert stopped.value.code == "turn_budget_exhausted"
        assert "turn budget of 3 model calls is used up" in stopped.value.message
        with pytest.raises(openai.APIStatusError):
            chat(client, user("once more"), stream=stream)
        with pytest.raises(openai.APIStatusError):
            client.responses.create(model="m", input="once more")
        assert (gate.turns, gate.totals.refused) == (3, 3)
    assert len(model.asked) == 3
    final = judge(tmp_path / "t.json").final_metrics
    assert final is not None
    assert final.extra is not None
    assert final.extra["refused"] == 3, "whoever reads the run sees that it was stopped"
    assert [s.source for s in judge(tmp_path / "t.json").steps].count("agent") == 3


def test_a_budget_of_no_turns_asks_nobody(tmp_path: Path) -> None:
    model = Scripted([])
    with (
        gateway(model, "assistant", tmp_path / "t.json", 0) as gate,
        client_of(gate.url) as client,
        pytest.raises(openai.APIStatusError, match="turn budget of 0"),
    ):
        chat(client, user("hello"))
    assert model.asked == ()
    assert not (tmp_path / "t.json").exists(), "a trajectory without a step would be none"


def test_concurrent_calls_never_exceed_the_budget(tmp_path: Path) -> None:
    """Ten at once and four turns: four are answered, six are told, whoever comes first; the file holds all four."""
    held = Held(Scripted({"*": used(say("yes"))}))
    ledger = Ledger()
    with (
        gate_over(held, tmp_path / "t.json", 4, ledger=ledger) as gate,
        client_of(gate.url) as client,
        ThreadPoolExecutor(10) as pool,
    ):
        asked = [pool.submit(chat, client, user(f"number {n}")) for n in range(10)]
        for _ in range(4):
            assert held.asked.acquire(timeout=60)
        held.free.set()
        failed = [f for f in asked if f.exception() is not None]
        assert len(failed) == 6
        assert gate.turns == 4
    run_ = judge(tmp_path / "t.json")
    assert [s.source for s in run_.steps].count("agent") == 4
    assert ledger.totals(lambda entry: entry.session)["main"].output == 80
    assert sorted(e.ordinal for e in ledger.entries()) == [1, 2, 3, 4]


def test_two_sessions_by_path_and_by_key(tmp_path: Path) -> None:
    """Each has its file, its turns and its account; what one says is not in the other's."""
    model = Scripted({"main": [say("for main")], "b": [say("for b"), say("for b again")]})
    ledger = Ledger()
    out = tmp_path / "t.json"
    with gate_over(model, out, 2, ledger=ledger) as gate:
        url = gate.open("b", turns=5)
        with client_of(gate.url) as main, client_of(url) as by_path, client_of(gate.url, "session:b") as by_key:
            assert chat(main, user("I am main")).choices[0].message.content == "for main"
            assert chat(by_path, user("I am b")).choices[0].message.content == "for b"
            assert chat(by_key, user("still b")).choices[0].message.content == "for b again"
            assert [m.id for m in by_path.models.list()] == ["officetown"]
        assert (gate.turns, gate.session("b").totals.turns) == (1, 2)
        assert gate.sessions() == ("b", "main")
    assert "I am b" not in out.read_text()
    other = judge(tmp_path / "t.b.json")
    assert (other.session_id, other.steps[0].message) == ("b", "I am b")
    assert {name: total.calls for name, total in ledger.totals(lambda e: e.session).items()} == {"b": 2, "main": 1}


def test_an_agent_opens_no_session_unless_it_may(tmp_path: Path) -> None:
    """Else each name would be a fresh turn budget."""
    model = Scripted({"*": say("yes")})
    with (
        gate_over(model, tmp_path / "t.json", 1) as gate,
        client_of(gate.url, "session:mine") as client,
        pytest.raises(openai.BadRequestError, match="no session 'mine'"),
    ):
        chat(client, user("hello"))
    with gate_over(model, tmp_path / "u.json", 1, options=Options(open_sessions=True)) as gate:
        with client_of(gate.url, "session:mine") as client:
            assert chat(client, user("hello")).choices[0].message.content == "yes"
        for name in ("../x", "a/b", "", "x" * 65, ".hidden", "a\nb"):
            with pytest.raises(UsageError, match="name is up to 64"):
                gate.open(name)
        answer = httpx.post(gate.url.removesuffix("/v1") + "/s/..%2Fx/v1/chat/completions", json={})
        assert answer.status_code in (400, 404)
    assert {p.name for p in tmp_path.iterdir() if not p.name.startswith(".")} == {"u.mine.json"}


def test_what_is_asked_of_the_model_is_what_the_agent_asked(tmp_path: Path) -> None:
    """Messages, tools and schema arrive unaltered; role and session are the gateway's to say, not the agent's."""
    model = Scripted({"*": say('{"ok":true}')})
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    form: Any = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema, "strict": True}}
    forged = {"X-OfficeTown-Role": "judge", "X-OfficeTown-Session": "s-elena", "X-OfficeTown-Activation": "elena/1"}
    with gate_over(model, tmp_path / "t.json") as gate, client_of(gate.url) as client:
        chat(
            client, {"role": "developer", "content": "Be brief."}, user("Judge  this.\n"),
            tools=[RUN_TOOL], response_format=form, max_tokens=77, user="s-quinn", seed=3, logit_bias={"5": 1},
            extra_body={"frobnicate": {"deep": [1]}}, extra_headers=forged,
        )  # fmt: skip
    (asked,) = model.asked
    assert [(m.role, m.content) for m in asked.messages] == [("system", "Be brief."), ("user", "Judge  this.\n")]
    assert (asked.role, asked.session, asked.call) == ("assistant", "main", ("gateway/main", 1))
    assert (asked.schema, asked.schema_name, asked.max_output) == (schema, "verdict", 77)
    assert asked.tools[0].parameters == RUN_TOOL["function"]["parameters"]
    extra = judge(tmp_path / "t.json").extra
    assert extra is not None
    assert extra[OURS]["ignored"] == ["frobnicate", "logit_bias", "seed", "user"]


def test_broken_arguments_pass_as_the_model_wrote_them(tmp_path: Path) -> None:
    """The agent sees them and answers for them; the record keeps them where the format has room."""
    broken = '{"command": "ls'
    model = Scripted([raw_call("run", broken), raw_call("run", "[1]"), say("Sorry.")])
    with gate_over(model, tmp_path / "t.json") as gate, client_of(gate.url) as client:
        messages = work(client, "Go.")
    assert messages[2]["tool_calls"][0]["function"]["arguments"] == broken
    assert model.asked[1].messages[2].tool_calls[0].arguments == broken
    steps = judge(tmp_path / "t.json").steps
    made = [c for s in steps for c in s.tool_calls or ()]
    assert [(c.arguments, c.extra) for c in made] == [
        ({}, {"malformed_arguments": broken}), ({}, {"malformed_arguments": "[1]"}),
    ]  # fmt: skip
    assert all(s.observation is not None for s in steps if s.tool_calls)


def test_a_restart_goes_on_where_the_run_was(tmp_path: Path) -> None:
    """Turns, totals and the conversation are there again: nothing is recorded twice, the budget is not refilled."""
    out = tmp_path / "t.json"
    system: Any = {"role": "system", "content": "You are at a shell."}
    with gate_over(Scripted([used(call("run", command="ls"))]), out, 2) as gate, client_of(gate.url) as client:
        said = chat(client, system, user("Go."), tools=[RUN_TOOL]).choices[0].message
    made = said.model_dump(exclude_none=True)
    result: Any = {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "a.txt"}
    with gate_over(Scripted([used(say("Done."))]), out, 2) as gate, client_of(gate.url) as client:
        assert gate.turns == 1
        chat(client, system, user("Go."), made, result, tools=[RUN_TOOL])
        with pytest.raises(openai.APIStatusError, match="turn budget of 2"):
            chat(client, user("more"))
    run_ = judge(out)
    assert [s.source for s in run_.steps] == ["system", "user", "agent", "agent"]
    assert run_.final_metrics is not None
    assert run_.final_metrics.total_prompt_tokens == 200


def test_a_file_of_something_else_is_never_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    foreign = b'{"schema_version":"ATIF-v1.8","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"user","message":"x"}]}'
    for data, words in ((b"my notes", "no ATIF"), (b"{}", "no ATIF"), (foreign, "not recorded by this gateway")):
        out.write_bytes(data)
        with pytest.raises(UsageError, match=words):
            gateway(Scripted([]), "assistant", out)
        assert out.read_bytes() == data
    out.unlink()
    with gate_over(Scripted([say("hi")]), out, agent_name="pi") as gate, client_of(gate.url) as client:
        chat(client, user("hello"))
        with pytest.raises(OfficeBusy, match="another gateway is writing"):
            gateway(Scripted([]), "assistant", out, agent_name="pi")
    with pytest.raises(UsageError, match=r"main, assistant, pi, not main, assistant, codex"):
        gateway(Scripted([]), "assistant", out, agent_name="codex")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"turns": -1}, "turn budget of -1"),
        ({"agent_name": "a\nb"}, "printable"),
        ({"agent_name": " "}, "printable"),
        ({"host": "203.0.113.9"}, "cannot serve at 203.0.113.9"),
    ],
)
def test_a_wrong_call_says_so_before_anything_starts(tmp_path: Path, more: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        gateway(Scripted([]), "assistant", tmp_path / "t.json", **more)
    with pytest.raises(UsageError, match="is a folder"):
        gateway(Scripted([]), "assistant", tmp_path)


def test_the_command_says_where_it_is_and_what_was_used(tmp_path: Path) -> None:
    said: list[str] = []
    stopped = threading.Event()
    gate = gateway(Scripted([used(say("hi"))]), "assistant", tmp_path / "t.json", now=lambda: NOW)
    with client_of(gate.url) as client:
        chat(client, user("hello"))
    stopped.set()
    run(gate, said.append, stopped)
    assert said[0].startswith("Serving at http://127.0.0.1:")
    assert said[1] == "Session main: 1 turns, 100 tokens in (40 cached), 20 out"
    with pytest.raises(httpx.ConnectError):
        httpx.get(gate.url + "/models")


def test_a_currency_other_than_dollars_is_named(tmp_path: Path) -> None:
    """`cost_usd` never holds pounds; a cost without a currency is not known, and so not written."""
    for currency in ("GBP", ""):
        out = tmp_path / f"{currency or 'none'}.json"
        model = Scripted([used(say("hi"), 42)])
        with gate_over(model, out, options=Options(currency=currency)) as gate, client_of(gate.url) as client:
            chat(client, user("hello"))
        metrics = judge(out).steps[-1].metrics
        assert metrics is not None
        assert metrics.cost_usd is None
        expected = (
            {"reasoning_tokens": 5, "cost_micros": 42, "currency": "GBP"} if currency else {"reasoning_tokens": 5}
        )
        assert metrics.extra == expected


def test_the_file_is_plain_json_for_anyone(tmp_path: Path) -> None:
    class Odd:
        def complete(self, request: ModelRequest) -> ModelResponse:
            return ModelResponse(content="caf\u00e9 \x00 \ud800 \U0001f600", model="m")

    with gate_over(Odd(), tmp_path / "t.json") as gate, client_of(gate.url) as client:
        chat(client, user("na\u00efve \u2603"))
    read = json.loads((tmp_path / "t.json").read_text("utf-8"))
    assert [step["message"] for step in read["steps"]] == ["na\u00efve \u2603", "caf\u00e9 \ufffd \ufffd \U0001f600"]
