"""What the server says of messages and rooms, read as hostile: every field may be missing, of another type or huge."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from simulator.canonical import clean_text

EPOCH = "1970-01-01T00:00:00.000Z"
TEXT_LIMIT = 20_000
"""Characters of a message that come in; what is longer is cut."""
OWN_ID = re.compile(r"[0-9a-f]{24}")
"""How the ids that the office chooses look; the server's own are 17 letters and digits of either case."""
_QUOTE = re.compile(r"\[ \]\(\S{0,2000}[?&]msg=([A-Za-z0-9_-]{1,64})\S{0,200}\)\s*")
_REACTIONS = 500


class Upload(msgspec.Struct, frozen=True):
    """A file that hangs on a message. `size` is what the server says, in bytes."""

    id: str
    name: str
    size: int


class Message(msgspec.Struct, frozen=True):
    """A message as the server has it. `root` is the message it answers in a thread or by a quote. `at`, `updated` and
    `edited` are moments of the server's clock as ISO text, which sorts; `edited` is empty if nobody edited it."""

    id: str
    author: str
    text: str
    at: str
    updated: str
    root: str = ""
    kind: str = ""
    edited: str = ""
    editor: str = ""
    office: str = ""
    event: str = ""
    part: str = ""
    cut: bool = False
    files: tuple[Upload, ...] = ()
    reactions: tuple[tuple[str, str], ...] = ()

    @property
    def ours(self) -> bool:
        """Whether an office wrote it, this one or another."""
        return bool(self.office) or OWN_ID.fullmatch(self.id) is not None


def read_message(raw: object) -> Message | None:
    """Return a message; None for what is none."""
    if not isinstance(raw, Mapping) or not (name := _text(raw, "_id", 100)):
        return None
    full = raw.get("msg") if isinstance(raw.get("msg"), str) else ""
    text = clean_text(str(full)[: TEXT_LIMIT + 1_000])
    root = _text(raw, "tmid", 100)
    quote = _QUOTE.match(text)
    if quote is not None:
        text = text[quote.end() :]
        root = root or quote[1]
    fields = _mapping(raw, "customFields")
    return Message(
        id=name,
        author=_text(_mapping(raw, "u"), "username", 200),
        text=text[:TEXT_LIMIT],
        at=moment(raw.get("ts")),
        updated=moment(raw.get("_updatedAt")),
        root=root,
        kind=_text(raw, "t", 100),
        edited=moment(raw.get("editedAt")),
        editor=_text(_mapping(raw, "editedBy"), "username", 200),
        office=_text(fields, "office", 500),
        event=_text(fields, "event", 500),
        part=_text(fields, "part", 500),
        cut=len(str(full)) > TEXT_LIMIT,
        files=_files(raw),
        reactions=_reactions(_mapping(raw, "reactions")),
    )


def read_messages(answer: Mapping[str, Any], field: str) -> tuple[tuple[Message, ...], int]:
    """Return the messages of a list inside `result`, and how many entries were none."""
    entries = _mapping(answer, "result").get(field)
    found = [read_message(entry) for entry in entries] if isinstance(entries, list) else []
    messages = tuple(message for message in found if message is not None)
    return messages, len(found) - len(messages)


def read_deleted(answer: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return (id, moment) of what was deleted."""
    entries = _mapping(answer, "result").get("deleted")
    found = [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []
    return tuple((_text(entry, "_id", 100), moment(entry.get("_deletedAt"))) for entry in found)


def moment(value: object) -> str:
    """Return a moment as the server writes it: ISO text in UTC with milliseconds. Empty for what is none."""
    if isinstance(value, Mapping):
        value = value.get("$date")
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            found = datetime.fromtimestamp(value / 1000, UTC)
        elif isinstance(value, str) and len(value) < 64:
            found = datetime.fromisoformat(value)
            found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        else:
            return ""
        return f"{found:%Y-%m-%dT%H:%M:%S}.{found.microsecond // 1000:03d}Z"
    except (ValueError, OverflowError, OSError):
        return ""


def before(at: str, seconds: int) -> str:
    """Return the moment so many seconds earlier, never before the epoch."""
    return max(EPOCH, moment((datetime.fromisoformat(at) - timedelta(seconds=seconds)).isoformat()))


def _files(raw: Mapping[str, Any]) -> tuple[Upload, ...]:
    entries = raw.get("files")
    if not isinstance(entries, list) or not entries:
        entries = [raw.get("file")]
    found: list[Upload] = []
    for entry in entries[:50]:
        if not isinstance(entry, Mapping) or entry.get("typeGroup") == "thumb" or not _text(entry, "_id", 100):
            continue
        size = entry.get("size")
        known = size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else 0
        found.append(Upload(_text(entry, "_id", 100), _text(entry, "name", 1_000) or "file", known))
    return tuple(found)


def _reactions(raw: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return (emoji with its colons, username), in order."""
    found = [
        (clean_text(emoji)[:100], clean_text(name)[:200])
        for emoji, entry in sorted(raw.items())
        if isinstance(entry, Mapping) and isinstance(entry.get("usernames"), list)
        for name in entry["usernames"]
        if isinstance(name, str)
    ]
    return tuple(found[:_REACTIONS])


def _mapping(raw: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    value = raw.get(field)
    return value if isinstance(value, Mapping) else {}


def _text(raw: Mapping[str, Any], field: str, limit: int) -> str:
    value = raw.get(field)
    return clean_text(value[:limit]) if isinstance(value, str) else ""
