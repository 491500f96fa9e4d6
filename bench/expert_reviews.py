"""What experts say of frozen tasks: reviews bound to a snapshot's version, kept as data, never edited (docs/experts.md).

Every saving is a record of its own; an expert's latest one of a version is the one that stands. A proposed change of the
task or its criteria is part of the record: the snapshot's folder stays as it is (`bench.expert_revising` writes new ones).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec

from bench.rubric import Criterion, Priority, Rubric
from bench.snapshot import MOUNTS, Manifest, Snapshot
from services.storage.documents import Document, Documents
from simulator.canonical import canonical, clean_name, clean_text, sha256
from simulator.errors import StorageError, UsageError

FORMAT = "officetown-review/1"
TASK = f"{MOUNTS}/task/TASK.md"
LONGEST = 20_000
LONGEST_NAME = 80
MOST_ADDED = 50
Verdict = Literal["", "accept", "reject"]
Opinion = Literal["", "keep", "change", "drop"]
Text = Annotated[str, msgspec.Meta(max_length=LONGEST)]


class Remark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an expert says of one criterion. `text`, `priority` and `required` are proposals, None where nothing is proposed."""

    criterion: str
    opinion: Opinion = ""
    comment: Text = ""
    text: Text | None = None
    priority: Priority | None = None
    required: bool | None = None

    @property
    def proposes(self) -> bool:
        """Whether the criterion would not be as it is."""
        return self.opinion == "drop" or (self.text, self.priority, self.required) != (None, None, None)


class Added(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A criterion that an expert would add, resting on visible files by their absolute paths.

    A judge decides it, so it is never required: without a judge there would be no Pass@1.
    """

    text: Text
    priority: Priority = "P2"
    evidence: tuple[str, ...] = ()


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an expert hands in. `task` is a proposed text of the task, None where it is to stay."""

    verdict: Verdict = ""
    comment: Text = ""
    task: Text | None = None
    remarks: tuple[Remark, ...] = ()
    added: tuple[Added, ...] = ()

    @property
    def proposes(self) -> bool:
        """Whether a snapshot revised by this would differ."""
        return self.task is not None or bool(self.added) or any(remark.proposes for remark in self.remarks)


class ExpertReview(msgspec.Struct, frozen=True):
    """A review as it is kept. `version` is the hash in the snapshot's manifest; `at` is in milliseconds since the epoch."""

    snapshot: str
    version: str
    expert: str
    at: int
    said: Said
    format: str = FORMAT

    @property
    def id(self) -> str:
        """Its id: the version, then the time, so that ids of a version come in order."""
        return f"{self.version}.{self.at:015d}.{sha256(canonical(self))[:16]}"


class QueueLine(msgspec.Struct, frozen=True):
    """A snapshot in the queue. `mine` is the asking expert's standing verdict, None where they said nothing yet; `older` counts
    reviews of other versions of the same task; `fault` is what keeps it from being reviewed."""

    snapshot: str
    place: int
    version: str
    firm: str
    role: str
    work: str
    period: str
    round: int
    experts: int
    accepted: int
    rejected: int
    mine: Verdict | None
    older: int
    fault: str = ""


# -- making ---------------------------------------------------------------------------------------------------------------


def make_review(snapshot: Snapshot, expert: str, said: Said, at: int) -> ExpertReview:
    """Return a review of a snapshot that was opened and verified. What proposes nothing new is left out of it.

    Raises:
        UsageError: no name, a rejection without a reason, a criterion that the rubric has not, evidence nobody can see.
    """
    name = clean_name(expert)
    if not name or len(name) > LONGEST_NAME:
        raise UsageError(f"A review bears its expert's name: write yours, with at most {LONGEST_NAME} letters.")
    rubric = snapshot.rubric()
    known = {c.id: c for c in rubric.criteria}
    remarks: dict[str, Remark] = {}
    for remark in said.remarks:
        if remark.criterion not in known:
            raise UsageError(f"{snapshot.id} has no criterion {remark.criterion[:80]!r}.")
        tidy = _tidy(remark, known[remark.criterion])
        if tidy != Remark(remark.criterion):
            remarks[remark.criterion] = tidy
    task = clean_text(said.task) if said.task is not None else None
    if task is not None and (not task.strip() or task == task_of(snapshot)):
        task = None
    comment = clean_text(said.comment).strip()
    clean = Said(said.verdict, comment, task, tuple(remarks.values()), _added(snapshot, said.added))
    if clean.verdict == "reject" and not comment and not clean.remarks:
        raise UsageError("A rejection says why: write a comment, or remark on a criterion.")
    return ExpertReview(snapshot.id, snapshot.manifest.hash, name, at, clean)


def task_of(snapshot: Snapshot) -> str:
    """Return the task's own text, as the agent finds it."""
    return snapshot.read(TASK).decode()


def _tidy(remark: Remark, criterion: Criterion) -> Remark:
    text = clean_text(remark.text).strip() if remark.text is not None else ""
    return Remark(
        criterion.id, remark.opinion, clean_text(remark.comment).strip(), text if text and text != criterion.text else None,
        remark.priority if remark.priority != criterion.priority else None,
        remark.required if remark.required != criterion.required else None,
    )  # fmt: skip


def _added(snapshot: Snapshot, added: Sequence[Added]) -> tuple[Added, ...]:
    if len(added) > MOST_ADDED:
        raise UsageError(f"At most {MOST_ADDED} criteria can be added.")
    visible = {v.path for v in snapshot.manifest.visible}
    found = []
    for each in added:
        text = clean_text(each.text).strip()
        if not text:
            continue
        unseen = [path for path in each.evidence if path not in visible]
        if unseen:
            raise UsageError(f"The agent cannot see {unseen[0][:200]!r}, so no criterion can rest on it.")
        found.append(Added(text, each.priority, tuple(dict.fromkeys(each.evidence))))
    return tuple(found)


# -- keeping --------------------------------------------------------------------------------------------------------------


class Reviews:
    """The reviews that are kept; they are added to, never changed."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def save(self, review: ExpertReview) -> str:
        """Keep a review; return its id."""
        self._documents.put(Document(review.id, review.at // 1000, msgspec.json.encode(review)))
        return review.id

    def of(self, version: str) -> list[ExpertReview]:
        """Return the reviews of one version, the oldest first."""
        return [_read(document) for document in self._documents.all(f"{version}.")]

    def all(self) -> list[ExpertReview]:
        """Return every review, the oldest first. Raises StorageError for one that cannot be read."""
        return sorted((_read(document) for document in self._documents.all()), key=lambda r: (r.at, r.id))


def _read(document: Document) -> ExpertReview:
    try:
        review = msgspec.json.decode(document.body, type=ExpertReview)
    except msgspec.MsgspecError as fault:
        raise StorageError(f"The review {document.id} cannot be read: {fault}.") from None
    if review.format != FORMAT:
        raise StorageError(f"The review {document.id} is of the form {review.format}: this version reads {FORMAT}.")
    return review


def standing(reviews: Iterable[ExpertReview]) -> list[ExpertReview]:
    """Return each expert's latest review of each version, in order of version and name. Names differ by more than case."""
    latest: dict[tuple[str, str], ExpertReview] = {}
    for review in sorted(reviews, key=lambda r: (r.at, r.id)):
        latest[review.version, review.expert.casefold()] = review
    return [latest[key] for key in sorted(latest)]


# -- the queue ------------------------------------------------------------------------------------------------------------


def queue(
    manifests: Sequence[Manifest], reviews: Iterable[ExpertReview], expert: str = "", faults: Sequence[str] = ()
) -> list[QueueLine]:
    """Return snapshots in the order in which this expert had best take them: untouched ones first, fewest verdicts first.

    `faults` are what is wrong with each, empty where nothing is; they come last. `place` is a manifest's place in
    `manifests`.
    """
    latest = standing(reviews)
    me = clean_name(expert).casefold()
    lines = []
    for place, m in enumerate(manifests):
        own = [r for r in latest if r.version == m.hash]
        verdicts = [r.said.verdict for r in own]
        mine = next((r.said.verdict for r in own if me and r.expert.casefold() == me), None)
        older = sum(1 for r in latest if r.snapshot == m.id and r.version != m.hash)
        fault = faults[place] if place < len(faults) else ""
        lines.append(
            QueueLine(m.id, place, m.hash, m.firm, m.title, m.work, m.period, m.round, len(own), verdicts.count("accept"),
                      verdicts.count("reject"), mine, older, fault)
        )  # fmt: skip
    return sorted(lines, key=lambda q: (bool(q.fault), q.mine is not None, bool(q.mine), q.accepted + q.rejected, q.snapshot))


def proposals(rubric: Rubric, said: Said) -> list[str]:
    """Return in words what a review would change in a rubric and its task."""
    by_id = {c.id: c for c in rubric.criteria}
    found = ["The task's text is revised."] if said.task is not None else []
    for remark in said.remarks:
        criterion = by_id.get(remark.criterion)
        if criterion is None or not remark.proposes:
            continue
        if remark.opinion == "drop":
            found.append(f"{remark.criterion}: dropped.")
            continue
        parts = [f"reads {remark.text!r}"] if remark.text is not None else []
        parts += [f"{remark.priority} instead of {criterion.priority}"] if remark.priority is not None else []
        if remark.required is not None:
            parts.append("required" if remark.required else "no longer required")
        found.append(f"{remark.criterion}: {', '.join(parts)}.")
    return found + [f"Added for a judge, {each.priority}: {each.text}" for each in said.added]


def moment(at: int) -> str:
    """Return a review's time in words: UTC, ISO 8601, to the second."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
