"""Reads the mails that people send: whatever the bytes are, the result is a letter within bounds, or a remark that says
in plain words why there is none. Nothing in a mail is executed, fetched or obeyed.
"""

from __future__ import annotations

import re

import msgspec

from services.carriers.mail import ids
from services.carriers.mail.charsets import decode_words
from services.carriers.mail.message import EVENT_HEADER, OFFICE_HEADER
from services.carriers.mail.mime import Headers, read_content, split_message
from services.carriers.mail.names import header_text
from simulator.arriving import ArrivedFile, MailArrived
from simulator.canonical import clean_text, sha256
from simulator.carrying import Directory

LIMIT = 25 * 1024 * 1024
"""Bytes of a mail that is let in."""
SUBJECT, ADDRESSES, TEXT = 2_000, 500, 1_000_000
"""Characters of a subject and of a text, and addresses a field, that are read."""

_IN_BRACKETS = re.compile(r"<([^<>\s]{1,900})>")
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|\\.|[()]|[^"\\()]+|.', re.DOTALL)


class Letter(msgspec.Struct, frozen=True):
    """A mail as read. Addresses are as written, without names; `senders` are those of `From`. `answers` are the
    message-ids it may answer, the likeliest first. `remarks` say what was left out. `event` is our own header."""

    key: str
    message_id: str
    senders: tuple[str, ...]
    to: tuple[str, ...]
    cc: tuple[str, ...]
    bcc: tuple[str, ...]
    subject: str
    text: str
    answers: tuple[str, ...]
    files: tuple[ArrivedFile, ...]
    remarks: tuple[str, ...]
    office: str = ""
    event: str = ""
    too_large: bool = False


class Taken(msgspec.Struct, frozen=True):
    """What a letter comes to: an arrival, or none; and remarks."""

    arrival: MailArrived | None
    remarks: tuple[str, ...] = ()


def read_letter(raw: bytes) -> Letter:
    """Read a message. Never raises; a message over the limit is read by its headers alone."""
    too_large = len(raw) > LIMIT
    headers, body = split_message(memoryview(raw)[: LIMIT + 1])
    content = read_content(headers, body[:0] if too_large else body)
    named = headers.first("message-id")
    return Letter(
        key=ids.key_of(named) if ids.bare(named) else _content_key(headers, body, len(raw)),
        message_id=ids.bare(named),
        senders=_addresses(headers.all("from")),
        to=_addresses(headers.all("to")),
        cc=_addresses(headers.all("cc")),
        bcc=_addresses(headers.all("bcc")),
        subject=header_text(decode_words(headers.first("subject")[:SUBJECT])),
        text=clean_text(content.text[:TEXT]).rstrip("\n"),
        answers=_answers(headers),
        files=tuple(content.files),
        remarks=tuple(content.remarks[:20]),
        office=decode_words(headers.first(OFFICE_HEADER.lower())[:SUBJECT]),
        event=decode_words(headers.first(EVENT_HEADER.lower())[:SUBJECT]),
        too_large=too_large,
    )


def is_ours(letter: Letter, people: Directory) -> bool:
    """Whether a letter is one that this office delivered itself."""
    return ids.is_ours(people.office, letter.message_id) or bool(letter.event and letter.office == people.office)


def take(letter: Letter, people: Directory) -> Taken:
    """Return what a person's letter comes to in the office's terms. The author is who `From` names, and nobody else."""
    title = f"The mail {_short(letter.subject) or '(no subject)'!r}"
    author, why = _author(letter, people)
    if not author:
        return Taken(None, (f"{title} was not let in: {why}.",))
    title += f" by {author}"
    if letter.too_large:
        return Taken(None, (f"{title} was not let in: it is larger than {LIMIT // 1024 // 1024} MB.",))
    to, strangers = _known(letter.to, people)
    cc, more = _known(letter.cc, people)
    remarks = [f"{title}: {remark}." for remark in letter.remarks]
    if strangers or more:
        shown = ", ".join(_short(address) for address in (*strangers, *more)[:5])
        remarks.append(f"{title} does not reach {shown}: nobody here has that address.")
    blind = [a for a in letter.bcc if a not in letter.to and a not in letter.cc]
    if blind:
        remarks.append(f"{title} does not reach those named as blind copies (Bcc): the office has none.")
    if not to and not cc:
        return Taken(None, (*remarks, f"{title} was not let in: it goes to nobody of this office."))
    cc = tuple(person for person in cc if person not in to)
    answered = ids.referred(people.office, letter.answers)
    return Taken(
        MailArrived(letter.key, author, to, cc, letter.subject, letter.text, answered, letter.files), tuple(remarks)
    )


def _author(letter: Letter, people: Directory) -> tuple[str, str]:
    """Return the person whose rights the letter has; or nobody, and why."""
    senders = tuple(dict.fromkeys(address.casefold() for address in letter.senders))
    if not senders:
        return "", "it does not say from whom it is"
    if len(senders) > 1:
        return "", f"it names {len(senders)} authors"
    account = people.by_address(senders[0])
    if account is None:
        return "", f"nobody here has the address {_short(senders[0])}"
    return account.person, ""


def _known(addresses: tuple[str, ...], people: Directory) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the people with these addresses, each once, and the addresses of nobody."""
    persons: list[str] = []
    strangers: list[str] = []
    for address in addresses:
        account = people.by_address(address)
        if account is None:
            strangers.append(address)
        else:
            persons.append(account.person)
    return tuple(dict.fromkeys(persons)), tuple(dict.fromkeys(strangers))


def _addresses(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the addresses of header fields, in order, each once; what is none is kept as it stands, to be named."""
    found: list[str] = []
    for value in values[:20]:
        found.extend(_mailboxes(value))
    return tuple(dict.fromkeys(found))[:ADDRESSES]


def _mailboxes(value: str) -> list[str]:
    """Split an address list (RFC 5322) into addresses. Names, quoted text and comments never yield one, and what could
    be read as two addresses yields none that anybody has."""
    found: list[str] = []
    for mailbox in re.split("[,;]", _without_asides(value)):
        written = mailbox.rpartition(":")[2] if "<" not in mailbox else mailbox
        angles = re.findall("<([^<>]*)>", written)
        address = (angles[0] if len(angles) == written.count("<") == 1 else written).strip()
        if address:
            found.append(address[:320])
    return found


def _without_asides(value: str) -> str:
    """Return a header's value without quoted text and without comments, which may be nested."""
    kept: list[str] = []
    depth = 0
    for piece in _PIECE.findall(value):
        if piece == "(":
            depth += 1
        elif piece == ")" and depth:
            depth -= 1
        elif not depth and piece[0] not in '"\\':
            kept.append(piece)
    return "".join(kept)


def _answers(headers: Headers) -> tuple[str, ...]:
    direct = _IN_BRACKETS.findall(headers.first("in-reply-to")[:SUBJECT])
    bare = headers.first("in-reply-to").strip()
    if not direct and bare and not re.search(r"\s", bare):
        direct = [bare[:900]]
    earlier = _IN_BRACKETS.findall(headers.first("references")[-20_000:])
    return tuple(dict.fromkeys((*direct, *reversed(earlier))))[:50]


def _content_key(headers: Headers, body: memoryview, size: int) -> str:
    """Name a mail without a Message-ID by what its author wrote; the path it took (`Received`) is no part of that."""
    said = [headers.all(name) for name in ("from", "to", "cc", "date", "subject")]
    return ids.key_of_content(repr(said), sha256(bytes(body)), size if len(body) > LIMIT else 0)


def _short(text: str) -> str:
    return header_text(text)[:80]
