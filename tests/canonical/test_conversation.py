"""What is said to a model: messages hashed once, fingerprints of requests, cleaned answers (RULES 2, 20 and 22)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.canonical import REPLACEMENT, canonical, sha256
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolCall, ToolSpec, Usage

TOOL = ToolSpec("read", "Read a file.", {"type": "object"})


def request(**changes: Any) -> ModelRequest:
    base = ModelRequest("principal", ("ada.1", 1), "session-ada", (Message("system", "you"), Message("user", "go")), (TOOL,))
    return msgspec.structs.replace(base, **changes)


@pytest.mark.parametrize(
    "changes",
    [{"role": "client"}, {"session": "session-ben"}, {"messages": (Message("user", "go"),)}, {"tools": ()}, {"max_output": 9},
     {"schema_name": "firm"}, {"messages": (Message("user", "you"), Message("user", "go"))},
     {"messages": (Message("user", "go"), Message("system", "you"))}, {"tools": (TOOL, TOOL)}],
)  # fmt: skip
def test_what_a_model_could_notice_is_in_the_fingerprint(changes: dict[str, Any]) -> None:
    """RULE 2."""
    assert request(**changes).fingerprint != request().fingerprint


@pytest.mark.parametrize(
    "changes", [{"call": ("ada.9", 7)}, {"tools": (ToolSpec("read", "Read any file.", {"type": "object", "x": 1}),)}, {"schema": {"a": 1}}]
)
def test_where_a_call_stands_and_how_a_tool_is_described_are_not(changes: dict[str, Any]) -> None:
    assert request(**changes).fingerprint == request().fingerprint


def test_a_message_is_hashed_by_all_it_says() -> None:
    base = Message("assistant", "words", (ToolCall("c1", "read", "{}"),), reasoning="because")
    others = [
        msgspec.structs.replace(base, content="word"), msgspec.structs.replace(base, reasoning=""), msgspec.structs.replace(base, role="user"),
        msgspec.structs.replace(base, tool_calls=()), msgspec.structs.replace(base, tool_calls=(ToolCall("c2", "read", "{}"),)),
        msgspec.structs.replace(base, tool_call_id="c1"),
    ]  # fmt: skip
    assert len({m.digest for m in (base, *others)}) == 7
    assert base.digest == sha256(base.body) == Message("assistant", "words", (ToolCall("c1", "read", "{}"),), reasoning="because").digest


@given(st.text(st.characters(codec="utf-8"), max_size=30), st.sampled_from(["system", "user", "assistant", "tool"]))
def test_a_stored_message_reads_back_to_the_same_hash(text: str, role: Any) -> None:
    message = Message(role, text, tool_call_id="c1" if role == "tool" else "")
    again = msgspec.json.decode(message.body, type=Message)
    assert again == message and again.digest == message.digest and canonical(again) == message.body


def test_what_is_not_said_takes_no_room() -> None:
    assert Message("user", "go").body == b'{"content":"go","role":"user"}'
    assert Message("user").body == b'{"role":"user"}'


@given(st.text(st.one_of(st.characters(), st.sampled_from("\x00\x1b\r\ud800")), max_size=20))
def test_a_cleaned_answer_can_be_stored_whatever_it_held(text: str) -> None:
    """RULE 20."""
    answer = ModelResponse(text, (ToolCall(text, text, text),), reasoning=text, model=text, detail=text, usage=Usage(3, 1, 2))
    clean = answer.cleaned()
    stored = canonical(clean)
    assert msgspec.json.decode(stored, type=ModelResponse) == clean == clean.cleaned()
    assert clean.usage == answer.usage and clean.finish == answer.finish
    clean.as_message().body.decode()


def test_an_answer_becomes_the_next_message_with_its_calls_and_reasons() -> None:
    calls = (ToolCall("c1", "read", '{"path": "a'),)
    message = ModelResponse("x\x00", calls, "tool_calls", reasoning="r").cleaned().as_message()
    assert message == Message("assistant", f"x{REPLACEMENT}", calls, reasoning="r")
