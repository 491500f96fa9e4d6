"""Chat, mail and calendar servers in memory that fulfil the ports, with faults on demand and people who write there.

They live on when the desk is made anew, as servers do; `faults` are consumed one a call: `before` fails with nothing done,
`after` does the thing and then drops the connection.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.arriving import Arrival, Polled
from simulator.carrying import BounceOut, Directory, EntryOut, MailOut, MemberOut, PostOut, RoomOut
from simulator.errors import CarrierError, WorkFailed


class Server:
    """What the three have in common."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.accounts: set[str] = set()
        self.provisions = 0
        self.faults: list[str] = []
        self.written: list[Arrival] = []
        self.polls: list[str] = []
        self.closed = 0

    def provision(self, people: Directory) -> None:
        self.provisions += 1
        self.accounts |= {a.username for a in people.accounts}

    def poll(self, cursor: str) -> Polled:
        """What was written since the cursor, and the last thing before it once more: keys are stable, so that is allowed."""
        self._fail("poll", lambda: None)
        self.polls.append(cursor)
        first = max(0, int(cursor or 0) - 1)
        return Polled(tuple(self.written[first:]), str(len(self.written)))

    def close(self) -> None:
        self.closed += 1

    def _fail(self, what: str, act: Callable[[], None]) -> None:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "before":
            raise CarrierError(f"{self.name} answers 500 to {what}.")
        if fault == "refuse":
            raise WorkFailed(f"{self.name} will not have it.")
        act()
        if fault == "after":
            raise CarrierError(f"{self.name} dropped the connection after {what}.")


class MemoryChat(Server):
    """Rooms and what is in them, in order."""

    def __init__(self) -> None:
        super().__init__("chat in memory")
        self.rooms: dict[str, set[str]] = {}
        self.messages: dict[str, list[tuple[str, str, str]]] = {}
        self.seen: dict[str, PostOut] = {}
        self.refused: list[BounceOut] = []

    def open_room(self, room: RoomOut) -> None:
        self._fail("open_room", lambda: self._open(room))

    def _open(self, room: RoomOut) -> None:
        self.rooms.setdefault(room.room.id, set(room.room.members))
        self.messages.setdefault(room.room.id, [])

    def change_member(self, change: MemberOut) -> None:
        def act() -> None:
            (self.rooms[change.room].add if change.joined else self.rooms[change.room].discard)(change.person)

        self._fail("change_member", act)

    def post(self, key: str, post: PostOut, text: str, again: bool) -> None:
        def act() -> None:
            m = post.message
            assert m.room in self.rooms, "a room is opened before anything is said in it"
            if key in self.seen:
                assert again, "only a second attempt may bring what is there"
                return
            self.seen[key] = post
            if not post.origin:
                self.messages[m.room].append((m.id, m.sender, text))

        self._fail("post", act)

    def refuse(self, bounce: BounceOut) -> None:
        self._fail("refuse", lambda: self.refused.append(bounce))


class MemoryMail(Server):
    """One mailbox for everybody."""

    def __init__(self) -> None:
        super().__init__("mail in memory")
        self.mails: dict[str, tuple[MailOut, str]] = {}
        self.bounces: list[BounceOut] = []

    def send(self, key: str, mail: MailOut, text: str, again: bool) -> None:
        def act() -> None:
            assert again or key not in self.mails
            self.mails.setdefault(key, (mail, text))

        self._fail("send", act)

    def bounce(self, bounce: BounceOut) -> None:
        self._fail("bounce", lambda: self.bounces.append(bounce))


class MemoryCalendar(Server):
    """The events, as they were last put."""

    def __init__(self) -> None:
        super().__init__("calendar in memory")
        self.entries: dict[str, EntryOut] = {}

    def put(self, entry: EntryOut) -> None:
        def act() -> None:
            held = self.entries.get(entry.entry.id)
            if held is None or held.sequence <= entry.sequence:
                self.entries[entry.entry.id] = entry

        self._fail("put", act)
