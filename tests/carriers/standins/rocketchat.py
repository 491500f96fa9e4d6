"""A stand-in for a Rocket.Chat server: the calls that the carrier uses, in memory, with faults on demand.

Written after the server's own sources where they decide something: what a second message of one id is answered, that
`mediaConfirm` takes its custom fields as a string, what an administrator is told of rooms, that a deleted message leaves
its id alone. It is test code and no chat server. `python -m tests.carriers.standins.rocketchat --port 3000`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from tests.carriers.standins.faults import HttpStandIn, Request, Response, serve, uploaded

Json = dict[str, Any]
_CUSTOM_FIELDS = json.dumps(
    {"type": "object", "properties": {n: {"type": "string"} for n in ("office", "event", "part", "sim_ts")}}
)
_ADMIN_FIELDS = (
    "_id",
    "prid",
    "fname",
    "name",
    "t",
    "u",
    "usernames",
    "usersCount",
    "ro",
    "topic",
    "msgs",
    "uids",
    "ts",
)
_FAMILIES = {"channels": "c", "groups": "p", "im": "d"}
_EMOJI = frozenset({"white_check_mark", "no_entry", "thumbsup", "tada", "eyes"})


class Failure(Exception):
    """What the server answers instead of what was asked."""

    def __init__(self, error: str, kind: str = "", status: int = 400) -> None:
        super().__init__(error)
        self.status = status
        self.body: Json = {"success": False, "error": error, **({"errorType": kind} if kind else {})}


class RocketChatStandIn(HttpStandIn):
    """A server with one administrator. Its clock moves by a millisecond a request; `pass_time` moves it on.

    `duplicates` is how a second message of the same id is answered: real versions fail on an undefined value, answer
    without the message, or name a duplicate key. `restricted` is an air-gapped workspace. `settings` as on the server. `unchecked` says
    that a test makes it answer against the published schemas.
    """

    name = "Rocket.Chat"

    def __init__(self, admin: str = "office", password: str = "office-password") -> None:
        super().__init__()
        self.duplicates: Literal["undefined", "missing", "key"] = "undefined"
        self.restricted = False
        self.version = "8.8.1"
        self.settings: Json = {
            "Message_CustomFields_Enabled": True,
            "Message_CustomFields": _CUSTOM_FIELDS,
            "Message_MaxAllowedSize": 5000,
            "FileUpload_MaxFileSize": 104857600,
            "FileUpload_MediaTypeBlackList": "image/svg+xml",
            "API_Enable_Rate_Limiter": False,
        }
        self.users: dict[str, Json] = {}
        self.passwords: dict[str, str] = {}
        self.tokens: dict[str, str] = {}
        self.rooms: dict[str, Json] = {}
        self.members: dict[str, list[str]] = {}
        self.messages: dict[str, Json] = {}
        self.trash: list[Json] = []
        self.uploads: dict[str, Json] = {}
        self.files: dict[str, bytes] = {}
        self.unchecked = False
        self._overridden: dict[str, Action] = {}
        self._now = datetime(2026, 11, 2, 8, tzinfo=UTC)
        self._count = 0
        self._make_user(admin, "The office", f"{admin}@example.org", password, ["admin"])
        self._make_room("c", "general", "", self._user(admin), [admin])

    # -- what every call needs ----------------------------------------------------------------------------------------

    def answer(self, request: Request) -> Response:
        self._now += timedelta(milliseconds=1)
        try:
            return self._route(request)
        except Failure as failure:
            return Response(failure.status, failure.body)
        except (KeyError, TypeError, AttributeError) as error:
            return Response(400, {"success": False, "error": f"Match error: {error}", "errorType": "invalid-params"})

    def state(self) -> Json:
        """Return users, rooms with members, and messages; files as sizes and hashes."""
        files = {k: [len(v), hashlib.sha256(v).hexdigest()] for k, v in self.files.items()}
        return {
            "users": list(self.users.values()),
            "rooms": [{**room, "members": self.members[rid]} for rid, room in self.rooms.items()],
            "messages": list(self.messages.values()),
            "deleted": self.trash,
            "uploads": list(self.uploads.values()),
            "files": files,
        }

    def pass_time(self, seconds: float) -> None:
        """Move the server's clock."""
        self._now += timedelta(seconds=seconds)

    def override(self, call: str, action: Callable[[Json, Json], Json]) -> None:
        """Answer a call in another way: `action` is given what was asked and who asks."""
        self._overridden[call] = lambda _, given, who: action(given, who)

    def drop_tokens(self) -> None:
        """Log everybody out."""
        self.tokens.clear()

    def _route(self, request: Request) -> Response:
        path = request.path
        if path == "/api/info":
            return Response(body={"version": self.version, "success": True})
        if path.startswith("/file-upload/"):
            return self._download(request)
        call = path.removeprefix("/api/v1/")
        if call == "login":
            return self._login(request.json())
        who = self._who(request)
        if who is None:
            body = {"status": "error", "message": "You must be logged in to do this.", "success": False}
            return Response(401, body)
        head, _, rest = call.partition("/")
        if head in ("rooms.media", "rooms.mediaConfirm", "settings"):
            return Response(body=self._with_path(head, rest.split("/"), request, who))
        action = self._overridden.get(head) or _CALLS.get((request.method, head))
        family, _, verb = head.partition(".")
        if action is None and family in _FAMILIES:
            action = _ROOM_CALLS.get((request.method, verb))
            given = {**request.query} if request.method == "GET" else request.json()
            if action is not None:
                return Response(body={**action(self, {**given, "family": family}, who), "success": True})
        if action is None or (rest and head != "settings"):
            return Response(404, {"success": False, "error": "Invalid API endpoint"})
        given = {**request.query} if request.method == "GET" else request.json()
        return Response(body={**action(self, given, who), "success": True})

    def _with_path(self, head: str, parts: list[str], request: Request, who: Json) -> Json:
        if head == "settings":
            self._administrator(who)
            if parts[0] not in self.settings:
                raise Failure("error-setting-not-found")
            return {"_id": parts[0], "value": self.settings[parts[0]], "success": True}
        if head == "rooms.media":
            return {**self._media(parts[0], request, who), "success": True}
        return {**self._confirm(parts[0], parts[1], request.json(), who), "success": True}

    def _login(self, given: Json) -> Response:
        name = str(given.get("user") or given.get("username") or "").casefold()
        if name not in self.passwords or self.passwords[name] != given.get("password"):
            return Response(401, {"status": "error", "error": "Unauthorized", "message": "Unauthorized"})
        token = hashlib.sha256(f"{name} {len(self.tokens)} {self._count} {self._now}".encode()).hexdigest()[:43]
        user = self._user(name)
        self.tokens[token] = user["_id"]
        me = {**user, "avatarUrl": "/avatar/" + name, "isOAuthUser": False, "settings": {"profile": {}, "calendar": {}}}
        return Response(body={"status": "success", "data": {"userId": user["_id"], "authToken": token, "me": me}})

    def _who(self, request: Request) -> Json | None:
        user_id = self.tokens.get(request.headers.get("x-auth-token", ""))
        if user_id is None or user_id != request.headers.get("x-user-id"):
            return None
        return next(user for user in self.users.values() if user["_id"] == user_id)

    def _user(self, name: str) -> Json:
        return next(u for u in self.users.values() if u["username"] == name)

    def _id(self) -> str:
        self._count += 1
        alphabet = "23456789ABCDEFGHJKLMNPQRSTWXYZabcdefghijkmnopqrstuvwxyz"
        number = int(hashlib.sha256(f"id {self._count}".encode()).hexdigest(), 16)
        digits = []
        for _ in range(17):
            number, digit = divmod(number, len(alphabet))
            digits.append(alphabet[digit])
        return "".join(digits)

    @property
    def now(self) -> str:
        """The server's clock as it writes it."""
        return f"{self._now:%Y-%m-%dT%H:%M:%S}.{self._now.microsecond // 1000:03d}Z"

    def _administrator(self, who: Json) -> None:
        if "admin" not in who["roles"]:
            raise Failure("error-unauthorized", "error-unauthorized", 403)

    def _make_user(self, name: str, full: str, address: str, password: str, roles: list[str]) -> Json:
        user_id = self._id()
        user = {
            "_id": user_id,
            "createdAt": self.now,
            "roles": roles,
            "type": "user",
            "active": True,
            "username": name,
            "name": full,
            "emails": [{"address": address, "verified": True}],
            "_updatedAt": self.now,
        }
        self.users[user_id] = user
        self.passwords[name] = password
        return user

    def users_create(self, given: Json, who: Json) -> Json:
        self._administrator(who)
        name, address = given["username"], given["email"]
        if not re.fullmatch(r"[0-9a-zA-Z-_.]+", name):
            raise Failure(f"{name} is not a valid username", "error-input-is-not-a-valid-field")
        for user in self.users.values():
            if user["username"].casefold() == name.casefold():
                raise Failure(f"{name} is already in use :( [error-field-unavailable]", "error-field-unavailable")
            if user["emails"][0]["address"].casefold() == address.casefold():
                raise Failure(f"{address} is already in use :( [error-field-unavailable]", "error-field-unavailable")
        return {
            "user": self._make_user(name, given["name"], address, given["password"], list(given.get("roles", ["user"])))
        }

    def users_list(self, given: Json, who: Json) -> Json:
        return self._page("users", sorted(self.users.values(), key=lambda user: user["username"]), given)

    def users_info(self, given: Json, who: Json) -> Json:
        for user in self.users.values():
            if user["_id"] == given.get("userId") or user["username"] == given.get("username", "").casefold():
                return {"user": user}
        raise Failure("User not found.")

    def me(self, given: Json, who: Json) -> Json:
        return dict(who)

    def _page(self, field: str, entries: list[Json], given: Mapping[str, Any]) -> Json:
        offset, count = int(given.get("offset", 0)), min(100, int(given.get("count", 50)) or 100)
        page = entries[offset : offset + count]
        return {field: page, "count": len(page), "offset": offset, "total": len(entries)}

    def _make_room(self, kind: str, name: str, topic: str, who: Json, usernames: list[str]) -> Json:
        rid = self._id()
        room: Json = {"_id": rid, "t": kind, "msgs": 0, "usersCount": 0, "ts": self.now, "_updatedAt": self.now}
        room["u"] = {"_id": who["_id"], "username": who["username"], "name": who["name"]}
        if kind == "d":
            room.update(usernames=sorted(usernames))
        else:
            room.update(name=name, fname=name, ro=False)
        if topic:
            room["topic"] = topic
        self.rooms[rid] = room
        self.members[rid] = []
        known = {user["username"] for user in self.users.values()}
        for username in dict.fromkeys(usernames):
            if username in known:
                self._join(rid, username)
        return room

    def _join(self, rid: str, username: str) -> None:
        if username not in self.members[rid]:
            self.members[rid].append(username)
            self.rooms[rid]["usersCount"] = len(self.members[rid])
            self._touch(self.rooms[rid])

    def _touch(self, thing: Json) -> None:
        thing["_updatedAt"] = self.now

    def room_create(self, given: Json, who: Json) -> Json:
        kind = _FAMILIES[given["family"]]
        if kind == "d":
            wanted = given["username"] if "username" in given else given["usernames"]
            names = sorted({who["username"], *(n.strip() for n in wanted.split(","))})
            for name in names:
                self.users_info({"username": name}, who)
            for room in self.rooms.values():
                if room["t"] == "d" and room["usernames"] == names:
                    return {"room": {**room, "rid": room["_id"]}}
            room = self._make_room("d", "", "", who, names)
            return {"room": {**room, "rid": room["_id"]}}
        name = given["name"]
        if not re.fullmatch(r"[0-9a-zA-Z-_.]+", name):
            raise Failure(f"{name} is not a valid room name.", "error-invalid-room-name")
        if any(room.get("name") == name for room in self.rooms.values()):
            raise Failure(
                f"A channel with name '{name}' exists [error-duplicate-channel-name]", "error-duplicate-channel-name"
            )
        members = [*given.get("members", []), who["username"]]
        room = self._make_room(kind, name, given.get("extraData", {}).get("topic", ""), who, members)
        return {"channel" if kind == "c" else "group": room}

    def admin_rooms(self, given: Json, who: Json) -> Json:
        self._administrator(who)
        rooms = [{k: room[k] for k in _ADMIN_FIELDS if k in room} for room in self.rooms.values() if "prid" not in room]
        if given.get("sort"):
            assert json.loads(given["sort"]) == {"_id": 1}
            rooms.sort(key=lambda room: room["_id"])
        return self._page("rooms", rooms, given)

    def _named(self, given: Json, who: Json, kinds: str = "cpd") -> Json:
        for room in self.rooms.values():
            if room["_id"] == given.get("roomId") or (given.get("roomName") and room.get("name") == given["roomName"]):
                if room["t"] in kinds and self._may_read(room, who):
                    return room
                break
        raise Failure('The required "roomId" param provided does not match any channel', "error-room-not-found")

    def _may_read(self, room: Json, who: Json) -> bool:
        return room["t"] == "c" or who["username"] in self.members[room["_id"]]

    def room_members(self, given: Json, who: Json) -> Json:
        room = self._named(given, who, _FAMILIES[given["family"]])
        users = [self._user(name) for name in sorted(self.members[room["_id"]])]
        return self._page("members", [{k: u[k] for k in ("_id", "username", "name")} for u in users], given)

    def room_invite(self, given: Json, who: Json) -> Json:
        room = self._named(given, who, _FAMILIES[given["family"]])
        for user_id in given.get("userIds") or [given["userId"]]:
            self._join(room["_id"], self.users[user_id]["username"])
        return {"channel" if room["t"] == "c" else "group": room}

    def room_kick(self, given: Json, who: Json) -> Json:
        room = self._named(given, who, _FAMILIES[given["family"]])
        name = self.users[given["userId"]]["username"]
        if name not in self.members[room["_id"]]:
            raise Failure("User is not in this room [error-user-not-in-room]", "error-user-not-in-room")
        self.members[room["_id"]].remove(name)
        room["usersCount"] -= 1
        return {"channel" if room["t"] == "c" else "group": room}

    def room_list(self, given: Json, who: Json) -> Json:
        family = str(given["family"])
        kind, field = _FAMILIES[family], "ims" if family == "im" else family
        rooms = [room for room in self.rooms.values() if room["t"] == kind and self._may_read(room, who)]
        return self._page(field, rooms, given)

    def room_history(self, given: Json, who: Json) -> Json:
        room = self._named(given, who, _FAMILIES[given["family"]])
        found = [m for m in self.messages.values() if m["rid"] == room["_id"]]
        found.sort(key=lambda message: message["ts"], reverse=True)
        offset, count = int(given.get("offset", 0)), int(given.get("count", 20))
        return {"messages": found[offset : offset + count]}

    def rooms_delete(self, given: Json, who: Json) -> Json:
        room = self._named(given, who)
        self._administrator(who)
        del self.rooms[room["_id"]], self.members[room["_id"]]
        for name in [m["_id"] for m in self.messages.values() if m["rid"] == room["_id"]]:
            del self.messages[name]
        return {}

    def send(self, given: Json, who: Json) -> Json:
        message = self._put(dict(given["message"]), who)
        if message is None and self.duplicates == "undefined":
            raise Failure("Cannot read properties of undefined (reading 'starred')")
        return {} if message is None else {"message": message}

    def post(self, given: Json, who: Json) -> Json:
        rid = given.get("roomId") or given["channel"].lstrip("#")
        room = next((r for r in self.rooms.values() if rid in (r["_id"], r.get("name"))), None)
        if room is None:
            raise Failure("invalid-channel", "invalid-channel")
        more: Json = {k: given[k] for k in ("tmid", "customFields") if k in given}
        message = self._put({"rid": room["_id"], "msg": given.get("text", ""), **more}, who)
        return {"ts": 0, "channel": room.get("name", ""), "message": message}

    def _put(self, wanted: Json, who: Json) -> Json | None:
        """Store a message; None if its id is taken."""
        if self.restricted:
            raise Failure("restricted-workspace", "restricted-workspace")
        if _units(wanted.get("msg", "")) > self.settings["Message_MaxAllowedSize"]:
            raise Failure(
                "Message size exceeds Message_MaxAllowedSize [error-message-size-exceeded]",
                "error-message-size-exceeded",
            )
        parent = self.messages.get(wanted.get("tmid", ""))
        if parent is not None:
            wanted["tmid"], wanted["rid"] = parent.get("tmid") or parent["_id"], parent["rid"]
        room = self.rooms.get(wanted["rid"])
        if room is None:
            raise Failure("Invalid room [error-invalid-room]", "error-invalid-room")
        if not self._may_read(room, who):
            raise Failure("Not allowed [error-not-allowed]", "error-not-allowed")
        self._check_fields(wanted.get("customFields"))
        name = wanted.get("_id") or self._id()
        if name in self.messages:
            if self.duplicates == "key":
                raise Failure("E11000 duplicate key error collection: rocketchat_message index: _id_")
            return None
        message: Json = {**wanted, "_id": name, "ts": self.now, "_updatedAt": self.now}
        message["u"] = {k: who[k] for k in ("_id", "username", "name")}
        message.setdefault("msg", "")
        self.messages[name] = message
        room["msgs"] += 1
        self._touch(room)
        root = self.messages.get(message.get("tmid", ""))
        if root is not None:
            root.update(tcount=root.get("tcount", 0) + 1, tlm=self.now)
            self._touch(root)
        return message

    def _check_fields(self, fields: Any) -> None:
        if fields is None:
            return
        if not self.settings["Message_CustomFields_Enabled"]:
            raise Failure("Custom fields not enabled")
        known = json.loads(self.settings["Message_CustomFields"] or "{}").get("properties", {})
        if not isinstance(fields, dict) or any(k not in known or not isinstance(v, str) for k, v in fields.items()):
            raise Failure("Invalid custom fields")

    def get_message(self, given: Json, who: Json) -> Json:
        message = self.messages.get(given["msgId"])
        if message is None or not self._may_read(self.rooms[message["rid"]], who):
            raise Failure("")
        return {"message": message}

    def sync(self, given: Json, who: Json) -> Json:
        room = self.rooms.get(given["roomId"])
        if room is None or not self._may_read(room, who):
            raise Failure("Not allowed [error-not-allowed]", "error-not-allowed")
        if "next" in given:
            since = datetime.fromtimestamp(int(given["next"]) / 1000, UTC)
            count, kind = int(given["count"]), given["type"]
        else:
            since, count, kind = datetime.fromisoformat(given["lastUpdate"]), 1_000_000, ""
        found = [m for m in self.messages.values() if m["rid"] == room["_id"] and _at(m["_updatedAt"]) > since]
        found.sort(key=(lambda m: m["_updatedAt"]) if kind else lambda m: m["ts"], reverse=not kind)
        gone = [d for d in self.trash if d["rid"] == room["_id"] and _at(d["_deletedAt"]) > since]
        deleted = [{"_id": d["_id"], "_deletedAt": d["_deletedAt"]} for d in gone]
        return {
            "result": {
                "updated": [] if kind == "DELETED" else found[:count],
                "deleted": [] if kind == "UPDATED" else deleted[:count],
            }
        }

    def react(self, given: Json, who: Json) -> Json:
        message = self.messages.get(given["messageId"])
        if message is None:
            raise Failure('The provided "messageId" does not match any existing message.', "error-message-not-found")
        emoji = f":{str(given.get('emoji') or given.get('reaction')).strip(':')}:"
        if emoji.strip(":") not in _EMOJI:
            raise Failure("Invalid emoji provided. [error-not-allowed]", "error-not-allowed")
        if not self._may_read(self.rooms[message["rid"]], who):
            raise Failure("Not Authorized [not-authorized]", "not-authorized")
        names = message.get("reactions", {}).get(emoji, {}).get("usernames", [])
        should = given.get("shouldReact", who["username"] not in names)
        if should != (who["username"] in names):
            left = [*names, who["username"]] if should else [n for n in names if n != who["username"]]
            reactions = {**message.get("reactions", {}), emoji: {"usernames": left}}
            message["reactions"] = {k: v for k, v in reactions.items() if v["usernames"]}
            self._touch(message)
        return {}

    def _own(self, given: Json, who: Json) -> Json:
        message = self.messages.get(given["msgId"])
        if message is None:
            raise Failure(f'No message found with the id of "{given["msgId"]}".')
        if message["rid"] != given["roomId"]:
            raise Failure("The room id provided does not match where the message is from.")
        if message["u"]["_id"] != who["_id"] and "admin" not in who["roles"]:
            raise Failure("Not allowed [error-action-not-allowed]", "error-action-not-allowed")
        return message

    def update(self, given: Json, who: Json) -> Json:
        message = self._own(given, who)
        message.update(msg=given["text"], editedAt=self.now, editedBy={k: who[k] for k in ("_id", "username")})
        self._touch(message)
        return {"message": message}

    def delete(self, given: Json, who: Json) -> Json:
        message = self._own(given, who)
        del self.messages[message["_id"]]
        self.trash.append({"_id": message["_id"], "rid": message["rid"], "_deletedAt": self.now})
        self.rooms[message["rid"]]["msgs"] -= 1
        return {"_id": message["_id"], "ts": self.now, "message": {k: message[k] for k in ("_id", "rid", "u")}}

    def _media(self, rid: str, request: Request, who: Json) -> Json:
        if rid not in self.rooms or not self._may_read(self.rooms[rid], who):
            raise Failure("forbidden", status=403)
        name, media_type, data = uploaded(request, "file")
        if len(data) > self.settings["FileUpload_MaxFileSize"]:
            raise Failure("File exceeds allowed size [error-file-too-large]", "error-file-too-large")
        if media_type in self.settings["FileUpload_MediaTypeBlackList"].split(","):
            raise Failure("File type is not accepted. [error-invalid-file-type]", "error-invalid-file-type")
        file_id = self._id()
        self.files[file_id] = data
        self.uploads[file_id] = {
            "_id": file_id,
            "name": name,
            "type": media_type,
            "size": len(data),
            "rid": rid,
            "open": True,
        }
        return {"file": {"_id": file_id, "url": f"/file-upload/{file_id}/{name}"}}

    def _confirm(self, rid: str, file_id: str, given: Json, who: Json) -> Json:
        if rid not in self.rooms or not self._may_read(self.rooms[rid], who):
            raise Failure("forbidden", status=403)
        upload = self.uploads.get(file_id)
        if upload is None:
            raise Failure("invalid-file", "invalid-file")
        for field, value in given.items():
            if field not in ("msg", "tmid", "customFields", "description") or not isinstance(value, str):
                raise Failure(f"Match error: Expected string in field {field}")
        fields = {"customFields": json.loads(given["customFields"])} if "customFields" in given else {}
        prop = {"_id": file_id, "name": upload["name"], "type": upload["type"], "size": upload["size"], "format": ""}
        attachment = {"title": upload["name"], "type": "file", "title_link": f"/file-upload/{file_id}/{upload['name']}"}
        if given.get("description"):
            attachment["description"] = given["description"]
        wanted = {
            "rid": rid,
            "msg": given.get("msg", ""),
            "file": prop,
            "files": [prop],
            "attachments": [attachment],
            **fields,
        }
        if "tmid" in given:
            wanted["tmid"] = given["tmid"]
        message = self._put(wanted, who)
        upload["open"] = False
        return {"message": message}

    def _download(self, request: Request) -> Response:
        who = self._who(request)
        file_id = request.path.split("/")[2]
        upload = self.uploads.get(file_id)
        if upload is None:
            return Response(404, b"Not found")
        if who is None or not self._may_read(self.rooms[upload["rid"]], who):
            return Response(403, b"Forbidden")
        return Response(body=self.files[file_id])


Action = Callable[[RocketChatStandIn, Json, Json], Json]
_CALLS: dict[tuple[str, str], Action] = {
    ("POST", "users.create"): RocketChatStandIn.users_create,
    ("GET", "users.list"): RocketChatStandIn.users_list,
    ("GET", "users.info"): RocketChatStandIn.users_info,
    ("GET", "me"): RocketChatStandIn.me,
    ("GET", "rooms.adminRooms"): RocketChatStandIn.admin_rooms,
    ("POST", "rooms.delete"): RocketChatStandIn.rooms_delete,
    ("POST", "chat.sendMessage"): RocketChatStandIn.send,
    ("POST", "chat.postMessage"): RocketChatStandIn.post,
    ("GET", "chat.getMessage"): RocketChatStandIn.get_message,
    ("GET", "chat.syncMessages"): RocketChatStandIn.sync,
    ("POST", "chat.react"): RocketChatStandIn.react,
    ("POST", "chat.update"): RocketChatStandIn.update,
    ("POST", "chat.delete"): RocketChatStandIn.delete,
}
_ROOM_CALLS: dict[tuple[str, str], Action] = {
    ("POST", "create"): RocketChatStandIn.room_create,
    ("POST", "invite"): RocketChatStandIn.room_invite,
    ("POST", "kick"): RocketChatStandIn.room_kick,
    ("GET", "members"): RocketChatStandIn.room_members,
    ("GET", "list"): RocketChatStandIn.room_list,
    ("GET", "history"): RocketChatStandIn.room_history,
}


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def from_environment(environment: Mapping[str, str]) -> RocketChatStandIn:
    """Return a server set up as the real image is at its first start: by ADMIN_USERNAME, ADMIN_PASS and
    OVERWRITE_SETTING_<name>. What is not set is as the real server has it: it knows no custom fields."""
    standin = RocketChatStandIn(
        environment.get("ADMIN_USERNAME", "office"), environment.get("ADMIN_PASS", "office-password")
    )
    standin.settings.update(Message_CustomFields_Enabled=False, Message_CustomFields="", API_Enable_Rate_Limiter=True)
    for name, value in standin.settings.items():
        given = environment.get(f"OVERWRITE_SETTING_{name}")
        if given is not None:
            standin.settings[name] = given == "true" if isinstance(value, bool) else type(value)(given)
    return standin


if __name__ == "__main__":
    serve(from_environment(os.environ), default_port=3000)
