"""Half a year of Juniper, and how much happened in it (issue 2): files, work, reviews, questions, meetings, conflicts."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath

import pytest

from simulator.businesstime import calendar_for
from simulator.events import (
    ActivationStarted,
    ConflictRaised,
    DelegationOpened,
    FileSaved,
    MeetingEnded,
    MemoryNoted,
    QuestionAnswered,
    QuestionAsked,
    WorkReviewed,
)
from simulator.package import GENESIS
from simulator.records import FileRef
from tests.acceptance.halfyear import DAYS, Lived

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(1500)]
ASIDE = ("Work log.md", "Working Style.md")
"""What people and assistants write as they go: logs and notes are no deliverables."""


def test_it_ends_on_the_last_day_and_says_how_long_it_took(
    half_year: Lived, capsys: pytest.CaptureFixture[str]
) -> None:
    office = half_year.office
    days = calendar_for(office.calendar)
    assert half_year.result["days"] == DAYS
    assert (days.local(office.now).date() - days.local(office.opened_at).date()).days in range(DAYS - 4, DAYS)
    assert office.revision == len(half_year.events) == half_year.result["revision"]
    with capsys.disabled():
        print(f"\n{DAYS} days of {office.name} in {half_year.seconds:.0f} s: {half_year.result['counts']}")


def test_from_27_files_it_makes_400_of_distinct_content(half_year: Lived) -> None:
    """Other than minutes, notices and logs; of the files of the package only what was made of them counts."""
    office = half_year.office
    minutes = {p.meeting.minutes for _, p in half_year.of(MeetingEnded) if isinstance(p, MeetingEnded)}
    seeds, made = set(), set()
    for event, p in half_year.of(FileSaved):
        assert isinstance(p, FileSaved)
        if event.activation == GENESIS:
            seeds.add(p.version.blob.sha256)
        elif FileRef(p.file, p.version.number) not in minutes and PurePosixPath(p.path).name not in ASIDE:
            made.add(p.version.blob.sha256)
    assert len([1 for event, _ in half_year.of(FileSaved) if event.activation == GENESIS]) == 27
    assert len(made - seeds) >= 400, f"{len(made - seeds)} files"
    kinds = Counter(PurePosixPath(f.path).suffix for f in office.files.values())
    assert {".xlsx", ".docx", ".pdf", ".csv", ".md"} <= set(kinds), "no lorem ipsum of one kind"


def test_150_delegations_30_revisions_10_supplements(half_year: Lived) -> None:
    counts = half_year.result["counts"]
    decided = Counter(p.review.decision for _, p in half_year.of(WorkReviewed) if isinstance(p, WorkReviewed))
    assert len(half_year.of(DelegationOpened)) == counts["delegations"] >= 150
    assert dict(decided) == counts["reviews"]
    assert decided["revise"] >= 30 and decided["supplement"] >= 10, decided
    for _, p in half_year.of(WorkReviewed):
        assert isinstance(p, WorkReviewed)
        assert p.review.decision == "accept" or half_year.text(p.review.notes).strip(), "sent back without a word"


def test_work_that_was_sent_back_comes_back_as_another_version(half_year: Lived) -> None:
    """A revision is work, not ceremony: what comes back is not what was sent back. Leaving out what should not have been
    handed in is work too."""
    office, again = half_year.office, 0
    for delegation in office.delegations.values():
        for before, after in zip(delegation.rounds, delegation.rounds[1:], strict=False):
            if before.submission is None or after.submission is None:
                continue
            sent = {office.files[r.file].versions[r.version - 1].blob.sha256 for r in before.submission.files}
            back = {office.files[r.file].versions[r.version - 1].blob.sha256 for r in after.submission.files}
            assert back != sent, f"{delegation.id}: round {after.number} is round {before.number} again"
            again += 1
    assert again >= 40


def test_assistants_ask_and_are_answered_by_their_principals(half_year: Lived) -> None:
    asked = {p.question: p for _, p in half_year.of(QuestionAsked) if isinstance(p, QuestionAsked)}
    answered = {p.question: p for _, p in half_year.of(QuestionAnswered) if isinstance(p, QuestionAnswered)}
    assert len(asked) >= 20
    waiting = half_year.office.now - 3 * 86_400
    late = [q for q, p in asked.items() if q not in answered and _asked_at(half_year, q) < waiting]
    assert not late, late
    office = half_year.office
    people = [q for q, p in answered.items() if p.by == office.delegations[p.delegation].principal]
    assert len(people) >= 0.9 * len(answered), "the engine answers for people only where they let it wait"


def _asked_at(lived: Lived, question: str) -> int:
    return next(q.at for d in lived.office.delegations.values() for q in d.questions if q.id == question)


def test_meetings_decide_and_those_who_were_there_remember_it(half_year: Lived) -> None:
    held = {
        event.activation: p.meeting
        for event, p in half_year.of(MeetingEnded)
        if isinstance(p, MeetingEnded) and p.meeting.state == "held"
    }
    decisions = [
        (event.activation, p.memory)
        for event, p in half_year.of(MemoryNoted)
        if isinstance(p, MemoryNoted) and p.memory.kind == "decision" and event.activation in held
    ]
    assert len(held) >= 100
    assert len(decisions) >= 20, len(decisions)
    for activation, memory in decisions:
        assert memory.holder in {held[activation].organizer, *held[activation].attendees}
        assert half_year.text(memory.text).strip()
    assert all(meeting.minutes is not None for meeting in held.values())


def test_conflicts_are_the_first_thing_their_owners_deal_with(half_year: Lived) -> None:
    """RULE 18: raised at commit, then the first stimulus of the person's next activation."""
    raised = [(event, p.conflict) for event, p in half_year.of(ConflictRaised) if isinstance(p, ConflictRaised)]
    assert raised
    taken = 0
    for event, conflict in raised:
        started = [
            p.running
            for later, p in half_year.of(ActivationStarted)
            if later.revision > event.revision and isinstance(p, ActivationStarted)
            and conflict.person in p.running.people and p.running.kind in ("principal", "client")
        ]  # fmt: skip
        if started:
            first = [stimulus.id for stimulus in started[0].stimuli if stimulus.kind == "conflict"]
            assert started[0].stimuli[0].id in first and conflict.id in first
            taken += 1
    assert taken == len(raised)
