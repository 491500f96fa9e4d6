"""One delegation's whole story: what was asked, said, done in the sandbox, handed in, changed, decided, and led to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
from nicegui import ui

from orchestrator.web import founding
from orchestrator.web.founding import FreezeAsked
from orchestrator.web.queries import sessions, work
from orchestrator.web.queries.common import When
from orchestrator.web.queries.sessions import ActivationLine, ConversationShown, Trajectory
from orchestrator.web.queries.work import DelegationShown, RoundShown
from orchestrator.web.ui import content, conversation, difference, kit, ledto, mail, people
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.difference import Difference
from orchestrator.web.ui.ledto import Led
from orchestrator.web.ui.paths import PATHS
from orchestrator.web.ui.shell import Page, Shell
from simulator.office import Office
from simulator.records import FileRef

TABS = {"story": "Story", "talk": "Conversation", "tools": "In the sandbox", "changes": "What changed"}
_CHARS = 4_000


class Talk(msgspec.Struct, frozen=True):
    """The assistant's segments by this moment, and the conversation of one."""

    segments: tuple[ActivationLine, ...]
    open: str
    talk: ConversationShown | None


class Pair(msgspec.Struct, frozen=True):
    """Two versions of one file of this work."""

    file: str
    path: str
    before: int
    after: int


class Changes(msgspec.Struct, frozen=True):
    """The pairs of versions that can be compared, and what changed in the one that is open."""

    pairs: tuple[Pair, ...]
    open: int
    difference: Difference


class Shown(msgspec.Struct, frozen=True):
    """A delegation, and what the chosen tab shows of it."""

    delegation: DelegationShown
    names: Mapping[str, str]
    led: tuple[Led, ...]
    tab: str
    data: Any


def load(ask: Ask) -> Shown:
    """Return the delegation of the address, as of the moment."""
    office, name = ask.office, ask.get("delegation")
    found = work.delegation(office, name, ask.book.texts)
    tab = ask.get("tab", "story")
    data: Any = None
    if tab == "talk":
        data = _talk(ask, name)
    elif tab == "tools":
        data = _trajectory(ask, name)
    elif tab == "changes":
        data = _changes(ask, office, name)
    else:
        tab = "story"
    led = ledto.led_to(office, office.delegations[name]) if tab == "story" else ()
    return Shown(found, {p.id: p.name for p in office.people.values()}, led, tab, data)


def _talk(ask: Ask, name: str) -> Talk:
    tally = ask.book.timeline.read_on()
    found = [tally.activations[a] for a in tally.by_actor.get(f"assistant:{name}", ())]
    lines = tuple(sessions.line(ask.office, a) for a in found if a.began <= ask.office.revision)
    chosen = ask.get("segment") or (lines[-1].id if lines else "")
    talk = people.talk_of(ask, chosen) if any(line.id == chosen for line in lines) else None
    return Talk(lines, chosen, talk)


def _trajectory(ask: Ask, name: str) -> Trajectory:
    found = sessions.trajectory(ask.book, name, _CHARS)
    by_now = tuple(s for s in found.segments if s.revision <= ask.office.revision)
    ids = {s.id for s in by_now}
    return Trajectory(name, by_now, tuple(t for t in found.tools if t.activation in ids))


def pairs_of(office: Office, delegation: str) -> tuple[Pair, ...]:
    """Return what can be compared: each version a round brought with the one before it, or with what it was made from."""
    d = office.delegations[delegation]
    found = []
    for ref in sorted(ledto.results(d)):
        file = office.files.get(ref.file)
        if file is not None and 1 < ref.version <= len(file.versions):
            found.append(Pair(ref.file, file.path, ref.version - 1, ref.version))
    return tuple(found)


def _changes(ask: Ask, office: Office, name: str) -> Changes:
    pairs = pairs_of(office, name)
    number = min(ask.number("pair"), max(0, len(pairs) - 1))
    if not pairs:
        return Changes((), 0, Difference(note="Every file was right the first time: there is one version of each."))
    pair = pairs[number]
    return Changes(pairs, number, compare(ask, FileRef(pair.file, pair.before), FileRef(pair.file, pair.after)))


def compare(ask: Ask, before: FileRef, after: FileRef) -> Difference:
    """Return what changed between two file versions that are there at the moment."""
    texts = []
    workbook = True
    for ref in (before, after):
        file = ask.office.files[ref.file]
        version = file.versions[ref.version - 1]
        if version.blob.size > content.MOST_BYTES:
            return Difference(note="A version is too large to be compared here: download both.")
        texts.append(content.whole(ask.book, version.blob, version.media_type, file.path))
        workbook = workbook and content.is_workbook(version.media_type, file.path)
    return difference.between(texts[0], texts[1], workbook)


# -- drawn ------------------------------------------------------------------------------------------------------------------


def draw(shell: Shell, shown: Shown) -> None:
    """Draw the delegation."""
    line = shown.delegation.line
    with kit.box("row between"):
        kit.heading(" ".join(p for p in (line.work.replace("-", " ").capitalize() or "Delegated work", line.period) if p), 1)
        with kit.box("row"):
            kit.chip(line.state, f"work-{line.state}", test="delegation-state")
            if any(r.decision for r in shown.delegation.rounds):
                kit.button("Freeze as a task", lambda: _freeze(shell, line.id), "small", "ac_unit", test="freeze")
    tabs = kit.tabs("What to look at", TABS, shown.tab, lambda v: shell.turn(
        tab="" if v == "story" else v, segment="", pair="", skip=""), "tab")  # fmt: skip
    tabs.set(test="delegation-tabs")
    with kit.box("stack wide-gap", test=f"delegation-{shown.tab}"):
        {"story": _story, "talk": _draw_talk, "tools": _draw_tools, "changes": _draw_changes}[shown.tab](shell, shown)


async def _freeze(shell: Shell, delegation: str) -> None:
    book = shell.book
    if book is None:
        return
    ui.notify("It is being frozen, audited and calibrated. This takes a while.")
    parts = shell.parts
    job = await shell.telling(lambda: founding.freeze(parts.house, parts.jobs, book.id, FreezeAsked(delegation)))
    while job is not None and job.state == "working" and not shell.client.is_deleted:
        await asyncio.sleep(1)
        job = parts.jobs.get(job.id)
    if job is None or shell.client.is_deleted:
        return
    done = job.state == "done"
    words = f"Frozen: {', '.join(job.result.get('snapshots', ()))}. Experts find it in their queue." if done else job.error
    ui.notify(words, type="positive" if done else "warning", multi_line=True, timeout=12_000)


def _story(shell: Shell, shown: Shown) -> None:
    d = shown.delegation
    line = d.line
    with kit.box("two"):
        with kit.box("stack wide-gap"):
            with kit.card("Asked for"):
                kit.text(line.goal, "said", "p")
                for words, items in (("Rules", d.constraints), ("To be handed in", d.deliverables)):
                    if items:
                        kit.heading(words, 3)
                        with kit.Tag("ul", "bullets"):
                            for item in items:
                                kit.Tag("li", "", item)
                if d.inputs:
                    kit.heading("From", 3)
                    mail.files(shell, d.inputs)
            for one in d.rounds:
                _round(shell, shown, one)
        with kit.box("stack wide-gap"):
            with kit.card("About"):
                kit.facts((
                    ("Given by", shown.names.get(line.principal, line.principal)), ("On", line.at.local.replace("T", " ")[:16]),
                    ("Due", line.due.local.replace("T", " ")[:16]), ("Matter", line.matter), ("Id", line.id),
                    ("Freeze as", f"{line.id}.{line.round}" if line.round else ""),
                ))  # fmt: skip
                kit.link(shown.names.get(line.principal, "The principal"), shell.url("person", person=line.principal), "btn small")
            if d.questions:
                with kit.card("Questions"):
                    for q in d.questions:
                        with kit.box("stack tight memory"):
                            kit.text(f"{people.short(q.at)} The assistant asks", "faint")
                            kit.text(q.text, "said")
                            who = shown.names.get(q.answered_by, q.answered_by) or "The office"
                            kit.text(f"{who}: {q.answer}" if q.answer else "No answer yet.", "said strong")
            with kit.card("What it led to", test="led-to"):
                for led in shown.led[:60]:
                    _led(shell, led)
                if not shown.led:
                    kit.empty("Nothing yet.")


def _led(shell: Shell, led: Led) -> None:
    targets: dict[str, tuple[str, dict[str, object]]] = {
        "share": ("file", {"file": led.ref, "version": led.version}), "file": ("file", {"file": led.ref, "version": led.version}),
        "mail": ("mail", {"mail": led.ref}), "message": ("chat", {"room": led.ref}),
        "delegation": ("delegation", {"delegation": led.ref}),
    }  # fmt: skip
    with kit.box("feed-line"):
        kit.text(people.short(led.at), "time")
        target = targets.get(led.kind)
        if target is None:
            kit.text(led.text)
        else:
            kit.link(led.text, shell.url(target[0], **target[1]))


def _when(at: When) -> str:
    return at.local.replace("T", " ")[:16]


def _round(shell: Shell, shown: Shown, r: RoundShown) -> None:
    with kit.card(f"Round {r.number}", test=f"round-{r.number}"):
        kit.text(f"Begun {_when(r.at)} · {r.segments} {'segment' if r.segments == 1 else 'segments'} of work", "faint")
        if r.stopped:
            kit.text(f"Stopped: {r.stopped}", "fault-text", "p")
        if r.submitted.local:
            kit.heading(f"Handed in {_when(r.submitted)}", 3)
            kit.text(r.report, "said", "p")
            mail.files(shell, r.files)
            for refused in r.refused:
                kit.text(f"Not taken over: {refused}", "hint", "p")
        elif not r.stopped:
            kit.empty("Not handed in yet.")
        if r.decision:
            with kit.box("row"):
                kit.heading(f"Review {_when(r.reviewed)}", 3)
                kit.chip({"accept": "accepted", "revise": "to revise", "supplement": "to supplement"}[r.decision],
                         "good" if r.decision == "accept" else "warn")  # fmt: skip
            kit.text(f"{shown.names.get(r.by, r.by)}: {r.notes}", "said", "p")


def _draw_talk(shell: Shell, shown: Shown) -> None:
    found: Talk = shown.data
    if not found.segments:
        kit.empty("The assistant has not begun.")
        return
    with kit.card(""):
        options = {s.id: f"{i}. {people.short(s.began)}" for i, s in enumerate(found.segments, 1)}
        kit.tabs("Which segment", options, found.open, lambda v: shell.turn(segment=v, skip=""))
        kit.link("Everything about this segment", shell.url("session", activation=found.open))
        if found.talk is not None:
            conversation.draw(found.talk, "The assistant")
        else:
            kit.empty("Nothing has been said yet.")


def _draw_tools(shell: Shell, shown: Shown) -> None:
    found: Trajectory = shown.data
    for number, segment in enumerate(found.segments, 1):
        used = [t for t in found.tools if t.activation == segment.id]
        with kit.card(f"Segment {number}: {_when(segment.began)}, {len(used)} tool calls, {segment.outcome or 'under way'}"):
            conversation.tools(used, f"Tool calls of segment {number}")
    if not found.segments:
        kit.empty("The assistant has not begun.")


def _draw_changes(shell: Shell, shown: Shown) -> None:
    found: Changes = shown.data
    with kit.card(""):
        if found.pairs:
            options = {
                str(i): f"{p.path.rsplit('/', 1)[-1]}: version {p.before} → {p.after}" for i, p in enumerate(found.pairs)
            }
            kit.choice("Which versions", options, str(found.open), lambda v: shell.turn(pair=v), "change-pair")
        label = found.pairs[found.open].path if found.pairs else "Changes"
        difference.draw(found.difference, f"What changed in {label}")


PAGE = Page("delegation", PATHS["delegation"], "Delegated work", "view_kanban", load, draw, menu=False, under="work")
