"""A package from a brief: five structured answers, pure checks on each, and a bounded repair loop (DESIGN 11).

Every request goes through the Model port with role `generator` and its own key on the tape, so a generation is
replayed like any other conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec

from services.packages import stages
from services.packages.brief import check_brief, decide
from services.packages.folder import read_folder
from services.packages.library import general_packs, shelf
from services.packages.occupations import OccupationIndex
from services.packages.stages import ANSWERS, RULES, STAGES, Draft, Task
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.errors import PackageError, UsageError, WorkFailed
from simulator.events import CalendarRules
from simulator.package import PROVENANCE, Material, Organization, Package, RoleCard
from simulator.package_checks import check
from simulator.package_findings import check_paths
from simulator.package_text import parse, plain, render
from simulator.ports import Model

REPAIRS = 3
START = date(2026, 1, 5)
SESSION = "session-generator"
Progress = Callable[[str, str], None]
"""Told (stage, sentence) as generation goes on."""


def generate(
    brief: str,
    model: Model,
    people: int | None = None,
    clients: int | None = None,
    seed: int = 0,
    materials_dir: Path | None = None,
    progress: Progress | None = None,
    start: date = START,
) -> Package:
    """Return a package that passes every check, made by `model` from `brief`.

    `people` and `clients` override the brief's numbers. `materials_dir` holds one's own seed documents, kept in the
    company space under `Reference`. The office starts on the Monday on or after `start`.

    Raises:
        UsageError: the brief is empty or too long, a number is out of range, the materials cannot be read.
        PackageError: an answer still has faults after three repairs; carries them.
        WorkFailed: the model refused.
    """
    text = check_brief(brief)
    monday = start + timedelta(days=-start.weekday() % 7)
    task = Task(text, decide(text, people, clients), seed, monday.isoformat())
    own = _own_materials(materials_dir)
    say = progress or (lambda stage, sentence: None)
    draft = Draft()
    models: list[str] = []
    for stage in STAGES:
        draft = _stage(stage, task, draft, own, model, say, models)
        say(stage, _summary(stage, draft))
    package, faults = assemble(task, draft, own, tuple(dict.fromkeys(models)))
    if package is None or faults:
        raise PackageError("The generated package does not hold together.", tuple(faults))
    return package


def _stage(
    stage: str,
    task: Task,
    draft: Draft,
    own: dict[str, bytes],
    model: Model,
    say: Progress,
    models: list[str],
) -> Draft:
    """Ask for one stage's answer until it passes its checks."""
    talk = stages.messages(stage, task, draft)
    faults: list[str] = []
    for attempt in range(REPAIRS + 1):
        response = model.complete(_request(stage, attempt, talk, task))
        models.append(response.model)
        if response.finish in ("refusal", "unavailable", "overflow"):
            raise WorkFailed(
                f"The model gave no answer for the stage `{stage}` ({response.finish}). {response.detail}".strip()
                + " Run the command again, or with another model."
            )
        answer, faults = read_answer(stage, response)
        if answer is not None:
            draft_now: Draft = msgspec.structs.replace(draft, **{stage: answer})
            faults = _faults(stage, task, draft_now, own)
            if not faults:
                return draft_now
        say(stage, f"the answer has {len(faults)} fault{'s' if len(faults) != 1 else ''}: {faults[0]}")
        talk = (*talk, response.as_message(), stages.repair(faults))
    raise PackageError(
        f"The model's answer for the stage `{stage}` still has faults after {REPAIRS} repairs. Say the brief in other "
        "words, or use a stronger model.",
        tuple(faults),
    )


def _request(stage: str, attempt: int, talk: tuple[Message, ...], task: Task) -> ModelRequest:
    return ModelRequest(
        role="generator",
        call=(f"generate.{stage}", attempt),
        session=SESSION,
        messages=talk,
        schema=stages.schema(stage),
        schema_name=f"package_{stage}",
        max_output=stages.budget(stage, task),
    )


def read_answer(stage: str, response: ModelResponse) -> tuple[Any, list[str]]:
    """Read a stage's answer; (None, faults) where it does not fit the schema. Fences and words around it are
    forgiven."""
    if response.finish == "length":
        return None, ["The answer was cut off before its end. Answer more briefly."]
    found = re.search(r"\{.*\}", response.content, re.DOTALL)
    try:
        data = json.loads(found[0]) if found else None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        return None, ["The answer is not one JSON object of the schema."]
    try:
        return msgspec.convert(stages.cleaned(data), ANSWERS[stage]), []
    except msgspec.ValidationError as fault:
        place, text = plain(str(fault))
        where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
        return None, [f"{where.lstrip('.') or 'The answer'}: {text}"]


def _summary(stage: str, draft: Draft) -> str:
    if stage == "structure" and draft.structure:
        return f"{draft.structure.name}: {len(draft.structure.seats)} seats. {draft.structure.placement}"
    if stage == "people" and draft.people:
        return f"{len(draft.people.people)} people"
    if stage == "clients" and draft.clients:
        return f"{len(draft.clients.clients)} clients: " + ", ".join(client.name for client in draft.clients.clients)
    if stage == "rhythms" and draft.rhythms:
        return f"{len(draft.rhythms.entries)} calendar entries, {len(draft.rhythms.demands)} recurring demands"
    return f"{len(draft.materials.files)} seed documents" if draft.materials else ""


# -- checking and assembling ------------------------------------------------------------------------------------------


def _faults(stage: str, task: Task, draft: Draft, own: dict[str, bytes]) -> list[str]:
    counted = _count_faults(stage, task, draft)
    if counted:
        return counted
    package, faults = assemble(task, draft, own, (), RULES[stage])
    return faults if package is not None else faults or ["The answer cannot be read."]


def _count_faults(stage: str, task: Task, draft: Draft) -> list[str]:
    """The brief's numbers are honoured, and every seat has its person."""
    if stage == "structure" and draft.structure:
        seats = [seat.id for seat in draft.structure.seats]
        faults = [f"The seat `{seat}` is listed twice." for seat in sorted({s for s in seats if seats.count(s) > 1})]
        if len(seats) != task.wanted.people:
            faults.append(f"There are {len(seats)} seats; exactly {task.wanted.people} are wanted.")
        return faults
    if stage == "people" and draft.structure and draft.people:
        wanted, filled = [seat.id for seat in draft.structure.seats], [person.seat for person in draft.people.people]
        faults = [
            f"The seat `{seat}` has {filled.count(seat)} people; it needs one."
            for seat in wanted
            if filled.count(seat) != 1
        ]
        faults += [f"There is no seat `{seat}`." for seat in filled if seat not in wanted]
        ids = [person.id for person in draft.people.people]
        return faults + [f"The id `{one}` is used twice." for one in sorted({i for i in ids if ids.count(i) > 1})]
    if stage == "clients" and draft.clients and len(draft.clients.clients) != task.wanted.clients:
        return [f"There are {len(draft.clients.clients)} clients; exactly {task.wanted.clients} are wanted."]
    return []


def assemble(
    task: Task,
    draft: Draft,
    own: dict[str, bytes],
    models: tuple[str, ...],
    rules: tuple[str, ...] | None = None,
) -> tuple[Package | None, list[str]]:
    """Return the package of what has been answered so far, and its faults under `rules` (None: all)."""
    structure = draft.structure
    if structure is None:
        return None, ["There is no structure yet."]
    people = _people(draft)
    clients = draft.clients
    organization = Organization(
        name=structure.name,
        start=date.fromisoformat(task.start),
        calendar=CalendarRules(structure.zone, holidays=structure.holidays),
        departments=structure.departments,
        clients=clients.clients if clients else (),
        matters=clients.matters if clients else (),
        brief=task.brief,
        domain=structure.domain,
        placement=structure.placement,
        currency=structure.currency,
    )
    rhythms, demands = (draft.rhythms.entries, draft.rhythms.demands) if draft.rhythms else ((), ())
    materials, texts = _materials(draft, own, people)
    files = {
        **render(organization, people, rhythms, demands, materials),
        **texts,
        **_packs(people, draft.people is not None),
        PROVENANCE: _provenance(task, structure.placement, models, bool(own)),
    }
    package, unreadable = parse(files)
    faults = [*check_paths(files), *unreadable]
    if package is not None and not unreadable:
        faults += check(package, OccupationIndex.load().codes, rules)
    return package, [str(fault) for fault in faults]


def _people(draft: Draft) -> tuple[RoleCard, ...]:
    """Role cards: seats with their people, or seats alone while nobody sits in them."""
    if draft.structure is None:
        return ()
    if draft.people is None:
        return tuple(
            RoleCard(seat.id, f"Seat {seat.id}", seat.title, seat.code, seat.department, seat.manager)
            for seat in draft.structure.seats
        )
    seats = {seat.id: seat for seat in draft.structure.seats}
    sits = {person.seat: person.id for person in draft.people.people}
    cards = []
    for person in draft.people.people:
        seat = seats[person.seat]
        manager = sits.get(seat.manager, seat.manager)
        cards.append(
            RoleCard(
                id=person.id,
                name=person.name,
                title=seat.title,
                code=seat.code,
                department=seat.department,
                manager=manager,
                authority=person.authority,
                clearance=person.clearance,
                skills=person.skills,
                style=person.style,
                email=person.email,
            )
        )
    return tuple(sorted(cards, key=lambda card: card.id))


def _materials(
    draft: Draft, own: dict[str, bytes], people: tuple[RoleCard, ...]
) -> tuple[tuple[Material, ...], dict[str, bytes]]:
    listed: list[Material] = []
    texts: dict[str, bytes] = {}
    for file in draft.materials.files if draft.materials else ():
        fields = msgspec.structs.asdict(file)
        texts[f"materials/{file.file}"] = fields.pop("text").encode()
        listed.append(Material(**fields))
    head = next((card.id for card in people if not card.manager), "")
    for path, data in sorted(own.items()):
        texts[f"materials/reference/{path}"] = data
        listed.append(
            Material(f"reference/{path}", "company", f"Reference/{path}", head, "retrieved", source="given by the user")
        )
    return tuple(listed), texts


def _packs(people: tuple[RoleCard, ...], staffed: bool) -> dict[str, bytes]:
    """Copies of the packs that somebody has as a skill; before there are people, none."""
    wanted = {skill for card in people for skill in card.skills} if staffed else set()
    return {
        f"skills/{name}/{path}": data for name, pack in shelf().items() if name in wanted for path, data in pack.items()
    }


def _provenance(task: Task, placement: str, models: tuple[str, ...], own: bool) -> bytes:
    facts = {
        "made": "generated from a brief",
        "brief": task.brief,
        "seed": task.seed,
        "placement": placement,
        "models": [name for name in models if name],
        "people": "invented; any likeness to real persons or firms is chance",
        "occupations": "codes and titles: O*NET 29.3 Database by USDOL/ETA, CC BY 4.0",
        "skills": f"copies of the shipped packs; general ones: {', '.join(general_packs())}",
        "materials": "synthetic" + (", and the user's own under Reference (retrieved)" if own else ""),
    }
    return (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode()


def _own_materials(folder: Path | None) -> dict[str, bytes]:
    if folder is None:
        return {}
    files, faults = read_folder(folder)
    if faults:
        raise UsageError("The materials cannot be taken as they are:\n" + "\n".join(f"  - {fault}" for fault in faults))
    if not files:
        raise UsageError(f"{folder} holds no file. Put your documents there, or leave --materials out.")
    return files
