"""Changing prose on purpose: the same memo in other words and by another writer, and memos with exactly one thing wrong."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence

import docx

from bench.grader.prose import cites
from bench.grader.reading import Document, load
from bench.grader.values import number, words
from bench.tables import NotPossible, wrong_value

_BULLET = re.compile(r"\s*[-*]\s")


def lines_of(form: str, data: bytes) -> list[str]:
    """Return a document's lines; headings begin with `#`."""
    return list(load(form, data).lines)


def write(form: str, lines: Sequence[str]) -> bytes:
    """Return a document of a form (`md docx pdf text`) that holds these lines."""
    if form == "docx":
        return _docx(lines)
    if form == "pdf":
        return _pdf(lines)
    return ("\n".join(lines).rstrip("\n") + "\n").encode()


def _docx(lines: Sequence[str]) -> bytes:
    document = docx.Document()
    for line in lines:
        heading = re.match(r"(#{1,6}) (.*)", line)
        if heading:
            document.add_heading(heading[2], level=min(len(heading[1]), 4))
        elif line:
            document.add_paragraph(line)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _pdf(lines: Sequence[str], a_page: int = 48) -> bytes:
    """Return a plain PDF of text lines in Helvetica, one line of text to each line given."""
    pages = [lines[at : at + a_page] for at in range(0, max(1, len(lines)), a_page)]
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    kids = []
    for page in pages:
        text = "".join(f"({_escaped(line)}) Tj T*\n" for line in page)
        stream = f"BT /F1 9 Tf 14 TL 40 800 Td\n{text}ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {len(objects) + 2} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out, places = b"%PDF-1.4\n", []
    for place, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{place} 0 obj\n{body}\nendobj\n".encode("cp1252", "replace")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(places) + 1} /Root 1 0 R >>\n"
    return out + f"{end}startxref\n{len(out)}\n%%EOF\n".encode()


def _escaped(line: str) -> str:
    return re.sub(r"([\\()])", r"\\\1", line.encode("cp1252", "replace").decode("cp1252"))


def in_other_words(form: str, data: bytes, figures: Mapping[str, str]) -> bytes:
    """Return the same document otherwise worded: figures in sentences and written otherwise, lists in another order."""
    lines = []
    for line in lines_of(form, data):
        stated = next((label for label in figures if _states(line, label)), None)
        lines.append(_sentence(stated, figures[stated]) if stated else line)
    return write(form, ["Prepared from the papers at hand; each item below names its record.", "", *_reordered(lines)])


def _states(line: str, label: str) -> bool:
    return re.fullmatch(rf"[-*\s]*{re.escape(label)}\s*:.*", line, re.IGNORECASE) is not None


def _sentence(label: str, value: str) -> str:
    written = f"{value} all told" if number(value) is not None else value
    return f"For the period, the {label.lower()} comes to {written}."


def _reordered(lines: Sequence[str]) -> list[str]:
    """Reverse each run of list items."""
    out: list[str] = []
    run: list[str] = []
    for line in lines:
        if _BULLET.match(line):
            run.append(line)
            continue
        out += [*reversed(run), line]
        run = []
    return [*out, *reversed(run)]


def with_wrong_figure(form: str, data: bytes, label: str, value: str) -> bytes:
    """Return the document with one figure stated wrongly."""
    said = f"{label}: {wrong_value(value)}"
    lines = lines_of(form, data)
    changed = [said if _states(line, label) else line for line in lines]
    return write(form, changed if changed != lines else [*lines, said])


def without_citation(form: str, data: bytes, keys: Sequence[str], labels: Sequence[str]) -> bytes:
    """Return the document with one record not named any more."""
    lines = lines_of(form, data)
    text = words("\n".join(lines))
    for key in keys:
        inside = any(words(key) in words(name) for name in labels) or any(words(key) in words(k) and k != key for k in keys)
        if inside or words(key) not in text:
            continue
        gone = [re.sub(re.escape(key), "that one", line, flags=re.IGNORECASE) for line in lines]
        rest = Document(form, lines=tuple(gone))
        if cites(rest, {"keys": [k for k in keys if k != key], "others": []})[0]:
            return write(form, gone)
    raise NotPossible("no cited record can be left out without touching another one")


def with_item_resolved(form: str, data: bytes, key: str) -> bytes:
    """Return the document with a line that calls an open record resolved."""
    return write(form, [*lines_of(form, data), f"{key} was looked at again and is resolved."])
