"""Names of mails: the office's own Message-IDs, from which its mail ids are read back, and the keys of foreign ones.

A Message-ID of ours is `mail.<mail id>.<digest>@mail.officetown.invalid`. The digest is over office and mail id, so that
an office knows its own mails and no other office's. A message-id is written here without its angle brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from simulator.canonical import canonical, sha256

DOMAIN = "mail.officetown.invalid"
"""Where our Message-IDs live; `.invalid` is reserved (RFC 2606), so that it can be nobody's."""
UNNAMED = "content.officetown.invalid"
"""Of the names given to mails that came without a Message-ID: a hash of what they say."""
ODD = "odd.officetown.invalid"
"""Of the names given to mails whose Message-ID cannot be repeated in a header: a hash of it."""

_SOUND = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.@:\[\]-]{1,200}")
_PLAIN = re.compile(r"[A-Za-z0-9]")
_ESCAPED = re.compile(r"-([0-9A-F]{2})")
_LONGEST = 120


def mail_id(office: str, mail: str) -> str:
    """Return the Message-ID of an office's mail."""
    return f"mail.{_escape(mail)}.{_digest(office, mail)}@{DOMAIN}"


def notice_id(office: str, *parts: str) -> str:
    """Return the Message-ID of a notice to a person, which is no mail of the office; `parts` say which one it is."""
    return f"notice.{_digest(office, *parts)}.{_digest(office)}@{DOMAIN}"


def office_mail(office: str, message_id: str) -> str:
    """Return the id of the office's mail that a Message-ID names; empty if it is not one of this office's mails."""
    match = re.fullmatch(r"mail\.([A-Za-z0-9-]+)\.([0-9a-f]{16})@" + re.escape(DOMAIN), bare(message_id))
    if match is None:
        return ""
    mail = _unescape(match[1])
    return mail if _digest(office, mail) == match[2] else ""


def is_ours(office: str, message_id: str) -> bool:
    """Whether a Message-ID is one that this office gave, to a mail or to a notice."""
    return is_notice(office, message_id) or bool(office_mail(office, message_id))


def is_notice(office: str, message_id: str) -> bool:
    """Whether a Message-ID is that of a notice of this office."""
    return re.fullmatch(rf"notice\.[0-9a-f]{{16}}\.{_digest(office)}@{re.escape(DOMAIN)}", bare(message_id)) is not None


def bare(message_id: str) -> str:
    """Return a message-id without angle brackets and white space around it."""
    return message_id.strip().removeprefix("<").removesuffix(">").strip()


def key_of(message_id: str) -> str:
    """Return the key of a foreign mail: `mail:<message-id>`, or a hash of it where it is no sound one."""
    name = bare(message_id)
    return f"mail:{name if _SOUND.fullmatch(name) else f'{sha256(canonical(_whole(name)))[:32]}@{ODD}'}"


def key_of_content(*parts: object) -> str:
    """Return the key of a mail that has no Message-ID; the same content gives the same key."""
    return f"mail:{sha256(canonical(parts))[:32]}@{UNNAMED}"


def named_by(key: str) -> str:
    """Return the message-id in a mail's key; empty if the key is of another kind."""
    name = bare(key.removeprefix("mail:")) if key.startswith("mail:") else ""
    return name if _SOUND.fullmatch(name) and "@" in name else ""


def message_id_of(office: str, mail: str, origin: str) -> str:
    """Return the Message-ID of a mail: that under which it came in, or else our own."""
    return named_by(origin) or mail_id(office, mail)


def search_token(message_id: str) -> str:
    """Return the longest run of letters and digits in a message-id: what any search finds, whatever it does to signs."""
    return max(re.findall(r"[A-Za-z0-9]+", message_id), key=len, default="")


def referred(office: str, candidates: Iterable[str]) -> str:
    """Return what a mail answers: the id of the office's mail, or the key of a foreign one, by its first candidate.

    Notices are passed over: they are no mails of the office.
    """
    for candidate in candidates:
        if bare(candidate) and not is_notice(office, candidate):
            return office_mail(office, candidate) or key_of(candidate)
    return ""


def _digest(*parts: str) -> str:
    return sha256(canonical([_whole(part) for part in parts]))[:16]


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _escape(text: str) -> str:
    """Spell a text with letters, digits and `-XX`, so that no mail program or search takes offence at it."""
    escaped = "".join(c if _PLAIN.fullmatch(c) else "".join(f"-{b:02X}" for b in _whole(c).encode()) for c in text)
    return escaped if len(escaped) <= _LONGEST else f"{escaped[:_LONGEST].rpartition('-')[0]}-00"


def _unescape(text: str) -> str:
    return re.sub(_ESCAPED, lambda m: chr(int(m[1], 16)), text).encode("latin-1", "replace").decode("utf-8", "replace")
