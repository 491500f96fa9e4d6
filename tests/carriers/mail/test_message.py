"""What leaves: the bytes of a mail, as other people's readers see them (DESIGN 9)."""

from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage, Message
from email.utils import parsedate_to_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.carriers.mail import ids
from services.carriers.mail.message import as_bytes, bounce_notice, build, normal_text, recipients_of
from services.carriers.mail.names import file_name, header_text
from services.carriers.mail.parse import is_ours, read_letter, take
from simulator.carrying import Account, BounceOut, Directory
from tests.carriers.mail.cast import AT, PEOPLE, Memory, attached, mail

ANYTHING = st.text(st.characters(codec=None, exclude_categories=()), max_size=300)


def independent(raw: bytes) -> EmailMessage:
    """Read bytes with the standard library's own parser, as a mail program would."""
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def _lines(body: Message[str, str]) -> str:
    assert isinstance(body, EmailMessage)
    return str(body.get_content()).replace("\r\n", "\n").rstrip("\n")


def test_a_mail_says_who_to_whom_when_and_what() -> None:
    blobs = Memory()
    out = mail(to=("daniel", "maya"), cc=("quinn",), files=(attached(blobs, "Abschluß.pdf", b"%PDF-1.4"),))
    seen = independent(as_bytes(build("srv/mail:elena/3.1", out, "Please see attached.\n", PEOPLE, blobs)))
    assert str(seen["From"]) == '"Elena Ruiz, CPA" <elena@juniper.example>'
    assert [a.addr_spec for a in seen["To"].addresses] == ["daniel@juniper.example", "maya@riverbend.example"]
    assert [a.display_name for a in seen["To"].addresses] == ["Daniel Okafor", "Mäyä Lindqvist"]
    assert str(seen["Cc"]) == "Quinn <quinn@juniper.example>"
    assert str(seen["Subject"]) == "December"
    assert str(seen["X-OfficeTown-Event"]) == "srv/mail:elena/3.1"
    assert str(seen["X-OfficeTown-Office"]) == "juniper0feed"
    body = seen.get_body()
    assert body is not None and _lines(body) == "Please see attached."
    (file,) = seen.iter_attachments()
    assert (file.get_filename(), file.get_content_type(), file.get_content()) == (
        "Abschluß.pdf", "application/pdf", b"%PDF-1.4",
    )  # fmt: skip


def test_the_date_is_simulated_time_in_the_offices_zone() -> None:
    seen = independent(as_bytes(build("k", mail(), "x", PEOPLE, Memory())))
    date = parsedate_to_datetime(str(seen["Date"]))
    assert date.timestamp() == AT
    assert str(seen["Date"]).endswith("-0500")


@pytest.mark.parametrize("at", [-(10**20), -1, 0, 10**11, 10**20])
def test_no_instant_and_no_zone_keeps_a_mail_from_leaving(at: int) -> None:
    nowhere = Directory("o", "O", "Not/A Zone", PEOPLE.accounts)
    assert b"\r\nDate: " in as_bytes(build("k", mail(at=at), "x", nowhere, Memory()))


def test_a_thread_is_the_first_mails_message_id() -> None:
    first = ids.mail_id(PEOPLE.office, "maya/1.1")
    seen = independent(as_bytes(build("k", mail(thread="maya/1.1"), "x", PEOPLE, Memory())))
    assert str(seen["In-Reply-To"]) == str(seen["References"]) == f"<{first}>"
    assert "In-Reply-To" not in independent(as_bytes(build("k", mail(), "x", PEOPLE, Memory())))


@pytest.mark.parametrize("written", ["mail:abc@laptop.example", "mail:<abc@laptop.example>"])
def test_a_thread_that_began_outside_keeps_its_foreign_message_id(written: str) -> None:
    out = mail(thread="daniel/9.1", thread_origin=written)
    seen = independent(as_bytes(build("k", out, "x", PEOPLE, Memory())))
    assert str(seen["In-Reply-To"]) == "<abc@laptop.example>"


def test_what_came_in_keeps_its_message_id_where_it_is_shown_again() -> None:
    out = mail(sender="daniel", to=("elena",), origin="mail:abc@laptop.example")
    assert build("k", out, "x", PEOPLE, Memory())["Message-ID"] == "<abc@laptop.example>"


@given(st.text(max_size=200), st.text(max_size=40))
def test_a_mails_id_is_read_back_from_its_message_id_by_its_own_office_alone(name: str, office: str) -> None:
    message_id = ids.mail_id(office, name)
    assert message_id.isascii() and " " not in message_id
    if len(name) <= 10:
        assert ids.office_mail(office, f"<{message_id}>") == name
    assert ids.office_mail(office, message_id) in (name, "")
    assert ids.office_mail(office + "x", message_id) == ""


def test_ids_that_differ_only_in_signs_or_case_have_different_message_ids() -> None:
    names = ("a/b", "a-b", "a.b", "A/b", "a-2Fb", "a_b")
    assert len({ids.mail_id("o", name).lower() for name in names}) == len(names)
    assert [ids.office_mail("o", ids.mail_id("o", name)) for name in names] == list(names)


def test_a_notice_is_ours_and_no_mail_of_the_office() -> None:
    name = ids.notice_id("o", "bounce", "x")
    assert ids.is_ours("o", name) and not ids.is_ours("p", name)
    assert ids.office_mail("o", name) == ""
    assert ids.referred("o", (name,)) == ""
    assert ids.referred("o", (name, ids.mail_id("o", "elena/1.1"))) == "elena/1.1"
    assert ids.referred("o", ("other@laptop.example", ids.mail_id("o", "elena/1.1"))) == "mail:other@laptop.example"


@given(
    ANYTHING, ANYTHING, ANYTHING, ANYTHING,
    st.lists(st.tuples(ANYTHING, st.binary(max_size=400), ANYTHING), max_size=3),
)  # fmt: skip
def test_any_text_name_and_file_comes_back_as_it_was(
    name: str, subject: str, text: str, key: str, files: list[tuple[str, bytes, str]]
) -> None:
    """The documented normalisation: control and line-ending signs, NFC names, line ends after the last line."""
    blobs = Memory()
    people = Directory(
        "o", name, "UTC", (Account("a", name, "a", "a@x.example"), Account("b", "B", "b", "b@x.example"))
    )
    out = mail(sender="a", to=("b", "a"), subject=subject, files=tuple(attached(blobs, *file) for file in files))
    raw = as_bytes(build(key, out, text, people, blobs))
    assert raw.isascii() and b"\n" not in raw.replace(b"\r\n", b"")
    assert max(len(line) for line in raw.split(b"\r\n")) <= 998
    letter = read_letter(raw)
    assert letter.senders == ("a@x.example",)
    assert letter.to == ("b@x.example", "a@x.example")
    assert letter.cc == letter.bcc == ()
    assert letter.subject == header_text(subject)
    assert letter.text == normal_text(text)
    assert letter.event == header_text(key) and letter.office == "o"
    assert [file.data for file in letter.files] == [data for _, data, _ in files]
    for number, (given_name, _, _) in enumerate(files, 1):
        shown = file_name(given_name, "?", number)
        came = letter.files[number - 1].name
        assert came == shown or shown == f"attachment-{number}.bin"
    assert letter.remarks == ()
    assert is_ours(letter, people)
    assert raw == as_bytes(build(key, out, text, people, blobs))


@given(ANYTHING, ANYTHING)
def test_nothing_that_a_mail_says_becomes_a_header(name: str, subject: str) -> None:
    """Header injection: line ends of every kind in names and subjects."""
    evil = f"{name}\r\nBcc: victim@x.example\n\nbody\x85X-Evil: 1\u2028X-Evil: 2{subject}"
    people = Directory("o", evil, "UTC", (Account("elena", evil, "e", "e@x.example"), *PEOPLE.accounts[:1]))
    raw = as_bytes(build(evil, mail(subject=evil), "body", people, Memory()))
    head = raw.partition(b"\r\n\r\n")[0]
    fields = [line.partition(b":")[0] for line in head.split(b"\r\n") if line[:1] not in (b" ", b"\t")]
    assert fields == [
        b"Message-ID", b"Date", b"From", b"To", b"Subject", b"X-OfficeTown-Office", b"X-OfficeTown-Event",
        b"MIME-Version", b"Content-Type", b"Content-Transfer-Encoding",
    ]  # fmt: skip
    assert [a.addr_spec for a in independent(raw)["To"].addresses] == ["daniel@juniper.example"]


@given(ANYTHING)
def test_other_readers_see_the_same_names_and_texts(text: str) -> None:
    """The standard library's parser as an independent reader; it loses white space at the ends, so those are left out."""
    people = Directory("o", "O", "UTC", (Account("elena", text, "e", "e@x.example"), *PEOPLE.accounts[:1]))
    seen = independent(as_bytes(build("k", mail(subject=text), text, people, Memory())))
    assert " ".join(str(seen["Subject"]).split()) == " ".join(header_text(text).split())
    assert [a.addr_spec for a in seen["From"].addresses] == ["e@x.example"]
    body = seen.get_body()
    assert body is not None and _lines(body) == normal_text(text)


def test_what_looks_like_an_encoded_word_is_shown_as_it_is() -> None:
    name = "=?utf-8?b?RXZpbA==?="
    people = Directory("o", "O", "UTC", (Account("elena", name, "e", "e@x.example"), *PEOPLE.accounts[:1]))
    raw = as_bytes(build("k", mail(subject=name), "x", people, Memory()))
    assert str(independent(raw)["Subject"]) == read_letter(raw).subject == name
    assert independent(raw)["From"].addresses[0].display_name == name


def test_a_boundary_in_the_text_ends_nothing() -> None:
    blobs = Memory()
    out = mail(files=(attached(blobs, "a.pdf", b"x"),))
    boundary = build("k", out, "x", PEOPLE, blobs).get_boundary()
    text = f"one\n--{boundary}--\ntwo"
    assert read_letter(as_bytes(build("k", out, text, PEOPLE, blobs))).text == text


def test_a_message_or_a_container_travels_as_plain_bytes() -> None:
    blobs = Memory()
    kinds = ("message/rfc822", "multipart/mixed", "text/html; charset=x", "no type", "")
    out = mail(files=tuple(attached(blobs, f"f{n}", b"From: x\n\n\xff", kind) for n, kind in enumerate(kinds)))
    seen = independent(as_bytes(build("k", out, "x", PEOPLE, blobs)))
    assert [p.get_content_type() for p in seen.iter_attachments()] == [
        "application/octet-stream", "application/octet-stream", "text/html", "application/octet-stream",
        "application/octet-stream",
    ]  # fmt: skip
    assert all(p.get_payload(decode=True) == b"From: x\n\n\xff" for p in seen.iter_attachments())


def test_whoever_left_still_has_an_address_that_leads_nowhere() -> None:
    out = mail(sender="gone\r\nX: y", to=("daniel", "daniel"), cc=("daniel", "lost"))
    raw = as_bytes(build("k", out, "x", PEOPLE, Memory()))
    assert b"@unknown.officetown.invalid>" in raw and b"\r\nX:" not in raw
    assert [person for person, _ in recipients_of(out, PEOPLE)] == ["daniel", "lost"]


def test_a_bounce_says_in_plain_words_what_did_not_happen_and_why() -> None:
    bounce = BounceOut("daniel", "mail:abc@laptop.example", "the mail was not sent: no such colleague", AT)
    seen = independent(as_bytes(bounce_notice(bounce, PEOPLE)))
    assert str(seen["From"]) == "OfficeTown <office@officetown.invalid>"
    assert str(seen["To"]) == "Daniel Okafor <daniel@juniper.example>"
    assert str(seen["In-Reply-To"]) == "<abc@laptop.example>"
    assert str(seen["Auto-Submitted"]) == "auto-generated"
    body = seen.get_body()
    assert body is not None and "Why: the mail was not sent: no such colleague" in body.get_content()
    assert as_bytes(bounce_notice(bounce, PEOPLE)) == as_bytes(bounce_notice(bounce, PEOPLE))


def test_an_answer_to_a_mail_names_the_offices_own_id() -> None:
    first = ids.mail_id(PEOPLE.office, "elena/3.1")
    raw = (
        f"From: daniel@juniper.example\r\nTo: elena@juniper.example\r\nMessage-ID: <q@l.example>\r\n"
        f"In-Reply-To: <{first}>\r\n\r\nYes."
    )
    arrival = take(read_letter(raw.encode()), PEOPLE).arrival
    assert arrival is not None and arrival.in_reply_to == "elena/3.1"
