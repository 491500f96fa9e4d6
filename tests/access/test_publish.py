"""Publishing: every reason against it, all at once, at the moment of commit (DESIGN 4, RULES 18 and 27, STORY)."""

from __future__ import annotations

from simulator.access import NOT_YOURS, Share, Subject, can, publish_refusals, telling_refusals
from simulator.events import ClearanceSet, MemberAdded, MemberRemoved, OfficeForked, PersonAdded, Switches
from simulator.records import FileRef, Person
from tests.access.world import OAKRIDGE, RIVERBEND, TOOLING, World, contact, juniper

SIGNOFF = "quality sign-off is required for client release"
UNACCEPTED = "this version has not been accepted"
TEAM = f"matter:{RIVERBEND}"


def workbook(world: World) -> FileRef:
    """Daniel's confidential, walled version 1."""
    return world.save(
        "daniel", "home:daniel", "Documents/Projects/Riverbend close/2025-12/Reconciliation.xlsx",
        level="confidential", walls=(RIVERBEND,),
    )  # fmt: skip


def test_nothing_is_shared_before_it_is_accepted() -> None:
    world = juniper()
    ref = workbook(world)
    assert publish_refusals(world.office, "daniel", ref, TEAM) == (UNACCEPTED,)
    world.accept(ref, "daniel")
    assert publish_refusals(world.office, "daniel", ref, TEAM) == ()
    assert can("daniel", "share", Share(ref, TEAM), world.office).allowed


def test_acceptance_is_of_exactly_this_version() -> None:
    world = juniper()
    first = workbook(world)
    world.accept(first, "daniel")
    second = world.again(first, "two", level="confidential", walls=(RIVERBEND,))
    assert publish_refusals(world.office, "daniel", second, TEAM) == (UNACCEPTED,)
    world.accept(second, "daniel")
    assert publish_refusals(world.office, "daniel", second, TEAM) == ()
    assert publish_refusals(world.office, "daniel", first, TEAM) == (UNACCEPTED,), "the new acceptance replaced the old"


def test_acceptance_by_someone_without_the_authority_does_not_count() -> None:
    world = juniper()
    ref = world.save("dev", "home:dev", "a.txt")
    world.accept(ref, "dev")
    assert publish_refusals(world.office, "dev", ref, "everyone") == (UNACCEPTED,)


def test_daniel_tries_to_send_version_3_to_maya_and_is_told_both_reasons() -> None:
    """STORY, Tuesday 11:45."""
    world = juniper()
    ref = workbook(world)
    world.accept(ref, "daniel")
    assert publish_refusals(world.office, "daniel", ref, "person:maya") == (
        SIGNOFF,
        "the classification forbids Maya: this version is confidential and not released to them",
    )
    decision = can("daniel", "share", Share(ref, "person:maya"), world.office)
    assert SIGNOFF in decision.reason
    assert "classification forbids" in decision.reason


def test_quinn_signs_off_elena_releases_and_mails() -> None:
    """STORY, Wednesday 14:20."""
    world = juniper()
    ref = workbook(world)
    world.accept(ref, "daniel")
    world.share(ref, TEAM)
    world.accept(ref, "quinn", "quality_signoff")
    assert publish_refusals(world.office, "elena", ref, "person:maya") == (
        "the classification forbids Maya: this version is confidential and not released to them",
    )
    world.classify(ref, "elena", "confidential", (RIVERBEND,), ("riverbend",))
    assert publish_refusals(world.office, "elena", ref, "person:maya") == ()
    assert publish_refusals(world.office, "elena", ref, "client:riverbend") == ()
    assert publish_refusals(world.office, "elena", ref, "person:omar") == ("the audience is " + NOT_YOURS,)


def test_sign_off_by_the_author_or_without_the_authority_does_not_count() -> None:
    world = juniper()
    ref = world.save("quinn", "home:quinn", "a.txt", level="public")
    world.do(
        PersonAdded(Person("quinn", "Quinn", "Reviewer", authority=("accept", "quality_signoff", "client_release")))
    )
    world.accept(ref, "quinn")
    world.accept(ref, "quinn", "quality_signoff")
    assert SIGNOFF in publish_refusals(world.office, "quinn", ref, "person:maya")
    world.accept(ref, "elena", "quality_signoff")
    assert SIGNOFF in publish_refusals(world.office, "quinn", ref, "person:maya")


def test_client_release_needs_its_authority() -> None:
    world = juniper()
    ref = world.save("quinn", "home:quinn", "a.txt", level="public")
    world.accept(ref, "quinn")
    assert publish_refusals(world.office, "quinn", ref, "person:maya") == (
        SIGNOFF, "releasing to a client needs the authority client_release",
    )  # fmt: skip


def test_who_did_not_make_it_shares_it_only_with_the_authority_to_release() -> None:
    world = juniper()
    ref = world.save("daniel", "home:daniel", "a.txt")
    world.accept(ref, "daniel")
    world.share(ref, "everyone")
    assert publish_refusals(world.office, "elena", ref, "person:dev") == ()
    assert publish_refusals(world.office, "quinn", ref, "person:dev") == (
        "only its owner, or someone with the authority client_release, shares this file",
    )


def test_of_what_one_cannot_read_nothing_is_told() -> None:
    world = juniper()
    ref = world.save("nora", "home:nora", "a.txt", level="restricted", walls=(OAKRIDGE,))
    for wanted in (ref, FileRef("no.such.file", 1)):
        for audience in ("everyone", "person:maya", "matter:nowhere"):
            assert publish_refusals(world.office, "daniel", wanted, audience) == (NOT_YOURS,)
    assert publish_refusals(world.office, "nobody", ref, "everyone") == (NOT_YOURS,)


def test_an_audience_one_may_not_know_is_as_one_that_is_not_there() -> None:
    world = juniper()
    ref = world.save("daniel", "home:daniel", "a.txt")
    world.accept(ref, "daniel")
    unknown = publish_refusals(world.office, "daniel", ref, "person:nobody")
    for audience in (
        f"matter:{OAKRIDGE}",
        "matter:nowhere",
        "client:oakridge",
        "person:omar",
        "department:x",
        "",
        "person:zed",
    ):
        assert publish_refusals(world.office, "daniel", ref, audience) == unknown
    assert publish_refusals(world.office, "daniel", ref, f"matter:{TOOLING}") == ()


def test_the_class_must_admit_every_recipient() -> None:
    world = juniper()
    ref = world.save("daniel", "home:daniel", "a.txt", level="confidential")
    world.accept(ref, "daniel")
    assert publish_refusals(world.office, "daniel", ref, "everyone") == (
        "the classification forbids Dev: this version is confidential",
    )
    world.do(ClearanceSet("dev", "confidential"))
    assert publish_refusals(world.office, "daniel", ref, "everyone") == ()


def test_the_wall_must_admit_every_recipient() -> None:
    world = juniper()
    ref = world.save("daniel", "home:daniel", "a.txt", walls=(RIVERBEND,))
    world.accept(ref, "daniel")
    assert publish_refusals(world.office, "daniel", ref, f"matter:{TOOLING}") == (
        "the wall around Riverbend close forbids Dev",
    )
    world.do(MemberAdded(RIVERBEND, "dev"))
    assert publish_refusals(world.office, "daniel", ref, f"matter:{TOOLING}") == ()


def test_a_held_copy_goes_only_to_those_entitled_to_its_source() -> None:
    """RULE 27: private copies stay, and cannot be shared to anyone not now entitled to the source."""
    world = juniper()
    source = world.save("elena", "home:elena", "pay.txt", level="confidential")
    grant = world.share(source, "person:daniel")
    world.share(source, "person:quinn")
    copy = world.save("daniel", "home:daniel", "middle.txt", level="confidential", sources=(source,))
    made = world.save("daniel", "home:daniel", "mine.txt", level="confidential", sources=(copy,))
    world.accept(made, "daniel")
    assert publish_refusals(world.office, "daniel", made, "person:nora") == ()
    world.revoke(grant)
    assert can("daniel", "read", made, world.office).allowed, "his own copy stays"
    refusals = publish_refusals(world.office, "daniel", made, "person:nora")
    assert refusals == ("this is a held copy of something withdrawn from you, and Nora may not read its source",)
    assert "pay" not in refusals[0]
    assert publish_refusals(world.office, "daniel", made, "person:quinn") == ()
    world.share(source, "department:assurance")
    assert publish_refusals(world.office, "daniel", made, "person:nora") == (), "he is entitled again"


def test_a_copy_made_by_one_who_left_the_team_is_a_held_copy_too() -> None:
    world = juniper()
    source = world.save("elena", f"matter:{RIVERBEND}", "ledger.csv", walls=(RIVERBEND,))
    world.share(source, TEAM)
    made = world.save("daniel", "home:daniel", "mine.txt", sources=(source,))
    world.accept(made, "daniel")
    world.do(MemberRemoved(RIVERBEND, "daniel"))
    assert publish_refusals(world.office, "daniel", made, "person:dev") == (
        "this is a held copy of something withdrawn from you, and Dev may not read its source",
    )
    assert publish_refusals(world.office, "daniel", made, "person:quinn") == ()


def test_a_colleagues_sources_that_were_never_ones_own_are_no_held_copies() -> None:
    world = juniper()
    private = world.save("daniel", "home:daniel", "thoughts.txt")
    made = world.save("daniel", "home:daniel", "result.txt", sources=(private,))
    world.accept(made, "daniel")
    world.share(made, "everyone")
    assert publish_refusals(world.office, "elena", made, "person:dev") == ()


def test_sources_in_a_circle_end() -> None:
    world = juniper()
    ref = world.save("daniel", "home:daniel", "a.txt", sources=(FileRef("daniel.1.1", 1), FileRef("gone", 3)))
    world.accept(ref, "daniel")
    refusals = publish_refusals(world.office, "daniel", ref, "person:dev")
    assert refusals == ("this is a held copy of something withdrawn from you, and Dev may not read its source",)


def test_people_outside_and_assistants_share_nothing() -> None:
    world = juniper()
    world.do(contact("mia", "riverbend"))
    theirs = world.save("maya", "home:maya", "a.txt", level="public")
    assert publish_refusals(world.office, "maya", theirs, "person:milo")[0].startswith("people outside")
    ref = world.save("daniel", "home:daniel", "a.txt")
    world.accept(ref, "daniel")
    assert not can(Subject("daniel", RIVERBEND), "share", Share(ref, "everyone"), world.office).allowed


def test_without_reviews_the_other_conditions_stand() -> None:
    """DESIGN 3: a fork with reviews off waives acceptance and sign-off, nothing else."""
    world = juniper()
    ref = workbook(world)
    world.do(OfficeForked("p", 1, Switches(reviews=False)))
    assert publish_refusals(world.office, "daniel", ref, TEAM) == ()
    assert publish_refusals(world.office, "daniel", ref, "person:maya") == (
        "the classification forbids Maya: this version is confidential and not released to them",
    )


def test_without_rights_classes_still_guard_the_door() -> None:
    world = juniper()
    ref = workbook(world)
    world.accept(ref, "daniel")
    world.do(OfficeForked("p", 1, Switches(rights=False)))
    assert publish_refusals(world.office, "dev", ref, "everyone") == ()
    assert len(publish_refusals(world.office, "daniel", ref, "person:maya")) == 2
    assert telling_refusals(world.office, ["dev"], [ref]) == ()


def test_what_is_told_must_pass_the_walls_of_its_sources() -> None:
    """RULE 27: a room's members must pass the source's walls."""
    world = juniper()
    ref = workbook(world)
    assert telling_refusals(world.office, ["elena", "quinn", "maya"], [ref]) == ()
    assert telling_refusals(world.office, ["elena", "dev", "nora"], [ref, ref]) == (
        "the wall around Riverbend close forbids Dev and Nora",
    )
    assert telling_refusals(world.office, ["elena"], [FileRef("gone", 1)]) == (NOT_YOURS,)
