"""A submission: the principal opens the files themselves, recomputes, and accepts, sends back, or asks for what is missing."""

from __future__ import annotations

from services.offline.desk import due_by, matter_of, period_words, title_of
from services.offline.heard import Heard, Row
from services.offline.owner import pick_up
from services.offline.reviewer import Opened, decision, figure_file, figures_of, judge, notes
from services.offline.script import Answer, Call, Script, ask, call, parting, refused
from services.offline.worklore import QUALITY, by_deliverable, mail_in, signer, workday
from services.professions.base import Profession
from services.professions.faults import Fault
from services.professions.registry import PROFESSIONS

LAST_ROUND = 5
"""From this round on work is accepted with remarks or withdrawn, not sent back again."""
OPEN_FIGURES = (
    "Unexplained difference",
    "Open items",
    "Overdue",
    "Carried deviations",
    "Lots rejected",
    "P1 items",
    "Flagged accounts",
)


def parts_to_read(files: list[str], answers: list[Answer]) -> list[Call]:
    """Return the calls that read the further parts of long files."""
    return [
        call("open_file", file=path, part=part)
        for path, answer in zip(files, answers, strict=True)
        for part in range(2, int(answer.get("parts", 1)) + 1)
    ]


def whole(files: list[str], answers: list[Answer], further: list[Call], rest: list[Answer]) -> tuple[Opened, ...]:
    """Return the files that could be opened, each with its whole text."""
    texts = {path: str(answer["text"]) for path, answer in zip(files, answers, strict=True) if answer.get("ok")}
    for made, answer in zip(further, rest, strict=True):
        if answer.get("ok"):
            texts[str(made.arguments["file"])] += str(answer["text"])
    names = {path: str(answer.get("file", path)) for path, answer in zip(files, answers, strict=True)}
    return tuple(Opened(names[path], text) for path, text in texts.items())


def look_at(me: Heard, work: Row) -> Script:
    """Deal with a submission, or with an assistant that stopped."""
    if work.get("state") == "stopped":
        yield from _stopped(me, work)
        return
    submitted = [str(path) for path in work.get("submitted", ())]
    inputs = [str(path) for path in work.get("inputs", ()) if str(path).startswith("/")]
    files = list(dict.fromkeys([*submitted, *inputs]))
    answers = yield ask(*(call("open_file", file=path) for path in files))
    further = parts_to_read(files, answers)
    rest: list[Answer] = []
    if further:
        rest = yield ask(*further)
    texts = whole(files, answers, further, rest)
    handed_in = tuple(each for each in texts if each.path in submitted)
    kind = PROFESSIONS.get(str(work.get("work", ""))) or by_deliverable(map(str, work.get("deliverables", ())))
    faults = _faults(kind, work, tuple(each for each in texts if each.path in inputs), handed_in)
    overlooked = _overlooks(me, work, faults)
    if faults and not overlooked:
        yield from _send_back(me, work, faults)
        return
    yield from _accept(me, work, kind, handed_in, faults)


def _faults(
    kind: Profession | None, work: Row, sources: tuple[Opened, ...], handed_in: tuple[Opened, ...]
) -> tuple[Fault, ...]:
    if kind is not None:
        return judge(kind, str(work.get("period", "")), sources, handed_in)
    names = {each.name for each in handed_in if each.text.strip()}
    wanted = [str(path).rpartition("/")[2] for path in work.get("deliverables", ())]
    return tuple(
        Fault("high", name, "", "the deliverable is missing or empty; write it and submit it", "supplement")
        for name in wanted if name not in names
    )  # fmt: skip


def _overlooks(me: Heard, work: Row, faults: tuple[Fault, ...]) -> bool:
    """Even a careful reader now and then lets a small thing pass; the quality reviewer will find it."""
    small = bool(faults) and all(fault.severity != "high" for fault in faults) and len(faults) <= 2
    return small and me.draw("overlook", str(work["delegation"]), int(work.get("round", 1))).chance(1, 8)


def _send_back(me: Heard, work: Row, faults: tuple[Fault, ...]) -> Script:
    number = int(work.get("round", 1))
    draw = me.draw("back", str(work["delegation"]), number)
    if number >= LAST_ROUND:
        yield from _give_up(me, work, faults)
        return
    decided = decision(faults)
    opening = draw.choice((
        "I opened the files and recomputed from the inputs. To be mended:",
        "The report says all is well; the files do not. What I found:",
        "Held against the papers, this does not stand yet:",
        "Close, but not there. File, place, what I found and what I expected:",
    ))  # fmt: skip
    if decided == "supplement":
        opening = draw.choice((
            "What is there can stay. Still missing:", "Sound as far as it goes. Please add:",
            "Nothing wrong, but not complete:",
        ))  # fmt: skip
    ending = draw.choice(("", "\nLeave everything else as it is.", "\nRun it again from the originals.",
                          "\nCheck the totals before you hand it in.")) if decided == "revise" else ""  # fmt: skip
    text = f"{opening}\n{notes(faults)}{ending}"
    answers = yield ask(call("review", delegation=work["delegation"], decision=decided, notes=text))
    if refused(answers) and "withdraw" in refused(answers)[0]:
        yield from _give_up(me, work, faults)


def _give_up(me: Heard, work: Row, faults: tuple[Fault, ...]) -> Script:
    """After so many rounds: withdraw, and say so to whoever waits."""
    reason = f"After {work.get('round')} rounds it still does not stand: {faults[0] if faults else 'nothing usable was handed in'}"
    calls = [call("withdraw", ref=work["delegation"], reason=reason[:480])]
    if work.get("request"):
        calls.append(call("decline_request", request=work["request"], reason=reason[:1_500]))
    calls.append(
        call("note", record="question", text=f"{reason[:600]} This stays open.", matter=work.get("matter") or None)
    )
    yield parting(*calls)


def _stopped(me: Heard, work: Row) -> Script:
    number = int(work.get("round", 1))
    if number >= LAST_ROUND:
        yield from _give_up(me, work, ())
        return
    text = (
        "You stopped without handing in. Go on from your home as it is: run the skill's script on the inputs named in the "
        "task, check the figures, and submit every deliverable at its path."
    )
    yield parting(call("review", delegation=work["delegation"], decision="supplement", notes=text))


def _accept(
    me: Heard, work: Row, kind: Profession | None, handed_in: tuple[Opened, ...], faults: tuple[Fault, ...]
) -> Script:
    wanted = {str(path).rpartition("/")[2] for path in work.get("deliverables", ())}
    chosen = [each for each in handed_in if each.name in wanted] or list(handed_in)
    matter = matter_of(me, str(work.get("matter", "")))
    stating = next((each for each in chosen if kind is not None and each.name == figure_file(kind)), None)
    figures = figures_of(kind, stating) if kind is not None else {}
    draw = me.draw("accept work", str(work["delegation"]))
    said = draw.choice((
        "Recomputed from the inputs; it ties.", "Opened both files, totals and references hold.",
        "Figures, carried items and citations checked against the papers.", "Good. It says what is open and why.",
    ))  # fmt: skip
    calls = [
        call(
            "review", delegation=work["delegation"], decision="accept", notes=said, files=[each.path for each in chosen]
        ),
        *(call("share", file=each.path, audience=[f"matter:{matter['id']}"]) for each in chosen if matter.get("id")),
    ]
    calls += _onward(me, work, matter, kind, [each.path for each in chosen], figures)
    answers = yield ask(*calls)
    yield from _kept(me, work, matter, kind, figures)
    if refused(answers) and matter.get("lead") not in ("", me.card.id):
        reason = refused(answers)[0]
        text = f"The {title_of(str(work.get('work', '')))} {work.get('period', '')} is accepted, but it stopped at this: {reason}"
        yield parting(call("post_message", to=str(matter["lead"]), text=text[:1_500], asks=False))
    elif not refused(answers) and (work.get("request") or signer(matter, me.card.id)):
        yield from _told(me, work, matter, kind, [each.path for each in chosen], figures)
    for script in pick_up(me, [str(work.get("request", ""))]):
        yield from script


def _told(
    me: Heard, work: Row, matter: Row, kind: Profession | None, files: list[str], figures: dict[str, str]
) -> Script:
    """Say in the matter's room that work is done, as people do who sit at several desks; not every time."""
    draw = me.draw("told", str(work["delegation"]))
    if not matter.get("id") or kind is None or not draw.chance(2, 3):
        return
    what, number = f"{title_of(kind.kind)} {work.get('period', '')}".strip(), int(work.get("round", 1))
    said = draw.choice((
        f"{what[:1].upper()}{what[1:]} is accepted and in the results.", f"Done with the {what}.",
        f"The {what} stands now; whoever builds on it, take this version.", f"For those who wait for it: the {what} is shared.",
    ))  # fmt: skip
    said += f" It took {number} rounds." if number > 1 else ""
    words = figure_words(kind, figures, draw.between(1, 3))
    yield ask(call("post_message", to=f"room-matter-{matter['id']}", text=f"{said} {words}." if words else said, cites=files[:1]))


def figure_words(kind: Profession, figures: dict[str, str], most: int = 4) -> str:
    """Return the figures that a reader looks at first, in words."""
    first = [label for label in OPEN_FIGURES if label in figures]
    rest = [label for label in kind.labels if label in figures and label not in first]
    return "; ".join(f"{label}: {figures[label]}" for label in [*first, *rest][:most])


def _onward(
    me: Heard, work: Row, matter: Row, kind: Profession | None, files: list[str], figures: dict[str, str]
) -> list[Call]:
    """Return what follows an acceptance: quality review before a client, else the asker's fulfilment."""
    period = str(work.get("period", ""))
    words = f"Figures: {figure_words(kind, figures)}." if kind is not None and figures else ""
    reviewer = signer(matter, me.card.id) if matter.get("client") and kind is not None else ""
    mail = mail_in(str(work.get("goal", "")))
    if reviewer:
        draw = me.draw("quality", str(work["delegation"]))
        text = draw.choice((
            f"Quality review of the {title_of(str(work.get('work', '')))} for {matter['name']}, {period_words(period)}, before it "
            "goes to the client.",
            f"Please look over the {title_of(str(work.get('work', '')))} {period} of {matter['name']}: totals, references, "
            "what is open. Sign off if it stands.",
        ))  # fmt: skip
        outcome = f"{text} {words}" + (f" (mail {mail})" if mail else "")
        return [call("make_request", to=reviewer, outcome=outcome, due=due_by(workday(me.today, 2)), materials=files,
                     matter=str(matter["id"]), work=QUALITY, period=period)]  # fmt: skip
    if work.get("request"):
        return [
            call("fulfil_request", request=work["request"], results=files, note=words or "Done; the file is shared.")
        ]
    if matter.get("id"):
        text = f"{title_of(str(work.get('work', ''))).capitalize()} {period} is accepted and shared. {words}"
        return [call("post_message", to=f"room-matter-{matter['id']}", text=text, cites=files)]
    return []


def _kept(me: Heard, work: Row, matter: Row, kind: Profession | None, figures: dict[str, str]) -> Script:
    """Remember what stays open, and forget what was waited for."""
    about = str(work.get("request", ""))
    done = [
        call("close_note", record=r["id"], note="the work is done")
        for r in me.rows("Open questions") if about and r.get("about") == about
    ]  # fmt: skip
    gap = figures.get("Unexplained difference", "0.00")
    if kind is not None and gap not in ("0.00", "0"):
        text = f"{matter['name']}, {work.get('period')}: a difference of {gap} stays unexplained after the {kind.title.lower()}."
        done.append(call("note", record="question", text=text, about=str(work["delegation"]), matter=str(matter["id"])))
    elif me.draw("colleague", str(work["delegation"])).chance(1, 9) and work.get("request"):
        text = f"Round {work.get('round', 1)} of the {title_of(str(work.get('work', '')))} {work.get('period', '')} held; the papers were complete."
        done.append(call("note", record="discussion", text=text, about=about, matter=str(matter["id"]) or None))
    if done:
        yield ask(*done)
