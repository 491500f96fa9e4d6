"""RULE 2: a replay answers from the tape alone, and a request that differs stops it with the difference shown."""

from __future__ import annotations

from typing import Any, cast

import pytest

from services.models.recorded import Recorded, difference
from services.models.scripted import say
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.errors import TapeMismatch
from simulator.ports import Journal, TapeCall
from tests.models.stories import READ, ask


class Tape:
    """The one method of a journal that a replay may use: any other would fail."""

    def __init__(self, *recorded: tuple[ModelRequest, ModelResponse]) -> None:
        self._calls = {request.call: (request, response) for request, response in recorded}

    def call(self, activation: str, ordinal: int) -> TapeCall | None:
        found = self._calls.get((activation, ordinal))
        return TapeCall(activation, ordinal, found[0].fingerprint, found[1]) if found else None

    def stored(self, activation: str, ordinal: int) -> ModelRequest | None:
        found = self._calls.get((activation, ordinal))
        return found[0] if found else None


def recorded(tape: Tape, show: bool = True) -> Recorded:
    return Recorded(cast(Journal, tape), tape.stored if show else None)


def test_the_recorded_answer_comes_back() -> None:
    tape = Tape((ask(), say("Good morning to you.")), (ask("and?", ordinal=1), say("Nothing.")))
    assert recorded(tape).complete(ask("and?", ordinal=1)) == say("Nothing.")


def test_a_call_that_was_not_recorded_is_no_call() -> None:
    with pytest.raises(TapeMismatch, match="holds no answer for call 5 of activation elena/1"):
        recorded(Tape((ask(), say("hi")))).complete(ask(ordinal=5))


def test_a_changed_message_is_shown_line_by_line() -> None:
    tape = Tape((ask("Deposits: 850.00\nFees: 42.50"), say("noted")))
    with pytest.raises(TapeMismatch) as caught:
        recorded(tape).complete(ask("Deposits: 850.00\nFees: 43.50"))
    shown = str(caught.value)
    assert "message 2 (user) is the first that differs" in shown
    assert "-Fees: 42.50" in shown
    assert "+Fees: 43.50" in shown


def test_without_the_stored_request_the_last_message_is_shown() -> None:
    with pytest.raises(TapeMismatch, match="two eggs"):
        recorded(Tape((ask("one egg"), say("ok"))), show=False).complete(ask("two eggs"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"session": "s-daniel"}, "session: recorded 's-elena', asked 's-daniel'"),
        ({"tools": (READ,)}, "tools: recorded none; asked read"),
        ({"max_output": 5}, "max_output: recorded 4096, asked 5"),
        ({"schema_name": "verdict"}, "schema_name: recorded '', asked 'verdict'"),
        ({"messages": (Message("system", "You are Elena."),)}, "messages: recorded 2, asked 1"),
    ],
)
def test_every_parameter_of_the_fingerprint_is_named(change: dict[str, Any], words: str) -> None:
    changed = ask(**change)
    assert changed.fingerprint != ask().fingerprint
    assert words in difference(ask(), changed)


def test_a_long_difference_is_cut() -> None:
    before, after = (ask("\n".join(f"{word} {n}" for n in range(500))) for word in ("was", "is"))
    assert "more lines" in difference(before, after)
    assert len(difference(before, after).splitlines()) < 50
