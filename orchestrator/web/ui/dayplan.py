"""One day's calendar as a strip from morning to evening, with a line where the clock stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.web.queries.talk import EntryShown
from orchestrator.web.ui.drawing import Node, Picture, fit, node, rect, words

WIDTH = 1040.0
_LANE = 20.0
_MOST_LANES = 5
SHORTEST_S = 5_400
"""What an entry takes of its lane at least: room for its title."""
_FIRST, _LAST = 7, 20


def lanes(entries: Sequence[EntryShown], shortest: int = SHORTEST_S) -> tuple[tuple[EntryShown, int], ...]:
    """Return entries with the lane of each, so that none overlaps another; each takes `shortest` seconds at least."""
    free: list[int] = []
    found = []
    for entry in sorted(entries, key=lambda e: (e.begins.at, e.id)):
        until = entry.begins.at + max(entry.minutes * 60, shortest)
        lane = next((i for i, at in enumerate(free) if at <= entry.begins.at), len(free))
        if lane == len(free):
            free.append(until)
        else:
            free[lane] = until
        found.append((entry, lane))
    return tuple(found)


def together(entries: Iterable[EntryShown]) -> list[EntryShown]:
    """Return what is worth showing on a strip: focus times are each person's own."""
    return [e for e in entries if e.kind != "focus"]


def draw(entries: Iterable[EntryShown], day: tuple[int, int], now: int) -> Picture:
    """Return the strip of a day `[start, end)`; hours outside 7 to 20 are shown only where something lies there."""
    found = lanes(together(entries))
    hours = [*(int(e.begins.local[11:13]) for e, _ in found), _FIRST, _LAST - 1]
    first, last = max(0, min(hours)), min(24, max(hours) + 1)
    start, end = day[0] + first * 3600, day[0] + last * 3600

    def x(at: int) -> float:
        return WIDTH * min(1.0, max(0.0, (at - start) / (end - start)))

    used = min(_MOST_LANES, max((lane for _, lane in found), default=0) + 1)
    height = 18 + used * _LANE + 2
    nodes: list[Node] = []
    for hour in range(first, last + 1):
        at = x(day[0] + hour * 3600)
        nodes.append(node("line", x1=round(at, 1), x2=round(at, 1), y1=14, y2=height, class_="hour"))
        if hour < last:
            nodes.append(words(f"{hour}:00", at + 3, 11, "hour-name"))
    for entry, lane in found:
        if lane >= _MOST_LANES:
            continue
        left = x(entry.begins.at)
        w = max(8.0, x(entry.begins.at + entry.minutes * 60) - left) - 2
        room = max(w - 8, x(entry.begins.at + SHORTEST_S) - left - 12)
        title = f"{entry.begins.local[11:16]} {entry.title}"
        y = 18 + lane * _LANE
        nodes.append(node("g", [rect(left + 1, y, w, _LANE - 3, f"entry {entry.kind}", 4, title),
                                words(fit(entry.title, room, 11), left + 6, y + 12.5, "entry-name")], f"{entry.id}{entry.begins.at}"))  # fmt: skip
    if start <= now <= end:
        nodes.append(node("line", x1=round(x(now), 1), x2=round(x(now), 1), y1=0, y2=height, class_="now"))
    return Picture(WIDTH, height, tuple(nodes))
