"""The assistant's loop: what it takes from a model, how it ends, and how its four sandbox tools behave."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.documents.renderer import DocumentRenderer
from services.models.scripted import call, calls
from simulator.assistant import BAD_CALLS, SHOWN_CHARS, TOOLS, AssistantLoop, Ended, execute, parse, tool_specs
from simulator.conversation import Message, ModelResponse, ToolCall
from simulator.errors import SandboxError
from simulator.ports import CommandResult, TreeEntry
from simulator.prompts import render


def loop(turns: int = 10, ask: bool = True) -> AssistantLoop:
    return AssistantLoop([Message("system", "you"), Message("user", "task")], turns, ask)


def raw(name: str, arguments: str, call_id: str = "c1") -> ModelResponse:
    return ModelResponse(tool_calls=(ToolCall(call_id, name, arguments),), finish="tool_calls")


def ended(agent: AssistantLoop) -> Ended | None:
    return agent.ended


def answers(agent: AssistantLoop) -> list[dict[str, Any]]:
    return [msgspec.json.decode(m.content) for m in agent.messages if m.role == "tool"]


# -- the loop ------------------------------------------------------------------------------------------------------------


def test_sandbox_calls_are_handed_back_in_order_and_their_results_taken() -> None:
    agent = loop()
    wanted = agent.take(calls(call("bash", command="ls"), call("read", path="a"), call("write", path="b", text="x")))
    assert [c.name for c in wanted] == ["bash", "read", "write"] and ended(agent) is None
    for one in wanted:
        agent.observe(one, '{"ok":true}')
    assert [m.tool_call_id for m in agent.messages if m.role == "tool"] == [c.id for c in wanted]


def test_submitting_and_asking_end_the_segment_with_their_words() -> None:
    agent = loop()
    assert agent.take(call("submit", report="all done")) == () and ended(agent) == Ended("submitted", "all done")
    agent = loop()
    assert agent.take(call("ask_principal", question="fees?")) == () and ended(agent) == Ended("asked", "fees?")


def test_work_in_the_same_answer_as_a_submission_is_still_done_whatever_the_order() -> None:
    agent = loop()
    wanted = agent.take(calls(call("write", path="a", text="x"), call("submit", report="done"), call("bash", command="ls")))
    assert [c.name for c in wanted] == ["write", "bash"] and ended(agent) == Ended("submitted", "done")


def test_of_two_endings_in_one_answer_the_first_counts() -> None:
    agent = loop()
    agent.take(calls(call("ask_principal", question="fees?"), call("submit", report="done")))
    assert ended(agent) == Ended("asked", "fees?")


def test_a_malformed_submission_is_none() -> None:
    agent = loop()
    agent.take(calls(call("submit", report=3), call("bash", command="ls")))
    assert ended(agent) is None and answers(agent)[0]["ok"] is False


def test_words_without_a_call_are_nudged_once_and_then_end_it() -> None:
    agent = loop()
    assert agent.take(ModelResponse("I think so")) == () and ended(agent) is None
    assert agent.messages[-1] == Message("user", render("nudge"))
    agent.take(call("bash", command="ls"))
    agent.take(ModelResponse("I still think so " * 100))
    last = ended(agent)
    assert last is not None and last.outcome == "stopped"
    assert last.text.startswith("the assistant stopped without submitting: I still") and len(last.text) < 400


@pytest.mark.parametrize(
    ("finish", "text"),
    [("overflow", "the conversation is too long for the model"), ("refusal", "the model refused the task"), ("length", "the answer was cut")],
)
def test_an_answer_that_cannot_go_on_ends_it_with_the_reason(finish: Any, text: str) -> None:
    agent = loop()
    assert agent.take(ModelResponse("half", finish=finish)) == ()
    assert ended(agent) == Ended("stopped", text) and agent.messages[-1].role == "assistant"


def test_a_cut_answer_with_whole_calls_goes_on() -> None:
    agent = loop()
    response = ModelResponse(tool_calls=call("bash", command="ls").tool_calls, finish="length")
    assert len(agent.take(response)) == 1 and ended(agent) is None


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_the_turn_limit_counts_model_calls_and_lets_the_last_results_in(limit: int) -> None:
    agent = loop(limit)
    for turn in range(limit):
        assert ended(agent) is None
        (one,) = agent.take(call("bash", command=f"echo {turn}"))
        assert ended(agent) is None, "the last call is carried out"
        agent.observe(one, "{}")
        agent.settle()
    assert ended(agent) == Ended("stopped", f"the limit of {limit} turns was reached") and agent.turns == limit


def test_submitting_on_the_last_turn_counts_and_malformed_calls_use_it_up() -> None:
    agent = loop(1)
    agent.take(call("submit", report="x"))
    agent.settle()
    assert ended(agent) == Ended("submitted", "x")
    agent = loop(1)
    agent.take(raw("bash", "{"))
    assert ended(agent) == Ended("stopped", "the limit of 1 turns was reached")


MALFORMED = (
    "[]", '["ls"]', '"ls"', "null", "0", "true", "{", '{"command": "ls"', '{"command": }', '{"command": NaN}', '{"command": 1}', "{'command': 'ls'}",
    '{"cmd": "ls"}', '{"command": "ls", "sudo": true}', '{"command": "ls", "timeout_s": "5"}', '{"command": "ls", "timeout_s": 1e999}',
    '{"command": "\\ud800"}', "\ud800", "[" * 9_000, '{"command":' * 9_000, '"' + '\\"' * 10, '"{\\"command\\": "', "9" * 9_000, '"\\"ls\\""',
)  # fmt: skip


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_arguments_of_any_shape_are_answered_and_never_raise(text: str) -> None:
    agent = loop()
    assert agent.take(raw("bash", text)) == () and ended(agent) is None
    (answer,) = answers(agent)
    assert answer["ok"] is False and answer["error"].startswith("the arguments of bash are not valid: ")
    assert "\n" not in answer["error"] and len(answer["error"]) < 300


@given(st.text(max_size=60), st.sampled_from([*TOOLS, "fly"]))
def test_any_arguments_are_taken_or_answered(text: str, name: str) -> None:
    agent = loop()
    wanted = agent.take(raw(name, text))
    assert len(wanted) + len(answers(agent)) + (agent.ended is not None) == 1


@pytest.mark.parametrize("text", ['{"command": "ls"}', '"{\\"command\\": \\"ls\\"}"', ' {"command":"ls","timeout_s":5} '])
def test_arguments_encoded_twice_are_read(text: str) -> None:
    (one,) = loop().take(raw("bash", text))
    assert parse(one).command == "ls"  # type: ignore[attr-defined]


def test_an_unknown_tool_is_told_which_there_are() -> None:
    agent = loop()
    agent.take(raw("sudo", "{}"))
    assert answers(agent)[0]["error"] == "there is no tool 'sudo'; there are: read, bash, edit, write, ask_principal, submit"
    agent = loop(ask=False)
    agent.take(call("ask_principal", question="x"))
    assert ended(agent) is None and "there is no tool 'ask_principal'" in answers(agent)[0]["error"]
    assert [t.name for t in tool_specs(False)] == ["read", "bash", "edit", "write", "submit"]


def test_too_many_malformed_calls_in_a_row_end_it_and_one_good_one_forgives() -> None:
    agent = loop(99)
    for _ in range(BAD_CALLS - 1):
        agent.take(raw("bash", "{"))
    assert ended(agent) is None
    agent.take(call("bash", command="ls"))
    for _ in range(BAD_CALLS - 1):
        agent.take(raw("bash", "{"))
    assert ended(agent) is None
    agent.take(raw("bash", "{"))
    assert ended(agent) == Ended("stopped", "too many malformed tool calls in a row")


# -- carrying out --------------------------------------------------------------------------------------------------------


class Desk:
    """A sandbox on paper: files, and what a command is to give."""

    def __init__(self, files: dict[str, bytes] | None = None, result: CommandResult | None = None) -> None:
        self.files = files or {}
        self.result = result or CommandResult(0, "", "")
        self.ran: list[tuple[str, int]] = []

    def run(self, command: str, timeout_s: int = 120) -> CommandResult:
        self.ran.append((command, timeout_s))
        return self.result

    def read(self, path: str, limit: int = 2_000_000) -> bytes:
        if path == "dead":
            raise SandboxError("the sandbox died")
        if path not in self.files:
            raise FileNotFoundError(2, "there is no such file", path)
        return self.files[path]

    def write(self, path: str, data: bytes) -> None:
        if path.startswith("/mnt"):
            raise PermissionError(13, "this folder is read-only", path)
        self.files[path] = data

    def export_home(self) -> tuple[tuple[TreeEntry, ...], tuple[str, ...]]:
        return (), ()

    def close(self) -> None: ...


def done(desk: Desk, tool: str, **args: Any) -> dict[str, Any]:
    (one,) = call(tool, **args).tool_calls
    text, command = execute(one, desk, DocumentRenderer())
    assert (command is not None) == (tool == "bash")
    answer: dict[str, Any] = msgspec.json.decode(text)
    return answer


@pytest.mark.parametrize(("asked", "given"), [(5, 5), (0, 1), (-9, 1), (10_000, 120), (2**70, 120)])
def test_a_command_runs_within_its_time(asked: int, given: int) -> None:
    desk = Desk(result=CommandResult(3, "out", "err"))
    assert done(desk, "bash", command="ls", timeout_s=asked) == {"exit_code": 3, "stdout": "out", "stderr": "err"}
    assert desk.ran == [("ls", given)]


def test_a_command_that_was_ended_says_how_and_keeps_what_it_said() -> None:
    desk = Desk(result=CommandResult(-9, "half", "", "timeout", "stopped after 5 s"))
    assert done(desk, "bash", command="sleep 9") == {
        "exit_code": -9, "stdout": "half", "stderr": "", "ended": "timeout", "note": "stopped after 5 s",
    }  # fmt: skip


@pytest.mark.parametrize("size", [SHOWN_CHARS, SHOWN_CHARS + 1, 5 * SHOWN_CHARS])
def test_long_output_keeps_its_beginning_and_end_and_says_what_is_missing(size: int) -> None:
    text = "A" * (size // 2) + "Z" * (size - size // 2)
    shown = done(Desk(result=CommandResult(0, text, text)), "bash", command="cat")["stdout"]
    if size <= SHOWN_CHARS:
        assert shown == text
    else:
        assert shown.startswith("A" * (SHOWN_CHARS // 2)) and shown.endswith("Z" * (SHOWN_CHARS // 2))
        assert f"[... {size - SHOWN_CHARS} characters not shown ...]" in shown


def test_output_is_cleaned_of_what_cannot_be_shown() -> None:
    desk = Desk(result=CommandResult(0, "a\x00b\x1b[31mc\r\nd", "\ud800"))
    shown = done(desk, "bash", command="cat")
    assert "\x00" not in shown["stdout"] and "\x1b" not in shown["stdout"] and shown["stdout"].endswith("c\nd")


def test_a_file_is_read_in_lines() -> None:
    desk = Desk({"a.txt": b"one\ntwo\nthree\nfour"})
    assert done(desk, "read", path="a.txt") == {"ok": True, "text": "one\ntwo\nthree\nfour", "lines": 4}
    for first, lines, text in ((2, 2, "two\nthree"), (0, 1, "one"), (-5, 1, "one"), (4, 99, "four"), (5, 1, ""), (1, 0, "one"), (1, -1, "one")):
        assert done(desk, "read", path="a.txt", first_line=first, lines=lines)["text"] == text


def test_an_office_document_is_read_as_text_and_a_broken_one_says_so() -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active["A1"], book.active["B1"] = 850, "=A1*2"
    stream = io.BytesIO()
    book.save(stream)
    desk = Desk({"x/b.XLSX": stream.getvalue(), "broken.xlsx": b"PK\x03\x04no", "fake.docx": b"", "bad.pdf": b"%PDF-nothing"})
    text = done(desk, "read", path="x/b.XLSX")["text"]
    assert "850" in text and "=A1*2" in text
    for path in ("broken.xlsx", "fake.docx", "bad.pdf"):
        answer = done(desk, "read", path=path)
        assert answer["ok"] and answer["text"].strip()


@pytest.mark.parametrize("tool", ["read", "edit"])
def test_a_file_that_is_not_there_is_said_in_plain_words(tool: str) -> None:
    more = {"old": "a", "new": "b"} if tool == "edit" else {}
    assert done(Desk(), tool, path="none.txt", **more) == {"ok": False, "error": "there is no such file"}


def test_what_may_not_be_written_is_said_and_a_dead_sandbox_is_no_answer() -> None:
    desk = Desk()
    assert done(desk, "write", path="/mnt/task/x", text="x") == {"ok": False, "error": "this folder is read-only"}
    with pytest.raises(SandboxError):
        done(desk, "read", path="dead")


def test_what_is_written_is_clean_text() -> None:
    desk = Desk()
    assert done(desk, "write", path="a.txt", text="a\x00b\r\nc é") == {"ok": True, "path": "a.txt"}
    assert desk.files["a.txt"] == "a\N{REPLACEMENT CHARACTER}b\nc é".encode()


@pytest.mark.parametrize(("old", "found"), [("b", 3), ("x", 0), ("", 0), ("ab", 2), ("b\nc", 0)])
def test_an_edit_replaces_exactly_one_place_or_nothing(old: str, found: int) -> None:
    desk = Desk({"a.txt": b"ab ab b"})
    answer = done(desk, "edit", path="a.txt", old=old, new="Z")
    assert answer == {"ok": False, "error": f"the old text occurs {found} times; it must occur exactly once"}
    assert desk.files["a.txt"] == b"ab ab b"


def test_an_edit_that_fits_is_made() -> None:
    desk = Desk({"a.txt": "Größe: 850\nsum\n".encode()})
    assert done(desk, "edit", path="a.txt", old="Größe: 850\n", new="Größe: 580\n") == {"ok": True, "path": "a.txt"}
    assert desk.files["a.txt"] == "Größe: 580\nsum\n".encode()


def test_what_was_read_can_be_edited_whatever_its_line_ends() -> None:
    """`read` shows clean line ends, so a passage of two lines copied from it must be found."""
    desk = Desk({"a.csv": b"x,1\r\ny,2\r\nz,3\r\n"})
    shown = done(desk, "read", path="a.csv")["text"]
    assert done(desk, "edit", path="a.csv", old="\n".join(shown.split("\n")[:2]), new="x,1\ny,20")["ok"]
    assert desk.files["a.csv"] == b"x,1\ny,20\nz,3\n"


def test_an_edit_leaves_what_is_no_text_alone() -> None:
    """One replaced word must not turn every other byte that is no UTF-8 into a question mark."""
    for data in (b"PK\x03\x04\xff total", "Größe total".encode("latin-1")):
        desk = Desk({"a": data})
        answer = done(desk, "edit", path="a", old="total", new="sum")
        assert answer == {"ok": False, "error": "this is no UTF-8 text: change it with a program"} and desk.files["a"] == data
