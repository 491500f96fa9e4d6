"""Slips of a careless first round: what an assistant does wrong now and then, drawn from its task.

They are of the kinds that the skill packs document as careless. The report never admits them; reviews must find them.
"""

from __future__ import annotations

import shlex

import msgspec

from services.offline.task import Task
from services.professions.base import CSV, MARKDOWN, XLSX, Profession
from simulator.randomness import Stream

FIRST_ROUND = (2, 5)
LATER = (1, 12)


class Slip(msgspec.Struct, frozen=True):
    """One slip: options added, names left out of the call, a command run after it, an input taken from a copy."""

    name: str = ""
    options: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    after: str = ""
    copy_of: str = ""


NONE = Slip()


def draw_slip(draw: Stream, task: Task, kind: Profession) -> Slip:
    """Return the slip of this round, mostly none."""
    odds = FIRST_ROUND if task.round == 1 else LATER
    if not draw.chance(*odds):
        return NONE
    wrong, lacking = _wrong(draw, task, kind), _lacking(task, kind)
    chosen = lacking if draw.chance(1, 3) else wrong
    return draw.choice(chosen or wrong or lacking)


def _lacking(task: Task, kind: Profession) -> list[Slip]:
    """Slips that leave something out: what is there can stay."""
    found = [Slip("sources left out", ("--no-evidence",))]
    if len(task.deliverables) > 1:
        found.append(Slip("a deliverable forgotten", after=f"rm -f {shlex.quote(task.deliverables[-1])}"))
    return found


def _wrong(draw: Stream, task: Task, kind: Profession) -> list[Slip]:
    """Slips that make figures wrong or dead."""
    found = [Slip("the last row dropped", ("--skip-last",))]
    if kind.main.media_type == XLSX:
        found.append(Slip("formulas pasted as values", ("--values-only",)))
    if task.prior:
        found.append(Slip("the earlier result ignored", ("--no-carry",)))
        found.append(Slip("the earlier result not given", without=("prior",)))
    if task.results:
        found.append(Slip("a colleague's result not given", without=(f"from:{draw.choice(task.results).name}",)))
    optional = {spec.name for spec in kind.inputs if spec.optional} & {each.name for each in task.inputs}
    found += [Slip("an optional input overlooked", without=(f"input:{name}",)) for name in sorted(optional)]
    prose = next((path for path in task.deliverables if _is(path, kind, MARKDOWN)), "")
    if prose:
        found.append(Slip("a figure retyped", after=_retyped(draw, prose)))
    if kind.main.media_type == CSV:
        found.append(Slip("a row lost by hand", after=f"sed -i '$d' {shlex.quote(task.deliverables[0])}"))
    if task.inputs:
        found.append(Slip("an input changed in a copy", copy_of=task.inputs[0].path))
    return found


def _is(path: str, kind: Profession, media_type: str) -> bool:
    name = path.rpartition("/")[2]
    return any(d.name == name and d.media_type == media_type for d in kind.deliverables)


def _retyped(draw: Stream, path: str) -> str:
    """Return a command that changes the last digits of the first figure with cents in a note."""
    wrong = f".{draw.between(10, 98):02d}"
    return rf"sed -i -E '0,/^[-* ]*[A-Z][A-Za-z ]+: -?[0-9,]+\.[0-9]{{2}}/s/(: -?[0-9,]+)\.[0-9]{{2}}/\1{wrong}/' {shlex.quote(path)}"
