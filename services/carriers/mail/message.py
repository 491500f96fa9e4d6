"""Builds the mails that leave an office: the same mail gives the same bytes, wherever and whenever it is built.

Header values are encoded here, to ASCII, and folded here: the standard library's own folding differs between Python
versions and has dropped quotes around names. What a name or subject says can therefore never become a header.
"""

from __future__ import annotations

import base64
import quopri
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import compat32
from email.utils import format_datetime
from urllib.parse import quote

from services.carriers.mail import ids
from services.carriers.mail.names import file_name, header_text
from simulator.businesstime import load_zone
from simulator.canonical import clean_text, sha256
from simulator.carrying import Attached, BounceOut, Directory, MailOut
from simulator.errors import UsageError
from simulator.ports import BlobStore

OFFICE_ADDRESS = "office@officetown.invalid"
OFFICE_HEADER = "X-OfficeTown-Office"
EVENT_HEADER = "X-OfficeTown-Event"

_POLICY = compat32.clone(linesep="\r\n", max_line_length=990, mangle_from_=False)
_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9.-]+")
_ATOMS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]+")
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,127}")
_WORD = 42
"""Bytes of text in one encoded word, so that it stays below RFC 2047's 75 characters."""
_LINE = 200


def build(key: str, out: MailOut, text: str, people: Directory, blobs: BlobStore) -> EmailMessage:
    """Return a mail of the office as RFC 5322 has it. `key` names what is delivered, `text` is the body.

    Raises CorruptStore or StorageError where a file's bytes cannot be had.
    """
    mail = out.mail
    message = _headed(ids.message_id_of(people.office, mail.id, out.origin), mail.at, people)
    message["From"] = _mailbox(people, mail.sender)
    message["To"] = ",\n ".join(_mailbox(people, person) for person in mail.to)
    if mail.cc:
        message["Cc"] = ",\n ".join(_mailbox(people, person) for person in mail.cc)
    message["Subject"] = _encoded(mail.subject)
    if mail.thread != mail.id:
        first = f"<{ids.message_id_of(people.office, mail.thread, out.thread_origin)}>"
        message["In-Reply-To"] = first
        message["References"] = first
    message[OFFICE_HEADER] = _encoded(people.office)
    message[EVENT_HEADER] = _encoded(key)
    _fill(message, text, [(file, blobs.get(file.blob.sha256)) for file in out.files])
    return message


def notice(
    parts: tuple[str, ...],
    at: int,
    to: str,
    subject: str,
    text: str,
    people: Directory,
    files: tuple[tuple[Attached, bytes], ...] = (),
) -> EmailMessage:
    """Return a notice of OfficeTown itself to a person. `parts` say which notice it is: the same ones are the same."""
    message = _headed(ids.notice_id(people.office, *parts), at, people)
    message["From"] = f"OfficeTown <{OFFICE_ADDRESS}>"
    message["To"] = _mailbox(people, to)
    message["Subject"] = _encoded(subject)
    message["Auto-Submitted"] = "auto-generated"
    message[OFFICE_HEADER] = _encoded(people.office)
    message[EVENT_HEADER] = _encoded("notice:" + ":".join(parts))
    _fill(message, text, files)
    return message


def bounce_notice(bounce: BounceOut, people: Directory) -> EmailMessage:
    """Return the mail that tells a person that something they did at a carrier did not take effect, and why."""
    text = (
        f"What you sent or changed did not take effect at {header_text(people.name)}.\n\n"
        f"Why: {clean_text(bounce.reason).strip()}\n\n"
        "Nothing else was changed. Put right what is named above and try again.\n"
        "This address is not read."
    )
    parts = ("bounce", bounce.person, bounce.key, bounce.reason, str(bounce.at))
    message = notice(parts, bounce.at, bounce.person, f"Not done: {bounce.reason}"[:120], text, people)
    answered = ids.named_by(bounce.key)
    if answered:
        message["In-Reply-To"] = f"<{answered}>"
        message["References"] = f"<{answered}>"
    return message


def as_bytes(message: EmailMessage) -> bytes:
    """Return a message's bytes as they go over SMTP, with CRLF line ends."""
    return message.as_bytes(policy=_POLICY)


def address_of(people: Directory, person: str) -> str:
    """Return a person's mail address; one that leads nowhere if they have none."""
    account = people.of(person)
    if account is not None and _ADDRESS.fullmatch(account.address):
        return account.address
    return f"{sha256(person.encode('utf-8', 'replace'))[:16]}@unknown.officetown.invalid"


def recipients_of(out: MailOut, people: Directory) -> tuple[tuple[str, str], ...]:
    """Return (person, address) of everyone who gets a mail, each once."""
    return tuple((p, address_of(people, p)) for p in dict.fromkeys((*out.mail.to, *out.mail.cc)))


def normal_text(text: str) -> str:
    """Return a body as it survives the way through a mail: cleaned, without line ends after its last line."""
    return clean_text(text).rstrip("\n")


def _headed(message_id: str, at: int, people: Directory) -> EmailMessage:
    message = EmailMessage(policy=_POLICY)
    message["Message-ID"] = f"<{message_id}>"
    message["Date"] = _date(at, people.zone)
    return message


def _date(at: int, zone: str) -> str:
    """Return simulated time in the office's zone; in UTC where the zone is unknown or knows no such year."""
    try:
        return format_datetime(datetime.fromtimestamp(at, load_zone(zone)))
    except (UsageError, ValueError, OverflowError, OSError):
        return format_datetime(datetime.fromtimestamp(max(0, min(at, 253_402_300_000)), UTC))


def _mailbox(people: Directory, person: str) -> str:
    account = people.of(person)
    name = header_text(account.name if account is not None else person)
    address = address_of(people, person)
    if not name:
        return address
    if not name.isascii() or "=?" in name or len(name) > _LINE:
        return f"{_words(name)}\n <{address}>"
    if _ATOMS.fullmatch(name):
        return f"{name} <{address}>"
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}" <{address}>'


def _encoded(value: str) -> str:
    """Return a header's text: as it is where that is short and plain, else in encoded words (RFC 2047)."""
    text = header_text(value)
    plain = text.isascii() and "=?" not in text and len(text) <= _LINE
    return text if plain else _words(text)


def _words(text: str) -> str:
    words: list[bytes] = [b""]
    for character in text:
        piece = character.encode("utf-8", "replace")
        if len(words[-1]) + len(piece) > _WORD:
            words.append(b"")
        words[-1] += piece
    return "\n ".join(f"=?utf-8?b?{base64.b64encode(word).decode()}?=" for word in words)


def _fill(message: EmailMessage, text: str, files: Sequence[tuple[Attached, bytes]]) -> None:
    message["MIME-Version"] = "1.0"
    body = normal_text(text)
    if not files:
        _put_text(message, body)
        return
    # A hash over all that lies between the boundaries cannot occur in it.
    parts = (body, *(f"{file.name} {sha256(data)}" for file, data in files))
    boundary = f"=_{sha256(repr(parts).encode('utf-8', 'replace'))[:40]}"
    message["Content-Type"] = f'multipart/mixed; boundary="{boundary}"'
    first = EmailMessage(policy=_POLICY)
    _put_text(first, body)
    message.attach(first)
    for number, (file, data) in enumerate(files, 1):
        message.attach(_file_part(file, data, number))


def _put_text(part: EmailMessage, body: str) -> None:
    data = body.encode() + b"\n"
    plain = data.isascii() and all(len(line) <= _LINE for line in data.split(b"\n"))
    part["Content-Type"] = "text/plain; charset=utf-8"
    part["Content-Transfer-Encoding"] = "7bit" if plain else "quoted-printable"
    part.set_payload((data if plain else quopri.encodestring(data)).decode("ascii"))


def _file_part(file: Attached, data: bytes, number: int) -> EmailMessage:
    kind = file.media_type.split(";", 1)[0].strip().lower()
    # What holds parts of its own may not be in base64 (RFC 2046), and every file is, to arrive byte for byte.
    if not _MEDIA_TYPE.fullmatch(kind) or kind.startswith(("multipart/", "message/")):
        kind = "application/octet-stream"
    part = EmailMessage(policy=_POLICY)
    part["Content-Type"] = kind
    part["Content-Transfer-Encoding"] = "base64"
    part["Content-Disposition"] = f"attachment; {_name_parameter(file_name(file.name, kind, number))}"
    part.set_payload(base64.encodebytes(data).decode("ascii"))
    return part


def _name_parameter(name: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9 ._()+,@-]+", name):
        return f'filename="{name}"'
    return f"filename*=utf-8''{quote(name, safe='')}"
