"""Bytes from strangers: the renderer always answers with bounded text, in bounded time and memory."""

from __future__ import annotations

import io
import struct
import time
import tracemalloc
import zipfile
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.documents.archive import Archive
from services.documents.limits import Limits, Unreadable
from services.documents.renderer import DocumentRenderer
from tests.documents.test_formats import mail_file, page_file, slide_file, word_file
from tests.documents.test_workbooks import saved

NAMES = ["a.xlsx", "a.docx", "a.pptx", "a.pdf", "a.eml", "a.csv", "a.md", "a.json", "a.bin", ""]
BOOK = saved(lambda book: [book.active.append([n, "text", f"=A{n}+1"]) for n in range(1, 9)])
FILES = {"a.xlsx": BOOK, "a.docx": word_file(), "a.pptx": slide_file(), "a.pdf": page_file(), "a.eml": mail_file()}


def render(data: bytes, name: str, limits: Limits | None = None) -> str:
    return DocumentRenderer(limits).render(data, "", name)


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


@given(
    st.binary(max_size=400), st.sampled_from(NAMES), st.sampled_from([b"", b"PK\x03\x04", b"%PDF-1.7\n", b"\xff\xfe"])
)
def test_any_bytes_give_text(data: bytes, name: str, head: bytes) -> None:
    text = render(head + data, name)
    assert text
    assert "\x00" not in text
    text.encode()


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_damaged_files_give_text(name: str, data: st.DataObject) -> None:
    content = bytearray(FILES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    assert render(bytes(content), name)
    assert render(bytes(content[:cut]), name)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(["a.xlsx", "a.docx", "a.pptx"]), st.data())
def test_damaged_parts_give_text(name: str, data: st.DataObject) -> None:
    """As above, but inside the archive, where the damage is not caught by a checksum."""
    with zipfile.ZipFile(io.BytesIO(FILES[name])) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    victim = data.draw(st.sampled_from(sorted(members)))
    content = bytearray(members[victim])
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(32, 126))
    members[victim] = bytes(content)
    assert render(zipped(members), name)
    del members[victim]
    assert render(zipped(members), name)


def test_a_zip_bomb_is_refused_by_its_declared_size() -> None:
    data = zipped({"xl/workbook.xml": b" " * 3_000_000})
    assert "unpacks to more than 1,000,000 bytes" in render(data, "a.xlsx", Limits(unpacked=1_000_000))


def test_a_zip_bomb_that_lies_about_its_size_is_stopped_while_unpacking() -> None:
    """The directory says ten bytes; the stream holds 200 MB. Neither is believed, and memory stays small."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = b"".join(packed.compress(b"\0" * 1_000_000) for _ in range(200)) + packed.flush()
    name = b"xl/workbook.xml"
    head = struct.pack("<HHHHHLLLHH", 20, 0, 8, 0, 33, 0, len(body), 10, len(name), 0)
    local = b"PK\x03\x04" + head + name + body
    central = b"PK\x01\x02" + struct.pack("<H", 20) + head + struct.pack("<HHHLL", 0, 0, 0, 0, 0) + name
    end = b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, 1, 1, len(central), len(local), 0)
    data = local + central + end
    tracemalloc.start()
    text = render(data, "a.xlsx")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "xl/workbook.xml is damaged or encrypted" in text
    assert peak < 20_000_000


def test_members_share_one_allowance() -> None:
    archive = Archive(zipped({"a": b"x" * 600, "b": b"y" * 600}), Limits(unpacked=10_000, member=700))
    assert len(archive.read("a")) == len(archive.read("a")) == 600
    tight = Archive(zipped({"a": b"x" * 600, "b": b"y" * 300}), Limits(unpacked=900, member=500))
    with pytest.raises(Unreadable, match="unpacks to more than 500 bytes"):
        tight.read("a")
    assert tight.read("b") == b"y" * 300


def test_too_many_members_and_too_large_files_are_refused() -> None:
    many = zipped({f"xl/{number}": b"" for number in range(20)})
    assert "20 members, more than 10" in render(many, "a.xlsx", Limits(members=10))
    assert (
        render(b"x" * 101, "a.txt", Limits(file=100)) == "[this file has 101 bytes, more than the 100 that are read]\n"
    )


def test_entities_are_refused() -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><workbook>&b;</workbook>'
    secret = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><w:document xmlns:w="w">&a;</w:document>'
    assert "declares a document type" in render(zipped({"xl/workbook.xml": bomb}), "a.xlsx")
    text = render(zipped({"word/document.xml": secret}), "a.docx")
    assert "declares a document type" in text
    assert "root:" not in text


def test_parts_outside_the_sheets_folder_are_not_followed() -> None:
    book = b'<workbook xmlns:r="r"><sheets><sheet name="S" sheetId="1" r:id="x"/></sheets></workbook>'
    links = b'<Relationships><Relationship Id="x" Target="../../../etc/passwd"/></Relationships>'
    text = render(zipped({"xl/workbook.xml": book, "xl/_rels/workbook.xml.rels": links}), "a.xlsx")
    assert "is not a table of cells and is not shown" in text


def test_a_sheet_of_a_million_cells_is_cut_in_time() -> None:
    cells = b"<c><v>1</v></c>" * 1_000_000
    book = b'<workbook xmlns:r="r"><sheets><sheet name="S" sheetId="1" r:id="x"/></sheets></workbook>'
    links = b'<Relationships><Relationship Id="x" Target="worksheets/s.xml"/></Relationships>'
    sheet = b"<worksheet><sheetData><row>" + cells + b"</row></sheetData></worksheet>"
    data = zipped({"xl/workbook.xml": book, "xl/_rels/workbook.xml.rels": links, "xl/worksheets/s.xml": sheet})
    began = time.process_time()
    text = render(data, "a.xlsx")
    assert time.process_time() - began < 20
    assert "[... 999,744 more cells not shown]" in text


def test_deep_nesting_is_no_trouble() -> None:
    deep = b"<w:tbl><w:tr><w:tc>" * 50_000 + b"</w:tc></w:tr></w:tbl>" * 50_000
    data = zipped({"word/document.xml": b'<w:document xmlns:w="w">' + deep + b"</w:document>"})
    assert render(data, "a.docx").startswith("|")


def test_a_plain_archive_lists_its_names_and_opens_nothing() -> None:
    text = render(zipped({"notes/a.txt": b"secret", "b\nc": b""}), "a.zip")
    assert text.startswith("[zip archive with 2 files, not opened]\nnotes/a.txt\n")
    assert "secret" not in text
