"""What people did at a carrier, and the acts it becomes (RULE 4, DESIGN 9).

A carrier reports *arrivals* in the office's own terms: people by id, rooms by id, times in seconds. Here they become
inbound items, with their author's rights. Their texts are data: nothing in them instructs the system.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from simulator.records import Record


class ArrivedFile(msgspec.Struct, frozen=True):
    """A file that came with a message or mail. `name` is as the sender wrote it: hostile until cleaned."""

    name: str
    data: bytes


class MessageArrived(Record, frozen=True):
    """A person wrote in a room. `key` names the message for ever (and its state: an edit has another key). `to` is a room's
    id or, for a direct message, the other person's. `in_reply_to` is the id of an office's message, or the key of one
    that came in. `change` says what it does to what came in under `in_reply_to`."""

    key: str
    person: str
    to: str
    text: str
    in_reply_to: str = ""
    files: tuple[ArrivedFile, ...] = ()
    change: Literal["", "edited", "deleted", "reacted"] = ""


class MailArrived(Record, frozen=True):
    """A person wrote a mail. `in_reply_to` is the id of an office's mail, or the key of one that came in."""

    key: str
    person: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    subject: str
    text: str
    in_reply_to: str = ""
    files: tuple[ArrivedFile, ...] = ()


class EntryArrived(Record, frozen=True):
    """A person made, moved, answered or deleted an event in their calendar. `entry` is the id of an office's event, or the
    key of one that came in; empty for a new one. `start` is in seconds since the epoch."""

    key: str
    person: str
    change: Literal["created", "moved", "deleted", "accepted", "declined", "tentative"]
    entry: str = ""
    title: str = ""
    start: int = 0
    minutes: int = 30
    rule: str = ""
    agenda: str = ""
    attendees: tuple[str, ...] = ()


Arrival = MessageArrived | MailArrived | EntryArrived


class Polled(Record, frozen=True):
    """What a poll brought. `cursor` is given to the next one. `remarks` are things seen and not let in, in plain words."""

    arrivals: tuple[Arrival, ...] = ()
    cursor: str = ""
    remarks: tuple[str, ...] = ()
