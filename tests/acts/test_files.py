"""Acts on files: save, accept, sign off, classify, share, take back. Three acts where other offices have one."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.access import NOT_YOURS, Subject, can
from simulator.acts import Refused
from simulator.acts.context import find_file
from simulator.acts.files import MEDIA_TYPES, media_type, safe_path
from simulator.events import FileAccepted, FileClassified, FileRevoked, FileSaved, FileShared, PersonAdded
from simulator.fold.files import path_key
from simulator.records import FileRef
from simulator.view import view
from tests.access.world import OAKRIDGE, RIVERBEND
from tests.acts.desk import Desk, names

# -- save -----------------------------------------------------------------------------------------------------------------


def test_saving_makes_a_private_first_version(desk: Desk) -> None:
    answer = desk.act("daniel", "save", path="Notes/Todo.md", text="one\n")
    (did,) = desk.did
    assert isinstance(did, FileSaved)
    assert answer == {"file": did.file, "version": 1, "path": "Notes/Todo.md"}
    assert (did.space, did.owner, did.matter) == ("home:daniel", "daniel", "")
    assert (did.version.level, did.version.walls, did.version.media_type) == ("internal", (), "text/markdown")
    assert desk.blobs.get(did.version.blob.sha256) == b"one\n"
    assert [p.id for p in desk.office.people.values() if can(Subject(p.id), "read", FileRef(did.file, 1), desk.office).allowed] == ["daniel"]


def test_saving_again_makes_the_next_version_and_keeps_the_first(desk: Desk) -> None:
    first = desk.act("daniel", "save", path="Notes/Todo.md", text="one")["file"]
    answer = desk.act("daniel", "save", path="notes/TODO.md", text="two")
    assert answer == {"file": first, "version": 2, "path": "Notes/Todo.md"}, "the name stays as it was first written"
    assert [desk.blobs.get(v.blob.sha256) for v in desk.office.files[first].versions] == [b"one", b"two"]
    assert desk.office.owned["daniel"] == (first,)


def test_two_ways_to_write_a_letter_are_one_path(desk: Desk) -> None:
    """RULE 20: names are in NFC."""
    first = desk.act("daniel", "save", path="Notes/Re\u0301sume\u0301.md", text="one")
    second = desk.act("daniel", "save", path="Notes/R\u00e9sum\u00e9.md", text="two")
    assert second["file"] == first["file"] and second["version"] == 2 and first["path"] == "Notes/R\u00e9sum\u00e9.md"


def test_two_people_may_use_one_path_in_their_own_homes(desk: Desk) -> None:
    first = desk.act("daniel", "save", path="a.md", text="x")["file"]
    second = desk.act("elena", "save", path="a.md", text="x")["file"]
    assert first != second and desk.office.files[second].owner == "elena"


@pytest.mark.parametrize(
    "path", ["", " ", "/", "/etc/passwd", "..", "../x", "a/../../x", "a/..", "./a", "a/./b", "a//b", "a/", "é" * 101,
             "x/" * 12 + "y", "/home/npc/computer/", "/home/npc/computer/../x"],
)  # fmt: skip
def test_what_is_no_path_in_the_home(desk: Desk, path: str) -> None:
    said = desk.refused("daniel", "save", path=path, text="x")
    assert said == f"{path!r} is no path in your home: write it as Folder/Name.ext, without .. or empty parts"


@pytest.mark.parametrize(
    ("path", "kept"),
    [("/home/npc/computer/Notes/a.md", "Notes/a.md"), (" Notes/a.md ", "Notes/a.md"), ("a\nb.md", "a b.md"), ("...", "..."),
     ("x/" * 11 + "y", "x/" * 11 + "y"), ("a" * 200, "a" * 200), ("..a/b..", "..a/b..")],
)  # fmt: skip
def test_what_is_one(path: str, kept: str) -> None:
    assert safe_path(path) == kept


@given(st.text(alphabet=st.sampled_from("ab./\\ \u0301é\n\x00~"), max_size=30))
def test_any_path_is_safe_or_refused(path: str) -> None:
    """No text leads out of the home, and what is safe once is safe as it is."""
    try:
        clean = safe_path(path)
    except Refused:
        return
    parts = clean.split("/")
    assert not clean.startswith("/") and not {"", ".", ".."} & set(parts)
    assert safe_path(clean) == clean and path_key("s", clean) == path_key("s", path.removeprefix("/home/npc/computer/"))


def test_what_was_opened_gives_its_class_and_walls_to_what_is_saved(desk: Desk) -> None:
    """RULE 27: and a later version never falls below an earlier one."""
    desk.opened = (desk.world.save("daniel", "home:daniel", "in.txt", level="confidential", walls=(RIVERBEND,)),)
    file = desk.act("daniel", "save", path="out.md", text="x")["file"]
    desk.opened = ()
    desk.act("daniel", "save", path="out.md", text="all new")
    for version in desk.office.files[file].versions:
        assert (version.level, version.walls) == ("confidential", (RIVERBEND,))
    assert desk.office.files[file].versions[0].sources != () == desk.office.files[file].versions[1].sources


def test_what_lies_in_a_matters_project_folder_is_behind_its_wall(desk: Desk) -> None:
    desk.act("daniel", "save", path="Documents/Projects/Riverbend close/a.md", text="x")
    (did,) = desk.did
    assert isinstance(did, FileSaved) and (did.matter, did.version.walls) == (RIVERBEND, (RIVERBEND,))
    for other in ("Documents/Projects/Oakridge audit/a.md", "Documents/Projects/a.md", "Projects/Riverbend close/x/a.md"):
        desk.act("daniel", "save", path=other, text="x")
        (did,) = desk.did
        assert isinstance(did, FileSaved) and (did.matter, did.version.walls) == ("", ())


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.CSV", "text/csv"), ("a", "application/octet-stream"), (".md", "application/octet-stream"), ("a.tar.pdf", "application/pdf"),
     ("a.xlsx", MEDIA_TYPES[".xlsx"]), ("a.unheard-of", "application/octet-stream")],
)  # fmt: skip
def test_a_media_type_follows_from_the_name_alone(name: str, kind: str) -> None:
    """RULE 37: the machine has no say."""
    assert media_type(name) == kind


# -- accept and sign off --------------------------------------------------------------------------------------------------


def test_accepting_is_of_the_latest_version_or_of_the_one_that_is_named(desk: Desk) -> None:
    ref = desk.world.save("daniel", "home:daniel", "a.txt")
    desk.world.again(ref, "two")
    assert desk.act("daniel", "accept", file="a.txt@1")["version"] == 1
    answer = desk.act("daniel", "accept", file="/home/npc/computer/a.txt")
    (did,) = desk.did
    assert isinstance(did, FileAccepted)
    assert answer == {"acceptance": did.acceptance.id, "file": ref.file, "version": 2}
    assert desk.office.accepted[ref.file] == (did.acceptance.id,), "a later version takes the earlier one's place"


def test_accepting_twice_is_refused_and_an_earlier_version_must_be_meant(desk: Desk) -> None:
    """RULE 18: a second acceptance names the one it replaces."""
    ref = desk.world.save("daniel", "home:daniel", "a.txt")
    desk.world.again(ref, "two")
    current = desk.act("daniel", "accept", file="a.txt@2")["acceptance"]
    assert desk.refused("daniel", "accept", file="a.txt@2") == f"you have already given accept to this version ({current})"
    said = desk.refused("daniel", "accept", file="a.txt@1")
    assert said == f"version 2 already has accept by daniel: name {current} in replaces to replace it"
    assert desk.refused("daniel", "accept", file="a.txt@1", replaces="other.1") == said
    desk.act("daniel", "accept", file="a.txt@1", replaces=current)
    (now,) = desk.office.accepted[ref.file]
    assert desk.office.acceptances[now].version == 1


def test_somebody_else_replaces_an_acceptance_by_naming_it(desk: Desk) -> None:
    ref = desk.world.save("daniel", "home:daniel", "a.txt")
    desk.world.share(ref, "person:elena")
    current = desk.act("daniel", "accept", file="a.txt")["acceptance"]
    path = find_path(desk, "elena", ref)
    assert f"name {current} in replaces" in desk.refused("elena", "accept", file=path)
    desk.act("elena", "accept", file=path, replaces=current)
    (now,) = desk.office.accepted[ref.file]
    assert desk.office.acceptances[now].by == "elena"
    assert ("notice", ref.file) in desk.inbox("daniel") and "accept of a.txt, version 1" in desk.notices("daniel")


def find_path(desk: Desk, who: str, ref: FileRef) -> str:
    path = view(desk.office, who).path_of(ref)
    assert path
    return path


def test_the_two_capacities_stand_side_by_side(desk: Desk) -> None:
    ref = desk.world.save("daniel", "home:daniel", "a.txt")
    desk.world.share(ref, "person:quinn")
    desk.act("daniel", "accept", file="a.txt")
    answer = desk.act("quinn", "sign_off", file=find_path(desk, "quinn", ref))
    assert answer["version"] == 1 and len(desk.office.accepted[ref.file]) == 2
    assert {desk.office.acceptances[i].capacity for i in desk.office.accepted[ref.file]} == {"accept", "quality_signoff"}


def test_a_file_of_others_cannot_be_told_from_none(desk: Desk) -> None:
    ref = desk.world.save("elena", "home:elena", "secret.txt")
    for tool, more in (("accept", {}), ("sign_off", {}), ("classify", {"level": "public"}), ("share", {"audience": ["everyone"]}),
                       ("unshare", {"audience": "everyone"})):  # fmt: skip
        for name in (ref.file, f"{ref.file}@1", "/home/npc/computer/secret.txt", "secret.txt", "none.txt", "a@b@c", "@1", ""):
            said = desk.refused("daniel", tool, file=name, **more)
            assert said == f"there is no file {name!r}, or it is not yours to see"


@pytest.mark.parametrize("number", ["0", "2", "-1", "one", "1.0", "1@1"])
def test_a_version_that_is_not_there_is_no_version(desk: Desk, number: str) -> None:
    desk.world.save("daniel", "home:daniel", "a.txt")
    assert find_file(desk.office, "daniel", f"a.txt@{number}") is None


def test_a_name_with_an_at_sign_is_found_whole(desk: Desk) -> None:
    ref = desk.world.save("daniel", "home:daniel", "me@firm.txt")
    assert find_file(desk.office, "daniel", "me@firm.txt") == find_file(desk.office, "daniel", "me@firm.txt@1") == ref


# -- classify -------------------------------------------------------------------------------------------------------------


def test_a_class_is_set_on_one_version_and_keeps_its_walls(desk: Desk) -> None:
    ref = desk.world.save("elena", "home:elena", "a.txt", level="confidential", walls=(RIVERBEND,))
    answer = desk.act("elena", "classify", file="a.txt", level="internal", release_to=["riverbend"])
    assert desk.did == (FileClassified(ref.file, 1, "internal", (RIVERBEND,), ("riverbend",), "elena"),)
    assert answer == {"file": ref.file, "version": 1, "level": "internal"}
    again = desk.world.again(ref, "two")
    versions = desk.office.files[ref.file].versions
    assert [(v.level, v.release) for v in versions] == [("internal", ("riverbend",)), ("internal", ())]
    assert again.version == 2


def test_a_client_that_one_does_not_serve_is_no_client(desk: Desk) -> None:
    desk.world.save("elena", "home:elena", "a.txt")
    for client in ("oakridge", "nobody"):
        said = desk.refused("elena", "classify", file="a.txt", level="public", release_to=[client])
        assert said == f"there is no client {client!r}: use the id of a client"


# -- share and take back --------------------------------------------------------------------------------------------------


def shared(desk: Desk, *audience: str) -> FileRef:
    ref = desk.world.save("daniel", "home:daniel", "a.txt")
    desk.world.accept(ref, "daniel")
    desk.act("daniel", "share", file="a.txt", audience=list(audience))
    return ref


def test_sharing_makes_a_grant_for_each_audience_once(desk: Desk) -> None:
    ref = desk.world.save("daniel", "home:daniel", "a.txt")
    desk.world.accept(ref, "daniel")
    answer = desk.act("daniel", "share", file="a.txt", audience=["Elena", "person:elena", "department:risk", " everyone "])
    assert answer == {"file": ref.file, "version": 1, "shared_with": ["person:elena", "department:risk", "everyone"]}
    assert names(desk.did) == ["FileShared"] * 3
    grants = [p.grant for p in desk.did if isinstance(p, FileShared)]
    assert len({g.id for g in grants}) == 3 and all(g.reason and g.rules for g in grants)
    desk.act("daniel", "share", file="a.txt", audience=["everyone"])
    assert desk.did == (), "what is shared is shared"


def test_sharing_tells_those_who_may_read_without_waking_them(desk: Desk) -> None:
    shared(desk, "department:services", "person:quinn")
    for person in ("elena", "quinn"):
        assert [(s.kind, s.wakes) for s in desk.office.inboxes[person]] == [("share", False)]
    assert "nora" not in desk.office.inboxes


@pytest.mark.parametrize("audience", ["staff:elena", "department:none", "matter:none", "client:none", "group:", "a:b:c"])
def test_what_is_no_audience(desk: Desk, audience: str) -> None:
    ref = desk.world.save("daniel", "home:daniel", "a.txt")
    desk.world.accept(ref, "daniel")
    said = desk.refused("daniel", "share", file="a.txt", audience=[audience])
    assert "is no audience" in said or "nobody here is called" in said


@pytest.mark.parametrize(("hidden", "none"), [(f"matter:{OAKRIDGE}", "matter:none"), ("client:oakridge", "client:none"), ("omar", "omer")])
def test_an_audience_one_may_not_know_cannot_be_told_from_none(desk: Desk, hidden: str, none: str) -> None:
    ref = desk.world.save("daniel", "home:daniel", "a.txt")
    desk.world.accept(ref, "daniel")
    for tool, key in (("share", "audience"), ("unshare", "audience")):
        said = [
            desk.refused("daniel", tool, file="a.txt", **{key: [a] if tool == "share" else a}).replace(a, "A")
            for a in (hidden, none)
        ]
        assert said[0] == said[1]


def test_sharing_with_nobody_is_no_share(desk: Desk) -> None:
    desk.world.save("daniel", "home:daniel", "a.txt")
    assert desk.refused("daniel", "share", file="a.txt", audience=[]) == "say with whom: audience is empty"


def test_one_who_may_not_receive_it_stops_the_whole_share(desk: Desk) -> None:
    """DESIGN 4: no part of an audience is left out in silence."""
    ref = desk.world.save("daniel", "home:daniel", "a.txt", level="restricted")
    desk.world.accept(ref, "daniel")
    desk.happen(PersonAdded(msgspec.structs.replace(desk.office.people["daniel"], clearance="restricted")))
    said = desk.refused("daniel", "share", file="a.txt", audience=["elena", "quinn"])
    assert said == "the classification forbids Quinn: this version is restricted"
    assert ref.file not in desk.office.by_file


def test_taking_back_ends_exactly_that_share(desk: Desk) -> None:
    ref = shared(desk, "person:elena", "everyone")
    (mine, other) = desk.office.by_file[ref.file]
    assert desk.act("daniel", "unshare", file="a.txt", audience="elena") == {"revoked": mine}
    assert desk.did == (FileRevoked(mine, "daniel"),)
    assert desk.office.by_file[ref.file] == (other,) and mine in desk.office.revoked
    assert "person:elena" not in desk.office.by_audience
    assert desk.refused("daniel", "unshare", file="a.txt", audience="elena") == "you have given no such share"


def test_a_share_is_taken_back_by_its_giver_or_the_owner_and_nobody_else(desk: Desk) -> None:
    ref = shared(desk, "everyone")
    path = find_path(desk, "elena", ref)
    assert desk.refused("elena", "unshare", file=path, audience="everyone") == "you have given no such share"
    given = desk.world.share(ref, "person:quinn", by="elena")
    assert desk.act("elena", "unshare", file=path, audience="quinn") == {"revoked": given}
    given = desk.world.share(ref, "person:quinn", by="elena")
    assert desk.act("daniel", "unshare", file="a.txt", audience="quinn") == {"revoked": given}


def test_a_share_of_another_version_is_another_share(desk: Desk) -> None:
    ref = shared(desk, "everyone")
    desk.world.again(ref, "two")
    assert desk.refused("daniel", "unshare", file="a.txt", audience="everyone") == "you have given no such share"
    assert desk.act("daniel", "unshare", file="a.txt@1", audience="everyone")


def test_who_has_left_can_do_nothing_with_files(desk: Desk) -> None:
    desk.world.save("daniel", "home:daniel", "a.txt")
    desk.happen(PersonAdded(msgspec.structs.replace(desk.office.people["daniel"], active=False)))
    assert desk.refused("daniel", "save", path="b.txt", text="x") == NOT_YOURS
    assert "not yours to see" in desk.refused("daniel", "accept", file="a.txt")
