"""What Compose says of the parts, and what is made of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.stack import states
from orchestrator.stack.states import Part
from tests.stack.playing import SERVICES, all_ready, container


def test_a_stack_that_is_up_is_read_from_lines_and_from_a_list() -> None:
    lines = all_ready()
    found = states.parts("\n".join(lines))
    assert [p.service for p in found] == sorted(SERVICES) and all(p.ready for p in found)
    assert states.parts("[" + ",".join(lines) + "]") == found
    assert states.parts("time=x level=warning msg=obsolete\n" + "\n".join(lines)) == found


def test_published_ports_are_known() -> None:
    (part,) = states.parts(container("rocketchat", port=3000))
    assert part.ports == (3000,)


@given(st.text(max_size=200) | st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda i: st.lists(i) | st.dictionaries(
    st.sampled_from(["Service", "State", "Health", "ExitCode", "Publishers", "PublishedPort", "x"]), i), max_leaves=6).map(json.dumps))  # fmt: skip
def test_anything_is_read_without_a_fault(text: str) -> None:
    for part in states.parts(text):
        assert states.why(part, text)


@pytest.mark.parametrize(
    ("part", "ready"),
    [
        (Part("postgres", "running", "healthy"), True), (Part("postgres", "running", "starting"), False),
        (Part("postgres", "running", "unhealthy"), False), (Part("postgres", "exited"), False), (Part("x", "running"), True),
        (Part("provision", "exited", code=0), True), (Part("provision", "exited", code=2), False), (Part("provision", "running"), False),
        (Part("postgres", "paused"), False),
    ],
)  # fmt: skip
def test_ready_is_healthy_or_done(part: Part, ready: bool) -> None:
    assert part.ready is ready


@pytest.mark.parametrize(
    ("part", "log", "words"),
    [
        (Part("mailpit", "running", "unhealthy"), "boom\n", "mailpit runs, but does not answer as it should. Its last words: boom"),
        (Part("mailpit", "running", "starting"), "", "mailpit is still starting."),
        (Part("orchestrator", "created"), "old words", "orchestrator waits for another part."),
        (Part("baikal", "restarting"), "no\n\n", "does not stay up: it ends and is started again and again. Its last words: no"),
        (Part("rocketchat", "exited", code=137), "", "killed for want of memory"),
        (Part("provision", "exited", code=2), "provision: Rocket.Chat does not let office in", "did not do its work (exit code 2)"),
        (Part("mongodb", "running", "unhealthy"), "MongoServerError: no replset config has been received", "replica set is not initiated"),
        (Part("mongodb", "restarting", "", 132), "", "no AVX"),
        (Part("rocketchat", "running", "unhealthy"), 'error: "restricted-workspace"', "The workspace is restricted and takes no messages"),
        (Part("rocketchat", "restarting"), "MongoServerSelectionError: getaddrinfo", "does not find its database"),
        (Part("engineproxy", "running", "unhealthy"), "The container engine cannot be reached: Permission denied.", "OFFICETOWN_ENGINE_SOCKET"),
        (Part("postgres", "running", "unhealthy"), "FATAL: password authentication failed for user", "another password than that in .env"),
        (Part("x", "dead"), "", "x is dead."),
        (Part("x", ""), "", "x is in a state nobody knows."),
    ],
)  # fmt: skip
def test_why_is_a_plain_sentence_with_the_part_s_last_words(part: Part, log: str, words: str) -> None:
    said = states.why(part, log)
    assert words in said and said.startswith(part.service)


def test_last_words_come_without_their_time_and_are_bounded() -> None:
    assert states.last_line("2026-01-05T08:00:00.123Z ready to serve\n\n  \n") == "ready to serve"
    assert len(states.last_line("x" * 5000)) == 300
    assert states.last_line("") == ""


def test_a_part_without_a_container_is_missed() -> None:
    assert states.missing(states.parts(container("postgres")), ("postgres", "mailpit")) == ("mailpit",)
