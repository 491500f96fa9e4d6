"""A client's contact: brings work when it is due, judges what comes back, asks and answers."""

from __future__ import annotations

import csv
import io
import re

from services.offline.desk import period_words
from services.offline.heard import Heard, Row
from services.offline.reviewer import Opened, figure_file, figures_of
from services.offline.script import Call, Script, ask, call, parting, together
from services.offline.worklore import by_deliverable
from services.professions.base import Profession, write_csv
from services.professions.registry import PROFESSIONS
from simulator.canonical import sha256

_PERIOD = re.compile(r"period (\d{4}-\d\d(?:-\d\d)?)")
_VARIETY = re.compile(r"variety (\d+)")
_OUR_REF = re.compile(r"our ref ([A-Z]{1,3}-\d{5})")
_DAYS = {"weekly": 7, "fortnightly": 14}


def activation(me: Heard) -> Script:
    """Return everything a client does about what woke them."""
    scripts = []
    for row in me.rows("What wakes you"):
        if row.get("kind") == "demand" and row.get("work") in PROFESSIONS:
            scripts.append(_bring(me, row, PROFESSIONS[str(row["work"])]))
        elif row.get("kind") == "mail":
            scripts.append(_read(me, row))
    return together(scripts)


def reference(me: Heard, variety: int) -> str:
    """Return the client's own file reference: that of their earlier mails, else a new one.

    It is what their books are drawn from, so that each month continues the one before.
    """
    for row in reversed(me.rows("Work you have brought")):
        found = _OUR_REF.search(str(row.get("subject", "")))
        if found:
            return found[1]
    letters = "".join(c for c in me.card.firm.upper() if c.isascii() and c.isalpha())[:3] or "REF"
    return f"{letters}-{10_000 + int(sha256(f'{me.card.firm}{variety}'.encode())[:8], 16) % 90_000}"


def _bring(me: Heard, demand: Row, kind: Profession) -> Script:
    """Write to the lead with the papers of the period."""
    note = str(demand.get("note", ""))
    found, number = _PERIOD.search(note), _VARIETY.search(note)
    if found is None:
        return
    period, variety = found[1], int(number[1]) if number else 0
    ours = reference(me, variety)
    days = _DAYS.get(str(demand.get("cadence", "")), 7)
    papers = kind.materials(me.card.firm, period, int(ours.rpartition("-")[2]), days)
    draw = me.draw("bring", kind.kind, period)
    to = str(demand.get("write_to") or demand.get("contact_in_firm", ""))
    first = me.card.called(to)
    when, names = period_words(period), [spec.about for spec in kind.inputs if spec.file in papers]
    subject = draw.choice(
        (f"{kind.title} for {period}", f"{kind.title} {period}", f"{when}: {kind.title.lower()}, {period}")
    )
    opening = draw.choice((f"Hello {first},", f"Dear {first},", f"{first}, good morning.", f"Good day {first},"))
    body = draw.choice((
        f"here are the papers of {when} for the {kind.title.lower()}: {'; '.join(names)}. Please let me have it as usual.",
        f"time for the {kind.title.lower()} again. Attached for {when}: {'; '.join(names)}.",
        f"could you do the {kind.title.lower()} for {when}? I attach {'; '.join(names)}.",
        f"attached you find what we have for {when}: {'; '.join(names)}. We need the {kind.title.lower()} from it.",
    ))  # fmt: skip
    more = draw.choice((
        "", "", "The export was run this morning; nothing has been changed by hand.", "If something does not tie, say so; do not smooth it.",
        "My board asks about the open items first.", "One or two rows looked odd to me. I left them as they are.",
        "We were short of people this time, so please look twice.",
    ))  # fmt: skip
    text = "\n\n".join(
        part for part in (opening, body, more, f"{me.card.name}\n{me.card.title}, {me.card.firm}") if part
    )
    answers = yield ask(call(
        "write_mail", to=[to], subject=f"{subject} (our ref {ours})", text=text, period=period, matter=str(demand.get("matter", "")),
        attachments=[{"name": name, "text": content} for name, content in papers.items()],
    ))  # fmt: skip
    if not answers[0].get("ok") and demand.get("matter"):
        yield parting(call("write_mail", to=[to], subject=subject, text=f"{opening}\n\nI cannot attach the papers of {when}: "
                           f"{answers[0].get('error', '')}. How shall I send them?\n\n{me.card.name}"))  # fmt: skip


def _read(me: Heard, mail: Row) -> Script:
    """Read a mail of the firm: judge a delivery, answer a question, leave the rest."""
    files = [str(path) for path in mail.get("attachments", ()) if str(path).startswith("/")]
    text = str(mail.get("text", ""))
    draw = me.draw("read", str(mail.get("mail", "")))
    if files:
        yield from _judge(me, mail, files)
    elif _acknowledges(text) and draw.chance(1, 6):
        yield from _replace(me, mail)
    elif "?" in text:
        said = draw.choice(("I have asked our people and send it with the next papers.", "Yes, that is right as far as we know.",
                            "We have nothing more on that. Please leave it open."))  # fmt: skip
        yield parting(_answer(me, mail, said))
    elif "new date" in str(mail.get("subject", "")).casefold() and draw.chance(1, 2):
        yield parting(
            _answer(
                me,
                mail,
                draw.choice(("Understood. Rather right than early.", "Fine, but not later than that, please.")),
            )
        )


def _acknowledges(text: str) -> bool:
    return any(words in text for words in ("papers are here", "thank you, received", "It is with the team"))


def _replace(me: Heard, mail: Row) -> Script:
    """One of the papers just sent was not the last state: send it again."""
    subject = str(mail.get("subject", ""))
    kind = next((each for each in PROFESSIONS.values() if each.title.casefold() in subject.casefold()), None)
    period, ours = _period_in(subject), _OUR_REF.search(subject)
    if kind is None or not period or ours is None:
        return
    demand = next((row for row in me.card.rows.get("What you need from them", ()) if row.get("work") == kind.kind), {})
    days = _DAYS.get(str(demand.get("cadence", "")), 7)
    papers = kind.materials(me.card.firm, period, int(ours[1].rpartition("-")[2]), days)
    file, content = next(iter(papers.items()))
    mended = _mended(content, me.draw("mend", subject).bits())
    if mended == content:
        return
    to = str(mail.get("from", ""))
    text = (
        f"Dear {me.card.called(to)},\n\nplease take this {file} instead of the one I sent: a description in it was not the last state. The "
        f"amounts are the same.\n\n{me.card.name}"
    )
    papers[file] = mended
    yield parting(call(
        "write_mail", to=[to], subject=f"{kind.title} for {period}: corrected papers ({ours[0]})", text=text, period=period,
        matter=str(mail.get("matter", "")) or str(demand.get("matter", "")),
        attachments=[{"name": name, "text": body} for name, body in papers.items()],
    ))  # fmt: skip


def _mended(content: str, pick: int) -> str:
    """Return CSV text with one description set right; unchanged where there is no column of words."""
    rows = list(csv.reader(io.StringIO(content)))
    at = (
        next((i for i, name in enumerate(rows[0]) if name in ("description", "note", "text", "name")), None)
        if rows
        else None
    )
    if at is None or len(rows) < 3:
        return content
    row = rows[1 + pick % (len(rows) - 1)]
    row[at] = f"{row[at]} (corrected)"
    return write_csv(rows[0], rows[1:])


def _judge(me: Heard, mail: Row, files: list[str]) -> Script:
    """Open what was sent and say what one thinks of it: thanks, a question about a figure, now and then a doubt."""
    answers = yield ask(*(call("open_file", file=path) for path in files))
    kind = by_deliverable(files)
    unread = [path.rpartition("/")[2] for path, answer in zip(files, answers, strict=True) if not answer.get("ok")]
    if unread:
        yield parting(_answer(me, mail, f"I cannot open {' and '.join(unread)}. Could you send it again?"))
        return
    draw = me.draw("judge", str(mail.get("mail", "")))
    texts = {path.rpartition("/")[2].partition("@")[0]: str(a["text"]) for path, a in zip(files, answers, strict=True)}
    file = figure_file(kind) if kind is not None else ""
    figures = figures_of(kind, Opened(file, texts[file])) if kind is not None and file in texts else {}
    roll = draw.below(20)
    if roll < 9 or kind is None or not figures:
        if roll < 6 or kind is None:
            yield parting(_answer(me, mail, _thanks(me, figures, str(mail.get("mail", "")))))
        return
    label = draw.choice([name for name in figures if figures[name] not in ("0.00", "0")] or list(figures))
    title = f"{kind.title.lower()} {_period_in(str(mail.get('subject', '')))}".strip()
    if roll < 17:
        said = draw.choice((
            f"thank you. One question about the {title}: how does {label} come to {figures[label]}?",
            f"received, thank you. In the {title}, what is behind {label}, {figures[label]}?",
            f"good. Before I pass the {title} on: which records make up {label}?",
        ))  # fmt: skip
    else:
        said = draw.choice((
            f"in the {title} the {label} of {figures[label]} does not agree with what I had in mind. I expected a different figure.",
            f"I cannot follow the {label} in the {title}: {figures[label]} is not what our own list gives. Please check.",
        ))  # fmt: skip
    yield parting(_answer(me, mail, said))


def _period_in(subject: str) -> str:
    found = re.search(r"\d{4}-\d\d(?:-\d\d)?", subject)
    return found[0] if found else ""


def _thanks(me: Heard, figures: dict[str, str], name: str) -> str:
    draw = me.draw("thanks", name)
    shown = next(
        (f"{label} of {value}" for label, value in reversed(figures.items()) if value not in ("0", "0.00")), ""
    )
    return draw.choice((
        "thank you, that is clear.", "received and filed. Thank you.", "exactly what I needed.",
        f"thank you. I take the {shown} into our report." if shown else "thank you, I take it into our report.",
        "good. What you list as open we will chase here.",
    ))  # fmt: skip


def _answer(me: Heard, mail: Row, said: str) -> Call:
    to = str(mail.get("from", ""))
    text = f"Dear {me.card.called(to)},\n\n{said[:1].lower() + said[1:] if not said.startswith('I ') else said}\n\n{me.card.name}"
    subject = f"Re: {str(mail.get('subject', '')).removeprefix('Re: ')}"
    return call(
        "write_mail",
        to=[to],
        subject=subject[:290],
        text=text,
        in_reply_to=str(mail["mail"]),
        matter=str(mail.get("matter", "")) or None,
    )
