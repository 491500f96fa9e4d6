"""The office's rooms on the server: which is which is written in each room's topic, so that nothing else must be kept.

A channel is a public channel, a matter's room a private group, a direct room the direct messages of two users. A direct
room of another shape (its id does not name two members of staff) is a private group too.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, unquote

import msgspec

from services.carriers.rocketchat.client import Refused, Rest
from services.carriers.rocketchat.people import People
from simulator.canonical import clean_name
from simulator.carrying import Account, Directory, MemberOut, RoomOut
from simulator.errors import CarrierError
from simulator.records import Room

_MARK = re.compile(r"officetown:([^\s:]+):([^\s:]+)")
_NAME_LENGTH = 60
_FAMILY = {"c": "channels", "p": "groups", "d": "im"}


class Place(msgspec.Struct, frozen=True):
    """A room on the server. `kind` is `c` (public), `p` (private) or `d` (direct); `office` and `room` what its topic
    says; `usernames` the users of a direct room; `messages` how many messages it counts; `maker` who made it."""

    id: str
    kind: str
    name: str
    office: str = ""
    room: str = ""
    usernames: tuple[str, ...] = ()
    messages: int = 0
    maker: str = ""

    @property
    def family(self) -> str:
        """How the calls for such rooms begin."""
        return _FAMILY[self.kind]


class Rooms:
    """Opens rooms, finds them, and keeps their members."""

    def __init__(self, rest: Rest, people: People, directory: Directory) -> None:
        self._rest = rest
        self._people = people
        self.directory = directory
        self._known: dict[str, Place] = {}

    def listing(self) -> tuple[Place, ...]:
        """Return every room of the server, as an administrator is told.

        What a topic says counts only where the office's account made the room: anybody may write a topic.
        """
        entries = self._people.pages("rooms.adminRooms", "rooms", sort='{"_id":1}')
        found = (place for entry in entries if (place := _place(entry)) is not None)
        maker = self._people.office_name
        places = tuple(p if p.maker == maker else msgspec.structs.replace(p, office="", room="") for p in found)
        for place in places:
            if place.office == self.directory.office and place.room:
                self._known.setdefault(place.room, place)
        return places

    def find(self, room: str) -> Place:
        """Return where an office's room is; CarrierError if it is nowhere."""
        pair = self.pair(room)
        if pair is not None:
            return self._direct(room, pair)
        found = self._known.get(room) or self._seek(room)
        if found is None:
            raise CarrierError(
                f"{self._rest.name}: the office's room {room!r} is not there any more: it was deleted, or its topic no "
                f"longer says {mark(self.directory.office, room)!r}. Put the topic back, or make such a room"
            )
        return found

    def forget(self, room: str) -> None:
        """Look a room up again when it is next needed."""
        self._known.pop(room, None)

    def pair(self, room: str) -> tuple[Account, Account] | None:
        """Return the two members of staff that a direct room's id names."""
        parts = room.split(":")
        if len(parts) != 3 or parts[0] != "dm":
            return None
        first, second = self.directory.of(parts[1]), self.directory.of(parts[2])
        if first is None or second is None or not first.staff or not second.staff or first == second:
            return None
        return first, second

    def open(self, item: RoomOut) -> None:
        """Make a room if it is not there, and let its members in."""
        room = item.room
        pair = self.pair(room.id)
        if pair is not None:
            self._direct(room.id, pair)
            return
        members = [a for person in room.members if (a := self.directory.of(person)) is not None and a.staff]
        ids = {account.username: self._people.user_id(account) for account in members}
        place = self._known.get(room.id) or self._seek(room.id)
        if place is None:
            place = self._create(room, sorted(ids))
        present = {
            str(m.get("username")) for m in self._people.pages(place.family + ".members", "members", roomId=place.id)
        }
        for username in sorted(set(ids) - present):
            self._invite(place, ids[username])

    def change(self, change: MemberOut) -> None:
        """Let somebody in, or out. Clients' people have no chat."""
        account = self.directory.of(change.person)
        if account is None or not account.staff or self.pair(change.room) is not None:
            return
        place = self.find(change.room)
        if change.joined:
            self.invite(place, account)
            return
        body = {"roomId": place.id, "userId": self._people.user_id(account)}
        try:
            self._people.as_office(lambda login: self._rest.post(place.family + ".kick", login, body))
        except Refused as refused:
            if not refused.says("error-user-not-in-room", "not in this room", "is not in the"):
                raise

    def invite(self, place: Place, account: Account) -> None:
        """Let somebody in who may be in already."""
        self._invite(place, self._people.user_id(account))

    def _invite(self, place: Place, user_id: str) -> None:
        body = {"roomId": place.id, "userId": user_id}
        self._people.as_office(lambda login: self._rest.post(place.family + ".invite", login, body))

    def _direct(self, room: str, pair: tuple[Account, Account]) -> Place:
        if room in self._known:
            return self._known[room]
        first, second = pair
        self._people.user_id(second)
        body = {"username": second.username}
        answer = self._people.as_person(first, lambda login: self._rest.post("im.create", login, body))
        rid = _id_of(answer.get("room"))
        if not rid:
            raise CarrierError(f"{self._rest.name}: im.create named no room for {first.username} and {second.username}")
        self._known[room] = Place(rid, "d", room, self.directory.office, room, (first.username, second.username))
        return self._known[room]

    def _seek(self, room: str) -> Place | None:
        self.listing()
        return self._known.get(room)

    def _create(self, room: Room, usernames: list[str]) -> Place:
        kind = "c" if room.kind == "channel" else "p"
        family = _FAMILY[kind]
        topic = f"{clean_name(room.name)[:100]} \N{MIDDLE DOT} {mark(self.directory.office, room.id)}"
        for name in self._names(room):
            body = {
                "name": name,
                "members": usernames,
                "readOnly": False,
                "extraData": {"topic": topic, "broadcast": False, "encrypted": False},
            }
            try:
                answer = self._people.as_office(partial(self._rest.post, family + ".create", body=body))
            except Refused as refused:
                if refused.says("duplicate-channel-name", "duplicate-name", "already exists", "already in use"):
                    continue
                raise
            rid = _id_of(answer.get("channel" if kind == "c" else "group"))
            if rid:
                self._known[room.id] = Place(rid, kind, name, self.directory.office, room.id)
                return self._known[room.id]
            raise CarrierError(f"{self._rest.name}: {family}.create named no room for {room.id!r}")
        raise CarrierError(f"{self._rest.name}: all names for the office's room {room.id!r} are taken")

    def _names(self, room: Room) -> tuple[str, ...]:
        """Return the names to try: plain, with the office's id, and one that is surely nobody else's."""
        plain, office = slug(room.name), slug(self.directory.office)
        digest = hashlib.sha256(f"{self.directory.office}\n{room.id}".encode()).hexdigest()[:10]
        return plain, f"{plain}-{office}", f"{plain}-{digest}"


def mark(office: str, room: str) -> str:
    """Return what a room's topic says of where it belongs."""
    return f"officetown:{quote(office, safe='')}:{quote(room, safe='')}"


def slug(name: str) -> str:
    """Return a name that every server takes for a room: lower-case letters, digits and `-`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.casefold()).strip("-")[:_NAME_LENGTH].strip("-") or "room"


def _place(raw: Mapping[str, Any]) -> Place | None:
    kind, rid = raw.get("t"), _id_of(raw)
    if kind not in _FAMILY or not rid:
        return None
    topic = raw.get("topic")
    found = _MARK.search(topic) if isinstance(topic, str) and kind != "d" else None
    usernames = raw.get("usernames")
    count = raw.get("msgs")
    creator = raw.get("u")
    maker = creator.get("username") if isinstance(creator, Mapping) else None
    return Place(
        rid,
        kind,
        clean_name(str(raw.get("fname") or raw.get("name") or ""))[:100],
        unquote(found[1]) if found else "",
        unquote(found[2]) if found else "",
        tuple(u for u in usernames if isinstance(u, str)) if isinstance(usernames, list) else (),
        count if isinstance(count, int) else 0,
        maker if isinstance(maker, str) else "",
    )


def _id_of(raw: object) -> str:
    """Return a room's id: direct rooms answer `_id`, older ones `rid`."""
    if not isinstance(raw, Mapping):
        return ""
    found = raw.get("_id") or raw.get("rid")
    return found if isinstance(found, str) else ""
