"""Expert reviews as data: JSON with everything, CSV with a line for each thing that was said."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from bench.expert_agreement import Agreement, agreement
from bench.expert_reviews import ExpertReview, moment, standing

FORMAT = "officetown-reviews/1"
COLUMNS = (
    "snapshot", "version", "expert", "at", "stands", "about", "criterion", "says", "comment", "proposed_text",
    "proposed_priority", "proposed_required", "evidence",
)  # fmt: skip


class Exported(msgspec.Struct, frozen=True):
    """The JSON export. `standing` are the ids of the reviews that are their experts' latest."""

    reviews: tuple[ExpertReview, ...]
    standing: tuple[str, ...]
    agreement: Agreement
    format: str = FORMAT


def as_json(reviews: Iterable[ExpertReview]) -> bytes:
    """Return every review with what stands and how far experts agree; `bench.expert_export.read_json` reads it back."""
    listed = tuple(reviews)
    exported = Exported(listed, tuple(r.id for r in standing(listed)), agreement(listed))
    return msgspec.json.format(msgspec.json.encode(exported), indent=1) + b"\n"


def read_json(data: bytes) -> Exported:
    """Read an export. Raises msgspec.MsgspecError for what is none."""
    return msgspec.json.decode(data, type=Exported)


def as_csv(reviews: Iterable[ExpertReview]) -> bytes:
    """Return one line for each verdict, remark, proposed text and added criterion; UTF-8 with a byte order mark.

    A cell that a spreadsheet would take for a formula begins with an apostrophe; the JSON has everything as written.
    """
    listed = list(reviews)
    latest = {r.id for r in standing(listed)}
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="")
    writer.writeheader()
    for review in listed:
        head = {
            "snapshot": review.snapshot, "version": review.version, "expert": review.expert, "at": moment(review.at),
            "stands": "yes" if review.id in latest else "no",
        }  # fmt: skip
        for row in _rows(review):
            writer.writerow({key: _cell(value) for key, value in {**head, **row}.items()})
    return b"\xef\xbb\xbf" + out.getvalue().encode()


def _rows(review: ExpertReview) -> Iterator[dict[str, Any]]:
    said = review.said
    yield {"about": "task", "says": said.verdict, "comment": said.comment, "proposed_text": said.task or ""}
    for remark in said.remarks:
        yield {
            "about": "criterion", "criterion": remark.criterion, "says": remark.opinion, "comment": remark.comment,
            "proposed_text": remark.text or "", "proposed_priority": remark.priority or "",
            "proposed_required": _word(remark.required),
        }  # fmt: skip
    for added in said.added:
        yield {
            "about": "added", "proposed_text": added.text, "proposed_priority": added.priority,
            "evidence": " ".join(added.evidence),
        }  # fmt: skip


def _word(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t") else value
