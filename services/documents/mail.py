"""Mail messages as text: the headers a person reads, the plain body, the names of the attachments."""

from __future__ import annotations

import html
import re
from email import policy
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser

from services.documents.limits import Limits

_SHOWN = ("From", "To", "Cc", "Date", "Subject")


def mail_text(data: bytes, limits: Limits) -> str:
    """A message in the form `Header: value`, an empty line, the body, `[attachment: NAME, TYPE, N bytes]`."""
    message = BytesParser(EmailMessage, policy=policy.default).parsebytes(data)
    lines = [f"{name}: {' '.join(str(message[name]).split())}" for name in _SHOWN if message[name] is not None]
    body = message.get_body(preferencelist=("plain", "html"))
    lines.append("")
    if body is not None:
        text = _content(body)
        lines.append(_without_tags(text) if body.get_content_subtype() == "html" else text)
    for number, part in enumerate(message.iter_attachments()):
        if number == limits.pages:
            lines.append("[... more attachments not shown]")
            break
        size = len(part.get_payload(decode=True) or b"") if not part.is_multipart() else 0
        name = " ".join(str(part.get_filename() or "without a name").split())
        lines.append(f"[attachment: {name}, {part.get_content_type()}, {size:,} bytes]")
    return "\n".join(lines).rstrip("\n") + "\n"


def _content(part: MIMEPart) -> str:
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    try:
        return raw.decode(part.get_content_charset() or "utf-8")
    except (LookupError, UnicodeDecodeError):
        return raw.decode("latin-1")


def _without_tags(text: str) -> str:
    text = re.sub(r"(?is)<(script|style)\b.*?</\1\s*>", "", text)
    text = re.sub(r"(?i)<(br|/p|/div|/tr|/h\d|/li)\b[^>]*>", "\n", text)
    return html.unescape(re.sub(r"<[^>]*>", "", text))
