"""Is the server ready, and does it do what the carrier asks of it? For `officetown doctor` and `doctor --live`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx
import msgspec

from services.carriers.rocketchat.client import Login, Refused, Rest
from services.carriers.rocketchat.people import Credentials, People
from services.carriers.rocketchat.posting import CUSTOM_FIELDS, TAKEN
from simulator.canonical import clean_text
from simulator.errors import CarrierError

OLDEST = 7
"""The oldest major version whose calls the carrier knows: older ones have no rooms.mediaConfirm."""
_FILE = b"OfficeTown looks whether files come back as they went.\n"


class Finding(msgspec.Struct, frozen=True):
    """A line of a report: what was looked at, whether it is well, and in plain words what was found or is to be done."""

    line: str
    ok: bool
    detail: str = ""


class Probe:
    """Looks at a server. `token` makes names of its own for each run, so that nothing of another run is touched."""

    def __init__(
        self,
        url: str,
        account: Credentials,
        http: httpx.Client,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        token: str,
    ) -> None:
        self._rest = Rest(url, http, clock, sleep, patience=20.0)
        self._people = People(self._rest, account, lambda _: account.password, clock, ())
        self._token = re.sub(r"[^a-z0-9]", "", token.casefold())[:24] or "probe"

    def ready_check(self) -> Iterator[Finding]:
        """Yield what stands in the way of an office: the server, its version, the account, its settings."""
        try:
            info = self._rest.info()
        except CarrierError as error:
            hint = "is it started? Its first start takes a minute or two, and it waits for ever for a MongoDB whose "
            yield Finding("chat server answers", False, f"{error}; {hint}replica set is not initiated")
            return
        yield Finding("chat server answers", True, self._rest.name)
        yield self._version(info)
        try:
            self._people.as_office(lambda login: login)
        except CarrierError as error:
            yield Finding("the office's account logs in", False, str(error))
            return
        yield Finding("the office's account logs in", True, self._people.office_name)
        yield self._told("it may see all rooms", lambda login: self._rest.get("rooms.adminRooms", login, {"count": 1}))
        yield from self._settings()

    def live_check(self) -> Iterator[Finding]:
        """Do once what the carrier does all the time, in a private room of its own, and take it all back.

        Yields a line for each thing done. The room is deleted whatever happened in it.
        """
        name = f"officetown-check-{self._token}"
        made: dict[str, Any] = {}
        yield self._told("make a private room", lambda login: made.update(self._make(login, name)))
        rid = made.get("rid")
        if not isinstance(rid, str):
            return
        fields = {"office": "check", "event": self._token, "sim_ts": "2026-01-05T08:00:00+00:00"}
        own_id = f"{self._token}{'0' * 24}"[:24]
        message = {"_id": own_id, "rid": rid, "msg": "OfficeTown looks whether this works.", "customFields": fields}
        steps: tuple[tuple[str, Callable[[Login], object]], ...] = (
            ("post a message under an id of ours", lambda login: self._post(login, message)),
            ("post it again: there is still one", lambda login: self._post_again(login, message)),
            ("read it back with its custom fields", lambda login: self._read(login, rid, own_id, fields)),
            ("upload a file and read it back", lambda login: self._upload(login, rid, own_id, fields)),
            ("react", lambda login: self._react(login, own_id)),
            ("delete a message", lambda login: self._delete(login, rid, own_id)),
        )
        for line, work in steps:
            yield self._told(line, work)
        yield self._told(
            "delete the room", lambda login: self._rest.post("rooms.delete", login, {"roomId": rid}) and None
        )

    def _told(self, line: str, work: Callable[[Login], object]) -> Finding:
        """Do something and say how it went; a text that is returned is what was wrong."""
        try:
            wrong = self._people.as_office(work)
        except CarrierError as error:
            return Finding(line, False, str(error))
        return Finding(line, False, wrong) if isinstance(wrong, str) else Finding(line, True)

    def _version(self, info: dict[str, Any]) -> Finding:
        text = clean_text(str(info.get("version", "")))[:40]
        major = re.match(r"\d{1,4}", text)
        if major is None:
            return Finding(
                "its version is known", False, f"/api/info names no version ({text!r}): is it a Rocket.Chat?"
            )
        if int(major[0]) < OLDEST:
            return Finding(f"its version is {OLDEST} or newer", False, f"it is {text}: take an image of version 8")
        return Finding(f"its version is {OLDEST} or newer", True, text)

    def _settings(self) -> Iterator[Finding]:
        """Yield whether the settings that the office needs are set."""
        enabled = self._setting("Message_CustomFields_Enabled")
        schema = self._setting("Message_CustomFields")
        known = all(f'"{name}"' in str(schema) for name in CUSTOM_FIELDS["properties"])
        wanted = msgspec.json.encode(CUSTOM_FIELDS).decode()
        yield Finding(
            "messages may carry simulated time",
            enabled is True and known,
            ""
            if enabled is True and known
            else f"set Message_CustomFields_Enabled, and Message_CustomFields to {wanted}",
        )
        limit = self._setting("Message_MaxAllowedSize")
        fits = isinstance(limit, int) and limit >= 5_000
        yield Finding("messages may be long enough", fits, "" if fits else "set Message_MaxAllowedSize to 5000 or more")
        limited = self._setting("API_Enable_Rate_Limiter")
        detail = "its calls are limited: an office goes slower; set API_Enable_Rate_Limiter to false" if limited else ""
        yield Finding("calls are not held up", True, detail)

    def _setting(self, name: str) -> object:
        try:
            return self._people.as_office(lambda login: self._rest.get(f"settings/{name}", login, {})).get("value")
        except CarrierError:
            return None

    def _make(self, login: Login, name: str) -> dict[str, Any]:
        answer = self._rest.post("groups.create", login, {"name": name, "members": [], "readOnly": False})
        group = answer.get("group")
        return {"rid": group.get("_id")} if isinstance(group, dict) else {}

    def _post(self, login: Login, message: dict[str, Any]) -> str | None:
        answer = self._rest.post("chat.sendMessage", login, {"message": message}).get("message")
        kept = isinstance(answer, dict) and answer.get("_id") == message["_id"]
        return None if kept else "the server chose another id: messages could be doubled"

    def _post_again(self, login: Login, message: dict[str, Any]) -> str | None:
        with suppress(Refused):  # one of the ways in which it says that the message is there
            self._rest.post("chat.sendMessage", login, {"message": message})
        found = self._in_room(login, message["rid"])
        ours = [m for m in found if m.get("msg") == message["msg"]]
        return None if len(ours) == 1 else f"the room holds {len(ours)} copies"

    def _read(self, login: Login, rid: str, name: str, fields: dict[str, str]) -> str | None:
        found = next((m for m in self._in_room(login, rid) if m.get("_id") == name), None)
        if found is None:
            return "chat.syncMessages does not show it"
        return None if found.get("customFields") == fields else "its custom fields are gone: see Message_CustomFields"

    def _upload(self, login: Login, rid: str, root: str, fields: dict[str, str]) -> str | None:
        made = self._rest.upload(f"rooms.media/{rid}", login, "check.txt", _FILE, "text/plain").get("file")
        file_id = str(made.get("_id")) if isinstance(made, dict) else ""
        text = msgspec.json.encode(fields).decode()
        confirmed = {"msg": "", "tmid": root, "customFields": text}
        answer = self._rest.post(f"rooms.mediaConfirm/{rid}/{file_id}", login, confirmed).get("message")
        if self._rest.download(f"/file-upload/{file_id}/check.txt", login, 10_000) != _FILE:
            return "it came back with other bytes"
        kept = isinstance(answer, dict) and answer.get("customFields") == fields
        return None if kept else "a file's message keeps no custom fields: files would come back as other people's"

    def _react(self, login: Login, name: str) -> None:
        self._rest.post("chat.react", login, {"messageId": name, "emoji": TAKEN, "shouldReact": True})

    def _delete(self, login: Login, rid: str, name: str) -> str | None:
        self._rest.post("chat.delete", login, {"roomId": rid, "msgId": name})
        left = any(m.get("_id") == name and m.get("t") != "rm" for m in self._in_room(login, rid))
        return "it is still there" if left else None

    def _in_room(self, login: Login, rid: str) -> list[dict[str, Any]]:
        asked = {"roomId": rid, "lastUpdate": "1970-01-01T00:00:00.000Z"}
        result = self._rest.get("chat.syncMessages", login, asked).get("result")
        updated = result.get("updated") if isinstance(result, dict) else None
        return [m for m in updated if isinstance(m, dict)] if isinstance(updated, list) else []
