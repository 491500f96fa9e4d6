"""Mail without any server: Maildirs out, SMTP on the loopback in, nothing lost over a crash (issue 4, deliver 5)."""

from __future__ import annotations

import mailbox
import os
import smtplib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.carriers.mail import ids
from services.carriers.maildir.carrier import MaildirMail
from services.carriers.maildir.checks import live_check, ready_check
from services.carriers.maildir.spool import Spool
from simulator.arriving import MailArrived
from simulator.carrying import Account, BounceOut, Directory, MailCarrier
from simulator.errors import CarrierError, UsageError
from tests.carriers.mail.cast import AT, PEOPLE, Memory, attached, letter, mail

OURS = ids.mail_id(PEOPLE.office, "elena/3.1")


@pytest.fixture
def mails(tmp_path: Path) -> Iterator[MaildirMail]:
    made = MaildirMail(tmp_path / "mail", PEOPLE, Memory())
    made.provision(PEOPLE)
    yield made
    made.close()


@pytest.fixture
def port(mails: MaildirMail) -> int:
    return mails.listen()


def box(folder: Path, username: str) -> mailbox.Maildir:
    """Open somebody's Maildir with the standard library, as any mail program would."""
    return mailbox.Maildir(folder / "people" / username, create=False)


def seen(maildir: mailbox.Maildir) -> list[str]:
    """Return the Message-IDs in a Maildir."""
    return [str(message["Message-ID"]) for message in maildir]


def hand_in(
    port: int, raw: bytes, sender: str = "daniel@juniper.example", to: tuple[str, ...] = ("elena@juniper.example",)
) -> None:
    with smtplib.SMTP("127.0.0.1", port, "laptop.example", 5) as session:
        refused = session.sendmail(sender, to, raw)
        assert refused == {}


def keys(polled_arrivals: tuple[object, ...]) -> list[str]:
    return [a.key for a in polled_arrivals if isinstance(a, MailArrived)]


# -- out --------------------------------------------------------------------------------------------------------------


def test_everybody_has_a_maildir_and_making_them_again_changes_nothing(tmp_path: Path, mails: MaildirMail) -> None:
    mails.send("k", mail(), "Hello", False)
    mails.provision(PEOPLE)
    assert sorted(p.name for p in (tmp_path / "mail/people").iterdir()) == ["daniel", "elena", "maya", "quinn"]
    assert seen(box(tmp_path / "mail", "daniel")) == [f"<{OURS}>"]
    assert {p.stat().st_mode & 0o777 for p in (tmp_path / "mail").rglob("*") if p.is_file()} == {0o600}
    assert {p.stat().st_mode & 0o777 for p in (tmp_path / "mail/people").rglob("*") if p.is_dir()} == {0o700}


def test_a_mail_lies_with_its_recipients_and_in_the_senders_sent_folder(tmp_path: Path) -> None:
    blobs = Memory()
    carrier: MailCarrier = MaildirMail(tmp_path, PEOPLE, blobs)
    out = mail(to=("daniel", "maya"), cc=("daniel",), files=(attached(blobs, "Q4 Größen.xlsx", b"PK\x03\x04"),))
    carrier.send("k", out, "Dear all", False)
    for username in ("daniel", "maya"):
        (message,) = box(tmp_path, username)
        assert message.get_subdir() == "new"
        assert [p.get_filename() for p in message.walk() if p.get_filename()] == ["Q4 Größen.xlsx"]
    assert seen(box(tmp_path, "elena")) == []
    sent = box(tmp_path, "elena").get_folder("Sent")
    assert seen(sent) == [f"<{OURS}>"]
    assert [m.get_flags() for m in sent] == ["S"]
    (file,) = (tmp_path / "people/daniel/new").iterdir()
    assert file.stat().st_mtime == AT


def test_the_same_mail_twice_is_one_copy_also_where_it_was_read_and_moved(tmp_path: Path, mails: MaildirMail) -> None:
    out = mail(to=("daniel", "quinn"))
    mails.send("k", out, "Hello", False)
    new = next((tmp_path / "mail/people/daniel/new").iterdir())
    new.rename(tmp_path / "mail/people/daniel/cur" / f"{new.name}:2,RS")
    archive = tmp_path / "mail/people/quinn/.Archive/cur"
    archive.mkdir(parents=True)
    other = next((tmp_path / "mail/people/quinn/new").iterdir())
    other.rename(archive / f"{other.name}:2,S")
    mails.send("k", out, "Hello", True)
    assert len(seen(box(tmp_path / "mail", "daniel"))) == 1
    assert seen(box(tmp_path / "mail", "quinn")) == []
    assert len(seen(box(tmp_path / "mail", "elena").get_folder("Sent"))) == 1


def test_a_mail_to_oneself_is_received_and_sent(tmp_path: Path, mails: MaildirMail) -> None:
    for again in (False, True):
        mails.send("k", mail(to=("elena",)), "Note", again)
    assert len(seen(box(tmp_path / "mail", "elena"))) == 1
    assert len(seen(box(tmp_path / "mail", "elena").get_folder("Sent"))) == 1


def test_a_disk_that_refuses_is_said_and_the_mail_is_whole_afterwards(
    tmp_path: Path, mails: MaildirMail, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is a system call away; what stands in for its failure is put where the call is made."""

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(CarrierError, match="No space left on device"):
            mails.send("k", mail(to=("daniel", "quinn")), "Hello", False)
    assert seen(box(tmp_path / "mail", "daniel")) == []
    assert list((tmp_path / "mail/people/daniel/tmp").iterdir()) == []
    mails.send("k", mail(to=("daniel", "quinn")), "Hello", True)
    assert [len(seen(box(tmp_path / "mail", u))) for u in ("daniel", "quinn")] == [1, 1]


def test_names_that_no_folder_should_have_stay_below_the_folder(tmp_path: Path) -> None:
    people = Directory("o", "O", "UTC", (Account("e", "E", "../../evil", "e@o.example"),))
    carrier = MaildirMail(tmp_path / "mail", people, Memory())
    carrier.provision(people)
    carrier.send("k", mail(sender="e", to=("e", "gone/../..")), "Hello", False)
    assert [p.name for p in tmp_path.iterdir()] == ["mail"]
    assert len(list((tmp_path / "mail/people").iterdir())) == 2


def test_a_bounce_lies_there_once(tmp_path: Path, mails: MaildirMail) -> None:
    bounce = BounceOut("daniel", "mail:abc@laptop.example", "there is no such colleague", AT)
    mails.bounce(bounce)
    mails.bounce(bounce)
    (message,) = box(tmp_path / "mail", "daniel")
    assert message["Subject"] == "Not done: there is no such colleague"
    assert message["In-Reply-To"] == "<abc@laptop.example>"


# -- in ---------------------------------------------------------------------------------------------------------------


def test_a_person_answers_and_the_office_has_it_once(tmp_path: Path, mails: MaildirMail, port: int) -> None:
    mails.send("k", mail(), "Hello", False)
    hand_in(port, letter(In_Reply_To=f"<{OURS}>"))
    first = mails.poll("")
    (arrival,) = first.arrivals
    assert isinstance(arrival, MailArrived)
    assert (arrival.person, arrival.to, arrival.in_reply_to, arrival.text) == (
        "daniel",
        ("elena",),
        "elena/3.1",
        "Done.",
    )
    assert mails.poll(first.cursor).arrivals == ()
    out = mail("daniel/0.1", "elena/3.1", "daniel", ("elena",), origin=arrival.key)
    mails.send("k2", out, arrival.text, False)
    (shown,) = box(tmp_path / "mail", "elena")
    assert shown["Message-ID"] == "<abc@laptop.example>" and shown["In-Reply-To"] == f"<{OURS}>"
    assert seen(box(tmp_path / "mail", "daniel").get_folder("Sent")) == []


def test_what_was_accepted_survives_a_crash_before_and_after_it_was_read(
    tmp_path: Path, mails: MaildirMail, port: int
) -> None:
    """Acknowledged means present: it is on the disk before the 250, and there until a cursor says that it was kept."""
    hand_in(port, letter())
    mails.close()
    restarted = MaildirMail(tmp_path / "mail", PEOPLE, Memory())
    polled = restarted.poll("")
    assert keys(polled.arrivals) == ["mail:abc@laptop.example"]
    again = MaildirMail(tmp_path / "mail", PEOPLE, Memory())
    assert keys(again.poll("").arrivals) == ["mail:abc@laptop.example"]
    assert again.poll(polled.cursor).arrivals == ()
    assert again.poll("garbage").arrivals == ()
    assert len(list((tmp_path / "mail/in/taken").iterdir())) == 1


def test_nothing_is_acknowledged_that_is_not_on_the_disk(
    tmp_path: Path, mails: MaildirMail, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(smtplib.SMTPDataError, match="451.*No space left on device"):
            hand_in(port, letter())
    assert mails.poll("").arrivals == ()
    hand_in(port, letter())
    assert keys(mails.poll("").arrivals) == ["mail:abc@laptop.example"]


def test_mails_come_in_the_order_in_which_they_were_sent_and_in_batches(tmp_path: Path, mails: MaildirMail) -> None:
    for n in range(120):
        mails.spool.add(letter(message_id=f"<m{n}@l.example>"))
    cursor, came = "", list[str]()
    while True:
        polled = mails.poll(cursor)
        if not polled.arrivals:
            break
        came += keys(polled.arrivals)
        cursor = polled.cursor
        assert len(cursor) < 3_000
    assert came == [f"mail:m{n}@l.example" for n in range(120)]


def test_a_number_that_is_used_anew_takes_no_other_mail_for_it(tmp_path: Path) -> None:
    """Somebody emptied `taken`: the numbers begin anew, and an old cursor must not put a new mail away."""
    carrier = MaildirMail(tmp_path, PEOPLE, Memory())
    carrier.spool.add(letter())
    cursor = carrier.poll("").cursor
    carrier.poll(cursor)
    for file in (tmp_path / "in/taken").iterdir():
        file.unlink()
    restarted = MaildirMail(tmp_path, PEOPLE, Memory())
    restarted.spool.add(letter(message_id="<new@l.example>"))
    assert keys(restarted.poll(cursor).arrivals) == ["mail:new@l.example"]


@pytest.mark.parametrize(
    ("sender", "to", "raw", "code", "why"),
    [
        ("who@x.example", ("elena@juniper.example",), letter(), 550, b"who@x.example is nobody's address at Juniper"),
        ("", ("elena@juniper.example",), letter(), 550, b"nobody"),
        ("elena@juniper.example", ("quinn@juniper.example",), letter(), 550, b"says that it is from daniel@juniper"),
        ("daniel@juniper.example", ("elena@juniper.example",), letter(""), 550, b"must name one author"),
        (
            "daniel@juniper.example", ("elena@juniper.example", "quinn@juniper.example"), letter(), 550,
            b"no blind copies at Juniper: name quinn@juniper.example",
        ),
        ("daniel@juniper.example", ("elena@juniper.example",), letter() + b"x\r\n" * 10_000_000, 552, b"Error"),
    ],
    ids=["stranger", "empty sender", "other author", "no author", "blind copy", "25 MB"],
)  # fmt: skip
def test_what_cannot_come_in_is_answered_in_plain_words(
    mails: MaildirMail, port: int, sender: str, to: tuple[str, ...], raw: bytes, code: int, why: bytes
) -> None:
    with smtplib.SMTP("127.0.0.1", port, "laptop.example", 10) as session:
        with pytest.raises(smtplib.SMTPResponseException) as told:
            session.sendmail(sender, to, raw)
        error = told.value.smtp_error
        assert told.value.smtp_code == code
        assert why in (error if isinstance(error, bytes) else error.encode())
        session.sendmail("daniel@juniper.example", ("elena@juniper.example",), letter(message_id="<next@l.example>"))
    assert keys(mails.poll("").arrivals) == ["mail:next@l.example"]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("nobody@x.example", b"Nobody at Juniper has the address nobody@x.example"),
        ("office@officetown.invalid", b"is not read"),
    ],
)
def test_an_unknown_recipient_is_refused_by_name(mails: MaildirMail, port: int, address: str, why: bytes) -> None:
    with (
        smtplib.SMTP("127.0.0.1", port, "laptop.example", 5) as session,
        pytest.raises(smtplib.SMTPRecipientsRefused) as told,
    ):
        session.sendmail("daniel@juniper.example", (address,), letter())
    code, answer = told.value.recipients[address]
    assert code == 550 and why in answer


def test_garbage_harms_nobody(mails: MaildirMail, port: int) -> None:
    for garbage in (
        b"\x00\xff\xfe" * 1000 + b"\r\n", b"GET / HTTP/1.1\r\n\r\n", b"EHLO x\r\nMAIL FROM:<\xff@\x00>\r\n",
        b"HELO x\r\n" + b"A" * 2_000_000 + b"\r\n", b"EHLO x\r\nMAIL FROM:<" + b"a" * 5000 + b"@b.c> SIZE=99999999999\r\n",
        b"DATA\r\nRCPT TO:<a@b.c>\r\nRSET\r\nAUTH PLAIN AAAA\r\nSTARTTLS\r\nVRFY x\r\nQUIT\r\n", b"",
        b"EHLO x\r\nMAIL FROM:<daniel@juniper.example>\r\nRCPT TO:<elena@juniper.example>\r\nDATA\r\nhalf a mail",
    ):  # fmt: skip
        with socket.create_connection(("127.0.0.1", port), 5) as raw:
            raw.sendall(garbage)
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(65536):
                pass
    assert mails.poll("").arrivals == ()
    hand_in(port, letter())
    assert keys(mails.poll("").arrivals) == ["mail:abc@laptop.example"]


def test_a_mail_that_is_handed_in_and_not_parsable_is_a_remark_or_refused(mails: MaildirMail, port: int) -> None:
    raw = b"From: daniel@juniper.example\r\nTo: elena@juniper.example\r\n\xff\xfe: \x00\r\nContent-Type: ;;;\r\n\r\n\x00\x80.\r\n"
    hand_in(port, raw)
    (arrival,) = mails.poll("").arrivals
    assert isinstance(arrival, MailArrived) and arrival.key.endswith("@content.officetown.invalid")


def test_nobody_can_speak_for_the_office(mails: MaildirMail, port: int) -> None:
    hand_in(port, letter(message_id=f"<{OURS}>"))
    polled = mails.poll("")
    assert polled.arrivals == ()
    assert polled.remarks == ("A mail that claims to be the office's own was not let in: 'Re: December'.",)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "mail.example", "::"])
def test_it_listens_on_the_loopback_alone(mails: MaildirMail, host: str) -> None:
    with pytest.raises(UsageError, match="loopback alone"):
        mails.listen(host)


def test_a_port_in_use_is_said_and_closing_twice_is_no_matter(mails: MaildirMail, port: int, tmp_path: Path) -> None:
    other = MaildirMail(tmp_path / "other", PEOPLE, Memory())
    with pytest.raises(CarrierError, match=f"127.0.0.1:{port}"):
        other.listen(port=port)
    mails.close()
    mails.close()
    assert other.listen("localhost", port) == port
    other.close()


def test_who_joined_later_may_write_at_once(mails: MaildirMail, port: int) -> None:
    sam = Account("sam", "Sam", "sam", "sam@juniper.example")
    mails.provision(Directory(PEOPLE.office, PEOPLE.name, PEOPLE.zone, (*PEOPLE.accounts, sam)))
    hand_in(port, letter("sam@juniper.example"), "sam@juniper.example")
    (arrival,) = mails.poll("").arrivals
    assert isinstance(arrival, MailArrived) and arrival.person == "sam"


def test_the_doctor_passes_and_says_what_is_wrong(tmp_path: Path, mails: MaildirMail, port: int) -> None:
    assert [(name, ok) for name, ok, _ in ready_check(mails, port)] == [("mail: folders", True), ("mail: SMTP", True)]
    assert [(name, ok) for name, ok, _ in live_check(mails, AT, "t")] == [
        ("mail: deliver", True),
        ("mail: read back", True),
    ]
    mails.close()
    assert [ok for _, ok, _ in ready_check(mails, port)] == [True, False]
    (tmp_path / "file").write_text("no folder")
    broken = MaildirMail(tmp_path / "file", PEOPLE, Memory())
    assert [ok for _, ok, _ in ready_check(broken)] == [False]
    assert [ok for _, ok, _ in live_check(broken, AT, "t")] == [False]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.sampled_from(["", "crash", "moved"])), max_size=12))
@settings(max_examples=25)
def test_under_any_order_of_retries_there_is_one_copy(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, bool, str]]
) -> None:
    folder = tmp_path_factory.mktemp("mail")
    sent: set[int] = set()
    for number, restart, after in steps:
        carrier = MaildirMail(folder, PEOPLE, Memory())
        again = number in sent
        sent.add(number)
        if after == "crash" and not again:
            carrier.boxes.deliver(
                "daniel", ids.mail_id(PEOPLE.office, f"elena/{number}.1"), AT, b"Message-ID: <x>\n\n", False
            )
        carrier.send("k", mail(f"elena/{number}.1", to=("daniel", "quinn")), "Hello", again or after == "crash")
        if after == "moved" and restart:
            for file in list((folder / "people/quinn/new").iterdir()):
                file.rename(folder / "people/quinn/cur" / f"{file.name}:2,S")
    for username in ("daniel", "quinn"):
        if sent:
            assert len(list(box(folder, username))) == len(sent)


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=8), st.integers(0, 8))
@settings(max_examples=25)
def test_the_spool_loses_and_doubles_nothing_over_restarts(
    tmp_path_factory: pytest.TempPathFactory, mails: list[bytes], restart: int
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    spool, names = Spool(folder), list[str]()
    for number, data in enumerate(mails):
        names.append(spool.add(data))
        if number == restart:
            spool.take(names[:2])
            spool = Spool(folder)
    put_away = 2 if restart < len(mails) else 0
    waiting = [name for name, _ in spool.waiting()]
    assert waiting == names[min(put_away, restart + 1) if put_away else 0 :]
    assert [spool.read(name, 100) for name in waiting] == mails[len(mails) - len(waiting) :]
