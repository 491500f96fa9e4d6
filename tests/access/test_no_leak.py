"""No leak, as properties over random firms (RELIABILITY, RULES 26 to 29)."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.access import Subject, can, who_can
from simulator.briefing import Briefing, system_prompt
from simulator.events import ClearanceSet, ClientAdded, MatterOpened, MemberAdded
from simulator.memory import recall
from simulator.mounts import plan_mounts
from simulator.records import Client, FileRef, Matter, Person, Stimulus
from simulator.view import view, view_reference
from tests.access.growth import SUBJECTS, Op, everything, grow, grown, mounted, ops, pick
from tests.access.world import OAKRIDGE, RIVERBEND, TOOLING, World, contact, juniper, text_of


@given(ops, st.sampled_from(SUBJECTS), ops)
def test_the_index_shows_what_the_plain_loop_shows(past: list[Op], subject: Subject, more: list[Op]) -> None:
    """RULE 29, also right after things changed, when something is remembered from before."""
    world = grown(past)
    assert everything(view(world.office, subject)) == everything(view_reference(world.office, subject))
    for row in more[:6]:
        grow(world, [row])
        assert everything(view(world.office, subject)) == everything(view_reference(world.office, subject))


@given(ops)
def test_every_list_is_the_filter_of_the_check(numbers: list[Op]) -> None:
    office = grown(numbers).office
    for subject in SUBJECTS:
        seen = view(office, subject)

        def may(action: str, target: object, who: Subject = subject) -> bool:
            return can(who, action, target, office).allowed  # type: ignore[arg-type]

        refs = {FileRef(f.id, v.number) for f in office.files.values() for v in f.versions}
        assert {FileRef(f.ref.file, n) for f in seen.files() for n in f.versions} == {r for r in refs if may("read", r)}
        assert {r.id for r in seen.rooms()} == {r for r in office.rooms if may("read_room", r)}
        for room in office.rooms:
            ids = [m for m in office.by_room.get(room, ()) if may("read_message", m)]
            assert [m.id for m in seen.messages(room)] == ids
        assert {m.id for m in seen.mails()} == {m for m in office.mails if may("read_mail", m)}
        assert {e.id for e in seen.calendar()} == {e for e in office.entries if may("read_entry", e)}
        assert {m.id for m in seen.meetings()} == {m for m in office.meetings if may("read_meeting", m)}
        assert {r.id for r in seen.requests()} == {r for r in office.requests if may("read_request", r)}
        assert {d.id for d in seen.delegations()} == {d for d in office.delegations if may("read_delegation", d)}
        assert {m.id for m in seen.memories()} == {m for m in office.memories if may("read_memory", m)}
        assert {p.id for p in seen.people()} == {p for p in office.people if may("know", f"person:{p}")}


@given(ops, st.sampled_from(SUBJECTS))
def test_nothing_shown_names_a_file_that_may_not_be_read(numbers: list[Op], subject: Subject) -> None:
    office = grown(numbers).office
    shown = everything(view(office, subject)).decode()
    for file in office.files.values():
        readable = any(can(subject, "read", FileRef(file.id, v.number), office).allowed for v in file.versions)
        if not readable and not any(n.ref == file.id for n in office.notices.get(subject.person, ())):
            assert f'"file":"{file.id}"' not in shown


@given(ops, st.sampled_from(SUBJECTS))
def test_display_paths_are_unique_and_none_lies_below_another(numbers: list[Op], subject: Subject) -> None:
    paths = [f.path.casefold() for f in view(grown(numbers).office, subject).files()]
    assert len(set(paths)) == len(paths)
    for path in paths:
        assert not any(other.startswith(f"{path}/") for other in paths)
        assert ".." not in path.split("/")


@given(ops)
def test_who_can_is_what_each_may_read(numbers: list[Op]) -> None:
    office = grown(numbers).office
    for file in list(office.files.values())[:3]:
        ref = FileRef(file.id, 1)
        entitled = {e.person for e in who_can(office, ref) if e.copy is None}
        assert entitled == {p for p in office.people if can(p, "read", ref, office).allowed}


# -- two worlds -------------------------------------------------------------------------------------------------------


def _behind_daniels_back(world: World, numbers: list[Op], reserved: list[FileRef], rooms: list[str]) -> None:
    """Things that Daniel has no right to know of, whatever the numbers: private, walled, too high, or not shared."""
    oak = f"matter:{OAKRIDGE}"
    for kind, a, b, _ in numbers[:6]:
        match kind % 12:
            case 0:
                world.save("nora", "home:nora", f"secret {a}.txt", "x" * b)
            case 1:
                ref = world.save("nora", oak, f"Inputs/2025-12/bank {a}.csv", "x" * b, walls=(OAKRIDGE,))
                world.share(ref, pick((oak, "everyone", "person:daniel", "client:oakridge"), b))
            case 2:
                ref = world.save("elena", "company", f"pay {a}.txt", "x" * b, level="restricted")
                world.share(ref, "everyone")
            case 3:
                world.again(pick(reserved, a), "unshared second thoughts")
            case 4:
                world.share(pick(reserved, a), pick(("person:nora", "department:risk"), b), "elena")
            case 5:
                room = world.room(f"oak {a}", ["nora", "daniel", "omar"], OAKRIDGE)
                world.post(room, "nora", "he is in the room, not on the team", reserved[:1])
                world.post(world.room(f"others {a}", ["nora", "elena"]), "elena", "words", reserved[:1])
            case 6:
                world.mail("elena", ["nora", "quinn"], f"subject {a}", reserved[:1])
            case 7:
                entry = world.meet("elena", ["nora", "quinn"], f"meeting {a}", rule="FREQ=DAILY")
                world.held(entry, reserved[0])
            case 8:
                world.request("elena", "nora", f"outcome {a}", "", reserved[:1])
                world.note("elena", "commitment", "to nora", about="daniel")
                world.delegate("elena", f"goal {a}", RIVERBEND, reserved[:1])
            case 9:
                world.do(MemberAdded(OAKRIDGE, "dev"))
                world.do(ClearanceSet("quinn", pick(("internal", "restricted"), a)))
            case 10:
                world.do(ClientAdded(Client(f"client{a}", "Hidden")))
                world.do(contact(f"contact{a}", f"client{a}"))
                world.do(MatterOpened(Matter(f"matter{a}", "Riverbend close", f"client{a}", "nora", ("nora",))))
            case _:
                ref = world.save("elena", "home:elena", f"given and taken {a}.txt")
                world.revoke(world.share(ref, "person:daniel"))
    assert rooms


@settings(max_examples=60)
@given(ops, ops, ops)
def test_two_worlds_that_differ_only_out_of_sight_look_the_same(
    past: list[Op], secrets: list[Op], after: list[Op]
) -> None:
    """RELIABILITY: values, existence, count, order, sizes and times of the unreadable change no byte that is given."""
    plain = grown(past)
    reserved = [plain.save("elena", "home:elena", f"reserved {n}.txt") for n in range(2)]
    for ref in reserved:
        plain.share(ref, "person:daniel")
    rooms = [plain.room("riverbend", ["elena", "daniel"], RIVERBEND)]
    plain.delegate("daniel", "reconcile", RIVERBEND, reserved, deliverables=("Result.xlsx",))
    twin = plain.twin()
    subjects = [Subject("daniel"), *(Subject("daniel", m) for m in (RIVERBEND, TOOLING, ""))]
    for subject in subjects:
        view(twin.office, subject).files()
    with plain.out_of_sight():
        pass
    # Daniel must be where the secrets assume him: not on Oakridge's team, not cleared for `restricted`.
    for world in (plain, twin):
        world.office = msgspec.structs.replace(world.office, people=world.office.people.insert("daniel", _daniel()))
        matter = world.office.matters[OAKRIDGE]
        team = msgspec.structs.replace(matter, members=("nora",))
        world.office = msgspec.structs.replace(world.office, matters=world.office.matters.insert(OAKRIDGE, team))
    with twin.out_of_sight():
        _behind_daniels_back(twin, secrets, reserved, rooms)
    for world in (plain, twin):
        world.post(rooms[0], "elena", "words", reserved)
        world.mail("elena", ["daniel"], "subject", reserved)
        for number, (_, a, b, _) in enumerate(after[:5]):
            ref = world.save("daniel", "home:daniel", f"own {number}.txt", f"{a}{b}", sources=reserved)
            world.share(world.save("quinn", "home:quinn", f"given {number}.txt", f"{a}"), "person:daniel", "quinn")
            world.note("daniel", "question", f"is {a} right?", relied=(ref,))
    for subject in subjects:
        assert everything(view(plain.office, subject)) == everything(view(twin.office, subject))
        assert everything(view_reference(twin.office, subject)) == everything(view(twin.office, subject))
    assert mounted(plain, "daniel") == mounted(twin, "daniel")
    woken = (Stimulus("s", "message", plain.office.by_room[rooms[0]][-1], plain.now, "elena"),)
    assert recall(plain.office, "daniel", woken) == recall(twin.office, "daniel", woken)
    assert _prompts(plain, woken) == _prompts(twin, woken)


def _prompts(world: World, woken: tuple[Stimulus, ...]) -> tuple[str, str, tuple[str, ...]]:
    """What Daniel's model is told, and what waits for him."""
    inbox = world.office.inboxes.get("daniel", ())
    briefing = Briefing(world.office, "daniel", text_of)
    told = briefing.wake((*woken, *inbox[-8:]), fresh=True, now=world.now)
    return system_prompt(world.office, "daniel"), told, tuple(s.ref for s in inbox)


def _daniel() -> Person:
    return juniper().office.people["daniel"]


# -- revoke, then write -----------------------------------------------------------------------------------------------


@given(ops, st.sampled_from(["person:daniel", f"matter:{RIVERBEND}", "department:assurance", "everyone"]))
def test_revoke_then_write_is_never_visible_again(past: list[Op], audience: str) -> None:
    """RELIABILITY: also through memory, caches and what stays mounted."""
    world = grown(past)
    ref = world.save("elena", "home:elena", "shared once.txt", "before")
    grant = world.share(ref, audience)
    view(world.office, "daniel").files()
    world.revoke(grant)
    after = world.again(ref, "after")
    world.share(after, "person:nora")
    world.share(after, "person:quinn")
    delegation = world.delegate("daniel", "use it", "", (ref, after))
    for who in (Subject("daniel"), Subject("daniel", ""), Subject("daniel", RIVERBEND)):
        for seen in (view(world.office, who), view_reference(world.office, who)):
            assert seen.versions(ref.file) == ()
            assert seen.file(ref) is None
            assert "shared once" not in everything(seen).decode()
    plan = plan_mounts(world.office, delegation, text_of)
    assert plan.withheld == (ref, after)
    assert "shared once" not in msgspec.json.encode(plan).decode()
