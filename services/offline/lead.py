"""The lead of a matter: turns a client's mail into requests, keeps the promise, releases what is signed off."""

from __future__ import annotations

from datetime import date

from services.offline.desk import due_by, lower_first, matter_of, period_words, requests_by_me, requests_to_me, title_of
from services.offline.heard import Heard, Row
from services.offline.owner import AGAIN, start
from services.offline.questions import answer_client, looks_like_question
from services.offline.script import Answer, Call, Script, ask, call, parting, refused
from services.offline.worklore import (
    QUALITY,
    RELEASE,
    by_deliverable,
    candidates,
    contacts,
    mail_in,
    recognise,
    signer,
    workday,
)
from services.professions.registry import PROFESSIONS

_DAYS = {"records-digest": 2, "release-triage": 2, "bank-reconciliation": 3, "management-pack": 3}
"""Working days in which a kind of work is promised; 4 where nothing is said."""
SECOND = "second attempt"


def on_mail(me: Heard, mail: Row) -> Script:
    """Read a mail: work goes to its owner, a question is answered, thanks need nothing."""
    sender = str(mail.get("from", ""))
    outside = me.card.colleagues.get(sender, {}).get("kind") == "client"
    text, matter = str(mail.get("text", "")), str(mail.get("matter", ""))
    found = recognise(str(mail.get("subject", "")), text, [str(a) for a in mail.get("attachments", ())])
    if outside and found is not None and matter in me.card.matters:
        yield from bring(me, mail, *found)
    elif looks_like_question(text):
        yield from answer_client(me, mail)
    elif me.draw("mail", str(mail.get("mail", ""))).chance(1, 6):
        said = next((line for line in text.split("\n") if line.strip() and not line.strip().endswith(",")), text)
        note = f"{me.card.called(sender)} wrote: {said[:200]}"
        yield parting(call("note", record="discussion", text=note, about=sender, matter=matter or None))


def bring(me: Heard, mail: Row, kind: str, period: str) -> Script:
    """A client brings work: ask its owner, promise the client, and meet when the matter is new."""
    matter = matter_of(me, str(mail["matter"]))
    owners = candidates(matter, kind, period)
    sender, name = str(mail["from"]), title_of(kind)
    promised = workday(me.today, _DAYS.get(kind, 4))
    draw = me.draw("bring", str(mail["mail"]))
    outcome = (
        draw.choice((
            f"The {name} of {matter['name']} for {period_words(period)}, accepted and ready for quality review.",
            f"Please take the {name} for {matter['name']}, {period_words(period)}: everything {me.card.called(sender)} sent is listed.",
            f"{me.card.called(sender)} has sent the papers of {period_words(period)}. I need the {name}, with what stays open named.",
        ))
        + f" (mail {mail['mail']})"
    )  # fmt: skip
    owner = owners[0] if owners else ""
    before = [
        r
        for r in requests_by_me(me)
        if (r.get("work"), r.get("period"), r.get("matter")) == (kind, period, matter["id"])
    ]
    if before:
        owner, outcome = str(before[0]["owner"]), f"{outcome} These papers replace the earlier ones."
    promise = f"{me.card.called(sender)} of {matter['name']} gets the {name} for {period} by {promised.isoformat()}."
    calls = [
        call(
            "note",
            record="commitment",
            text=promise,
            about=str(mail["mail"]),
            due=due_by(promised),
            matter=str(matter["id"]),
        )
    ]
    due = due_by(workday(promised, 0) if promised > me.today else promised)
    if owner and owner != me.card.id:
        calls.append(call("make_request", to=owner, outcome=outcome, due=due, materials=_papers(mail),
                          matter=str(matter["id"]), work=kind, period=period))  # fmt: skip
    calls += [call("withdraw", ref=r["request"], reason=f"Corrected papers came: mail {mail['mail']}.") for r in before]
    if draw.chance(2, 5) and not before:
        calls.append(_thanks(me, mail, name, promised))
    answers = yield ask(*calls)
    if owner == me.card.id:
        row = {"work": kind, "period": period, "matter": matter["id"], "outcome": outcome, "due": due,
               "materials": _papers(mail), "request": "", "from": me.card.id}  # fmt: skip
        yield from start(me, row)
    elif not owner or refused(answers[1:2]):
        yield from _nobody(me, mail, name, refused(answers[1:2]))
        return
    yield from _kick_off(me, matter, kind, period, owner, sender)


def _papers(mail: Row) -> list[str]:
    return [str(path) for path in mail.get("attachments", ()) if str(path).startswith("/")]


def _thanks(me: Heard, mail: Row, name: str, promised: date) -> Call:
    sender = str(mail["from"])
    text = me.draw("thanks", str(mail["mail"])).choice((
        f"Dear {me.card.called(sender)},\n\nthe papers are here and complete as far as I can see. You will have the {name} by "
        f"{promised:%A %d %B}.\n\nKind regards\n{me.card.name}",
        f"Hello {me.card.called(sender)},\n\nthank you, received. We start today; expect the {name} on {promised:%A}. I write if "
        f"anything does not tie.\n\n{me.card.name}",
        f"{me.card.called(sender)}, thank you. It is with the team, due {promised.isoformat()}.\n\n{me.card.name}",
    ))  # fmt: skip
    return call("send_mail", to=[sender], subject=f"Re: {mail.get('subject', '')}"[:290], text=text,
                in_reply_to=str(mail["mail"]), matter=str(mail["matter"]))  # fmt: skip


def _nobody(me: Heard, mail: Row, name: str, reasons: list[str]) -> Script:
    """Nobody on the team can do it: say so, to the client and to oneself."""
    why = reasons[0] if reasons else f"nobody on the team does a {name}"
    text = f"Nobody took the {name} (mail {mail['mail']}): {why}"
    reply = (
        f"Dear {me.card.called(str(mail['from']))},\n\nthank you for the papers. I have to find the right person for the {name} "
        f"first and write again as soon as I have.\n\n{me.card.name}"
    )
    yield parting(
        call("note", record="question", text=text[:1_900], matter=str(mail["matter"])),
        call("send_mail", to=[str(mail["from"])], subject=f"Re: {mail.get('subject', '')}"[:290], text=reply,
             in_reply_to=str(mail["mail"]), matter=str(mail["matter"])),
    )  # fmt: skip


def _kick_off(me: Heard, matter: Row, kind: str, period: str, owner: str, sender: str) -> Script:
    """Meet the team before the first piece of a matter: only where nothing of it is in hand or in mind."""
    here = [r for title in ("Work in hand", "Commitments", "Discussions", "Open decisions") for r in me.rows(title)
            if r.get("matter") == matter["id"]]  # fmt: skip
    others = [str(one["id"]) for one in matter.get("team", ()) if one["id"] not in (me.card.id, owner)]
    if here or owner == me.card.id or not others:
        return
    people = [owner, *others[:1]]
    day = workday(me.today, 1)
    held, diary, free = yield ask(
        call("list_files", folder=f"Projects/{matter['name']}/Meetings"),
        call("see_calendar", start=me.today.isoformat(), days=10),
        call("free_busy", people=[me.card.id, *people], day=day.isoformat()),
    )
    known = [str(r.get("file", "")) for r in held.get("files", ())] + [
        str(e.get("title", "")) for e in diary.get("events", ())
    ]
    if any("Kick-off" in text and (str(matter["name"]) in text) for text in known):
        return
    slot = _free(free)
    agenda = (
        f"What {me.card.called(sender)} sent for {period_words(period)}, who does the {title_of(kind)}, what may be missing, "
        "when the client hears from us."
    )
    yield ask(call("schedule", title=f"Kick-off {matter['name']}", attendees=people, start=f"{day.isoformat()} {slot}",
                   minutes=30, agenda=agenda, matter=str(matter["id"])))  # fmt: skip


def _free(answer: Answer) -> str:
    """Return the first half hour from 10:00 on in which nobody is busy."""
    busy = [
        str(span).split("-")
        for spans in dict(answer.get("busy", {})).values()
        if isinstance(spans, list)
        for span in spans
    ]
    for minutes in range(600, 990, 30):
        start, end = (f"{m // 60:02d}:{m % 60:02d}" for m in (minutes, minutes + 30))
        if all(end <= begins or start >= ends for begins, ends in busy):
            return start
    return "16:30"


# -- what comes back --------------------------------------------------------------------------------------------------


def on_answer(me: Heard, answer: Row) -> Script:
    """A colleague has answered a request of mine."""
    state, work = str(answer.get("state", "")), str(answer.get("work", ""))
    if answer.get("from") != me.card.id:
        return
    matter = matter_of(me, str(answer.get("matter", "")))
    if state == "fulfilled" and work in PROFESSIONS and matter.get("client") and answer.get("results"):
        yield from release(me, answer, [str(path) for path in answer["results"]])
    elif state == "declined" and work in PROFESSIONS:
        yield from _ask_another(me, answer, matter)
    elif state == "fulfilled" and work == RELEASE:
        yield from _close_promise(me, str(answer.get("outcome", "")))
    elif state == "fulfilled" and mail_in(str(answer.get("outcome", ""))):
        yield from _tell(me, answer, matter)


def _tell(me: Heard, answer: Row, matter: Row) -> Script:
    """What a client asked has been looked into: tell them, without sending papers that nobody signed off."""
    mail = mail_in(str(answer.get("outcome", "")))
    to = next((p for p in contacts(me.card.colleagues, str(matter.get("client", ""))) if mail.startswith(f"{p}.")), "")
    if not to:
        return
    doubt = str(answer["outcome"]).partition("on what the ")[2].partition(" rests on")[0] or "figure"
    text = (
        f"Dear {me.card.called(to)},\n\nwe went back to the papers of {period_words(str(answer.get('period', '')))} and wrote down what the "
        f"{doubt} rests on. It stands as sent; I take you through the records whenever it suits you.\n\n{me.card.name}"
    )
    yield parting(
        call(
            "send_mail",
            to=[to],
            subject="Your question about a figure",
            text=text,
            in_reply_to=mail,
            matter=str(matter["id"]),
        )
    )


def _ask_another(me: Heard, answer: Row, matter: Row) -> Script:
    """The owner declined: another colleague, or the same one when there is room again, once."""
    outcome = str(answer.get("outcome", ""))
    others = candidates(matter, str(answer["work"]), str(answer["period"]), (str(answer["owner"]), me.card.id))
    full = "under way" in str(answer.get("note", "")) or "running" in str(answer.get("note", ""))
    if SECOND in outcome or (not others and not full):
        yield from _apologize(me, answer, matter)
        return
    again = f"{outcome} This is a {SECOND}." if others else f"{outcome} Please take it {AGAIN}; this is a {SECOND}."
    due = due_by(workday(me.today, 3))
    answers = yield ask(call(
        "make_request", to=others[0] if others else str(answer["owner"]), outcome=again, due=due,
        materials=[str(p) for p in answer.get("materials", ()) if str(p).startswith("/")], matter=str(matter["id"]),
        work=str(answer["work"]), period=str(answer["period"]),
    ))  # fmt: skip
    if refused(answers):
        yield from _apologize(me, answer, matter)


def _apologize(me: Heard, answer: Row, matter: Row) -> Script:
    people = contacts(me.card.colleagues, str(matter.get("client", "")))
    name, period = title_of(str(answer["work"])), str(answer["period"])
    calls = [call("note", record="question", matter=str(matter["id"]) or None,
                  text=f"The {name} for {period} could not be finished: {str(answer.get('note', ''))[:500]} It stays open.")]  # fmt: skip
    if people:
        text = (
            f"Dear {me.card.called(people[0])},\n\nI have to disappoint you: the {name} for {period_words(period)} did not pass our own "
            f"review and will not go out as it is. I will write to you what is missing.\n\n{me.card.name}"
        )
        mail = mail_in(str(answer.get("outcome", "")))
        calls.append(call("send_mail", to=people[:1], subject=f"{name.capitalize()} for {period}", text=text,
                          in_reply_to=mail or None, matter=str(matter["id"])))  # fmt: skip
    yield ask(*calls)
    yield from _close_promise(me, str(answer.get("outcome", "")))


def release(me: Heard, work: Row, files: list[str]) -> Script:
    """Release accepted and signed-off versions to the client and send them; do what a refusal says."""
    matter = matter_of(me, str(work["matter"]))
    client = str(matter.get("client", ""))
    outcome = str(work.get("outcome", ""))
    people = contacts(me.card.colleagues, client)
    if not people:
        return
    mail = mail_in(outcome)
    sender = next((p for p in people if mail.startswith(f"{p}.")), people[0])
    send = _delivery(me, work, matter, sender, files, mail)
    free = [call("classify", file=path, level="confidential", release_to=[client]) for path in files]
    hasty = me.draw("hasty", outcome).chance(1, 9)
    reasons = refused((yield ask(send))) if hasty else []
    if not hasty or reasons:
        answers = yield ask(*free, send)
        reasons = refused(answers)
    if reasons:
        yield from _not_sent(me, work, matter, files, reasons)
        return
    yield from _open_questions(me, work, matter)
    yield from _close_promise(me, outcome)


def _delivery(me: Heard, work: Row, matter: Row, sender: str, files: list[str], mail: str) -> Call:
    kind = by_deliverable(files)
    name = kind.title.lower() if kind else title_of(str(work.get("work", "")))
    period = period_words(str(work.get("period", "")))
    draw = me.draw("delivery", str(work.get("outcome", "")))
    first = me.card.called(sender)
    said = str(work.get("note", "")) or str(work.get("outcome", ""))
    figures = said.partition("Figures: ")[2].partition(" (mail")[0].strip()
    middle = f"In short: {figures}\n\n" if figures else ""
    text = draw.choice((
        f"Dear {first},\n\nattached is the {name} for {period}, accepted and signed off on our side. {middle}What is still open is "
        f"named in it, with the record it rests on. Please tell me what you can answer.\n\nKind regards\n{me.card.name}",
        f"Hello {first},\n\nhere is the {name} for {period}. {middle}Every figure leads back to a row of what you sent; where it does "
        f"not, we say so.\n\nBest wishes\n{me.card.name}",
        f"Dear {first},\n\nas promised, the {name} for {period}. {middle}I am glad to go through it with you.\n\n{me.card.name}",
    ))  # fmt: skip
    return call("send_mail", to=[sender], subject=f"{name.capitalize()} for {work.get('period', '')}", text=text, attachments=files,
                in_reply_to=mail or None, matter=str(matter["id"]))  # fmt: skip


def _not_sent(me: Heard, work: Row, matter: Row, files: list[str], reasons: list[str]) -> Script:
    """Do what the refusal says: get the sign-off, or ask someone who may release."""
    said, outcome, period = " ".join(reasons), str(work.get("outcome", "")), str(work.get("period", ""))
    mail = mail_in(outcome)
    tail = f" (mail {mail})" if mail else ""
    due = due_by(workday(me.today, 2))
    team = matter.get("team", ())
    may = [
        str(one["id"])
        for one in team
        if {"client_release", "classify"} <= set(one.get("authority", ())) and one["id"] != me.card.id
    ]
    reviewer = signer(matter, me.card.id)
    if "sign-off is required" in said and reviewer:
        text = f"Quality review of what goes to {matter['name']} for {period}: it was refused without sign-off.{tail}"
        yield parting(call("make_request", to=reviewer, outcome=text, due=due, materials=files, matter=str(matter["id"]),
                           work=QUALITY, period=period))  # fmt: skip
    elif ("client_release" in said or "authority classify" in said) and may:
        text = (
            f"Please release and send to the client: {title_of(str(work.get('work', '')))} {period}, signed off.{tail}"
        )
        yield parting(call("make_request", to=may[0], outcome=text, due=due, materials=files, matter=str(matter["id"]),
                           work=RELEASE, period=period))  # fmt: skip
    else:
        yield parting(
            call(
                "note",
                record="question",
                text=f"Not sent to the client, {lower_first(said)}"[:1_900],
                matter=str(matter["id"]),
            )
        )


def release_for(me: Heard, request: Row) -> Script:
    """A colleague without the authority asks me to release something."""
    files = [str(path) for path in request.get("materials", ())]
    if request.get("state") == "open":
        yield ask(call("accept_request", request=request["request"], note="I look at it and send it."))
    yield from release(me, request, files)
    yield parting(call("fulfil_request", request=request["request"], results=files, note="Sent to the client."))


def _open_questions(me: Heard, work: Row, matter: Row) -> Script:
    """What nobody could explain stays in mind until a later period answers it."""
    said = str(work.get("note", ""))
    gap = said.partition("Unexplained difference: ")[2].partition(";")[0].strip(" .")
    if gap and gap not in ("0.00", "0"):
        text = f"{matter['name']}, {work.get('period')}: {gap} stays unexplained; the client has been told and has not answered."
        yield ask(
            call("note", record="question", text=text, about=str(work.get("request", "")), matter=str(matter["id"]))
        )


def _close_promise(me: Heard, outcome: str) -> Script:
    """Close the commitment to the client that an outcome belongs to."""
    mail = mail_in(outcome)
    if not mail:
        return
    found = [r for r in me.rows("Commitments") if r.get("about") == mail]
    if not found:
        (answer,) = yield ask(call("read_memory", record="commitment"))
        found = [r for r in answer.get("records", ()) if r.get("about") == mail]
    if found:
        yield parting(*(call("close_note", record=r["id"], note="done") for r in found))


# -- quality, seen from the one who asked for it ----------------------------------------------------------------------


def signed_off(me: Heard, answer: Row) -> Script:
    """My quality review is done: hand the result to whoever asked for the work, or release it myself."""
    files = [str(path) for path in answer.get("materials", ()) if str(path).startswith("/")]
    kind = by_deliverable(files)
    outcome = str(answer.get("outcome", ""))
    note = f"Accepted and signed off. Figures: {outcome.partition('Figures: ')[2].partition(' (mail')[0].strip()}"
    asked = [
        r for r in requests_to_me(me, "accepted")
        if kind is not None and r.get("work") == kind.kind and r.get("period") == answer.get("period") and r.get("matter") == answer.get("matter")
    ]  # fmt: skip
    if asked:
        yield ask(*(call("fulfil_request", request=r["request"], results=files, note=note) for r in asked))
    elif matter_of(me, str(answer.get("matter", ""))).get("lead") == me.card.id:
        yield from release(me, answer, files)
    else:
        lead = str(matter_of(me, str(answer.get("matter", ""))).get("lead", ""))
        if lead:
            text = f"{kind.title if kind else 'The work'} {answer.get('period', '')} is signed off and shared, ready for the client."
            yield parting(call("post_message", to=lead, text=text, asks=False, cites=files))
