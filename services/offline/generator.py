"""The offline generator: answers the five stages of generation deterministically, from the request's messages alone.

It knows some trades (`services.offline.trades`), and draws everything else from streams named by the seed and the
brief. A brief that names no trade it knows is placed in a general office, and the answer says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from services.offline.documents import write_materials
from services.offline.names import PLACES, names, slug, style, unique
from services.offline.rhythms import write_rhythms
from services.offline.trades import BY_DOMAIN, SECTOR_ENDINGS, TRADES, Part, Post, Trade, halves, score, sectors
from services.packages.brief import occupations
from services.packages.occupations import OccupationIndex
from services.packages.stages import Clients, People, PersonDraft, Seat, Structure
from simulator.canonical import canonical, sha256
from simulator.conversation import ModelRequest, ModelResponse, Usage
from simulator.package import ClientCard, Contact, DepartmentCard, MatterCard
from simulator.package_findings import bad_path
from simulator.randomness import Stream

NAME = "offline"
_LEADER = ("delegate", "request", "accept", "client_release", "classify", "lead")
_WORKER = ("delegate", "request", "accept")
_REVIEWER = ("delegate", "request", "accept", "quality_signoff", "classify")
_TEAM_OF_SENIOR = 6

ZONES: tuple[tuple[tuple[str, ...], str, str, tuple[str, ...]], ...] = (
    (
        ("new york", "boston", "american", "united states", "california", "chicago", "texas", " u.s. ", " us-"),
        "America/New_York",
        "USD",
        (
            "2026-01-01",
            "2026-01-19",
            "2026-02-16",
            "2026-05-25",
            "2026-06-19",
            "2026-07-03",
            "2026-09-07",
            "2026-11-26",
            "2026-12-25",
        ),
    ),
    (
        ("berlin", "german", "munich", "hamburg"),
        "Europe/Berlin",
        "EUR",
        ("2026-01-01", "2026-04-03", "2026-04-06", "2026-05-01", "2026-05-14", "2026-05-25", "2026-12-25"),
    ),
    (
        ("paris", "french", "france", "lyon"),
        "Europe/Paris",
        "EUR",
        (
            "2026-01-01",
            "2026-04-06",
            "2026-05-01",
            "2026-05-08",
            "2026-05-14",
            "2026-05-25",
            "2026-07-14",
            "2026-11-11",
            "2026-12-25",
        ),
    ),
    (
        ("tokyo", "japan"),
        "Asia/Tokyo",
        "JPY",
        ("2026-01-01", "2026-01-02", "2026-01-12", "2026-02-11", "2026-02-23", "2026-03-20"),
    ),
    (
        ("sydney", "australia", "melbourne"),
        "Australia/Sydney",
        "AUD",
        ("2026-01-01", "2026-01-26", "2026-04-03", "2026-04-06", "2026-12-25"),
    ),
    (
        ("india", "mumbai", "bangalore", "delhi"),
        "Asia/Kolkata",
        "INR",
        ("2026-01-26", "2026-08-15", "2026-10-02", "2026-12-25"),
    ),
)
HOME_ZONE = (
    "Europe/London",
    "GBP",
    ("2026-01-01", "2026-04-03", "2026-04-06", "2026-05-04", "2026-05-25", "2026-08-31", "2026-12-25", "2026-12-28"),
)


class OfflineGenerator:
    """A `Model` for role `generator` that needs no key and no network."""

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer a stage of generation; `refusal` for any other request."""
        facts = _facts(request)
        if facts is None:
            detail = "The offline generator answers the stages of package generation alone."
            return ModelResponse(finish="refusal", model=NAME, detail=detail)
        content = canonical(_STAGES[facts["stage"]](facts)).decode()
        used = Usage(sum(len(message.content) for message in request.messages) // 4, 0, len(content) // 4)
        return ModelResponse(content=content, model=NAME, usage=used)


def _facts(request: ModelRequest) -> dict[str, Any] | None:
    """The facts of a stage's user message; None when this is no such request."""
    for message in request.messages:
        if message.role == "user":
            try:
                found = json.loads(message.content)
            except ValueError:
                return None
            known = request.role == "generator" and isinstance(found, dict) and found.get("stage") in _STAGES
            return found if known else None
    return None


def _draw(facts: Mapping[str, Any], *name: str) -> Stream:
    """A stream of draws for this brief and seed."""
    return Stream(int(facts["seed"]), "generate", sha256(str(facts["brief"]).encode())[:16], *name)


# -- structure --------------------------------------------------------------------------------------------------------


def _structure(facts: dict[str, Any]) -> Structure:
    trade, placement = place(facts["brief"])
    draw = _draw(facts, "structure")
    zone, currency, holidays = _zone(facts["brief"])
    seats, parts = _seats(trade, facts, draw)
    departments = tuple(DepartmentCard(slug(part.name), part.name, part.purpose) for part in parts)
    name = f"{draw.choice(PLACES)} {draw.choice(trade.suffixes)}"
    return Structure(name, trade.domain, placement, zone, currency, holidays, departments, tuple(seats))


def place(brief: str) -> tuple[Trade, str]:
    """Return the trade of a brief, and a sentence that says why it was taken for that."""
    firm, _ = halves(brief)
    for text in (firm, f"{brief.lower()} "):
        points = {trade.domain: score(trade, text) for trade in TRADES}
        named = [one for one in OccupationIndex.load().match(text) if one.field]
        for one in named:
            points[one.domain] += 2
        best = max(points.values())
        if best:
            first = {d: min((text.find(w) for w in BY_DOMAIN[d].words if w in text), default=len(text)) for d in points}
            domain = min((d for d in points if points[d] == best), key=lambda d: first[d])
            words = [one.title for one in named if one.domain == domain]
            words += [word.strip() for word in BY_DOMAIN[domain].words if score_word(word, text)]
            trade = BY_DOMAIN[domain]
            return trade, f"Placed as {trade.firm}, for the brief says: {', '.join(dict.fromkeys(words))}."
    return BY_DOMAIN["general"], (
        "The brief names no trade that the offline generator knows, so it is placed in a general office. Name a trade "
        "(accounting, law, clinical trials, engineering, software, design) or an occupation, or use a model."
    )


def score_word(word: str, text: str) -> bool:
    """Whether a text uses one word stem of a trade."""
    return bool(score(msgspec.structs.replace(TRADES[0], words=(word,)), text))


def _zone(brief: str) -> tuple[str, str, tuple[str, ...]]:
    text = f" {brief.lower()} "
    for words, zone, currency, holidays in ZONES:
        if any(word in text for word in words):
            return zone, currency, holidays
    return HOME_ZONE


def _seats(trade: Trade, facts: dict[str, Any], draw: Stream) -> tuple[list[Seat], list[Part]]:
    """Return as many seats as are wanted, and the departments they are in."""
    total, clients = int(facts["wanted_people"]), int(facts["wanted_clients"])
    reviewers = 1 + total // 40
    runners = 0 if total < 7 else 1 + total // 20
    leaders = 0 if total < 5 else max(1, min((clients + 1) // 2, (total - 1 - reviewers - runners) // 3))
    workers = total - 1 - reviewers - runners - leaders
    seats = [_seat("head", trade.head, trade.head.posts[0], "")]
    seats += [_seat(f"lead-{n}", trade.leads, trade.leads.posts[0], "head") for n in range(1, leaders + 1)]
    seats += [_seat(f"review-{n}", trade.quality, _post(trade.quality, n - 1), "head") for n in range(1, reviewers + 1)]
    seats += [
        _seat(f"office-{n}", trade.runs, _post(trade.runs, n - 1), "head" if n == 1 else "office-1")
        for n in range(1, runners + 1)
    ]
    parts = draw.shuffled(trade.work)[: max(1, min(len(trade.work), workers // 2))]
    bosses = [f"lead-{n}" for n in range(1, leaders + 1)] or ["head"]
    wanted = _wanted_posts(facts, workers)
    for n in range(workers):
        part = parts[n % len(parts)]
        post = wanted[n] if n < len(wanted) else _post(part, n // len(parts))
        boss, place_in_team = bosses[n % len(bosses)], n // len(bosses)
        # In a large team every sixth person leads those who come after.
        senior = n - (place_in_team % _TEAM_OF_SENIOR) * len(bosses)
        manager = boss if place_in_team < _TEAM_OF_SENIOR or senior == n else f"staff-{senior + 1}"
        seats.append(_seat(f"staff-{n + 1}", part, post, manager))
    used = [trade.head, *([trade.leads] if leaders else []), *parts, trade.quality, *([trade.runs] if runners else [])]
    return seats, used


def _seat(seat: str, part: Part, post: Post, manager: str) -> Seat:
    return Seat(seat, post[0], post[1], slug(part.name), manager)


def _post(part: Part, n: int) -> Post:
    """The n-th post of a department: its most usual one two times out of three."""
    return (
        part.posts[0] if n % 3 != 1 else part.posts[min(1 + n // 3 % max(1, len(part.posts) - 1), len(part.posts) - 1)]
    )


def _wanted_posts(facts: dict[str, Any], room: int) -> list[Post]:
    """The posts that the brief names, as many of each as it says, as far as there is room."""
    firm, _ = halves(facts["brief"])
    index = OccupationIndex.load().by_code
    posts: list[Post] = []
    for code, count in occupations(firm):
        posts += [(index[code].also[0].capitalize(), code)] * count
    return posts[:room]


# -- people -----------------------------------------------------------------------------------------------------------


def _people(facts: dict[str, Any]) -> People:
    structure = msgspec.convert(facts["structure"], Structure)
    trade, draw = BY_DOMAIN[structure.domain], _draw(facts, "people")
    kinds = [kind for kind in trade.kinds if kind in facts["kinds"]]
    general = tuple(facts["packs"])
    taken: set[str] = {"engine", "assistant", "genesis", "everyone", "company"}
    mail = f"{slug(structure.name)}.example"
    firsts: set[str] = set()
    people = []
    for seat, (first, last) in zip(structure.seats, names(draw, len(structure.seats)), strict=True):
        wanted = slug(first) if first not in firsts else slug(f"{first} {last}")
        firsts.add(first)
        who = unique(wanted, taken)
        role = seat.id.partition("-")[0]
        leads = role in ("head", "lead")
        authority = _LEADER if leads else _REVIEWER if role == "review" else _WORKER
        skills = ("records-digest",) if role == "office" else (*kinds,)
        people.append(
            PersonDraft(
                seat=seat.id,
                id=who,
                name=f"{first} {last}",
                authority=authority,
                clearance="restricted"
                if leads or role == "review"
                else "internal"
                if role == "office"
                else "confidential",
                skills=tuple(dict.fromkeys((*(kind for kind in skills if kind in facts["kinds"]), *general))),
                style=style(draw),
                email=f"{who}@{mail}",
            )
        )
    return People(tuple(people))


# -- clients ----------------------------------------------------------------------------------------------------------


def _clients(facts: dict[str, Any]) -> Clients:
    structure = msgspec.convert(facts["structure"], Structure)
    people = msgspec.convert(facts["people"], People).people
    trade, draw, count = BY_DOMAIN[structure.domain], _draw(facts, "clients"), int(facts["wanted_clients"])
    taken = {person.id for person in people}
    said = sectors(halves(facts["brief"])[1])
    kinds = said or draw.shuffled(trade.clients)
    places = draw.shuffled([name for name in PLACES if not structure.name.startswith(name)])
    faces = names(_draw(facts, "contacts"), count)
    clients = []
    ids: set[str] = set()
    for n in range(count):
        sector = kinds[n % len(kinds)]
        name = f"{places[n]} {draw.choice(SECTOR_ENDINGS[sector])}"
        who = unique(slug(faces[n][0]), taken)
        contact = Contact(
            who, " ".join(faces[n]), draw.choice(trade.contact), f"{who}@{slug(name)}.example", style(draw)
        )
        clients.append(ClientCard(unique(slug(places[n]), ids), name, sector, structure.domain, (contact,)))
    return Clients(tuple(clients), tuple(_matters(clients, people, structure)))


def _matters(clients: list[ClientCard], people: tuple[PersonDraft, ...], structure: Structure) -> list[MatterCard]:
    by_role: dict[str, list[str]] = {role: [] for role in ("head", "lead", "review", "office", "staff")}
    for person in people:
        by_role[person.seat.partition("-")[0]].append(person.id)
    leads = by_role["lead"] or by_role["head"]
    staff, reviewers = by_role["staff"], by_role["review"]
    matters = []
    for n, client in enumerate(clients):
        lead = leads[n % len(leads)]
        team = staff[n :: len(clients)] or staff[n % len(staff) :][:1]
        members = tuple(dict.fromkeys((lead, *team, reviewers[n % len(reviewers)])))
        matters.append(MatterCard(f"{client.id}-work", client.name, client.id, lead, members))
    head = by_role["head"][0]
    name = f"{structure.name} Office"
    assert not bad_path(name)
    matters.append(MatterCard("office", name, "", head, (head, *(by_role["office"][:2] or staff[:1]))))
    return matters


_STAGES: dict[str, Callable[[dict[str, Any]], msgspec.Struct]] = {
    "structure": _structure,
    "people": _people,
    "clients": _clients,
    "rhythms": lambda facts: write_rhythms(facts, _draw(facts, "rhythms")),
    "materials": lambda facts: write_materials(facts, _draw(facts, "materials")),
}
