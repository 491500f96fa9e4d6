"""Sessions as they were: activations, their conversations from the tape, an assistant's tool calls, what each cost.

For the operator alone: a conversation holds what its person could see then, and they may have lost the right since.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from orchestrator.web.book import Book
from orchestrator.web.queries.common import When, actor_name, when
from orchestrator.web.queries.memory import Injected, injected
from orchestrator.web.queries.state import Concern, concern
from orchestrator.web.queries.talk import NOT_FOUND
from orchestrator.web.tally import Activation
from simulator.access import Subject
from simulator.assistant import SANDBOX_TOOLS
from simulator.conversation import Message, ToolCall
from simulator.engine.segment import fingerprint
from simulator.errors import UnknownReference
from simulator.events import ActivationStarted, decode
from simulator.office import Office
from simulator.ports import TapeTool
from simulator.records import Running
from simulator.view import view

MOST_CALLS = 1_000
MOST_CHARS = 40_000


class ActivationLine(msgspec.Struct, frozen=True):
    """An activation: whose, why, from when to when. `outcome` is empty while it runs; `ref` is a delegation or meeting."""

    id: str
    kind: str
    actor: str
    actor_name: str
    ref: str
    began: When
    ended: When
    revision: int
    turns: int
    outcome: str


class Call(msgspec.Struct, frozen=True):
    """One model call that was answered."""

    ordinal: int
    model: str
    finish: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost_micros: int
    detail: str


class ActivationShown(msgspec.Struct, frozen=True):
    """An activation with what woke it, what it was reminded of, and its calls. `sessions` have a conversation to show."""

    line: ActivationLine
    people: tuple[str, ...]
    woken_by: tuple[Concern, ...]
    injected: Injected | None
    sessions: tuple[str, ...]
    calls: tuple[Call, ...]
    cost_micros: int


class ToolAsked(msgspec.Struct, frozen=True):
    """A tool call as the model wrote it."""

    id: str
    name: str
    arguments: str


class Said(msgspec.Struct, frozen=True):
    """One message of a conversation. `cut` says that the content is longer than shown."""

    number: int
    role: str
    content: str
    cut: bool
    reasoning: str
    tool_calls: tuple[ToolAsked, ...]
    tool_call_id: str


class ConversationShown(msgspec.Struct, frozen=True):
    """A part of a conversation. Messages from `own` on belong to this activation, those before to earlier ones."""

    activation: str
    session: str
    messages: tuple[Said, ...]
    total: int
    own: int


class ToolUsed(msgspec.Struct, frozen=True):
    """A sandbox tool call: what was asked, what came of it, and which files of the home it changed."""

    activation: str
    ordinal: int
    name: str
    arguments: str
    result: str
    cut: bool
    note: str
    folder: str
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]


class Trajectory(msgspec.Struct, frozen=True):
    """A delegation's segments, in order, with the sandbox tool calls of all of them."""

    delegation: str
    segments: tuple[ActivationLine, ...]
    tools: tuple[ToolUsed, ...]


# -- activations ----------------------------------------------------------------------------------------------------------


def activations(book: Book, person: str = "", kind: str = "", upto: int = 0) -> list[Activation]:
    """Return activations, the latest first: all, those that occupied a person or worked for them, those of a kind."""
    tally = book.timeline.read_on()
    if person:
        named = {*tally.by_person.get(person, ())}
        office = book.at()
        named.update(
            a.id for a in list(tally.activations.values())
            if a.kind == "segment" and a.ref in office.delegations and office.delegations[a.ref].principal == person
        )  # fmt: skip
        some = [tally.activations[name] for name in named]
    else:
        some = list(tally.activations.values())
    found = [a for a in some if (not kind or a.kind == kind) and (not upto or a.began <= upto)]
    return sorted(found, key=lambda a: a.began, reverse=True)


def line(office: Office, a: Activation) -> ActivationLine:
    """Return an activation for a list."""
    return ActivationLine(
        a.id, a.kind, a.actor, actor_name(office, a.actor), a.ref, when(office, a.at), when(office, a.landed_at), a.began,
        a.turns, a.outcome,
    )  # fmt: skip


def _find(book: Book, activation: str) -> Activation:
    found = book.timeline.read_on().activations.get(activation)
    if found is None:
        raise UnknownReference(NOT_FOUND)
    return found


def activation(book: Book, name: str) -> ActivationShown:
    """Return one activation. Raises UnknownReference."""
    a = _find(book, name)
    office = book.timeline.office(a.began)
    running = _running(book, a)
    given = None
    if a.kind in ("principal", "client"):
        # As of the revision that it read, whatever has happened since.
        base = book.timeline.office(running.revision) if running.revision else office
        given = injected(base, view(base, Subject(a.actor)), running.stimuli, book.texts)
    calls = _calls(book, name)
    woken = tuple(concern(office, s) for s in running.stimuli)
    sessions = _sessions(book, office, a, running)
    cost = sum(call.cost_micros for call in calls)
    return ActivationShown(line(office, a), running.people, woken, given, sessions, calls, cost)


def _running(book: Book, a: Activation) -> Running:
    for _, data in book.reader.events(a.began - 1, a.began):
        payload = decode(data).payload
        if isinstance(payload, ActivationStarted):
            return payload.running
    raise UnknownReference(NOT_FOUND)


def _calls(book: Book, activation: str) -> tuple[Call, ...]:
    found: list[Call] = []
    for ordinal in range(1, MOST_CALLS + 1):
        stored = book.reader.call(activation, ordinal)
        if stored is None:
            break
        r = stored.response
        u = r.usage
        found.append(
            Call(ordinal, r.model, r.finish, u.input, u.cached, u.output, u.reasoning, r.cost_micros, r.detail)
        )
    return tuple(found)


def _sessions(book: Book, office: Office, a: Activation, running: Running) -> tuple[str, ...]:
    if a.kind == "segment":
        names = [f"assistant:{a.ref}"]
    else:
        held = [office.people[p].session for p in running.people if p in office.people]
        names = [*held, *(f"{s}/{branch}" for s in held for branch in ("look-up", "compaction"))]
    return tuple(name for name in names if book.reader.conversation(a.id, name) is not None)


# -- conversations --------------------------------------------------------------------------------------------------------


def conversation(book: Book, name: str, session: str, skip: int, limit: int, chars: int) -> ConversationShown:
    """Return messages of an activation's conversation as of its last call; `session` empty is its main one.

    Raises UnknownReference.
    """
    a = _find(book, name)
    office = book.timeline.office(a.began)
    names = _sessions(book, office, a, _running(book, a))
    chosen = session or (names[0] if names else "")
    messages = _messages(book, name, chosen) if chosen in names else None
    if messages is None:
        raise UnknownReference("Nothing was said in that session of that activation yet.")
    own = max((i for i, m in enumerate(messages) if m.role == "user"), default=0) if a.kind != "segment" else 0
    cut = max(1, min(chars, MOST_CHARS))
    shown = tuple(_said(n, m, cut) for n, m in enumerate(messages[skip : skip + limit], skip))
    return ConversationShown(name, chosen, shown, len(messages), own)


def _messages(book: Book, activation: str, session: str) -> tuple[Message, ...] | None:
    found = book.reader.conversation(activation, session)
    return None if found is None else (*found[0], found[1].as_message())


def _said(number: int, m: Message, chars: int) -> Said:
    calls = tuple(ToolAsked(c.id, c.name, c.arguments[:chars]) for c in m.tool_calls)
    return Said(number, m.role, m.content[:chars], len(m.content) > chars, m.reasoning[:chars], calls, m.tool_call_id)


# -- an assistant's work --------------------------------------------------------------------------------------------------


def trajectory(book: Book, delegation: str, chars: int) -> Trajectory:
    """Return how a delegation was worked on: its segments and their tool calls. Raises UnknownReference."""
    office = book.at()
    if delegation not in office.delegations:
        raise UnknownReference(NOT_FOUND)
    tally = book.timeline.read_on()
    segments = [tally.activations[name] for name in tally.by_actor.get(f"assistant:{delegation}", ())]
    tools: list[ToolUsed] = []
    home: dict[str, str] | None = None
    for segment in segments:
        used, home = _tools(book, segment, home, chars)
        tools.extend(used)
    return Trajectory(delegation, tuple(line(office, s) for s in segments), tuple(tools))


def _tools(
    book: Book, segment: Activation, home: dict[str, str] | None, chars: int
) -> tuple[list[ToolUsed], dict[str, str] | None]:
    taped: list[TapeTool] = []
    while len(taped) < MOST_CALLS and (tool := book.reader.tool(segment.id, len(taped) + 1)) is not None:
        taped.append(tool)
    messages = _messages(book, segment.id, f"assistant:{segment.ref}") or ()
    shown: list[ToolUsed] = []
    for tool, asked in zip(taped, _matched(taped, messages), strict=True):
        after = {entry.path: entry.blob.sha256 for entry in tool.home}
        before = home if home is not None else after
        shown.append(
            ToolUsed(
                segment.id, tool.ordinal, asked.name, asked.arguments[:chars], tool.result[:chars], len(tool.result) > chars,
                tool.note, tool.state.cwd, tuple(sorted(after.keys() - before.keys())),
                tuple(sorted(p for p in after.keys() & before.keys() if after[p] != before[p])),
                tuple(sorted(before.keys() - after.keys())),
            )
        )  # fmt: skip
        home = after
    return shown, home


def _matched(taped: Sequence[TapeTool], messages: Sequence[Message]) -> list[ToolCall]:
    """Return the call of each result, found from the end: earlier segments' calls come before."""
    calls = [c for m in messages for c in m.tool_calls if c.name in SANDBOX_TOOLS]
    found: list[ToolCall] = []
    place = len(calls) - 1
    for tool in reversed(taped):
        at = place
        while at >= 0 and fingerprint(calls[at]) != tool.fingerprint:
            at -= 1
        found.append(calls[at] if at >= 0 else ToolCall("", "", ""))
        place = at - 1 if at >= 0 else place
    return found[::-1]
