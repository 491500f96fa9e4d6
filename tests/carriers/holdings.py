"""What the servers must hold after an office has run, and what they do: compared whole, for real adapters on real servers.

Chat and mail are read from what the stand-ins say they hold, calendars by HTTP from whatever keeps them; nothing here uses
the carriers' own reading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from xml.etree import ElementTree

import httpx
import icalendar

from services.carriers.mail import ids
from simulator.carrying import Directory, directory
from simulator.office import Office
from simulator.records import CalendarEntry

_LIST = '<d:propfind xmlns:d="DAV:"><d:prop><d:getetag/></d:prop></d:propfind>'


def chat_agrees(state: Mapping[str, Any], office: Office, office_id: str) -> None:
    """Check rooms and messages: each of the office's once, by its sender, in its room; nothing else of an office's."""
    people = directory(office, office_id)
    said = [m for m in state["messages"] if m.get("customFields", {}).get("office") == office_id and not m.get("t")]
    texts = Counter(m["customFields"]["event"] for m in said if not m["customFields"].get("part"))
    inside = {m.id for m in office.messages.values() if not _came_in(m.id)}
    assert set(texts) == inside and set(texts.values()) <= {1}
    senders = {m["customFields"]["event"]: m["u"]["username"] for m in said}
    for message in office.messages.values():
        if message.id in inside:
            assert senders[message.id] == _username(people, message.sender), message.id
    ids_of_users = {u["_id"]: u["username"] for u in state["users"]}
    shown = Counter(
        tuple(sorted(ids_of_users.get(m, m) for m in r["members"] if ids_of_users.get(m, m) != "office"))
        for r in state["rooms"] if r.get("name") != "general"
    )  # fmt: skip
    expected = Counter(tuple(sorted(_username(people, p) for p in r.members)) for r in office.rooms.values())
    assert shown == expected


def mail_agrees(state: Mapping[str, Any], office: Office, office_id: str, foreign: int = 0) -> None:
    """Check mails: each of the office's once, to its recipients; `foreign` are those that people wrote there."""
    found = Counter(ids.office_mail(office_id, m["MessageID"]) for m in state["messages"] if "notice." not in m["MessageID"])
    assert found.pop("", 0) == foreign
    inside = {m.id for m in office.mails.values() if not _came_in(m.id)}
    assert set(found) == inside and set(found.values()) <= {1}
    people = directory(office, office_id)
    for shown in state["messages"]:
        mail = office.mails.get(ids.office_mail(office_id, shown["MessageID"]))
        if mail is not None:
            addresses = {a["Address"] for a in (*shown["To"], *(shown["Cc"] or ()))}
            assert addresses == {_address(people, p) for p in (*mail.to, *mail.cc)}, mail.id
            assert shown["Subject"] == mail.subject.strip()


def calendars_agree(url: str, office: Office, office_id: str, password_of: Callable[[str], str]) -> None:
    """Check that everybody's calendar has that person's events, each as it is now, and nothing else."""
    for account in directory(office, office_id).accounts:
        if not account.staff:
            continue
        with httpx.Client(auth=(account.username, password_of(account.username)), trust_env=False) as client:
            copies = list(_copies(client, url, account.username))
        expected = {e.id: e for e in office.entries.values() if account.person in (e.organizer, *e.attendees)}
        assert sorted(str(c["X-OFFICETOWN-ENTRY"]) for c in copies) == sorted(expected), account.person
        for copy in copies:
            _same(copy, expected[str(copy["X-OFFICETOWN-ENTRY"])])


def _copies(client: httpx.Client, url: str, username: str) -> list[icalendar.Component]:
    answer = client.request("PROPFIND", f"{url}/{username}/", content=_LIST, headers={"Depth": "1"})
    if answer.status_code == 404:
        return []
    answer.raise_for_status()
    paths = [e.text or "" for e in ElementTree.fromstring(answer.text).iter("{DAV:}href")]
    found: list[icalendar.Component] = []
    for path in paths:
        if re.fullmatch(rf"/{re.escape(username)}/[^/]+/", path):
            whole = client.get(url + path)
            whole.raise_for_status()
            found.extend(icalendar.Calendar.from_ical(whole.text).walk("VEVENT") if whole.text.strip() else ())
    return found


def _same(copy: icalendar.Component, entry: CalendarEntry) -> None:
    start = copy.decoded("DTSTART")
    assert isinstance(start, datetime) and int(start.timestamp()) == entry.start, entry.id
    assert str(copy["SUMMARY"]) == entry.title.strip()
    assert (str(copy.get("STATUS", "")) == "CANCELLED") == entry.cancelled
    assert ("RRULE" in copy) == bool(entry.rule)
    answers = {str(a.params.get("PARTSTAT", "")) for a in _list(copy.get("ATTENDEE"))}
    given = {a.upper() for _, a in entry.answers}
    assert given <= answers


def _list(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _came_in(name: str) -> bool:
    """Whether a thing was made by an act from outside: RULE 8 names it after its author's n-th visit."""
    return re.search(r"\.in\d+\.\d+$", name) is not None


def _username(people: Directory, person: str) -> str:
    account = people.of(person)
    assert account is not None
    return account.username


def _address(people: Directory, person: str) -> str:
    account = people.of(person)
    assert account is not None
    return account.address
