"""Questions by mail: what a client asks about a figure is answered from the accepted file, with its source."""

from __future__ import annotations

from services.offline.desk import due_by, matter_of, period_words, requests_by_me
from services.offline.heard import Heard, Row
from services.offline.reviewer import Opened, figure_file, figures_of
from services.offline.script import Ask, Script, ask, call, parting
from services.offline.worklore import PERIOD, accepted, candidates, places, stem, workday
from services.professions.base import Profession
from services.professions.registry import PROFESSIONS

COMPLAINS = ("does not agree", "do not agree", "not what", "wrong", "cannot follow", "expected a different")


def looks_like_question(text: str) -> bool:
    """Whether a mail wants an answer."""
    return "?" in text or any(words in text for words in COMPLAINS)


def figure_asked(text: str) -> tuple[Profession, str] | None:
    """Return (profession, label) of the figure that a text names, the longest label first."""
    found = [
        (each, label) for each in PROFESSIONS.values() for label in each.labels if label.casefold() in text.casefold()
    ]
    named = [pair for pair in found if pair[0].title.casefold() in text.casefold()] or found
    return max(named, key=lambda pair: len(pair[1]), default=None)


def answer_client(me: Heard, mail: Row) -> Script:
    """Answer a mail that asks: a figure from its accepted file, a complaint through the colleague who did the work."""
    text, sender = str(mail.get("text", "")), str(mail.get("from", ""))
    matter = matter_of(me, str(mail.get("matter", "")))
    asked = figure_asked(f"{mail.get('subject', '')} {text}")
    periods = PERIOD.findall(f"{mail.get('subject', '')} {text}")
    draw = me.draw("answer", str(mail.get("mail", "")))
    if asked is not None and any(words in text for words in COMPLAINS) and draw.chance(1, 2):
        yield from _ask_owner(me, mail, matter, asked[0], asked[1], periods[0] if periods else "")
    elif asked is not None and draw.chance(1, 3):
        period = periods[0] if periods else "the latest period"
        (found,) = yield ask(call("look_into", question=f"{asked[1]} of {matter['name']} for {period}: what does the accepted "
                                  f"{figure_file(asked[0])} say, and where?"))  # fmt: skip
        yield _reply(me, mail, sender, f"I looked it up. {found.get('conclusion', '')}")
    elif asked is not None:
        (listed,) = yield ask(call("list_files", folder=stem(figure_file(asked[0]))))
        fitting = [
            where for where, row in places(listed)
            if where.file == figure_file(asked[0]) and where.matter == matter["name"] and accepted(row)
            and (not periods or where.period == periods[0])
        ]  # fmt: skip
        if not fitting:
            yield _reply(
                me, mail, sender, "That piece is not accepted yet. You will have the figure with it, not before."
            )
            return
        best = max(fitting, key=lambda where: where.period)
        (opened,) = yield ask(call("open_file", file=best.text))
        value = figures_of(asked[0], Opened(best.text, str(opened.get("text", "")))).get(asked[1], "not stated")
        said = draw.choice((
            f"{asked[1]} for {period_words(best.period)} is {value}; it stands on the first sheet of {best.file}, with its source beside it.",
            f"The accepted {best.file} gives {asked[1]} as {value} for {period_words(best.period)}. The rows behind it are listed there.",
        ))  # fmt: skip
        yield _reply(me, mail, sender, said)
    else:
        waiting = [str(r.get("period", "")) for r in requests_by_me(me) if r.get("matter") == matter["id"]]
        said = f"It is in hand: the papers of {', '.join(dict.fromkeys(waiting))} are with the team." if waiting else (
            "Nothing of yours is waiting on our desk. If you miss something, tell me which period it belongs to.")  # fmt: skip
        yield _reply(me, mail, sender, said)


def _reply(me: Heard, mail: Row, sender: str, said: str) -> Ask:
    text = f"Dear {me.card.called(sender)},\n\n{said}\n\n{me.card.name}"
    return parting(call("send_mail", to=[sender], subject=f"Re: {str(mail.get('subject', '')).removeprefix('Re: ')}"[:290], text=text,
                        in_reply_to=str(mail["mail"]), matter=str(mail.get("matter", "")) or None))  # fmt: skip


def _ask_owner(me: Heard, mail: Row, matter: Row, kind: Profession, label: str, period: str) -> Script:
    team = candidates(matter, kind.kind, period, (me.card.id,))
    if not team:
        yield _reply(me, mail, str(mail["from"]), f"I will check {label} against the papers myself and write again.")
        return
    if period and me.draw("memo", str(mail["mail"])).chance(1, 2):
        yield from _ask_memo(me, mail, matter, kind, label, period, team)
        return
    text = (
        f"{me.card.called(str(mail['from']))} doubts the {label} in the {kind.title.lower()} {period}. Please look at the accepted "
        f"file and tell me what it rests on (mail {mail['mail']})."
    )
    note = f"{me.card.called(str(mail['from']))} doubts {label} of {period}; asked {me.card.called(team[0])}."
    yield parting(
        call("post_message", to=team[0], text=text, asks=True),
        call("note", record="discussion", text=note, about=str(mail["mail"]), matter=str(matter["id"]) or None),
    )


def _ask_memo(me: Heard, mail: Row, matter: Row, kind: Profession, label: str, period: str, team: list[str]) -> Script:
    """Have it written down what the figure rests on."""
    (listed,) = yield ask(call("list_files", folder=stem(figure_file(kind))))
    files = [w.text for w, row in places(listed) if w.file == figure_file(kind) and w.matter == matter["name"] and accepted(row)
             and w.period == period]  # fmt: skip
    outcome = (
        f"A short memo on what the {label} in the {kind.title.lower()} {period} rests on; {me.card.called(str(mail['from']))} doubts it. "
        f"(mail {mail['mail']})"
    )
    if files:
        yield ask(call("make_request", to=team[0], outcome=outcome, due=due_by(workday(me.today, 2)), materials=files[-1:],
                       matter=str(matter["id"]), work="memo-writing", period=period))  # fmt: skip
    else:
        yield _reply(me, mail, str(mail["from"]), f"I will check {label} against the papers myself and write again.")
