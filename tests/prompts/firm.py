"""The firm of the access tests with something of everything in it, all of whose words are put in by the test."""

from __future__ import annotations

import msgspec

from simulator.briefing import Briefing, system_prompt
from simulator.canonical import clean_name
from simulator.events import (
    ClientAdded,
    ConflictRaised,
    DepartmentAdded,
    MatterOpened,
    PersonAdded,
    QuestionAnswered,
    QuestionAsked,
    RequestAnswered,
    RoundOpened,
    SegmentLanded,
    SkillShelved,
    WorkReviewed,
    WorkSubmitted,
)
from simulator.mounts import plan_mounts
from simulator.office import Office
from simulator.prompts import render
from simulator.records import Client, Conflict, Matter, Review, Submission
from tests.access.world import RIVERBEND, World, blob, body, juniper, text_of
from tests.prompts.hostile import Words

NOW = 1_767_605_400


class Firm(msgspec.Struct):
    """The office, and the delegation in its second round."""

    office: Office
    delegation: str
    entry: str


def firm(words: Words) -> Firm:
    """Return an office in which every text, name and title is the next of `words`."""
    world = juniper()
    _named(world, words)
    name = clean_name(words()).replace("/", "-")[:80]
    paper = world.save("elena", f"matter:{RIVERBEND}", f"Inputs/{name}.csv", matter=RIVERBEND)
    world.share(paper, f"matter:{RIVERBEND}")
    world.mail("maya", ["daniel"], words(), (paper,), matter=RIVERBEND, external=True, text=words())
    world.mail("maya", ["elena"], words(), text=words())
    room = world.room(words(), ["elena", "daniel"])
    world.post(room, "elena", words(), (paper,))
    entry = world.meet("elena", ["daniel"], words(), RIVERBEND)
    event = world.office.entries[entry]
    world.office = msgspec.structs.replace(
        world.office, entries=world.office.entries.insert(entry, msgspec.structs.replace(event, agenda=words()))
    )
    for kind in ("commitment", "decision", "discussion", "colleague", "question"):
        world.note("daniel", kind, words(), about=words(), matter=RIVERBEND)
    request = world.request("elena", "daniel", words(), RIVERBEND, (paper,))
    other = world.request("daniel", "elena", words())
    world.do(RequestAnswered(other, "elena", "declined", body(words())))
    delegation = world.delegate(
        "daniel", words(), RIVERBEND, (paper,), work=words(), period=words(), request=request, constraints=(words(), words()),
        deliverables=(f"Documents/{name}.xlsx", f"{name}.md"),
    )  # fmt: skip
    world.do(SegmentLanded(delegation, 1, 1, "asked", blob("home"), 3))
    world.do(QuestionAsked(delegation, "q1", body(words())))
    world.do(QuestionAnswered(delegation, "q1", "daniel", body(words())))
    world.do(SegmentLanded(delegation, 1, 2, "submitted", blob("home"), 3))
    world.do(WorkSubmitted(delegation, 1, Submission(world.now, (), body(words()), (words(),))))
    world.do(WorkReviewed(delegation, 1, Review(world.now, "daniel", "revise", body(words()))))
    world.do(RoundOpened(delegation, 2))
    world.do(ConflictRaised(Conflict("c1", "daniel", world.now, "a1", words())))
    return Firm(world.office, delegation, entry)


def _named(world: World, words: Words) -> None:
    """Give everything that has a name another one, as a package might."""
    office = world.office
    world.do(SkillShelved("ledgers", words(), ()))
    for who in ("elena", "daniel", "quinn", "maya"):
        again = msgspec.structs.replace(
            office.people[who], name=words(), title=words(), style=words(), skills=("ledgers",), email=words()
        )
        world.do(PersonAdded(again))
    matter = office.matters[RIVERBEND]
    world.do(MatterOpened(Matter(matter.id, words(), matter.client, matter.lead, matter.members)))
    world.do(DepartmentAdded(msgspec.structs.replace(office.departments["services"], name=words())))
    world.do(ClientAdded(Client("riverbend", words(), words())))
    world.office = msgspec.structs.replace(world.office, name=words())


def prompts_of(made: Firm, words: Words) -> dict[str, str]:
    """Return every prompt that this office's people and assistants are sent, as the engine makes them."""
    office = made.office
    work = office.delegations[made.delegation]
    daniel, elena = (Briefing(office, who, text_of) for who in ("daniel", "elena"))
    stimuli = tuple(office.inboxes["daniel"])
    wake = daniel.wake(stimuli, True, NOW)
    attendees = ("elena", "daniel")
    view = elena.meeting(office.entries[made.entry], attendees, NOW)
    plan = plan_mounts(office, made.delegation, text_of)
    task = next(f.data for f in plan.task if f.path == "TASK.md" and f.data is not None).decode()
    principal = office.people["daniel"]
    spoken = [{"who": office.people[who].name, how: words()} for who in attendees for how in ("said", "decision", "question")]
    answer = work.questions[0].answer
    review = work.rounds[0].review
    assert answer is not None and review is not None
    return {
        "principal": system_prompt(office, "daniel"),
        "client": system_prompt(office, "maya"),
        "wake": wake,
        "client wake": Briefing(office, "maya", text_of).client_wake(stimuli[:0], NOW),
        "meeting": render("meeting_turn", view=view, transcript=spoken, organizer=True, turns_left=9),
        "branch": render("branch", question=words(), turns=6),
        "compacted": render("compacted", summary=words(), prompt=wake),
        "assistant": render("assistant_system", principal=principal.name, title=principal.title, firm=office.name, now="now"),
        "task": render("assistant_task", task=task),
        "round": render("assistant_round", decision=review.decision, notes=text_of(review.notes), round=2, task=task),
        "answer": render("assistant_answer", principal=principal.name, answer=text_of(answer)),
    }  # fmt: skip
