"""What a principal has in front of them: their work in hand by kind, their matters, words for where things stand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from services.offline.heard import Heard, Row
from services.offline.worklore import QUALITY, UNDER_WAY
from services.professions import periods
from services.professions.registry import PROFESSIONS
from simulator.errors import UsageError

CLOSING = "17:00"


def matter_of(me: Heard, matter: str) -> Row:
    """Return a matter of mine; one that I do not work on has only its id."""
    return me.card.matters.get(matter, {"id": matter, "name": matter, "client": "", "lead": "", "team": []})


def requests_to_me(me: Heard, *states: str) -> list[Row]:
    """Return the requests in hand that I own, in the given states."""
    return [r for r in me.rows("Work in hand") if r.get("owner") == me.card.id and r.get("state") in states]


def requests_by_me(me: Heard) -> list[Row]:
    """Return the open and accepted requests that I made."""
    return [
        r for r in me.rows("Work in hand") if r.get("from") == me.card.id and "request" in r and "delegation" not in r
    ]


def delegations(me: Heard) -> list[Row]:
    """Return my delegations under way."""
    return [r for r in me.rows("Work in hand") if "delegation" in r and r.get("state") in UNDER_WAY]


def in_quality(me: Heard, matter: str, period: str, kind: str) -> bool:
    """Whether I have asked for the quality review of this work and not heard yet."""
    names = {d.name for d in PROFESSIONS[kind].deliverables} if kind in PROFESSIONS else set()
    return any(
        r.get("work") == QUALITY and r.get("matter") == matter and r.get("period") == period
        and any(str(m).rpartition("/")[2].rpartition("@")[0] in names for m in r.get("materials", ()))
        for r in requests_by_me(me)
    )  # fmt: skip


def title_of(kind: str) -> str:
    """Return the name of a work kind in plain words, lower case."""
    return PROFESSIONS[kind].title.lower() if kind in PROFESSIONS else kind.replace("-", " ") or "work"


def period_words(period: str) -> str:
    """Return a period in words; what is none stays as it is."""
    try:
        return periods.words(period)
    except UsageError:
        return period


def due_by(day: date) -> str:
    """Return the closing time of a day as tools take it."""
    return f"{day.isoformat()} {CLOSING}"


def passed(me: Heard, due: str) -> bool:
    """Whether a due time lies behind us."""
    try:
        return bool(due) and datetime.fromisoformat(due) <= me.now
    except ValueError:
        return False


def states(me: Heard) -> Iterator[str]:
    """Yield a sentence for each piece of work in hand."""
    for row in delegations(me):
        where = {
            "working": f"round {row.get('round', 1)} is with my assistant",
            "asking": "my assistant has a question",
            "submitted": f"round {row.get('round', 1)} is in and waits for my review",
            "stopped": "the assistant stopped and I have to look at it",
        }[str(row["state"])]
        yield f"{title_of(str(row.get('work', '')))} {row.get('period', '')}: {where}"
    busy = {row.get("request") for row in delegations(me)}
    for row in requests_to_me(me, "open", "accepted"):
        if row["request"] in busy:
            continue
        name = "quality review" if row.get("work") == QUALITY else title_of(str(row.get("work", "")))
        due = f", due {str(row.get('due', ''))[:10]}" if row.get("due") else ""
        yield f"{name} {row.get('period', '')}: {'not begun' if row['state'] == 'open' else 'in hand'}{due}"


def waits_for(me: Heard) -> Iterator[str]:
    """Yield a sentence for each outcome that I wait for."""
    for row in requests_by_me(me):
        name = "quality review" if row.get("work") == QUALITY else title_of(str(row.get("work", "")))
        yield f"{name} {row.get('period', '')} is with {me.card.called(str(row['owner']))}"


def lower_first(text: str) -> str:
    """Return a text with its first letter small, for use inside a sentence."""
    return text[:1].lower() + text[1:]


def listed(items: list[Any], most: int = 4) -> str:
    """Return items as a list in words."""
    shown = [str(item) for item in items[:most]]
    if len(items) > most:
        shown.append(f"{len(items) - most} more")
    return ", ".join(shown[:-1]) + f" and {shown[-1]}" if len(shown) > 1 else "".join(shown)
