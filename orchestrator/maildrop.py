"""The embedded carrier: what leaves the office is laid down as files, once each, where a person can open it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path

from simulator.arriving import Polled
from simulator.carrying import BounceOut, Directory, MailOut
from simulator.records import Mail


class Maildrop:
    """Delivers mails as `.eml` files and messages as lines of a room's text file. Delivering twice changes nothing."""

    name = "files"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def provision(self, people: Directory) -> None:
        """Nobody needs an account."""

    def poll(self, cursor: str) -> Polled:
        """Nothing comes in by files."""
        return Polled(cursor=cursor)

    def close(self) -> None:
        """Nothing is held open."""

    def bounce(self, bounce: BounceOut) -> None:
        """Nothing came in, so nothing is refused."""

    def send(self, key: str, mail: MailOut, text: str, again: bool) -> None:
        """Lay one mail down; raises OSError where the disk refuses, and the outbox tries again."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / f"{_safe(mail.mail.id)}.eml"
        if path.exists():
            return
        draft = path.with_suffix(".part")
        draft.write_bytes(self._message(mail.mail, text).as_bytes())
        draft.replace(path)

    def _message(self, mail: Mail, text: str) -> EmailMessage:
        message = EmailMessage()
        message["Message-ID"] = f"<{_safe(mail.id)}@officetown.invalid>"
        message["Date"] = format_datetime(datetime.fromtimestamp(mail.at, UTC))
        message["From"] = f"{_safe(mail.sender)}@officetown.invalid"
        message["To"] = ", ".join(f"{_safe(p)}@officetown.invalid" for p in mail.to)
        message["Subject"] = mail.subject
        message.set_content(text)
        return message


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)
