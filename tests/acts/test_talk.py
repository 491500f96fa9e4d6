"""Acts of talk: messages and mails, inside and to clients; each refusal in its words, and nothing told by them."""

from __future__ import annotations

import base64

import msgspec
import pytest

from simulator.access import NOT_YOURS
from simulator.acts import Refused
from simulator.acts.arguments import Attachment
from simulator.acts.talk import ATTACHMENT_LIMIT, _bytes, direct_room
from simulator.events import (
    FileSaved,
    FileShared,
    MailSent,
    MemberRemoved,
    MessagePosted,
    PersonAdded,
    RoomLeft,
    RoomOpened,
)
from simulator.records import INLINE_BYTES, LEVELS, Level
from tests.access.world import OAKRIDGE, RIVERBEND, TOOLING
from tests.acts.desk import Desk, names

CUT = "\n[cut here]"


# -- messages ------------------------------------------------------------------------------------------------------------


def test_a_message_to_a_room_is_one_event_and_says_where_it_went(desk: Desk) -> None:
    room = desk.world.room("general", ["daniel", "elena"])
    answer = desk.act("daniel", "post_message", to="#General", text="good morning", asks=True)
    (posted,) = desk.did
    assert isinstance(posted, MessagePosted)
    assert answer == {"message": posted.message.id, "room": room}
    assert (posted.message.sender, posted.message.body.text, posted.message.asks) == ("daniel", "good morning", True)
    assert posted.message.thread == ""
    assert desk.inbox("elena") == [("message", posted.message.id)] and desk.inbox("daniel") == []


def test_the_first_direct_message_opens_the_room_and_the_next_uses_it(desk: Desk) -> None:
    first = desk.act("elena", "post_message", to="Daniel", text="hello")
    assert names(desk.did) == ["RoomOpened", "MessagePosted"]
    opened = desk.did[0]
    assert isinstance(opened, RoomOpened)
    assert opened.room.id == first["room"] == direct_room("daniel", "elena") == direct_room("elena", "daniel")
    assert opened.room.members == ("daniel", "elena") and opened.room.kind == "direct"
    back = desk.act("daniel", "post_message", to="elena@juniper.example", text="hello to you")
    assert names(desk.did) == ["MessagePosted"] and back["room"] == first["room"]


def test_an_answer_joins_the_thread_of_what_it_answers(desk: Desk) -> None:
    first = desk.act("elena", "post_message", to="daniel", text="ready?")["message"]
    second = desk.act("daniel", "post_message", to="elena", text="nearly", in_reply_to=first)["message"]
    third = desk.act("elena", "post_message", to="daniel", text="and now?", in_reply_to=second)["message"]
    assert [desk.office.messages[m].thread for m in (first, second, third)] == ["", first, first]


@pytest.mark.parametrize("text", ["", "   ", "\n\t "])
def test_an_empty_message_is_no_message(desk: Desk, text: str) -> None:
    assert desk.refused("elena", "post_message", to="daniel", text=text) == "the message is empty"


def test_nobody_writes_to_themselves_or_to_a_client_in_chat(desk: Desk) -> None:
    words = "direct messages go to colleagues; write a mail to a client"
    assert desk.refused("elena", "post_message", to="elena", text="x") == words
    assert desk.refused("elena", "post_message", to="maya", text="x") == words


def test_a_room_one_is_not_in_answers_like_a_name_that_nobody_has(desk: Desk) -> None:
    room = desk.world.room("board", ["elena", "quinn"])
    for name in (room, "board"):
        said = desk.refused("dev", "post_message", to=name, text="x")
        assert said == desk.refused("dev", "post_message", to="nowhere", text="x").replace("nowhere", name)


def test_a_message_of_another_room_cannot_be_answered_here_nor_told_from_none(desk: Desk) -> None:
    other = desk.act("elena", "post_message", to="quinn", text="between us")["message"]
    desk.world.room("general", ["daniel", "elena"])
    said = [
        desk.refused("daniel", "post_message", to="general", text="x", in_reply_to=m).replace(m, "ID")
        for m in (other, "no.such.1")
    ]
    assert said == ["there is no message 'ID' in that room"] * 2


def test_who_left_a_room_posts_there_no_more(desk: Desk) -> None:
    room = desk.world.room("general", ["daniel", "elena"])
    desk.happen(RoomLeft(room, "daniel"))
    assert "nobody here is called" in desk.refused("daniel", "post_message", to="general", text="x")


def test_a_first_name_that_two_people_share_is_not_guessed(desk: Desk) -> None:
    twin = msgspec.structs.replace(desk.office.people["quinn"], id="quinn2", name="Elena Marsh", email="q2@juniper.example")
    desk.world.do(PersonAdded(twin))
    one = msgspec.structs.replace(desk.office.people["elena"], name="Elena Frost")
    desk.world.do(PersonAdded(one))
    assert desk.act("daniel", "post_message", to="elena", text="by id")["room"] == direct_room("daniel", "elena")
    again = msgspec.structs.replace(twin, id="third")
    desk.world.do(PersonAdded(again))
    said = desk.refused("daniel", "post_message", to="elena marsh", text="x")
    assert said == "'elena marsh' could be any of quinn2, third: use the id"


def test_a_long_message_is_a_reference_and_a_very_long_one_is_cut(desk: Desk) -> None:
    """RULE 19."""
    desk.act("elena", "post_message", to="daniel", text="é" * 200)
    posted = desk.did[-1]
    assert isinstance(posted, MessagePosted) and posted.message.body.size == 400 > INLINE_BYTES
    assert posted.message.body.text == "" and desk.text(posted.message.body) == "é" * 200
    desk.act("elena", "post_message", to="daniel", text="a" * 9_000)
    posted = desk.did[-1]
    assert isinstance(posted, MessagePosted) and desk.text(posted.message.body) == "a" * 8_000 + CUT


# -- mails inside and to clients -----------------------------------------------------------------------------------------


def test_a_mail_to_colleagues_is_internal_and_begins_a_thread(desk: Desk) -> None:
    answer = desk.act("elena", "send_mail", to=["daniel", "Daniel"], cc=["quinn"], subject=" Close\n of December ", text="see below",
                      matter="riverbend CLOSE")  # fmt: skip
    (sent,) = desk.did
    assert isinstance(sent, MailSent)
    assert answer == {"mail": sent.mail.id, "thread": sent.mail.id, "to": ["daniel"]}
    assert (sent.mail.to, sent.mail.cc, sent.mail.external) == (("daniel",), ("quinn",), False)
    assert (sent.mail.subject, sent.mail.matter) == ("Close  of December", RIVERBEND)
    assert [s.wakes for s in desk.office.inboxes["daniel"]] == [True]
    assert [s.wakes for s in desk.office.inboxes["quinn"]] == [False]


def test_an_answer_keeps_thread_and_matter(desk: Desk) -> None:
    first = desk.act("elena", "send_mail", to=["daniel"], subject="s", text="t", matter=RIVERBEND)["mail"]
    second = desk.act("daniel", "send_mail", to=["elena"], subject="re", text="t", in_reply_to=first)["mail"]
    third = desk.act("elena", "send_mail", to=["daniel"], subject="re", text="t", in_reply_to=second)["mail"]
    assert {desk.office.mails[m].thread for m in (first, second, third)} == {first}
    assert {desk.office.mails[m].matter for m in (first, second, third)} == {RIVERBEND}


def test_mails_that_cannot_be(desk: Desk) -> None:
    assert desk.refused("elena", "send_mail", to=[], subject="s", text="t") == "a mail needs at least one recipient"
    assert desk.refused("elena", "send_mail", to=["daniel"], subject="s", text=" ") == "the mail is empty"
    assert "there is no matter" in desk.refused("elena", "send_mail", to=["daniel"], subject="s", text="t", matter=OAKRIDGE)
    assert "no file 'x.txt'" in desk.refused("elena", "send_mail", to=["daniel"], subject="s", text="t", attachments=["x.txt"])


def test_a_mail_without_a_subject_says_so_and_a_long_one_is_cut(desk: Desk) -> None:
    for subject, kept in (("", "(no subject)"), ("\n", "(no subject)"), ("s" * 400, "s" * 300)):
        mail = desk.act("elena", "send_mail", to=["daniel"], subject=subject, text="t")["mail"]
        assert desk.office.mails[mail].subject == kept


def test_a_mail_of_others_cannot_be_answered_nor_told_from_none(desk: Desk) -> None:
    other = desk.act("elena", "send_mail", to=["quinn"], subject="s", text="t")["mail"]
    said = [
        desk.refused("daniel", "send_mail", to=["elena"], subject="s", text="t", in_reply_to=m).replace(m, "ID")
        for m in (other, "no.such.1")
    ]
    assert said == ["there is no mail 'ID' in your mailbox"] * 2


def test_attachments_are_shared_with_each_recipient_at_exactly_that_version(desk: Desk) -> None:
    first = desk.world.save("daniel", "home:daniel", "a.txt")
    desk.world.accept(first, "daniel")
    desk.world.again(first, "later")
    desk.act("daniel", "send_mail", to=["elena"], cc=["quinn", "daniel"], subject="s", text="t", attachments=["a.txt@1"])
    assert names(desk.did) == ["FileShared", "FileShared", "MailSent"]
    grants = [p.grant for p in desk.did if isinstance(p, FileShared)]
    assert [(g.file, g.version, g.audience) for g in grants] == [
        (first.file, 1, "person:elena"), (first.file, 1, "person:quinn"),
    ]  # fmt: skip
    desk.act("daniel", "send_mail", to=["elena"], subject="again", text="t", attachments=["a.txt@1"])
    assert names(desk.did) == ["MailSent"], "what was given is not given twice"


def test_all_reasons_of_all_attachments_are_told_at_once_and_nothing_leaves(desk: Desk) -> None:
    desk.world.save("daniel", "home:daniel", "a.txt")
    walled = desk.world.save("daniel", "home:daniel", "b.txt", walls=(RIVERBEND,), level="restricted")
    desk.world.accept(walled, "daniel")
    said = desk.refused("daniel", "send_mail", to=["nora"], subject="s", text="t", attachments=["a.txt", "b.txt"])
    assert said.startswith("the mail was not sent: ") and "this version has not been accepted" in said
    assert "the wall around Riverbend close forbids Nora" in said or "not yours" in said


def test_two_attachments_to_many_people_give_everybody_both(desk: Desk) -> None:
    """RULE 8: no two grants of one mail share an id, however many recipients there are."""
    base = desk.office.people["quinn"]
    crowd = [f"p{n:03d}" for n in range(130)]
    for name in crowd:
        desk.world.do(PersonAdded(msgspec.structs.replace(base, id=name, name=name, email=f"{name}@juniper.example")))
    files = [desk.world.save("daniel", "home:daniel", f"{n}.txt") for n in range(2)]
    for ref in files:
        desk.world.accept(ref, "daniel")
    desk.act("daniel", "send_mail", to=crowd, subject="s", text="t", attachments=["0.txt", "1.txt"])
    grants = [p.grant for p in desk.did if isinstance(p, FileShared)]
    assert len({g.id for g in grants}) == len(grants) == 260
    assert len(desk.office.grants) == 260


def test_a_mail_to_a_client_is_external(desk: Desk) -> None:
    mail = desk.act("elena", "send_mail", to=["maya"], subject="s", text="t")["mail"]
    assert desk.office.mails[mail].external
    assert desk.refused("nora", "send_mail", to=["maya"], subject="s", text="t") == desk.refused(
        "nora", "send_mail", to=["mayo"], subject="s", text="t"
    ).replace("mayo", "maya")


# -- clients -------------------------------------------------------------------------------------------------------------


def attach(name: str = "a.csv", text: str = "x,y\n", **more: str) -> dict[str, str]:
    return {"name": name, "text": text, **more}


def test_a_clients_material_is_filed_behind_the_wall_for_the_team_and_its_sender(desk: Desk) -> None:
    """RULE 27 and DESIGN 6: confidential files of the matter, before the mail that brings them."""
    answer = desk.act("maya", "write_mail", to=["elena"], subject="bank", text="here", attachments=[attach("Bank.CSV")],
                      period="2026-01")  # fmt: skip
    assert names(desk.did) == ["FileSaved", "FileShared", "FileShared", "MailSent"]
    saved, first, second, sent = desk.did
    assert isinstance(saved, FileSaved) and isinstance(first, FileShared) and isinstance(second, FileShared)
    assert (saved.space, saved.path, saved.matter) == (f"matter:{RIVERBEND}", "Inputs/2026-01/Bank.CSV", RIVERBEND)
    assert (saved.version.level, saved.version.walls, saved.version.media_type) == ("confidential", (RIVERBEND,), "text/csv")
    assert {first.grant.audience, second.grant.audience} == {f"matter:{RIVERBEND}", "person:maya"}
    assert isinstance(sent, MailSent) and sent.mail.external and sent.mail.matter == RIVERBEND
    assert answer["mail"] == sent.mail.id and len(sent.mail.attachments) == 1
    assert desk.inbox("elena") == [("mail", sent.mail.id)], "what comes with a mail is told by the mail alone"


def test_sending_it_again_makes_the_next_version_of_the_same_file(desk: Desk) -> None:
    desk.act("maya", "write_mail", to=["elena"], subject="s", text="t", attachments=[attach()], period="2026-01")
    desk.act("milo", "write_mail", to=["elena"], subject="s", text="t", attachments=[attach("A.csv", "new")], period="2026-01")
    (file,) = desk.office.files.values()
    assert [v.number for v in file.versions] == [1, 2] and file.path == "Inputs/2026-01/a.csv"
    assert desk.blobs.get(file.versions[1].blob.sha256) == b"new"


def test_two_attachments_of_one_name_are_refused_whatever_the_case(desk: Desk) -> None:
    """RULE 28: paths are unique within a space; the second would have taken the first one's place."""
    twice = [attach("a.csv", "1"), attach("x/A.CSV", "2")]
    said = desk.refused("maya", "write_mail", to=["elena"], subject="s", text="t", attachments=twice)
    assert said == "two attachments are called 'A.CSV': give each a name of its own"


@pytest.mark.parametrize("name", ["", ".", "..", "x/..", "/", "é" * 150])
def test_a_name_that_is_none(desk: Desk, name: str) -> None:
    said = desk.refused("maya", "write_mail", to=["elena"], subject="s", text="t", attachments=[attach(name)])
    assert said.endswith("is no file name")


@pytest.mark.parametrize(
    ("period", "folder"),
    [("", "2026-01-05"), ("..", "2026-01-05"), ("../../etc", "-..-etc"), ("2026/01", "2026-01"), (" . ", "2026-01-05"),
     ("p" * 90, "p" * 40)],
)  # fmt: skip
def test_a_period_is_one_folder_and_leads_nowhere_else(desk: Desk, period: str, folder: str) -> None:
    desk.act("maya", "write_mail", to=["elena"], subject="s", text="t", attachments=[attach("d\\..\\a.csv")], period=period)
    (file,) = desk.office.files.values()
    assert file.path == f"Inputs/{folder}/a.csv"


def test_base64_is_read_strictly_and_wins_over_text(desk: Desk) -> None:
    data = bytes(range(256))
    more = {"base64": base64.b64encode(data).decode()}
    desk.act("maya", "write_mail", to=["elena"], subject="s", text="t", attachments=[attach("a.bin", "words", **more)])
    (file,) = desk.office.files.values()
    assert desk.blobs.get(file.versions[0].blob.sha256) == data
    assert file.versions[0].media_type == "application/octet-stream"
    for bad in ("abc", "a b=", "é===", "----"):
        item = attach("b.bin", base64=bad)
        said = desk.refused("maya", "write_mail", to=["elena"], subject="s", text="t", attachments=[item])
        assert said == "the attachment 'b.bin' is not valid base64"


def test_an_attachment_of_25_mb_and_no_byte_more() -> None:
    """The limit stands behind the schema's own, for what comes in by another way than a tool."""
    most = base64.b64encode(bytes(ATTACHMENT_LIMIT)).decode()
    assert len(_bytes(Attachment("a", base64=most))) == ATTACHMENT_LIMIT == 25_000_000
    with pytest.raises(Refused, match="larger than 25 MB"):
        _bytes(Attachment("a", base64=base64.b64encode(bytes(ATTACHMENT_LIMIT + 1)).decode()))


def test_a_clients_mail_needs_somebody_and_words(desk: Desk) -> None:
    words = "a mail needs a recipient and a text"
    assert desk.refused("maya", "write_mail", to=[], subject="s", text="t") == words
    assert desk.refused("maya", "write_mail", to=["elena"], subject="s", text=" ") == words


def test_a_contact_knows_those_who_work_for_them_alone(desk: Desk) -> None:
    for stranger in ("nora", "dev", "omar", "nobody"):
        said = desk.refused("maya", "write_mail", to=[stranger], subject="s", text="t")
        assert said == f"nobody here is called '{stranger}': use an id from the list of colleagues"


def test_another_clients_matter_cannot_be_told_from_none(desk: Desk) -> None:
    said = {
        desk.refused("maya", "write_mail", to=["elena"], subject="s", text="t", matter=m, attachments=[attach()])
        for m in (OAKRIDGE, "Oakridge audit", "nothing", TOOLING)
    }
    assert len(said) == 1 and NOT_YOURS in said.pop()


def test_an_answer_by_a_client_joins_the_thread(desk: Desk) -> None:
    first = desk.act("elena", "send_mail", to=["maya"], subject="s", text="t")["mail"]
    answer = desk.act("maya", "write_mail", to=["elena"], subject="re", text="thanks", in_reply_to=first)
    assert answer["thread"] == first
    other = desk.act("elena", "send_mail", to=["milo"], subject="s", text="t")["mail"]
    assert "there is no mail" in desk.refused("maya", "write_mail", to=["elena"], subject="s", text="t", in_reply_to=other)


@pytest.mark.parametrize("level", LEVELS)
def test_a_message_rests_on_what_was_opened_only_where_it_is_cited(desk: Desk, level: Level) -> None:
    """RULE 27: a room's members pass the walls of what is cited; clearance plays no part in telling."""
    desk.world.save("elena", "home:elena", "a.txt", level=level, walls=(RIVERBEND,))
    assert desk.act("elena", "post_message", to="quinn", text="see", cites=["a.txt"])
    said = desk.refused("elena", "post_message", to="nora", text="see", cites=["a.txt"])
    assert said == "the message was not posted: the wall around Riverbend close forbids Nora"


def test_off_the_team_one_neither_posts_in_its_room_nor_files_for_it(desk: Desk) -> None:
    room = desk.world.room("riverbend", ["elena", "daniel"], RIVERBEND)
    assert desk.act("daniel", "post_message", to="riverbend", text="in")["room"] == room
    desk.happen(MemberRemoved(RIVERBEND, "daniel"))
    assert desk.refused("daniel", "post_message", to="riverbend", text="out") == NOT_YOURS
    assert "there is no matter" in desk.refused("daniel", "send_mail", to=["elena"], subject="s", text="t", matter=RIVERBEND)
