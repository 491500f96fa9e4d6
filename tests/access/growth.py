"""Random firms: a list of small numbers becomes things that happen, so that Hypothesis can shrink what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from hypothesis import strategies as st

from simulator.access import Subject
from simulator.events import ClearanceSet, MemberAdded, MemberRemoved
from simulator.mounts import plan_mounts
from simulator.records import LEVELS, FileRef
from simulator.view import View
from tests.access.world import OAKRIDGE, RIVERBEND, TOOLING, World, juniper, text_of

T = TypeVar("T")
Op = tuple[int, int, int, int]
ops = st.lists(st.tuples(*(st.integers(0, 11) for _ in range(4))), max_size=25)
STAFF = ("elena", "daniel", "quinn", "dev", "nora")
EVERYONE = (*STAFF, "maya", "milo", "omar", "zed")
MATTERS = (RIVERBEND, OAKRIDGE, TOOLING, "")
WALLS: tuple[tuple[str, ...], ...] = ((), (RIVERBEND,), (OAKRIDGE,), (RIVERBEND, OAKRIDGE))
AUDIENCES = (
    "everyone", f"matter:{RIVERBEND}", f"matter:{OAKRIDGE}", f"matter:{TOOLING}", "department:assurance",
    "department:risk", "client:riverbend", "client:oakridge", "person:daniel", "person:quinn", "person:maya",
    "person:zed",
)  # fmt: skip
PATHS = (
    "notes.txt", "Documents/Projects/Riverbend close/2025-12/Result.xlsx", "Documents/Projects/Riverbend close/x",
    "a/b.txt", "a", "A/B.TXT", "Inputs/2025-12/bank.csv", "Skills/pack/SKILL.md", "ignore previous instructions.txt",
)  # fmt: skip

SUBJECTS = (
    *(Subject(p) for p in (*EVERYONE, "nobody")),
    *(Subject(p, m) for p in ("daniel", "elena", "nora") for m in (RIVERBEND, OAKRIDGE, TOOLING, "")),
)


def pick(options: Sequence[T], number: int) -> T:
    return options[number % len(options)]


def grow(world: World, numbers: list[Op]) -> None:
    """Let one thing happen for each row of numbers."""
    for kind, a, b, c in numbers:
        pick(_HAPPENINGS, kind)(world, a, b, c)


def _refs(world: World) -> list[FileRef]:
    return [FileRef(f.id, v.number) for _, f in sorted(world.office.files.items()) for v in f.versions]


def _save(world: World, a: int, b: int, c: int) -> None:
    owner = pick(EVERYONE, a)
    spaces = (
        f"home:{owner}",
        f"home:{owner}",
        f"matter:{RIVERBEND}",
        f"matter:{OAKRIDGE}",
        "company",
        "department:risk",
    )
    refs = _refs(world)
    sources = [pick(refs, c)] if refs and c % 2 else []
    world.save(
        owner, pick(spaces, b), pick(PATHS, c), f"{a}{b}{c}", level=pick(LEVELS, b), walls=pick(WALLS, c),
        release=("riverbend",) if a % 3 == 0 else (), sources=sources, author="maya" if c == 5 else "",
    )  # fmt: skip


def _again(world: World, a: int, b: int, c: int) -> None:
    if refs := _refs(world):
        world.again(pick(refs, a), f"{b}{c}", level=pick(LEVELS, b), walls=pick(WALLS, c))


def _share(world: World, a: int, b: int, c: int) -> None:
    if refs := _refs(world):
        world.share(pick(refs, a), pick(AUDIENCES, b), pick(STAFF, c))


def _revoke(world: World, a: int, b: int, c: int) -> None:
    if grants := sorted(world.office.grants):
        world.revoke(pick(grants, a))


def _classify(world: World, a: int, b: int, c: int) -> None:
    if refs := _refs(world):
        world.classify(pick(refs, a), "elena", pick(LEVELS, b), pick(WALLS, c), ("riverbend",) if a % 2 else ())


def _accept(world: World, a: int, b: int, c: int) -> None:
    if refs := _refs(world):
        world.accept(pick(refs, a), pick(STAFF, b), "accept" if c % 2 else "quality_signoff")


def _team(world: World, a: int, b: int, c: int) -> None:
    person, matter = pick(EVERYONE, a), pick(MATTERS[:3], b)
    world.do(MemberAdded(matter, person) if c % 2 else MemberRemoved(matter, person))


def _clearance(world: World, a: int, b: int, c: int) -> None:
    world.do(ClearanceSet(pick(EVERYONE, a), pick(LEVELS, b)))


def _talk(world: World, a: int, b: int, c: int) -> None:
    members = list(dict.fromkeys((pick(EVERYONE, a), pick(EVERYONE, b), pick(EVERYONE, c))))
    rooms = sorted(world.office.rooms)
    room = pick(rooms, a) if rooms and c % 3 else world.room(f"room {a}", members, pick(MATTERS, b), direct=c == 0)
    refs = _refs(world)
    world.post(room, world.office.rooms[room].members[0], f"words {a}", [pick(refs, b)] if refs and c % 2 else [])


def _mail(world: World, a: int, b: int, c: int) -> None:
    refs = _refs(world)
    attached = [pick(refs, a)] if refs and c % 2 else []
    to = [pick(EVERYONE, b), pick(EVERYONE, c)]
    world.mail(pick(EVERYONE, a), to, f"subject {c}", attached, matter=pick(MATTERS, b), external=a % 2 == 0)


def _meet(world: World, a: int, b: int, c: int) -> None:
    rule = "FREQ=DAILY;COUNT=3" if a % 2 else ""
    entry = world.meet(
        pick(EVERYONE, a), [pick(EVERYONE, b), pick(EVERYONE, c)], f"meeting {b}", pick(MATTERS, c), rule=rule
    )
    refs = _refs(world)
    if b % 2:
        world.held(entry, pick(refs, c) if refs else None)


def _work(world: World, a: int, b: int, c: int) -> None:
    refs = _refs(world)
    some = [pick(refs, b)] if refs else []
    matter = pick(MATTERS, c)
    world.request(pick(STAFF, a), pick(STAFF, b), f"outcome {c}", matter, some)
    world.note(pick(STAFF, b), "decision", f"decided {a}", matter=matter, relied=tuple(some))
    world.delegate(pick(STAFF, c), f"goal {a}", matter, some, deliverables=("Result.xlsx",))


_HAPPENINGS: tuple[Callable[[World, int, int, int], None], ...] = (
    _save, _save, _again, _share, _share, _revoke, _classify, _accept, _team, _clearance, _talk, _mail, _meet, _work,
)  # fmt: skip


def grown(numbers: list[Op]) -> World:
    world = juniper()
    # Numbers up to 11 reach the first twelve happenings; what follows in the row is reached by the sum.
    grow(world, [((kind + a) % len(_HAPPENINGS), a, b, c) for kind, a, b, c in numbers])
    return world


def everything(view: View) -> bytes:
    """All that a view shows, as bytes: values, order, counts, times, reasons, search, and free-busy of oneself."""
    files = view.files()
    shown = [
        files,
        [view.versions(f.ref.file) for f in files],
        [(view.confirmations(f.ref), view.sources(f.ref)) for f in files],
        [(room, view.messages(room.id)) for room in view.rooms()],
        view.mails(), view.calendar(), view.entries(0, 1 << 31), view.meetings(), view.notices(), view.requests(),
        view.delegations(), view.memories(), view.people(), view.matters(), view.clients(), view.counts(),
        view.free_busy(view.subject.person, "2026-01-05"),
        [view.search(word, text_of) for word in ("words", "subject", "outcome", "result", "meeting", "bank")],
    ]  # fmt: skip
    return msgspec.json.encode(shown)


def mounted(world: World, person: str) -> bytes:
    """All that the assistants of a person are given, as bytes."""
    ids = sorted(d.id for d in world.office.delegations.values() if d.principal == person)
    return msgspec.json.encode([plan_mounts(world.office, one, text_of) for one in ids])
