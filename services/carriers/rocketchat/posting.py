"""What the office says, on the server: once each, under ids that the office chooses, with simulated time beside it.

The server stamps its own time and takes no other, so every message carries `customFields`: the office, the id of the
office's message, its simulated time, and which part of it this is. Nothing is sent twice: a text has an id made of its
office and its own id; a file, whose message the server names, is looked for before it is sent again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from services.carriers.rocketchat.client import Login, Refused, Rest
from services.carriers.rocketchat.people import People
from services.carriers.rocketchat.rooms import Place, Rooms
from services.carriers.rocketchat.wire import Message, before, read_message, read_messages
from simulator.canonical import clean_name, clean_text
from simulator.carrying import Account, Attached, BounceOut, PostOut
from simulator.errors import CarrierError
from simulator.ports import BlobStore
from simulator.records import ChatMessage

CUSTOM_FIELDS: Mapping[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("office", "event", "part", "sim_ts")},
}
"""The JSON schema for the server's setting `Message_CustomFields`; without it the server refuses the office's messages."""
TAKEN, NOT_TAKEN = ":white_check_mark:", ":no_entry:"
_REMEMBERED = 10_000
T = TypeVar("T")


class Voice(msgspec.Struct, frozen=True):
    """Who speaks: a member of staff, or the office's account where there is none."""

    account: Account | None = None


OFFICE = Voice()


class Poster:
    """Posts. `limit` is the server's `Message_MaxAllowedSize`, in UTF-16 units as the server counts."""

    def __init__(self, rest: Rest, people: People, rooms: Rooms, blobs: BlobStore, limit: int = 5_000) -> None:
        self._rest = rest
        self._people = people
        self._rooms = rooms
        self._blobs = blobs
        self._limit = limit
        self._roots: set[str] = set()

    # -- what the office's people say ---------------------------------------------------------------------------------

    def post(self, post: PostOut, text: str, again: bool) -> None:
        """Bring a message and its files to its room. What a person wrote there is there: it gets a tick."""
        if post.origin:
            self._acknowledge(post.origin)
            return
        message = post.message
        place = self._rooms.find(message.room)
        sender = self._rooms.directory.of(message.sender)
        voice = Voice(sender if sender is not None and sender.staff else None)
        if voice.account is None:  # of the staff once: what he said then is still said
            text = f"{message.sender}: {text}"
        root = self._root(voice, post)
        first: Message | None = None
        for number, piece in enumerate(split(_whole(clean_text(text), post), self._limit)):
            part = str(number + 1) if number else ""
            sent, existed = self._say(place, voice, message, piece, root, part)
            again = again or existed
            first = first or sent
        there = self._files_there(place, voice, message.id, first) if again and post.files and first else frozenset()
        for number, file in enumerate(post.files, 1):
            part = f"file {number}"
            if part not in there:
                self._attach(place, voice, message, file, root, part)

    def _as(self, voice: Voice, work: Callable[[Login], T]) -> T:
        if voice.account is None:
            return self._people.as_office(work)
        return self._people.as_person(voice.account, work)

    def _say(
        self, place: Place, voice: Voice, message: ChatMessage, text: str, root: str, part: str
    ) -> tuple[Message, bool]:
        """Post one text; return it and whether it was there already."""
        body = self._body(place, message.id, message.at, text, root, part)
        try:
            try:
                return self._send(body, voice)
            except Refused as refused:
                refusal = refused.says("error-not-allowed", "not-authorized")
                if place.kind == "d" or voice.account is None or not refusal:
                    raise
            # Somebody took him out of the room by hand; the office's record says that he is in.
            self._rooms.invite(place, voice.account)
            return self._send(body, voice)
        except Refused as refused:
            raise self._explained(refused, place, message.id) from refused

    def _send(self, body: Mapping[str, Any], voice: Voice) -> tuple[Message, bool]:
        """Send a message under its id; return it and whether it was there already.

        A second message of the same id is no second message, but the server says so in several ways: an error, a success
        without a message, or a duplicate key. So whatever is not clearly a new message is looked up.
        """
        wanted = body["_id"]
        try:
            answer = self._as(voice, lambda login: self._rest.post("chat.sendMessage", login, {"message": body}))
        except Refused as refused:
            existing = self._lookup(wanted, voice)
            if existing is None:
                raise
            return self._own(existing, body, refused), True
        sent = read_message(answer.get("message"))
        if sent is not None and sent.id == wanted:
            return sent, False
        existing = self._lookup(wanted, voice)
        if existing is None:
            event = body["customFields"]["event"]
            raise CarrierError(f"{self._rest.name}: chat.sendMessage took message {event!r} and lost it")
        return self._own(existing, body, None), True

    def _own(self, found: Message, body: Mapping[str, Any], refused: Refused | None) -> Message:
        if found.event != body["customFields"]["event"] or found.office != self._rooms.directory.office:
            raise CarrierError(f"{self._rest.name}: another message has the id {found.id!r}") from refused
        return found

    def _body(self, place: Place, event: str, at: int, text: str, root: str, part: str) -> dict[str, Any]:
        body: dict[str, Any] = {
            "_id": message_id(self._rooms.directory.office, event, part),
            "rid": place.id,
            "msg": text,
            "customFields": self._fields(event, at, part),
        }
        if root:
            body["tmid"] = root
        return body

    def _fields(self, event: str, at: int, part: str) -> dict[str, str]:
        directory = self._rooms.directory
        fields = {"office": directory.office, "event": event, "sim_ts": stamp(at, directory.zone)}
        return {**fields, "part": part} if part else fields

    def _root(self, voice: Voice, post: PostOut) -> str:
        """Return the id of the thread's first message on the server; empty if there is no thread, or none any more."""
        thread = post.message.thread
        if not thread or thread == post.message.id:
            return ""
        root = foreign_id(post.thread_origin) or message_id(self._rooms.directory.office, thread)
        if root not in self._roots:
            if self._lookup(root, voice) is None:
                return ""  # deleted there: an answer to nothing would be seen by nobody, so it stands by itself
            if len(self._roots) >= _REMEMBERED:
                self._roots.clear()
            self._roots.add(root)
        return root

    def _lookup(self, name: str, voice: Voice) -> Message | None:
        try:
            answer = self._as(voice, lambda login: self._rest.get("chat.getMessage", login, {"msgId": name}))
        except Refused as refused:
            if refused.status in (400, 403, 404):
                return None
            raise
        return read_message(answer.get("message"))

    def _explained(self, refused: Refused, place: Place, event: str) -> CarrierError:
        """Return the refusal of a message with what to do about it."""
        what = f"{self._rest.name}: message {event!r} for room {place.name!r}"
        if refused.says("Custom fields not enabled", "Invalid custom fields"):
            return CarrierError(
                f"{what}: switch Message_CustomFields_Enabled on and set Message_CustomFields to {json.dumps(CUSTOM_FIELDS)}"
            )
        if refused.says("error-message-size-exceeded"):
            return CarrierError(f"{what}: raise Message_MaxAllowedSize to {self._limit} or more")
        if refused.says("invalid-room", "room-not-found", "error-not-allowed", "not-authorized"):
            self._rooms.forget(place.room)
        return refused

    # -- files --------------------------------------------------------------------------------------------------------

    def _files_there(self, place: Place, voice: Voice, event: str, first: Message) -> frozenset[str]:
        """Return which files of a message an earlier attempt brought: they came after its text."""
        since = before(first.at, 1) if first.at else ""
        asked = {"roomId": place.id, "lastUpdate": since}
        answer = self._as(voice, lambda login: self._rest.get("chat.syncMessages", login, asked))
        messages, _ = read_messages(answer, "updated")
        office = self._rooms.directory.office
        return frozenset(m.part for m in messages if m.event == event and m.office == office and m.part)

    def _attach(self, place: Place, voice: Voice, message: ChatMessage, file: Attached, root: str, part: str) -> None:
        data = self._blobs.get(file.blob.sha256)
        name = clean_name(file.name) or "file"
        fields = self._fields(message.id, message.at, part)
        body = {"msg": "", "customFields": json.dumps(fields), **({"tmid": root} if root else {})}

        def bring(login: Login) -> None:
            answer = self._rest.upload(f"rooms.media/{place.id}", login, name, data, file.media_type)
            made = answer.get("file")
            file_id = made.get("_id") if isinstance(made, Mapping) else None
            if not isinstance(file_id, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", file_id):
                raise CarrierError(f"{self._rest.name}: rooms.media answered without a file id")
            self._rest.post(f"rooms.mediaConfirm/{place.id}/{file_id}", login, body)

        try:
            self._as(voice, bring)
        except Refused as refused:
            if not refused.says("file-type", "file-too-large", "FileTooLarge", "too large", "not accepted") and (
                refused.status != 413
            ):
                raise self._explained(refused, place, message.id) from refused
            note = f"(The chat server does not take the file {name}: {refused.reason or 'too large'})"
            self._say(place, voice, message, note, root, part)

    # -- what the office's account says -------------------------------------------------------------------------------

    def _acknowledge(self, origin: str) -> None:
        """Put a tick on what a person wrote. In direct messages the office's account is no guest: there is none."""
        name = foreign_id(origin)
        if name and "!" not in origin:
            self._react(name, TAKEN)

    def _react(self, name: str, emoji: str) -> None:
        body = {"messageId": name, "emoji": emoji, "shouldReact": True}
        try:
            self._people.as_office(lambda login: self._rest.post("chat.react", login, body))
        except Refused as refused:
            # It was deleted, or stands where the office's account may not be: a sign less, and nothing lost.
            if refused.status not in (400, 403, 404):
                raise

    def refuse(self, bounce: BounceOut) -> None:
        """Show the author of something that it was not taken, and why: a sign on it and a note in its thread, or, where
        the office's account may not write, a direct message from it. Doing it again changes nothing."""
        name = foreign_id(bounce.key)
        author = self._rooms.directory.of(bounce.person)
        if not name or author is None or not author.staff:
            return
        if "!" not in bounce.key:
            self._react(name, NOT_TAKEN)
        reason = clean_text(bounce.reason)[:2_000]
        event = f"refused {bounce.key}"[:300]
        found = self._raw(name)
        if found is not None:
            rid, root = found
            text = f"@{author.username} the office did not take this: {reason}"
            try:
                self._send(self._body(Place(rid, "c", rid), event, bounce.at, text, root, ""), OFFICE)
                return
            except Refused as refused:
                if refused.status not in (400, 403, 404):
                    raise
        body = {"username": author.username}
        answer = self._people.as_office(lambda login: self._rest.post("im.create", login, body))
        room = answer.get("room")
        rid = str((room.get("_id") or room.get("rid")) if isinstance(room, Mapping) else "")
        text = f"The office did not take something that you wrote in the chat: {reason}"
        self._send(self._body(Place(rid, "d", rid), event, bounce.at, text, "", ""), OFFICE)

    def _raw(self, name: str) -> tuple[str, str] | None:
        """Return (room, thread's first message) of a message that the office's account may read."""
        try:
            answer = self._people.as_office(lambda login: self._rest.get("chat.getMessage", login, {"msgId": name}))
        except Refused as refused:
            if refused.status in (400, 403, 404):
                return None
            raise
        message = answer.get("message")
        if not isinstance(message, Mapping) or not isinstance(message.get("rid"), str):
            return None
        root = message.get("tmid")
        return message["rid"], root if isinstance(root, str) and root else name


def message_id(office: str, event: str, part: str = "") -> str:
    """Return the id under which a part of an office's message stands on the server: 24 hex digits."""
    return hashlib.sha256(f"{office}\n{event}\n{part}".encode()).hexdigest()[:24]


def foreign_id(key: str) -> str:
    """Return the server's id of the message that an arrival's key names; empty if it names none."""
    found = re.fullmatch(r"chat:([A-Za-z0-9_-]{1,64})([@!].*)?", key, re.DOTALL)
    return found[1] if found else ""


def split(text: str, limit: int) -> Iterator[str]:
    """Yield a text in order in pieces of at most `limit` UTF-16 units, cut after a line or a word where one is near.

    The pieces make up the text; an empty text is one empty piece.
    """
    while _units(text) > limit:
        end = _fitting(text, limit)
        for gap in ("\n\n", "\n", " "):
            cut = text.rfind(gap, end // 2, end)
            if cut > 0:
                end = cut + len(gap)
                break
        yield text[:end]
        text = text[end:]
    yield text


def _fitting(text: str, limit: int) -> int:
    """Return how many characters of a text fit, at least one."""
    end = min(len(text), limit)
    while end > 1 and _units(text[:end]) > limit:
        end -= max(1, (_units(text[:end]) - limit) // 2)
    return end


def _units(text: str) -> int:
    return len(text) + sum(ch > "\uffff" for ch in text)


def _whole(text: str, post: PostOut) -> str:
    """Return a message's text with what must be said of its files."""
    if post.withheld:
        names = ", ".join(clean_name(name) for name in post.withheld)
        text = f"{text}\n\n(Named here and not attached, for not everyone in this room may read it: {names})"
    return text if text.strip() else "\N{HORIZONTAL ELLIPSIS}"


def stamp(at: int, zone: str) -> str:
    """Return a simulated moment as ISO text in the office's zone."""
    try:
        place: Any = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        place = UTC
    return datetime.fromtimestamp(at, place).isoformat()


__all__ = ["CUSTOM_FIELDS", "NOT_TAKEN", "TAKEN", "Poster", "foreign_id", "message_id", "split", "stamp"]
