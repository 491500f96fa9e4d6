"""Multi-status answers, honest and hostile."""

from __future__ import annotations

import contextlib

import defusedxml.ElementTree  # type: ignore[import-untyped]  # ships no type information
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.carriers.caldav import bodies
from services.carriers.caldav.bodies import BadXml

HEAD = '<?xml version="1.0" encoding="utf-8"?>'


def multistatus(data: str) -> bytes:
    return (
        f'{HEAD}<d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:response><d:href>/a%20b/c.ics</d:href>'
        f'<d:propstat><d:prop><d:getetag>"7"</d:getetag><c:calendar-data>{data}</c:calendar-data></d:prop>'
        "<d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response><d:sync-token> t:1 </d:sync-token></d:multistatus>"
    ).encode("utf-8", "surrogatepass")


def test_an_answer_is_read() -> None:
    found = bodies.read(multistatus("BEGIN&amp;END"))
    (answer,) = found.answers
    assert (answer.path, answer.status, answer.etag, answer.data) == ("/a b/c.ics", 200, '"7"', "BEGIN&END")
    assert found.token == "t:1"


def test_what_xml_cannot_hold_is_dropped_and_the_rest_is_read() -> None:
    """Some servers pass on what a program put into its event."""
    found = bodies.read(multistatus("a\x00\x0b&#0;&#x1F;&#11;\ud800\ufffeb&#10;&#9;c &lt;!DOCTYPE x&gt;"))
    data = found.answers[0].data or ""
    assert data.startswith("a") and data.endswith("b\n\tc <!DOCTYPE x>")
    assert not set("\x00\x0b\x1f") & set(data)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"no", b"<html/>", b"<d:multistatus", b"\xff\xfe<\x00a\x00", HEAD.encode() + b"<multistatus/>",
        b'<!DOCTYPE m [<!ENTITY a "b">]><d:multistatus xmlns:d="DAV:">&a;</d:multistatus>',
        b'<!DOCTYPE m SYSTEM "file:///etc/passwd"><d:multistatus xmlns:d="DAV:"/>',
        b'<?xml version="1.0" encoding="utf-7"?><!DOCTYPE m><d:multistatus xmlns:d="DAV:"/>',
    ],
)  # fmt: skip
def test_what_is_no_answer_or_defines_entities_is_refused(body: bytes) -> None:
    with pytest.raises(BadXml):
        bodies.read(body)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_refused(noise: bytes) -> None:
    whole = multistatus("x")
    for body in (noise, whole[:100] + noise + whole[100:], whole + noise):
        with contextlib.suppress(BadXml):
            assert isinstance(bodies.read(body), bodies.Answers)


@given(st.text(max_size=80))
def test_what_we_ask_is_well_formed_whatever_it_names(text: str) -> None:
    clean = "".join(ch for ch in text if ch.isprintable() and not "\ud800" <= ch <= "\udfff")
    for body in (
        bodies.new_calendar(clean),
        bodies.changes_since(clean),
        bodies.with_uid(clean),
        bodies.these([f"/{clean}"]),
    ):
        defusedxml.ElementTree.fromstring(body)


@pytest.mark.parametrize("href", ["/a/b.ics", "http://h:1/a/b.ics", "/a/%62.ics", " /a/b.ics "])
def test_addresses_are_paths(href: str) -> None:
    assert bodies.decoded(href) == "/a/b.ics"


def test_an_address_that_is_none_is_nothing() -> None:
    assert bodies.decoded("http://[::1/x") == ""
