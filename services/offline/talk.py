"""Talk and the rhythm of the day: messages, rhythms in the calendar, due dates, day starts, notices, conflicts."""

from __future__ import annotations

import re
from datetime import timedelta

from services.offline.desk import (
    delegations,
    due_by,
    listed,
    matter_of,
    period_words,
    requests_by_me,
    states,
    title_of,
    waits_for,
)
from services.offline.heard import Heard, Row
from services.offline.owner import hand_out
from services.offline.reviewer import Opened, figure_file, figures_of
from services.offline.script import Call, Script, ask, call, parting, refused
from services.offline.worklore import (
    Place,
    accepted,
    by_main,
    contacts,
    mail_in,
    place,
    places,
    prior_of,
    stem,
    workday,
)
from services.professions.base import Profession
from services.professions.registry import PROFESSIONS

_WITHDRAW = re.compile(r"withdraw did not take effect: the \w+ (\S+) has changed")
KEPT = 20
"""Open records of a kind that a person keeps; older ones are closed."""


def on_message(me: Heard, message: Row) -> Script:
    """Answer a message that asks; pass on what a client waits to hear."""
    text, sender = str(message.get("text", "")), str(message.get("from", ""))
    mail = mail_in(text)
    if message.get("asks"):
        if mail and "doubts the" in text:
            yield from _what_it_rests_on(me, message, mail)
            return
        yield parting(_reply(me, message, _where_things_stand(me, text)))
    elif mail and contacts_of(me, text):
        said = text.partition(" (mail")[0]
        to = contacts_of(me, text)
        letter = f"Dear {me.card.called(to)},\n\nwe have gone back to the papers. {said}\n\n{me.card.name}"
        answers = yield ask(
            call("send_mail", to=[to], subject="Your question about a figure", text=letter, in_reply_to=mail)
        )
        if not refused(answers):
            yield from _forget(me, mail)
    elif me.draw("heard", str(message.get("message", ""))).chance(1, 14):
        yield parting(call("note", record="discussion", text=f"{me.card.called(sender)}: {text[:240]}", about=sender))


def contacts_of(me: Heard, text: str) -> str:
    """Return the client's contact whose mail a text refers to; empty where that is not mine to answer."""
    mail = mail_in(text)
    clients = {str(m.get("client", "")) for m in me.card.matters.values() if m.get("lead") == me.card.id}
    return next(
        (p for c in sorted(clients) if c for p in contacts(me.card.colleagues, c) if mail.startswith(f"{p}.")), ""
    )


def _forget(me: Heard, mail: str) -> Script:
    done = [r for r in me.rows("Discussions") if r.get("about") == mail]
    if done:
        yield parting(*(call("close_note", record=r["id"], note="answered") for r in done))


def _reply(me: Heard, message: Row, text: str) -> Call:
    return call("post_message", to=str(message["room"]), text=text, in_reply_to=str(message["message"]))


def _where_things_stand(me: Heard, text: str) -> str:
    """Return a short answer from work in hand: what was asked about if it is there, else all of it."""
    about = [kind for kind, each in PROFESSIONS.items() if each.title.casefold() in text.casefold()]
    given = [r for r in requests_by_me(me) if r.get("work") in about]
    lines = [f"the {title_of(str(r['work']))} {r.get('period', '')} is with {me.card.called(str(r['owner']))}, due {str(r.get('due', ''))[:10]}"
             for r in given]  # fmt: skip
    lines = lines or [s for s in states(me) if not about or any(title_of(k) in s for k in about)] or list(waits_for(me))
    draw = me.draw("stand", text)
    if not lines:
        return draw.choice(
            (
                "Nothing of that lies with me just now.",
                "My desk is clear; ask me for more.",
                "Nothing to report from me.",
            )
        )
    return draw.choice(("As it stands: ", "From my side: ", "Short answer: ", "")) + listed(lines, 3) + "."


def _what_it_rests_on(me: Heard, message: Row, mail: str) -> Script:
    """A client doubts a figure of mine: open the accepted file and say what it rests on."""
    text = str(message["text"])
    kind = next((each for each in PROFESSIONS.values() if each.title.casefold() in text.casefold()), None)
    label = max(
        (one for one in (kind.labels if kind else ()) if one.casefold() in text.casefold()), key=len, default=""
    )
    if kind is None or not label:
        yield parting(
            _reply(me, message, f"I cannot find which figure is meant; please ask for its name (mail {mail}).")
        )
        return
    (found,) = yield ask(call("list_files", folder=stem(figure_file(kind))))
    mine = [w for w, row in places(found) if w.file == figure_file(kind) and accepted(row) and w.period in text]
    if not mine:
        yield parting(_reply(me, message, f"No accepted {figure_file(kind)} of that period is with me (mail {mail})."))
        return
    (opened,) = yield ask(call("open_file", file=mine[-1].text))
    value = figures_of(kind, Opened(mine[-1].text, str(opened.get("text", "")))).get(label, "not stated")
    said = (
        f"{label} in the accepted {figure_file(kind)} for {period_words(mine[-1].period)} is {value}. I recomputed it from the papers you sent, "
        f"and it stands (mail {mail})."
    )
    yield parting(_reply(me, message, said))


# -- the calendar -----------------------------------------------------------------------------------------------------


def on_calendar(me: Heard, entry: Row) -> Script:
    """Something in the calendar begins, or an invitation has come."""
    kind, organizer = str(entry.get("kind", "")), str(entry.get("organizer", ""))
    note = str(entry.get("note", ""))
    if note.startswith("invitation"):
        if me.draw("invited", str(entry["event"])).chance(1, 3):
            yield parting(call("respond", event=entry["event"], answer="accepted"))
        return
    if organizer != me.card.id or kind == "today":
        return
    work = str(entry.get("work", ""))
    if work in PROFESSIONS:
        yield from _own_rhythm(me, entry, PROFESSIONS[work])
    elif entry.get("matter") in me.card.matters:
        yield from _status_round(me, entry)


def _status_round(me: Heard, entry: Row) -> Script:
    """Ask the matter's room where things stand, when there is something to ask about; the answer is brief."""
    mine = [r for r in requests_by_me(me) if r.get("matter") == entry["matter"]]
    draw = me.draw("round", str(entry["event"]))
    if not mine or not draw.chance(2, 5):
        return
    names = listed(
        [f"{title_of(str(r.get('work', '')))} {r.get('period', '')} ({me.card.called(str(r['owner']))})" for r in mine],
        3,
    )
    asks = draw.chance(1, 3)
    text = draw.choice((
        f"In hand today: {names}.", f"Waiting for: {names}. Say so early if a date will not hold.", f"Open on my list: {names}.",
    )) + (" Anything stuck?" if asks else "")  # fmt: skip
    yield parting(call("post_message", to=f"room-matter-{entry['matter']}", text=text, asks=asks))


def _last_period(me: Heard, length: int) -> str:
    """Return the period before today: the week (a Monday) or, for monthly work, the month."""
    if length == 10:
        return (me.today - timedelta(days=me.today.weekday() + 7)).isoformat()
    return (me.today.replace(day=1) - timedelta(days=1)).strftime("%Y-%m")


def _own_rhythm(me: Heard, entry: Row, kind: Profession) -> Script:
    """The firm's own recurring work: put the records together, then delegate on them."""
    title = str(entry.get("title", "")).casefold()
    period = _last_period(me, 7 if "month" in title else 10)
    matter = matter_of(me, str(entry.get("matter", "")))
    where = f"Inputs/{matter['name']}/{period}"
    seed = sum(ord(c) for c in f"{me.card.firm}{me.card.id}")
    files = kind.materials(me.card.firm, period, seed)
    names = [spec.file for spec in kind.inputs if spec.file in files]
    answers = yield ask(
        *(call("save", path=f"{where}/{name}", text=files[name]) for name in names),
        call("list_files", folder=stem(kind.main.name)),
    )
    saved = [f"/home/npc/computer/{a['path']}@{a['version']}" for a in answers[:-1] if a.get("ok")]
    if len(saved) < len(names):
        return
    prior = prior_of(places(answers[-1]), kind, str(matter["name"]), period)
    row = {"period": period, "matter": matter["id"], "work": kind.kind, "due": due_by(workday(me.today, 1)), "request": "",
           "outcome": "", "from": me.card.id}  # fmt: skip
    yield from hand_out(me, row, kind, [*saved, *([prior.text] if prior else [])], prior, [], goal=(
        f"{entry.get('title', kind.title)}: {kind.title.lower()} for {period_words(period)} of our own records."
        + (f" It continues {prior.file} of {prior.period}." if prior else "")
    ))  # fmt: skip


# -- due dates, conflicts, news ---------------------------------------------------------------------------------------


def on_due(me: Heard, due: Row) -> Script:
    """Something was due: say where it stands to whoever waits."""
    if "request" in due:
        yield from _request_due(me, due)
    elif due.get("id"):
        yield from _promise_due(me, due)


def _request_due(me: Heard, request: Row) -> Script:
    asker = str(request.get("from", ""))
    if (
        request.get("owner") != me.card.id
        or request.get("state") not in ("open", "accepted")
        or asker not in me.card.colleagues
    ):
        return
    mine = [d for d in delegations(me) if d.get("request") == request["request"]]
    name = title_of(str(request.get("work", "")))
    where = (
        f"round {mine[0].get('round', 1)} is under way"
        if mine
        else "it waits for what it builds on, or for the sign-off"
    )
    text = me.draw("late", str(request["request"])).choice((
        f"The {name} {request.get('period', '')} was due now: {where}. I keep at it and tell you when it is through.",
        f"Late with the {name} {request.get('period', '')}; {where}. Better a day late than not tied.",
    ))  # fmt: skip
    yield parting(call("post_message", to=asker, text=text))


def _promise_due(me: Heard, promise: Row) -> Script:
    """A promise to a client falls due: is it still with the team? Then tell the client, and promise anew, once."""
    mail = str(promise.get("about", ""))
    waiting = [r for r in requests_by_me(me) if mail and mail == mail_in(str(r.get("outcome", "")))]
    people = [p for p, row in me.card.colleagues.items() if row.get("kind") == "client" and mail.startswith(f"{p}.")]
    text = str(promise.get("text", ""))
    if not waiting:
        if not any(mail and mail in str(d.get("goal", "")) for d in delegations(me)):
            yield parting(call("close_note", record=promise["id"], note="nothing of it is waiting any more"))
        return
    later = workday(me.today, 2)
    calls = [
        call("close_note", record=promise["id"], note="a new date was given"),
        call("note", record="commitment", text=f"{text.partition(' by ')[0]} by {later.isoformat()} (new date).", about=mail,
             due=due_by(later), matter=str(promise.get("matter", "")) or None),
    ]  # fmt: skip
    if people and "new date" not in text:
        work = waiting[0]
        letter = (
            f"Dear {me.card.called(people[0])},\n\nthe {title_of(str(work.get('work', '')))} for {period_words(str(work.get('period', '')))} "
            f"needs until {later:%A}: we are not done checking it, and I will not send what does not tie.\n\n{me.card.name}"
        )
        calls.append(call("send_mail", to=people[:1], subject="A new date", text=letter, in_reply_to=mail,
                          matter=str(promise.get("matter", "")) or None))  # fmt: skip
    yield parting(*calls)


def on_conflict(me: Heard, conflict: Row) -> Script:
    """An act of mine did not take effect. What still matters is taken up from work in hand; the fact is kept."""
    reason = str(conflict.get("note", ""))
    again = _WITHDRAW.search(reason)
    if again is not None:
        yield ask(
            call(
                "withdraw",
                ref=again[1],
                reason="It moved on meanwhile; the request is still withdrawn, another has taken its place.",
            )
        )
    yield parting(
        call(
            "note", record="discussion", text=f"Did not take effect: {reason[:400]}", about=str(conflict.get("ref", ""))
        )
    )


def on_share(me: Heard, share: Row) -> Script:
    """A colleague has shared something: now and then worth a line in memory."""
    path = str(share.get("file", ""))
    where: Place | None = place(path)
    if where is None or by_main(where.file) is None or not me.draw("shared", path).chance(1, 12):
        return
    text = f"{where.file} of {where.period} ({where.matter}) was accepted and shared by {me.card.called(str(share.get('from', '')))}."
    yield parting(call("note", record="discussion", text=text, about=str(share.get("from", ""))))


def on_lost(me: Heard, lost: Row) -> Script:
    """Somebody could not be reached about something of mine: keep it as open."""
    yield parting(
        call(
            "note",
            record="question",
            text=f"{lost.get('note', 'Somebody could not be reached')}: {lost.get('ref', '')}"[:1_900],
        )
    )


# -- the day ----------------------------------------------------------------------------------------------------------


def day_start(me: Heard) -> Script:
    """Begin the day: mostly quietly; now and then a list of things to do, and memory kept in order."""
    draw = me.draw("day")
    have = list(states(me))
    calls = []
    if have and draw.chance(1, 7):
        waiting = list(waits_for(me))
        lines = [f"# {me.card.name}, {me.today.isoformat()}", "", *(f"- [ ] {line}" for line in have)]
        lines += ["", "Waiting for:", *(f"- {line}" for line in waiting)] if waiting else []
        calls.append(call("save", path="Notes/Todo.md", text="\n".join(lines) + "\n"))
    if not draw.chance(1, 5):
        if calls:
            yield parting(*calls)
        return
    kinds = ("decision", "question", "discussion", "colleague")
    answers = yield ask(*calls, *(call("read_memory", record=kind) for kind in kinds))
    stale = [str(r["id"]) for answer in answers[len(calls) :] for r in answer.get("records", ())[: -KEPT or None]]
    if stale:
        yield parting(*(call("close_note", record=name, note="no longer needed") for name in stale[:40]))
