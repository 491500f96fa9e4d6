"""*Mail*, as people know it: a list on the left, the thread on the right. For everybody, or as one person sees it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from orchestrator.web.queries import talk
from orchestrator.web.queries.common import FileName
from orchestrator.web.queries.talk import MailLine, MailShown
from orchestrator.web.ui import kit, partaking, whose
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.paths import PATHS
from orchestrator.web.ui.shell import Page, Shell

AT_ONCE = 50
_THREAD = 40


class Shown(msgspec.Struct, frozen=True):
    """A part of the list, and the thread that is open."""

    person: str
    people: Mapping[str, str]
    names: Mapping[str, str]
    lines: tuple[MailLine, ...]
    total: int
    skip: int
    open: str
    thread: tuple[MailShown, ...]


def load(ask: Ask) -> Shown:
    """Return the mails of the page's address."""
    return load_for(ask, ask.get("person"))


def load_for(ask: Ask, person: str) -> Shown:
    """Return mails as a person sees them, or all of them for nobody."""
    eyes = whose.eyes(ask, person)
    office, seen = eyes.office, eyes.seen
    skip = ask.number("skip")
    found = talk.mails(office) if seen is None else talk.seen_mails(seen, 0)
    show = talk.mail_line(office) if seen is None else talk.seen_mail_line(office, seen)
    lines = tuple(show(m) for m in found[skip : skip + AT_ONCE])
    chosen = ask.get("mail") or (lines[0].id if lines else "")
    thread: tuple[MailShown, ...] = ()
    if chosen:
        texts = ask.book.texts
        one = talk.mail(office, chosen, texts) if seen is None else talk.seen_mail(office, seen, chosen, texts)
        rest = talk.mails(office, thread=one.mail.thread) if seen is None else talk.seen_mails(seen, 0, one.mail.thread)
        thread = tuple(MailShown(show(m), texts(m.body)) for m in sorted(rest, key=lambda m: (m.at, m.id))[-_THREAD:])
    return Shown(eyes.person, whose.everybody(office), eyes.names, lines, len(found), skip, chosen, thread)


def draw(shell: Shell, shown: Shown) -> None:
    """Draw the page."""
    with kit.box("row between"):
        kit.heading("Mail", 1)
        with kit.box("row"):
            kit.text("Whose", "label")
            options = {"": "Everybody's", **shown.people}
            kit.choice("Whose mail", options, shown.person, lambda v: shell.turn(person=v, mail="", skip=""), "mail-person")
    body(shell, shown)


def body(shell: Shell, shown: Shown) -> None:
    """Draw the list and the open thread."""
    writers = {shown.person: shown.names.get(shown.person, shown.person)} if shown.person else shown.people
    partaking.letter(shell, writers, shown.thread[-1].mail if shown.thread else None, shown.names)
    if not shown.lines:
        kit.empty("No mail at this moment.")
        return
    with kit.box("side mailbox"):
        with kit.card("", "flush list", test="mail-list"):
            for line in shown.lines:
                _line(shell, shown, line)
            pager(shell, shown.skip, AT_ONCE, shown.total)
        with kit.box("stack wide-gap", test="mail-thread"):
            if shown.thread:
                kit.heading(shown.thread[-1].mail.subject or "(no subject)", 2, "thread-title")
            for one in shown.thread:
                _mail(shell, shown, one)


def _line(shell: Shell, shown: Shown, line: MailLine) -> None:
    made = kit.button("", lambda: shell.turn(mail=line.id), "item", test=f"mail-{line.id}")
    made.set(aria_current="true" if line.id == shown.open else None)
    with made, kit.Tag("span", "stack tight"):
        with kit.Tag("span", "row between"):
            kit.text(shown.names.get(line.sender, line.sender), "strong")
            kit.text(line.at.local[5:16].replace("T", " "), "time")
        kit.text(line.subject or "(no subject)", "ellipsis")
        to = ", ".join(shown.names.get(p, p) for p in line.to[:3])
        kit.text(f"to {to}{' …' if len(line.to) > 3 else ''}", "faint ellipsis")


def _mail(shell: Shell, shown: Shown, one: MailShown) -> None:
    m = one.mail
    with kit.Tag("article", "card"):
        with kit.box("row between"):
            kit.text(shown.names.get(m.sender, m.sender), "strong")
            with kit.box("row"):
                if m.external:
                    kit.chip("outside the firm", "warn")
                kit.text(m.at.local.replace("T", " ")[:16], "time")
        to = ", ".join(shown.names.get(p, p) for p in m.to)
        cc = ", ".join(shown.names.get(p, p) for p in m.cc)
        kit.text(f"To {to}{f' · Cc {cc}' if cc else ''}", "faint")
        kit.text(one.text, "said", "p")
        files(shell, m.attachments, shown.person)


def files(shell: Shell, found: tuple[FileName, ...], person: str = "") -> None:
    """Draw files as links."""
    if not found:
        return
    with kit.box("row files"):
        for f in found:
            name = f"{f.path.rsplit('/', 1)[-1] or f.file} (version {f.version})"
            if shell.caller.operator:
                kit.link(name, shell.url("file", file=f.file, version=f.version), "file-chip", title=f.path)
            else:
                kit.text(name, "file-chip", title=f.path)


def pager(shell: Shell, skip: int, step: int, total: int, newer: str = "Newer", older: str = "Older") -> None:
    """Draw what leads to the parts of a list before and after."""
    if total <= step:
        return
    with kit.box("row between pager"):
        before = kit.button(newer, lambda: shell.turn(skip=max(0, skip - step) or ""), "small", "chevron_left", test="page-newer")
        kit.text(f"{skip + 1:,}–{min(total, skip + step):,} of {total:,}", "faint num")
        after = kit.button(older, lambda: shell.turn(skip=skip + step), "small", "chevron_right", test="page-older")
        before.set(disabled=True if skip <= 0 else None)
        after.set(disabled=True if skip + step >= total else None)


PAGE = Page("mail", PATHS["mail"], "Mail", "mail", load, draw)
