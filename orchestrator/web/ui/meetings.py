"""*Meetings*: those that were held or missed, their minutes, and what was said in them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from orchestrator.web.queries import talk
from orchestrator.web.queries.talk import MeetingShown
from orchestrator.web.ui import content, kit, mail, whose
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.content import Inside
from orchestrator.web.ui.paths import PATHS
from orchestrator.web.ui.shell import Page, Shell
from simulator.errors import UnknownReference

AT_ONCE = 40


class Shown(msgspec.Struct, frozen=True):
    """A part of the list, and the meeting that is open with its minutes."""

    names: Mapping[str, str]
    meetings: tuple[MeetingShown, ...]
    total: int
    skip: int
    open: MeetingShown | None
    minutes: Inside | None


def load(ask: Ask) -> Shown:
    """Return the meetings of the page's address."""
    office = ask.office
    found = talk.meetings(office)
    skip = ask.number("skip")
    show = talk.meeting_shown(office)
    some = tuple(show(m) for m in found[skip : skip + AT_ONCE])
    wanted = ask.get("meeting")
    named = office.meetings.get(wanted)
    if wanted and named is None:
        raise UnknownReference("There is no such meeting at this moment.")
    chosen = show(named) if named is not None else (some[0] if some else None)
    minutes = None
    if chosen is not None and chosen.minutes is not None:
        file = office.files[chosen.minutes.file]
        version = file.versions[chosen.minutes.version - 1]
        minutes = content.inside(ask.book, version.blob, version.media_type, file.path)
    return Shown(whose.eyes(ask, "").names, some, len(found), skip, chosen, minutes)


def draw(shell: Shell, shown: Shown) -> None:
    """Draw the page."""
    kit.heading("Meetings", 1)
    if shown.open is None:
        kit.empty("No meeting was held or missed by this moment.")
        return
    with kit.box("side"):
        with kit.card("", "flush list", test="meeting-list"):
            for m in shown.meetings:
                made = kit.button("", lambda m=m: shell.turn(meeting=m.id), "item", test=f"meeting-{m.id}")
                made.set(aria_current="true" if m.id == shown.open.id else None)
                with made, kit.Tag("span", "stack tight"):
                    with kit.Tag("span", "row between"):
                        kit.text(m.title, "strong")
                        kit.text(m.at.local[5:16].replace("T", " "), "time")
                    kit.text(f"{len(m.attendees)} people · {m.turns} turns" if m.state == "held" else "missed", "faint")
            mail.pager(shell, shown.skip, AT_ONCE, shown.total)
        _meeting(shell, shown, shown.open)


def _meeting(shell: Shell, shown: Shown, m: MeetingShown) -> None:
    with kit.card("", test="meeting"):
        with kit.box("row between"):
            kit.heading(m.title, 2)
            kit.chip("held" if m.state == "held" else "missed", "good" if m.state == "held" else "bad")
        kit.facts((
            ("When", m.at.local.replace("T", " ")[:16]), ("Led by", shown.names.get(m.organizer, m.organizer)),
            ("There", ", ".join(shown.names.get(a, a) for a in m.attendees)), ("Turns", str(m.turns) if m.turns else ""),
        ))  # fmt: skip
        if m.state == "held":
            kit.link("What was said, turn by turn", shell.url("session", activation=m.id), "", test="meeting-session")
        if m.minutes is not None and shown.minutes is not None:
            with kit.box("row between"):
                kit.heading("Minutes", 3)
                mail.files(shell, (m.minutes,))
            content.draw(shown.minutes, f"Minutes of {m.title}")


PAGE = Page("meetings", PATHS["meetings"], "Meetings", "groups", load, draw)
