"""The people, mails and files that the mail carriers' tests are about."""

from __future__ import annotations

from email.message import EmailMessage
from email.policy import SMTP

from simulator.canonical import sha256
from simulator.carrying import Account, Attached, Directory, MailOut
from simulator.ports import Blob, BlobStore
from simulator.records import Body, Mail

AT = 1_770_000_000
"""2026-02-02 02:40 UTC: an instant of simulated time."""

PEOPLE = Directory(
    "juniper0feed", "Juniper", "America/New_York",
    (
        Account("daniel", "Daniel Okafor", "daniel", "daniel@juniper.example", title="Senior accountant"),
        Account("elena", "Elena Ruiz, CPA", "elena", "elena@juniper.example"),
        Account("maya", "Mäyä Lindqvist", "maya", "maya@riverbend.example", staff=False),
        Account("quinn", "Quinn", "quinn", "quinn@juniper.example"),
    ),
)  # fmt: skip


class Memory:
    """A `BlobStore` in memory."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}

    def put(self, data: bytes) -> Blob:
        self.held[sha256(data)] = data
        return Blob(sha256(data), len(data))

    def get(self, sha256: str) -> bytes:
        return self.held[sha256]

    def has(self, sha256: str) -> bool:
        return sha256 in self.held


def mail(
    name: str = "elena/3.1", thread: str = "", sender: str = "elena", to: tuple[str, ...] = ("daniel",),
    cc: tuple[str, ...] = (), subject: str = "December", at: int = AT, files: tuple[Attached, ...] = (),
    origin: str = "", thread_origin: str = "",
) -> MailOut:  # fmt: skip
    """Return a mail that leaves the office."""
    return MailOut(
        Mail(name, thread or name, sender, to, cc, subject, Body("unused"), at), files, origin, thread_origin
    )


def attached(blobs: BlobStore, name: str, data: bytes, media_type: str = "application/pdf") -> Attached:
    """Return a file that goes with a mail."""
    return Attached(name, media_type, blobs.put(data))


def letter(
    sender: str = "Daniel <daniel@juniper.example>", to: str = "elena@juniper.example", subject: str = "Re: December",
    text: str = "Done.", message_id: str = "<abc@laptop.example>", date: str = "Sun, 29 Nov 2026 12:00:00 +0000",
    **more: str,
) -> bytes:  # fmt: skip
    """Return what a person's mail program sends; header names in `more` have `_` for `-`."""
    message = EmailMessage(policy=SMTP)
    fields = {"From": sender, "To": to, "Subject": subject, "Message-ID": message_id, "Date": date}
    for field, value in (*fields.items(), *more.items()):
        if value:
            message[field.replace("_", "-")] = value
    message.set_content(text)
    return message.as_bytes()
