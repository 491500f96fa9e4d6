"""The quality reviewer: opens what was accepted and what it rests on, recomputes, signs off or declines with reasons."""

from __future__ import annotations

from services.offline.heard import Heard, Row
from services.offline.reviewer import judge, notes
from services.offline.script import Answer, Script, ask, call, parting, refused
from services.offline.submission import parts_to_read, whole
from services.offline.worklore import by_deliverable
from services.professions.base import MARKDOWN, Profession
from services.professions.faults import Fault

ADD = "add to"
"""How a reviewer asks for one more line: `add to <file> the line: <text>`."""


def check(me: Heard, request: Row) -> Script:
    """Review a colleague's accepted work before a client may have it."""
    files = [str(path) for path in request.get("materials", ()) if str(path).startswith("/")]
    kind = by_deliverable(files)
    accept = [call("accept_request", request=request["request"], note="I open the files myself.")] * (
        request.get("state") == "open"
    )
    answers = yield ask(*accept, *(call("open_file", file=path) for path in files))
    if refused(answers[: len(accept)]):
        return
    opened = answers[len(accept) :]
    sources = list(
        dict.fromkeys(str(s) for answer in opened for s in answer.get("sources", ()) if str(s).startswith("/"))
    )
    further = parts_to_read(files, opened)
    under = yield ask(*further, *(call("open_file", file=path) for path in sources))
    rest, under = under[: len(further)], under[len(further) :]
    below = parts_to_read(sources, under)
    deeper: list[Answer] = []
    if below:
        deeper = yield ask(*below)
    handed = whole(files, opened, further, rest)
    given = whole(sources, under, below, deeper)
    faults = judge(kind, str(request.get("period", "")), given, handed) if kind is not None else ()
    if kind is not None and not faults:
        faults = _one_line_more(me, request, kind, opened)
    if faults:
        yield from _decline(me, request, faults)
        return
    signed = yield ask(*(call("sign_off", file=path) for path in files))
    if refused(signed):
        already = all("already given" in reason for reason in refused(signed))
        if not already:
            reason = f"I cannot sign this off: {refused(signed)[0]}"
            yield parting(call("decline_request", request=request["request"], reason=reason[:1_500]))
            return
    yield from _done(me, request, files, len(sources))


def _one_line_more(me: Heard, request: Row, kind: Profession, opened: list[Answer]) -> tuple[Fault, ...]:
    """Now and then the reviewer wants one more line in a note: that the work was held against the result before it."""
    note = next((d.name for d in kind.deliverables if d.media_type == MARKDOWN), "")
    asked_before = any("Held against" in str(answer.get("text", "")) for answer in opened)
    if not note or asked_before or not me.draw("line more", str(request["request"])).chance(1, 22):
        return ()
    line = f"Held against the inputs of {request.get('period', '')} and what was open before them."
    return (
        Fault(
            "low",
            note,
            "",
            f"a reader cannot see what it was checked against; {ADD} {note} the line: {line}",
            "supplement",
        ),
    )


def _decline(me: Heard, request: Row, faults: tuple[Fault, ...]) -> Script:
    draw = me.draw("decline", str(request["request"]))
    opening = draw.choice((
        "Not signed off. Recomputed from the sources:", "I cannot sign this yet:", "No exceptions by friendship. What I found:",
    ))  # fmt: skip
    yield ask(call("decline_request", request=request["request"], reason=f"{opening}\n{notes(faults)}"[:1_900]))


def _done(me: Heard, request: Row, files: list[str], sources: int) -> Script:
    draw = me.draw("signed", str(request["request"]))
    said = draw.choice((
        f"Recomputed from {sources} sources; totals and references hold. Signed off.", "Signed off, exactly these versions.",
        "Every figure leads back to its record. Signed off.", "Opened, recomputed, signed.",
    ))  # fmt: skip
    calls = [call("fulfil_request", request=request["request"], results=files, note=said)]
    asker = str(request.get("from", ""))
    if draw.chance(1, 8):
        held = draw.choice(
            ("hands in work that ties", "names what is open before being asked", "keeps references complete")
        )
        calls.append(
            call(
                "note",
                record="colleague",
                text=f"{me.card.called(asker)} {held} ({request.get('period', '')}).",
                about=asker,
            )
        )
    yield ask(*calls)
