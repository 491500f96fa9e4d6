"""What comes in from outside with bytes of its own, and what may leave for a server that others read."""

from __future__ import annotations

import msgspec
import pytest

from simulator.access import NOT_YOURS
from simulator.carrying import MailOut, PostOut, Projection, decode_item
from simulator.events import Event, FileSaved, FileShared, MailSent, MessagePosted, PersonAdded, RoomOpened
from simulator.records import Body, ChatMessage, FileRef, Mail, Room
from tests.access.world import RIVERBEND
from tests.acts.desk import Desk, names

SERVERS = {"chat": "rc", "mail": "smtp", "calendar": "dav"}


def test_what_came_with_a_persons_message_is_kept_in_that_persons_home(desk: Desk) -> None:
    desk.received = (("C:\\Users\\me\\Plan.XLSX", desk.blob(b"plan")), ("notes.txt", desk.blob(b"notes")))
    answer = desk.act("daniel", "receive")
    assert names(desk.did) == ["FileSaved", "FileSaved"] and len(answer["files"]) == 2
    first = desk.did[0]
    assert isinstance(first, FileSaved)
    assert (first.space, first.path, first.owner) == ("home:daniel", "Received/2026-01-05/Plan.XLSX", "daniel")
    assert desk.office.grants == type(desk.office.grants)(), "kept, and neither accepted nor shared"


def test_who_has_left_receives_nothing() -> None:
    desk = Desk()
    desk.received = (("a.txt", desk.blob(b"x")),)
    desk.happen(PersonAdded(msgspec.structs.replace(desk.office.people["daniel"], active=False)))
    assert desk.refused("daniel", "receive") == NOT_YOURS


@pytest.mark.parametrize("name", ["", "..", "a/..", "é" * 150])
def test_a_name_from_outside_that_is_none_is_refused(desk: Desk, name: str) -> None:
    desk.received = ((name, desk.blob(b"x")),)
    assert desk.refused("daniel", "receive").endswith("is no file name")


def test_what_came_with_a_clients_mail_is_filed_as_what_a_client_sends(desk: Desk) -> None:
    """RULE 27: behind the wall of the matter, confidential, for its team and its sender alone."""
    desk.received = (("Bank.csv", desk.blob(b"1,2")),)
    desk.act("maya", "write_mail", to=["elena"], subject="bank", text="here", attachments=[{"name": "b.txt", "text": "t"}])
    saved = [p for p in desk.did if isinstance(p, FileSaved)]
    assert [p.path.rsplit("/", 1)[1] for p in saved] == ["b.txt", "Bank.csv"]
    assert {p.version.level for p in saved} == {"confidential"} and {p.version.walls for p in saved} == {(RIVERBEND,)}
    shared = {p.grant.audience for p in desk.did if isinstance(p, FileShared)}
    assert shared == {f"matter:{RIVERBEND}", "person:maya"}


def leaves(desk: Desk, payload: MessagePosted | MailSent, targets: dict[str, str] = SERVERS) -> list[PostOut | MailOut]:
    """Return what an event sends out."""
    desk.happen(payload)
    event = Event(desk.office.revision, desk.world.now, "daniel", "daniel.1", payload)
    return [decode_item(item) for item in Projection(targets)(event, desk.office)]  # type: ignore[misc]


def test_a_cited_file_is_uploaded_only_where_every_member_of_the_room_may_read_it() -> None:
    """DESIGN 9: whoever is in the room could open it at the server. The others are told its name, as the message does."""
    desk = Desk()
    private = desk.act("daniel", "save", path="Notes/Private.md", text="mine")["file"]
    everyones = desk.act("daniel", "save", path="Notes/Ours.md", text="ours")["file"]
    desk.act("daniel", "accept", file=everyones)
    desk.act("daniel", "share", file=everyones, audience=["everyone"])
    room = Room("r1", "general", "channel", ("daniel", "elena"))
    desk.happen(RoomOpened(room))
    cites = (FileRef(private, 1), FileRef(everyones, 1))
    (post,) = leaves(desk, MessagePosted(ChatMessage("m1", room.id, "daniel", desk.world.now, Body("see", size=3), cites=cites)))
    assert isinstance(post, PostOut)
    assert [f.name for f in post.files] == ["Ours.md"] and post.withheld == ("Private.md",)


def test_a_mails_attachment_goes_along_only_where_its_recipients_may_read_it(desk: Desk) -> None:
    private = desk.act("daniel", "save", path="Notes/Private.md", text="mine")["file"]
    for to, expected in ((("elena",), []), ((), ["Private.md"])):
        mail = Mail(f"m{len(to)}", "m", "daniel", to, (), "s", Body("t", size=1), desk.world.now, (FileRef(private, 1),))
        (out,) = leaves(desk, MailSent(mail))
        assert isinstance(out, MailOut) and [f.name for f in out.files] == expected
