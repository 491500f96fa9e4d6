"""The five stages of generation: what each is asked, what it must answer, and how its answer is checked.

Each stage is one structured request to the Model port. Its user message is a JSON object that holds all there is to
know; the offline generator reads nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from services.packages.brief import Wanted
from services.packages.library import WORK_KINDS, general_packs, shelf
from services.packages.occupations import OccupationIndex
from simulator.canonical import clean_text
from simulator.conversation import Message
from simulator.package import ClientCard, DemandCard, DepartmentCard, MatterCard, Provenance, Records, RhythmCard
from simulator.package_checks import AUTHORITIES, DOMAINS
from simulator.records import Level

STAGES = ("structure", "people", "clients", "rhythms", "materials")


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of what stages answer."""


class Seat(_Answer, frozen=True, forbid_unknown_fields=True):
    """A place in the organization before it has a person: `manager` is another seat's id, empty for the head alone."""

    id: str
    title: str
    code: str
    department: str
    manager: str = ""


class Structure(_Answer, frozen=True, forbid_unknown_fields=True):
    """`placement` says in a sentence what kind of firm the brief was taken for, and why."""

    name: str
    domain: str
    placement: str
    zone: str
    currency: str
    holidays: tuple[str, ...]
    departments: tuple[DepartmentCard, ...]
    seats: tuple[Seat, ...]


class PersonDraft(_Answer, frozen=True, forbid_unknown_fields=True):
    """The person in a seat."""

    seat: str
    id: str
    name: str
    authority: tuple[str, ...]
    clearance: Level
    skills: tuple[str, ...]
    style: str
    email: str


class People(_Answer, frozen=True, forbid_unknown_fields=True):
    people: tuple[PersonDraft, ...]


class Clients(_Answer, frozen=True, forbid_unknown_fields=True):
    clients: tuple[ClientCard, ...]
    matters: tuple[MatterCard, ...]


class Rhythms(_Answer, frozen=True, forbid_unknown_fields=True):
    entries: tuple[RhythmCard, ...]
    demands: tuple[DemandCard, ...]


class MaterialDraft(_Answer, frozen=True, forbid_unknown_fields=True):
    """A seed document: as `simulator.package.Material`, with its text."""

    file: str
    space: str
    path: str
    owner: str
    text: str
    provenance: Provenance = "synthetic"
    matter: str = ""
    level: Level = "internal"
    records: Records = ""
    period: str = ""
    ties: str = ""


class Materials(_Answer, frozen=True, forbid_unknown_fields=True):
    files: tuple[MaterialDraft, ...]


class Draft(msgspec.Struct, frozen=True):
    """What has been answered so far."""

    structure: Structure | None = None
    people: People | None = None
    clients: Clients | None = None
    rhythms: Rhythms | None = None
    materials: Materials | None = None


class Task(msgspec.Struct, frozen=True):
    """What is generated: the brief, its numbers, and the start date (ISO, a Monday)."""

    brief: str
    wanted: Wanted
    seed: int
    start: str


ANSWERS: dict[str, type[_Answer]] = {
    "structure": Structure,
    "people": People,
    "clients": Clients,
    "rhythms": Rhythms,
    "materials": Materials,
}

RULES: dict[str, tuple[str, ...] | None] = {
    "structure": ("organization", "names", "calendar", "departments", "people", "lines"),
    "people": ("names", "departments", "people", "skills", "lines", "authority"),
    "clients": ("names", "clients", "matters"),
    "rhythms": ("names", "entries", "demands"),
    "materials": None,
}
"""The checks that a stage's answer must pass, together with all answers before it; None: every one."""

_SYSTEM = """\
You design a professional organization in stages. Answer with one JSON object of the given schema and nothing else.
Everything is invented: no real person, firm or client. Ids are lower-case letters, digits and single hyphens. Mail
addresses end in `.example`. Two organizations made with different seeds differ in names, people and figures. This
stage: {stage}. {task}"""

_TASKS = {
    "structure": (
        "Choose the organization's name, its domain (one of {domains}), departments and exactly {people} seats. "
        "Seats report to seats in one tree with one head. Each seat has a code of `roles`. Every department has a "
        "seat; one seat reviews quality. Say in `placement` what the brief was taken for. Dates in `holidays` are "
        "ISO dates."
    ),
    "people": (
        "Put one person in each seat. Authorities are {authorities}; clearances public, internal, confidential, "
        "restricted. Somebody may each of delegate, accept, quality_signoff, client_release; leads of matters may "
        "lead. Skills are names of `packs`."
    ),
    "clients": (
        "Invent exactly {clients} clients with a contact each, one matter a client whose members include its lead "
        "and a quality reviewer, and one internal matter without a client. Most people belong to one client's "
        "team. Contacts' ids differ from the staff's."
    ),
    "rhythms": (
        "Write recurring meetings, rhythms and deadlines (RFC 5545 rules; `first` is local time, YYYY-MM-DD "
        "HH:MM, on or after the start; attendees are members of the matter where one is named) and what each "
        "client asks for: `kind` is a name of `kinds` that a member of the matter has as a skill."
    ),
    "materials": (
        "Write the seed documents: a handbook, standards and templates in space `company`, and for each client's "
        "matter (space `matter:<id>`, level confidential, owner a member) a profile, an engagement letter and "
        "records. Tables are CSV; `records` names their kind. Ledgers balance, a statement repeats the invoices "
        "it `ties` to, dates fall in their period."
    ),
}


def messages(stage: str, task: Task, draft: Draft) -> tuple[Message, ...]:
    """Return the first messages of a stage's request."""
    told = _TASKS[stage].format(
        domains=", ".join(DOMAINS),
        authorities=", ".join(AUTHORITIES),
        people=task.wanted.people,
        clients=task.wanted.clients,
    )
    return (Message("system", _SYSTEM.format(stage=stage, task=told)), Message("user", _facts(stage, task, draft)))


def repair(faults: list[str]) -> Message:
    """Return the message that shows a model its faults."""
    return Message(
        "user",
        "Your answer has these faults:\n"
        + "\n".join(f"- {fault}" for fault in faults[:40])
        + "\nAnswer again, in full, with all of them corrected.",
    )


def schema(stage: str) -> dict[str, Any]:
    """Return the JSON Schema of a stage's answer."""
    return msgspec.json.schema(ANSWERS[stage])


def budget(stage: str, task: Task) -> int:
    """Return how many tokens a stage's answer may take."""
    people, clients = task.wanted.people or 0, task.wanted.clients or 0
    return {
        "structure": 2000 + 90 * people,
        "people": 1000 + 160 * people,
        "clients": 2000 + 400 * clients,
        "rhythms": 3000 + 900 * clients,
        "materials": 8000 + 3000 * clients,
    }[stage]


def _facts(stage: str, task: Task, draft: Draft) -> str:
    facts: dict[str, Any] = {
        "stage": stage,
        "brief": task.brief,
        "wanted_people": task.wanted.people,
        "wanted_clients": task.wanted.clients,
        "seed": task.seed,
        "start": task.start,
    }
    needs: dict[str, Callable[[], Any]] = {
        "roles": lambda: {one.code: one.title for one in OccupationIndex.load().office},
        "kinds": lambda: {kind: domain for kind, domain in WORK_KINDS.items() if kind in shelf()},
        "packs": lambda: list(general_packs()),
    }
    for name in {"structure": ("roles",), "people": ("kinds", "packs"), "rhythms": ("kinds",)}.get(stage, ()):
        facts[name] = needs[name]()
    for earlier in STAGES[: STAGES.index(stage)]:
        facts[earlier] = msgspec.to_builtins(getattr(draft, earlier))
    return json.dumps(facts, ensure_ascii=False)


def cleaned(value: Any) -> Any:
    """Return JSON data with all its texts cleaned (RULE 20)."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): cleaned(item) for key, item in value.items()}
    return value
