"""An office and its carriers: nothing lost, nothing doubled, nothing let in twice, and the same log with or without them."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import update

from orchestrator.carrying import Connector, Shown
from orchestrator.compose import House, end_of
from orchestrator.output import Out
from orchestrator.running import RunOptions, run
from orchestrator.settings import read_settings
from services.carriers.desk import Carriers, Desk
from services.carriers.eml import EmlFolder
from services.storage.tables import outbox
from services.storage.writer import StoredJournal
from simulator.arriving import ArrivedFile, EntryArrived, MailArrived, MessageArrived
from simulator.engine.environment import Settings
from simulator.engine.history import walk
from simulator.errors import UsageError
from simulator.events import ActivationStarted, ConflictRaised, FileSaved, InboundArrived, MessagePosted
from simulator.office import Office
from tests.carriers.servers import MemoryCalendar, MemoryChat, MemoryMail
from tests.orchestrator.support import JUNIPER

DAYS = 2


class Town:
    """Juniper in a home of its own, shown by three servers that outlive every run."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.chat, self.mail, self.calendar = MemoryChat(), MemoryMail(), MemoryCalendar()
        self.tags = {"chat": "c1", "mail": "m1", "calendar": "d1"}
        self.office = ""
        self.said: list[str] = []

    def connector(self) -> Connector:
        def connect(stack: ExitStack, journal: StoredJournal, desk: Callable[[], Desk]) -> Carriers:
            files = EmlFolder(self.home / "sent" / journal.office_id, lambda: desk().people, self.house.blobs)
            return Carriers(files, self.chat, self.mail, self.calendar, self.tags)

        return connect

    def run(self, days: int, shown: bool = True, **options: object) -> str:
        """Run up to the end of a day in a process's worth of parts; return the log's hash."""
        settings = read_settings({"OFFICETOWN_HOME": str(self.home), "OFFICETOWN_POLL_SECONDS": "0.05"})
        self.house = House(settings, carriers=self.connector() if shown else None)
        out = Out(quiet=True)
        out.say = self.said.append  # type: ignore[method-assign, assignment]
        try:
            seed = None if self.office else 1
            result = run(self.house, out, self.office or JUNIPER, RunOptions(days=days, seed=seed, **options))  # type: ignore[arg-type]
        finally:
            self.house.close()
        self.office = str(result["office"])
        return str(result["hash"])

    def record(self) -> Office:
        """Return the office as its record has it."""
        house = House(read_settings({"OFFICETOWN_HOME": str(self.home)}))
        try:
            return house.office(house.row(self.office))
        finally:
            house.close()

    def events(self, kind: type) -> list:  # type: ignore[type-arg]
        """Return the payloads of one kind in the log."""
        house = House(read_settings({"OFFICETOWN_HOME": str(self.home)}))
        try:
            return [e.payload for e, _ in walk(house.offices.read(self.office)) if isinstance(e.payload, kind)]
        finally:
            house.close()

    def agrees(self) -> None:
        """Check that the servers hold exactly what the office's record says."""
        office = self.record()
        assert {r.id: set(r.members) for r in office.rooms.values()} == self.chat.rooms
        held = {room: [m[0] for m in said] for room, said in self.chat.messages.items()}
        inside = {m.id for m in office.messages.values() if ".in" not in m.id}
        assert {room: [m for m in names if m in inside] for room, names in _messages(office).items()} == held
        assert sorted(k.rsplit("mail:", 1)[1] for k in self.mail.mails) == sorted(office.mails.keys())
        assert {e.entry.id: e.entry for e in self.calendar.entries.values()} == dict(office.entries.items())


def _messages(office: Office) -> dict[str, list[str]]:
    return {room: list(office.by_room.get(room, ())) for room in office.rooms}


@pytest.fixture
def town(tmp_path: Path) -> Town:
    return Town(tmp_path / "home")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of the run without any server."""
    return Town(tmp_path_factory.mktemp("plain")).run(DAYS, shown=False)


def test_the_servers_hold_what_the_record_says_and_the_log_is_the_same(town: Town, plain: str) -> None:
    assert town.run(DAYS) == plain
    town.agrees()
    assert town.calendar.entries and town.mail.mails and town.chat.rooms
    assert town.chat.accounts >= {"elena", "aisha"}
    assert town.said and not [line for line in town.said if "wait to be delivered" in line]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_fails_on_the_way_everything_arrives_once(town: Town, plain: str, seed: int) -> None:
    """RELIABILITY 8: refused, dropped after it was accepted, again and again, in any order; the run goes on all the same."""
    draw = random.Random(seed)
    for server in (town.chat, town.mail, town.calendar):
        server.faults = [draw.choice(["", "", "before", "after"]) for _ in range(25)]
    hashes = [town.run(1), town.run(DAYS)]
    for _ in range(40):
        if not any("wait to be delivered" in line for line in town.said[-8:]):
            break
        town.said.clear()
        _wind_forward(town)
        hashes.append(town.run(DAYS))
    assert hashes[-1] == plain
    town.agrees()


def _wind_forward(town: Town) -> None:
    """Let the waits of the outbox pass: its clock is the wall's, and nobody sleeps in a test."""
    house = House(read_settings({"OFFICETOWN_HOME": str(town.home)}))
    with house.database.writing() as connection:
        connection.execute(update(outbox).values(next_attempt=0))
    house.close()


def test_an_office_that_ran_alone_is_carried_over_whole(town: Town, plain: str) -> None:
    """Backfill: what happened before there was a server is there afterwards, in order, once."""
    assert town.run(1, shown=False) and not town.chat.rooms
    assert town.run(DAYS) == plain
    town.agrees()
    before = len(town.mail.mails)
    town.run(DAYS)
    assert len(town.mail.mails) == before and town.mail.provisions == 2


def test_another_server_is_given_everything_too(town: Town) -> None:
    town.run(1)
    town.chat, town.tags["chat"] = MemoryChat(), "c2"
    town.run(1)
    town.agrees()


def test_what_one_server_will_not_have_keeps_nothing_else(town: Town) -> None:
    town.chat.faults = ["", "refuse"]
    town.run(1)
    assert len(town.chat.rooms) == len(town.record().rooms.keys()) - 1


# -- what comes in


def test_a_message_from_outside_enters_between_two_runs_and_is_answered(town: Town) -> None:
    """RULE 4; the answer is in the room, and what the person wrote there is not written a second time."""
    town.run(1)
    town.chat.written.append(MessageArrived("chat:x1", "elena", "aisha", "Aisha, are you there?"))
    town.run(DAYS)
    arrived = town.events(InboundArrived)
    assert [(a.key, a.actor, a.tool) for a in arrived] == [("chat:x1", "elena", "post_message")]
    (mine,) = [p.message for p in town.events(MessagePosted) if p.message.id.startswith("elena.in")]
    woken = [r.running for r in town.events(ActivationStarted) if any(s.ref == mine.id for s in r.running.stimuli)]
    assert [r.actor for r in woken] == ["aisha"]
    post = next(p for key, p in town.chat.seen.items() if key.endswith(mine.id))
    assert post.origin == "chat:x1"
    town.agrees()


def test_what_is_read_twice_comes_in_once_and_the_cursor_survives_the_process(town: Town) -> None:
    town.run(1)
    town.chat.written.append(MessageArrived("chat:x1", "elena", "aisha", "Once?"))
    town.run(DAYS)
    town.run(DAYS)
    assert len(town.events(InboundArrived)) == 1
    assert town.chat.polls[0] == "" and town.chat.polls[-1] == "1"


def test_an_answered_mail_and_its_attachment_reach_the_firm(town: Town) -> None:
    town.run(1)
    office = town.record()
    mail = min((m for m in office.mails.values() if m.external), key=lambda m: m.id)
    client, staff = (
        (mail.sender, mail.to[0]) if office.people[mail.sender].kind == "client" else (mail.to[0], mail.sender)
    )
    files = (ArrivedFile("../../etc/Extra.csv", b"a,b\n1,2\n"),)
    town.mail.written.append(MailArrived("mail:<1@x>", client, (staff,), (), "Re: s", "See attached.", mail.id, files))
    town.run(DAYS)
    sent = next(m for m in town.record().mails.values() if m.id.startswith(f"{client}.in"))
    assert (sent.thread, sent.to, len(sent.attachments)) == (mail.thread, (staff,), 1)
    saved = [p for p in town.events(FileSaved) if p.path.endswith("Extra.csv")]
    assert [(p.version.level, p.path.split("/")[0]) for p in saved] == [("confidential", "Inputs")]
    assert next(m for k, (m, _) in town.mail.mails.items() if k.endswith(sent.id)).origin == "mail:<1@x>"


def test_an_event_from_a_calendar_wakes_its_owner_at_its_time_and_can_be_moved_and_taken_back(town: Town) -> None:
    town.run(1)
    now = town.record().now
    later = now + 86_400 - now % 86_400 + 10 * 3_600 + 1_200
    town.calendar.written.append(EntryArrived("cal:elena:u1", "elena", "created", "", "Call the bank", later, 30))
    town.run(2)
    (entry,) = [e for e in town.record().entries.values() if e.id.startswith("elena.in")]
    assert entry.start == later and town.calendar.entries[entry.id].origin == "cal:elena:u1"
    woken = [r.running for r in town.events(ActivationStarted) if any(s.ref == entry.id for s in r.running.stimuli)]
    assert [r.actor for r in woken] == ["elena"] and woken[0].at >= later
    moved = later + 86_400
    town.calendar.written.append(EntryArrived("cal:elena:u1@2", "elena", "moved", "cal:elena:u1", "", moved, 45))
    town.run(2)
    assert (town.record().entries[entry.id].start, town.record().entries[entry.id].minutes) == (moved, 45)
    town.calendar.written.append(EntryArrived("cal:elena:u1@deleted", "elena", "deleted", "cal:elena:u1"))
    town.run(2)
    assert town.record().entries[entry.id].cancelled
    town.agrees()


def test_what_may_not_be_done_is_told_where_it_was_tried(town: Town) -> None:
    """An act from outside has its author's rights: no more, and the author learns of it."""
    town.run(1)
    now = town.record().now
    town.calendar.written.append(EntryArrived("cal:elena:u9", "elena", "created", "", "Yesterday", now - 86_400, 30))
    town.chat.written.append(MessageArrived("chat:x9", "elena", "no-such-room", "Hello?"))
    town.run(1)
    assert [(b.person, b.key) for b in town.mail.bounces] == [("elena", "cal:elena:u9")]
    assert "that time is past" in town.mail.bounces[0].reason
    assert [(b.person, b.key) for b in town.chat.refused] == [("elena", "chat:x9")]
    assert len(town.events(ConflictRaised)) >= 2


def test_who_is_not_of_the_office_is_remarked_and_not_let_in(town: Town) -> None:
    town.run(1)
    town.chat.written.append(MessageArrived("chat:x1", "mallory", "aisha", "Give me everything."))
    town.run(1)
    assert town.events(InboundArrived) == []
    assert any("Not let in: mallory does not work here" in line for line in town.said)


def test_corrections_withdrawals_and_reactions_are_told_in_the_thread(town: Town) -> None:
    """The record keeps what was said; what was done to it at the server is said after it."""
    town.run(1)
    town.chat.written += [
        MessageArrived("chat:x1", "elena", "aisha", "At noon?"),
    ]
    town.run(1)
    town.chat.written += [
        MessageArrived("chat:x1@e", "elena", "aisha", "At one?", "chat:x1", change="edited"),
        MessageArrived("chat:x1!+1!aisha", "aisha", "elena", ":+1:", "chat:x1", change="reacted"),
        MessageArrived("chat:x1@d", "elena", "aisha", "", "chat:x1", change="deleted"),
        MessageArrived("chat:zz@d", "elena", "aisha", "", "chat:zz", change="deleted"),
    ]
    town.run(1)
    posted = [p.message for p in town.events(MessagePosted) if ".in" in p.message.id]
    assert [m.body.text for m in posted] == [
        "At noon?", "(corrected) At one?", "(reacted) :+1:", "(I took this message back.)",
    ]  # fmt: skip
    assert {m.thread for m in posted[1:]} == {posted[0].id}
    assert any("a message that the office does not have" in line for line in town.said)


# -- a person in a role


def test_a_person_plays_a_role_for_a_while_and_gives_it_back(town: Town) -> None:
    """RULE 4: while somebody plays Elena she has no activation and her stimuli wait; afterwards she has again."""
    town.run(1)
    before = _activations(town, "elena")
    _played(town, 2, ("Elena",))
    assert _activations(town, "elena") == before and town.record().held.get("elena")
    assert town.record().inboxes.get("elena"), "what concerned her waits"
    town.run(5)
    assert _activations(town, "elena") > before and not town.record().held.get("elena")


def _activations(town: Town, person: str) -> int:
    return [r.running.actor for r in town.events(ActivationStarted)].count(person)


def _played(town: Town, days: int, play: tuple[str, ...]) -> None:
    """Run with people in roles, at a clock that does not wait for them."""
    house = House(read_settings({"OFFICETOWN_HOME": str(town.home)}))
    town.house = house
    shown = Shown(town.connector(), play)
    row = house.row(town.office)
    with house.running(row, house.connect(), house.sandboxes(), Settings(), shown=shown) as running:
        running.engine.run(end_of(running.engine.office, days))
    house.close()


def test_a_name_that_is_nobodys_and_a_clock_that_waits_for_nobody(town: Town) -> None:
    town.run(1)
    with pytest.raises(UsageError, match="max"):
        town.run(1, play=("elena",), speed="max")
    with pytest.raises(UsageError, match="Nobody in Juniper"):
        town.run(1, play=("mallory",))


def test_nobody_plays_a_role_where_no_server_shows_the_office(town: Town) -> None:
    with pytest.raises(UsageError, match="no server"):
        town.run(1, shown=False, play=("elena",))
