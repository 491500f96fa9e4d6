"""What an assistant's sandbox holds when a round begins: four trees, planned from the office as of that moment.

`/home/npc/computer` (writable), `/mnt/company`, `/mnt/services`, `/mnt/task` (read-only), as in DESIGN 7. The subject
is the principal confined to the delegation's matter, so nothing is mounted that `can` does not allow; each file carries
the reason. A plan is a function of the office given: the one as of the commit that opened the round (RULE 15).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from simulator.access import RULES_VERSION, Subject
from simulator.businesstime import calendar_for
from simulator.errors import UnknownReference
from simulator.mount_services import service_files
from simulator.mount_task import Input, task_files
from simulator.office import Office
from simulator.ports import Blob
from simulator.quoting import one_line
from simulator.records import Body, Delegation, FileRef
from simulator.view import View, view_reference
from simulator.view import view as view_of
from simulator.view_paths import COMPANY, HOME, safe_path, safe_segment
from simulator.view_types import SeenFile

SKILLS = "Resources/Skills"
TASK = "/mnt/task/"


class PlannedFile(msgspec.Struct, frozen=True):
    """One file of a tree. `path` is relative to the tree; its bytes are `data`, or those of `blob`.

    `ref` is the version it shows, if it shows one, and `why` the reason it may be seen.
    """

    path: str
    blob: Blob | None
    data: bytes | None
    mode: int
    ref: FileRef | None
    why: str


class MountPlan(msgspec.Struct, frozen=True):
    """The four trees of one round, each in order of path.

    `home` is that of a first round. In a later round the home is restored from `restored`, the manifest that the round
    before left (RULE 15). `withheld` are inputs that may not be read as of this moment and are not mounted.
    """

    delegation: str
    round: int
    home: tuple[PlannedFile, ...]
    company: tuple[PlannedFile, ...]
    services: tuple[PlannedFile, ...]
    task: tuple[PlannedFile, ...]
    restored: Blob | None = None
    withheld: tuple[FileRef, ...] = ()
    rules: int = RULES_VERSION

    def refs(self) -> tuple[FileRef, ...]:
        """Every version mounted, in order: what was there to be read in this round."""
        trees = (*self.home, *self.company, *self.task)
        return tuple(sorted({planned.ref for planned in trees if planned.ref is not None}))


def plan_mounts(
    office: Office, delegation_id: str, bodies: Callable[[Body], str], *, reference: bool = False
) -> MountPlan:
    """Plan the trees of a delegation's latest round, as of `office`. `bodies` gives a body's text.

    `reference` takes the plain loop instead of the index, with equal results: for freezing and audits (RULE 29).

    Raises:
        UnknownReference: there is no such delegation.
    """
    delegation = office.delegations.get(delegation_id)
    if delegation is None:
        raise UnknownReference(f"There is no delegation {delegation_id!r} in this office.")
    look = view_reference if reference else view_of
    view = look(office, Subject(delegation.principal, delegation.matter))
    files = tuple(f for f in view.files() if not f.path.startswith(HOME) or _is_head(office, f))
    inputs, pinned, withheld = _inputs(view, delegation)
    company = _company(office, delegation, files, pinned)
    task = task_files(office, view, delegation, inputs, files, bodies)
    rounds = delegation.rounds
    return MountPlan(
        delegation=delegation.id,
        round=rounds[-1].number if rounds else 1,
        home=_in_order([_shown(f, HOME) for f in files if f.path.startswith(HOME)]),
        company=_in_order([*company, _index(office, delegation, company)]),
        services=_in_order([_written(name, data) for name, data in service_files(office, view, bodies)]),
        task=_in_order(
            [*(_written(name, data) for name, data in task), *(_pinned_in_task(i) for i in inputs if i.apart)]
        ),
        restored=rounds[-2].home if len(rounds) > 1 else None,
        withheld=withheld,
    )


def _inputs(view: View, delegation: Delegation) -> tuple[tuple[Input, ...], dict[str, SeenFile], tuple[FileRef, ...]]:
    """Place each input: (inputs with their paths; file id -> version to mount in the company tree; withheld).

    An input is exactly the version that was delegated. In the company tree it takes the place of a later one; what
    cannot take its file's own place lies in `/mnt/task/inputs`.
    """
    inputs: list[Input] = []
    pinned: dict[str, SeenFile] = {}
    withheld: list[FileRef] = []
    for ref in delegation.inputs:
        seen = view.file(ref)
        if seen is None:
            withheld.append(ref)
            continue
        newest = view.versions(ref.file)[-1].ref == ref
        at_home = seen.path.startswith(HOME)
        if (at_home and newest) or (not at_home and ref.file not in pinned):
            inputs.append(Input(seen, seen.path, apart=False))
            if not at_home:
                pinned[ref.file] = seen
        else:
            name = safe_segment(seen.path.rpartition("/")[2])
            place = f"{TASK}inputs/{len(inputs) + 1} version {ref.version}/{name}"
            inputs.append(Input(seen, place, apart=True))
    return tuple(inputs), pinned, tuple(withheld)


def _company(
    office: Office, delegation: Delegation, files: tuple[SeenFile, ...], pinned: dict[str, SeenFile]
) -> list[PlannedFile]:
    shown = [_shown(pinned.get(f.ref.file, f), COMPANY) for f in files if f.path.startswith(COMPANY)]
    principal = office.people[delegation.principal]
    for name in sorted(set(principal.skills)):
        skill = office.skills.get(name)
        for path, blob, mode in sorted(skill.files) if skill is not None else ():
            place = f"{SKILLS}/{safe_segment(name)}/{safe_path(path)}"
            shown.append(PlannedFile(place, blob, None, mode, None, "a skill of the principal's role"))
    return shown


def _index(office: Office, delegation: Delegation, company: list[PlannedFile]) -> PlannedFile:
    """A readable list of what is mounted: nothing in it that a walk of the tree would not show."""
    days = calendar_for(office.calendar)
    lines = ["# Index", "", "Files that you may read here, with version, class and date.", ""]
    for planned in sorted((p for p in company if p.ref is not None), key=lambda p: p.path):
        assert planned.ref is not None
        version = office.files[planned.ref.file].versions[planned.ref.version - 1]
        date = days.describe_day(version.at)
        lines.append(f"- `{one_line(planned.path)}`: version {planned.ref.version}, {version.level}, {date}")
    skills = [s for s in sorted(set(office.people[delegation.principal].skills)) if s in office.skills]
    if skills:
        lines += ["", "Skills:", ""]
        lines += [f"- `{SKILLS}/{safe_segment(s)}/SKILL.md`: {one_line(office.skills[s].description)}" for s in skills]
    return _written("INDEX.md", "\n".join((*lines, "")).encode())


def _is_head(office: Office, seen: SeenFile) -> bool:
    """Whether a home file's newest version is the readable one: an older text is never passed off as the file."""
    return seen.ref.version == len(office.files[seen.ref.file].versions)


def _shown(seen: SeenFile, root: str) -> PlannedFile:
    return PlannedFile(seen.path.removeprefix(root), seen.blob, None, 0o644, seen.ref, seen.reason)


def _pinned_in_task(item: Input) -> PlannedFile:
    seen = item.seen
    return PlannedFile(item.path.removeprefix(TASK), seen.blob, None, 0o644, seen.ref, seen.reason)


def _written(path: str, data: bytes) -> PlannedFile:
    return PlannedFile(path, None, data, 0o644, None, "written for this round from what the principal sees")


def _in_order(files: list[PlannedFile]) -> tuple[PlannedFile, ...]:
    return tuple(sorted(files, key=lambda f: f.path))
