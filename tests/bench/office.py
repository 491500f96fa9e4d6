"""A scripted office whose assistants ran the skill packs' scripts: accepted work of five kinds, in one round and in several."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from services.professions.registry import PROFESSIONS
from services.storage.memory import MemoryBlobs, MemoryJournal
from simulator.engine.segment import encode_tree
from simulator.events import (
    CalendarRules,
    ClientAdded,
    DepartmentAdded,
    Event,
    FileSaved,
    MatterOpened,
    OfficeOpened,
    Payload,
    RoundOpened,
    SegmentLanded,
    SkillShelved,
    WorkReviewed,
    WorkSubmitted,
)
from simulator.fold.files import path_key
from simulator.mounts import plan_mounts
from simulator.office import Office
from simulator.ports import Blob, TreeEntry
from simulator.records import Body, Client, Department, FileRef, FileVersion, Level, Matter, Review, Submission
from tests.access.world import World, body, contact, person
from tests.professions.office import SKILLS, Work, work

MATTER = "river"
MATTER_NAME = "Riverbend"
TEAM = f"matter:{MATTER}"
KINDS = ("bank-reconciliation", "contract-review", "trial-monitoring", "release-triage", "bill-of-materials")
BEFORE, NOW, LATER = "2025-12", "2026-01", "2026-02"
SECRET = "OFFICETOWN-CANARY-7f3a9c55"


class Firm(World):
    """A world that keeps its events and its bytes, so that it can be frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[bytes] = []
        self.blobs = MemoryBlobs()

    def do(self, payload: Payload, actor: str = "engine") -> Office:
        event = Event(self.office.revision + 1, self.now, actor, "genesis", payload)  # type: ignore[arg-type]
        self.events.append(event.encode())
        return super().do(payload, actor)

    def log(self) -> MemoryJournal:
        """Return the office's record so far."""
        journal = MemoryJournal("firm")
        journal.commit(1, self.events, {})
        return journal

    def keep(
        self, owner: str, space: str, path: str, data: bytes, *, matter: str = MATTER, author: str = "",
        delegation: str = "", level: Level = "confidential", walls: Sequence[str] = (MATTER,),
    ) -> FileRef:  # fmt: skip
        """Save bytes: a new file, or the next version of the one at this path."""
        known = self.office.by_path.get(path_key(space, path))
        file_id = known or self.id(owner)
        number = len(self.office.files[known].versions) + 1 if known else 1
        version = FileVersion(
            number, self.blobs.put(data), "application/octet-stream", author or owner, "genesis", self.now, level,
            tuple(walls), delegation=delegation,
        )  # fmt: skip
        self.do(FileSaved(file_id, space, path, owner, matter, version), owner)
        return FileRef(file_id, number)

    # -- delegated work -----------------------------------------------------------------------------------------------

    def hand_out(self, made: Work, inputs: Sequence[FileRef], goal: str = "") -> str:
        """Let Daniel delegate a work."""
        kind = made.profession.kind
        return self.delegate(
            "daniel", goal or f"{made.profession.title} for {made.period}.", MATTER, inputs, work=kind,
            period=made.period, constraints=("originals unchanged",),
            deliverables=tuple(d.name for d in made.profession.deliverables),
        )  # fmt: skip

    def hand_in(self, delegation: str, files: Mapping[str, bytes], report: str = "All done; everything ties.") -> tuple[FileRef, ...]:
        """Land the present round's segment with these deliverables, by file name, as the engine does."""
        d = self.office.delegations[delegation]
        number = len(d.rounds)
        start = next((r.home for r in reversed(d.rounds[:-1]) if r.home is not None), None)
        if start is not None:
            tree = {e.path: e for e in msgspec.json.decode(self.blobs.get(start.sha256), type=tuple[TreeEntry, ...])}
        else:
            plan = plan_mounts(self.office, delegation, lambda b: b.text)
            tree = {f.path: TreeEntry(f.path, f.blob, f.mode) for f in plan.home if f.blob is not None}
        refs = []
        changed = []
        for name, data in files.items():
            path = self.place(d.period, name)
            entry = TreeEntry(path, self.blobs.put(data))
            if tree.get(path) != entry:
                changed.append((path, data))
            tree[path] = entry
        home = self.blobs.put(encode_tree(tuple(tree.values())))
        actor = f"assistant:{delegation}"
        self.do(SegmentLanded(delegation, number, 1, "submitted", home, 5), actor)
        for path, data in changed:
            refs.append(self.keep("daniel", "home:daniel", path, data, author=actor, delegation=delegation))
        self.do(WorkSubmitted(delegation, number, Submission(self.now, tuple(refs), body(report))), actor)
        return tuple(refs)

    def review(self, delegation: str, decision: str, notes: str, refs: Sequence[FileRef]) -> None:
        d = self.office.delegations[delegation]
        verdict = Review(self.now, "daniel", decision, body(notes), tuple(refs))  # type: ignore[arg-type]
        self.do(WorkReviewed(delegation, len(d.rounds), verdict), "daniel")
        if decision != "accept":
            self.do(RoundOpened(delegation, len(d.rounds) + 1), "daniel")

    @staticmethod
    def place(period: str, name: str) -> str:
        return f"Documents/Projects/{MATTER_NAME}/{period}/{name}"

    def materials(self, made: Work) -> list[FileRef]:
        """Let the client's inputs of a work arrive in the matter's space, for the team."""
        refs = []
        for spec in made.profession.inputs:
            if spec.name in made.inputs:
                path = f"Inputs/{made.period}/{spec.file}"
                ref = self.keep("elena", TEAM, path, made.inputs[spec.name].encode(), author="maya")
                self.share(ref, TEAM)
                refs.append(ref)
        return refs


def text_of(item: Body) -> str:
    return item.text


def firm() -> Firm:
    """Return a firm with skills on the shelf, some secrets, and talk, before any work."""
    world = Firm()
    world.step = 1800
    world.do(OfficeOpened("Juniper", "juniper", 7, "1", CalendarRules(), domain="finance"))
    for department in ("services", "assurance"):
        world.do(DepartmentAdded(Department(department, department.capitalize())))
    every = "delegate request accept quality_signoff client_release classify lead"
    world.do(person("elena", "services", every, "restricted"))
    world.do(person("daniel", "assurance", "delegate request accept", "confidential", skills=KINDS))
    world.do(person("nora", "assurance", every, "restricted"))
    world.do(ClientAdded(Client("riverbend", "Riverbend Outdoor")))
    world.do(ClientAdded(Client("oakridge", "Oakridge Devices")))
    world.do(contact("maya", "riverbend"))
    world.do(MatterOpened(Matter(MATTER, MATTER_NAME, "riverbend", "elena", ("elena", "daniel"))))
    world.do(MatterOpened(Matter("oak", "Oakridge", "oakridge", "nora", ("nora",))))
    for kind in KINDS:
        world.do(SkillShelved(kind, f"Do {kind}.", tuple(_pack(world, kind))))
    world.share(world.keep("elena", "company", "Handbook.md", b"# Handbook\n\nCite your sources.\n", walls=(), matter="",
                           level="internal"), "everyone")  # fmt: skip
    world.keep("daniel", "home:daniel", "Documents/Areas/Close calendar.md", b"# Close calendar\n\nDay five.\n", walls=())
    world.keep("daniel", "home:daniel", "Notes/Todo.md", b"# Todo\n", walls=())
    world.keep("elena", "home:elena", "Diary.md", f"{SECRET} elena alone\n".encode(), walls=())
    oak = world.keep("nora", "matter:oak", "Inputs/2026-01/bank.csv", f"{SECRET},oak\n".encode(), matter="oak", walls=("oak",))
    world.share(oak, "matter:oak")
    room = world.room("riverbend", ("elena", "daniel"), MATTER)
    world.post(room, "elena", "The statement came this morning.")
    world.mail("maya", ["elena"], "December papers", matter=MATTER, external=True)
    return world


def _pack(world: Firm, kind: str) -> list[tuple[str, Blob, int]]:
    folder = SKILLS / kind
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and "__pycache__" not in p.parts]
    return [(p.relative_to(folder).as_posix(), world.blobs.put(p.read_bytes()), 0o755 if p.suffix == ".py" else 0o644)
            for p in files]  # fmt: skip


def months_of(kind: str, folder: Path, seed: int = 11) -> tuple[Work, Work]:
    """Run a kind's script for two periods, the second on the first."""
    profession = PROFESSIONS[kind]
    made: list[Work] = []
    for period in (BEFORE, NOW):
        inputs = profession.by_name(profession.materials("Riverbend Outdoor", period, seed))
        made.append(work(kind, inputs, period, folder / kind / period, made[0] if made else None))
    return made[0], made[1]


def month_of(kind: str, period: str, folder: Path, seed: int) -> Work:
    """Run a kind's script for one period, on nothing that came before."""
    profession = PROFESSIONS[kind]
    inputs = profession.by_name(profession.materials("Riverbend Outdoor", period, seed))
    return work(kind, inputs, period, folder / kind / period)


def careless(made: Work, folder: Path, *options: str) -> dict[str, bytes]:
    """Return what the same work looks like when the script is run with careless options."""
    shutil.rmtree(folder, ignore_errors=True)
    again = work(made.profession.kind, made.inputs, made.period, folder, made.prior, made.others, *options)
    return again.files


def two_months(world: Firm, made: tuple[Work, Work]) -> tuple[str, str]:
    """Let a kind be done for two periods, each accepted at once; the second builds on the first."""
    first, second = made
    done = world.hand_out(first, world.materials(first))
    refs = world.hand_in(done, first.files)
    world.review(done, "accept", "Ties.", refs)
    (main,) = [r for r in refs if world.office.files[r.file].path.endswith(first.profession.main.name)]
    again = world.hand_out(second, [*world.materials(second), main])
    refs = world.hand_in(again, second.files)
    world.review(again, "accept", "Ties, and goes on from last month.", refs)
    return done, again


def three_rounds(world: Firm, made: Work, damaged: Mapping[str, bytes]) -> str:
    """Let a work come back wrong, then without its second deliverable's mend, then right."""
    done = world.hand_out(made, world.materials(made))
    refs = world.hand_in(done, damaged)
    world.review(done, "revise", "The last row is missing: Bank total does not tie.", refs)
    main = made.profession.main.name
    partly = {main: made.files[main], **{n: d for n, d in damaged.items() if n != main}}
    refs = world.hand_in(done, partly)
    world.review(done, "supplement", "The list of open items is still that of the first round.", refs)
    refs = world.hand_in(done, made.files)
    world.review(done, "accept", "Ties now.", refs)
    return done
