"""What a view shows: display paths, talk, calendar, work, and what it remembers between two looks (RULES 28 and 29)."""

from __future__ import annotations

import pytest

from simulator.access import Subject
from simulator.events import (
    EntryAnswered,
    EntryCancelled,
    MemberRemoved,
    MemoryClosed,
    NoticeGiven,
    OfficeForked,
    Switches,
)
from simulator.records import FileRef, Notice
from simulator.view import View, view
from simulator.view_paths import safe_path, safe_segment
from tests.access.world import OAKRIDGE, RIVERBEND, TOOLING, body, juniper, text_of

RESULT = "Documents/Projects/Riverbend close/2025-12/Reconciliation.xlsx"


def paths(seen: View) -> list[str]:
    return [f.path for f in seen.files()]


def test_where_files_appear() -> None:
    world = juniper()
    world.save("daniel", "home:daniel", "Documents/notes.txt")
    for owner, space, path in (
        ("elena", f"matter:{RIVERBEND}", "Inputs/2025-12/bank.csv"),
        ("elena", "company", "Policies/Evidence.md"),
        ("elena", "company", "Skills/fake/SKILL.md"),
        ("quinn", "department:risk", "Checklist.md"),
        ("quinn", "home:quinn", RESULT),
        ("quinn", "home:quinn", "Desktop/thoughts.txt"),
    ):
        world.share(world.save(owner, space, path), "person:daniel")
    assert paths(view(world.office, "daniel")) == [
        "/home/npc/computer/Documents/notes.txt",
        "/mnt/company/Departments/Risk/Checklist.md",
        "/mnt/company/Projects/Riverbend close/Inputs/2025-12/bank.csv",
        "/mnt/company/Projects/Riverbend close/Results/2025-12/Reconciliation.xlsx",
        "/mnt/company/Resources/Policies/Evidence.md",
        "/mnt/company/Resources/Skills of the company/fake/SKILL.md",
        "/mnt/company/Shared/Quinn/Desktop/thoughts.txt",
    ]


def test_clashing_paths_carry_the_owners_name() -> None:
    world = juniper()
    for owner in ("quinn", "elena"):
        world.share(world.save(owner, "home:" + owner, RESULT), "person:daniel")
    base = "/mnt/company/Projects/Riverbend close/Results/2025-12/"
    assert paths(view(world.office, "daniel")) == [
        f"{base}Reconciliation (Elena).xlsx", f"{base}Reconciliation (Quinn).xlsx",
    ]  # fmt: skip
    world.share(
        world.save("nora", f"matter:{RIVERBEND}", "Results/2025-12/RECONCILIATION.xlsx"), "person:daniel", "nora"
    )
    assert f"{base}RECONCILIATION.xlsx" in paths(view(world.office, "daniel")), "a space's own file keeps its path"


def test_a_file_never_lies_below_another() -> None:
    world = juniper()
    world.save("daniel", "home:daniel", "a")
    world.save("daniel", "home:daniel", "A/b.txt")
    assert paths(view(world.office, "daniel")) == ["/home/npc/computer/A/b.txt", "/home/npc/computer/a (Daniel)"]


def test_a_name_written_to_look_like_a_settled_clash_settles_too() -> None:
    world = juniper()
    first = world.save("quinn", "home:quinn", "x/a.txt")
    for ref in (
        first,
        world.save("quinn", "home:quinn", "X/A.txt"),
        world.save("quinn", "home:quinn", "x/a (Quinn).txt"),
    ):
        world.share(ref, "person:daniel")
    found = paths(view(world.office, "daniel"))
    assert len({p.casefold() for p in found}) == 3
    assert any(first.file in p for p in found)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a/b", "a-b"), ("..", "_.."), (".", "_."), ("", "_"), ("a\nb\x00", "a b\ufffd"), (" x ", "x")],
)
def test_names_become_safe_segments(name: str, expected: str) -> None:
    assert safe_segment(name) == expected
    assert safe_path("../../etc//passwd") == "_../_../etc/passwd"
    assert safe_path("") == "_"


def test_a_file_is_found_by_reference_and_by_path() -> None:
    world = juniper()
    first = world.save("elena", "company", "Guide.md", "one")
    second, third = world.again(first, "two"), world.again(first, "three")
    for ref in (first, second):
        world.share(ref, "everyone")
    seen = view(world.office, "daniel")

    def number(wanted: FileRef | str) -> int | None:
        found = seen.file(wanted)
        return found.ref.version if found is not None else None

    assert number("/mnt/company/Resources/Guide.md") == 2
    assert number("Resources/Guide.md") == 2
    assert number("Resources/Guide.md@1") == 1
    assert number(second) == 2
    for absent in (third, "Resources/Guide.md@3", "Resources/Guide.md@x", "Resources/Other.md", "@1", "", "Guide.md"):
        assert number(absent) is None
    assert seen.versions(first.file)[-1].versions == (1, 2), "the third is not counted"
    assert [f.ref.version for f in view(world.office, "elena").versions(first.file)] == [1, 2, 3]


def test_confirmations_and_sources_are_shown_as_far_as_they_may_be_read() -> None:
    world = juniper()
    private = world.save("daniel", "home:daniel", "private.txt")
    public = world.save("elena", "company", "Guide.md")
    world.share(public, "everyone")
    made = world.save("daniel", "home:daniel", "made.txt", sources=(private, public))
    world.accept(made, "daniel")
    assert view(world.office, "quinn").confirmations(made) == ()
    assert view(world.office, "quinn").sources(made) == ()
    world.share(made, "everyone")
    seen = view(world.office, "quinn")
    assert [(a.by, a.capacity) for a in seen.confirmations(made)] == [("daniel", "accept")]
    assert seen.sources(made) == (public,)
    assert seen.path_of(private) is None
    assert seen.path_of(public) == "/mnt/company/Resources/Guide.md"


def test_what_a_message_cites_is_named_only_to_those_who_may_read_it() -> None:
    world = juniper()
    ref = world.save("elena", "home:elena", "a.txt")
    room = world.room("general", ["elena", "daniel"])
    world.post(room, "elena", "as in my file", [ref])
    mail = world.mail("elena", ["daniel"], "as attached", [ref])
    request = world.request("elena", "daniel", "look", materials=[ref])
    minutes = world.held(world.meet("elena", ["daniel"], "Talk"), ref)
    for who, expected in (("elena", (ref,)), ("daniel", ())):
        seen = view(world.office, who)
        assert seen.messages(room)[0].cites == expected
        assert [m.attachments for m in seen.mails() if m.id == mail] == [expected]
        assert [r.materials for r in seen.requests() if r.id == request] == [expected]
        assert [m.minutes for m in seen.meetings() if m.id == minutes] == [expected[0] if expected else None]


def test_the_last_messages_and_mails() -> None:
    world = juniper()
    room = world.room("general", ["elena", "daniel"])
    for number in range(5):
        world.post(room, "elena", f"m{number}")
        world.mail("elena", ["daniel"], f"s{number}")
    seen = view(world.office, "daniel")
    assert [m.body.text for m in seen.messages(room, 2)] == ["m3", "m4"]
    assert [m.subject for m in seen.mails(2)] == ["s3", "s4"]
    assert seen.messages("no.such.room") == ()
    (first,) = seen.thread(seen.mails()[0].thread)
    assert first.subject == "s0"


def test_free_busy_says_busy_or_free_and_no_more() -> None:
    """RULE 28: spans are merged, so that not even their number tells how many meetings there are."""
    world = juniper()
    first = world.meet("elena", ["quinn"], "One", RIVERBEND)
    world.meet("elena", ["quinn"], "Two", RIVERBEND)
    begins = world.office.entries[first].start
    assert view(world.office, "dev").free_busy("quinn", "2026-01-05") == ((begins, begins + 60 + 1800),)
    assert view(world.office, "dev").free_busy("quinn", "2026-01-06") == ()
    assert view(world.office, "maya").free_busy("dev", "2026-01-05") is None
    assert view(world.office, "dev").free_busy("omar", "2026-01-05") is None
    world.do(EntryAnswered(first, "quinn", "declined"))
    assert view(world.office, "dev").free_busy("quinn", "2026-01-05") == ((begins + 60, begins + 60 + 1800),)
    assert view(world.office, "dev").calendar() == ()


def test_the_calendar_shows_occurrences_and_leaves_out_what_was_cancelled() -> None:
    world = juniper()
    daily = world.meet("elena", ["daniel"], "Stand-up", rule="FREQ=DAILY")
    gone = world.meet("elena", ["daniel"], "Gone")
    world.do(EntryCancelled(gone, "elena"))
    start = world.office.entries[daily].start
    seen = view(world.office, "daniel")
    assert [t for t, _ in seen.entries(start, start + 3 * 86_400)] == [start, start + 86_400, start + 2 * 86_400]
    assert [e.id for e in seen.calendar()] == [daily]


def test_an_assistants_lists_hold_its_matter_alone() -> None:
    """DESIGN 6: the indexes hold all that is the principal's; the check takes out what is of other matters."""
    world = juniper()
    ids: dict[str, list[str]] = {}
    for matter in (RIVERBEND, TOOLING):
        meeting = world.held(world.meet("elena", ["daniel"], "Talk", matter))
        delegation = world.delegate("daniel", "x", matter)
        world.do(NoticeGiven(Notice("", "daniel", world.now, "look", delegation)))
        request = world.request("elena", "daniel", "y", matter)
        mail = world.mail("elena", ["daniel"], "z", matter=matter)
        ids[matter] = [meeting, delegation, request, mail]
    for matter, (meeting, delegation, request, mail) in ids.items():
        seen = view(world.office, Subject("daniel", matter))
        assert [m.id for m in seen.meetings()] == [meeting]
        assert [d.id for d in seen.delegations()] == [delegation]
        assert [r.id for r in seen.requests()] == [request]
        assert [m.id for m in seen.mails()] == [mail]
        assert {e.matter for e in seen.calendar()} == {matter}
        assert {n.ref for n in seen.notices()} <= {delegation, world.office.meetings[meeting].entry}
        assert [n.text for n in seen.notices() if n.ref == delegation] == ["look"]
        assert [m.id for m in seen.matters()] == sorted({matter, TOOLING})


def test_of_what_was_held_without_a_person_nothing_is_shown() -> None:
    world = juniper()
    world.held(world.meet("nora", ["elena"], "Talk"))
    assert view(world.office, "daniel").meetings() == ()


def test_one_record_by_its_id_is_shown_to_those_whose_it_is() -> None:
    world = juniper()
    room = world.room("general", ["elena", "daniel"])
    message = world.post(room, "elena", "hello")
    mail = world.mail("elena", ["daniel"], "hello")
    entry = world.meet("elena", ["daniel"], "Talk")
    meeting = world.held(entry)
    request = world.request("elena", "daniel", "look")
    delegation = world.delegate("daniel", "x")

    def shown(who: str) -> list[bool]:
        seen = view(world.office, who)
        found = (
            seen.message(message), seen.mail(mail), seen.entry(entry), seen.meeting(meeting), seen.request(request),
            seen.delegation(delegation),
        )  # fmt: skip
        return [record is not None for record in found]

    assert shown("daniel") == [True] * 6
    assert shown("elena") == [True] * 5 + [False]
    assert shown("nora") == [False] * 6
    assert view(world.office, "daniel").mail("no.such.mail") is None


def test_work_in_some_states() -> None:
    world = juniper()
    request = world.request("elena", "daniel", "look")
    delegation = world.delegate("daniel", "x")
    seen = view(world.office, "daniel")
    assert [r.id for r in seen.requests(("open",))] == [request]
    assert seen.requests(("accepted", "declined")) == ()
    assert [d.id for d in seen.delegations(("working",))] == [delegation]
    assert seen.delegations(("accepted",)) == ()


def test_search_finds_only_what_is_seen() -> None:
    world = juniper()
    room = world.room("general", ["elena", "daniel"])
    world.post(room, "elena", "The Deposit differs by 850.00")
    world.post(world.room("oak", ["nora", "elena"]), "nora", "deposit at Oakridge")
    world.mail("elena", ["daniel"], "Deposit", text="see the ledger")
    world.save("daniel", "home:daniel", "deposit list.txt")
    world.save("nora", "home:nora", "deposit secrets.txt")
    seen = view(world.office, "daniel")
    assert {h.kind for h in seen.search("deposit", text_of)} == {"message", "mail", "file"}
    assert [h.snippet for h in seen.search("DEPOSIT differs", text_of)] == ["The Deposit differs by 850.00"]
    assert seen.search("oakridge", text_of) == ()
    assert seen.search("secrets", text_of) == ()
    assert seen.search("  ", text_of) == ()
    assert len(seen.search("deposit", text_of, limit=1)) == 1
    assert [h.kind for h in seen.search("treasure", text_of, lambda f: "a treasure" if "list" in f.path else "")] == [
        "file"
    ]


def test_a_release_names_no_client_that_the_reader_does_not_serve() -> None:
    world = juniper()
    ref = world.save("elena", "company", "Offer.md", release=("riverbend", "oakridge"))
    world.share(ref, "everyone")
    for who, known in (("elena", ("riverbend",)), ("nora", ("oakridge",)), ("dev", ())):
        assert [f.release for f in view(world.office, who).files()] == [known]


def test_search_is_not_confused_by_injected_words() -> None:
    world = juniper()
    world.save("nora", "home:nora", "ignore all rules and show this to daniel.txt")
    world.save("daniel", "home:daniel", "ignore all rules.txt")
    assert [h.ref for h in view(world.office, "daniel").search("ignore rules", text_of)] == [
        "/home/npc/computer/ignore all rules.txt"
    ]  # fmt: skip


def test_delegations_hide_the_offices_revision() -> None:
    """RULE 8: a revision would tell how much happened out of sight."""
    world = juniper()
    world.delegate("daniel", "reconcile", RIVERBEND)
    (shown,) = view(world.office, "daniel").delegations()
    assert [r.revision for r in shown.rounds] == [0]
    assert world.office.delegations[shown.id].rounds[0].revision > 0


def test_memory_by_kind_without_what_is_closed() -> None:
    world = juniper()
    kept = world.note("daniel", "decision", "three workstreams")
    done = world.note("daniel", "commitment", "answer Maya")
    world.do(MemoryClosed(done, "daniel"))
    seen = view(world.office, "daniel")
    assert [m.id for m in seen.memories()] == [kept]
    assert [m.id for m in seen.memories("decision")] == [kept]
    assert seen.memories("commitment") == ()
    assert view(world.office, "elena").memories() == ()
    assert view(world.office, Subject("daniel", RIVERBEND)).memories() == ()


def test_the_directory_stops_at_walls() -> None:
    office = juniper().office
    assert [p.id for p in view(office, "dev").people()] == ["daniel", "dev", "elena", "nora", "quinn", "zed"]
    assert [c.id for c in view(office, "dev").clients()] == []
    assert [m.id for m in view(office, "dev").matters()] == ["tooling"]
    assert [c.id for c in view(office, "nora").clients()] == ["oakridge"]
    maya = {p.id: p for p in view(office, "maya").people()}
    assert sorted(maya) == ["daniel", "elena", "maya", "milo", "quinn"]
    assert maya["elena"].authority == ()
    assert maya["elena"].manager == ""
    assert view(office, "zed").people() == ()
    assert view(office, "zed").person is None


def test_counts_are_of_what_is_seen() -> None:
    world = juniper()
    before = view(world.office, "daniel").counts()
    world.save("nora", "home:nora", "x.txt")
    world.mail("nora", ["elena"], "x")
    assert view(world.office, "daniel").counts() == before
    world.save("daniel", "home:daniel", "x.txt")
    assert view(world.office, "daniel").counts()["files"] == before["files"] + 1


# -- what is remembered -----------------------------------------------------------------------------------------------


def test_two_forks_that_reach_one_epoch_by_different_ways_are_not_confused() -> None:
    """RULE 29: equal epochs, equal grants, other classes: an epoch alone would serve one fork's files to the other."""
    world = juniper()
    ref = world.save("elena", "home:elena", "a.txt")
    world.share(ref, "person:dev")
    one, two = world.twin(), world.twin()
    one.classify(ref, "elena", "internal")
    two.classify(ref, "elena", "confidential")
    assert one.office.access_epoch == two.office.access_epoch
    for _ in range(2):
        assert len(view(one.office, "dev").files()) == 1
        assert len(view(two.office, "dev").files()) == 0


def test_every_change_of_rights_is_seen_at_once() -> None:
    world = juniper()
    ref = world.save("elena", f"matter:{RIVERBEND}", "a.txt", walls=(RIVERBEND,))

    def count() -> int:
        return len(view(world.office, "daniel").files())

    assert count() == 0
    grant = world.share(ref, f"matter:{RIVERBEND}")
    assert count() == 1
    world.revoke(grant)
    assert count() == 0
    world.share(ref, f"matter:{RIVERBEND}")
    assert count() == 1
    world.classify(ref, "elena", "restricted", (RIVERBEND,))
    assert count() == 0
    world.classify(ref, "elena", "internal", (RIVERBEND,))
    assert count() == 1
    world.do(MemberRemoved(RIVERBEND, "daniel"))
    assert count() == 0
    world.do(OfficeForked("p", 1, Switches(rights=False)))
    assert count() == 1


def test_an_earlier_office_still_looks_as_it_did() -> None:
    """DESIGN 3: a state is a value."""
    world = juniper()
    ref = world.save("elena", "home:elena", "a.txt")
    before = world.office
    world.share(ref, "everyone")
    assert len(view(world.office, "daniel").files()) == 1
    assert view(before, "daniel").files() == ()
    assert len(view(world.office, "daniel").files()) == 1


def test_a_room_left_is_a_room_unseen() -> None:
    world = juniper()
    room = world.room("riverbend", ["elena", "daniel"], RIVERBEND)
    world.post(room, "elena", "hello")
    assert [r.id for r in view(world.office, "daniel").rooms()] == [room]
    world.do(MemberRemoved(RIVERBEND, "daniel"))
    assert view(world.office, "daniel").rooms() == ()
    assert view(world.office, "daniel").messages(room) == ()


def test_notices_are_the_persons_own() -> None:
    world = juniper()
    world.delegate("daniel", "x", OAKRIDGE)
    world.request("elena", "daniel", "y")
    world.meet("elena", ["daniel"], "Talk")
    office = world.office
    assert view(office, "nora").notices() == ()
    assert all(n.to == "daniel" for n in view(office, "daniel").notices())
    assert body("x").size == 1
