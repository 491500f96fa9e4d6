"""Who may read, list, create, save, accept and classify files (DESIGN 4, RULES 26 to 28)."""

from __future__ import annotations

import pytest

from simulator.access import NOT_YOURS, Reclass, Subject, can, inherited, who_can
from simulator.events import ClearanceSet, MemberRemoved, OfficeForked, Switches
from simulator.records import FileRef
from tests.access.world import OAKRIDGE, RIVERBEND, TOOLING, World, juniper


def reads(world: World, who: str | Subject, ref: FileRef) -> bool:
    return can(who, "read", ref, world.office).allowed


def readers(world: World, ref: FileRef) -> list[str]:
    return [p for p in sorted(world.office.people) if reads(world, p, ref)]


def test_a_draft_is_its_owners_alone() -> None:
    """STORY: who could see version 1 on Monday at 16:00: Daniel alone."""
    world = juniper()
    draft = world.save("daniel", "home:daniel", "Documents/Projects/Riverbend close/2025-12/Reconciliation.xlsx")
    assert readers(world, draft) == ["daniel"]
    assert can("daniel", "read", draft, world.office).reason == "its owner"


def test_a_reporting_line_grants_nothing() -> None:
    """DESIGN 4: Elena is Daniel's manager, and that opens none of his files."""
    world = juniper()
    assert not reads(world, "elena", world.save("daniel", "home:daniel", "notes.txt"))


def test_not_there_and_not_yours_are_the_same_words() -> None:
    world = juniper()
    secret = world.save("nora", "home:nora", "secret.txt")
    hidden = can("daniel", "read", secret, world.office)
    for absent in (FileRef("nora.9.9", 1), FileRef(secret.file, 2), FileRef(secret.file, 0), FileRef(secret.file, -1)):
        assert can("daniel", "read", absent, world.office) == hidden
    assert hidden.reason == NOT_YOURS


@pytest.mark.parametrize(
    ("audience", "expected"),
    [
        ("person:dev", ["daniel", "dev"]),
        ("department:risk", ["daniel", "quinn"]),
        (f"matter:{RIVERBEND}", ["daniel", "elena", "quinn"]),
        ("everyone", ["daniel", "dev", "elena", "nora", "quinn"]),
        ("client:riverbend", ["daniel"]),
        ("department:", ["daniel"]),
        ("client:", ["daniel"]),
        ("matter:nowhere", ["daniel"]),
        ("nonsense", ["daniel"]),
    ],
)
def test_a_grant_reaches_its_audience_and_no_one_else(audience: str, expected: list[str]) -> None:
    world = juniper()
    ref = world.save("daniel", "home:daniel", "guide.txt")
    world.share(ref, audience)
    assert readers(world, ref) == expected


def test_a_grant_is_of_exactly_one_version() -> None:
    """RULE 26: rights belong to (file, version)."""
    world = juniper()
    first = world.save("daniel", "home:daniel", "guide.txt", "one")
    world.share(first, "everyone")
    second = world.again(first, "two")
    assert reads(world, "elena", first)
    assert not reads(world, "elena", second)
    assert reads(world, "daniel", second)


def test_equal_bytes_give_no_right() -> None:
    """RULE 26: never to a hash."""
    world = juniper()
    world.share(world.save("elena", "home:elena", "a.txt", "the very same words"), "everyone")
    assert not reads(world, "dev", world.save("nora", "home:nora", "b.txt", "the very same words"))


def test_clearance_must_reach_the_level() -> None:
    world = juniper()
    ref = world.save("elena", "home:elena", "pay.txt", level="confidential")
    world.share(ref, "everyone")
    assert readers(world, ref) == ["daniel", "elena", "nora", "quinn"]
    world.do(ClearanceSet("daniel", "internal"))
    assert readers(world, ref) == ["elena", "nora", "quinn"]


def test_a_wall_keeps_everyone_else_out_whatever_is_granted() -> None:
    world = juniper()
    ref = world.save("nora", "home:nora", "findings.txt", walls=(OAKRIDGE,))
    world.share(ref, "everyone")
    world.share(ref, "person:elena")
    assert readers(world, ref) == ["nora"]


def test_every_wall_must_admit() -> None:
    world = juniper()
    ref = world.save("elena", "home:elena", "both.txt", walls=(RIVERBEND, OAKRIDGE))
    world.share(ref, "everyone")
    assert readers(world, ref) == ["elena"]
    unknown = world.save("elena", "home:elena", "odd.txt", walls=("gone",))
    world.share(unknown, "everyone")
    assert readers(world, unknown) == ["elena"]


def test_leaving_a_team_closes_its_wall() -> None:
    world = juniper()
    ref = world.save("elena", f"matter:{RIVERBEND}", "ledger.csv", walls=(RIVERBEND,), level="confidential")
    world.share(ref, "everyone")
    assert reads(world, "daniel", ref)
    world.do(MemberRemoved(RIVERBEND, "daniel"))
    assert not reads(world, "daniel", ref)


def test_people_outside_need_release_and_a_grant() -> None:
    world = juniper()
    ref = world.save("daniel", "home:daniel", "result.txt", level="confidential", walls=(RIVERBEND,))
    world.share(ref, "client:riverbend")
    assert not reads(world, "maya", ref)
    world.classify(ref, "elena", "confidential", (RIVERBEND,), ("riverbend",))
    assert reads(world, "maya", ref)
    assert reads(world, "milo", ref)
    assert not reads(world, "omar", ref)
    unshared = world.again(ref, "two")
    world.classify(unshared, "elena", "public")
    assert not reads(world, "maya", unshared)


def test_a_release_does_not_open_a_wall() -> None:
    world = juniper()
    ref = world.save("daniel", "home:daniel", "result.txt", walls=(RIVERBEND,), release=("oakridge",))
    world.share(ref, "person:omar")
    assert not reads(world, "omar", ref)


def test_public_material_reaches_people_outside_by_a_grant() -> None:
    world = juniper()
    ref = world.save("elena", "company", "brochure.txt", level="public")
    assert not reads(world, "maya", ref)
    world.share(ref, "person:maya")
    assert reads(world, "maya", ref)


def test_a_clients_own_material_may_go_back_to_it() -> None:
    world = juniper()
    ref = world.save(
        "elena", f"matter:{RIVERBEND}", "bank.csv", author="maya", level="confidential", walls=(RIVERBEND,)
    )
    world.share(ref, "person:milo")
    world.share(ref, "person:omar")
    assert reads(world, "milo", ref)
    assert not reads(world, "omar", ref)


def test_people_who_left_and_strangers_have_no_right() -> None:
    world = juniper()
    own = world.save("zed", "home:zed", "mine.txt")
    public = world.save("elena", "company", "guide.txt", level="public")
    world.share(public, "everyone")
    for who in ("zed", "nobody", ""):
        assert not reads(world, who, own)
        assert not reads(world, who, public)
        assert not can(who, "list", "company", world.office).allowed


def test_an_unknown_action_is_refused() -> None:
    world = juniper()
    ref = world.save("daniel", "home:daniel", "a.txt")
    assert not can("daniel", "devour", ref, world.office).allowed  # type: ignore[arg-type]


# -- assistants -------------------------------------------------------------------------------------------------------


def test_an_assistant_is_confined_to_its_matter() -> None:
    """DESIGN 6: Daniel's rights, less every wall but its own; on internal work, no walled file at all."""
    world = juniper()
    plain = world.save("daniel", "home:daniel", "plain.txt")
    ours = world.save("daniel", "home:daniel", "ours.txt", walls=(RIVERBEND,))
    world.do(MemberRemoved(OAKRIDGE, "zed"))
    theirs = world.save("daniel", "home:daniel", "theirs.txt", walls=(OAKRIDGE,))
    both = world.save("daniel", "home:daniel", "both.txt", walls=(RIVERBEND, OAKRIDGE))
    everything = (plain, ours, theirs, both)
    assert [reads(world, Subject("daniel"), r) for r in everything] == [True, True, True, True]
    assert [reads(world, Subject("daniel", RIVERBEND), r) for r in everything] == [True, True, False, False]
    assert [reads(world, Subject("daniel", ""), r) for r in everything] == [True, False, False, False]
    assert not reads(world, Subject("daniel", RIVERBEND), world.save("nora", "home:nora", "x.txt"))


def test_an_assistant_acts_only_in_its_home() -> None:
    world = juniper()
    helper = Subject("daniel", RIVERBEND)
    own = world.save("daniel", "home:daniel", "a.txt")
    in_matter = world.save("daniel", f"matter:{RIVERBEND}", "b.txt")
    walled = world.save("daniel", "home:daniel", "c.txt", walls=(OAKRIDGE,))
    office = world.office
    assert can(helper, "save", own.file, office).allowed
    assert not can(helper, "save", in_matter.file, office).allowed
    assert not can(helper, "save", walled.file, office).allowed
    assert can(helper, "create", "home:daniel", office).allowed
    assert not can(helper, "create", f"matter:{RIVERBEND}", office).allowed
    for action, target in (
        ("accept", own),
        ("quality_signoff", own),
        ("classify", Reclass(own, "restricted")),
        ("request", "elena"),
        ("delegate", RIVERBEND),
    ):
        decision = can(helper, action, target, office)  # type: ignore[arg-type]
        assert decision.reason == "an assistant does not do this: its principal does"


# -- spaces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "space", "allowed"),
    [
        ("daniel", "home:daniel", True),
        ("daniel", "home:elena", False),
        ("daniel", "company", True),
        ("daniel", "department:assurance", True),
        ("daniel", "department:risk", False),
        ("daniel", "department:", False),
        ("daniel", f"matter:{RIVERBEND}", True),
        ("daniel", f"matter:{OAKRIDGE}", False),
        ("daniel", "matter:nowhere", False),
        ("daniel", "", False),
        ("elena", "home:daniel", False),
        ("maya", "home:maya", True),
        ("maya", "company", False),
        ("maya", f"matter:{RIVERBEND}", False),
        (Subject("daniel", RIVERBEND), f"matter:{RIVERBEND}", True),
        (Subject("daniel", RIVERBEND), f"matter:{TOOLING}", False),
        (Subject("daniel", ""), f"matter:{RIVERBEND}", False),
    ],
)
def test_who_lists_which_space(who: str | Subject, space: str, allowed: bool) -> None:
    world = juniper()
    assert can(who, "list", space, world.office).allowed is allowed
    if not isinstance(who, Subject):
        assert can(who, "create", space, world.office).allowed is allowed, "RULE 28: one creates where one can list"


def test_a_clients_contact_hands_material_into_their_own_matters() -> None:
    office = juniper().office
    assert can("maya", "deposit", f"matter:{RIVERBEND}", office).allowed
    assert not can("maya", "deposit", f"matter:{OAKRIDGE}", office).allowed
    assert not can("maya", "deposit", f"matter:{TOOLING}", office).allowed
    assert not can("maya", "deposit", "company", office).allowed
    assert not can("daniel", "deposit", f"matter:{RIVERBEND}", office).allowed


# -- saving, accepting, classifying -----------------------------------------------------------------------------------


def test_only_the_owner_saves_and_others_learn_nothing() -> None:
    world = juniper()
    ref = world.save("daniel", "home:daniel", "a.txt")
    assert can("daniel", "save", ref.file, world.office).allowed
    assert can("elena", "save", ref.file, world.office) == can("elena", "save", "no.such.file", world.office)
    world.share(ref, "person:elena")
    assert can("elena", "save", ref.file, world.office).reason == "only its owner saves a new version of this file"


def test_accepting_needs_the_authority_and_the_right_to_read() -> None:
    world = juniper()
    ref = world.save("daniel", "home:daniel", "a.txt")
    office = world.office
    assert can("daniel", "accept", ref, office).allowed
    assert can("quinn", "accept", ref, office).reason == NOT_YOURS
    world.share(ref, "everyone")
    assert can("quinn", "accept", ref, world.office).allowed
    assert can("dev", "accept", ref, world.office).reason == "this needs the authority accept"


def test_no_one_signs_off_their_own_work() -> None:
    world = juniper()
    own = world.save("quinn", "home:quinn", "a.txt")
    assert not can("quinn", "quality_signoff", own, world.office).allowed
    ref = world.save("daniel", "home:daniel", "b.txt")
    assert can("quinn", "quality_signoff", ref, world.office).reason == NOT_YOURS
    world.share(ref, "person:quinn")
    world.share(ref, "person:elena")
    assert can("quinn", "quality_signoff", ref, world.office).allowed
    assert can("elena", "quality_signoff", ref, world.office).reason == "this needs the authority quality_signoff"
    delegation = world.delegate("quinn", "check it")
    helped = world.save("quinn", "home:quinn", "c.txt", author=f"assistant:{delegation}")
    assert not can("quinn", "quality_signoff", helped, world.office).allowed


def test_the_owner_raises_and_the_authority_lowers() -> None:
    """RULE 27: lowering is a separate act by someone authorized."""
    world = juniper()
    ref = world.save("daniel", "home:daniel", "a.txt", level="confidential", walls=(RIVERBEND,))
    world.share(ref, "person:elena")
    world.share(ref, "person:quinn")
    office = world.office

    def may(who: str, target: Reclass) -> bool:
        return can(who, "classify", target, office).allowed

    raised = Reclass(ref, "restricted", (RIVERBEND,))
    assert may("daniel", raised)
    assert may("elena", raised)
    assert not may("quinn", raised)
    for lowered in (
        Reclass(ref, "internal", (RIVERBEND,)),
        Reclass(ref, "confidential"),
        Reclass(ref, "confidential", (RIVERBEND,), ("riverbend",)),
    ):
        assert not may("daniel", lowered)
        assert may("elena", lowered)
    assert not may("elena", Reclass(ref, "confidential", (RIVERBEND, OAKRIDGE))), "a wall she does not know"
    assert not may("elena", Reclass(ref, "confidential", (RIVERBEND,), ("oakridge",))), "a client she does not serve"
    assert can("nora", "classify", Reclass(ref, "public"), office).reason == NOT_YOURS


def test_what_is_made_inherits_the_highest_class_and_every_wall() -> None:
    """RULE 27: no laundering."""
    world = juniper()
    a = world.save("elena", "home:elena", "a", level="public")
    b = world.save("elena", "home:elena", "b", level="restricted", walls=(RIVERBEND,))
    c = world.save("elena", "home:elena", "c", level="confidential", walls=(OAKRIDGE, RIVERBEND))
    assert inherited(world.office, ()) == ("internal", ())
    assert inherited(world.office, (a,)) == ("internal", ())
    assert inherited(world.office, (a, b, c)) == ("restricted", (OAKRIDGE, RIVERBEND))
    assert inherited(world.office, (a, FileRef("gone", 1)))[0] == "restricted"


# -- switches and audits ----------------------------------------------------------------------------------------------


def test_rights_switched_off_open_everything_to_staff_and_nothing_to_others() -> None:
    """DESIGN 3: an ablation from a common past."""
    world = juniper()
    ref = world.save("nora", "home:nora", "a.txt", level="restricted", walls=(OAKRIDGE,))
    world.do(OfficeForked("p", 1, Switches(rights=False)))
    assert can("dev", "read", ref, world.office).reason == "rights are switched off"
    assert not reads(world, "maya", ref)
    assert not reads(world, "zed", ref)


def test_who_can_names_readers_with_reasons_and_those_who_hold_copies() -> None:
    """RULE 27: held copies are listed."""
    world = juniper()
    source = world.save("elena", "home:elena", "figures.txt", level="confidential")
    grant = world.share(source, "person:daniel")
    copy = world.save("daniel", "home:daniel", "mine.txt", level="confidential", sources=(source,))
    assert [(e.person, e.reason) for e in who_can(world.office, source)] == [
        ("daniel", "granted to person:daniel by elena"), ("elena", "its owner"),
    ]  # fmt: skip
    world.revoke(grant)
    assert [(e.person, e.copy) for e in who_can(world.office, source)] == [("elena", None), ("daniel", copy)]
