"""What people do on the server, told in the office's terms.

Each room is read from the newest change that was read before, by the server's own clock, with a small overlap: keys are
stable, so what is seen twice is one arrival. The office's account reads the rooms that it made; direct messages are read
as one of the two who hold them, for nobody else may. Whatever has no place in the office becomes a remark.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from services.carriers.rocketchat.client import Login, Refused, Rest, TooLarge
from services.carriers.rocketchat.cursor import Cursor, read_cursor
from services.carriers.rocketchat.people import People, WrongPassword
from services.carriers.rocketchat.rooms import Place, Rooms
from services.carriers.rocketchat.wire import (
    EPOCH,
    Message,
    Upload,
    before,
    read_deleted,
    read_message,
    read_messages,
)
from simulator.arriving import ArrivedFile, MessageArrived, Polled
from simulator.canonical import clean_name
from simulator.carrying import Account
from simulator.errors import CarrierError

FILE_LIMIT = 25_000_000
"""Bytes of a file that come in."""
_OVERLAP = 5
_QUIET_ROOMS = 60
_ARRIVALS = 500
_BYTES = 100_000_000
_TRIES = 5
_PAGE = 1_000
_SYNC_LIMIT = 32_000_000
T = TypeVar("T")


class _Later(Exception):
    """A room is read on with the next poll."""


class Inbound:
    """Polls. One poll reads the rooms in which something was written, and some of the quiet ones in turn: an edit or a
    reaction there changes no count. At most 500 arrivals and 100 MB of files a poll; the rest comes with the next."""

    def __init__(self, rest: Rest, people: People, rooms: Rooms) -> None:
        self._rest = rest
        self._people = people
        self._rooms = rooms

    def poll(self, cursor: str) -> Polled:
        """Return what people did since `cursor`. Raises CarrierError while the server cannot be asked."""
        found = read_cursor(cursor)
        poll = _Poll(self._rest, self._people, self._rooms, found or Cursor())
        if found is None:
            poll.remark("cursor", "the place where reading had stopped was not readable: every room is read anew")
        return poll.run()


class _Poll:
    def __init__(self, rest: Rest, people: People, rooms: Rooms, cursor: Cursor) -> None:
        self._rest = rest
        self._people = people
        self._rooms = rooms
        self._directory = rooms.directory
        self._cursor = cursor
        self._arrivals: list[tuple[str, MessageArrived]] = []
        self._remarks: list[str] = []
        self._bytes = 0
        self._office = self._directory.office

    def run(self) -> Polled:
        places = self._rooms.listing()
        self._cursor.keep_only({place.id for place in places})
        own = sorted((p for p in places if self._is_own(p)), key=lambda place: place.id)
        ids = {place.id for place in own}
        for place in places:
            if place.id not in ids:
                self._elsewhere(place)
        for place in self._due(own):
            self._read(place)
        self._arrivals.sort(key=lambda pair: pair[0])
        return Polled(tuple(arrival for _, arrival in self._arrivals), self._cursor.text(), tuple(self._remarks))

    def remark(self, key: str, text: str) -> None:
        """Say something once."""
        if self._cursor.once(key):
            self._remarks.append(text)

    # -- which rooms --------------------------------------------------------------------------------------------------

    def _is_own(self, place: Place) -> bool:
        if place.kind == "d":
            return self._pair(place) is not None or self._with_office(place) is not None
        return place.office == self._office and bool(place.room)

    def _pair(self, place: Place) -> tuple[Account, Account] | None:
        """Return the two members of staff whose direct messages these are."""
        accounts = [self._staff(name) for name in dict.fromkeys(place.usernames)]
        if len(accounts) != 2 or accounts[0] is None or accounts[1] is None:
            return None
        return accounts[0], accounts[1]

    def _with_office(self, place: Place) -> Account | None:
        """Return the member of staff who talks to the office's own account there."""
        names = set(place.usernames) - {self._people.office_name}
        if len(names) != 1 or len(place.usernames) != 2:
            return None
        return self._staff(names.pop())

    def _staff(self, username: str) -> Account | None:
        account = self._directory.by_username(username)
        return account if account is not None and account.staff else None

    def _elsewhere(self, place: Place) -> None:
        """Say that something was written in a room that the office's people made for themselves."""
        new = place.messages - self._cursor.count.get(place.id, 0)
        mine = any(self._staff(name) for name in (place.maker, *place.usernames))
        if place.office or not mine:
            return
        self._cursor.count[place.id] = place.messages
        if new > 0:
            name = place.name or ", ".join(place.usernames)
            self._remarks.append(
                f"{new} new message{'s' if new > 1 else ''} in {name!r}, which is no room of the office: what is written "
                "there does not reach it"
            )

    def _due(self, own: list[Place]) -> list[Place]:
        """Return the rooms to read now: those with other counts, and some of the others in turn."""
        count, turn = self._cursor.count, self._cursor.turn
        loud = [p for p in own if p.messages != count.get(p.id) or p.id not in self._cursor.since]
        told = {place.id for place in loud}
        quiet = [p for p in own if p.id not in told]
        waiting = [*(p for p in quiet if p.id > turn), *(p for p in quiet if p.id <= turn)][:_QUIET_ROOMS]
        if waiting:
            self._cursor.turn = waiting[-1].id
        return [*loud, *waiting]

    # -- one room -----------------------------------------------------------------------------------------------------

    def _read(self, place: Place) -> None:
        if self._full():
            return
        start = self._cursor.start(place.id)
        window = EPOCH if start == EPOCH else before(start, _OVERLAP)
        found = self._first_readable(place, window)
        if found is None:
            return
        reader, messages, deleted, whole = found
        self._cursor.since.setdefault(place.id, window)
        newest = start
        room = _Room(place, reader, window, {m.id: m for m in messages})
        for name, at in deleted:
            self._deleted(room, name, at)
        for message in messages:
            try:
                self._message(room, message)
            except _Later:
                whole = False
                break
            newest = max(newest, message.updated or message.at)
            if self._full():
                whole = False
                break
        if whole:
            newest = max([newest, *(at for _, at in deleted)])
        self._cursor.since[place.id] = newest
        self._cursor.count[place.id] = place.messages if whole else -1

    def _full(self) -> bool:
        return len(self._arrivals) >= _ARRIVALS or self._bytes >= _BYTES

    def _first_readable(
        self, place: Place, window: str
    ) -> tuple[Account | None, list[Message], tuple[tuple[str, str], ...], bool] | None:
        """Return who read a room (None: the office's account) and what they read; None if nobody may."""
        pair = self._pair(place) if place.kind == "d" else None
        for reader in pair or (None,):
            try:
                return reader, *self._changes(place, reader, window)
            except (Refused, WrongPassword) as error:
                self.remark(f"unreadable {place.id} {error}", f"room {_named(place)} could not be read: {error}")
        return None

    def _as(self, reader: Account | None, work: Callable[[Login], T]) -> T:
        return self._people.as_office(work) if reader is None else self._people.as_person(reader, work)

    def _changes(
        self, place: Place, reader: Account | None, window: str
    ) -> tuple[list[Message], tuple[tuple[str, str], ...], bool]:
        """Return messages that are new or changed, the oldest change first; what was deleted; whether that is all."""
        whole = True
        try:
            answer = self._sync(reader, {"roomId": place.id, "lastUpdate": window}, _SYNC_LIMIT)
        except TooLarge:
            millis = int(datetime.fromisoformat(window).timestamp() * 1000)
            page: dict[str, str | int] = {"roomId": place.id, "next": millis, "count": _PAGE}
            answer = self._sync(reader, {**page, "type": "UPDATED"})
            gone = self._sync(reader, {**page, "type": "DELETED"})
            if isinstance(answer.get("result"), dict) and isinstance(gone.get("result"), dict):
                answer["result"]["deleted"] = gone["result"].get("deleted")
            whole = False
        messages, garbage = read_messages(answer, "updated")
        if garbage:
            self.remark(
                f"garbage {place.id} {window}", f"{garbage} entries in room {_named(place)} are no messages: left out"
            )
        # By the change and not by the birth: where reading stops half-way, it goes on at a change.
        return sorted(messages, key=lambda m: (m.updated or m.at, m.at, m.id)), read_deleted(answer), whole

    def _sync(
        self, reader: Account | None, params: dict[str, str | int], limit: int = 2 * _SYNC_LIMIT
    ) -> dict[str, Any]:
        return self._as(reader, lambda login: self._rest.get("chat.syncMessages", login, params, limit))

    # -- one message --------------------------------------------------------------------------------------------------

    def _message(self, room: _Room, message: Message) -> None:
        if message.kind == "rm":
            self._deleted(room, message.id, message.updated or message.edited)
        elif message.kind:
            self._system(room, message)
        elif message.ours:
            self._of_office(room, message)
        else:
            self._of_person(room, message)
        for emoji, username in message.reactions:
            self._reaction(room, message, emoji, username)

    def _system(self, room: _Room, message: Message) -> None:
        if message.kind == "e2e":
            self.remark(
                f"e2e {message.id}", f"a message by {message.author!r} in {room.name} is encrypted: nobody can read it"
            )
        elif message.kind == "discussion-created":
            self.remark(
                f"discussion {message.id}",
                f"{message.author!r} opened a discussion in {room.name}: what is written there does not reach the office",
            )

    def _of_office(self, room: _Room, message: Message) -> None:
        if message.edited and message.office in ("", self._office):
            self.remark(
                f"edited {message.id} {message.edited}",
                f"{message.editor or 'somebody'!r} edited the office's message {message.event or message.id!r} in "
                f"{room.name}: the record keeps what was said",
            )

    def _of_person(self, room: _Room, message: Message) -> None:
        author = self._staff(message.author)
        to = self._to(room.place, author)
        if author is None or to is None:
            self.remark(
                f"nobody {message.id} {message.edited}",
                f"a message by {message.author or 'nobody'!r} in {room.name} has no place in the office: "
                f"{_shown(message.text)}",
            )
            return
        known = self._cursor.seen.get(message.id)
        new = known is None and (message.at >= room.window or not message.at)
        if new:
            self._new(room, message, author, to)
        # An edited message that is new here may have come in before as it was, if that cursor was never kept: its key is
        # known then, and the edit must not be lost with it.
        if message.edited and (new or message.edited > (known[1] if known else room.window)):
            self._edited(room, message, author, to)
        elif not new:
            return
        self._cursor.remember(message.id, message.author, message.edited)

    def _new(self, room: _Room, message: Message, author: Account, to: str) -> None:
        files, notes = self._files(room, message)
        text = message.text.strip()
        if message.cut:
            notes.append("the message goes on: it was cut here")
            self.remark(f"cut {message.id}", f"a message by {message.author!r} in {room.name} was cut: it is too long")
        if not text and files:
            text = "Sent: " + ", ".join(clean_name(file.name) for file in files)
        text = "\n".join([text, *(f"({note})" for note in notes)]).strip()
        if not text:
            return
        arrival = MessageArrived(
            _key(message.id), author.person, to, text, self._resolved(room, message.root), tuple(files)
        )
        self._arrivals.append((message.at, arrival))

    def _edited(self, room: _Room, message: Message, author: Account, to: str) -> None:
        if message.editor and message.editor.casefold() != message.author.casefold():
            self.remark(
                f"edited {message.id} {message.edited}",
                f"{message.editor!r} edited a message by {message.author!r} in {room.name}: the record keeps what was said",
            )
            return
        key = f"{_key(message.id)}@{message.edited}"
        text = message.text.strip()
        arrival = MessageArrived(key, author.person, to, text, _key(message.id), change="edited")
        self._arrivals.append((message.edited, arrival))

    def _deleted(self, room: _Room, name: str, at: str) -> None:
        known = self._cursor.seen.get(name)
        author = self._staff(known[0]) if known else None
        to = self._to(room.place, author)
        if not self._cursor.once(f"deleted {name}"):
            return
        if author is None or to is None:
            self._remarks.append(
                f"message {name!r} in {room.name} was deleted; if it was the office's or had come in, the record keeps it"
            )
            return
        key = f"{_key(name)}@deleted"
        self._arrivals.append((at, MessageArrived(key, author.person, to, "", _key(name), change="deleted")))

    def _reaction(self, room: _Room, message: Message, emoji: str, username: str) -> None:
        if username == self._people.office_name:
            return
        key = f"{_key(message.id)}!{emoji}!{username}"
        account = self._staff(username)
        to = self._to(room.place, account)
        if message.office not in ("", self._office) or not self._cursor.once(key):
            return
        if account is None or to is None:
            self._remarks.append(f"a reaction {emoji} by {username!r} in {room.name} has no place in the office")
            return
        target = message.event if message.event and message.office else _key(message.id)
        moment = message.updated or message.at
        self._arrivals.append((moment, MessageArrived(key, account.person, to, emoji, target, change="reacted")))

    def _to(self, place: Place, author: Account | None) -> str | None:
        """Return the office's room, or the other person of direct messages."""
        if author is None:
            return None
        if place.kind != "d":
            return place.room
        pair = self._pair(place)
        if pair is None or author not in pair:
            return None
        return pair[1].person if pair[0] == author else pair[0].person

    def _resolved(self, room: _Room, root: str) -> str:
        """Return what a message answers: the id of an office's message, or the key of one that came in."""
        if not root:
            return ""
        if root not in room.known and root not in self._cursor.seen:
            try:
                answer = self._as(room.reader, lambda login: self._rest.get("chat.getMessage", login, {"msgId": root}))
                room.known[root] = read_message(answer.get("message"))
            except Refused as refused:
                if refused.status not in (400, 403, 404):
                    raise
                room.known[root] = None
        found = room.known.get(root)
        return found.event if found is not None and found.office == self._office and found.event else _key(root)

    # -- files --------------------------------------------------------------------------------------------------------

    def _files(self, room: _Room, message: Message) -> tuple[list[ArrivedFile], list[str]]:
        files: list[ArrivedFile] = []
        notes: list[str] = []
        for upload in message.files:
            data = self._fetched(room, upload)
            if isinstance(data, bytes):
                self._bytes += len(data)
                files.append(ArrivedFile(upload.name, data))
                continue
            note = f"the file {clean_name(upload.name)} {data}"
            notes.append(note)
            self.remark(f"file {upload.id}", f"{note} (by {message.author!r} in {room.name})")
        return files, notes

    def _fetched(self, room: _Room, upload: Upload) -> bytes | str:
        """Return a file's bytes, or why there are none. A failure that may pass ends the reading of this room for now."""
        large = f"is larger than {FILE_LIMIT // 1_000_000} MB and did not come in"
        if upload.size > FILE_LIMIT:
            return large
        path = f"/file-upload/{quote(upload.id, safe='')}/{quote(upload.name, safe='')}"
        try:
            return self._as(room.reader, lambda login: self._rest.download(path, login, FILE_LIMIT))
        except TooLarge:
            return large
        except Refused as refused:
            return f"cannot be had from the server (HTTP {refused.status})"
        except CarrierError as error:
            if self._cursor.tried(upload.id) < _TRIES:
                self.remark(f"trying {upload.id}", f"the file {clean_name(upload.name)} in {room.name} waits: {error}")
                raise _Later from error
            return f"could not be fetched in {_TRIES} attempts"


class _Room(msgspec.Struct):
    """What is known of a room while it is read."""

    place: Place
    reader: Account | None
    window: str
    known: dict[str, Message | None]

    @property
    def name(self) -> str:
        return _named(self.place)


def _named(place: Place) -> str:
    if place.kind == "d":
        return "direct messages of " + " and ".join(place.usernames)
    return repr(place.name)


def _key(message: str) -> str:
    return f"chat:{message}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:80] + "\N{HORIZONTAL ELLIPSIS}")


__all__ = ["FILE_LIMIT", "Inbound"]
