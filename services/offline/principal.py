"""A principal's activation: what woke them, answered stimulus by stimulus, side by side."""

from __future__ import annotations

from collections.abc import Callable

from services.offline import desk, lead, owner, quality, submission, talk
from services.offline.heard import Heard, Row
from services.offline.script import Script, ask, call, parting, together
from services.offline.worklore import QUALITY, RELEASE, by_deliverable
from services.professions.registry import PROFESSIONS

LOOKS_FOR_WORK = frozenset({"day_start", "share", "due", "answer", "message", "mail"})
"""Stimuli after which a person looks whether waiting work can begin."""


def activation(me: Heard) -> Script:
    """Return everything a principal does about what woke them."""
    stimuli = [row for row in me.rows("What wakes you") if row.get("kind") != "today"]
    scripts = [HANDLERS[str(row["kind"])](me, row) for row in stimuli if row.get("kind") in HANDLERS]
    if any(row.get("kind") == "day_start" for row in stimuli):
        scripts += _left_over(me, {str(row.get("delegation") or row.get("request") or "") for row in stimuli})
    if any(row.get("kind") in LOOKS_FOR_WORK for row in stimuli):
        scripts += owner.pick_up(me, _dealt_with(me, stimuli))
    return together(scripts)


def _dealt_with(me: Heard, stimuli: list[Row]) -> list[str]:
    """Return the requests that the stimuli themselves are about, be it through their quality review."""
    found = [str(row.get("request", "")) for row in stimuli if row.get("kind") == "request"]
    about = {
        (row.get("matter"), row.get("period"))
        for row in stimuli
        if row.get("kind") == "answer" and row.get("work") == QUALITY
    }
    found += [
        str(r["request"]) for r in desk.requests_to_me(me, "accepted") if (r.get("matter"), r.get("period")) in about
    ]
    return found


def _left_over(me: Heard, in_hand: set[str]) -> list[Script]:
    """Return scripts for what should long have been dealt with: an act of an earlier day may not have taken effect."""
    scripts: list[Script] = []
    for row in desk.delegations(me):
        if row["delegation"] in in_hand:
            continue
        if row["state"] in ("submitted", "stopped"):
            scripts.append(submission.look_at(me, row))
        elif row["state"] == "asking":
            scripts.append(_question(me, row))
    for row in desk.requests_to_me(me, "open", "accepted"):
        if row["request"] in in_hand:
            continue
        if row["state"] == "open":
            scripts.append(_request(me, row))
        elif row.get("work") == QUALITY:
            scripts.append(quality.check(me, row))
        elif row.get("work") == RELEASE:
            scripts.append(lead.release_for(me, row))
    return scripts


def _request(me: Heard, row: Row) -> Script:
    if row.get("owner") != me.card.id or row.get("state") != "open":
        return _nothing()
    if row.get("work") == QUALITY:
        return quality.check(me, row)
    if row.get("work") == RELEASE:
        return lead.release_for(me, row)
    if row.get("work") in PROFESSIONS and row.get("matter") in me.card.matters:
        return owner.take_on(me, row)
    return owner.take_on_other(me, row)


def _answer(me: Heard, row: Row) -> Script:
    if row.get("state") == "withdrawn" and row.get("owner") == me.card.id:
        return owner.withdrawn(me, row)
    if row.get("work") != QUALITY or row.get("from") != me.card.id:
        return lead.on_answer(me, row)
    if row.get("state") == "fulfilled":
        return lead.signed_off(me, row)
    if row.get("state") == "declined":
        return _sent_back(me, row)
    return _nothing()


def _sent_back(me: Heard, row: Row) -> Script:
    """The quality reviewer declined: correct it in a new delegation."""
    files = [str(path) for path in row.get("materials", ())]
    kind = by_deliverable(files)
    main = next((path for path in files if kind and path.rpartition("/")[2].partition("@")[0] == kind.main.name), "")
    if kind is None or not main:
        return
    mine = [r for r in me.rows("Work in hand") if r.get("owner") == me.card.id and r.get("work") == kind.kind
            and r.get("period") == row.get("period") and r.get("matter") == row.get("matter")]  # fmt: skip
    request = {
        **row,
        "request": mine[0]["request"] if mine else "",
        "due": mine[0].get("due", "") if mine else "",
        "work": kind.kind,
    }
    yield from owner.correct(me, request, kind, str(row.get("note", "")), main)


def _question(me: Heard, row: Row) -> Script:
    """An assistant asks. Evidence first: what has no record behind it stays open."""
    asked = [q for q in row.get("questions", ()) if not q.get("answer")]
    for question in asked[-1:]:
        text = str(question.get("text", ""))
        yield parting(
            call(
                "answer_question",
                question=question["question"],
                text=_evidence_first(me, text, str(question["question"])),
            )
        )


def _evidence_first(me: Heard, text: str, name: str) -> str:
    draw, said = me.draw("evidence", name), text.casefold()
    if "evidence" in said or "unsupported" in said:
        return draw.choice((
            "No. Without a document it is unsupported: list it so, with its amount. I ask the client.",
            "Not on the vendor's word. Show it as unsupported and open; the evidence can follow next month.",
        ))  # fmt: skip
    if "differ" in said or "booked" in said:
        return draw.choice((
            "No: evidence first. Show both amounts, leave the difference open and say what would settle it.",
            "Nothing is booked to make a difference vanish. List it as open, with both records.",
        ))  # fmt: skip
    if "budget" in said:
        return draw.choice((
            "Leave it as it stands: percent n/a where the budget is 0, and flag it by amount alone.",
            "No assumed budget. Show the variance, write n/a for the percent, and name the account.",
        ))  # fmt: skip
    return draw.choice((
        "Take the record as it is and say in the report that it looks odd; do not correct it.",
        "Follow the skill to the letter. What the papers do not answer, list as open.",
        "Keep it in, cite its id, and leave the judgement to the client.",
    ))  # fmt: skip


def _nothing() -> Script:
    yield ask()


def _day(me: Heard, row: Row) -> Script:
    return talk.day_start(me)


HANDLERS: dict[str, Callable[[Heard, Row], Script]] = {
    "conflict": talk.on_conflict,
    "lost": talk.on_lost,
    "question": _question,
    "submission": submission.look_at,
    "request": _request,
    "mail": lead.on_mail,
    "answer": _answer,
    "calendar": talk.on_calendar,
    "due": talk.on_due,
    "message": talk.on_message,
    "share": talk.on_share,
    "day_start": _day,
}
