"""Behaviour as scripts: a generator yields the calls it wants made and is sent their answers.

The professional keeps no state between requests. At every request the script runs again from the beginning; calls whose
answers are in the conversation are answered from there, and the first ones that are not are what it asks for now.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import msgspec

from simulator.canonical import canonical

Answer = dict[str, Any]


class Call(msgspec.Struct, frozen=True):
    """One tool call: its name and arguments."""

    name: str
    arguments: dict[str, Any]

    @property
    def key(self) -> bytes:
        """Equal for equal calls."""
        return canonical((self.name, self.arguments))


class Ask(msgspec.Struct, frozen=True):
    """Calls made together. `last`: nothing hangs on their answers, the script ends with them."""

    calls: tuple[Call, ...]
    last: bool = False


Script = Generator[Ask, list[Answer], None]
SAVES_FIRST = ("save",)
"""What is made inherits the class of all that was opened before it, so saving goes before opening."""


def call(name: str, **arguments: Any) -> Call:
    """Return a call; arguments that are None are left out."""
    return Call(name, {key: value for key, value in arguments.items() if value is not None})


def ask(*calls: Call) -> Ask:
    """Return calls whose answers the script goes on with."""
    return Ask(calls)


def parting(*calls: Call) -> Ask:
    """Return a script's last calls."""
    return Ask(calls, last=True)


class Told:
    """Answers on hand, by call, in the order in which they came."""

    def __init__(self) -> None:
        self._answers: dict[bytes, deque[Answer]] = {}

    def add(self, made: Call, answer: Answer) -> None:
        """Keep an answer."""
        self._answers.setdefault(made.key, deque()).append(answer)

    def take(self, made: Call) -> Answer | None:
        """Return the next answer to a call, once; None where there is none."""
        waiting = self._answers.get(made.key)
        return waiting.popleft() if waiting else None


def advance(script: Script, told: Told) -> Ask | None:
    """Run a script as far as the answers reach; return what it asks for next, or None when it has ended."""
    try:
        wanted = next(script)
        while True:
            answers = [told.take(made) for made in wanted.calls]
            missing = tuple(made for made, answer in zip(wanted.calls, answers, strict=True) if answer is None)
            if missing:
                return Ask(missing, wanted.last)
            wanted = script.send([answer for answer in answers if answer is not None])
    except StopIteration:
        return None


def together(scripts: Iterable[Script]) -> Script:
    """Run scripts side by side: each turn makes the calls that all of them want."""
    active: list[tuple[Script, Ask]] = []
    for script in scripts:
        _step(active, script, None)
    while active:
        wanted = [(i, k, made) for i, (_, one) in enumerate(active) for k, made in enumerate(one.calls)]
        order = sorted(wanted, key=lambda item: item[2].name not in SAVES_FIRST)
        answers = yield Ask(tuple(made for _, _, made in order), all(one.last for _, one in active))
        given = {(i, k): answer for (i, k, _), answer in zip(order, answers, strict=True)}
        running, active = active, []
        for i, (script, one) in enumerate(running):
            _step(active, script, [given[i, k] for k in range(len(one.calls))])


def _step(active: list[tuple[Script, Ask]], script: Script, answers: list[Answer] | None) -> None:
    """Let a script go on; keep it with what it asks for, unless it has ended."""
    try:
        wanted = next(script) if answers is None else script.send(answers)
        while not wanted.calls:
            wanted = script.send([])
        active.append((script, wanted))
    except StopIteration:
        return


def refused(answers: Sequence[Answer]) -> list[str]:
    """Return the reasons of those calls that were refused."""
    return [str(answer.get("error", "")) for answer in answers if not answer.get("ok", False)]
