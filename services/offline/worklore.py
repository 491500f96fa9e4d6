"""What every professional of the office knows about its recurring work: kinds, periods, where papers lie, who does what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

import msgspec

from services.professions.base import Profession
from services.professions.registry import PROFESSIONS
from simulator.canonical import sha256

Row = dict[str, Any]
HOME = "/home/npc/computer/"
PERIOD = re.compile(r"\b\d{4}-(?:0[1-9]|1[0-2])(?:-\d\d)?\b")
_PLACE = re.compile(
    r"(?:(?P<home>/home/npc/computer/Documents/Projects/)|/mnt/company/Projects/)(?P<matter>[^/]+)/"
    r"(?:(?P<area>Results|Inputs)/)?(?P<period>\d{4}-\d\d(?:-\d\d)?)/(?P<file>[^/@]+)@(?P<version>\d+)"
)
_MAIL = re.compile(r"\(mail ([^)\s]+)\)")
QUALITY = "quality-review"
RELEASE = "client-release"
UNDER_WAY = ("working", "asking", "submitted", "stopped")


class Place(msgspec.Struct, frozen=True):
    """A file of a matter's work, read from its path. `area` is `home`, `Results` or `Inputs`."""

    text: str
    matter: str
    area: str
    period: str
    file: str
    version: int


@lru_cache(maxsize=4096)
def place(text: str) -> Place | None:
    """Read a path with version, as tools write it; None for what lies elsewhere."""
    found = _PLACE.fullmatch(text)
    if found is None:
        return None
    area = "home" if found["home"] else found["area"] or ""
    return Place(text, found["matter"], area, found["period"], found["file"], int(found["version"]))


def by_main(file: str) -> Profession | None:
    """Return the profession whose main deliverable has this name."""
    return next((each for each in PROFESSIONS.values() if each.main.name == file), None)


def by_deliverable(files: Iterable[str]) -> Profession | None:
    """Return the profession that makes a file of one of these names (paths are cut to names)."""
    names = {file.rpartition("/")[2].rpartition("@")[0] or file.rpartition("/")[2] for file in files}
    for each in PROFESSIONS.values():
        if any(deliverable.name in names for deliverable in each.deliverables):
            return each
    return None


def recognise(subject: str, text: str, attachments: Sequence[str]) -> tuple[str, str] | None:
    """Return (kind, period) of the work a mail brings, or None: from its words, else from what is attached."""
    folded = (subject.casefold(), text.casefold())
    kind = next(
        (k for words in folded for k, each in PROFESSIONS.items() if each.title.casefold() in words or k in words), ""
    )
    names = {path.rpartition("/")[2].partition("@")[0] for path in attachments}
    by_files = [k for k, each in PROFESSIONS.items() if {s.file for s in each.inputs if not s.optional} <= names]
    if names and by_files and kind not in by_files:
        kind = by_files[0]
    periods = [where.period for where in map(place, attachments) if where is not None]
    periods += PERIOD.findall(f"{subject} {text}")
    return (kind, periods[0]) if kind and periods and names else None


def mail_in(text: str) -> str:
    """Return the id of the mail that a text refers to, `(mail <id>)`, or nothing."""
    found = _MAIL.search(text)
    return found[1] if found else ""


def candidates(matter: Row, kind: str, period: str, besides: Iterable[str] = ()) -> list[str]:
    """Return who on a team should do a kind of work, best first; the lead comes last.

    The same person as a rule, so that one month's work builds on the month before. Whoever alone signs off quality does
    not make what must be signed off.
    """
    lead, out = str(matter.get("lead", "")), set(besides)

    def able(one: Row) -> bool:
        return kind in one.get("skills", ()) and "delegate" in one.get("authority", ()) and one["id"] not in out

    signers = [one["id"] for one in matter.get("team", ()) if "quality_signoff" in one.get("authority", ())]
    if len(signers) == 1 and matter.get("client"):
        out.add(signers[0])
    team = [one for one in matter.get("team", ()) if able(one)]

    def order(one: Row) -> tuple[int, str]:
        authority = one.get("authority", ())
        burden = 3 * ("quality_signoff" in authority) + 2 * (one["id"] == lead) + ("lead" in authority)
        return burden, sha256(f"{matter.get('id')}\n{kind}\n{one['id']}".encode())

    return [str(one["id"]) for one in sorted(team, key=order)]


def signer(matter: Row, besides: str) -> str:
    """Return who on a team signs off quality, other than `besides`; empty where nobody does."""
    found = [
        str(one["id"]) for one in matter.get("team", ())
        if "quality_signoff" in one.get("authority", ()) and one["id"] != besides
    ]  # fmt: skip
    return found[0] if found else ""


def accepted(row: Row) -> bool:
    """Return whether a listed version has been accepted."""
    return any(str(text).startswith("accept ") for text in row.get("confirmed", ()))


def places(answer: Row) -> list[tuple[Place, Row]]:
    """Return the files of matters' work that a `list_files` answer names."""
    found = ((place(str(row["file"])), row) for row in answer.get("files", ()))
    return [(where, row) for where, row in found if where is not None]


def prior_of(listed: Sequence[tuple[Place, Row]], kind: Profession, matter: str, period: str) -> Place | None:
    """Return the accepted main result of the latest earlier period of the same cadence."""
    found = [
        where for where, row in listed
        if where.file == kind.main.name and where.matter == matter and where.area != "Inputs"
        and len(where.period) == len(period) and where.period < period and accepted(row)
    ]  # fmt: skip
    return max(found, key=lambda where: (where.period, where.area == "home"), default=None)


def result_of(listed: Sequence[tuple[Place, Row]], kind: Profession, matter: str, period: str) -> Place | None:
    """Return the accepted main result of another kind for exactly this period."""
    found = [
        where for where, row in listed
        if where.file == kind.main.name and where.matter == matter and where.area != "Inputs"
        and where.period == period and accepted(row)
    ]  # fmt: skip
    return max(found, key=lambda where: where.area == "home", default=None)


def stem(file: str) -> str:
    """Return a file name without its ending: what `list_files` finds it by."""
    return file.rpartition(".")[0]


def workday(start: date, days: int) -> date:
    """Return the day that many week days after `start`."""
    day = start
    while days > 0:
        day += timedelta(days=1)
        days -= day.weekday() < 5
    return day


def folder(matter_name: str, period: str) -> str:
    """Return the folder in a home where work of a matter and period is written."""
    return f"Documents/Projects/{matter_name.replace('/', '-')}/{period}"


def contacts(colleagues: Mapping[str, Row], client: str) -> list[str]:
    """Return the ids of a client's contacts."""
    return [name for name, row in colleagues.items() if row.get("kind") == "client" and row.get("client") == client]
