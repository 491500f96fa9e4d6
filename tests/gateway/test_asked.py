"""What an agent asks beyond messages and tools reaches the endpoint, on whichever wire it listens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.models.asked import (
    AskedRequest,
    Wishes,
    chat_fields,
    read_wishes,
    responses_fields,
    wishes_of,
    with_wishes,
)
from services.models.endpoint import Endpoint
from simulator.conversation import ModelRequest
from tests.gateway.stories import RUN_TOOL, RUN_TOOL_FLAT, client_of, gate_over, user
from tests.models import cases
from tests.models.cases import Case
from tests.models.faultserver import FaultServer
from tests.models.stories import READ, Wired, ask, requests, wire_for

ANSWERS = {"chat": cases.chat({"content": "{}"}), "responses": cases.resp(cases.text("{}"))}

CHAT: dict[str, Any] = {
    "tool_choice": {"type": "function", "function": {"name": "run"}},
    "parallel_tool_calls": False,
    "response_format": {"type": "json_object"},
    "reasoning_effort": "low",
    "temperature": 0.5,
    "top_p": 1,
}
RESPONSES: dict[str, Any] = {
    "tool_choice": {"type": "function", "name": "run"},
    "parallel_tool_calls": False,
    "text": {"format": {"type": "json_object"}},
    "reasoning": {"effort": "low"},
    "temperature": 0.5,
    "top_p": 1,
}


@pytest.mark.parametrize("behind", ["chat", "responses"])
@pytest.mark.parametrize("before", ["chat", "responses"])
def test_wishes_pass_from_wire_to_wire(tmp_path: Path, before: str, behind: Any) -> None:
    """Each in the words of the wire that the endpoint speaks."""
    with FaultServer(lambda wire, _body: Case("", ANSWERS[wire], "")) as server:
        model = Wired(wire_for(Endpoint(server.url, "m", wire=behind)))
        with gate_over(model, tmp_path / "t.json") as gate, client_of(gate.url) as client:
            if before == "chat":
                client.chat.completions.create(model="x", messages=[user("go")], tools=[RUN_TOOL], **CHAT)
            else:
                client.responses.create(model="x", input="go", tools=[RUN_TOOL_FLAT], **RESPONSES)
        model.wire.close()
        ((_, _, sent),) = server.seen
    expected = CHAT if behind == "chat" else RESPONSES
    assert {name: sent[name] for name in expected} == expected
    assert sent["model"] == "m", "which model answers is the gateway's to say"


def test_an_endpoint_that_refuses_a_wish_is_asked_without_it() -> None:
    def play(_wire: str, body: dict[str, Any]) -> Case:
        for name in ("temperature", "response_format", "parallel_tool_calls"):
            if name in body:
                return Case("", cases.error(f"Unsupported parameter: '{name}' with this model."), "", status=400)
        return Case("", ANSWERS["chat"], "")

    wishes = Wishes(json=True, temperature=0.2, parallel_tool_calls=False, stop=("END",))
    with FaultServer(play) as server:
        model = Wired(wire_for(Endpoint(server.url, "m")))
        request = with_wishes(ask(tools=(READ,)), wishes)
        assert model.complete(request).content == "{}"
        asked = len(server.seen)
        assert model.complete(request).content == "{}"
        assert len(server.seen) == asked + 1, "what was refused once is not tried again"
        assert server.seen[-1][2]["stop"] == ["END"]
        model.wire.close()


def test_the_configured_effort_is_stronger_than_a_wish() -> None:
    """An agent must not buy itself more thinking than it is measured with."""
    with FaultServer(lambda wire, _body: Case("", ANSWERS[wire], "")) as server:
        for wire in ("chat", "responses"):
            model = Wired(wire_for(Endpoint(server.url, "m", wire=wire, effort="low")))
            model.complete(with_wishes(ask(), Wishes(effort="xhigh")))
            model.wire.close()
        chat, responses = (body for _, _, body in server.seen)
    assert (chat["reasoning_effort"], responses["reasoning"]) == ("low", {"effort": "low"})


def test_wishes_about_tools_need_tools() -> None:
    request = with_wishes(ask(), Wishes(tool_choice="required", parallel_tool_calls=True))
    assert chat_fields(request) == responses_fields(request) == {}


@given(request=requests())
def test_a_request_with_wishes_is_the_same_request(request: ModelRequest) -> None:
    """RULE 2: the tape finds its answer by the same fingerprint."""
    wished = with_wishes(request, Wishes(temperature=0.1))
    assert isinstance(wished, AskedRequest)
    assert (wished.fingerprint, wished.messages, wished.tools) == (request.fingerprint, request.messages, request.tools)
    assert wishes_of(wished) == Wishes(temperature=0.1)
    assert with_wishes(request, Wishes()) is request
    assert wishes_of(request) == Wishes()


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "effort", "name"]), inner),
    max_leaves=4,
)


@given(body=st.dictionaries(st.sampled_from([*CHAT, *RESPONSES, "stop"]), anything))
def test_wishes_of_the_wrong_kind_are_not_said(body: dict[str, Any]) -> None:
    """Whatever is sent, what is passed on can be sent again."""
    wishes = read_wishes(body)
    request = with_wishes(ask(tools=(READ,)), wishes)
    again = read_wishes(chat_fields(request))
    assert again == wishes
