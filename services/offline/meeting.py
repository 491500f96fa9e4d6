"""One turn of a meeting: short, from work in hand; the organizer opens, has decisions and questions recorded, closes."""

from __future__ import annotations

import re

from services.offline.desk import delegations, listed, requests_by_me, requests_to_me, states, title_of, waits_for
from services.offline.heard import Heard
from services.offline.script import Call, call

_TITLE = re.compile(r"^# .*?\d\d:\d\d: (.+)$", re.MULTILINE)
_AGENDA = re.compile(r"You are in a meeting with (.*)\. Agenda: (.*)")
_LEFT = re.compile(r"(\d+) turns are left")


def turn(me: Heard) -> list[Call]:
    """Return the calls of this turn."""
    title = _found(_TITLE, me.prompt)
    so_far = me.prompt.partition("## So far\n")[2].partition("\n\nIt is your turn")[0]
    spoken = [row for row in me.rows("So far") if row.get("who") == me.card.name]
    leads = "(you lead this meeting)" in me.prompt
    left = int(_found(_LEFT, me.prompt) or 1)
    wide = "No client figures" in me.prompt
    if leads and not spoken:
        return [call("speak", text=_opening(me, title, wide))]
    if leads:
        return [*_outcome(me, title, so_far, wide), call("speak", text=_closing(me, title)), call("close_meeting")]
    if spoken or left < 2:
        return [call("pass_turn")]
    return _report(me, title, wide)


def _found(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else ""


def _opening(me: Heard, title: str, wide: bool) -> str:
    draw = me.draw("open", title)
    waiting = list(waits_for(me))
    if wide or not waiting:
        return draw.choice((
            "Good day. Promises first, then what waits for review, then what we must ask.",
            "Let us be short: what is due, what is stuck, who needs whom.",
            "Round the table, one thing each. I write down what we decide.",
        ))  # fmt: skip
    return draw.choice((f"Good morning. On my list: {listed(waiting, 3)}. What is stuck?",
                        f"I wait for this: {listed(waiting, 3)}. Does any date not hold?",
                        f"Short round. {listed(waiting, 2)}. Anything the client must be asked?"))  # fmt: skip


def _report(me: Heard, title: str, wide: bool) -> list[Call]:
    draw = me.draw("report", title)
    have = list(states(me))
    if wide:
        text = f"{len(delegations(me))} pieces are with assistants, {len(requests_to_me(me, 'open', 'accepted'))} requests are mine, "
        text += draw.choice(
            ("nothing I cannot keep.", "all dates hold as of today.", "one may slip by a day; I say so when I know.")
        )
        return [call("speak", text=text)]
    calls = []
    if have:
        calls.append(call("speak", text=draw.choice(("", "From me: ", "Mine: ")) + listed(have, 3) + "."))
    elif draw.chance(1, 2):
        calls.append(
            call(
                "speak",
                text=draw.choice(("Nothing waits on me.", "My desk is clear.", "Nothing new; I can take work.")),
            )
        )
    open_questions = [
        str(r["text"]) for r in me.rows("Open questions") if "stays" in str(r["text"]) or "Waiting" in str(r["text"])
    ]
    if open_questions and draw.chance(1, 6):
        calls.append(call("raise_question", text=open_questions[0][:400]))
    elif "Kick-off" in title and draw.chance(1, 2):
        calls.append(call("raise_question", text=draw.choice((
            "Is what the client exported complete for the period, or does a late import still change it?",
            "Who at the client can confirm items that have no document?",
            "Which of the open items of the period before does the client already know?",
        ))))  # fmt: skip
    return calls or [call("pass_turn")]


def _outcome(me: Heard, title: str, so_far: str, wide: bool) -> list[Call]:
    """Record what was decided: always at a kick-off or a close, now and then in a stand-up."""
    draw = me.draw("decide", title)
    mine = requests_by_me(me)
    if "Kick-off" in title:
        works = listed(list(dict.fromkeys(title_of(str(r.get("work", ""))) for r in mine)) or ["the first papers"], 4)
        return [call("record_decision", text=draw.choice((
            f"We work in separate streams: {works}; each has one owner, and what is open is named with its record.",
            f"{works.capitalize()} first. Nothing is resolved without evidence; questions to the client go through {me.card.called(me.card.id)}.",
        )))]  # fmt: skip
    if wide:
        return [call("record_decision", text=draw.choice((
            "Dates of next week stand; whoever sees one slip tells the lead the same day.",
            "Quality reviews of the month end come first; new digests wait a day if needed.",
            "Questions to clients go out together, once a day, through the lead.",
        )))] if draw.chance(2, 3) else []  # fmt: skip
    chance = (1, 1) if "close" in title.casefold() else (1, 5)
    if not mine or not draw.chance(*chance):
        return []
    first = mine[draw.below(len(mine))]
    name, owner = title_of(str(first.get("work", ""))), me.card.called(str(first["owner"]))
    calls = [call("record_decision", text=draw.choice((
        f"{owner} finishes the {name} {first.get('period', '')} first; the rest follows in order of promise.",
        f"The {name} {first.get('period', '')} goes to quality review as soon as {owner} has accepted it.",
        f"What stays open in the {name} {first.get('period', '')} is put to the client in one mail.",
    )))]  # fmt: skip
    if '"question"' not in so_far and draw.chance(1, 4):
        calls.append(
            call(
                "raise_question",
                text=f"Does the client expect the {name} {first.get('period', '')} before the date we named?",
            )
        )
    return calls


def _closing(me: Heard, title: str) -> str:
    return me.draw("close", title).choice(("Thank you, that is all.", "Good. Minutes are in the project folder.", "Then to work.",
                                           "Enough for today; ask me if something moves."))  # fmt: skip
