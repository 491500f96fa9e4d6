"""What every running activation has in common: its floor, its calls, its buffered acts."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from simulator.acts import ACTS, ActContext, Outcome, Refused, decide
from simulator.acts.arguments import Arguments
from simulator.acts.context import token
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolCall
from simulator.engine.agenda import Key, Phase
from simulator.engine.environment import Bodies, Environment
from simulator.events import Event, Payload
from simulator.fold import apply
from simulator.office import Office
from simulator.quoting import json_line
from simulator.records import FileRef, Running

BAD_CALLS = 6
"""Malformed tool calls in a row after which an activation is cut."""

RunOutcome = Literal["done", "unavailable", "cut"]


class BufferedAct(msgspec.Struct, frozen=True):
    """An act as it was called: decided again at commit, in the order of calling."""

    id: str
    actor: str
    tool: str
    arguments: Arguments
    relied: tuple[tuple[str, str, str], ...]
    opened: tuple[FileRef, ...]
    cites: tuple[str, ...]
    """Earlier acts of the same activation that this one names: if one fails, so does this (RULE 18)."""


class Run:
    """A running activation. `base` is the office at its start, whatever lands meanwhile (RULE 6)."""

    def __init__(
        self, env: Environment, bodies: Bodies, running: Running, base: Office, minimum: int, turn: int
    ) -> None:
        self.env = env
        self.bodies = bodies
        self.running = running
        self.base = base
        self.minimum, self.turn_minutes = minimum, turn
        self.turns = 0
        self.calls = 0
        self.outcome: RunOutcome | None = None
        self.summary = ""
        self.texts: dict[str, str] = {}
        self.acts: list[BufferedAct] = []
        self.opened: tuple[FileRef, ...] = ()
        self._working = base
        self._ordinal = 0
        self._bad = 0

    # -- time

    def instant(self, turns: int) -> int:
        """Return when effects land after so many turns (RULE 7)."""
        return self.running.at + 60 * max(self.minimum, self.turn_minutes * turns)

    def floor(self) -> Key:
        """Return the earliest key at which this activation can land: it rises with each turn taken (RULE 5).

        An unavailable activation lands where its outstanding call's floor stood: start + minimum when the first call
        failed (RULE 3), never earlier than a floor that others were already held against.
        """
        turns = self.turns if self.outcome in ("done", "cut") else self.turns + 1
        return Key(self.instant(turns), Phase.LANDING, self.running.actor, self.running.number, self.running.id)

    # -- model calls

    def next_request(self) -> ModelRequest:
        """Return the next call to make. Only asked while `outcome` is None."""
        raise NotImplementedError

    def feed(self, request: ModelRequest, response: ModelResponse) -> None:
        """Take an answer: run its tools, or end."""
        raise NotImplementedError

    def call_id(self) -> tuple[str, int]:
        """Return the key of the next call: (activation, ordinal)."""
        self.calls += 1
        return self.running.id, self.calls

    # -- acts

    def try_act(self, actor: str, tool: str, arguments: Arguments) -> dict[str, Any]:
        """Check an act now and answer it at once; it is buffered and checked again at commit."""
        self._ordinal += 1
        act_id = f"{self.running.id}.{self._ordinal}"
        ctx = ActContext(
            self._working, actor, self.running.id, act_id, max(self.base.now, self._working.now), self.env.blobs,
            self.texts, self.opened,
        )  # fmt: skip
        try:
            outcome = decide(ctx, tool, arguments)
        except Refused as refusal:
            self._ordinal -= 1
            return {"ok": False, "error": str(refusal)}
        self.bodies.offer(self.texts)
        cites = tuple(a.id for a in self.acts if _names(arguments, a.id))
        own = {a.id for a in self.acts}
        relied = tuple(r for r in ctx.relied if not any(r[1].startswith(name) for name in own))
        self.acts.append(BufferedAct(act_id, actor, tool, arguments, relied, self.opened, cites))
        self._working = _with(self._working, outcome.payloads, actor, self.running.id)
        return {"ok": True, **outcome.answer}

    @property
    def working(self) -> Office:
        """The office as this person sees it: the base plus their own buffered acts."""
        return self._working

    def note_opened(self, ref: FileRef) -> None:
        """Remember that a file was opened: what is made from now on inherits its class and walls (RULE 27)."""
        if ref not in self.opened:
            self.opened = (*self.opened, ref)

    # -- tool calls

    def parse(self, call: ToolCall, known: dict[str, type[msgspec.Struct]]) -> msgspec.Struct | dict[str, Any]:
        """Read a call's arguments; a malformed call becomes an error the model is shown (bounded by `BAD_CALLS`)."""
        kind = known.get(call.name)
        if kind is None:
            return self._malformed(f"there is no tool {call.name!r}; there are: {', '.join(sorted(known))}")
        try:
            raw = msgspec.json.decode(call.arguments or "{}")
            if isinstance(raw, str):
                raw = msgspec.json.decode(raw)
            parsed = msgspec.convert(raw, kind)
        except (msgspec.ValidationError, msgspec.DecodeError, UnicodeEncodeError, RecursionError) as fault:
            return self._malformed(f"the arguments of {call.name} are not valid: {_plain(fault)}")
        self._bad = 0
        return parsed

    def _malformed(self, error: str) -> dict[str, Any]:
        self._bad += 1
        return {"ok": False, "error": error}

    @property
    def hopeless(self) -> bool:
        """Whether too many malformed calls came in a row."""
        return self._bad >= BAD_CALLS


def _plain(fault: Exception) -> str:
    """Return a fault's text without library versions or reprs: it enters a prompt (RULE 37)."""
    text = str(fault).split("\n")[0]
    return text if isinstance(fault, msgspec.MsgspecError) else "not JSON"


def _names(arguments: Arguments, act_id: str) -> bool:
    """Return whether any argument names an act's result (its id, or a record made from it)."""

    def found(value: object) -> bool:
        if isinstance(value, str):
            return value == act_id or value.startswith((f"{act_id}@", f"{act_id}.", f"person:{act_id}"))
        if isinstance(value, tuple):
            return any(found(item) for item in value)
        return False

    return any(found(getattr(arguments, name)) for name in arguments.__struct_fields__)


def _with(office: Office, payloads: tuple[Payload, ...], actor: str, activation: str) -> Office:
    for payload in payloads:
        office = apply(office, Event(office.revision + 1, office.now, actor, activation, payload))  # type: ignore[arg-type]
    return office


def tool_result(call: ToolCall, result: dict[str, Any] | str) -> Message:
    """Return the message that answers a tool call."""
    text = result if isinstance(result, str) else json_line(result)
    return Message("tool", text, tool_call_id=call.id)


class Landed(msgspec.Struct, frozen=True):
    """One buffered act at commit: its payloads, or why it failed."""

    act: BufferedAct
    payloads: tuple[Payload, ...] = ()
    conflict: str = ""


def _moved(kind: str, name: str, was: str, now: str) -> str:
    """Say what an act relied on and what it is now."""
    if kind == "version":
        was, now = was.partition(":")[0], now.partition(":")[0]
        later = f"now it is {now}" if now != was else "its content is another now"
        return f"{name.partition(chr(31))[2]} has changed meanwhile: it was {was}, {later}"
    return f"the {kind} {name} has changed meanwhile: it was {was}, now it is {now}"


def land_act(env: Environment, office: Office, run: Run, act: BufferedAct, failed: set[str], at: int) -> Landed:
    """Decide an act again, against the office at commit (RULE 18)."""
    broken = [name for name in act.cites if name in failed]
    if broken:
        return Landed(act, conflict=f"it rests on {broken[0]}, which failed")
    for kind, name, was in act.relied:
        now = token(office, kind, name)
        if now != was:
            return Landed(act, conflict=_moved(kind, name, was, now))
    ctx = ActContext(office, act.actor, run.running.id, act.id, at, env.blobs, run.texts, act.opened)
    try:
        outcome: Outcome = decide(ctx, act.tool, act.arguments)
    except Refused as refusal:
        return Landed(act, conflict=str(refusal))
    return Landed(act, outcome.payloads)


KNOWN_ACTS: dict[str, type[msgspec.Struct]] = {name: kind.arguments for name, kind in ACTS.items()}
