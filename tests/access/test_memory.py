"""What a person is reminded of (RULE 12, STORY)."""

from __future__ import annotations

from simulator.events import MemoryClosed, OfficeForked, Switches
from simulator.memory import Recall, at_hand, recall
from simulator.records import Memory, Stimulus
from simulator.view import view
from tests.access.world import RIVERBEND, TOOLING, juniper


def stimulus(ref: str, kind: str = "mail", source: str = "maya") -> Stimulus:
    return Stimulus(f"s:{ref}", kind, ref, 0, source)  # type: ignore[arg-type]


def texts(found: tuple[Memory, ...]) -> list[str]:
    return [m.text.text for m in found]


def test_the_default_numbers_of_each_kind() -> None:
    """RULE 12: 8 commitments, 5 discussions, 5 decisions, 10 colleagues."""
    world = juniper()
    for number in range(12):
        for kind in ("commitment", "discussion", "decision", "colleague", "question"):
            world.note("daniel", kind, f"{kind} {number}")
    found = recall(world.office, "daniel", ())
    sizes = [
        len(row) for row in (found.commitments, found.discussions, found.decisions, found.colleagues, found.questions)
    ]
    assert sizes == [8, 5, 5, 10, 5]


def test_first_what_is_about_the_thing_then_its_matter_then_its_people() -> None:
    world = juniper()
    mail = world.mail("maya", ["daniel"], "December", matter=RIVERBEND, external=True)
    world.note("daniel", "decision", "elsewhere", matter=TOOLING)
    world.note("daniel", "decision", "about Maya", about="maya")
    world.note("daniel", "decision", "of the matter", matter=RIVERBEND)
    world.note("daniel", "decision", "of the mail", about=mail)
    world.note("daniel", "decision", "newest of nothing")
    found = recall(world.office, "daniel", (stimulus(mail),))
    assert texts(found.decisions) == ["of the mail", "of the matter", "about Maya", "newest of nothing", "elsewhere"]


def test_among_equals_the_soonest_due_then_the_newest() -> None:
    world = juniper()
    for text, due in (("late", 900), ("none, old", 0), ("soon", 100), ("none, new", 0)):
        world.note("daniel", "commitment", text, due=due)
    assert texts(recall(world.office, "daniel", ()).commitments) == ["soon", "late", "none, new", "none, old"]


def test_what_rests_on_a_file_at_hand_is_about_it() -> None:
    world = juniper()
    ref = world.save("daniel", "home:daniel", "a.txt")
    world.note("daniel", "question", "is the 850.00 deposit explained?", relied=(ref,))
    world.note("daniel", "question", "another")
    request = world.request("elena", "daniel", "look", materials=[ref])
    found = recall(world.office, "daniel", (stimulus(request, "request", "elena"),))
    assert texts(found.questions)[0] == "is the 850.00 deposit explained?"


def test_the_open_question_returns_four_weeks_later() -> None:
    """STORY: the 850.00 deposit stays an open question, shown by relevance among many."""
    world = juniper()
    world.note("daniel", "question", "850.00", matter=RIVERBEND)
    for number in range(20):
        world.note("daniel", "question", f"other {number}", matter=TOOLING)
    request = world.request("elena", "daniel", "reconcile January", RIVERBEND)
    assert texts(recall(world.office, "daniel", (stimulus(request, "request"),)).questions)[0] == "850.00"
    assert "850.00" not in texts(recall(world.office, "daniel", ()).questions)


def test_closed_records_and_other_peoples_are_not_recalled() -> None:
    world = juniper()
    world.note("elena", "decision", "hers")
    done = world.note("daniel", "decision", "done")
    world.do(MemoryClosed(done, "daniel"))
    assert recall(world.office, "daniel", ()) == Recall()


def test_what_a_record_rests_on_is_named_while_it_may_be_read() -> None:
    """RELIABILITY: revoked means gone, also from memory; the words one noted oneself stay."""
    world = juniper()
    ref = world.save("elena", "home:elena", "a.txt")
    grant = world.share(ref, "person:daniel")
    world.note("daniel", "discussion", "we spoke of it", relied=(ref,))
    for expected in ((ref,), ()):
        (found,) = recall(world.office, "daniel", ()).discussions
        (shown,) = view(world.office, "daniel").memories()
        assert (found.relied, shown.relied) == (expected, expected)
        assert found.text.text == "we spoke of it"
        if expected:
            world.revoke(grant)


def test_who_has_left_is_reminded_of_nothing() -> None:
    world = juniper()
    world.note("zed", "decision", "mine")
    assert recall(world.office, "zed", ()) == Recall()


def test_without_persistence_nothing_is_remembered() -> None:
    world = juniper()
    world.note("daniel", "decision", "three workstreams")
    assert recall(world.office, "daniel", ()) != Recall()
    world.do(OfficeForked("p", 1, Switches(persistence=False)))
    assert recall(world.office, "daniel", ()) == Recall()


def test_what_the_stimuli_name_is_looked_up_one_step() -> None:
    world = juniper()
    ref = world.save("daniel", "home:daniel", "a.txt", matter=TOOLING)
    room = world.room("riverbend", ["elena", "daniel"], RIVERBEND)
    message = world.post(room, "elena", "look", [ref])
    entry = world.meet("elena", ["daniel", "dev"], "Kick-off", RIVERBEND)
    delegation = world.delegate("daniel", "x", RIVERBEND, (ref,), request="elena.7.1")
    memory = world.note("daniel", "commitment", "to Maya", about="maya", matter=RIVERBEND)

    def hand(ref: str, kind: str = "message") -> tuple[set[str], set[str], set[str]]:
        found = at_hand(world.office, "daniel", (stimulus(ref, kind, "engine"),))
        return set(found.refs) - {f"s:{ref}"}, set(found.matters), set(found.people)

    assert hand(message) == ({message, room, ref.file}, {RIVERBEND}, {"elena"})
    assert hand(f"{entry}@99", "calendar") == ({f"{entry}@99", entry}, {RIVERBEND}, {"elena", "dev"})
    assert hand(delegation, "submission") == ({delegation, "elena.7.1", ref.file}, {RIVERBEND}, set())
    assert hand(memory, "due") == ({memory, "maya"}, {RIVERBEND}, {"maya"})
    assert hand(ref.file, "share") == ({ref.file}, {TOOLING}, set())
    assert hand("unknown") == ({"unknown"}, set(), set())
