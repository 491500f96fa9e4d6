"""A Rocket.Chat stand-in, an office that uses it, and people who log in there by hand."""

from __future__ import annotations

from typing import Any

import httpx

from services.carriers.rocketchat.chat import RocketChat
from services.carriers.rocketchat.people import Credentials
from services.storage.memory import MemoryBlobs
from simulator.arriving import MessageArrived, Polled
from simulator.carrying import Account, Attached, Directory, MemberOut, PostOut, RoomOut
from simulator.records import Body, ChatMessage, Room
from tests.carriers.standins.rocketchat import RocketChatStandIn

STAFF = ("daniel", "elena", "maya", "priya")
AT = 1_767_600_000
"""Monday 5 January 2026, 08:00 in London."""
Json = dict[str, Any]


def password_of(username: str) -> str:
    return f"secret of {username}"


def account(name: str, staff: bool = True) -> Account:
    return Account(name, name.title(), name, f"{name}@juniper.invalid", staff)


def directory(*names: str, office: str = "juniper") -> Directory:
    accounts = [account(name) for name in names or STAFF]
    client = Account("tom", "Tom Ridge", "tom", "tom@riverbend.invalid", False)
    return Directory(office, "Juniper & Partners", "Europe/London", (*accounts, client))


def room(
    name: str = "Front desk", kind: Any = "channel", members: tuple[str, ...] = STAFF, room_id: str = ""
) -> RoomOut:
    return RoomOut(Room(room_id or name.casefold().replace(" ", "-"), name, kind, members))


def message(name: str, where: str = "front-desk", sender: str = "elena", thread: str = "") -> ChatMessage:
    return ChatMessage(name, where, sender, AT, Body(), thread)


class Clock:
    """Seconds since the epoch; sleeping moves it and is remembered."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Hand:
    """A person at the server, with a program of their own."""

    def __init__(self, server: RocketChatStandIn, username: str, password: str) -> None:
        self._http = httpx.Client(base_url=server.url + "/api/v1/")
        self.username = username
        data = self.post("login", {"user": username, "password": password})["data"]
        self._http.headers.update({"X-User-Id": data["userId"], "X-Auth-Token": data["authToken"]})
        self.user_id = data["userId"]

    def post(self, call: str, body: Json) -> Json:
        answer: Json = self._http.post(call, json=body).raise_for_status().json()
        return answer

    def says(self, rid: str, text: str, tmid: str = "") -> str:
        """Write something; return its id."""
        body = {"rid": rid, "msg": text, **({"tmid": tmid} if tmid else {})}
        return str(self.post("chat.sendMessage", {"message": body})["message"]["_id"])

    def edits(self, rid: str, name: str, text: str) -> str:
        """Edit a message; return when."""
        return str(self.post("chat.update", {"roomId": rid, "msgId": name, "text": text})["message"]["editedAt"])

    def deletes(self, rid: str, name: str) -> None:
        self.post("chat.delete", {"roomId": rid, "msgId": name})

    def reacts(self, name: str, emoji: str, should: bool = True) -> None:
        self.post("chat.react", {"messageId": name, "emoji": emoji, "shouldReact": should})

    def sends(self, rid: str, name: str, data: bytes, text: str = "") -> str:
        """Upload a file; return its message's id."""
        file = (
            self._http.post(f"rooms.media/{rid}", files={"file": (name, data, "text/plain")}).raise_for_status().json()
        )
        answer = self.post(f"rooms.mediaConfirm/{rid}/{file['file']['_id']}", {"msg": text})
        return str(answer["message"]["_id"])

    def opens(self, *usernames: str) -> str:
        """Open direct messages; return their room."""
        return str(self.post("im.create", {"usernames": ",".join(usernames)})["room"]["_id"])

    def close(self) -> None:
        self._http.close()


class World:
    """An office on a server. `chat` is a carrier; `anew` makes another, as after a restart."""

    def __init__(self, server: RocketChatStandIn) -> None:
        self.server = server
        self.clock = Clock()
        self.blobs = MemoryBlobs()
        self.people = directory()
        self._closing: list[Any] = []
        self.chat = self.anew()
        self._hands: dict[str, Hand] = {}

    def anew(self, people: Directory | None = None, **more: Any) -> RocketChat:
        http = httpx.Client()
        self.chat = RocketChat(
            self.server.url, Credentials("office", "office-password"), people or self.people, self.blobs, password_of,
            http, self.clock, self.clock.sleep, **more,
        )  # fmt: skip
        self._closing.append(self.chat)
        return self.chat

    def close(self) -> None:
        for each in self._closing:
            each.close()
        for hand in self._hands.values():
            hand.close()

    def set_up(self, *rooms: RoomOut) -> None:
        """Provision, and open rooms."""
        self.chat.provision(self.people)
        for each in rooms or (room(),):
            self.chat.open_room(each)

    def hand(self, username: str) -> Hand:
        if username not in self._hands:
            password = "office-password" if username == "office" else password_of(username)
            self._hands[username] = Hand(self.server, username, password)
        return self._hands[username]

    def rid(self, name: str) -> str:
        """Return the server's id of a room by its name there."""
        return str(next(r["_id"] for r in self.server.rooms.values() if r.get("name") == name))

    def direct(self, *usernames: str) -> str:
        """Return the server's id of direct messages."""
        found = [r["_id"] for r in self.server.rooms.values() if r["t"] == "d" and r["usernames"] == sorted(usernames)]
        assert len(found) == 1
        return str(found[0])

    def said(self, name: str = "front-desk") -> list[Json]:
        """Return the messages of a room, in order."""
        return self.said_in(self.rid(name))

    def said_in(self, rid: str) -> list[Json]:
        return [m for m in self.server.messages.values() if m["rid"] == rid]

    def posts(self, name: str, text: str = "", again: bool = False, **more: Any) -> None:
        """Post a message of the office."""
        fields = {k: more.pop(k) for k in ("where", "sender", "thread") if k in more}
        self.chat.post(f"message:{name}", PostOut(message(name, **fields), **more), text or f"text of {name}", again)

    def file(self, name: str, data: bytes, media_type: str = "text/plain") -> Attached:
        return Attached(name, media_type, self.blobs.put(data))

    def joins(self, person: str, joined: bool = True, where: str = "front-desk") -> None:
        self.chat.change_member(MemberOut(where, person, joined))


def arrived(polled: Polled) -> list[MessageArrived]:
    """Return what came in; nothing else may."""
    found = [a for a in polled.arrivals if isinstance(a, MessageArrived)]
    assert len(found) == len(polled.arrivals)
    return found
