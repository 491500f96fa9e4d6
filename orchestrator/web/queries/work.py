"""Requests, delegations and reviews: all of them for the operator, and those that one person takes part in."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from orchestrator.web.queries.common import FileName, Naming, When, names_in, names_of, newest, when
from orchestrator.web.queries.talk import NOT_FOUND, Read
from simulator.errors import UnknownReference
from simulator.office import Office
from simulator.records import Delegation, FileRef, Request, Round
from simulator.view import View

Names = Callable[[Iterable[FileRef]], tuple[FileName, ...]]


class RequestShown(msgspec.Struct, frozen=True):
    """An explicit request between people."""

    id: str
    asker: str
    owner: str
    outcome: str
    at: When
    due: When
    matter: str
    work: str
    period: str
    state: str
    note: str
    materials: tuple[FileName, ...]
    results: tuple[FileName, ...]


class DelegationLine(msgspec.Struct, frozen=True):
    """A delegation on the board. `round` is the latest; `decision` its review's, if there is one."""

    id: str
    principal: str
    goal: str
    at: When
    due: When
    work: str
    period: str
    matter: str
    request: str
    state: str
    round: int
    decision: str


class QuestionShown(msgspec.Struct, frozen=True):
    """An assistant's question; `answer` is empty while it is open."""

    id: str
    at: When
    text: str
    answer: str
    answered_by: str


class RoundShown(msgspec.Struct, frozen=True):
    """One round: what was handed in, and what was decided. `revision` is its moment; 0 where that may not be told."""

    number: int
    at: When
    revision: int
    segments: int
    stopped: str
    submitted: When
    files: tuple[FileName, ...]
    report: str
    refused: tuple[str, ...]
    reviewed: When
    by: str
    decision: str
    notes: str
    accepted: tuple[FileName, ...]


class DelegationShown(msgspec.Struct, frozen=True):
    """A delegation's whole story."""

    line: DelegationLine
    inputs: tuple[FileName, ...]
    constraints: tuple[str, ...]
    deliverables: tuple[str, ...]
    rounds: tuple[RoundShown, ...]
    questions: tuple[QuestionShown, ...]


class ReviewShown(msgspec.Struct, frozen=True):
    """One review."""

    delegation: str
    round: int
    by: str
    at: When
    decision: str
    notes: str
    work: str
    period: str


def _request(office: Office, r: Request, read: Read, name: Naming) -> RequestShown:
    return RequestShown(
        r.id, r.asker, r.owner, read(r.outcome), when(office, r.at), when(office, r.due), r.matter, r.work, r.period, r.state,
        read(r.note), tuple(name(ref) for ref in r.materials), tuple(name(ref) for ref in r.results),
    )  # fmt: skip


def _line(office: Office, d: Delegation, read: Read) -> DelegationLine:
    review = d.rounds[-1].review if d.rounds else None
    return DelegationLine(
        d.id, d.principal, read(d.goal), when(office, d.at), when(office, d.due), d.work, d.period, d.matter, d.request,
        d.state, len(d.rounds), review.decision if review else "",
    )  # fmt: skip


def _shown(office: Office, d: Delegation, read: Read, names: Names) -> DelegationShown:
    rounds = tuple(_round(office, r, read, names) for r in d.rounds)
    questions = tuple(
        QuestionShown(q.id, when(office, q.at), read(q.body), read(q.answer) if q.answer else "", q.answered_by)
        for q in d.questions
    )
    return DelegationShown(_line(office, d, read), names(d.inputs), d.constraints, d.deliverables, rounds, questions)


def _round(office: Office, r: Round, read: Read, names: Names) -> RoundShown:
    s, v = r.submission, r.review
    return RoundShown(
        r.number, when(office, r.at), r.revision, r.segments, r.stopped, when(office, s.at if s else 0),
        names(s.files) if s else (), read(s.report) if s else "", s.refused if s else (), when(office, v.at if v else 0),
        v.by if v else "", v.decision if v else "", read(v.notes) if v else "", names(v.files) if v else (),
    )  # fmt: skip


# -- the operator's -----------------------------------------------------------------------------------------------------


def requests(office: Office, person: str = "", state: str = "") -> list[Request]:
    """Return requests, the newest first: all, those a person takes part in, those in a state."""
    found = (
        r for r in office.requests.values()
        if (not person or person in (r.asker, r.owner)) and (not state or r.state == state)
    )  # fmt: skip
    return newest(found, lambda r: (r.at, r.id))


def request_shown(office: Office, read: Read) -> Callable[[Request], RequestShown]:
    """Return how the operator is shown a request."""
    name = names_of(office)
    return lambda r: _request(office, r, read, name)


def delegations(office: Office, person: str = "", state: str = "") -> list[Delegation]:
    """Return delegations, the newest first: all, those a person gave, those in a state."""
    found = (
        d for d in office.delegations.values()
        if (not person or person == d.principal) and (not state or d.state == state)
    )  # fmt: skip
    return newest(found, lambda d: (d.at, d.id))


def delegation_line(office: Office, read: Read) -> Callable[[Delegation], DelegationLine]:
    """Return how a delegation stands on the board."""
    return lambda d: _line(office, d, read)


def delegation(office: Office, delegation_id: str, read: Read) -> DelegationShown:
    """Return a delegation's whole story. Raises UnknownReference."""
    found = office.delegations.get(delegation_id)
    if found is None:
        raise UnknownReference(NOT_FOUND)
    name = names_of(office)
    return _shown(office, found, read, lambda refs: tuple(name(ref) for ref in refs))


def reviews(office: Office, person: str = "") -> list[tuple[Delegation, Round]]:
    """Return the rounds that were reviewed, the newest first: all, or by one person."""
    found = [
        (d, r) for d in office.delegations.values() for r in d.rounds
        if r.review is not None and (not person or r.review.by == person)
    ]  # fmt: skip
    return newest(found, lambda pair: (pair[1].review.at if pair[1].review else 0, f"{pair[0].id}.{pair[1].number}"))


def review_shown(office: Office, read: Read) -> Callable[[tuple[Delegation, Round]], ReviewShown]:
    """Return how a review is shown."""

    def show(pair: tuple[Delegation, Round]) -> ReviewShown:
        d, r = pair
        assert r.review is not None
        v = r.review
        return ReviewShown(d.id, r.number, v.by, when(office, v.at), v.decision, read(v.notes), d.work, d.period)

    return show


# -- a person's -----------------------------------------------------------------------------------------------------------


def seen_requests(seen: View, state: str = "") -> list[Request]:
    """Return the requests that the subject made or was made, the newest first."""
    return list(reversed(seen.requests((state,) if state else ())))


def seen_request_shown(office: Office, seen: View, read: Read) -> Callable[[Request], RequestShown]:
    """Return how the subject is shown a request."""
    name = names_in(seen)
    return lambda r: _request(office, r, read, name)


def seen_delegations(seen: View, state: str = "") -> list[Delegation]:
    """Return the delegations that the subject gave, the newest first."""
    return list(reversed(seen.delegations((state,) if state else ())))


def seen_delegation(office: Office, seen: View, delegation_id: str, read: Read) -> DelegationShown:
    """Return a delegation that the subject gave; files are named as far as they may still be read."""
    found = seen.delegation(delegation_id)
    if found is None:
        raise UnknownReference(NOT_FOUND)
    name = names_in(seen)
    return _shown(
        office, found, read, lambda refs: tuple(name(ref) for ref in seen.readable(refs))
    )  # fmt: skip
