"""Acts of work: requests, delegations, answers, reviews, withdrawal."""

from __future__ import annotations

from simulator.access import Subject, can
from simulator.acts import arguments as a
from simulator.acts.context import ActContext, Outcome, Refused
from simulator.acts.files import acceptance, safe_path
from simulator.events import (
    DelegationOpened,
    DelegationWithdrawn,
    MemberAdded,
    MemberRemoved,
    Payload,
    QuestionAnswered,
    RequestAnswered,
    RequestMade,
    RoundOpened,
    WorkReviewed,
)
from simulator.fold.work import DELEGATION_MOVES, REQUEST_MOVES
from simulator.records import Delegation, Request, Review

ROUND_LIMIT = 8
"""After this many rounds a principal must accept or withdraw."""
OPEN_DELEGATIONS = 6
"""A principal's delegations under way at once."""


def make_request(ctx: ActContext, args: a.MakeRequest) -> Outcome:
    owner = ctx.person(args.to)
    ctx.allow("request", owner.id)
    if not args.outcome.strip():
        raise Refused("say what outcome you ask for")
    matter = ctx.matter(args.matter)
    due = ctx.when(args.due)
    if due and due < ctx.at:
        raise Refused("the due time is past")
    materials = ctx.files(args.materials)
    unseen = [m.file for m in materials if not can(Subject(owner.id), "read", m, ctx.office).allowed]
    if unseen:
        raise Refused(f"{owner.id} may not read {len(unseen)} of the materials: share them first, or leave them out")
    request = Request(
        ctx.act_id, ctx.actor, owner.id, ctx.body(args.outcome, 8_000), ctx.at, due, matter, args.work[:100],
        args.period[:20], materials,
    )  # fmt: skip
    return Outcome((RequestMade(request),), {"request": request.id, "owner": owner.id})


def _request(ctx: ActContext, name: str, state: str, role: str) -> Request:
    ctx.allow("read_request", name)
    request = ctx.office.requests[name]
    if getattr(request, role) != ctx.actor:
        raise Refused(f"only the {role} of a request can do that")
    if state not in REQUEST_MOVES[request.state]:
        raise Refused(f"the request is {request.state}: it cannot become {state}")
    ctx.rely("request", name)
    return request


def accept_request(ctx: ActContext, args: a.AcceptRequest) -> Outcome:
    request = _request(ctx, args.request, "accepted", "owner")
    event = RequestAnswered(request.id, ctx.actor, "accepted", ctx.body(args.note))
    return Outcome((event,), {"request": request.id, "state": "accepted"})


def decline_request(ctx: ActContext, args: a.DeclineRequest) -> Outcome:
    request = _request(ctx, args.request, "declined", "owner")
    event = RequestAnswered(request.id, ctx.actor, "declined", ctx.body(args.reason))
    return Outcome((event,), {"request": request.id, "state": "declined"})


def fulfil_request(ctx: ActContext, args: a.FulfilRequest) -> Outcome:
    request = _request(ctx, args.request, "fulfilled", "owner")
    results = ctx.files(args.results)
    unseen = [r for r in results if not can(Subject(request.asker), "read", r, ctx.office).allowed]
    if unseen:
        raise Refused(f"{request.asker} cannot see {len(unseen)} of the results: accept and share them first")
    event = RequestAnswered(request.id, ctx.actor, "fulfilled", ctx.body(args.note), results)
    return Outcome((event,), {"request": request.id, "state": "fulfilled"})


def delegate(ctx: ActContext, args: a.Delegate) -> Outcome:
    matter = ctx.matter(args.matter)
    ctx.allow("delegate", matter)
    if not args.goal.strip() or not args.deliverables:
        raise Refused("a delegation needs a goal and at least one deliverable")
    if args.work and args.work not in ctx.me.skills and args.work in ctx.office.skills:
        raise Refused(f"{args.work} is not among your skills")
    mine = [d for d in _delegations(ctx) if d.state in ("working", "asking", "submitted", "stopped")]
    if len(mine) >= OPEN_DELEGATIONS:
        raise Refused(f"you have {len(mine)} delegations under way: settle one first")
    inputs = ctx.files(args.inputs)
    outside = [r for r in inputs if not can(Subject(ctx.actor, matter), "read", r, ctx.office).allowed]
    if outside:
        raise Refused("an input belongs behind another matter's wall: this assistant may not see it")
    if args.request:
        ctx.allow("read_request", args.request)
    due = ctx.when(args.due)
    delegation = Delegation(
        ctx.act_id, ctx.actor, ctx.body(args.goal, 8_000), ctx.at, args.work[:100], args.period[:20], matter,
        args.request, inputs, tuple(c[:500] for c in args.constraints),
        tuple(safe_path(d) for d in args.deliverables), due,
    )  # fmt: skip
    events = (DelegationOpened(delegation), RoundOpened(delegation.id, 1))
    return Outcome(events, {"delegation": delegation.id})


def _delegations(ctx: ActContext) -> list[Delegation]:
    ids = ctx.office.by_person.get(ctx.actor, ())
    found = (ctx.office.delegations.get(i) for i in ids)
    return [d for d in found if d is not None and d.principal == ctx.actor]


def answer_question(ctx: ActContext, args: a.AnswerQuestion) -> Outcome:
    if not args.text.strip():
        raise Refused("the answer is empty")
    for work in _delegations(ctx):
        for question in work.questions:
            if question.id == args.question:
                ctx.allow("answer", work.id)
                if question.answer is not None or work.state != "asking":
                    raise Refused("that question has been answered")
                ctx.rely("delegation", work.id)
                event = QuestionAnswered(work.id, question.id, ctx.actor, ctx.body(args.text, 8_000))
                return Outcome((event,), {"delegation": work.id, "question": question.id})
    raise Refused(f"no assistant of yours has asked {args.question!r}")


def review(ctx: ActContext, args: a.ReviewWork) -> Outcome:
    ctx.allow("review", args.delegation)
    work = ctx.office.delegations[args.delegation]
    latest = work.rounds[-1]
    if work.state == "stopped" and args.decision != "accept":
        return _again(ctx, work, args)
    if work.state != "submitted" or latest.submission is None:
        raise Refused(f"there is nothing to review: the delegation is {work.state}")
    if "accepted" not in DELEGATION_MOVES[work.state]:
        raise Refused(f"a delegation that is {work.state} cannot be reviewed")
    if args.decision != "accept":
        return _again(ctx, work, args)
    submitted = latest.submission.files
    chosen = ctx.files(args.files) or submitted
    foreign = [f for f in chosen if f not in submitted]
    if foreign:
        raise Refused(
            "accept names exactly the versions that were submitted: "
            + ", ".join(f"{f.file}@{f.version}" for f in submitted)
        )
    if not chosen:
        raise Refused("nothing was submitted: ask for a supplement or withdraw")
    ctx.rely("delegation", work.id)
    decided = WorkReviewed(work.id, latest.number, Review(ctx.at, ctx.actor, "accept", ctx.body(args.notes), chosen))
    events: list[Payload] = [decided]
    for number, ref in enumerate(chosen):
        current = [ctx.office.acceptances[i] for i in ctx.office.accepted.get(ref.file, ())]
        if any(c.capacity == "accept" and c.version == ref.version and c.by == ctx.actor for c in current):
            continue  # a correction may leave a deliverable as it was accepted before
        replaced = next((c.id for c in current if c.capacity == "accept"), "")
        events.append(acceptance(ctx, ref, "accept", replaced, f".a{number}"))
    accepted = [f"{r.file}@{r.version}" for r in chosen]
    return Outcome(tuple(events), {"delegation": work.id, "decision": "accept", "accepted": accepted})


def _again(ctx: ActContext, work: Delegation, args: a.ReviewWork) -> Outcome:
    if not args.notes.strip():
        raise Refused(f"{args.decision} needs notes: each fault with file, place, found and expected")
    latest = work.rounds[-1]
    if latest.number >= ROUND_LIMIT:
        raise Refused(f"this was round {latest.number}: accept it or withdraw the delegation")
    ctx.rely("delegation", work.id)
    decided = Review(ctx.at, ctx.actor, args.decision, ctx.body(args.notes, 12_000))
    events = (WorkReviewed(work.id, latest.number, decided), RoundOpened(work.id, latest.number + 1))
    return Outcome(events, {"delegation": work.id, "decision": args.decision, "round": latest.number + 1})


def withdraw(ctx: ActContext, args: a.Withdraw) -> Outcome:
    if args.ref in ctx.office.requests:
        request = _request(ctx, args.ref, "withdrawn", "asker")
        event: Payload = RequestAnswered(request.id, ctx.actor, "withdrawn", ctx.body(args.reason))
        return Outcome((event,), {"request": request.id, "state": "withdrawn"})
    ctx.allow("review", args.ref)
    work = ctx.office.delegations[args.ref]
    if "withdrawn" not in DELEGATION_MOVES[work.state]:
        raise Refused(f"the delegation is {work.state}: it cannot be withdrawn")
    return Outcome(
        (DelegationWithdrawn(work.id, ctx.actor, args.reason[:500]),), {"delegation": work.id, "state": "withdrawn"}
    )


def change_team(ctx: ActContext, args: a.ChangeTeam) -> Outcome:
    name = ctx.matter(args.matter)
    matter = ctx.office.matters[name] if name else None
    if matter is None or (matter.lead != ctx.actor and "lead" not in ctx.me.authority):
        raise Refused("only the lead of a matter changes its team")
    person = ctx.person(args.person)
    if person.kind != "staff" or person.id == matter.lead:
        raise Refused("a team is made of colleagues, and its lead stays")
    event: Payload = MemberAdded(name, person.id) if args.member else MemberRemoved(name, person.id)
    return Outcome((event,), {"matter": name, "person": person.id, "member": args.member})
