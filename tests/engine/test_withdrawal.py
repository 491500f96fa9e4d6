"""Withdrawal: a withdrawn segment leaves nothing in the log that depends on how far its model had come (RULE 16)."""

from __future__ import annotations

import threading

from services.models.scripted import call, calls
from simulator.conversation import ModelRequest, ModelResponse
from simulator.events import decode
from tests.engine.worlds import ALL, HOUR, OPENING, Bench, opening, person


class SlowAssistant:
    """Ada delegates, and withdraws at her next wake; the assistant answers `steps` times before it is held up."""

    def __init__(self, steps: int) -> None:
        self._left = steps
        self.gone = threading.Event()

    def complete(self, request: ModelRequest) -> ModelResponse:
        if request.role == "assistant":
            if self._left == 0:
                self.gone.wait(5)
            self._left -= 1
            return call("fly", wings=2)
        text = request.messages[-1].content
        if '"delegation":"' in text and request.messages[-1].role == "user":
            name = text.split('"delegation":"')[1].split('"')[0]
            self.gone.set()
            return calls(call("withdraw", ref=name, reason="no longer needed"), call("finish"))
        if request.messages[-1].role == "user" and request.call[0] == "ada.1":
            return calls(call("delegate", goal="count", deliverables=["Documents/a.md"]), call("finish"))
        if request.call == ("ben.1", 1):
            return calls(call("post_message", to="ada", text="Is it needed?", asks=True), call("finish"))
        return call("finish")


def test_a_withdrawn_segment_leaves_the_same_log_however_far_it_had_come() -> None:
    """RULE 16: nothing of the segment enters the log."""
    logs = []
    for steps in (1, 4):
        bench = Bench(opening([person("ada", ALL), person("ben")], matter=False), SlowAssistant(steps))
        bench.run(OPENING + 30 * HOUR)
        logs.append(bench.log())
        ended = [decode(e).payload for e in logs[-1] if b'"outcome":"withdrawn"' in e]
        assert [p.turns for p in ended] == [0]  # type: ignore[union-attr]
    assert logs[0] == logs[1]
