"""The embedded carrier: what leaves the office is laid down as files, once each, where a person can open it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path

from services.storage.outbox import Delivery
from services.storage.writer import StoredJournal
from simulator.carrying import MailOut, decode_item
from simulator.records import Body, Mail


class Maildrop:
    """Delivers mails as `.eml` files and messages as lines of a room's text file. Delivering twice changes nothing."""

    def __init__(self, folder: Path, journal: StoredJournal) -> None:
        self._folder = folder
        self._journal = journal

    def __call__(self, delivery: Delivery) -> None:
        """Lay one item down; raises OSError where the disk refuses, and the outbox tries again."""
        if delivery.item.kind != "mail":
            return
        item = decode_item(delivery.item)
        assert isinstance(item, MailOut)  # noqa: S101 - by its kind
        mail = item.mail
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / f"{_safe(mail.id)}.eml"
        if path.exists():
            return
        draft = path.with_suffix(".part")
        draft.write_bytes(self._message(mail).as_bytes())
        draft.replace(path)

    def _message(self, mail: Mail) -> EmailMessage:
        message = EmailMessage()
        message["Message-ID"] = f"<{_safe(mail.id)}@officetown.invalid>"
        message["Date"] = format_datetime(datetime.fromtimestamp(mail.at, UTC))
        message["From"] = f"{_safe(mail.sender)}@officetown.invalid"
        message["To"] = ", ".join(f"{_safe(p)}@officetown.invalid" for p in mail.to)
        message["Subject"] = mail.subject
        message.set_content(self._text(mail.body))
        return message

    def _text(self, body: Body) -> str:
        return self._journal.body(body.sha256) if body.sha256 else body.text


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)
