"""Slides as text: what stands on each, then its speaker notes."""

from __future__ import annotations

import re

from services.documents.archive import Archive
from services.documents.limits import Limits, Unreadable
from services.documents.workbook import parse, relations

_MAIN = "ppt/presentation.xml"


def slides_text(archive: Archive, limits: Limits) -> str:
    """`# Slide 1` and its paragraphs, in the order of the show."""
    ids: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "sldId":
            ids.append(next((value for key, value in attributes.items() if key.endswith(":id")), ""))

    parse(archive.read(_MAIN), _MAIN, start, lambda tag, text: None)
    targets = relations(archive, _MAIN)
    lines: list[str] = []
    for number, slide in enumerate(ids[: limits.pages], 1):
        part = targets.get(slide, "")
        lines += ["", f"# Slide {number}"] if lines else [f"# Slide {number}"]
        try:
            lines += _paragraphs(archive, part)
            for other in sorted(relations(archive, part).values()):
                if re.match(r"ppt/notesSlides/[^/]+\.xml\Z", other):
                    lines += ["[Speaker notes]", *_paragraphs(archive, other)]
        except Unreadable as fault:
            lines.append(f"[this slide cannot be read: {fault}]")
    if len(ids) > limits.pages:
        lines.append(f"[... {len(ids) - limits.pages:,} more slides not shown]")
    return "\n".join(lines) + "\n"


def _paragraphs(archive: Archive, part: str) -> list[str]:
    runs: list[str] = []
    lines: list[str] = []
    row: list[str] = []
    inside = [0]

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "tc":
            inside[0] += 1
            row.append("")
        elif tag == "br":
            runs.append(" ")

    def end(tag: str, text: str) -> None:
        if tag == "t":
            runs.append(text)
        elif tag == "p" and runs:
            if inside[0]:
                row[-1] = f"{row[-1]} {''.join(runs)}".strip()
            else:
                lines.append("".join(runs))
            runs.clear()
        elif tag == "tc":
            inside[0] -= 1
        elif tag == "tr":
            lines.append(f"| {' | '.join(row)} |")
            row.clear()

    parse(archive.read(part), part, start, end)
    return lines
