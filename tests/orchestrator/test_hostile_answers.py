"""Model answers that are not JSON, hold what no text may, name what is not there, or go beyond a person's authority."""

from __future__ import annotations

import threading

import pytest

from simulator.canonical import canonical
from simulator.conversation import ModelRequest, ModelResponse, ToolCall
from simulator.events import ConflictRaised, decode
from tests.orchestrator.support import JUNIPER, Desk

NUL, LONE = "\x00", "\ud800"
HOSTILE = {
    "not JSON": ("post_message", "{"),
    "no object": ("post_message", '"words"'),
    "a list": ("post_message", "[1]"),
    "too deep": ("post_message", "[" * 5_000),
    "a wrong type": ("post_message", '{"to": 7, "text": []}'),
    "nothing": ("post_message", ""),
    "not a number": ("schedule", '{"title": "t", "attendees": ["elena"], "start": "2026-01-06 10:00", "minutes": NaN}'),
    "an unknown tool": ("fly", "{}"),
    "a tool of control characters": (f"post{NUL}message{LONE}", "{}"),
    "a sandbox tool of others": ("bash", '{"command": "id"}'),
    "an unknown person": ("post_message", '{"to": "nobody", "text": "hello"}'),
    "an unknown file": ("open_file", '{"file": "/mnt/company/../../etc/passwd"}'),
    "a path that climbs": ("save", '{"path": "../../elena/Notes/x.md", "text": "mine"}'),
    "a sign-off without the authority": ("sign_off", '{"file": "/mnt/company/Resources/Handbook.md"}'),
    "a release without the authority": (
        "classify", '{"file": "/mnt/company/Resources/Handbook.md", "level": "public", "release_to": ["riverbend"]}',
    ),
    "an answer for somebody else": ("answer_question", '{"question": "elena.1.question", "text": "yes"}'),
    "a review of what is not theirs": ("review", '{"delegation": "elena.1.1", "decision": "accept", "notes": "fine"}'),
}  # fmt: skip
NEEDS = {"a sign-off without the authority": "quality_signoff", "a release without the authority": "classify"}
"""What those may do after all who hold this authority."""
SAID = f"NUL {NUL} and {LONE} and \x1b[31mred and \u202e\u00e9"


class Hostile:
    """Makes every hostile call at once in a person's first turn, says odd things in the second, and finishes.

    `answered` holds, for each activation, what its calls were told.
    """

    def __init__(self) -> None:
        self.answered: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer by the turn."""
        activation, ordinal = request.call
        if request.role != "principal" or not any(t.name == "finish" for t in request.tools):
            end = next(
                (t.name for t in request.tools if t.name in ("finish", "pass_turn", "close_meeting", "submit")), ""
            )
            return (
                _calls((end, '{"report": "done"}' if end == "submit" else "{}"))
                if end
                else ModelResponse(content="so it was")
            )
        if ordinal == 1:
            return _calls(*HOSTILE.values())
        if ordinal == 2:
            told = [m.content for m in request.messages if m.role == "tool"][-len(HOSTILE) :]
            with self._lock:
                self.answered[activation] = told
            text = (
                canonical({"to": "all", "text": "PLACE"})
                .decode()
                .replace("PLACE", SAID.replace("\x1b", "\\u001b").replace(NUL, "\\u0000"))
            )
            return _calls(
                ("post_message", text), ("save", '{"path": "Notes/odd\\u0000\\ud800.md", "text": "\\ud800\\u0000"}')
            )
        return _calls(("finish", "{}"))


def _calls(*made: tuple[str, str]) -> ModelResponse:
    calls = tuple(ToolCall(f"c{LONE}{number}", name, arguments) for number, (name, arguments) in enumerate(made))
    return ModelResponse(content=SAID, reasoning=SAID, tool_calls=calls, finish="tool_calls")


@pytest.fixture
def told(desk: Desk) -> tuple[Desk, Hostile, str]:
    """An office that lived a day of this."""
    model = Hostile()
    ran = desk.json("run", JUNIPER, "--days", "1", "--seed", "1", make=lambda: desk.house(model=model))
    return desk, model, ran["office"]


def test_hostile_answers_are_told_what_is_wrong_and_leave_nothing_behind(told: tuple[Desk, Hostile, str]) -> None:
    desk, model, office = told
    house = desk.house()
    people = house.office(house.row(office)).people
    able = {what: {p.id for p in people.values() if authority in p.authority} for what, authority in NEEDS.items()}
    assert all(0 < len(holders) < len(model.answered) for holders in able.values())
    for activation, answers in model.answered.items():
        assert len(answers) == len(HOSTILE)
        for what, answer in zip(HOSTILE, answers, strict=True):
            if activation.partition(".")[0] in able.get(what, ()):
                continue
            assert '"ok":false' in answer, f"{activation}: {what}: {answer}"
            assert "Traceback" not in answer and "/site-packages/" not in answer
    raw = [data for _, data in house.offices.read(office).events()]
    for data in raw:
        text = data.decode()
        assert "\\u0000" not in text and "\\ud800" not in text and "\x00" not in text
        event = decode(data)
        assert not isinstance(event.payload, ConflictRaised) or any(event.actor in holders for holders in able.values())
    house.close()


def test_a_day_of_hostile_answers_is_replayed_like_any_other(told: tuple[Desk, Hostile, str]) -> None:
    """RULE 20: what is stored was cleaned at the port, so the record gives the log."""
    desk, _, office = told
    assert desk.json("replay", office)["hash"] == desk.json("log", office, "--hash")["hash"]
    assert desk("log", office).code == 0
    assert "\x1b" not in desk("log", office).out


class Mute:
    """Answers nothing at all: no words, no calls."""

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Say nothing."""
        return ModelResponse()


class Lost:
    """Every request is lost for good."""

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Be unavailable."""
        return ModelResponse(finish="unavailable", detail="drawn")


@pytest.mark.parametrize("model", [Mute(), Lost()], ids=["mute", "lost"])
def test_a_model_that_gives_nothing_makes_an_idle_office_and_no_error(desk: Desk, model: Mute | Lost) -> None:
    ran = desk.json("run", JUNIPER, "--days", "2", make=lambda: desk.house(model=model))
    assert ran["counts"]["delegations"] == 0
    assert ran["counts"]["activations"] > 0
    assert desk.json("replay", ran["office"])["hash"] == ran["hash"]
