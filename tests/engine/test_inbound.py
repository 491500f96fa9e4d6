"""What comes in from outside: people at a desk of their own, and what carriers bring (RULE 4)."""

from __future__ import annotations

import threading
from collections.abc import Callable

from services.models.scripted import call
from services.storage.memory import MemoryJournal
from simulator.canonical import canonical
from simulator.conversation import ModelRequest, ModelResponse
from simulator.engine.environment import Bodies
from simulator.engine.inbound import GIVE_BACK, TAKE_OVER, Doorstep, RecordedInbound
from simulator.events import (
    ActivationStarted,
    ConflictRaised,
    FileAccepted,
    FileSaved,
    FileShared,
    InboundArrived,
    MailSent,
    MessagePosted,
    decode,
)
from simulator.ports import InboundItem
from tests.engine.fuzz import Fuzz
from tests.engine.test_order import DAY, PEOPLE, firm
from tests.engine.worlds import ALL, HOUR, OPENING, Bench, opening, person


def item(key: str, actor: str, tool: str, **arguments: object) -> InboundItem:
    """Return an inbound act."""
    return InboundItem(key, actor, tool, canonical(arguments).decode())


def kinds(bench: Bench, kind: type) -> list:  # type: ignore[type-arg]
    """Return the payloads of one kind in the log."""
    return [p for p in (decode(e).payload for e in bench.log()) if isinstance(p, kind)]


class Idle:
    """Everybody finishes at once."""

    def complete(self, request: ModelRequest) -> ModelResponse:
        return call("finish")


def test_an_inbound_act_enters_with_its_authors_rights_and_wakes_whom_it_concerns() -> None:
    """RULE 4: it becomes an event of its own, then what its act does."""
    bench = Bench(opening([person("ada", ALL), person("ben")]), Idle())
    door = Doorstep()
    bench.env.inbound = door
    door.put(item("chat-1", "ada", "post_message", to="ben", text="Are you in?", asks=True))
    bench.run(OPENING + HOUR)
    (arrived,) = kinds(bench, InboundArrived)
    (posted,) = kinds(bench, MessagePosted)
    assert (arrived.key, posted.message.sender, posted.message.id) == ("chat-1", "ada", "ada.in1.1")
    woken = [
        p.running for p in kinds(bench, ActivationStarted) if any(s.ref == posted.message.id for s in p.running.stimuli)
    ]
    assert [r.actor for r in woken] == ["ben"]


def test_the_same_key_comes_in_once() -> None:
    """RULE 4: a carrier that brings a thing twice has brought it once."""
    bench = Bench(opening([person("ada", ALL), person("ben")]), Idle())
    door = bench.env.inbound = Doorstep()
    for _ in range(2):
        door.put(item("chat-1", "ada", "post_message", to="ben", text="Once."))
    bench.run(OPENING + HOUR)
    assert len(kinds(bench, MessagePosted)) == 1
    assert len(kinds(bench, InboundArrived)) == 1


def test_what_an_inbound_act_may_not_do_is_a_conflict_for_its_author() -> None:
    """RULE 4: acts from outside have their author's rights, never the system's; broken ones break nothing."""
    bench = Bench(opening([person("ada", ALL), person("ben", ("request",))]), Idle())
    door = bench.env.inbound = Doorstep()
    door.put(item("1", "ben", "delegate", goal="all of it", deliverables=["Documents/a.md"]))
    door.put(InboundItem("2", "ben", "post_message", "{not json"))
    door.put(item("3", "ben", "fly", to="the moon"))
    door.put(item("4", "nobody", "post_message", to="ada", text="hello"))
    bench.run(OPENING + HOUR)
    conflicts = [p.conflict for p in kinds(bench, ConflictRaised)]
    assert [c.person for c in conflicts] == ["ben", "ben", "ben"]
    assert "authority" in conflicts[0].reason
    assert "not valid" in conflicts[1].reason
    assert "no act 'fly'" in conflicts[2].reason


def test_a_role_held_by_a_person_has_no_activation_until_it_is_given_back() -> None:
    """RULE 4: its stimuli queue for him, and his acts are inbound items."""
    bench = Bench(opening([person("ada", ALL), person("ben")]), Idle())
    door = bench.env.inbound = Doorstep()
    door.put(item("1", "ben", TAKE_OVER))
    office = bench.run(OPENING + DAY)
    assert [p.running.actor for p in kinds(bench, ActivationStarted)].count("ben") == 0
    assert office.inboxes.get("ben")
    door.put(item("2", "ben", "post_message", to="ada", text="I am here myself.", asks=True))
    office = bench.run(OPENING + DAY + 2 * HOUR)
    assert [p.message.sender for p in kinds(bench, MessagePosted)] == ["ben"]
    door.put(item("3", "ben", GIVE_BACK))
    office = bench.run(OPENING + 2 * DAY)
    assert "ben" in [p.running.actor for p in kinds(bench, ActivationStarted)]
    assert not office.held.get("ben")


class Holding:
    """Holds Ada's answer back until something has come in."""

    def __init__(self, door: Doorstep) -> None:
        self.door = door
        self.bench: Bench | None = None
        self.seen: list[str] = []
        self.come = threading.Event()

    def complete(self, request: ModelRequest) -> ModelResponse:
        if request.call == ("ada.1", 1):
            self.door.put(item("late", "ben", "post_message", to="ada", text="Did you see this?", asks=True))
        if request.call[0].startswith("ada."):
            self.seen.append(request.messages[-1].content)
        return call("list_mail") if request.call == ("ada.1", 1) else call("finish")


def test_a_running_activation_does_not_see_what_comes_in() -> None:
    """RULE 4: it enters between two commits; what runs reads the office of its start."""
    door = Doorstep()
    model = Holding(door)
    bench = Bench(opening([person("ada", ALL), person("ben")]), model)
    bench.env.inbound = door
    bench.run(OPENING + HOUR)
    assert "Did you see this?" not in model.seen[0] + model.seen[1]
    assert any("Did you see this?" in text for text in model.seen[2:])


class Sometimes:
    """Brings an item in whenever the office has grown by another forty events, wherever the engine then is."""

    def __init__(self) -> None:
        self._next = 60

    def take(self, revision: int, committed: bool) -> tuple[InboundItem, ...]:
        if not committed or revision < self._next:
            return ()
        self._next = revision + 40
        who = PEOPLE[revision % len(PEOPLE)]
        return (
            item(f"k{revision}", who, "post_message", to=PEOPLE[(revision + 1) % 5], text="From outside.", asks=True),
        )


def test_a_replay_brings_everything_in_at_the_same_place() -> None:
    """RULE 1 and RULE 4: inbound items are on the tape; the same tape gives the same log at any concurrency."""
    until = OPENING + 3 * DAY
    live = Bench(firm(5), Fuzz([*PEOPLE, "maya"], 5), commit_items=7)
    live.env.inbound = Sometimes()
    live.run(until)
    recorded = [decode(e) for e in live.log()]
    assert sum(isinstance(e.payload, InboundArrived) for e in recorded) >= 3
    for concurrency in (1, 6):
        again = Bench(firm(5), Fuzz([*PEOPLE, "maya"], 5), concurrency=concurrency, journal=MemoryJournal())
        again.env.inbound = RecordedInbound(recorded, Bodies(live.journal))
        again.run(until)
        assert again.log() == live.log()


class Waiting:
    """A pacer that lets something in during its first wait."""

    def __init__(self, door: Doorstep, thing: InboundItem) -> None:
        self.door, self.thing = door, thing
        self.cut = False

    def before(self, at: int, working: int, commit: Callable[[], None]) -> bool:
        commit()
        if not self.cut and at >= OPENING + HOUR:
            self.cut = True
            self.door.put(self.thing)
            return False
        return True


def test_something_that_comes_in_while_the_clock_waits_enters_at_once() -> None:
    """RULE 4: stamped with the last landed instant, before what the clock was waiting for."""
    bench = Bench(opening([person("ada", ALL), person("ben")]), Idle())
    bench.env.inbound = door = Doorstep()
    bench.env.pacer = Waiting(door, item("1", "ada", "post_message", to="ben", text="Now?", asks=True))
    bench.run(OPENING + DAY)
    log = [decode(e) for e in bench.log()]
    entered = next(e for e in log if isinstance(e.payload, InboundArrived))
    assert entered.sim_time < OPENING + HOUR
    assert [e.sim_time for e in log] == sorted(e.sim_time for e in log)


def test_files_that_came_with_a_mail_are_kept_accepted_and_sent_by_three_acts() -> None:
    """DESIGN 4: for a person outside who plays a role too. The bytes are named by no argument, so no model can name them."""
    bench = Bench(opening([person("ada", ALL), person("ben", ("request",))]), Idle())
    bench.env.inbound = door = Doorstep()
    blob = bench.env.blobs.put(b"a,b\n1,2\n")
    mail = canonical({"to": ["ben"], "subject": "Table", "text": "Here it is."}).decode()
    door.put(InboundItem("1", "ada", "send_mail", mail, (("table.csv", blob),)))
    door.put(InboundItem("2", "ben", "send_mail", mail.replace("ben", "ada"), (("other.csv", blob),)))
    door.put(InboundItem("3", "ada", "send_mail", mail, (("../..", blob),)))
    bench.run(OPENING + HOUR)
    saved = {p.path.rsplit("/", 1)[1]: p for p in kinds(bench, FileSaved)}
    assert sorted(saved) == ["other.csv", "table.csv"] and saved["table.csv"].owner == "ada"
    assert [p.acceptance.by for p in kinds(bench, FileAccepted)] == ["ada"]
    assert [(p.mail.sender, len(p.mail.attachments)) for p in kinds(bench, MailSent)] == [("ada", 1)]
    assert [p.grant.audience for p in kinds(bench, FileShared)] == ["person:ben"]
    conflicts = [p.conflict for p in kinds(bench, ConflictRaised)]
    assert [c.person for c in conflicts] == ["ben", "ada"], "one may not accept, the other's is no file name"
    assert "accept did not take effect" in conflicts[0].reason and "no file name" in conflicts[1].reason


def test_files_that_came_with_a_message_go_to_the_room_or_the_message_tells_of_them() -> None:
    """What may not be shared is kept, its author is told, and the message is posted all the same."""
    bench = Bench(opening([person("ada", ALL), person("ben", ("request",))]), Idle())
    bench.env.inbound = door = Doorstep()
    blob = bench.env.blobs.put(b"plan")
    for key, sender, other in (("1", "ada", "ben"), ("2", "ben", "ada")):
        text = canonical({"to": other, "text": "See this."}).decode()
        door.put(InboundItem(key, sender, "post_message", text, ((f"{sender}.txt", blob),)))
    bench.run(OPENING + HOUR)
    posted = [p.message for p in kinds(bench, MessagePosted)]
    assert [(m.sender, len(m.cites)) for m in posted] == [("ada", 1), ("ben", 1)]
    assert [p.grant.by for p in kinds(bench, FileShared)] == ["ada"]
    assert [p.conflict.person for p in kinds(bench, ConflictRaised)] == ["ben"]


def test_a_replay_brings_the_files_in_again() -> None:
    """RULE 1: inbound items are on the tape, bytes included."""
    bench = Bench(opening([person("ada", ALL), person("ben")]), Idle())
    bench.env.inbound = door = Doorstep()
    blob = bench.env.blobs.put(b"a,b\n1,2\n")
    mail = canonical({"to": ["ben"], "subject": "Table", "text": "Here it is."}).decode()
    door.put(InboundItem("1", "ada", "send_mail", mail, (("table.csv", blob),)))
    bench.run(OPENING + HOUR)
    again = Bench(opening([person("ada", ALL), person("ben")]), Idle())
    again.env.blobs.put(b"a,b\n1,2\n")
    again.env.inbound = RecordedInbound([decode(e) for e in bench.log()], Bodies(bench.env.journal))
    again.run(OPENING + HOUR)
    assert again.log() == bench.log()


def test_no_model_is_offered_the_act_of_receiving() -> None:
    """RULE 26: whoever calls it from a conversation is told that there is no such tool; from outside it is no act either."""
    bench = Bench(opening([person("ada", ALL), person("ben")]), Idle())
    bench.env.inbound = door = Doorstep()
    door.put(item("1", "ada", "receive"))
    bench.run(OPENING + HOUR)
    assert "no act 'receive'" in kinds(bench, ConflictRaised)[0].conflict.reason


class OneAfterAnother:
    """A pacer that has one thing after another come in while it waits at one moment."""

    def __init__(self, door: Doorstep, things: list[InboundItem]) -> None:
        self.door, self.things = door, things

    def before(self, at: int, working: int, commit: Callable[[], None]) -> bool:
        commit()
        if self.things and at >= OPENING + HOUR:
            self.door.put(self.things.pop(0))
            return False
        return True


def test_what_came_in_one_after_another_does_so_again() -> None:
    """RULE 4: nothing happened in between, so nothing may in a replay."""
    live = Bench(opening([person("ada", ALL), person("ben")]), Idle())
    live.env.inbound = door = Doorstep()
    things = [item(str(n), "ada", "post_message", to="ben", text=f"{n}") for n in range(4)]
    live.env.pacer = OneAfterAnother(door, things)
    live.run(OPENING + DAY)
    recorded = [decode(e) for e in live.log()]
    entered = [e.revision for e in recorded if isinstance(e.payload, InboundArrived)]
    assert len(entered) == 4 and entered[2] == entered[1] + 2, "each is an event and its message, nothing between them"
    again = Bench(opening([person("ada", ALL), person("ben")]), Idle(), journal=MemoryJournal())
    again.env.inbound = RecordedInbound(recorded, Bodies(live.journal))
    again.run(OPENING + DAY)
    assert again.log() == live.log()
