"""The owner of a request: takes it on, gathers what it rests on, waits for what is missing, delegates."""

from __future__ import annotations

from collections.abc import Sequence

from services.offline.desk import (
    delegations,
    due_by,
    in_quality,
    matter_of,
    passed,
    period_words,
    requests_by_me,
    requests_to_me,
    title_of,
)
from services.offline.heard import Heard, Row
from services.offline.script import Answer, Call, Script, ask, call, parting, refused
from services.offline.worklore import (
    QUALITY,
    Place,
    accepted,
    folder,
    mail_in,
    places,
    prior_of,
    result_of,
    signer,
    stem,
    workday,
)
from services.professions.base import Profession
from services.professions.registry import PROFESSIONS

MOST_UNDER_WAY = 6
AGAIN = "as soon as one of yours is settled"
"""In an outcome: the asker knows that the owner is full and prefers to wait."""
STANDARDS = (
    "Originals stay unchanged; work on copies and write only the deliverables.",
    "No item is resolved without evidence; what is open is listed as open with its amount and reason.",
    "Every finding cites the id of the record it rests on.",
    "Formulas stay live; figures are taken, never retyped or rounded.",
    "Say in the report which file each total comes from.",
    "Carry forward what the earlier result left open.",
    "Use the skill's script as it is documented and check its figures against the inputs.",
)


def take_on(me: Heard, request: Row) -> Script:
    """Answer a request for a known kind of work: accept and start it, or decline while six are under way."""
    outcome = str(request.get("outcome", ""))
    if len(delegations(me)) >= MOST_UNDER_WAY and AGAIN not in outcome:
        reason = me.draw("full", str(request["request"])).choice((
            "Six delegations of mine are running; one more would wait unread. Please ask someone with room.",
            "My hands are full with six pieces under way. I would rather say so now than be late.",
        ))  # fmt: skip
        yield parting(call("decline_request", request=request["request"], reason=reason))
        return
    words = me.draw("accept", str(request["request"])).choice((
        "Mine. I start today.", "Taken. You will have it by the date you named.", "Accepted; I look at the papers first.",
        "Yes. I will say so early if anything is missing.", "On it.",
    ))  # fmt: skip
    yield from start(me, request, call("accept_request", request=request["request"], note=words))


def start(me: Heard, request: Row, *first: Call) -> Script:
    """Delegate a request's work if all it needs is there; else ask for what is missing, once."""
    if request.get("request") in me.started:
        return
    me.started.add(str(request.get("request", "")) or "own")
    kind, period = PROFESSIONS[str(request["work"])], str(request["period"])
    matter = matter_of(me, str(request["matter"]))
    name = str(matter["name"])
    made = [stem(each.main.name) for each in (kind, *(PROFESSIONS[other.kind] for other in kind.others))]
    answers = yield ask(
        *first,
        *(call("list_files", folder=file) for file in dict.fromkeys(made)),
        call("list_files", folder=f"Projects/{name}/Inputs/{period}"),
        *((call("read_memory", record="question"),) if kind.others else ()),
    )
    if first and refused(answers[: len(first)]):
        return
    rest = answers[len(first) :]
    found = [pair for answer in rest for pair in places(answer)]
    if not first and _done(found, kind, name, period):
        yield from _hand_over(me, request, kind, name)
        return
    materials = _materials(request, found, kind, name, period)
    prior = prior_of(found, kind, name, period)
    others = [result_of(found, PROFESSIONS[other.kind], name, period) for other in kind.others]
    lacking = _lacking(me, kind, period, name, found, others, request)
    if lacking:
        asked = any(r.get("about") == request["request"] for answer in rest for r in answer.get("records", ()))
        yield from _wait(me, request, lacking, asked)
        return
    if any(_earlier(row, request) for row in delegations(me)):
        return
    inputs = [*materials, *([prior.text] if prior else []), *(each.text for each in others if each is not None)]
    yield from hand_out(me, request, kind, inputs, prior, [each for each in others if each is not None])


def _done(found: Sequence[tuple[Place, Row]], kind: Profession, matter: str, period: str) -> bool:
    """Whether this very work has been accepted, so that only its release is still open."""
    where = result_of(found, kind, matter, period)
    return where is not None and where.area == "home"


def _hand_over(me: Heard, request: Row, kind: Profession, matter: str) -> Script:
    """What was accepted long ago did not reach its asker: ask for the quality review again, or hand it over."""
    period = str(request["period"])
    (listed,) = yield ask(call("list_files", folder=f"{matter}/{period}"))
    names = {deliverable.name for deliverable in kind.deliverables}
    made = [(w, row) for w, row in places(listed) if w.area == "home" and w.file in names and accepted(row)]
    files = [where.text for where, _ in made]
    if not files:
        return
    team = [f"matter:{request['matter']}"]
    yield ask(*(call("share", file=path, audience=team) for path in files))
    signed = all(any("quality_signoff" in str(c) for c in row.get("confirmed", ())) for _, row in made)
    reviewer = signer(matter_of(me, str(request["matter"])), me.card.id)
    if signed or not reviewer:
        yield parting(
            call("fulfil_request", request=request["request"], results=files, note="Accepted and signed off.")
        )
        return
    mail = mail_in(str(request.get("outcome", "")))
    text = f"Quality review of the {kind.title.lower()} for {matter}, {period}." + (f" (mail {mail})" if mail else "")
    yield parting(call("make_request", to=reviewer, outcome=text, due=due_by(workday(me.today, 2)), materials=files,
                       matter=str(request["matter"]), work=QUALITY, period=period))  # fmt: skip


def withdrawn(me: Heard, request: Row) -> Script:
    """The asker took a request back: stop what was begun for it."""
    reason = f"The request was withdrawn: {str(request.get('note', ''))[:300]}"
    calls = [
        call("withdraw", ref=d["delegation"], reason=reason)
        for d in delegations(me)
        if d.get("request") == request["request"]
    ]
    kind = PROFESSIONS.get(str(request.get("work", "")))
    names = {d.name for d in kind.deliverables} if kind else set()
    calls += [
        call("withdraw", ref=r["request"], reason=reason[:200]) for r in requests_by_me(me)
        if r.get("work") == QUALITY and (r.get("matter"), r.get("period")) == (request.get("matter"), request.get("period"))
        and any(str(m).rpartition("/")[2].partition("@")[0] in names for m in r.get("materials", ()))
    ]  # fmt: skip
    if calls:
        yield ask(*calls)


def _materials(
    request: Row, found: Sequence[tuple[Place, Row]], kind: Profession, matter: str, period: str
) -> list[str]:
    named = [str(path) for path in request.get("materials", ())]
    files = {path.rpartition("/")[2].partition("@")[0] for path in named}
    wanted = {spec.file for spec in kind.inputs} - files
    lying = [w.text for w, _ in found if w.area == "Inputs" and w.matter == matter and w.period == period]
    return [*named, *(path for path in lying if path.rpartition("/")[2].partition("@")[0] in wanted)]


def _lacking(
    me: Heard,
    kind: Profession,
    period: str,
    matter: str,
    found: Sequence[tuple[Place, Row]],
    others: Sequence[Place | None],
    request: Row,
) -> list[str]:
    """Return the kinds whose accepted result for this period is still to come. Past the due date nothing is waited for."""
    if passed(me, str(request.get("due", ""))):
        return []
    sent = {w.file for w, _ in found if w.area == "Inputs" and w.matter == matter and w.period == period}
    lacking = []
    for other, result in zip(kind.others, others, strict=True):
        needs = {spec.file for spec in PROFESSIONS[other.kind].inputs if not spec.optional}
        if result is None and needs <= sent:
            lacking.append(other.kind)
    return lacking


def _wait(me: Heard, request: Row, lacking: list[str], asked: bool) -> Script:
    names = " and ".join(title_of(kind) for kind in lacking)
    period, matter = str(request["period"]), str(request["matter"])
    own = [r for r in me.rows("Work in hand") if r.get("work") in lacking and r.get("period") == period
           and r.get("matter") == matter and ("delegation" in r or r.get("owner") == me.card.id)]  # fmt: skip
    if asked or own:
        return
    lead = str(matter_of(me, matter).get("lead", "")) or str(request["from"])
    text = me.draw("missing", str(request["request"])).choice((
        f"Before I start the {title_of(str(request['work']))} for {period} I need the accepted {names}. Who has it, and when?",
        f"The {title_of(str(request['work']))} for {period} builds on the {names}, and no accepted one is shared yet. "
        "When can I count on it?",
        f"I have the papers for the {title_of(str(request['work']))} {period}, but not the {names}. I wait for that; who has it?",
    ))  # fmt: skip
    note = f"Waiting for the accepted {names} of {period} before the {title_of(str(request['work']))} can start."
    kept = call("note", record="question", text=note, about=str(request["request"]), matter=matter)
    if lead == me.card.id:
        yield parting(kept)
        return
    yield parting(call("post_message", to=lead, text=text, asks=True), kept)


def _earlier(row: Row, request: Row) -> bool:
    same = row.get("work") == request["work"] and row.get("matter") == request["matter"]
    return same and str(row.get("period", "")) < str(request["period"])


def hand_out(
    me: Heard,
    request: Row,
    kind: Profession,
    inputs: list[str],
    prior: Place | None,
    others: list[Place],
    more: Sequence[str] = (),
    goal: str = "",
) -> Script:
    """Delegate: goal, inputs, constraints, deliverables."""
    period, matter = str(request["period"]), matter_of(me, str(request["matter"]))
    draw = me.draw("delegate", kind.kind, period)
    asked = mail_in(str(request.get("outcome", "")))
    goal = goal or _goal(me, kind, str(matter["name"]), period, prior, others)
    where = folder(str(matter["name"]), period)
    answers = yield ask(call(
        "delegate",
        goal=f"{goal} (mail {asked})" if asked else goal,
        inputs=list(dict.fromkeys(inputs)),
        constraints=[*more, *draw.shuffled(STANDARDS)[: draw.between(3, 5)], *_open_questions(me, matter)],
        deliverables=[f"{where}/{deliverable.name}" for deliverable in kind.deliverables],
        work=kind.kind,
        period=period,
        matter=str(matter["id"]),
        due=str(request.get("due", "")) if not passed(me, str(request.get("due", ""))) else None,
        request=str(request.get("request", "")) or None,
    ))  # fmt: skip
    yield from _not_delegated(me, request, answers)


def _not_delegated(me: Heard, request: Row, answers: list[Answer]) -> Script:
    """Go on after a refusal: one that only time mends is left for later, any other is told to the asker."""
    reasons = refused(answers)
    if not reasons or "under way" in reasons[0] or not request.get("request"):
        return
    yield parting(
        call("decline_request", request=request["request"], reason=f"I could not start it: {reasons[0]}"[:1_500])
    )


def _goal(me: Heard, kind: Profession, matter: str, period: str, prior: Place | None, others: list[Place]) -> str:
    draw = me.draw("goal", kind.kind, matter, period)
    head = draw.choice((
        f"{kind.title} for {matter}, {period_words(period)}.",
        f"Prepare the {kind.title.lower()} of {matter} for {period_words(period)}.",
        f"Work through what {matter} sent for {period_words(period)} and make the {kind.title.lower()}.",
    ))  # fmt: skip
    builds = f" It continues {prior.file} of {prior.period}: carry forward what was left open there." if prior else ""
    rests = "".join(f" Take the accepted {other.file} of {other.period} as it is." for other in others)
    tail = draw.choice((
        " I will open the files themselves, not the report.", " Say plainly what does not tie.",
        " A short true note is better than a long one.", "",
    ))  # fmt: skip
    return f"{head}{builds}{rests}{tail}"


def _open_questions(me: Heard, matter: Row) -> list[str]:
    kept = [
        str(r["text"])
        for r in me.rows("Open questions")
        if r.get("matter") == matter["id"] and "stays" in str(r["text"])
    ]
    return [f"Still open from before: {text[:300]} Say whether these papers answer it." for text in kept[:2]]


def pick_up(me: Heard, besides: Sequence[str] = ()) -> list[Script]:
    """Return a script for each accepted request whose work has not begun and does not lie with the quality reviewer."""
    begun = {row.get("request") for row in delegations(me)}
    room = MOST_UNDER_WAY - len(delegations(me))
    waiting = [
        row for row in requests_to_me(me, "accepted")
        if row["request"] not in begun and row["request"] not in besides and row.get("work") in PROFESSIONS
        and not in_quality(me, str(row["matter"]), str(row["period"]), str(row["work"]))
    ]  # fmt: skip
    return [start(me, row) for row in sorted(waiting, key=lambda r: str(r["period"]))[: max(0, room)]]


def correct(me: Heard, request: Row, kind: Profession, reasons: str, main: str) -> Script:
    """Open a new delegation after the quality reviewer declined: the same sources, and what has to change."""
    (opened,) = yield ask(call("open_file", file=main))
    sources = [str(path) for path in opened.get("sources", ())]
    if not sources:
        return
    goal = f"Corrected version of the {kind.title.lower()} for {period_words(str(request['period']))}. The quality reviewer sent it back."
    more = [f"To be put right: {line}"[:480] for line in reasons.split("\n") if line.strip()][:6]
    yield from hand_out(me, request, kind, sources, None, [], more, goal)


def take_on_other(me: Heard, request: Row) -> Script:
    """Answer a request for something that is no known kind of work: a memo, made from the materials named."""
    materials = [str(path) for path in request.get("materials", ())]
    accept = call("accept_request", request=request["request"], note="I will see to it.")
    if not materials:
        note = f"Done as far as it lies with me: {str(request.get('outcome', ''))[:300]}"
        yield parting(accept, call("fulfil_request", request=request["request"], note=note))
        return
    matter = matter_of(me, str(request.get("matter", "")))
    period = str(request.get("period", "")) or me.today.isoformat()
    yield parting(accept, call(
        "delegate", goal=f"A memo of at most two pages: {str(request.get('outcome', ''))[:2_000]}", inputs=materials,
        constraints=list(STANDARDS[:3]), deliverables=[f"{folder(str(matter['name']), period)}/{_memo_name(request)}"],
        work="memo-writing" if "memo-writing" in me.card.skills else None, period=period,
        matter=str(matter["id"]) or None, request=str(request["request"]),
    ))  # fmt: skip


def _memo_name(request: Row) -> str:
    """Return a file name of its own for the memo that a request asks for: two memos of a month must not meet."""
    return f"Memo {str(request['request']).replace('.', '-')}.docx"
