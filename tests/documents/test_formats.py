"""Documents, pages, slides, mail and plain text as text."""

from __future__ import annotations

import io
from email.message import EmailMessage

import docx
import pptx
import pytest
from reportlab.pdfgen.canvas import Canvas

from services.documents.limits import Limits
from services.documents.renderer import DocumentRenderer
from simulator.ports import Renderer


def render(data: bytes, name: str, media_type: str = "", limits: Limits | None = None) -> str:
    renderer: Renderer = DocumentRenderer(limits)
    return renderer.render(data, media_type, name)


def word_file() -> bytes:
    document = docx.Document()
    document.add_heading("Variance memo", 1)
    document.add_paragraph("Total variance: -400.01")
    document.add_paragraph("first", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for number, words in enumerate(("account", "a | b", "6100", "two\nlines")):
        table.cell(number // 2, number % 2).text = words
    table.cell(1, 0).add_table(rows=1, cols=1).cell(0, 0).text = "inner"
    document.add_paragraph("After the table")
    document.sections[0].footer.paragraphs[0].text = "Confidential"
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def page_file(pages: int = 2) -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out)
    for number in range(1, pages + 1):
        canvas.drawString(60, 780, f"Cash: {number},000.00")
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def slide_file() -> bytes:
    show = pptx.Presentation()
    for title in ("Outlook", "Risks"):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = f"{title}: one\n{title}: two"
    cells = show.slides[1].shapes.add_table(1, 2, 0, 0, 9, 9).table.rows[0].cells
    cells[0].text, cells[1].text = "a", "b"
    show.slides[0].notes_slide.notes_text_frame.text = "say it slowly"
    out = io.BytesIO()
    show.save(out)
    return out.getvalue()


def mail_file() -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = (
        "Maya <maya@example.org>",
        "elena@example.org",
        "Größe: December",
    )
    message.set_content("Please reconcile December.\nÜbrigens: thanks")
    message.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="bank.csv")
    return message.as_bytes()


def test_word_paragraphs_and_tables() -> None:
    lines = render(word_file(), "memo.docx").splitlines()
    assert lines[:3] == ["# Variance memo", "Total variance: -400.01", "- first"]
    assert "| account | a \\| b |" in lines
    assert "| 6100 inner | two lines |" in lines
    assert lines.index("After the table") > lines.index("| 6100 inner | two lines |")
    assert lines[-2:] == ["[Footer]", "Confidential"]


def test_word_is_cut_with_words() -> None:
    assert "[... 4 more paragraphs not shown]" in render(word_file(), "memo.docx", limits=Limits(paragraphs=2))


def test_pages() -> None:
    assert render(page_file(), "pack.pdf") == "# Page 1\nCash: 1,000.00\n\n# Page 2\nCash: 2,000.00\n"
    assert render(page_file(3), "pack.pdf", limits=Limits(pages=2)).endswith("\n[... 1 more pages not shown]\n")


def test_slides_in_order_with_notes_and_tables() -> None:
    text = render(slide_file(), "show.pptx")
    assert text.startswith("# Slide 1\nOutlook\nOutlook: one\nOutlook: two\n[Speaker notes]\n")
    assert "say it slowly" in text
    assert text.endswith("# Slide 2\nRisks\nRisks: one\nRisks: two\n| a | b |\n")


@pytest.mark.parametrize(("name", "media_type"), [("request.eml", ""), ("request", "message/rfc822")])
def test_mail(name: str, media_type: str) -> None:
    lines = render(mail_file(), name, media_type).splitlines()
    assert lines[:3] == ["From: Maya <maya@example.org>", "To: elena@example.org", "Subject: Größe: December"]
    assert "Übrigens: thanks" in lines
    assert lines[-1] == "[attachment: bank.csv, text/csv, 8 bytes]"


def test_mail_with_markup_alone_is_read_without_it() -> None:
    message = EmailMessage()
    message["Subject"] = "x"
    message.set_content("<style>p{}</style><p>Cash &amp; more</p><script>go()</script>", subtype="html")
    text = render(message.as_bytes(), "a.eml")
    assert "Cash & more" in text
    assert "go()" not in text
    assert "<" not in text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"ref,amount\r\nA,1.50\r\n", "ref,amount\nA,1.50\n"),
        (b"\xef\xbb\xbfref\n", "ref\n"),
        ("Größe\n".encode("latin-1"), "Größe\n"),
        ("Größe\n".encode("utf-16"), "Größe\n"),
        (b"a\x07b\n", "a\N{REPLACEMENT CHARACTER}b\n"),
        (b"", "[empty file]\n"),
    ],
)
def test_plain_text_as_it_is(data: bytes, text: str) -> None:
    assert render(data, "bank.csv") == text


def test_what_is_not_text_is_named() -> None:
    assert render(b"\x89PNG\r\n\x1a\n" + b"\0" * 9, "a.png") == "[picture, 17 bytes: not shown as text]\n"
    assert render(b"\xd0\xcf\x11\xe0" + b"\0" * 9, "a.xls") == "[old binary Office file, 13 bytes: not shown as text]\n"
    assert render(b"ab\0cd", "a.dat") == "[binary file, 5 bytes: not shown as text]\n"


def test_the_bytes_decide_not_the_name() -> None:
    assert render(word_file(), "memo.xlsx").startswith("# Variance memo")
    assert render(page_file(1), "notes.txt", "text/plain").startswith("# Page 1")
