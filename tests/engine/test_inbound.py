"""What comes in from outside: people at a desk of their own, and what carriers bring (RULE 4)."""

from __future__ import annotations

import threading

from services.models.scripted import call
from services.storage.memory import MemoryJournal
from simulator.canonical import canonical
from simulator.conversation import ModelRequest, ModelResponse
from simulator.engine.environment import Bodies
from simulator.engine.inbound import GIVE_BACK, TAKE_OVER, Doorstep, RecordedInbound
from simulator.events import ActivationStarted, ConflictRaised, InboundArrived, MessagePosted, decode
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
    woken = [p.running for p in kinds(bench, ActivationStarted) if any(s.ref == posted.message.id for s in p.running.stimuli)]
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
        return (item(f"k{revision}", who, "post_message", to=PEOPLE[(revision + 1) % 5], text="From outside.", asks=True),)


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
