"""Small office files written by hand: what rarer programs write, and what of it a reader must be told or spared."""

from __future__ import annotations

import io
import zipfile
from email.message import EmailMessage

import pytest

from services.documents.limits import Limits
from services.documents.reading import notes_of, parse_workbook_text
from services.documents.renderer import DocumentRenderer


def zipped(**parts: str) -> bytes:
    """An archive; `__` in a part's name is `/`, `_x` its ending `.xml`, `_rels` that of relations."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in parts.items():
            path = name.replace("__", "/")
            path = (
                path.removesuffix("_x") + ".xml"
                if path.endswith("_x")
                else path.replace("_rel_", "_rels/", 1) + ".xml.rels"
            )
            archive.writestr(path, text)
    return out.getvalue()


def render(data: bytes, name: str, limits: Limits | None = None) -> str:
    return DocumentRenderer(limits).render(data, "", name)


# -- Word ---------------------------------------------------------------------------------------------------------------


def word(body: str, **parts: str) -> bytes:
    return zipped(word__document_x=f'<w:document xmlns:w="w"><w:body>{body}</w:body></w:document>', **parts)


def paragraph(text: str, style: str = "", inside: str = "<w:r><w:t>{}</w:t></w:r>") -> str:
    kind = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{kind}{inside.format(text)}</w:p>"


@pytest.mark.parametrize(
    ("style", "line"),
    [
        ("Heading1", "# x"), ("Heading3", "### x"), ("heading1", "x"), ("Heading", "x"), ("Heading12", "x"), ("Heading0", "# x"),
        ("Title", "# x"), ("ListBullet", "- x"), ("ListNumber2", "- x"), ("Quote", "x"), ("", "x"),
    ],
)  # fmt: skip
def test_styles_show_as_marks(style: str, line: str) -> None:
    assert render(word(paragraph("x", style)), "a.docx") == f"{line}\n"


def test_a_mark_of_an_empty_paragraph_is_not_shown_and_empty_ones_are_one() -> None:
    body = (
        paragraph("a")
        + paragraph("", "Heading1")
        + paragraph("  ", "ListBullet")
        + paragraph("", "Title")
        + paragraph("b")
    )
    assert render(word(body), "a.docx") == "a\n\nb\n"


def test_what_was_deleted_or_moved_away_is_not_read() -> None:
    kept, gone = "<w:ins><w:r><w:t>{}</w:t></w:r></w:ins>", "<w:del><w:r><w:t>{}</w:t></w:r></w:del>"
    moved = "<w:moveFrom><w:r><w:t>{}</w:t></w:r></w:moveFrom>"
    body = paragraph("fee 900", inside=gone) + paragraph("fee 850", inside=kept) + paragraph("clause", inside=moved)
    text = render(word(body), "a.docx")
    assert "850" in text and "900" not in text and "clause" not in text


def test_breaks_and_tabs_are_kept_and_never_break_a_table_row() -> None:
    broken = "<w:r><w:t>one</w:t><w:br/><w:t>two</w:t><w:tab/><w:t>three</w:t></w:r>"
    cell = f"<w:tc>{paragraph('', inside=broken)}{paragraph('a|b')}</w:tc>"
    body = paragraph("", inside=broken) + f"<w:tbl><w:tr>{cell}<w:tc/></w:tr></w:tbl>"
    assert render(word(body), "a.docx") == "one\ntwo\tthree\n| one two\tthree a\\|b |  |\n"


def test_notes_headers_and_macros_are_named_and_what_repeats_is_read_once() -> None:
    def part(text: str) -> str:
        return f'<w:x xmlns:w="w">{paragraph(text)}</w:x>'

    data = word(
        paragraph("body"), word__header1_x=part("Confidential"), word__header2_x=part("Confidential"),
        word__comments_x=part("Is this right?"), word__footnotes_x=part(""), word__sub__header9_x=part("elsewhere"),
        word__vbaProject_x="",
    )  # fmt: skip
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("word/vbaProject.bin", b"macro")
    assert render(out.getvalue(), "a.docx").splitlines() == [
        "[note: the file holds macros; they were not read]", "body", "", "[Comments]", "Is this right?", "", "[Header]",
        "Confidential",
    ]  # fmt: skip


# -- slides -------------------------------------------------------------------------------------------------------------


def show(count: int, **parts: str) -> bytes:
    ids = "".join(f'<p:sldId r:id="r{n}"/>' for n in range(1, count + 1))
    links = "".join(f'<Relationship Id="r{n}" Target="slides/slide{n}.xml"/>' for n in range(1, count + 1))
    return zipped(
        ppt__presentation_x=f'<p:presentation xmlns:p="p" xmlns:r="r">{ids}</p:presentation>',
        ppt___rel_presentation=f"<Relationships>{links}</Relationships>", **parts,
    )  # fmt: skip


def slide(text: str) -> str:
    return f'<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>{text}</a:t></a:r><a:br/><a:r><a:t>more</a:t></a:r></a:p></p:sld>'


def test_a_slide_that_is_missing_or_damaged_does_not_hide_the_others() -> None:
    text = render(show(3, ppt__slides__slide1_x="<broken", ppt__slides__slide3_x=slide("Risks")), "a.pptx")
    lines = text.splitlines()
    assert lines[0] == "# Slide 1" and lines[1].startswith("[this slide cannot be read: ")
    assert lines[4].startswith("[this slide cannot be read: ")
    assert lines[-2:] == ["# Slide 3", "Risks more"]


def test_slides_beyond_the_limit_are_counted() -> None:
    text = render(show(4, ppt__slides__slide1_x=slide("One")), "a.pptx", Limits(pages=1))
    assert text == "# Slide 1\nOne more\n[... 3 more slides not shown]\n"


# -- workbooks ----------------------------------------------------------------------------------------------------------


def book(rows: str, sheets: str = "", **parts: str) -> bytes:
    listed = f'<sheet name="S" sheetId="1" r:id="r1"/>{sheets}'
    links = "".join(f'<Relationship Id="r{n}" Target="{t}"/>' for n, t in ((1, "worksheets/s1.xml"), (2, "worksheets/s2.xml"),
                                                                            (3, "chartsheets/c1.xml")))  # fmt: skip
    return zipped(
        xl__workbook_x=f'<workbook xmlns:r="r"><sheets>{listed}</sheets></workbook>',
        xl___rel_workbook=f"<Relationships>{links}</Relationships>",
        xl__worksheets__s1_x=f"<worksheet><sheetData>{rows}</sheetData></worksheet>", **parts,
    )  # fmt: skip


def cells(data: bytes) -> dict[str, object]:
    (sheet,) = parse_workbook_text(render(data, "a.xlsx"))
    return {
        cell.ref: cell.value if cell.formula is None else (cell.formula, cell.value) for cell in sheet.cells.values()
    }


def test_cells_that_do_not_say_where_they_are_follow_one_another() -> None:
    rows = '<row><c><v>1</v></c><c><v>2</v></c></row><row/><row r="5"><c r="C5"><v>3</v></c><c><v>4</v></c></row>'
    assert {ref: str(value) for ref, value in cells(book(rows)).items()} == {"A1": "1", "B1": "2", "C5": "3", "D5": "4"}


def test_strings_that_are_nowhere_are_references_to_nothing_and_phonetics_are_left_out() -> None:
    strings = "<sst><si><t>Tokyo</t><rPh><t>tokyo</t></rPh></si><si><r><t>a</t></r><r><t>b</t></r></si></sst>"
    rows = (
        '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>7</v></c><c t="s"><v>-1</v></c>'
        '<c t="inlineStr"><is><t>x</t></is></c><c t="e"><v>#DIV/0!</v></c><c t="b"><v>1</v></c><c/><c t="s"><v></v></c></row>'
    )
    assert cells(book(rows, xl__sharedStrings_x=strings)) == {
        "A1": "Tokyo", "B1": "ab", "C1": "#REF!", "D1": "#REF!", "E1": "x", "F1": "#DIV/0!", "G1": True,
    }  # fmt: skip


def test_a_shared_formula_without_its_source_is_no_formula_of_ours() -> None:
    """Neither guessed nor lost with its stored value; one that cannot be moved stays as it was written."""
    rows = (
        '<row r="1"><c r="A1"><f t="shared" si="3"/><v>5</v></c><c r="B1"><f t="shared" si="1">A1+"</f><v>1</v></c></row>'
        '<row r="2"><c r="A2"><f/><v>7</v></c><c r="B2"><f t="shared" si="1"/><v>2</v></c></row>'
    )
    found = cells(book(rows))
    assert {ref: str(found[ref]) for ref in ("A1", "A2")} == {"A1": "5", "A2": "7"}
    assert [str(found[ref][0]) for ref in ("B1", "B2")] == ['A1+"', 'A1+"']  # type: ignore[index]


def test_dates_that_no_calendar_has_stay_numbers_and_numbers_that_are_none_stay_text() -> None:
    styles = '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'
    rows = (
        '<row><c s="1"><v>46027</v></c><c s="1"><v>-70000000</v></c><c><v>1e400</v></c><c><v>abc</v></c>'
        "<c><v>0.30000000000000004</v></c></row>"
    )
    found = {ref: str(value) for ref, value in cells(book(rows, xl__styles_x=styles)).items()}
    assert found == {"A1": "2026-01-05", "B1": "-70000000", "C1": "1e400", "D1": "abc", "E1": "0.3"}


def test_sheets_that_cannot_be_read_are_noted_and_the_others_shown() -> None:
    sheets = '<sheet name="Torn" sheetId="2" r:id="r2"/><sheet name="Chart" sheetId="3" r:id="r3"/><sheet name="No" r:id="r9"/>'
    parts = {"xl__worksheets__s2_x": "<worksheet><row>", "xl__connections_x": "<x/>"}
    text = render(book("<row><c><v>1</v></c></row>", sheets, **parts), "a.xlsx")
    assert [sheet.name for sheet in parse_workbook_text(text)] == ["S"]
    notes = notes_of(text)
    assert notes[0] == "the file has connections to outside data; they were not read"
    assert notes[1].startswith("the sheet 'Torn' cannot be read: ")
    assert [note.partition(" is not a table")[0] for note in notes[2:]] == ["the sheet 'Chart'", "the sheet 'No'"]


# -- mail, and what is kept -----------------------------------------------------------------------------------------------


def test_a_mail_with_many_attachments_names_the_first_and_says_that_there_are_more() -> None:
    message = EmailMessage()
    message["Subject"] = "Papers"
    message.set_content("See below.")
    for number in range(3):
        message.add_attachment(b"x" * number, maintype="text", subtype="csv", filename=f"p{number}.csv")
    text = render(message.as_bytes(), "a.eml", Limits(pages=2))
    assert text.splitlines()[-3:] == [
        "[attachment: p0.csv, text/csv, 0 bytes]", "[attachment: p1.csv, text/csv, 1 bytes]", "[... more attachments not shown]",
    ]  # fmt: skip


@pytest.mark.parametrize("charset", ["utf-8", "no-such-charset", "us-ascii"])
def test_a_mail_whose_charset_does_not_fit_is_still_read(charset: str) -> None:
    data = b"Subject: x\r\nContent-Type: text/plain; charset=" + charset.encode() + b"\r\n\r\nGr\xfc\xdfe\r\n"
    assert render(data, "a.eml").splitlines()[-1] == "Gr\xfc\xdfe"


def test_rendering_twice_gives_the_same_text_and_names_decide_nothing_that_bytes_do() -> None:
    renderer = DocumentRenderer()
    data = word(paragraph("x", "Title"))
    assert (
        renderer.render(data, "", "a.docx")
        == renderer.render(data, "", "a.docx")
        == renderer.render(data, "", "b.xlsx")
    )
