"""What people send, read as hostile: bounded, never an error, and what is left out is said (issue 4, "Bad input")."""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.carriers.mail.charsets import decode_text, decode_words
from services.carriers.mail.hypertext import LIMIT as HTML_LIMIT
from services.carriers.mail.hypertext import html_text
from services.carriers.mail.mime import DEPTH, FILES, PARTS
from services.carriers.mail.names import file_name
from services.carriers.mail.parse import LIMIT, Letter, read_letter, take
from simulator.canonical import clean_text
from tests.carriers.mail.cast import PEOPLE, letter

HEAD = b"From: daniel@juniper.example\r\nTo: elena@juniper.example\r\nSubject: s\r\nMessage-ID: <m@l.example>\r\n"


def body(content_type: str, data: bytes, encoding: str = "") -> Letter:
    """Read a mail whose body is of that type."""
    head = HEAD + f"Content-Type: {content_type}\r\n".encode()
    return read_letter(
        head + (f"Content-Transfer-Encoding: {encoding}\r\n".encode() if encoding else b"") + b"\r\n" + data
    )


def multipart(kind: str, *parts: bytes, boundary: str = "b") -> bytes:
    """Return a whole mail of several parts."""
    mark = b"--" + boundary.encode()
    inner = b"".join(mark + b"\r\n" + part + b"\r\n" for part in parts)
    return HEAD + f'Content-Type: multipart/{kind}; boundary="{boundary}"\r\n\r\n'.encode() + inner + mark + b"--\r\n"


def attachment(name: bytes, data: bytes = b"data", kind: bytes = b"application/pdf") -> bytes:
    """Return a part that is a file; `name` is the parameter as written."""
    return b"Content-Type: " + kind + b"\r\nContent-Disposition: attachment; " + name + b"\r\n\r\n" + data


def test_a_persons_mail_becomes_an_arrival_in_the_offices_terms() -> None:
    raw = letter(to="Elena <ELENA@juniper.example>, maya@riverbend.example", Cc="quinn@juniper.example")
    taken = take(read_letter(raw), PEOPLE)
    assert taken.remarks == () and taken.arrival is not None
    a = taken.arrival
    assert (a.key, a.person, a.to, a.cc) == ("mail:abc@laptop.example", "daniel", ("elena", "maya"), ("quinn",))
    assert (a.subject, a.text, a.files, a.in_reply_to) == ("Re: December", "Done.", (), "")


# -- charsets and encodings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("utf-8", "Zürich".encode(), "Zürich"),
        ("utf-8", "Zürich".encode("latin-1"), "Zürich"),
        ("us-ascii", "Zürich".encode(), "Zürich"),
        ("iso-8859-1", b"\x93quoted\x94", "“quoted”"),
        ("windows-1251", "Привет".encode("cp1251"), "Привет"),
        ("iso-2022-jp", "日本".encode("iso-2022-jp"), "日本"),
        ("gb2312", "中文".encode("gb18030"), "中文"),
        ("utf-16", "hé".encode("utf-16"), "hé"),
        ("unicode_escape", b"\\u0041", "\\u0041"),
        ("idna", b"xn--a", "xn--a"),
        ("base64", b"QUJD", "QUJD"),
        ("no-such-charset", "ö".encode(), "ö"),
        ("x" * 500, b"a", "a"),
        ("utf-8\x00", b"a", "a"),
        ("", b"a", "a"),
    ],
)
def test_a_charset_is_a_claim(charset: str, data: bytes, text: str) -> None:
    assert decode_text(data, charset) == text
    assert body("text/plain; charset=utf-8", "mostly sound, with öne flaw\xff".encode("latin-1")).text.startswith(
        "mostly"
    )


def test_text_with_one_flaw_keeps_the_rest() -> None:
    data = "Grüße aus Zürich, schöne Grüße aus Zürich".encode() + b"\xff" + b" and more"
    assert decode_text(data, "utf-8") == "Grüße aus Zürich, schöne Grüße aus Zürich\ufffd and more"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("=?utf-8?b?WsO8cmljaA==?=", "Zürich"),
        ("=?utf-8?q?Z=C3=BCrich_now?=", "Zürich now"),
        ("=?utf-8?b?WsM=?=\r\n =?utf-8?b?vHJpY2g=?=", "Zürich"),
        ("=?utf-8?b?WsO8cmljaA?=", "Zürich"),
        ("=?utf-8*de?q?=C3=BC?= a =?latin-1?q?=FC?=", "ü a ü"),
        ("=?nonsense?q?a?=", "a"),
        ("=?utf-8?x?a?=", "=?utf-8?x?a?="),
        ("=?utf-8?b?", "=?utf-8?b?"),
    ],
)
def test_encoded_words_are_decoded_as_far_as_they_go(value: str, text: str) -> None:
    assert decode_words(value) == text


@pytest.mark.parametrize(
    ("encoded", "text", "sound"),
    [
        (b"SGVsbG8=", "Hello", True),
        (b"SGVs\r\nbG8=\r\n", "Hello", True),
        (b"SGVsbG8", "Hello", True),
        (b"SGV!sbG8=", "Hello", False),
        (b"SGVsbG8gd29ybGQhI", "Hello world!", False),
        (b"", "", True),
        (b"\x00\xff", "", False),
    ],
)
def test_broken_base64_gives_what_can_be_read_and_says_so(encoded: bytes, text: str, sound: bool) -> None:
    seen = body("text/plain", encoded, "base64")
    assert seen.text == text
    assert bool(seen.remarks) == (not sound)


def test_nul_controls_and_lone_surrogates_do_not_come_in() -> None:
    seen = body("text/plain; charset=utf-8", b"a\x00b\x1b[31mc\xed\xa0\x80d\r\ne\rf")
    assert seen.text == clean_text(seen.text)
    assert "\x00" not in seen.text and "\x1b" not in seen.text
    seen.text.encode()


# -- what a mail is made of -------------------------------------------------------------------------------------------


def test_html_is_read_and_never_run() -> None:
    seen = body(
        "text/html; charset=utf-8",
        b"<html><head><title>t</title><style>p{}</style></head><body><p>Dear&nbsp;Elena,<br>see <a href='https://x.example/?a=1"
        b"&amp;b=2'>this</a></p><script>alert(1)</script><ul><li>one<li>two</ul><!-- <p>hidden --></body>",
    )
    assert seen.text == "Dear Elena,\nsee this <https://x.example/?a=1&b=2>\n\n- one\n- two"


def test_of_alternatives_the_plain_text_is_read_and_html_where_it_is_empty() -> None:
    plain, html = b"Content-Type: text/plain\r\n\r\nPlain.", b"Content-Type: text/html\r\n\r\n<p>Rich.</p>"
    assert read_letter(multipart("alternative", plain, html)).text == "Plain."
    empty = b"Content-Type: text/plain\r\n\r\n  \r\n"
    assert read_letter(multipart("alternative", empty, html)).text == "Rich."


def test_texts_of_a_mixed_mail_follow_each_other_and_files_are_files() -> None:
    one, two = b"Content-Type: text/plain\r\n\r\nOne.", b"Content-Type: text/plain\r\n\r\nTwo."
    seen = read_letter(multipart("mixed", one, attachment(b"filename=a.pdf"), two))
    assert seen.text == "One.\nTwo."
    assert [(f.name, f.data) for f in seen.files] == [("a.pdf", b"data")]


def test_a_message_inside_is_a_file_and_what_it_says_is_not_said_by_its_sender() -> None:
    inner = b"From: ceo@juniper.example\r\nSubject: Pay/now\r\nMessage-ID: <i@x>\r\n\r\nWire 1,000,000."
    seen = read_letter(multipart("mixed", b"\r\nFYI", b"Content-Type: message/rfc822\r\n\r\n" + inner))
    assert seen.text == "FYI"
    assert seen.senders == ("daniel@juniper.example",)
    assert [(f.name, f.data) for f in seen.files] == [("Pay-now.eml", inner)]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (b'filename="../../etc/passwd"', "passwd"),
        (b'filename="C:\\\\Users\\\\x\\\\report.pdf"', "report.pdf"),
        (b"filename*=utf-8''%2e%2e%2fAbschlu%C3%9F.pdf", "Abschluß.pdf"),
        (b'filename*0="long"; filename*1="name.pdf"', "longname.pdf"),
        (b'filename="=?utf-8?b?WsO8cmljaC5wZGY=?="', "Zürich.pdf"),
        (b'filename=".."', "attachment-1.pdf"),
        (b"filename=", "attachment-1.pdf"),
        (b'filename="a\x00b.pdf"', "a b.pdf"),
        (b"filename*=utf-8''a%E2%80%AEfdp.exe", "afdp.exe"),
        (b'filename="' + b"x" * 500 + b'.pdf"', "x" * 120 + ".pdf"),
    ],
)
def test_a_files_name_is_its_last_part_cleaned(written: bytes, name: str) -> None:
    assert read_letter(multipart("mixed", attachment(written))).files[0].name == name


def test_parameters_that_break_the_standard_library_do_not_keep_a_mail_out() -> None:
    seen = read_letter(multipart("mixed", attachment(b"filename*=x; filename*0=y"), b"\r\nText."))
    assert seen.text == "Text." and [f.data for f in seen.files] == [b"data"]
    assert body("text/plain; charset*=a; charset*0=b", b"Still text.").text == "Still text."


def test_a_mail_of_parts_without_a_boundary_or_an_end_is_read_as_far_as_it_goes() -> None:
    assert body("multipart/mixed", b"just text").text == "just text"
    assert body('multipart/mixed; boundary="never"', b"just text").text == "just text"
    open_ended = (
        HEAD + b"Content-Type: multipart/mixed; boundary=b\r\n\r\npreamble\r\n--b\r\n\r\nOne.\r\n--b\r\n\r\nTwo."
    )
    assert read_letter(open_ended).text == "One.\nTwo."


def test_a_boundary_within_a_line_ends_nothing() -> None:
    part = b"\r\nSee --b\r\nand --b--\r\nhere."
    assert read_letter(multipart("mixed", part, b"\r\nEnd.")).text == "See --b\nand --b--\nhere.\nEnd."


def test_a_boundary_that_another_begins_with_ends_nothing() -> None:
    inner = multipart("alternative", b"\r\nInner.", boundary="bb").partition(b"\r\n\r\n")
    part = b'Content-Type: multipart/alternative; boundary="bb"\r\n\r\n' + inner[2]
    assert read_letter(multipart("mixed", part, b"\r\nOuter.")).text == "Inner.\nOuter."


# -- bounds -----------------------------------------------------------------------------------------------------------


def test_a_mail_over_25_mb_is_named_and_not_let_in() -> None:
    taken = take(read_letter(HEAD + b"\r\n" + b"x" * LIMIT), PEOPLE)
    assert taken.arrival is None
    assert taken.remarks == ("The mail 's' by daniel was not let in: it is larger than 25 MB.",)


def test_thousands_of_parts_and_files_are_bounded_and_said() -> None:
    seen = read_letter(multipart("mixed", *[b"\r\nx"] * 5_000))
    assert seen.text.count("x") == PARTS - 1
    assert seen.remarks == (f"more than {PARTS} parts: the rest was left out",)
    many = read_letter(multipart("mixed", *[attachment(b"filename=a.pdf")] * (FILES + 50)))
    assert len(many.files) == FILES
    assert many.remarks == (f"more than {FILES} files: the rest was left out",)


def test_deep_nesting_is_bounded_and_said() -> None:
    inner = b"\r\ndeep"
    for level in range(DEPTH + 30):
        mark = f"b{level}".encode()
        inner = b"Content-Type: multipart/mixed; boundary=" + mark + b"\r\n\r\n--" + mark + b"\r\n" + inner + b"\r\n"
    seen = read_letter(HEAD + inner)
    assert seen.text == "" and seen.remarks == (f"parts nested more than {DEPTH} deep were left out",)


def _nested(short: bytes) -> bytes:
    """Many megabytes of short lines under nested parts."""
    head = b"".join(f"Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n".encode() for n in range(DEPTH))
    return HEAD + head + b"\r\n" + short


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(_nested(b"a\n" * 4_000_000), id="short lines, nested"),
        pytest.param(_nested(b"--b0x\n" * 1_000_000), id="near boundaries, nested"),
        pytest.param(HEAD + b"\n" * 8_000_000, id="empty lines"),
        pytest.param(b"X: " + b"a" * 8_000_000, id="one header"),
        pytest.param(b"a:b\n" * 2_000_000, id="headers and no body"),
        pytest.param(HEAD.replace(b"<m@", b"<m" + b"(" * 8_000_000), id="a Message-ID without end"),
        pytest.param(b"From: " + b'"(' * 4_000_000, id="quotes and comments"),
        pytest.param(b"To: " + b"a@b.c," * 1_000_000, id="a million recipients"),
        pytest.param(b"Subject: " + b"=?utf-8?b?QQ?= " * 500_000, id="encoded words"),
        pytest.param(b"Content-Type: multipart/mixed" + b";a=b" * 1_000_000 + b"\n\nx", id="parameters"),
        pytest.param(b"Content-Type: text/html\n\n" + b"<a " * 2_000_000, id="unclosed tags"),
        pytest.param(b"Content-Type: text/html\n\n&#" + b"9" * 200_000, id="an endless number"),
        pytest.param(b"Content-Transfer-Encoding: base64\n\n" + b"=" * 8_000_000, id="padding"),
        pytest.param(b"Content-Transfer-Encoding: quoted-printable\n\n" + b"=" * 8_000_000, id="equals"),
    ],
)
def test_giants_are_read_in_bounded_time(raw: bytes) -> None:
    """Each of these takes well under a second; the bar is what a quadratic reading would miss by far."""
    began = time.process_time()
    seen = read_letter(raw)
    take(seen, PEOPLE)
    assert time.process_time() - began < 10
    assert len(seen.subject) <= 2_000 and len(seen.to) <= 500


@pytest.mark.parametrize(
    "bad", ["<!--", "<![", "<a ", "<a b='", "<script>", "</", "<", "&#x", "<?", "<svg>", "<a href=x>", "<li>", "<p "]
)
def test_html_of_any_kind_takes_one_pass(bad: str) -> None:
    began = time.process_time()
    html_text(bad * (HTML_LIMIT // len(bad)))
    assert time.process_time() - began < 10


def test_long_html_is_cut_and_says_so() -> None:
    assert html_text("a" * (HTML_LIMIT + 1)).endswith("\n[cut here]")


# -- who wrote, to whom -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sender", "why"),
    [
        ("", "it does not say from whom it is"),
        ("Stranger <stranger@x.example>", "nobody here has the address stranger@x.example"),
        ("daniel@juniper.example, elena@juniper.example", "it names 2 authors"),
        ('"elena@juniper.example" <stranger@x.example>', "nobody here has the address stranger@x.example"),
        ("(elena@juniper.example) stranger@x.example", "nobody here has the address stranger@x.example"),
        ("elena@juniper.example <stranger@x.example>", "nobody here has the address stranger@x.example"),
        ("<elena@juniper.example> <stranger@x.example>", "nobody here has the address <elena@juniper.example>"),
        ("<elena@juniper.example", "nobody here has the address <elena@juniper.example"),
        ("=?utf-8?q?elena=40juniper.example?=", "nobody here has the address =?utf-8?q?elena=40juniper.example?="),
        ("elena@juniper.example\0@evil.example", "nobody here has the address"),
    ],
)
def test_an_author_is_one_known_address_or_nobody(sender: str, why: str) -> None:
    """RULE 4: what comes in has its author's rights, so nobody may be taken for somebody else."""
    raw = (f"From: {sender}\r\n" if sender else "").encode() + HEAD.partition(b"\r\n")[2] + b"\r\nHello"
    taken = take(read_letter(raw), PEOPLE)
    assert taken.arrival is None
    assert len(taken.remarks) == 1 and why in taken.remarks[0]


def test_two_author_headers_are_two_authors_and_twice_the_same_is_one() -> None:
    second = b"From: Elena <elena@juniper.example>\r\n" + HEAD + b"\r\nHi"
    assert "it names 2 authors" in take(read_letter(second), PEOPLE).remarks[0]
    same = b"From: DANIEL@juniper.example\r\n" + HEAD + b"\r\nHi"
    arrival = take(read_letter(same), PEOPLE).arrival
    assert arrival is not None and arrival.person == "daniel"


def test_strangers_and_blind_copies_are_named_and_the_others_get_the_mail() -> None:
    raw = letter(
        to="Team: elena@juniper.example, who@x.example;, quinn@juniper.example",
        Cc="elena@juniper.example", Bcc="maya@riverbend.example",
    )  # fmt: skip
    taken = take(read_letter(raw), PEOPLE)
    assert taken.arrival is not None
    assert (taken.arrival.to, taken.arrival.cc) == (("elena", "quinn"), ())
    assert taken.remarks == (
        "The mail 'Re: December' by daniel does not reach who@x.example: nobody here has that address.",
        "The mail 'Re: December' by daniel does not reach those named as blind copies (Bcc): the office has none.",
    )


def test_a_mail_to_nobody_here_is_said() -> None:
    taken = take(read_letter(letter(to="who@x.example")), PEOPLE)
    assert taken.arrival is None and "it goes to nobody of this office" in taken.remarks[-1]


# -- keys -------------------------------------------------------------------------------------------------------------


def test_without_a_message_id_the_key_is_of_what_was_written_not_of_the_way_it_took() -> None:
    raw = letter(message_id="")
    again = b"Received: from somewhere\r\n  else; now\r\n" + raw
    assert read_letter(raw).key == read_letter(again).key
    assert read_letter(raw).key.startswith("mail:")
    assert read_letter(raw).key != read_letter(letter(message_id="", text="Other.")).key


@pytest.mark.parametrize("odd", ["<a b@x>", "<" + "x" * 400 + "@y>", "<é@x>", "<a\x01@x>"])
def test_a_message_id_that_cannot_be_repeated_still_names_its_mail(odd: str) -> None:
    raw = f"Message-ID: {odd}\r\nFrom: daniel@juniper.example\r\nTo: elena@juniper.example\r\n\r\nx".encode()
    key = read_letter(raw).key
    assert key == read_letter(raw).key and key.isascii() and key.endswith("@odd.officetown.invalid")


def test_of_many_message_ids_the_first_counts_and_references_stand_in_for_a_missing_answer() -> None:
    raw = (
        b"Message-ID: <one@x>\r\nMessage-ID: <two@x>\r\nFrom: daniel@juniper.example\r\nTo: elena@juniper.example\r\n"
        b"References: <root@x>\r\n\t<parent@x>\r\n\r\nx"
    )
    seen = read_letter(raw)
    assert seen.key == "mail:one@x" and seen.answers == ("parent@x", "root@x")
    arrival = take(seen, PEOPLE).arrival
    assert arrival is not None and arrival.in_reply_to == "mail:parent@x"


# -- anything at all --------------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        b"From: daniel@juniper.example", b"To: elena@juniper.example", b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"--b", b"--b--",
        b"Content-Type: multipart/mixed; boundary=b", b"Content-Type: multipart/alternative; boundary=",
        b"Content-Type: text/html; charset=utf-16", b"Content-Type: message/rfc822", b"Content-Type: text/plain; charset*=",
        b"Content-Transfer-Encoding: base64", b"Content-Transfer-Encoding: quoted-printable", b"=?utf-8?b?", b"?=", b"=",
        b"Content-Disposition: attachment; filename*0*=utf-8''%", b"filename*1=\"", b"<p>", b"<!--", b"&#", b"\x00", b"\xff",
        b"Message-ID: <", b"Subject: ", b"References: ", b"\t", b" ", b"(", b'"', b"<", b">", b":", b";", b",",
    ]
)  # fmt: skip


@given(st.lists(PIECES | st.binary(max_size=12), max_size=60).map(b"".join))
def test_nothing_that_arrives_is_an_error(raw: bytes) -> None:
    seen = read_letter(raw)
    taken = take(seen, PEOPLE)
    for text in (seen.text, seen.subject, *(f.name for f in seen.files), *taken.remarks):
        text.encode()
        assert clean_text(text) == text
    assert seen.key.startswith("mail:") and seen.key == read_letter(raw).key
    assert sum(len(f.data) for f in seen.files) <= len(raw)
    for file in seen.files:
        assert "/" not in file.name and "\\" not in file.name and file.name not in ("", ".", "..")


@given(st.text(max_size=400), st.sampled_from(["utf-8", "utf-16", "cp1251", "gb18030"]), st.booleans())
def test_what_any_sound_charset_can_say_is_read(text: str, charset: str, packed: bool) -> None:
    data = text.encode(charset, "ignore")
    said = data.decode(charset, "ignore")
    if packed:
        assert body(f"text/plain; charset={charset}", base64.encodebytes(data), "base64").text == clean_text(
            said
        ).rstrip("\n")
    else:
        assert decode_text(data, charset) == said


@given(st.text(max_size=300))
def test_a_cleaned_file_name_stays_as_it_is(name: str) -> None:
    once = file_name(name)
    assert file_name(once) == once and 0 < len(once.encode()) <= 141
