"""What leaves the office for chat, mail and calendar servers (DESIGN 9).

The office's own record is the truth; a carrier shows it to people. What leaves is a projection of the log: every event
gives the same items whenever it is projected, each under a key of its own, so an office that ran without carriers for
months can be carried over later, and an item that was carried once is never carried again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from simulator.access import Subject, can
from simulator.arriving import Polled
from simulator.canonical import canonical
from simulator.events import (
    ConflictRaised,
    EntryAnswered,
    EntryCancelled,
    EntryMoved,
    EntryScheduled,
    Event,
    InboundArrived,
    MailSent,
    MessagePosted,
    RoomJoined,
    RoomLeft,
    RoomOpened,
)
from simulator.office import Office
from simulator.ports import Blob, OutboxItem
from simulator.records import CalendarEntry, ChatMessage, FileRef, Mail, Record, Room

# -- people, as a server knows them -----------------------------------------------------------------------------------


class Account(Record, frozen=True):
    """A person as servers know them: `username` is lower case letters, digits, `.`, `_` and `-`, unique in the office;
    `address` their mail address. Clients' contacts (`staff` False) have mail alone: no chat and no calendar."""

    person: str
    name: str
    username: str
    address: str
    staff: bool = True
    title: str = ""


class Directory(Record, frozen=True):
    """An office's accounts, in order of their ids, and its name. `office` is its id, which names it on a shared server."""

    office: str
    name: str
    zone: str
    accounts: tuple[Account, ...]

    def of(self, person: str) -> Account | None:
        """Return a person's account."""
        return next((a for a in self.accounts if a.person == person), None)

    def by_username(self, username: str) -> Account | None:
        """Return the account that a chat or calendar server calls so; case does not matter."""
        wanted = username.casefold()
        return next((a for a in self.accounts if a.username == wanted), None)

    def by_address(self, address: str) -> Account | None:
        """Return the account with that mail address; case does not matter."""
        wanted = address.strip().casefold()
        return next((a for a in self.accounts if a.address.casefold() == wanted), None)


def directory(office: Office, office_id: str) -> Directory:
    """Return an office's active people as accounts. Two people never share a username or an address."""
    accounts: list[Account] = []
    taken: set[str] = set()
    addresses: set[str] = set()
    for person in sorted(office.people.values(), key=lambda p: p.id):
        if not person.active:
            continue
        username = _unique(_slug(person.id), taken)
        address = person.email.strip()
        if not _ADDRESS.fullmatch(address) or address.casefold() in addresses:
            address = f"{username}@{_slug(person.client or office.name)}.invalid"
        addresses.add(address.casefold())
        accounts.append(Account(person.id, person.name, username, address, person.kind == "staff", person.title))
    return Directory(office_id, office.name, office.calendar.zone, tuple(accounts))


_ADDRESS = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")[:40] or "office"


def _unique(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}-{number}", number + 1
    taken.add(name)
    return name


# -- what is carried --------------------------------------------------------------------------------------------------


class Attached(Record, frozen=True):
    """A file that goes with a message or mail: everyone who gets it may read this version at that moment."""

    name: str
    media_type: str
    blob: Blob


class RoomOut(Record, frozen=True):
    """A room that was opened."""

    room: Room


class MemberOut(Record, frozen=True):
    """Somebody joined a room or left it."""

    room: str
    person: str
    joined: bool


class PostOut(Record, frozen=True):
    """A message. `origin` is the key under which it came in, if a person wrote it at the carrier: then it is there
    already. `thread_origin` is that of the thread's first message. `withheld` names cited files that not every member
    of the room may read: they are named, never uploaded."""

    message: ChatMessage
    files: tuple[Attached, ...] = ()
    withheld: tuple[str, ...] = ()
    origin: str = ""
    thread_origin: str = ""


class MailOut(Record, frozen=True):
    """A mail, inside the firm or out of it; `origin` and `thread_origin` as with `PostOut`."""

    mail: Mail
    files: tuple[Attached, ...] = ()
    origin: str = ""
    thread_origin: str = ""


class EntryOut(Record, frozen=True):
    """A calendar event as it is after `sequence` (a revision): the whole of it, so that the last one delivered wins.
    `origin` is the key under which it came in, if somebody made it in a calendar program. `at` is the simulated time of
    that revision (0 where an older store did not say)."""

    entry: CalendarEntry
    sequence: int
    origin: str = ""
    at: int = 0


class BounceOut(Record, frozen=True):
    """What a person did at a carrier did not take effect; `reason` says why and `key` what it was. Told where it was done:
    in chat as a `refusal`, otherwise by mail as a `bounce`."""

    person: str
    key: str
    reason: str
    at: int


Item = RoomOut | MemberOut | PostOut | MailOut | EntryOut | BounceOut
KINDS: Mapping[str, type[Item]] = {
    "room": RoomOut,
    "member": MemberOut,
    "message": PostOut,
    "mail": MailOut,
    "entry": EntryOut,
    "bounce": BounceOut,
    "refusal": BounceOut,
}
"""The kinds of an outbox item and what its body holds."""


def decode_item(item: OutboxItem) -> Item:
    """Return what an outbox item holds. A mail stored by a version that knew no carriers is read too."""
    try:
        return msgspec.json.decode(item.body, type=KINDS[item.kind])
    except msgspec.ValidationError:
        if item.kind != "mail":
            raise
        return MailOut(msgspec.json.decode(item.body, type=Mail))


CARRIER_OF: Mapping[str, str] = {
    "room": "chat", "member": "chat", "message": "chat", "refusal": "chat", "mail": "mail",
    "bounce": "mail", "entry": "calendar",
}  # fmt: skip
"""Which carrier takes which kind."""


class Projection:
    """Projects a log into outbox items, one event after the other from the log's beginning.

    `targets` names, for `chat`, `mail` and `calendar`, the server they go to: a short tag that is part of each key and
    lane, so that another server is given the whole office and one that is down holds nobody else up. What has no target
    does not leave; the firm's own mail to outside people always does, as files where there is no server for it.

    It remembers under which keys things came in, so that what a person wrote at a carrier is not sent back to it.
    """

    def __init__(self, targets: Mapping[str, str] | None = None) -> None:
        self.targets = dict(targets or {})
        self._arrived: tuple[str, str] = ("", "")
        self._origins: dict[str, str] = {}
        self._known: dict[str, str] = {}

    def origin(self, name: str) -> str:
        """Return the key under which a message, mail or entry came in; empty if it was made inside."""
        return self._origins.get(name, "")

    def known(self, key: str) -> str:
        """Return the id of what came in under a key; empty if nothing did."""
        return self._known.get(key, "")

    def __call__(self, event: Event, office: Office) -> tuple[OutboxItem, ...]:
        """Return what leaves because of an event; `office` is the state after it."""
        p = event.payload
        if isinstance(p, InboundArrived):
            self._arrived = (event.activation, p.key)
        elif isinstance(p, MailSent):
            return self._mail(event, p.mail, office)
        elif self.targets:
            return self._talk(event, office)
        return ()

    def _talk(self, event: Event, office: Office) -> tuple[OutboxItem, ...]:
        p = event.payload
        if isinstance(p, RoomOpened):
            return self._item(f"room:{p.room.id}", f"room:{p.room.id}", "room", RoomOut(p.room))
        if isinstance(p, RoomJoined | RoomLeft):
            change = MemberOut(p.room, p.person, isinstance(p, RoomJoined))
            return self._item(f"member:{p.room}:{p.person}:{event.revision}", f"room:{p.room}", "member", change)
        if isinstance(p, MessagePosted):
            return self._post(event, p.message, office)
        if isinstance(p, EntryScheduled):
            self._note(event, p.entry.id)
            return self._entry(p.entry.id, event, office)
        if isinstance(p, EntryAnswered | EntryMoved | EntryCancelled):
            return self._entry(p.entry, event, office)
        if isinstance(p, ConflictRaised) and self._arrived[0] == event.activation:
            bounce = BounceOut(p.conflict.person, self._arrived[1], p.conflict.reason, event.sim_time)
            kind = "refusal" if bounce.key.startswith("chat:") else "bounce"
            return self._item(f"{kind}:{p.conflict.id}", f"{kind}:{p.conflict.person}", kind, bounce)
        return ()

    def _note(self, event: Event, name: str) -> str:
        """Remember where a thing came from, if it came in; return the key."""
        activation, key = self._arrived
        if activation != event.activation:
            return ""
        self._origins[name] = key
        self._known[key] = name
        return key

    def _post(self, event: Event, message: ChatMessage, office: Office) -> tuple[OutboxItem, ...]:
        origin = self._note(event, message.id)
        if "chat" not in self.targets:
            return ()
        files, withheld = _attached(office, message.cites, office.rooms[message.room].members)
        post = PostOut(message, files, withheld, origin, self.origin(message.thread))
        return self._item(f"message:{message.id}", f"room:{message.room}", "message", post)

    def _mail(self, event: Event, mail: Mail, office: Office) -> tuple[OutboxItem, ...]:
        origin = self._note(event, mail.id)
        leaves = mail.external and office.people[mail.sender].kind == "staff"
        if "mail" not in self.targets and not leaves:
            return ()
        files, _ = _attached(office, mail.attachments, (mail.sender, *mail.to, *mail.cc))
        thread_origin = self.origin(mail.thread) if mail.thread != mail.id else ""
        return self._item(f"mail:{mail.id}", f"mail:{mail.sender}", "mail", MailOut(mail, files, origin, thread_origin))

    def _entry(self, name: str, event: Event, office: Office) -> tuple[OutboxItem, ...]:
        entry = EntryOut(office.entries[name], event.revision, self.origin(name), event.sim_time)
        return self._item(f"entry:{name}:{event.revision}", f"entry:{name}", "entry", entry)

    def _item(self, key: str, lane: str, kind: str, body: Item) -> tuple[OutboxItem, ...]:
        target = self.targets.get(CARRIER_OF[kind])
        if target is None:
            return (OutboxItem(key, lane, kind, canonical(body)),) if kind == "mail" else ()
        return (OutboxItem(f"{target}/{key}", f"{target}/{lane}", kind, canonical(body)),)


def _attached(
    office: Office, refs: Sequence[FileRef], readers: Sequence[str]
) -> tuple[tuple[Attached, ...], tuple[str, ...]]:
    """Return the files that all readers may read, and the names of the others."""
    files: list[Attached] = []
    withheld: list[str] = []
    for ref in refs:
        file = office.files[ref.file]
        version = file.versions[ref.version - 1]
        name = file.path.rsplit("/", 1)[-1]
        if all(can(Subject(person), "read", ref, office).allowed for person in readers):
            files.append(Attached(name, version.media_type, version.blob))
        else:
            withheld.append(name)
    return tuple(files), tuple(withheld)


# -- the ports --------------------------------------------------------------------------------------------------------


class Carrier(Protocol):
    """What every carrier does. `provision` makes the accounts that are missing and changes nothing else: it may be
    called again, also after it was interrupted. `poll` returns what people did there since `cursor` (empty: from now on,
    or from the beginning where that brings nothing of ours back). `acknowledge` shows the author of something that came
    in whether it was taken, where the carrier has a way to show it.

    All raise `CarrierError` (try again later) or `WorkFailed` (this very item is refused for good).
    """

    name: str

    def provision(self, people: Directory) -> None: ...
    def poll(self, cursor: str) -> Polled: ...
    def close(self) -> None: ...


class Chat(Carrier, Protocol):
    """Rooms and messages. `again` says that an earlier attempt may have arrived."""

    def open_room(self, room: RoomOut) -> None: ...
    def change_member(self, change: MemberOut) -> None: ...
    def post(self, key: str, post: PostOut, text: str, again: bool) -> None: ...
    def refuse(self, bounce: BounceOut) -> None: ...


class MailCarrier(Carrier, Protocol):
    """Mails with attachments. `text` is the mail's body."""

    def send(self, key: str, mail: MailOut, text: str, again: bool) -> None: ...
    def bounce(self, bounce: BounceOut) -> None: ...


class CalendarCarrier(Carrier, Protocol):
    """Calendars: every attendee's copy of an event is written, never sent as an invitation by the server."""

    def put(self, entry: EntryOut) -> None: ...


def staff_of(people: Directory) -> tuple[Account, ...]:
    """Return the accounts of staff."""
    return tuple(a for a in people.accounts if a.staff)


__all__ = [
    "CARRIER_OF", "KINDS", "Account", "Attached", "BounceOut", "CalendarCarrier", "Carrier", "Chat", "Directory", "EntryOut", "Item",
    "MailCarrier", "MailOut", "MemberOut", "PostOut", "Projection", "RoomOut", "decode_item", "directory", "staff_of",
]  # fmt: skip
