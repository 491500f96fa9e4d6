"""Folding of work: requests, delegations, rounds, questions, submissions, reviews. The state machines are the tables
here."""

from __future__ import annotations

import msgspec

from simulator.businesstime import calendar_for
from simulator.events import (
    DelegationOpened,
    DelegationWithdrawn,
    Event,
    QuestionAnswered,
    QuestionAsked,
    RequestAnswered,
    RequestMade,
    RoundOpened,
    SegmentLanded,
    SystemCalled,
    WorkReviewed,
    WorkSubmitted,
)
from simulator.fold.base import append, clear_timer, notify, put, set_timer, wake
from simulator.office import Office
from simulator.records import Delegation, Question, Round, Stimulus, Timer

REQUEST_MOVES: dict[str, frozenset[str]] = {
    "open": frozenset({"accepted", "declined", "fulfilled", "withdrawn"}),
    "accepted": frozenset({"declined", "fulfilled", "withdrawn"}),
    "declined": frozenset(),
    "fulfilled": frozenset(),
    "withdrawn": frozenset(),
}
"""Request state -> states it may move to."""

DELEGATION_MOVES: dict[str, frozenset[str]] = {
    "working": frozenset({"asking", "submitted", "stopped", "withdrawn"}),
    "asking": frozenset({"working", "withdrawn"}),
    "submitted": frozenset({"accepted", "working", "withdrawn"}),
    "stopped": frozenset({"working", "withdrawn"}),
    "accepted": frozenset(),
    "withdrawn": frozenset(),
}
"""Delegation state -> states it may move to. `stopped`: the assistant ended without a submission."""

ANSWER_HOURS = 16
"""Business hours after which the engine answers a question itself (RULE 14)."""


def _delegation(o: Office, old: Delegation, **changes: object) -> Delegation:
    new = msgspec.structs.replace(old, **changes)
    put(o, delegations=o.delegations.insert(new.id, new))
    return new


def _round(old: Delegation, **changes: object) -> tuple[Round, ...]:
    return (*old.rounds[:-1], msgspec.structs.replace(old.rounds[-1], **changes))


def _segment_timer(o: Office, delegation: Delegation, at: int) -> None:
    number = delegation.rounds[-1].segments + 1
    set_timer(o, Timer(f"segment:{delegation.id}", at, "segment", delegation.id, delegation.principal, number))


def request_made(o: Office, event: Event, p: RequestMade) -> None:
    r = p.request
    put(o, requests=o.requests.insert(r.id, r))
    put(o, by_person=append(append(o.by_person, r.asker, r.id), r.owner, r.id))
    wake(o, r.owner, Stimulus(r.id, "request", r.id, event.sim_time, r.asker, f"request:{r.id}"))
    if r.due:
        set_timer(o, Timer(f"due:{r.id}", max(r.due, event.sim_time), "due", r.id, r.owner))


def request_answered(o: Office, event: Event, p: RequestAnswered) -> None:
    r = o.requests[p.request]
    changed = msgspec.structs.replace(r, state=p.state, note=p.note, results=p.results or r.results)
    put(o, requests=o.requests.insert(r.id, changed))
    other = r.asker if p.by == r.owner else r.owner
    notify(o, event, other, f"request {p.state}", r.id)
    if p.state != "accepted":
        clear_timer(o, f"due:{r.id}")
        text = f"request {p.state}"
        wake(
            o, other, Stimulus(f"{r.id}.{p.state}", "answer", r.id, event.sim_time, p.by, f"request:{r.id}", text=text)
        )


def delegation_opened(o: Office, event: Event, p: DelegationOpened) -> None:
    d = p.delegation
    put(o, delegations=o.delegations.insert(d.id, d), by_person=append(o.by_person, d.principal, d.id))


def round_opened(o: Office, event: Event, p: RoundOpened) -> None:
    d = o.delegations[p.delegation]
    new = Round(p.number, event.revision, event.sim_time)
    d = _delegation(o, d, state="working", rounds=(*d.rounds, new))
    _segment_timer(o, d, event.sim_time)


def segment_landed(o: Office, event: Event, p: SegmentLanded) -> None:
    d = o.delegations[p.delegation]
    rounds = _round(d, segments=p.segment, home=p.home, stopped=p.reason if p.outcome == "stopped" else "")
    state = {"asked": "asking", "submitted": "submitted", "stopped": "stopped"}[p.outcome]
    _delegation(o, d, state=state, rounds=rounds)
    if p.outcome == "stopped":
        text = f"the assistant stopped without submitting: {p.reason}"
        wake(o, d.principal, Stimulus(f"{d.id}.stopped.{p.round}.{p.segment}", "submission", d.id, event.sim_time,
                                      f"assistant:{d.id}", f"delegation:{d.id}", text=text))  # fmt: skip


def question_asked(o: Office, event: Event, p: QuestionAsked) -> None:
    d = o.delegations[p.delegation]
    question = Question(p.question, d.id, event.sim_time, p.body)
    _delegation(o, d, questions=(*d.questions, question))
    wake(
        o,
        d.principal,
        Stimulus(p.question, "question", d.id, event.sim_time, f"assistant:{d.id}", f"delegation:{d.id}"),
    )
    at = calendar_for(o.calendar).add_business_hours(event.sim_time, ANSWER_HOURS)
    set_timer(o, Timer(f"answer:{p.question}", at, "answer", d.id, d.principal, len(d.questions)))


def question_answered(o: Office, event: Event, p: QuestionAnswered) -> None:
    d = o.delegations[p.delegation]
    questions = tuple(
        msgspec.structs.replace(q, answer=p.body, answered_by=p.by) if q.id == p.question else q for q in d.questions
    )
    d = _delegation(o, d, questions=questions, state="working")
    clear_timer(o, f"answer:{p.question}")
    _segment_timer(o, d, event.sim_time)


def work_submitted(o: Office, event: Event, p: WorkSubmitted) -> None:
    d = o.delegations[p.delegation]
    _delegation(o, d, rounds=_round(d, submission=p.submission))
    wake(o, d.principal, Stimulus(f"{d.id}.submission.{p.round}", "submission", d.id, event.sim_time,
                                  f"assistant:{d.id}", f"delegation:{d.id}"))  # fmt: skip
    notify(o, event, d.principal, f"round {p.round} submitted", d.id)


def work_reviewed(o: Office, event: Event, p: WorkReviewed) -> None:
    d = o.delegations[p.delegation]
    state = "accepted" if p.review.decision == "accept" else d.state
    _delegation(o, d, rounds=_round(d, review=p.review), state=state)
    notify(o, event, d.principal, f"round {p.round} reviewed: {p.review.decision}", d.id)


def delegation_withdrawn(o: Office, event: Event, p: DelegationWithdrawn) -> None:
    d = o.delegations[p.delegation]
    _delegation(o, d, state="withdrawn")
    clear_timer(o, f"segment:{d.id}")
    for question in d.questions:
        clear_timer(o, f"answer:{question.id}")


def system_called(o: Office, event: Event, p: SystemCalled) -> None:
    """The head moves; the delegation remembers which systems it has seen, whatever came of the call."""
    d = o.delegations[p.delegation]
    changed = msgspec.structs.replace(o.systems[p.system], state=p.state)
    put(o, systems=o.systems.insert(p.system, changed))
    if p.system not in d.systems:
        _delegation(o, d, systems=(*d.systems, p.system))
