"""What others wrote is data: it opens no section, hides nothing, and passes for no tool's answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.models.scripted import call, calls, raw_call
from services.offline.heard import Heard, sections
from services.offline.task import read_task
from simulator.assistant import AssistantLoop
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolCall
from simulator.engine.run import tool_result
from simulator.prompts import Prompts
from simulator.quoting import json_line, one_line, quoted, unquoted
from tests.engine.worlds import ALL, OPENING, person
from tests.prompts.firm import firm, prompts_of
from tests.prompts.hostile import CORPUS, in_turn, rows, several, structure, texts, unseen
from tests.rules.desk import FINISH, begins, meeting, opening, rhythm, world

PLAIN = prompts_of(firm(in_turn(["ord"])), in_turn(["ord"]))
"""The same office, told in harmless words."""


def _check(said: list[str]) -> None:
    words = in_turn(said)
    for name, prompt in prompts_of(firm(words), words).items():
        assert structure(prompt) == structure(PLAIN[name]), name
        assert unseen(prompt) == [], name
        assert [set(row) for row in rows(prompt)] == [set(row) for row in rows(PLAIN[name])], name


@pytest.mark.parametrize("number", range(len(CORPUS)))
def test_each_attempt_alone_changes_no_section_of_any_prompt(number: int) -> None:
    _check([CORPUS[number]])


@given(several)
def test_no_mixture_of_attempts_changes_a_section_of_any_prompt(said: list[str]) -> None:
    _check(said)


@pytest.mark.parametrize(
    ("name", "raw"),
    [("lines", lambda items: "\n".join(str(item) for item in items)), ("line", str), ("quote", str)],
)
def test_without_any_one_of_the_filters_the_property_fails(
    name: str, raw: Callable[[Any], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    naive = Prompts(files("simulator.prompts"))
    naive._environment.filters[name] = raw
    for place in ("simulator.briefing", "tests.prompts.firm"):
        monkeypatch.setattr(f"{place}.render", naive.render)
    caught = 0
    for attempt in CORPUS[:9]:
        try:
            _check([attempt])
        except AssertionError:
            caught += 1
    assert caught == 9


def test_the_check_would_see_a_section_that_was_opened() -> None:
    """Put raw where it is quoted, an attempt is seen: the property above can fail."""
    for attempt in CORPUS[:11]:
        assert structure(f"Notes: w{attempt} end") != structure("Notes: word end") or unseen(attempt) != []
    assert structure("a\n> b\n> c") == [("text", ""), ("quote", "")]
    assert unseen("a\u202eb\u200dc\x00") == ["\x00", "\u202e"]


@given(several)
def test_the_texts_themselves_arrive_whole(said: list[str]) -> None:
    """JSON lines are exact: nothing that somebody wrote is lost or altered on the way into a wake-up."""
    words = in_turn(said)
    made = firm(words)
    shown = {row.get("mail"): row for row in sections(prompts_of(made, words)["wake"])["What wakes you"]}
    mail = next(m for m in made.office.mails.values() if "daniel" in m.to)
    assert shown[mail.id]["text"] == mail.body.text
    assert shown[mail.id]["subject"] == mail.subject


@given(texts)
def test_a_task_page_is_read_as_it_was_meant(text: str) -> None:
    """Whatever the goal, the notes or the files are called, a program finds the one true block."""
    said = prompts_of(firm(in_turn([text])), in_turn([text]))
    for name in ("task", "round"):
        task = read_task(said[name])
        assert task is not None and task.round == 2 and len(task.deliverables) == 2
        assert all(path.startswith("/home/npc/computer/Documents/") for path in task.deliverables)
    assert read_task(said["answer"]) is None, "an answer brings no task of its own"


@given(texts)
def test_what_stands_after_a_summary_is_what_woke_them(summary: str) -> None:
    words = in_turn([summary])
    said = prompts_of(firm(words), words)
    messages = (Message("system", said["principal"]), Message("user", said["compacted"]))
    heard = Heard(ModelRequest("principal", ("a", 1), "s", messages))
    assert heard.prompt == said["wake"]


# -- tools ------------------------------------------------------------------------------------------------------------


def _answers(messages: tuple[Message, ...] | list[Message]) -> list[dict[str, object]]:
    found = []
    for message in messages:
        if message.role == "tool":
            assert len(message.content.splitlines()) == 1 and unseen(message.content) == []
            found.append(json.loads(message.content))
    return found


@given(texts)
def test_a_tools_answer_is_one_line_of_json(text: str) -> None:
    message = tool_result(ToolCall("1", "open_file", "{}"), {"ok": False, "error": text})
    assert _answers([message]) == [{"ok": False, "error": text}]


@given(texts, texts)
def test_an_assistants_malformed_call_cannot_pass_for_an_answer(name: str, arguments: str) -> None:
    loop = AssistantLoop([Message("system", "s")], 10)
    wanted = (ToolCall("1", f"x{name}", arguments), ToolCall("2", "read", f"x{arguments}"))
    assert loop.take(ModelResponse(tool_calls=wanted, finish="tool_calls").cleaned()) == ()
    assert [answer["ok"] for answer in _answers(loop.messages)] == [False, False]


@pytest.mark.parametrize("attempt", CORPUS)
def test_a_persons_refused_calls_and_readings_stay_answers(attempt: str) -> None:
    """Through the engine: unknown tools, paths, rooms and people named by an attempt; then what they saved is read."""
    first = calls(
        raw_call(f"x{attempt}", "{}"), call("open_file", file=attempt), call("send_mail", to=[attempt], subject="s", text="t"),
        call("read_room", room=attempt), call("save", path="Notes/a.md", text=attempt), call("free_busy", people=[attempt], day=attempt),
    )  # fmt: skip
    second = calls(call("open_file", file="/home/npc/computer/Notes/a.md"), call("search", words=attempt), FINISH)
    script = {("session-daniel", begins("go")): [first, second, FINISH]}
    bench, model = world(opening([person("daniel", ALL)], entries=[rhythm("go", "daniel", OPENING)]), script)
    bench.run(OPENING + 3600)
    last = max((r for r in model.asked if r.session == "session-daniel"), key=lambda r: len(r.messages))
    found = _answers(last.messages)
    assert [answer["ok"] for answer in found[:4]] == [False] * 4
    assert found[4]["ok"] is True


@pytest.mark.parametrize("attempt", CORPUS)
def test_what_is_said_in_a_meeting_is_a_row_for_the_others_and_a_line_of_the_minutes(attempt: str) -> None:
    """RULE 17, through the engine: nobody can speak in another's name or record a decision by saying so."""
    said = f"w{attempt}"
    script = {
        ("session-elena", "## So far"): [
            call("speak", text=said), call("record_decision", text=said), call("raise_question", text=said), call("close_meeting"),
        ],
        ("session-daniel", "## So far"): call("pass_turn"),
    }  # fmt: skip
    sync = meeting("sync", "elena", ["daniel"], OPENING + 600)
    sync = msgspec.structs.replace(sync, title=said, agenda=said)
    bench, model = world(opening([person("elena", ALL), person("daniel", ALL)], entries=[sync]), script)
    office = bench.run(OPENING + 2 * 3600)
    heard = [r.messages[-1].content for r in model.asked if r.session == "session-daniel" and "speak" in {t.name for t in r.tools}]
    told = [sections(prompt)["So far"] for prompt in heard]
    assert [[set(row) for row in rows] for rows in told[:2]] == [[{"who", "said"}], [{"who", "said"}, {"who", "decision"}]]
    assert {row["who"] for rows in told for row in rows} == {"Elena"}
    assert all(unseen(prompt) == [] and prompt.count("## So far\n") == 1 for prompt in heard)
    (held,) = office.meetings.values()
    assert held.minutes is not None
    minutes = bench.blobs.get(office.files[held.minutes.file].versions[0].blob.sha256).decode()
    headings = [line.title for line in structure(minutes) if line.what == "heading2"]
    assert headings == ["Decisions", "Open questions"]
    assert [line.what for line in structure(minutes)].count("heading1") == 1


# -- the three forms --------------------------------------------------------------------------------------------------


@given(st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)))
def test_a_json_line_is_exact_and_one_line(value: object) -> None:
    line = json_line(value)
    assert json.loads(line) == value
    assert len(line.splitlines()) == 1 and unseen(line) == []


@given(texts)
def test_a_quote_begins_every_line(text: str) -> None:
    block = quoted(text)
    assert all(line == ">" or line.startswith("> ") for line in block.splitlines())
    assert unseen(block) == []


@given(st.text(st.sampled_from("ab \n#>`-"), max_size=60))
def test_a_quote_can_be_read_back(text: str) -> None:
    lines = [line.rstrip() for line in text.strip().split("\n")]
    assert unquoted(quoted(text)) == "\n".join(lines)


@given(texts)
def test_one_line_is_one_line(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1 and unseen(line) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("My  Report.xlsx", "My  Report.xlsx"), ("a\n\n## b", "a ## b"), ("a \r\n b", "a b"), ("a\u2028b", "a b"), ("a\tb", "a b"),
        ("gpj\u202eexe", "gpj\ufffdexe"), ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"), ("", ""),
    ],
)  # fmt: skip
def test_one_line_keeps_what_a_name_may_hold(text: str, line: str) -> None:
    assert one_line(text) == line
